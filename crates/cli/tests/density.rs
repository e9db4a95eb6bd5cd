//! `fitzroy sample --density`: libraries that a C compiler makes here.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod program;

use fitzroy::draws::{Column, Trace, read_trace};
use program::{Said, Scratch, program, repository, run};
use serde_json::Value;
use std::process::Command;

/// A folder with the library `name`.so of `source`; none without a C compiler, which is said.
fn compiled(folder: &str, source: &str, name: &str, defines: &[&str]) -> Option<Scratch> {
    let scratch = Scratch::new(folder);
    let made = Command::new("cc")
        .args(["-O1", "-fPIC", "-shared", "-Wall", "-o"])
        .arg(scratch.0.join(format!("{name}.so")))
        .args(defines)
        .arg(repository("crates/cli/tests/density").join(source))
        .arg("-lm")
        .output();
    let Ok(made) = made else {
        // Whoever requires the one has the other.
        let required = std::env::var_os("FITZROY_REQUIRE_GXX").is_some();
        assert!(!required, "FITZROY_REQUIRE_GXX is set and there is no cc");
        eprintln!("skipped: there is no cc");
        return None;
    };
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && said.is_empty(), "{said}");
    std::fs::write(
        scratch.0.join("data.json"),
        r#"{"y": [1.5, -0.5, 2.0, 3.5, 1.0]}"#,
    )
    .unwrap();
    Some(scratch)
}

fn sample(scratch: &Scratch, args: &[&str]) -> Said {
    run(program(&scratch.0)
        .args(["sample", "--no-progress", "--no-report"])
        .args(args))
}

/// Mean and sd by name of element, from the JSON of a run.
fn summary(document: &Value) -> Vec<(String, f64, f64, f64)> {
    let rows = document["summary"].as_array().unwrap().iter();
    let rows = rows.map(|row| {
        let name = format!("{}{}", row["name"].as_str().unwrap(), row["index"]);
        let number = |key: &str| row[key].as_f64().unwrap();
        (name, number("mean"), number("sd"), number("mcse_mean"))
    });
    rows.collect()
}

const PROGRAM: [&str; 8] = [
    "--density",
    "program.so",
    "--data",
    "data.json",
    "--draws",
    "2000",
    "--tune",
    "500",
];

/// The same model as text has the same posterior: means within five standard errors of both runs, sds
/// within 8 %. Catches: a Jacobian left out, names in the wrong order, quantities drawn with one seed.
#[test]
fn a_stan_program_has_the_posterior_of_the_same_model_as_text() {
    let Some(scratch) = compiled("density-stan", "program.c", "program", &[]) else {
        return;
    };
    let said = sample(
        &scratch,
        &[&PROGRAM[..], &["--json", "--out", "stan"]].concat(),
    )
    .ends_with(0);
    let foreign = said.json();
    assert_eq!(foreign["model"], "program");
    assert_eq!(foreign["converged"], true);
    let text =
        "data y[obs]\nmu ~ Normal(0, 10)\nsigma ~ Exponential(1)\ny[obs] ~ Normal(mu, sigma)\n";
    std::fs::write(scratch.0.join("model.fz"), text).unwrap();
    let args = [
        "model.fz",
        "--data",
        "data.json",
        "--draws",
        "2000",
        "--json",
        "--out",
        "text",
    ];
    let own = sample(&scratch, &args).ends_with(0).json();
    let (foreign, own) = (summary(&foreign), summary(&own));
    for (a, b) in foreign.iter().zip(&own) {
        assert_eq!(a.0, b.0);
        assert!((a.1 - b.1).abs() < 5.0 * a.3.hypot(b.3), "{a:?} {b:?}");
        assert!((a.2 / b.2).ln().abs() < 0.08, "{a:?} {b:?}");
    }
    let trace = read_trace(scratch.0.join("stan")).unwrap();
    let [mu, at, u] = ["mu", "at", "u"].map(|name| reals(&trace, name));
    let elements = at.chunks(6).zip(mu);
    for (at, mu) in elements {
        let expected = [11.0, 12.0, 13.0, 21.0, 22.0, 23.0];
        let close = |(at, k): (&f64, f64)| (at - mu - k).abs() < 1e-12;
        assert!(at.iter().zip(expected).all(close), "{mu}: {at:?}");
    }
    let mean = u.iter().sum::<f64>() / u.len() as f64;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
}

fn reals<'a>(trace: &'a Trace, name: &str) -> &'a [f64] {
    match &trace
        .group("posterior")
        .unwrap()
        .variable(name)
        .unwrap()
        .values
    {
        Column::Real(values) => values,
        _ => panic!("{name} holds no reals"),
    }
}

#[test]
fn a_program_without_threads_is_called_by_one_at_a_time() {
    let Some(scratch) = compiled("density-alone", "program.c", "program", &["-DALONE"]) else {
        return;
    };
    let args = [&PROGRAM[..], &["--threads", "4", "--json", "--out", "one"]].concat();
    let said = sample(&scratch, &args)
        .ends_with(0)
        .complains(&["STAN_THREADS", "take turns"]);
    assert_eq!(said.json()["divergences"], 0);
    let trace = read_trace(scratch.0.join("one")).unwrap();
    assert!(reals(&trace, "sigma").iter().all(|s| s.is_finite()));
}

