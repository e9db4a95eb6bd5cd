//! `fitzroy predict`: a fitted model and data that it was not fitted to.

mod program;

use program::Scratch;

const MODEL: &str = "data y[obs], x[obs], g[obs] in group\nb[group] ~ Normal(0, 5)\n\
                     mu[obs] = b[g] * x\ny ~ Normal(mu, 0.1)\n";
const ROWS: &str = "y,x,g\n2.0,1,a\n4.1,2,a\n-3.0,1,b\n-6.1,2,b\n";

/// A run in the folder `run`.
fn fitted(scratch: &Scratch) {
    scratch.file("line.fz", MODEL);
    scratch.file("rows.csv", ROWS);
    let flags = [
        "--data", "rows.csv", "--out", "run", "--quiet", "--draws", "200",
    ];
    let sample = [&["sample", "line.fz"][..], &flags].concat();
    scratch.fitzroy(&sample).ends_with(0);
    scratch.file("new.csv", "x,g\n10,b\n1,a\n");
}

#[test]
fn new_rows_are_predicted_as_a_table_and_as_a_trace() {
    let scratch = Scratch::new("predict");
    fitted(&scratch);
    let asked = ["predict", "line.fz", "run", "--data", "new.csv"];
    let said = scratch.fitzroy(&asked).ends_with(0);
    assert!(
        said.out.contains("wrote run/predictions.nc"),
        "{}",
        said.out
    );
    let said = scratch.fitzroy(&asked).ends_with(2);
    assert!(said.err.contains("--overwrite"), "{}", said.err);
    let as_table = [&asked[..], &["--out", "p.csv"]].concat();
    scratch.fitzroy(&as_table).ends_with(0);
    let table = std::fs::read_to_string(scratch.0.join("p.csv")).unwrap();
    let row = |name: &str| {
        let line = table.lines().find(|l| l.starts_with(name)).unwrap();
        line.split(',').nth(3).unwrap().parse::<f64>().unwrap()
    };
    // About b x: -3 for b, 2 for a.
    assert!((row("y,0,") + 30.3).abs() < 1.0, "{table}");
    assert!((row("y,1,") - 2.03).abs() < 0.2, "{table}");
    let document = [&asked[..], &["--out", "q.csv", "--json"]].concat();
    let document = scratch.fitzroy(&document).json();
    assert_eq!(document["file"], "q.csv");
    assert!(
        document["predictions"].to_string().contains("mu"),
        "{document}"
    );
    let again = [&asked[..], &["--out", "r.csv", "--seed", "42"]].concat();
    scratch.fitzroy(&again).ends_with(0);
    assert_eq!(
        std::fs::read_to_string(scratch.0.join("r.csv")).unwrap(),
        table
    );
}

#[test]
fn what_cannot_be_predicted_is_said_in_flags() {
    let scratch = Scratch::new("predict-wrong");
    fitted(&scratch);
    scratch.file("other.csv", "x,g\n1,c\n");
    for (flags, words) in [
        (&["--data", "other.csv"][..], "c"),
        (
            &["--data", "new.csv", "--redraw", "s"],
            "--redraw: `s` is no parameter",
        ),
        (
            &["--data", "new.csv", "--log-likelihood"],
            "--log-likelihood: the data hold no",
        ),
        (
            &["--data", "new.csv", "--out", "p.txt"],
            "ends neither in .nc nor in .csv",
        ),
        (&["--data", "nowhere.csv"], "nowhere.csv"),
    ] {
        let asked = [&["predict", "line.fz", "run"][..], flags].concat();
        let said = scratch.fitzroy(&asked).ends_with(2);
        assert!(said.err.contains(words), "no `{words}` in: {}", said.err);
    }
    let asked = [
        "predict",
        "line.fz",
        "run",
        "--data",
        "other.csv",
        "--redraw",
        "b",
    ];
    scratch.fitzroy(&asked).ends_with(0);
    let asked = [
        "predict",
        "line.fz",
        "run",
        "--data",
        "rows.csv",
        "--log-likelihood",
        "--out",
        "held.nc",
    ];
    scratch.fitzroy(&asked).ends_with(0);
}
