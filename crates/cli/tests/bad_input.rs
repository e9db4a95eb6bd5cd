//! Bad input: exit 2, one message that says what, where and what to do, and nothing left behind.

mod program;

use program::Scratch;

const LINE: &str = "data x[obs], y[obs]\n\
    a ~ Normal(0, 10)\n\
    s ~ HalfNormal(5)\n\
    y[obs] ~ Normal(a * x, s)\n";
const GOOD: &str = "x,y\n1,2.1\n2,3.9\n3,6.2\n";

/// Runs `fitzroy sample model.fz ARGS` beside these files; the whole of stderr is `message`.
#[track_caller]
fn check_sample(name: &str, files: &[(&str, &str)], args: &[&str], message: &str) {
    let scratch = Scratch::new(name);
    for (file, text) in files {
        scratch.file(file, text);
    }
    let before = scratch.names();
    let mut all = vec!["sample", "model.fz", "--quiet"];
    all.extend(args);
    let said = scratch.fitzroy(&all).ends_with(2);
    assert_eq!(said.err, format!("error: {message}\n"));
    assert_eq!(said.out, "");
    assert_eq!(scratch.names(), before, "something was left behind");
}

#[test]
fn a_missing_file_is_named() {
    check_sample(
        "missing-model",
        &[],
        &[],
        "model model.fz: there is no such file; `fitzroy models` lists examples",
    );
    check_sample(
        "missing-data",
        &[("model.fz", LINE)],
        &["--data", "here/line.csv"],
        "here/line.csv: there is no such file; check the path",
    );
    let scratch = Scratch::new("missing-trace");
    let said = scratch.fitzroy(&["diagnose", "trace.nc"]).ends_with(2);
    assert_eq!(
        said.err,
        "error: trace.nc: there is no such file; check the path\n"
    );
}

#[test]
fn numbers_that_may_be_fractions_or_thousands_are_asked_about() {
    check_sample(
        "thousands",
        &[("model.fz", LINE), ("line.csv", "x;y\n1;1,234\n2;2,345\n")],
        &["--data", "line.csv"],
        "`y` (line.csv): row 1: `1,234` may be 1.234 or 1234; say --decimal comma or --decimal point",
    );
}

#[test]
fn a_wrong_column_is_shown_beside_what_there_is() {
    check_sample(
        "column",
        &[("model.fz", LINE), ("line.csv", "x,z\n1,2.1\n")],
        &["--data", "line.csv"],
        "data `y` is missing; the data hold `x`, `z`",
    );
}

#[test]
fn text_in_a_numeric_column_is_placed() {
    check_sample(
        "text",
        &[("model.fz", LINE), ("line.csv", "x,y\n1,2.1\nabc,3.9\n")],
        &["--data", "line.csv"],
        "`x` (line.csv), row 2: expected a number, found the text \"abc\"; a column of labels is \
         declared `data x[...] in DIM`",
    );
}

