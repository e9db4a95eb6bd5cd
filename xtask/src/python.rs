//! The Python package: its wheel, its types and its tests, where there is a Python that can.

use crate::steps::timed;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the interpreters, separated by colons; each needs pip, maturin, numpy and pytest.
const INTERPRETERS: &str = "FITZROY_PYTHON_DEV";
/// Set, it makes a missing interpreter a failure.
const REQUIRED: &str = "FITZROY_REQUIRE_PYTHON";
/// What an interpreter must have.
const NEEDED: &str = "import maturin, numpy, pip, pytest";

/// Formats and lints the extension, builds the wheel, installs it in each interpreter and runs its
/// tests there.
pub(crate) fn check(root: &Path) -> bool {
    let named = std::env::var(INTERPRETERS).unwrap_or_default();
    let all: Vec<&str> = named.split(':').filter(|name| !name.is_empty()).collect();
    let able: Vec<&str> = all
        .iter()
        .copied()
        .filter(|python| is_able(python))
        .collect();
    if able.len() < all.len() {
        println!(
            "==> python: {INTERPRETERS}={named} names {} interpreters, of which {} have pip, maturin, \
             numpy and pytest",
            all.len(),
            able.len()
        );
    }
    let required = std::env::var_os(REQUIRED).is_some();
    let Some(first) = able.first() else {
        println!("==> python: skipped; {INTERPRETERS} names interpreters, separated by colons");
        return !required;
    };
    let folder = root.join("python");
    rust(&folder, first)
        && wheel(&folder, first)
        && able.iter().all(|python| tests(&folder, python))
        && (able.len() == all.len() || !required)
}

fn is_able(python: &str) -> bool {
    let quiet = || Stdio::null();
    Command::new(python)
        .args(["-c", NEEDED])
        .stdout(quiet())
        .stderr(quiet())
        .status()
        .is_ok_and(|status| status.success())
}

/// The Rust side has a workspace of its own.
fn rust(folder: &Path, python: &str) -> bool {
    let cargo = |args: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(args).env("PYO3_PYTHON", python);
        run(folder, command)
    };
    cargo(&["fmt", "--check"]) && cargo(&["clippy", "--", "-D", "warnings"])
}

/// Where wheels are put.
fn wheels(folder: &Path) -> PathBuf {
    folder.join("target").join("wheels")
}

fn wheel(folder: &Path, python: &str) -> bool {
    let mut command = Command::new(python);
    let out = wheels(folder);
    // A wheel of another version would be installed, too.
    let _ = std::fs::remove_dir_all(&out);
    command.args(["-m", "maturin", "build", "--release", "--out"]);
    command.arg(out);
    run(folder, command)
}

/// Installs the wheel and runs types and tests.
fn tests(folder: &Path, python: &str) -> bool {
    let made = std::fs::read_dir(wheels(folder)).into_iter().flatten();
    let made = made.flatten().map(|entry| entry.path()).next();
    let Some(made) = made else {
        eprintln!("no wheel was built");
        return false;
    };
    let module = |args: &[&str]| {
        let mut command = Command::new(python);
        command.arg("-m").args(args);
        command
    };
    let mut install = module(&[
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
    ]);
    install.arg(made);
    let typed = || {
        let has = Command::new(python).args(["-c", "import mypy"]).status();
        match has.is_ok_and(|status| status.success()) {
            true => run(folder, module(&["mypy"])),
            false => {
                println!("==> mypy: skipped, {python} does not have it");
                true
            }
        }
    };
    run(folder, install) && typed() && run(folder, module(&["pytest", "-q"]))
}

fn run(folder: &Path, mut command: Command) -> bool {
    command.current_dir(folder);
    // The crates of the library need not be built twice.
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.env("CARGO_TARGET_DIR", folder.join("..").join("target"));
    }
    timed(command)
}
