//! `fitzroy curve-fit`: figures, reports, posteriors, other formats, files larger than memory.

mod program;

use program::{Scratch, program, run};
use serde_json::Value;
use std::path::Path;

/// A line with ripples in place of noise.
fn line() -> String {
    let mut text = "x,y\n".to_string();
    for i in 0..40 {
        let ripple = f64::from((i * 37) % 11 - 5) * 0.03;
        text += &format!("{i},{:.4}\n", 2.0 * f64::from(i) + 3.0 + ripple);
    }
    text
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_figure_and_a_report_are_written() {
    let scratch = Scratch::new("cf-report");
    scratch.file("line.csv", &line());
    for (file, start) in [
        ("f.svg", "<?xml"),
        ("f.png", "\u{fffd}PNG"),
        ("f.pdf", "%PDF"),
    ] {
        let args = ["curve-fit", "--model", "a*x+b", "line.csv", "--plot", file];
        scratch.fitzroy(&args).ends_with(0);
        let bytes = std::fs::read(scratch.0.join(file)).expect("written");
        assert!(String::from_utf8_lossy(&bytes).starts_with(start), "{file}");
    }
    let svg = std::fs::read_to_string(scratch.0.join("f.svg")).expect("written");
    for part in ["fitted curve", "95 % band", "y − curve"] {
        assert!(svg.contains(part), "no `{part}`");
    }
    assert!(!svg.contains("NaN"));
    let args = [
        "curve-fit",
        "--model",
        "a*x+b",
        "line.csv",
        "--out",
        "o",
        "--profile",
    ];
    scratch.fitzroy(&args).ends_with(0);
    let page = std::fs::read_to_string(scratch.0.join("o/report.html")).expect("written");
    let parts = [
        "The fit converged",
        "Normal quantiles",
        "Correlations",
        "profile, from",
        "--profile",
    ];
    for part in parts {
        assert!(page.contains(part), "no `{part}`");
    }
    let args = [
        "curve-fit",
        "--model",
        "a*x+b",
        "line.csv",
        "--plot",
        "f.jpg",
    ];
    let said = scratch.fitzroy(&args).ends_with(2);
    said.complains(&["--plot f.jpg", ".svg"]);
}

/// With flat priors and a density 1/s of the noise the posterior of a line is Student's t with the
/// fit's degrees of freedom: sd = SE √(dof/(dof − 2)). Bound: 5 standard errors of the sampler's.
#[test]
fn the_posterior_of_a_line_is_the_t_behind_its_interval() {
    let scratch = Scratch::new("cf-posterior");
    scratch.file("line.csv", &line());
    let args = [
        "curve-fit",
        "--model",
        "a*x+b",
        "line.csv",
        "--posterior",
        "--json",
        "--out",
        "o",
    ];
    let document = scratch.fitzroy(&args).ends_with(0).json();
    let posterior = &document["posterior"];
    assert_eq!(posterior["converged"], true, "{posterior}");
    let dof = number(&document["dof"]);
    let rows = posterior["summary"].as_array().expect("a list");
    for (k, name) in ["a", "b"].iter().enumerate() {
        let fitted = &document["parameters"][k];
        let row = rows.iter().find(|r| r["name"] == *name).expect("sampled");
        let off = number(&row["mean"]) - number(&fitted["value"]);
        assert!(off.abs() < 5.0 * number(&row["mcse_mean"]), "{name}: {off}");
        let want = number(&fitted["se"]) * (dof / (dof - 2.0)).sqrt();
        let off = number(&row["sd"]) - want;
        assert!(off.abs() < 5.0 * number(&row["mcse_sd"]), "{name}: {off}");
    }
    for name in [
        "trace.nc",
        "model.fz",
        "posterior.csv",
        "posterior.html",
        "report.html",
    ] {
        assert!(scratch.0.join("o").join(name).is_file(), "{name}");
    }
    let mut narrow = args.to_vec();
    narrow[7] = "p";
    narrow.extend(["--prior", "b ~ Normal(5, 0.001)"]);
    let document = scratch.fitzroy(&narrow).ends_with(0).json();
    let rows = document["posterior"]["summary"].as_array().expect("a list");
    let b = rows.iter().find(|r| r["name"] == "b").expect("sampled");
    assert!((number(&b["mean"]) - 5.0).abs() < 0.01, "{b}");
}

#[test]
fn posteriors_that_are_none_are_refused() {
    let scratch = Scratch::new("cf-improper");
    scratch.file("line.csv", &line());
    let refused = |more: &[&str], parts: &[&str]| {
        let mut args = vec![
            "curve-fit",
            "line.csv",
            "--posterior",
            "--out",
            "o",
            "--overwrite",
        ];
        args.extend(more);
        scratch.fitzroy(&args).ends_with(2).complains(parts);
    };
    refused(&["--model", "a*x+b", "--loss", "huber"], &["StudentT"]);
    refused(&["--model", "a*x+b+c"], &["no distribution", "--to-model"]);
    refused(
        &["--model", "a*x+b", "--prior", "q ~ Normal(0, 1)"],
        &["--prior q", "a, b"],
    );
    refused(&["--model", "a*x+b", "--prior", "q"], &["NAME ~ DIST"]);
    let args = [
        "curve-fit",
        "line.csv",
        "--model",
        "a*x+b",
        "--prior",
        "a ~ Normal(0, 1)",
    ];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["--posterior"]);
}

