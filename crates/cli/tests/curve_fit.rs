//! `fitzroy curve-fit`: what it prints and writes, and what it says about bad input.

mod program;

use program::{Said, Scratch};

/// Counts that decay, with ripples in place of noise.
fn decay(separator: char) -> String {
    let mut text = format!("t{separator}counts{separator}err\n");
    for i in 0..60 {
        let t = f64::from(i) * 0.1;
        let ripple = f64::from((i * 37) % 11 - 5) * 0.01;
        let y = 2.0 * (-0.5 * t).exp() + 0.3 + ripple;
        text += &format!("{t:.1}{separator}{y:.5}{separator}0.03\n");
    }
    text
}

fn fit(scratch: &Scratch, args: &[&str]) -> Said {
    let mut all = vec!["curve-fit"];
    all.extend(args);
    scratch.fitzroy(&all)
}

#[test]
fn curves_are_compared_and_constrained() {
    let scratch = Scratch::new("curve-fit-compare");
    scratch.file("decay.csv", &decay(','));
    let model = "let f(k) = exp(-k*t); a*f(b) + c";
    let args = [
        "--model",
        model,
        "decay.csv",
        "--y",
        "counts",
        "--sigma",
        "none",
    ];
    let mut compared = args.to_vec();
    compared.extend(["--compare", "a*exp(-b*t)", "--compare", "d*t + c"]);
    let said = fit(&scratch, &compared).ends_with(0);
    for part in ["AICc", "fits better than chance explains", "d*t + c"] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    compared.extend(["--json", "--out", "all"]);
    let document = fit(&scratch, &compared).ends_with(0).json();
    let ranked = &document["comparison"]["ranked"];
    assert_eq!(ranked[0]["model"], model);
    let table = std::fs::read_to_string(scratch.0.join("all/comparison.csv")).unwrap();
    assert_eq!(table.lines().count(), 4);
    let mut constrained = args.to_vec();
    constrained.extend([
        "--constraint",
        "a + c = 2.3",
        "--constraint",
        "b < 0.4",
        "--json",
    ]);
    let document = fit(&scratch, &constrained).ends_with(0).json();
    let value = |k: usize| document["parameters"][k]["value"].as_f64().unwrap();
    assert!((value(0) + value(2) - 2.3).abs() < 1e-12 && (value(1) - 0.4).abs() < 1e-12);
    let findings = document["findings"].to_string();
    assert!(findings.contains("holds with equality"), "{findings}");
    constrained.extend(["--constraint", "a^2 + c^2 < 3"]);
    let document = fit(&scratch, &constrained).ends_with(0).json();
    let value = |k: usize| document["parameters"][k]["value"].as_f64().unwrap();
    assert!((value(0) + value(2) - 2.3).abs() < 1e-9);
    assert!(
        value(0).powi(2) + value(2).powi(2) < 3.0 + 1e-6,
        "{document}"
    );
}