#[test]
fn shapes_that_differ_are_told_with_both_sizes() {
    check_sample(
        "shape",
        &[
            ("model.fz", LINE),
            ("line.json", r#"{"x": [1, 2, 3], "y": [1, 2]}"#),
        ],
        &["--data", "line.json"],
        "dim `obs` has size 3 by `x` (line.json) but 2 by `y` (line.json)",
    );
    let two_dims = "data a[obs], b[rows]\nm ~ Normal(0, 1)\na[obs] ~ Normal(m + b, 1)\n";
    check_sample(
        "dims",
        &[
            ("model.fz", two_dims),
            ("d.json", r#"{"a": [1, 2, 3], "b": [1, 2]}"#),
        ],
        &["--data", "d.json"],
        "model.fz: line 3, column 17: `mu` of `Normal` has dims [rows=2], but `a` has [obs=3]; look it up by \
         a column that maps one to the other, or name the dims between brackets\n    \
         a[obs] ~ Normal(m + b, 1)\n                    ^^^^^",
    );
}

#[test]
fn an_index_out_of_range_is_placed_with_the_range() {
    let model = "dim groups = 2\ndata y[obs], group[obs] in groups\nm[groups] ~ Normal(0, 10)\n\
                 y[obs] ~ Normal(m[group], 1)\n";
    check_sample(
        "range",
        &[("model.fz", model), ("d.csv", "group,y\n0,2.1\n5,3.9\n")],
        &["--data", "d.csv"],
        "`group` (d.csv), row 2: 5 is out of range; dim `groups` has size 2 by its statement in \
         the model, so positions go from 0 to 1",
    );
}

#[test]
fn a_run_without_data_says_how_to_give_them() {
    let scratch = Scratch::new("no-data");
    scratch.file(
        "m.fz",
        "data y[obs]\nmu ~ Normal(0, 1)\ny ~ Normal(mu, 1)\n",
    );
    scratch
        .fitzroy(&["sample", "m.fz"])
        .ends_with(2)
        .complains(&["no data were given", "`y`", "--data"]);
}

#[test]
fn a_missing_value_that_cannot_be_a_parameter_is_placed() {
    let why = "the value is missing or not a number; give `x` a distribution (`x ~ Normal(mu, \
               sigma)`), by which the missing values become parameters, or remove the row or fill \
               it in";
    for cell in ["", "NaN", "NA"] {
        check_sample(
            "nan",
            &[
                ("model.fz", LINE),
                ("d.csv", &format!("x,y\n1,2.1\n{cell},3.9\n")),
            ],
            &["--data", "d.csv"],
            &format!("`x` (d.csv), row 2: {why}"),
        );
    }
    check_sample(
        "null",
        &[
            ("model.fz", LINE),
            ("d.json", r#"{"x": [1, null], "y": [2.1, 3.9]}"#),
        ],
        &["--data", "d.json"],
        &format!("`x` (d.json), row 2: {why}"),
    );
}

#[test]
fn a_negative_count_is_placed() {
    let model = "data n[obs]\nrate ~ Exponential(1)\nn[obs] ~ Poisson(rate)\n";
    check_sample(
        "count",
        &[("model.fz", model), ("d.csv", "n\n3\n-1\n")],
        &["--data", "d.csv"],
        "`n` (d.csv), row 2: -1 is not what `Poisson` gives: a whole number, 0 or more",
    );
}

#[test]
fn wrong_distributions_are_pointed_at_with_the_nearest() {
    check_sample(
        "unknown",
        &[("model.fz", "mu ~ Norml(0, 1)\n")],
        &[],
        "model.fz: line 1, column 6: unknown distribution `Norml`; did you mean `Normal`?\n    \
         mu ~ Norml(0, 1)\n         ^^^^^",
    );
    check_sample(
        "arguments",
        &[("model.fz", "mu ~ Normal(0, 1, 2)\n")],
        &[],
        "model.fz: line 1, column 6: `Normal` got 3 arguments; it is called as `Normal(mu=0, sigma=1)` or `Normal(mu=0, tau=...)`\n    \
         mu ~ Normal(0, 1, 2)\n         ^^^^^^^^^^^^^^^",
    );
}

#[test]
fn circular_definitions_are_shown_as_a_circle() {
    check_sample(
        "cycle",
        &[("model.fz", "a = b + 1\nb = a\nmu ~ Normal(a, 1)\n")],
        &[],
        "model.fz: line 1, column 5: the definition of `a` is circular: `a` (line 1) uses `b` \
         (line 2) uses `a`; its value of the step before is `lag(a, start)`\n    a = b + 1\n        ^",
    );
}

#[test]
fn a_discrete_parameter_is_refused_with_the_way_out() {
    check_sample(
        "discrete",
        &[("model.fz", "k ~ Poisson(3)\n")],
        &[],
        "model.fz: line 1, column 5: `k` would be a discrete parameter with infinitely many \
         values, and only a finite number can be summed out; limit it, as in `k ~ Poisson(3) \
         truncated(upper=100)`, or declare `data k` if it is observed\n    k ~ Poisson(3)\n        ^^^^^^^",
    );
}

#[test]
fn a_model_that_cannot_start_names_the_term() {
    let model = "data y[obs]\na ~ Exponential(1)\ny[obs] ~ Uniform(0, a)\n";
    check_sample(
        "improper",
        &[("model.fz", model), ("d.csv", "y\n0.1\n1e9\n")],
        &["--data", "d.csv"],
        "no starting point: the log density was not finite at 100 points around the centre of the \
         prior; the likelihood of `y`, row 2 (value 1000000000) is the first term that is not \
         finite (-inf): the model cannot give this value: check the data against the support, or let the \
         parameters reach it",
    );
}

#[test]
fn a_folder_that_is_not_ours_to_write_stays_as_it_is() {
    let scratch = Scratch::new("folder");
    scratch.file("model.fz", LINE);
    scratch.file("line.csv", GOOD);
    std::fs::create_dir(scratch.0.join("notes")).expect("a fresh folder");
    scratch.file("notes/diary.txt", "dear diary\n");
    let sample = [
        "sample", "model.fz", "--data", "line.csv", "--quiet", "--out",
    ];
    let run = |more: &[&str]| scratch.fitzroy(&[&sample, more].concat()).ends_with(2).err;
    assert_eq!(
        run(&["notes"]),
        "error: --out notes: the folder is not empty; choose another, or replace an earlier run \
         with --overwrite\n"
    );
    assert_eq!(
        run(&["notes", "--overwrite"]),
        "error: --overwrite notes: it holds `diary.txt`, so it is not a run of Fitzroy alone and \
         stays untouched; choose another folder\n"
    );
    assert_eq!(
        run(&["line.csv"]),
        "error: --out line.csv: this is a file, not a folder\n"
    );
    let below_a_file = run(&["line.csv/out"]);
    assert!(
        below_a_file.starts_with("error: line.csv/out cannot be written to: "),
        "{below_a_file}"
    );
    assert!(
        below_a_file.ends_with("; choose another folder with --out DIR\n"),
        "{below_a_file}"
    );
    assert_eq!(scratch.names(), ["line.csv", "model.fz", "notes"]);
}

#[test]
fn an_empty_table_is_said_to_be_empty() {
    let files = |text| [("model.fz", LINE), ("d.csv", text)];
    check_sample(
        "empty",
        &files(""),
        &["--data", "d.csv"],
        "d.csv: the file is empty",
    );
    check_sample(
        "header",
        &files("x,y\n"),
        &["--data", "d.csv"],
        "d.csv: there is a header but no row of data",
    );
}

#[test]
fn huge_dims_are_refused_by_an_estimate() {
    let scratch = Scratch::new("huge");
    scratch.file(
        "model.fz",
        "dim cells = 4000000000\nx[cells] ~ Normal(0, 1)\n",
    );
    let said = scratch
        .fitzroy(&["sample", "model.fz", "--quiet"])
        .ends_with(2);
    let parts = [
        "4 chains of 1000 draws need about 123.",
        " TiB of memory, ",
        " is free; the largest variable is `x` with 4000000000 elements in each draw; ask for fewer draws or chains, or make its dims smaller\n",
    ];
    said.complains(&parts);
    assert_eq!(scratch.names(), ["model.fz"]);
}

#[test]
fn settings_out_of_range_are_named() {
    let files = [("model.fz", LINE), ("line.csv", GOOD)];
    let cases = [
        (
            ["--target-accept", "1.5"],
            "target acceptance is 1.5; it must lie between 0 and 1, and 0.8 to 0.99 is usual",
        ),
        (["--draws", "0"], "--draws is 0; use at least 1"),
        (["--cores", "0"], "--cores is 0; use at least 1"),
        (["--chains", "0"], "--chains is 0; use at least 1"),
        (
            ["--max-treedepth", "40"],
            "maximum tree depth is 40; use 1 to 20 (10 is usual)",
        ),
        (
            ["--progress-every", "0"],
            "--progress-every is 0; it must be above 0",
        ),
        (["--set", "limit"], "`limit` has no `=`; write NAME=VALUE"),
    ];
    for (setting, message) in cases {
        let args = [&["--data", "line.csv"][..], &setting].concat();
        check_sample("settings", &files, &args, message);
    }
}

#[test]
fn an_unknown_kind_of_rewrite_is_answered_with_the_kinds_there_are() {
    check_sample(
        "rewrites",
        &[("model.fz", LINE), ("line.csv", GOOD)],
        &["--data", "line.csv", "--rewrites", "collapse,sums"],
        "--rewrites: `sums` is no kind of rewrite; use auto, off, or some of sufficient, collapse, \
         recognise, dedup, signed separated by commas",
    );
}