/// A column as an NPY file.
fn npy(path: &Path, n: usize, value: impl Fn(usize) -> f64) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..n).for_each(|i| bytes.extend(value(i).to_le_bytes()));
    std::fs::write(path, bytes).expect("the temporary folder is writable");
}

fn decay(scratch: &Scratch, n: usize) {
    let x = move |i: usize| (i * 7919 % n) as f64 * 5.0 / n as f64;
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    npy(&scratch.0.join("x.npy"), n, x);
    npy(&scratch.0.join("y.npy"), n, |i| {
        2.0 * (-0.5 * x(i)).exp() + 0.3 + 0.1 * ripple(i)
    });
}

const LARGE: [&str; 9] = [
    "curve-fit",
    "--model",
    "a*exp(-b*x)+c",
    "x.npy",
    "y.npy",
    "--p0",
    "a=1,b=1,c=0",
    "--json",
    "--threads=2",
];

fn parameters(document: &Value) -> Vec<f64> {
    let all = document["parameters"].as_array().expect("a list").iter();
    all.flat_map(|p| [number(&p["value"]), number(&p["se"])])
        .collect()
}

/// 7 million rows of two columns are 112 MB; the limit is 6 MB. Bound: the peak of a fit of 2,000 rows,
/// the limit, and 4 MB for stacks and the pages of code that small fits do not touch.
#[test]
#[cfg(target_os = "linux")]
fn a_fit_of_files_keeps_to_its_limit_and_gives_the_bits_of_memory() {
    let scratch = Scratch::new("cf-limit");
    decay(&scratch, 2000);
    let mut limited = LARGE.to_vec();
    limited.extend(["--memory-limit", "6MB"]);
    let small = scratch.fitzroy(&limited).ends_with(0).json();
    decay(&scratch, 7_000_000);
    let large = scratch.fitzroy(&limited).ends_with(0).json();
    let peak = |d: &Value| number(&d["peak_memory_bytes"]);
    assert!(
        peak(&large) <= peak(&small) + 10e6,
        "{} for 2,000 rows, {} for 7 million",
        peak(&small),
        peak(&large)
    );
    let whole = scratch.fitzroy(&LARGE).ends_with(0).json();
    assert!(peak(&whole) > peak(&large) + 80e6, "in memory it is more");
    assert_eq!(parameters(&large), parameters(&whole));
    // Killed as soon as there is a checkpoint, and gone on with.
    let mut kept = limited.clone();
    kept.extend(["--checkpoint-every", "0", "--out", "o"]);
    let mut child = program(&scratch.0)
        .args(&kept)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let checkpoint = scratch.0.join("o/checkpoint.bin");
    while !checkpoint.is_file() && child.try_wait().expect("ours").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let killed = child.try_wait().expect("ours").is_none();
    let _ = child.kill();
    let _ = child.wait();
    assert!(killed && checkpoint.is_file(), "it was stopped on its way");
    kept.push("--resume");
    // Another model is refused, and leaves the checkpoint.
    let mut other = kept.clone();
    other[2] = "a*exp(-b*x)+2*c";
    scratch
        .fitzroy(&other)
        .ends_with(2)
        .complains(&["the model changed"]);
    kept[8] = "--threads=1";
    let again = scratch.fitzroy(&kept).ends_with(0).json();
    assert_eq!(parameters(&again), parameters(&whole));
    assert!(!checkpoint.exists() && scratch.0.join("o/report.html").is_file());
}

