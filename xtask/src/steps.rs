//! The steps of CI, in the order in which they fail cheapest.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Formatting, house rules, lints, documentation and licences.
pub(crate) fn lint(root: &Path) -> bool {
    step(root, &["fmt", "--all", "--check"], &[])
        && crate::tidy::run(root)
        && step(
            root,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
            &[],
        )
        && step(
            root,
            &[
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
        && crate::licences::run(root)
        && advisories(root)
}

/// Writes the generated parts of the documentation: the tests that hold them do it.
pub(crate) fn generate(root: &Path) -> bool {
    let write = [("FITZROY_GENERATE", "1")];
    let tests = ["test", "--quiet", "--test", "docs"];
    let pages = [
        "test",
        "--quiet",
        "-p",
        "fitzroy-cli",
        "--test",
        "quickstart",
    ];
    step(root, &tests, &write) && step(root, &pages, &write)
}

/// Everything: [`lint`], the tests, and a quick validation.
pub(crate) fn ci(root: &Path) -> bool {
    lint(root)
        && step(root, &["test", "--workspace", "--release"], &[])
        && step(
            root,
            &["run", "--release", "--", "validate", "--quick"],
            &[],
        )
}

/// Advisories and sources of the dependencies, where `cargo-deny` is installed.
fn advisories(root: &Path) -> bool {
    let installed = Command::new("cargo")
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        println!("==> cargo deny: skipped, cargo-deny is not installed");
        return true;
    }
    step(root, &["deny", "check"], &[])
}

/// Runs `cargo ARGS` and says how long it took.
fn step(root: &Path, args: &[&str], env: &[(&str, &str)]) -> bool {
    println!("==> cargo {}", args.join(" "));
    let start = Instant::now();
    let status = Command::new("cargo")
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root)
        .status();
    let passed = match status {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo could not be started: {error}");
            false
        }
    };
    let verdict = if passed { "ok" } else { "FAILED" };
    println!("<== {verdict} after {:.1} s", start.elapsed().as_secs_f64());
    passed
}
