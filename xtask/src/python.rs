//! The Python package: its wheel, its types and its tests, where there is a Python that can.

use crate::steps::timed;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Names the interpreters, separated by colons; each needs pip, maturin, numpy and pytest.
const INTERPRETERS: &str = "FITZROY_PYTHON_DEV";
/// Set, it makes a missing interpreter a failure.
const REQUIRED: &str = "FITZROY_REQUIRE_PYTHON";
/// What an interpreter must have.
const NEEDED: &str = "import maturin, numpy, pip, pytest";

/// Builds the wheel, installs it in each interpreter and runs its tests there.
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
    let (Some(first), Some(last)) = (able.first(), able.last()) else {
        println!("==> python: skipped; {INTERPRETERS} names interpreters, separated by colons");
        return !required;
    };
    let folder = root.join("python");
    wheel(&folder, first)
        && side_by_side(&able, |python| tests(&folder, python, python == *last))
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

/// Where wheels are put.
fn wheels(folder: &Path) -> PathBuf {
    folder.join("..").join("target").join("wheels")
}

fn wheel(folder: &Path, python: &str) -> bool {
    let mut command = Command::new(python);
    let out = wheels(folder);
    // A wheel of another version would be installed, too.
    let _ = std::fs::remove_dir_all(&out);
    command.args(["-m", "maturin", "build", "--release", "--out"]);
    command.arg(out).current_dir(folder);
    timed(command)
}

/// Most of what a test waits for is one thread of Python: the interpreters share the processors.
fn side_by_side(interpreters: &[&str], check: impl Fn(&str) -> bool + Sync) -> bool {
    std::thread::scope(|scope| {
        let check = &check;
        let running: Vec<_> = interpreters
            .iter()
            .map(|python| scope.spawn(move || check(python)))
            .collect();
        // All are waited for, also after one has failed.
        let ended = running
            .into_iter()
            .map(|one| one.join().is_ok_and(|passed| passed));
        ended.fold(true, |all, passed| all & passed)
    })
}

/// Installs the wheel and runs types and tests: `all`, or those that depend on the release of PyMC. What they print is shown when they have ended, so that two
/// interpreters do not write into each other's lines.
fn tests(folder: &Path, python: &str, all: bool) -> bool {
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
            true => shown_at_end(folder, module(&["mypy"])),
            false => {
                println!("==> mypy: skipped, {python} does not have it");
                true
            }
        }
    };
    let mut tried = module(&["pytest", "-q", "--durations=15"]);
    if !all {
        tried.args(["-m", "not once"]);
    }
    shown_at_end(folder, install) && typed() && shown_at_end(folder, tried)
}

fn shown_at_end(folder: &Path, mut command: Command) -> bool {
    let begun = Instant::now();
    let name = format!("{command:?}");
    let output = match command.current_dir(folder).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("{name}: {error}");
            return false;
        }
    };
    println!(
        "==> {name}: {}, {:.0} s\n{}{}",
        output.status,
        begun.elapsed().as_secs_f64(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.success()
}