#[test]
fn parquet_and_netcdf_files_are_data() {
    let scratch = Scratch::new("cf-tables");
    let folder = program::repository("crates/curve-fit/tests/golden/tables");
    let mut found = Vec::new();
    for file in ["snappy.parquet", "plain.nc"] {
        let path = folder.join(file);
        for limit in [None, Some("--memory-limit=1MB")] {
            let mut command = program(&scratch.0);
            command.args([
                "curve-fit",
                "--model",
                "a*exp(-b*x)+c",
                "--y",
                "y",
                "--json",
            ]);
            command.arg(&path).args(limit);
            found.push(parameters(&run(&mut command).ends_with(0).json()));
        }
    }
    assert!(found.iter().all(|f| *f == found[0]), "{found:?}");
    let mut command = program(&scratch.0);
    command.args(["curve-fit", "--model", "a*x+b", "--y", "y"]);
    let said = run(command.arg(folder.join("cut.parquet"))).ends_with(2);
    said.complains(&["cut.parquet", "cut short"]);
}

#[test]
fn the_processor_can_be_forced_and_a_gpu_that_is_missing_is_said() {
    let scratch = Scratch::new("cf-device");
    scratch.file("line.csv", &line());
    let mut command = program(&scratch.0);
    command.args(["curve-fit", "--model", "a*x+b", "line.csv", "--json"]);
    let document = run(command.env("FITZROY_DEVICE", "cpu"))
        .ends_with(0)
        .json();
    assert_eq!(document["device"]["kind"], "cpu");
    let mut command = program(&scratch.0);
    command.args(["curve-fit", "--model", "a*x+b", "line.csv"]);
    command.env("FITZROY_DEVICE", "cuda:99");
    run(&mut command).ends_with(2).complains(&["cuda:99"]);
}

/// The chains of a posterior go on as those of `sample` do: to the draws of a run never stopped.
#[test]
fn a_posterior_goes_on_to_more_draws_and_takes_the_flags_of_chains() {
    let scratch = Scratch::new("cf-chains");
    scratch.file("line.csv", &line());
    let run = |more: &[&str]| {
        let mut args = vec!["curve-fit", "--model", "a*x+b", "line.csv", "--no-report"];
        args.extend(more);
        scratch.fitzroy(&args)
    };
    let posterior = |out: &'static str, more: &[&str]| {
        let mut args = vec![
            "--posterior",
            "--chains",
            "2",
            "--tune",
            "300",
            "--out",
            out,
        ];
        args.extend(more);
        run(&args)
    };
    let table = |out: &str| {
        let path = scratch.0.join(out).join("posterior.csv");
        std::fs::read_to_string(path).expect("written")
    };
    posterior("whole", &["--draws", "600"])
        .ends_with(0)
        .complains(&["wrote whole"]);
    posterior("parts", &["--draws", "200"]).ends_with(0);
    posterior("parts", &["--draws", "200", "--resume"])
        .ends_with(0)
        .complains(&["has its 200 draws"]);
    posterior("parts", &["--draws", "600", "--resume"]).ends_with(0);
    assert_eq!(table("whole"), table("parts"));
    posterior("other", &["--task", "1/2", "--draws", "100"]).ends_with(0);
    let said = posterior("dry", &["--dry-run"]).ends_with(0);
    assert!(said.out.contains("memory") && !scratch.0.join("dry").exists());
    run(&["--resume", "--out", "o"])
        .ends_with(2)
        .complains(&["--resume needs --memory-limit or --posterior"]);
    run(&["--task", "0/2"])
        .ends_with(2)
        .complains(&["--task needs --batch-by"]);
    run(&["--dry-run"])
        .ends_with(2)
        .complains(&["--dry-run needs --posterior"]);
}

