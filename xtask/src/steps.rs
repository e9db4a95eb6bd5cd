//! The steps of CI, in the order in which they fail cheapest.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Formatting, house rules, lints, documentation and licences. In release, whose macros and build scripts the tests have
/// compiled.
pub(crate) fn lint(root: &Path) -> bool {
    step(root, &["fmt", "--all", "--check"], &[])
        && crate::tidy::run(root)
        && step(
            root,
            &[
                "clippy",
                "--release",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
            &[],
        )
        && documentation(root)
        && licences(root)
}

/// The library and the program are both called fitzroy, and two at once would write the same pages. The workspace is named for
/// both: a part of it would have dependencies with other features.
fn documentation(root: &Path) -> bool {
    let usual = ["doc", "--release", "--no-deps", "--document-private-items"];
    let of = |which: &[&str]| {
        let args = [&usual[..], which].concat();
        step(root, &args, &[("RUSTDOCFLAGS", "-D warnings")])
    };
    of(&["--workspace", "--exclude", "fitzroy-cli"]) && of(&["--workspace", "--bin", "fitzroy"])
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

/// Tests of random problems against oracles: package, tests, the variable that sets how many, and how many
/// problems one of these stands for.
const DIFFERENTIAL: [(&str, &[&str], &str, u64); 9] = [
    (
        "fitzroy",
        &["--test", "differential"],
        "FITZROY_DIFFERENTIAL",
        1,
    ),
    (
        "fitzroy",
        &["--test", "linear_gaussian"],
        "FITZROY_DIFFERENTIAL",
        1,
    ),
    (
        "fitzroy",
        &["--test", "families"],
        "FITZROY_DIFFERENTIAL",
        1,
    ),
    (
        "fitzroy-curve-fit",
        &["--test", "optimality"],
        "FITZROY_BOX_FITS",
        1,
    ),
    (
        "fitzroy-curve-fit",
        &["--test", "verdict"],
        "FITZROY_VERDICT_FITS",
        1,
    ),
    // So many families of curves.
    (
        "fitzroy-curve-fit",
        &["--test", "starts"],
        "FITZROY_STARTS",
        25,
    ),
    // So many targets, each a run of four chains.
    ("fitzroy", &["--test", "verdict"], "FITZROY_SEEDS", 100),
    ("fitzroy", &["--test", "metric"], "FITZROY_SEEDS", 100),
    (
        "fitzroy-weather",
        &["--lib", "files_of_any_layout"],
        "FITZROY_DIFFERENTIAL",
        1,
    ),
];

/// About `n` random problems of each kind.
pub(crate) fn differential(root: &Path, n: u64) -> bool {
    let mut passed = true;
    for (package, tests, variable, worth) in DIFFERENTIAL {
        let many = (n / worth).max(1).to_string();
        let args = [&["test", "--release", "-p", package][..], tests].concat();
        // All of them, though one finds something.
        passed &= step(root, &args, &[(variable, &many)]);
    }
    passed
}

/// Files changed at random, for so many seconds each reader.
pub(crate) fn fuzz(root: &Path, seconds: u64, seed: u64) -> bool {
    let (seconds, seed) = (seconds.to_string(), seed.to_string());
    let args = ["test", "--release", "-p", "fitzroy-cli", "--test", "fuzz"];
    let env = [("FITZROY_FUZZ_S", &*seconds), ("FITZROY_FUZZ_SEED", &*seed)];
    step(root, &[&args[..], &["--", "--nocapture"]].concat(), &env)
}

/// Licences and advisories of the dependencies, where `cargo-deny` is installed.
fn licences(root: &Path) -> bool {
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
    let mut command = Command::new("cargo");
    command
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root);
    timed(command)
}

/// Runs a command and says how long it took.
pub(crate) fn timed(mut command: Command) -> bool {
    let program = command.get_program().to_string_lossy().into_owned();
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    println!("==> {program} {}", args.join(" "));
    let start = Instant::now();
    let passed = match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{program} could not be started: {error}");
            false
        }
    };
    let verdict = if passed { "ok" } else { "FAILED" };
    println!("<== {verdict} after {:.1} s", start.elapsed().as_secs_f64());
    passed
}
