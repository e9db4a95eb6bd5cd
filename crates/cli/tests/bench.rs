//! `fitzroy bench sample`, `bench hierarchical`, and fits of one's own beside SciPy.

mod program;

use program::{Scratch, fitzroy};

#[test]
fn a_benchmark_says_what_ran_where_and_puts_both_rewrites_side_by_side() {
    let scratch = Scratch::new("bench");
    let [csv, figure, page] =
        ["rows.csv", "bars.svg", "bench.html"].map(|name| scratch.0.join(name));
    let said = fitzroy(&[
        "bench",
        "hierarchical",
        "--only",
        "eight-schools",
        "--repeats",
        "2",
        "--json",
        "--csv",
        csv.to_str().unwrap(),
        "--figure",
        figure.to_str().unwrap(),
        "--report",
        page.to_str().unwrap(),
    ])
    .ends_with(0);
    let found = said.json();
    for key in ["version", "device", "threads", "seed", "repeats", "rows"] {
        assert!(!found[key].is_null(), "{key}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    for part in [
        "fitzroy bench hierarchical",
        "rewrites off",
        "benchmark.csv",
        "Medians",
    ] {
        assert!(html.contains(part), "no `{part}` on the page");
    }
    let rows = found["rows"].as_array().unwrap();
    let rewrites: Vec<_> = rows
        .iter()
        .map(|r| r["rewrites"].as_str().unwrap())
        .collect();
    assert_eq!(rewrites, ["auto", "off"]);
    for row in rows {
        assert_eq!(row["configuration"]["draws"], 1_000);
        assert_eq!(row["runs"].as_array().unwrap().len(), 2);
        for key in [
            "compile_s",
            "warmup_s",
            "sampling_s",
            "written_s",
            "process_s",
            "min_ess_bulk",
            "min_ess_tail",
            "max_rhat",
            "divergences",
            "gradients",
            "ess_bulk_per_sampling_s",
            "ess_bulk_per_chains_s",
            "ess_bulk_per_written_s",
        ] {
            let at = |end: &str| {
                row[key][end]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{key} {end}"))
            };
            assert!(
                at("min") <= at("median") && at("median") <= at("max"),
                "{key}"
            );
        }
        // Counted from before the process starts, so later than anything the process counts.
        let run = &row["runs"][0];
        let time = |key: &str| run[key].as_f64().unwrap();
        assert!(time("written_s") > time("compile_s") + time("warmup_s") + time("sampling_s"));
        assert!(time("process_s") >= time("written_s"));
    }
    let text = std::fs::read_to_string(csv).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(std::fs::read_to_string(figure).unwrap().contains("</svg>"));
}

#[test]
fn problems_are_written_for_other_programs_and_can_be_sampled() {
    let scratch = Scratch::new("bench-data");
    let folder = scratch.0.to_str().unwrap();
    fitzroy(&["bench", "sample", "--write-data", folder]).ends_with(0);
    let [model, data] = ["fz", "json"].map(|e| format!("{folder}/artists.{e}"));
    let out = format!("{folder}/out");
    let sampled = [
        "--tune", "20", "--draws", "4", "--chains", "1", "--quiet", "--out", &out,
    ];
    let given = ["sample", &model, "--data", &data];
    fitzroy(&[&given[..], &sampled[..]].concat()).ends_with(0);
}

#[test]
fn a_benchmark_refuses_what_it_cannot_do_before_it_runs() {
    let bad: [(&[&str], &[&str]); 4] = [
        (
            &["hierarchical", "--only", "groups-7"],
            &["groups-7", "groups-5000"],
        ),
        (&["sample", "--repeats", "0"], &["--repeats", "at least 1"]),
        (
            &["sample", "--figure", "bars.jpg"],
            &["--figure bars.jpg", ".svg"],
        ),
        (&["sample", "--preset", "huge"], &["huge", "standard"]),
    ];
    for (args, parts) in bad {
        fitzroy(&[&["bench"], args].concat())
            .ends_with(2)
            .complains(parts);
    }
}

#[test]
fn curves_can_be_measured_in_parts() {
    let part = ["bench", "curve-fit", "--threads", "1", "--rows", "1000"];
    let mut one = part.to_vec();
    one.extend(["--problems", "exponential", "--json"]);
    let document = fitzroy(&one).ends_with(0).json();
    let rows = document["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 1, "{document}");
    assert_eq!(rows[0]["rows"], 1000);
    assert!(rows[0]["median_s"].as_f64().expect("a number") > 0.0);
    let mut unknown = part.to_vec();
    unknown.extend(["--problems", "expo"]);
    fitzroy(&unknown)
        .ends_with(2)
        .complains(&["--problems expo", "exponential, damped-sine, spots"]);
    fitzroy(&["bench", "curve-fit", "--rows", "3"])
        .ends_with(2)
        .complains(&["--rows 3", "100 rows"]);
}

/// Three decays in a file; SciPy, where a Python is there, ends at the same minimum as this program.
#[test]
fn a_fit_of_ones_own_is_timed_beside_scipy_and_both_have_one_answer() {
    let scratch = Scratch::new("bench-own");
    let file = scratch.0.join("decay.csv");
    let mut text = "t,counts\n".to_string();
    for i in 0..80 {
        let t = f64::from(i) * 0.1;
        let ripple = f64::from((i * 37) % 19) / 19.0 - 0.5;
        text += &format!("{t},{}\n", 5.0 * (-0.6 * t).exp() + 1.0 + 0.1 * ripple);
    }
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let model = [
        "bench",
        "curve-fit",
        "--model",
        "a*exp(-b*t)+c",
        file,
        "--json",
    ];
    let alone = fitzroy(&[&model[..], &["--python", "none"]].concat())
        .ends_with(0)
        .json();
    assert_eq!(alone["programs"].as_array().unwrap().len(), 2);
    assert!(alone["no_peers"].as_str().unwrap().contains("none"));
    let Ok(pythons) = std::env::var("FITZROY_PYTHON_DEV") else {
        return;
    };
    let python = pythons.split(':').next().unwrap();
    let bounded = ["--python", python, "--bound", "b=0:"];
    let found = fitzroy(&[&model[..], &bounded].concat())
        .ends_with(0)
        .json();
    let rows = found["programs"].as_array().unwrap();
    assert!(rows.len() >= 4, "{found}");
    for row in rows {
        assert_eq!(row["best"], true, "{row}");
        let own = row["popt"].as_array().unwrap().iter();
        for (got, want) in own.zip(rows[0]["popt"].as_array().unwrap()) {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            assert!((got / want - 1.0).abs() < 1e-5, "{row}");
        }
    }
    // What has no counterpart in NumPy is told, and the fit is timed all the same.
    let odd = [
        "bench",
        "curve-fit",
        "--model",
        "a*log_ndtr(b*t)+c",
        file,
        "--json",
        "--python",
        python,
    ];
    let odd = fitzroy(&odd).json();
    assert!(
        odd["no_peers"].as_str().unwrap().contains("log_ndtr"),
        "{odd}"
    );
}
