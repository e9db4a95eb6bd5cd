//! An archive tried in a root that holds the C library and nothing else.

use super::process::{output, run};
use super::variant::Build;
use super::{Release, Result, fresh};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of glibc, by how their names begin.
const GLIBC: [&str; 6] = [
    "ld-linux",
    "libc.so",
    "libdl.so",
    "libm.so",
    "libpthread.so",
    "librt.so",
];

/// Unpacks an archive into a bare root and uses its program there. Says what was done.
pub(super) fn archive(
    release: &Release,
    build: &Build,
    archive: &Path,
    name: &str,
) -> Result<String> {
    if !build.runs_here() {
        return Ok("not tried: another processor".into());
    }
    let root = fresh(release.work.join("root"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(archive).arg("-C").arg(&root);
    run(unpack)?;
    let libraries = libraries(&build.binary)?;
    for library in &libraries {
        let to = root.join(library.strip_prefix("/").unwrap_or(library));
        let folder = to.parent().expect("it has a folder");
        let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(library, &to));
        copied.map_err(|e| format!("{}: {e}", to.display()))?;
    }
    use_it(release, &root, name)?;
    Ok(match libraries.is_empty() {
        true => "sampled in a root without any other file".into(),
        false => format!("sampled in a root with {} files of glibc", libraries.len()),
    })
}

/// The libraries that the loader finds for a program. All of them must be of glibc.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let mut ldd = Command::new("ldd");
    ldd.arg(program);
    // It fails for programs that need none.
    let Ok(said) = output(ldd) else {
        return Ok(Vec::new());
    };
    let words = said.split_whitespace().filter(|word| word.starts_with('/'));
    let found: Vec<PathBuf> = words.map(PathBuf::from).collect();
    for library in &found {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        if !GLIBC.iter().any(|start| name.starts_with(start)) {
            return Err(format!("{} is no part of glibc", library.display()));
        }
    }
    Ok(found)
}

/// Asks for the version and the models, and samples one of them.
fn use_it(release: &Release, root: &Path, name: &str) -> Result<()> {
    let program = format!("/{name}/bin/fitzroy");
    let said = inside(root, &[&program, "--version"])?;
    if said.trim() != format!("fitzroy {}", release.version) {
        return Err(format!("--version says {said}"));
    }
    if !inside(root, &[&program, "models"])?.contains("eight-schools") {
        return Err("`models` does not list eight-schools".into());
    }
    let file = |ending: &str| format!("/{name}/share/doc/fitzroy/models/eight-schools.{ending}");
    let (model, data) = (file("fz"), file("csv"));
    let sample = [&program, "sample", &model, "--data", &data, "--out", "/run"];
    inside(root, &sample)?;
    for made in ["trace.nc", "report.html"] {
        if !root.join("run").join(made).exists() {
            return Err(format!("`sample` wrote no {made}"));
        }
    }
    Ok(())
}

/// What a program says in a root of its own, with an empty environment.
fn inside(root: &Path, args: &[&str]) -> Result<String> {
    let mut whoami = Command::new("id");
    whoami.arg("-u");
    let mut command = match output(whoami)?.trim() {
        "0" => Command::new("chroot"),
        _ => {
            let mut unshare = Command::new("unshare");
            unshare.args(["--user", "--map-root-user", "chroot"]);
            unshare
        }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).arg(root).args(args);
    output(command)
}