#[test]
fn a_formula_is_fitted_printed_and_written() {
    let scratch = Scratch::new("curve-fit");
    scratch.file("decay.csv", &decay(','));
    let model = ["--model", "a*exp(-b*t)+c", "decay.csv", "--y", "counts"];
    let said = fit(&scratch, &model).ends_with(0);
    for part in [
        "predictors: t",
        "parameters: a, b, c (a, c linear)",
        "converged",
        "SE",
        "R2",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    let mut args = model.to_vec();
    args.extend([
        "--sigma",
        "err",
        "--bound",
        "b=0:",
        "--json",
        "--out",
        "fit",
        "--profile",
    ]);
    let document = fit(&scratch, &args).ends_with(0).json();
    let b = &document["parameters"][1];
    assert_eq!((&b["name"], &b["at_bound"]), (&"b".into(), &false.into()));
    let (value, se) = (b["value"].as_f64().unwrap(), b["se"].as_f64().unwrap());
    assert!((value - 0.5).abs() < 5.0 * se, "{value} {se}");
    let profile = &document["profile"][1];
    let width = profile["ci_upper"].as_f64().unwrap() - profile["ci_lower"].as_f64().unwrap();
    assert!((width / (4.0 * se) - 1.0).abs() < 0.05, "{width} {se}");
    assert_eq!(document["converged"], true);
    let names = [
        "fit.json",
        "parameters.csv",
        "report.html",
        "run.json",
        "summary.txt",
    ];
    let mut written: Vec<_> = std::fs::read_dir(scratch.0.join("fit")).unwrap().collect();
    written.sort_by_key(|e| e.as_ref().unwrap().file_name());
    let written: Vec<_> = written
        .into_iter()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(written, names);
}

#[test]
fn predictions_and_residuals_are_written_by_row() {
    let scratch = Scratch::new("curve-predict");
    scratch.file("decay.csv", &decay(','));
    scratch.file("new.csv", "t\n0\n1.5\n30\n");
    let args = [
        "--model",
        "a*exp(-b*t)+c",
        "decay.csv",
        "--y",
        "counts",
        "--out",
        "o",
    ];
    let mut args = args.to_vec();
    args.extend(["--predict", "new.csv", "--residuals", "r.csv", "--quiet"]);
    fit(&scratch, &args).ends_with(0);
    let text = std::fs::read_to_string(scratch.0.join("o/prediction.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "t,value,se,lower,upper,prediction_lower,prediction_upper"
    );
    let row: Vec<f64> = lines[2].split(',').map(|x| x.parse().unwrap()).collect();
    assert!((row[1] - (2.0 * (-0.75f64).exp() + 0.3)).abs() < 0.05);
    assert!(row[5] < row[3] && row[3] < row[1] && row[1] < row[4] && row[4] < row[6]);
    let text = std::fs::read_to_string(scratch.0.join("r.csv")).unwrap();
    assert_eq!(text.lines().count(), 61);
}

#[test]
fn every_group_is_fitted_and_a_spoilt_one_stays_alone() {
    let scratch = Scratch::new("curve-batch");
    let mut text = "pixel,x,y\n".to_string();
    for pixel in 0..20 {
        for i in 0..12 {
            let x = f64::from(i);
            let y = f64::from(pixel) * x + 3.0 + 0.1 * f64::from((i * 7 + pixel) % 5);
            let y = if pixel == 7 && i == 3 {
                "NaN".to_string()
            } else {
                y.to_string()
            };
            text += &format!("p{pixel},{x},{y}\n");
        }
    }
    scratch.file("pixels.csv", &text);
    let args = [
        "--model",
        "linear",
        "pixels.csv",
        "--batch-by",
        "pixel",
        "--out",
        "o",
        "--json",
    ];
    let document = fit(&scratch, &args).ends_with(0).json();
    assert_eq!(
        (&document["fits"], &document["converged"]),
        (&20.into(), &19.into())
    );
    let text = std::fs::read_to_string(scratch.0.join("o/fits.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "pixel,rows,status,converged,covariance_status,chi2,evaluations,a,a_se,b,b_se,doubts"
    );
    assert!(
        lines[8].starts_with("p7,12,non_finite,false"),
        "{}",
        lines[8]
    );
    // A start is no result.
    assert!(lines[8].ends_with(",NaN,NaN,NaN,NaN,"), "{}", lines[8]);
    let a: f64 = lines[20].split(',').nth(7).unwrap().parse().unwrap();
    assert!((a - 19.0).abs() < 0.1, "{a}");
    let mut strict = args.to_vec();
    strict[6] = "p";
    strict.push("--strict");
    fit(&scratch, &strict).ends_with(1);
}

#[test]
fn fits_by_group_have_the_values_of_parameters_that_are_held() {
    let scratch = Scratch::new("curve-batch-held");
    let mut text = "pixel,x,y\n".to_string();
    for pixel in 1..4 {
        for i in 0..20 {
            let x = 0.3 * f64::from(i);
            let b = 0.2 * f64::from(pixel);
            let y = 3.0 * (-b * x).exp() + 0.25 + (-2.0 * b * x).exp();
            text += &format!("p{pixel},{x},{y}\n");
        }
    }
    text += "bad,0,NaN\nbad,1,2\nbad,2,3\nbad,3,4\n";
    scratch.file("d.csv", &text);
    let model = "a*exp(-b*x)+g*exp(-d*x)+c";
    let mut args = vec!["--model", model, "d.csv", "--batch-by", "pixel"];
    args.extend(["--fix", "c=0.25", "--tie", "d=2*b", "--p0", "a=3,b=0.4,g=1"]);
    args.extend(["--out", "o"]);
    fit(&scratch, &args).ends_with(0);
    let text = std::fs::read_to_string(scratch.0.join("o/fits.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    assert!(names.ends_with(&["a", "a_se", "b", "b_se", "g", "g_se", "c", "d", "doubts"]));
    for (b, line) in [0.2, 0.4, 0.6].into_iter().zip(lines.by_ref()) {
        let number = |k: usize| line[k].parse::<f64>().unwrap();
        let (fitted, [c, d]) = (number(9), [13, 14].map(number));
        assert!((fitted - b).abs() < 1e-6, "{line:?}");
        assert_eq!((c, d), (0.25, 2.0 * fitted), "{line:?}");
    }
    assert_eq!(lines.next().unwrap()[14], "NaN");
}

/// Half of the groups have a wave that a line lacks: these are in doubt, and `--strict` minds.
#[test]
fn groups_whose_residuals_are_patterned_are_named() {
    let scratch = Scratch::new("curve-batch-doubts");
    let mut text = "pixel,x,y\n".to_string();
    for pixel in 0..6 {
        for i in 0..40 {
            let x = f64::from(i) / 4.0;
            let wave = if pixel % 2 == 1 { x.sin() } else { 0.0 };
            let noise =
                (43_758.5 * (12.9898 * x + 78.233 * f64::from(pixel)).sin()).rem_euclid(1.0) - 0.5;
            text += &format!("p{pixel},{x},{}\n", 2.0 * x + 1.0 + wave + noise);
        }
    }
    scratch.file("d.csv", &text);
    let args = [
        "--model",
        "a*x+b",
        "d.csv",
        "--batch-by",
        "pixel",
        "--out",
        "o",
    ];
    let said = fit(&scratch, &args).ends_with(0);
    let line = "! 3 of those that converged are in doubt: in 3 the residuals are patterned; see the column `doubts`";
    assert!(said.out.contains(line), "{}", said.out);
    let text = std::fs::read_to_string(scratch.0.join("o/fits.csv")).unwrap();
    for (k, line) in text.lines().skip(1).enumerate() {
        assert_eq!(line.ends_with(",patterned_residuals"), k % 2 == 1, "{line}");
    }
    let strict = [&args[..], &["--strict", "--overwrite", "--json"]].concat();
    let document = fit(&scratch, &strict).ends_with(1).json();
    assert_eq!(document["doubt_counts"]["patterned_residuals"], 3);
}

#[test]
fn a_group_that_determines_too_little_is_told_and_negative_counts_are_refused() {
    let scratch = Scratch::new("curve-batch-flat");
    let mut text = "pixel,x,y\n".to_string();
    for pixel in 0..3 {
        for i in 0..12 {
            let x = f64::from(i);
            let noise = 0.1 * f64::from((i * 7 + pixel) % 5);
            let y = if pixel == 1 {
                2.0
            } else {
                9.0 * (-0.4 * x).exp() + noise
            };
            text += &format!("p{pixel},{x},{y}\n");
        }
    }
    scratch.file("d.csv", &text);
    let mut args = vec!["--model", "a*exp(-b*x)+c", "d.csv", "--batch-by", "pixel"];
    args.extend(["--p0", "a=5,b=1,c=1", "--out", "o"]);
    let said = fit(&scratch, &args).ends_with(0);
    assert!(
        said.out.contains("! 1 without errors (rank_deficient)"),
        "{}",
        said.out
    );
    let text = std::fs::read_to_string(scratch.0.join("o/fits.csv")).unwrap();
    let flat = text.lines().nth(2).unwrap();
    assert!(
        flat.starts_with("p1,12,exact_fit,true,rank_deficient,0,"),
        "{flat}"
    );
    assert_eq!(flat.matches("NaN").count(), 3, "{flat}");
    scratch.file("d.csv", "pixel,x,y\np,1,3\np,2,-4\np,3,1\np,4,2\n");
    args[1] = "a*x";
    args.truncate(5);
    args.extend(["--likelihood", "poisson"]);
    let refusal = ["row 2, column y: -4 is no count"];
    fit(&scratch, &args).ends_with(2).complains(&refusal);
    // From files, too, where nothing but the passes looks at rows.
    args.truncate(3);
    args.extend(["--likelihood", "poisson", "--memory-limit", "64MB"]);
    fit(&scratch, &args).ends_with(2).complains(&refusal);
    args.push("--missing=drop");
    let refusal = ["--memory-limit leaves no rows out"];
    fit(&scratch, &args).ends_with(2).complains(&refusal);
    scratch.file("d.csv", "x,y,s\n1,3,1\n2,4,0\n3,5,1\n");
    args.truncate(3);
    args.extend(["--y", "y", "--sigma", "s", "--memory-limit", "64MB"]);
    let said = fit(&scratch, &args).ends_with(2);
    said.complains(&["error: row 2, sigma: 0 is not positive"]);
}

#[test]
fn as_many_rows_as_parameters_are_an_exact_fit() {
    let scratch = Scratch::new("curve-exact");
    scratch.file("d.csv", "t,y\n0,2.32576\n0.1,2.25\n0.2,2.14\n");
    let model = ["--model", "a*t^2+b*t+c", "d.csv"];
    let said = fit(&scratch, &model).ends_with(0);
    assert!(said.out.contains("converged: exact fit"), "{}", said.out);
    assert!(!said.out.contains("NaN"), "{}", said.out);
}

#[test]
fn data_sets_share_parameters() {
    let scratch = Scratch::new("curve-sets");
    scratch.file("l.csv", "x,y\n0,1\n1,3.1\n2,4.9\n3,7\n");
    scratch.file("r.csv", "x,y\n0,11\n1,12.9\n2,15.1\n3,17\n");
    let args = [
        "--model",
        "a*x+b[set]",
        "--data-set",
        "left=l.csv",
        "--data-set",
        "right=r.csv",
    ];
    let mut args = args.to_vec();
    args.push("--json");
    let document = fit(&scratch, &args).ends_with(0).json();
    assert_eq!(document["parameters"][2]["name"], "b[right]");
    let b = document["parameters"][2]["value"].as_f64().unwrap();
    assert!((b - 11.0).abs() < 0.2, "{b}");
}

/// Exit 2 and a message with these parts.
#[track_caller]
fn check_bad(name: &str, data: &str, args: &[&str], parts: &[&str]) {
    let scratch = Scratch::new(name);
    scratch.file("d.csv", data);
    let mut all = vec!["d.csv"];
    all.extend(args);
    let said = fit(&scratch, &all).ends_with(2).complains(parts);
    assert_eq!(said.out, "");
    assert_eq!(scratch.names(), ["d.csv"], "something was left behind");
}

#[test]
fn wrong_formulas_columns_and_flags_are_named() {
    let good = decay(',');
    let y = ["--y", "counts"];
    let check = |name: &str, args: &[&str], parts: &[&str]| {
        let all: Vec<&str> = args.iter().chain(&y).copied().collect();
        check_bad(name, &good, &all, parts);
    };
    check(
        "cf-caret",
        &["--model", "a*expp(t)"],
        &["line 1, column 3", "did you mean `exp`?", "^^^^"],
    );
    check(
        "cf-none",
        &["--model", "a*x+b"],
        &["no column (t, counts, err)", "--x x=t"],
    );
    check(
        "cf-none-usual",
        &["--model", "a*exp(-b*time)"],
        &["no column (t, counts, err)", "--x time=t"],
    );
    check(
        "cf-none-case",
        &["--model", "a*exp(-b*T)"],
        &["rename one with --x T=t"],
    );
    check(
        "cf-none-other",
        &["--model", "a*exp(-b*q)"],
        &["--x NAME=t, NAME being one of a, b, q"],
    );
    check(
        "cf-name",
        &["--model", "exponential"],
        &["`exponential` is no column", "exponential_decay"],
    );
    check(
        "cf-x-alone",
        &["--model", "a*x+b", "--x", "t"],
        &["--x t: is written --x NAME=COLUMN", "--x x=time"],
    );
    check(
        "cf-p0",
        &["--model", "a*t+b", "--p0", "q=1"],
        &["no parameter `q`", "a, b"],
    );
    check(
        "cf-p0-text",
        &["--model", "a*t+b", "--p0", "a=one"],
        &["--p0 a=one", "not a number"],
    );
    check(
        "cf-bound",
        &["--model", "a*t+b", "--bound", "a=3"],
        &["--bound a=3", "NAME=LO:HI"],
    );
    check(
        "cf-order",
        &["--model", "a*t+b", "--bound", "a=3:1"],
        &["must be below"],
    );
    check(
        "cf-outside",
        &["--model", "a*exp(-b*t)", "--p0", "b=-1", "--bound", "b=0:"],
        &["p0 b = -1 lies outside its bound 0:"],
    );
    check(
        "cf-sigma",
        &["--model", "a*t+b", "--sigma", "0"],
        &["sigma: 0"],
    );
    check(
        "cf-sigma-less",
        &["--model", "a*t+b", "--sigma", "-1"],
        &["sigma: -1"],
    );
    check(
        "cf-sigma-col",
        &["--model", "a*t+b", "--sigma", "s"],
        &["no column `s`"],
    );
    check(
        "cf-start",
        &["--model", "a*exp(b*t)", "--p0", "a=1,b=400"],
        &["not finite at the start", "b = 400"],
    );
    check_bad(
        "cf-y",
        &good.replacen("err", "rate", 1),
        &["--model", "a*t+b"],
        &["Name one with --y: counts, rate"],
    );
}

#[test]
fn wrong_files_are_named() {
    let line = ["--model", "a*t+b", "--y", "counts"];
    let spoilt = decay(',').replacen("0.3,", "NaN,", 1);
    check_bad(
        "cf-nan",
        &spoilt,
        &line,
        &["row 4", "column t", "--missing drop"],
    );
    let gap = "t,counts\n0,1\n1,2\n2,\n3,4\n";
    check_bad("cf-gap", gap, &line, &["row 3", "column counts: NaN"]);
    check_bad(
        "cf-headless",
        "0,1\n1,2.5\n2,3\n",
        &["--model", "a*t+b"],
        &["no column (x, y) occurs", "--x t=x"],
    );
    check_bad(
        "cf-comma",
        "t;counts\n0;1,234\n1;2,345\n2;3,456\n",
        &["--model", "a*t+b"],
        &[
            "row 1: `1,234` may be 1.234 or 1234",
            "--decimal comma",
            "--decimal point",
        ],
    );
    check_bad(
        "cf-few",
        "t,counts\n1,2\n",
        &line,
        &["1 row cannot determine 2 parameters (a, b)"],
    );
    let scratch = Scratch::new("cf-npy");
    std::fs::write(scratch.0.join("t.npy"), b"\x93NUMPY\x01\x00").unwrap();
    fit(&scratch, &["t.npy", "--model", "a*t+b"])
        .ends_with(2)
        .complains(&["t.npy", "cut short"]);
    fit(&scratch, &["--model", "a*t+b"])
        .ends_with(2)
        .complains(&["no data"]);
    fit(&scratch, &["--model", "a*t+b", "gone.csv"])
        .ends_with(2)
        .complains(&["no such file"]);
}

#[test]
fn a_limit_is_no_success() {
    let scratch = Scratch::new("cf-strict");
    scratch.file("d.csv", &decay(','));
    let args = [
        "--model",
        "a*exp(-b*t)+c",
        "d.csv",
        "--y",
        "counts",
        "--method",
        "lm",
    ];
    let mut args = args.to_vec();
    args.extend(["--p0", "a=9,b=9,c=9", "--max-evals", "2"]);
    let said = fit(&scratch, &args).ends_with(0);
    assert!(said.out.contains("NOT CONVERGED"), "{}", said.out);
    args.push("--strict");
    fit(&scratch, &args).ends_with(1);
}

#[test]
fn parameters_that_the_data_do_not_determine_are_named() {
    let scratch = Scratch::new("cf-rank");
    scratch.file("d.csv", &decay(','));
    for (model, finding) in [
        ("a*t+b+c", "b and c cannot be told apart (correlation -1)"),
        ("a*t+b+0*c", "c cannot be determined"),
    ] {
        let said = fit(&scratch, &["d.csv", "--y", "counts", "--model", model]).ends_with(0);
        assert!(said.out.contains(finding), "{model}: {}", said.out);
    }
}

#[test]
fn rows_that_are_not_numbers_can_be_left_out_and_errors_must_be_positive() {
    let scratch = Scratch::new("cf-omit");
    let spoilt = decay(',').replacen("0.3,", "inf,", 1);
    scratch.file("d.csv", &spoilt);
    let line = ["d.csv", "--model", "a*t+b", "--y", "counts"];
    let mut omit = line.to_vec();
    omit.extend(["--nan-policy", "omit", "--json"]);
    let document = fit(&scratch, &omit).ends_with(0).json();
    let mut whole = line.to_vec();
    whole.push("--json");
    scratch.file("d.csv", &decay(','));
    let all = fit(&scratch, &whole).ends_with(0).json();
    let n = |d: &serde_json::Value| d["n"].as_u64().expect("a count");
    assert_eq!(n(&document) + 1, n(&all));
    // The fourth error is 0.
    let mut rows: Vec<String> = decay(',').lines().map(String::from).collect();
    let at = rows[4].rfind(',').expect("three cells");
    rows[4].replace_range(at.., ",0");
    check_bad(
        "cf-sigma-row",
        &(rows.join("\n") + "\n"),
        &["--model", "a*t+b", "--y", "counts", "--sigma", "err"],
        &["row 4", "sigma", "0"],
    );
    check_bad(
        "cf-overflow",
        &decay(','),
        &["--model", "a*t+b", "--y", "counts", "--p0", "a=1e200,b=1"],
        &["sum of squares overflows at the start"],
    );
}

#[test]
fn starting_values_by_position_follow_the_order_that_is_printed() {
    let scratch = Scratch::new("curve-positions");
    scratch.file("decay.csv", &decay(','));
    let python = "lambda t, b, a, c: a*np.exp(-b*t)+c";
    let start = |model: &str, p0: &str| {
        let args = [
            "--model",
            model,
            "decay.csv",
            "--y",
            "counts",
            "--p0",
            p0,
            "--json",
        ];
        let document = fit(&scratch, &args).ends_with(0).json();
        let all = document["parameters"].as_array().unwrap().iter();
        let pairs = all.map(|p| (p["name"].as_str().unwrap().to_string(), p["start"].as_f64()));
        pairs.collect::<Vec<_>>()
    };
    let want = [("b", 0.4), ("a", 2.5), ("c", -0.1)].map(|(n, x)| (n.to_string(), Some(x)));
    assert_eq!(start(python, "0.4,2.5,-0.1"), want);
    assert_eq!(start(python, "[0.4, 2.5, -0.1]"), want);
    let want = [("a", 2.5), ("b", 0.4), ("c", -0.1)].map(|(n, x)| (n.to_string(), Some(x)));
    assert_eq!(start("a*exp(-b*t)+c", "2.5,0.4,-0.1"), want);
    let args = [
        "--model",
        "a*exp(-b*t)+c",
        "decay.csv",
        "--y",
        "counts",
        "--p0",
        "2,0.1",
    ];
    let said = fit(&scratch, &args).ends_with(2);
    said.complains(&["--p0: 2 numbers for 3 parameters, which are in this order: a, b, c"]);
    let args = [
        "--model",
        "a*exp(-b*t)+c",
        "decay.csv",
        "--y",
        "counts",
        "--p0",
        "2,0.1,1",
    ];
    let said = fit(&scratch, &args).ends_with(0);
    assert!(
        said.err.contains("--p0 in order: a=2, b=0.1, c=1"),
        "{}",
        said.err
    );
    let mixed = [
        "--model",
        "a*exp(-b*t)+c",
        "decay.csv",
        "--y",
        "counts",
        "--p0",
        "2,b=1",
    ];
    fit(&scratch, &mixed)
        .ends_with(2)
        .complains(&["`b=1` is no number"]);
}

#[test]
fn a_fit_whose_residuals_are_patterned_says_so_everywhere() {
    let scratch = Scratch::new("curve-patterned");
    let rows = (0..80).map(|i| format!("{i},{}\n", (f64::from(i) * 0.3).sin()));
    scratch.file("wave.csv", &format!("x,y\n{}", rows.collect::<String>()));
    let args = [
        "--model", "a*x+b", "wave.csv", "--y", "y", "--out", "out", "--plot", "f.svg",
    ];
    let said = fit(&scratch, &args).ends_with(0);
    let read = |file: &str| std::fs::read_to_string(scratch.0.join(file)).unwrap();
    let headline = "converged, but the residuals are patterned and the curve tells little";
    assert!(said.out.contains(headline), "{}", said.out);
    assert!(
        said.out.contains("! the residuals are patterned along x"),
        "{}",
        said.out
    );
    for file in ["out/report.html", "f.svg"] {
        let text = read(file);
        assert!(text.contains(&format!("The fit {headline}")), "{file}");
    }
    let document = read("out/fit.json");
    assert!(
        document.contains("\"standing\": \"questioned\""),
        "{document}"
    );
    assert!(document.contains("\"patterned_residuals\""), "{document}");
}

/// Catches: a table that a face reads otherwise than another, errors that are not taken or not told.
#[test]
fn tables_of_any_dialect_are_fitted_and_errors_are_found_by_their_name() {
    let scratch = Scratch::new("cf-tables");
    let mut plain = String::from("t,u,u_err\n");
    let mut german = String::from("Versuch 7\n\nt;u;u_err\ns;mV;mV\n");
    for i in 0..20 {
        let (t, e) = (0.25 * f64::from(i), 0.1 + 0.05 * f64::from(i % 3));
        let u = 3.0 - 1.5 * t + 0.2 * f64::from((i * 7) % 5) - 0.4;
        plain += &format!("{t:.2},{u:.4},{e:.3}\n");
        german += &format!("{t:.2};{u:.4};{e:.3}\n").replace('.', ",");
    }
    scratch.file("plain.csv", &plain);
    scratch.file("german.txt", &german);
    let values = |args: &[&str]| {
        let all = [args, &["--model", "a+b*t", "--json"]].concat();
        let found = fit(&scratch, &all).ends_with(0).json();
        (
            found["parameters"][1]["value"].as_f64(),
            found["parameters"][1]["se"].as_f64(),
        )
    };
    let weighted = values(&["plain.csv", "--sigma", "u_err", "--y", "u"]);
    assert_eq!(values(&["plain.csv"]), weighted);
    assert_eq!(values(&["german.txt"]), weighted);
    assert_eq!(values(&["german.txt", "--memory-limit", "100MB"]), weighted);
    let flat = values(&["plain.csv", "--sigma", "none", "--y", "u"]);
    assert_ne!(flat, weighted);
    let said = fit(&scratch, &["german.txt", "--model", "a+b*t"]).ends_with(0);
    for part in [
        "data: german.txt: cells are separated by `;`",
        "data: german.txt: line 1 stands above the table and is left out",
        "data: german.txt: line 4 is taken for units: s, mV, mV",
        "data: german.txt: decimal commas in t, u, u_err",
        "sigma: column `u_err`, by its name (--sigma none for a fit without)",
    ] {
        assert!(said.err.contains(part), "no {part} in {}", said.err);
    }
    scratch.file("zero.csv", "t,u,u_err\n0,1,0\n1,2,0.1\n2,3.5,0.1\n");
    let said = fit(&scratch, &["zero.csv", "--model", "a+b*t"]).ends_with(0);
    assert!(
        said.err
            .contains("is not used, as some are not above 0; --sigma u_err"),
        "{}",
        said.err
    );
}

#[test]
fn data_shows_what_is_read_from_a_file() {
    let scratch = Scratch::new("data");
    scratch.file("d.txt", "# t art\n0,5 left\n1,5 right\n");
    let said = scratch.fitzroy(&["data", "d.txt"]).ends_with(0);
    assert_eq!(
        said.out,
        "d.txt\n  cells are separated by spaces\n  names come from the comment in line 1\n  lines that begin with \
         `#` are left out\n  decimal commas in t\n  t    2 numbers: 0.5, 1.5\n  art  2 labels: left, right\n"
    );
    scratch
        .fitzroy(&["data", "none.txt"])
        .ends_with(2)
        .complains(&["none.txt: there is no such file"]);
    let args = ["data", "d.txt", "--decimal", "dot"];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["use point or comma"]);
    scratch.fitzroy(&["data", "--help"]).ends_with(0);
}
