//! An archive tried in a root that holds the C library and nothing else.

use super::process::{output, run};
use super::variant::{Build, Runner};
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

/// Where an emulator lies in a root.
const EMULATOR: &str = "/emulator";

/// A root with a program in it.
struct Root<'a> {
    folder: &'a Path,
    /// The words before a program: none, or an emulator.
    before: &'a [&'static str],
}

/// Unpacks an archive into a bare root and uses its program there. Says what was done.
pub(super) fn archive(
    release: &Release,
    build: &Build,
    archive: &Path,
    name: &str,
) -> Result<String> {
    let runner = build.runner();
    let (before, with): (&[&str], _) = match &runner {
        Runner::Processor => (&[], String::new()),
        Runner::Emulator(_) => (&[EMULATOR], format!(", by {}", build.emulator())),
        Runner::None => return Ok(format!("not tried: there is no {}", build.emulator())),
    };
    let folder = fresh(release.work.join("root"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(archive).arg("-C").arg(&folder);
    run(unpack)?;
    let libraries = match &runner {
        Runner::Emulator(emulator) => {
            copy(emulator, &folder.join(EMULATOR.trim_start_matches('/')))?;
            match foreign_libraries(build)? {
                Some(found) => found,
                None => return Ok(format!("not tried: no glibc for {}", build.architecture())),
            }
        }
        _ => libraries(&build.binary)?,
    };
    for (from, to) in &libraries {
        copy(from, &folder.join(to.trim_start_matches('/')))?;
    }
    let root = Root {
        folder: &folder,
        before,
    };
    use_it(release, &root, name)?;
    Ok(match libraries.len() {
        0 => format!("validated and sampled in a root without any other file{with}"),
        n => format!("validated and sampled in a root with {n} files of glibc{with}"),
    })
}

/// Copies a file to a folder that may not be there.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().expect("it has a folder");
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, to));
    copied.map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))?;
    Ok(())
}

/// The libraries that the loader finds for a program, and where it looks for them. All of them must be of glibc.
fn libraries(program: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut ldd = Command::new("ldd");
    ldd.arg(program);
    // It fails for programs that need none.
    let Ok(said) = output(ldd) else {
        return Ok(Vec::new());
    };
    let words = said.split_whitespace().filter(|word| word.starts_with('/'));
    let found: Vec<_> = words
        .map(|word| (PathBuf::from(word), word.into()))
        .collect();
    found.iter().try_for_each(|(path, _)| of_glibc(path))?;
    Ok(found)
}

/// The same for a program of another processor, from the C library that a cross compiler brings; none without one.
fn foreign_libraries(build: &Build) -> Result<Option<Vec<(PathBuf, String)>>> {
    let architecture = build.architecture();
    let folder = PathBuf::from(format!("/usr/{architecture}-linux-gnu/lib"));
    let mut names = build.elf.needed.clone();
    if !names.is_empty() {
        names.push(format!("ld-linux-{architecture}.so.1"));
    }
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let path = folder.join(&name);
        of_glibc(&path)?;
        if !path.exists() {
            return Ok(None);
        }
        found.push((path, format!("/lib/{name}")));
    }
    Ok(Some(found))
}

fn of_glibc(library: &Path) -> Result<()> {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    match GLIBC.iter().any(|start| name.starts_with(start)) {
        true => Ok(()),
        false => Err(format!("{} is no part of glibc", library.display())),
    }
}

/// Asks for the version and the models, validates, and samples a model.
fn use_it(release: &Release, root: &Root<'_>, name: &str) -> Result<()> {
    let program = format!("/{name}/bin/fitzroy");
    let said = root.output(&[&program, "--version"])?;
    if said.trim() != format!("fitzroy {}", release.version) {
        return Err(format!("--version says {said}"));
    }
    if !root
        .output(&[&program, "models"])?
        .contains("eight-schools")
    {
        return Err("`models` does not list eight-schools".into());
    }
    root.output(&[&program, "validate", "--quick", "--out", "/validation"])?;
    let file = |ending: &str| format!("/{name}/share/doc/fitzroy/models/eight-schools.{ending}");
    let (model, data) = (file("fz"), file("csv"));
    root.output(&[&program, "sample", &model, "--data", &data, "--out", "/run"])?;
    for made in ["run/trace.nc", "run/report.html"] {
        if !root.folder.join(made).exists() {
            return Err(format!("`sample` wrote no {made}"));
        }
    }
    Ok(())
}

impl Root<'_> {
    /// What a program says in this root, with an empty environment.
    fn output(&self, args: &[&str]) -> Result<String> {
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
        command.env_clear().env("PATH", path);
        command.arg(self.folder).args(self.before).args(args);
        output(command)
    }
}