#[test]
fn a_run_that_goes_on_has_the_draws_of_one_that_was_never_stopped() {
    let Some(scratch) = compiled("density-resume", "program.c", "program", &[]) else {
        return;
    };
    let with = |draws, out, more: &[&str]| {
        let args = [
            "--density",
            "program.so",
            "--data",
            "data.json",
            "--draws",
            draws,
            "--out",
            out,
        ];
        sample(&scratch, &[&args[..], more].concat())
    };
    with("900", "whole", &[]).ends_with(0);
    with("300", "part", &[]).ends_with(0);
    with("900", "part", &["--resume"]).ends_with(0);
    let read = |out: &str| read_trace(scratch.0.join(out)).unwrap();
    let (whole, part) = (read("whole"), read("part"));
    for name in ["mu", "sigma", "at", "u"] {
        assert_eq!(reals(&whole, name), reals(&part, name), "{name}");
    }
    with("900", "part", &["--resume"])
        .ends_with(0)
        .complains(&["has its 900 draws"]);
    // Another program, other data, a model: none goes on.
    std::fs::write(scratch.0.join("data.json"), r#"{"y": [7.5, -0.5]}"#).unwrap();
    with("950", "part", &["--resume"])
        .ends_with(2)
        .complains(&["made with other data"]);
    let other = compiled("density-resume-other", "functions.c", "functions", &[]).unwrap();
    let library = other.0.join("functions.so").display().to_string();
    let args = [
        "--density",
        &library,
        "--draws",
        "950",
        "--out",
        "part",
        "--resume",
    ];
    sample(&scratch, &args)
        .ends_with(2)
        .complains(&["made with another density"]);
}

/// 1 ± 2, and 3 ± √3: means within five standard errors.
#[test]
fn functions_of_c_are_sampled_with_and_without_names() {
    for (defines, names) in [
        (&[][..], ["x[]", "g[]"]),
        (&["-DNO_NAMES"], ["x[0]", "x[1]"]),
    ] {
        let folder = format!("density-functions-{}", defines.len());
        let Some(scratch) = compiled(&folder, "functions.c", "f", defines) else {
            return;
        };
        let args = [
            "--density",
            "./f.so",
            "--draws",
            "2000",
            "--json",
            "--out",
            "run",
        ];
        let rows = summary(&sample(&scratch, &args).ends_with(0).json());
        assert_eq!(rows.iter().map(|row| &row.0).collect::<Vec<_>>(), names);
        assert!((rows[0].1 - 1.0).abs() < 5.0 * rows[0].3, "{rows:?}");
        if defines.is_empty() {
            assert!((rows[1].1 - 3.0).abs() < 5.0 * rows[1].3, "{rows:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_before_or_instead_of_draws() {
    let Some(scratch) = compiled("density-wrong", "program.c", "program", &[]) else {
        return;
    };
    let refused = |args: &[&str], parts: &[&str]| {
        sample(&scratch, args).ends_with(2).complains(parts);
    };
    refused(&["--density", "none.so"], &["none.so", "No such file"]);
    refused(&["--density", "."], &["this is a folder"]);
    refused(&["--density", "data.json"], &["not a library"]);
    refused(
        &["--density", "program.so"],
        &["the program was not made", "variable name=y"],
    );
    refused(
        &["--density", "program.so", "--data", "none.json"],
        &["none.json", "No such file"],
    );
    refused(
        &[&PROGRAM[..], &["--data", "data.json"]].concat(),
        &["one file", "2 are given"],
    );
    refused(
        &[&PROGRAM[..], &["--device", "cuda"]].concat(),
        &["--device cuda", "needs a model"],
    );
    refused(
        &[&PROGRAM[..], &["model.fz"]].concat(),
        &["cannot be used with"],
    );
    refused(
        &[&PROGRAM[..], &["--predictive"]].concat(),
        &["--predictive", "cannot be used with"],
    );
    refused(&[], &["<MODEL"]);
    for (name, define, words) in [
        ("broken", "-DBROKEN", "returned -7"),
        (
            "nameless",
            "-Dlog_density_names=other",
            "`log_density_names`",
        ),
        (
            "other",
            "-Dlog_density=other",
            "neither the functions of BridgeStan",
        ),
    ] {
        let made = compiled(&format!("density-{name}"), "functions.c", name, &[define]).unwrap();
        let library = made.0.join(format!("{name}.so")).display().to_string();
        refused(&["--density", &library, "--out", name], &[words]);
        assert!(!scratch.0.join(name).exists(), "{name}");
        refused(&["--density", &library, "--data", "data.json"], &[]);
    }
    // A file that is cut short would end the process in the system's loader.
    let whole = std::fs::read(scratch.0.join("program.so")).unwrap();
    std::fs::write(scratch.0.join("cut.so"), &whole[..whole.len() / 3]).unwrap();
    refused(
        &["--density", "cut.so", "--data", "data.json"],
        &["cut short"],
    );
}

#[test]
fn a_dry_run_says_what_a_density_needs() {
    let Some(scratch) = compiled("density-dry", "program.c", "program", &[]) else {
        return;
    };
    let said = sample(&scratch, &[&PROGRAM[..], &["--dry-run", "--json"]].concat()).ends_with(0);
    assert_eq!(said.json()["parameters"], 2);
    let said = sample(&scratch, &[&PROGRAM[..], &["--dry-run"]].concat()).ends_with(0);
    assert!(
        said.out.contains("2 parameters") && !said.out.contains("GPUs"),
        "{}",
        said.out
    );
}

#[test]
fn the_report_of_a_density_is_written() {
    let Some(scratch) = compiled("density-report", "program.c", "program", &[]) else {
        return;
    };
    let mut command = program(&scratch.0);
    let said = run(command.args(["sample", "--out", "run"]).args(PROGRAM)).ends_with(0);
    assert!(said.err.contains("a foreign density"), "{}", said.err);
    let page = std::fs::read_to_string(scratch.0.join("run/report.html")).unwrap();
    assert!(page.contains("sigma") && page.contains("program"));
}