#[test]
fn a_fit_of_files_says_where_it_wrote_and_how_it_stood() {
    let scratch = Scratch::new("cf-progress");
    decay(&scratch, 100_000);
    let mut args: Vec<&str> = LARGE.iter().copied().filter(|a| *a != "--json").collect();
    args.extend(["--memory-limit", "1MB", "--out", "o", "--no-report"]);
    scratch.fitzroy(&args).ends_with(0).complains(&["wrote o"]);
    let text = std::fs::read_to_string(scratch.0.join("o/progress.json")).expect("written");
    let progress: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(progress["state"], "finished");
    assert_eq!(progress["done"], 100_000);
    assert_eq!(progress["total"], 100_000);
    assert!(number(&progress["cost"]) > 0.0, "{progress}");
}

/// A line through points with errors in both directions, whose slope Deming's formula gives, and what else is
/// asked of its errors. Columns that the model does not name are there for those that do.
#[test]
fn errors_in_both_variables_and_from_samples_are_columns_and_tables() {
    let scratch = Scratch::new("cf-both");
    let points = [
        (0.9, 1.1),
        (2.1, 2.9),
        (3.0, 5.2),
        (4.2, 6.8),
        (5.1, 9.3),
        (6.0, 11.0),
    ];
    let row = |(i, (x, y)): (usize, &(f64, f64))| format!("{x},{y},0.1,0.2,{i}\n");
    let rows: String = points.iter().enumerate().map(row).collect();
    scratch.file("both.csv", &format!("x,y,wide,sy,order\n{rows}"));
    let fit = |more: &[&str]| {
        let args = [
            "curve-fit",
            "both.csv",
            "--model",
            "a*x+b",
            "--sigma",
            "sy",
            "--json",
        ];
        scratch.fitzroy(&[&args[..], more].concat())
    };
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>();
    let (sxx, sxy, syy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let ratio = 4.0;
    let apart = syy - ratio * sxx;
    let slope = (apart + (apart * apart + 4.0 * ratio * sxy * sxy).sqrt()) / (2.0 * sxy);
    for errors in ["x=wide", "x=0.1"] {
        let document = fit(&["--x-sigma", errors]).ends_with(0).json();
        let found = parameters(&document);
        assert!(
            (found[0] - slope).abs() < 1e-6 * slope,
            "{found:?}, {slope}"
        );
        assert!((found[2] - (my - slope * mx)).abs() < 1e-5, "{found:?}");
    }
    let said = fit(&["--x-sigma", "x=narrow"]).ends_with(2);
    for part in ["--x-sigma x=narrow", "no column `narrow`", "wide"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    // Another curve may be one of another column.
    for (flags, method, fits) in [
        (&["--bootstrap", "200"][..], "bootstrap", 200),
        (&["--jackknife"], "jackknife", 6),
    ] {
        let flags = [&["--compare", "a*order+b"], flags].concat();
        let document = fit(&flags).ends_with(0).json();
        let resampled = &document["resampled"];
        assert_eq!(resampled["method"], method);
        assert_eq!(resampled["fits"], fits);
        assert!(number(&resampled["parameters"][0]["se"]) > 0.02);
        let ranked = &document["comparison"]["ranked"];
        assert_eq!(ranked[0]["model"], "a*order+b");
        assert!(number(&ranked[0]["chi2"]) < number(&ranked[1]["chi2"]));
    }
}
