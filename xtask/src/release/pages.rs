//! Manual pages and completions, as the program itself writes them.

use super::process::{output, run};
use super::variant::Build;
use super::{Release, Result, fresh};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder below `share` of a shell's completions, and their file's name.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "bash-completion/completions", "fitzroy"),
    ("zsh", "zsh/site-functions", "_fitzroy"),
    ("fish", "fish/vendor_completions.d", "fitzroy.fish"),
];

/// Gives the folder `share` with them: written by a program that runs here, or what an earlier one wrote.
pub(super) fn of(release: &Release, build: &Build) -> Result<PathBuf> {
    let earlier = release.work.join("share");
    match build.runs_here() {
        true => written(release, &build.binary),
        false if earlier.exists() => Ok(earlier),
        false => Err(format!(
            "manual pages are written by a program that runs on this machine: make one before {}",
            build.triple
        )),
    }
}

/// Writes them as they lie below `share`. Gives that folder.
fn written(release: &Release, program: &Path) -> Result<PathBuf> {
    let share = fresh(release.work.join("share"))?;
    let folder = share.join("man").join("man1");
    let mut man = Command::new(program);
    man.arg("man").arg(&folder);
    run(man)?;
    let pages = std::fs::read_dir(&folder).map_err(|e| e.to_string())?;
    let mut gzip = Command::new("gzip");
    gzip.arg("-9n")
        .args(pages.flatten().map(|page| page.path()));
    run(gzip)?;
    for (shell, below, name) in SHELLS {
        let mut completions = Command::new(program);
        completions.args(["completions", shell]);
        let folder = share.join(below);
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        super::write(&folder.join(name), output(completions)?.as_bytes())?;
    }
    Ok(share)
}
