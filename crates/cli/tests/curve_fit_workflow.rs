//! `fitzroy curve-fit --workflow`: fits described in NLSQ's layout, and what is said about wrong ones.
#![allow(clippy::unwrap_used)]

mod program;

use program::{Said, Scratch};

/// A decay without a header, as text with comments and with another column in front.
fn decay() -> String {
    let rows = (0..60).map(|i| {
        let t = f64::from(i) * 0.1;
        let ripple = f64::from((i * 37) % 11 - 5) * 0.01;
        format!(
            "{i} {t:.1} {:.5} 0.03\n",
            2.0 * (-0.5 * t).exp() + 0.3 + ripple
        )
    });
    "# number time counts error\n".to_string() + &rows.collect::<String>()
}

fn run(scratch: &Scratch, workflow: &str, args: &[&str]) -> Said {
    scratch.file("fit.yaml", workflow);
    let mut all = vec!["curve-fit", "--workflow", "fit.yaml"];
    all.extend(args);
    scratch.fitzroy(&all)
}

const TEXT: &str = "\
metadata:
  workflow_name: decay
data:
  input_file: decay.txt
  columns: {x: 1, y: 2, z: null, sigma: 3}
  ascii: {delimiter: null, comment_char: '#'}
model:
  type: builtin
  name: exponential_decay
fitting:
  p0: [1.0, 1.0, 0.0]
  bounds:
    lower: [0.0, 0.001, -1.0]
    upper: [10.0, .inf, 1.0]
  method: trf
  gtol: 1.0e-8
  ftol: 1.0e-8
  xtol: 1.0e-8
  max_nfev: 2000
  loss: linear
  absolute_sigma: true
export:
  results_file: output/fit.json
  format: json
visualization:
  enabled: true
  output_dir: figures
  formats: [svg]
  style: nature
";

#[test]
fn a_workflow_is_the_same_fit_as_its_flags() {
    let scratch = Scratch::new("workflow");
    scratch.file("decay.txt", &decay());
    let csv: String = decay()
        .lines()
        .skip(1)
        .map(|l| l.replace(' ', ",") + "\n")
        .collect();
    scratch.file("decay.csv", &("n,x,y,s\n".to_string() + &csv));
    let document = run(&scratch, TEXT, &["--json"]).ends_with(0).json();
    let flags = [
        "curve-fit",
        "--model",
        "exponential_decay",
        "decay.csv",
        "--y",
        "y",
        "--sigma",
        "s",
        "--absolute-sigma",
        "--p0",
        "a=1,b=1,c=0",
        "--bound",
        "a=0:10,b=0.001:,c=-1:1",
        "--method",
        "trf",
        "--gtol",
        "1e-8",
        "--ftol",
        "1e-8",
        "--xtol",
        "1e-8",
        "--json",
    ];
    let other = scratch.fitzroy(&flags).ends_with(0).json();
    assert_eq!(document["parameters"], other["parameters"]);
    assert_eq!(document["covariance"], other["covariance"]);
    assert_eq!(document["method"], "trf");
    let written = std::fs::read_to_string(scratch.0.join("output/fit.json")).unwrap();
    assert!(written.contains("\"covariance\""), "{written}");
    assert!(
        std::fs::read_to_string(scratch.0.join("figures/fit.svg"))
            .unwrap()
            .contains("<svg")
    );
}

/// NLSQ's polynomials begin with the highest power.
#[test]
fn lists_of_numbers_go_to_the_parameters_they_mean() {
    let scratch = Scratch::new("workflow-order");
    let rows = (0..30).map(|i| format!("{i};{}\n", 3 * i * i + 2 * i + 1 + i % 2));
    let text = "t;v\n".to_string() + &rows.collect::<String>();
    scratch.file("square.csv", &text);
    let head =
        "data:\n  input_file: square.csv\n  columns: {x: t, y: v}\n  csv: {delimiter: ';'}\n";
    let polynomial = "model: {type: polynomial, degree: 2}\n\
                      fitting: {bounds: {lower: [2.5, -5, -5], upper: [3.5, 5, 5]}}\n";
    let found = run(&scratch, &format!("{head}{polynomial}"), &["--json"]);
    let found = found.ends_with(0).json();
    let square = &found["parameters"][2];
    assert_eq!(
        (&square["name"], &square["lower"]),
        (&"c2".into(), &2.5.into())
    );
    let expression = "model: {type: expression, formula: 'c + b*x + a*x^2', parameter_names: [a, b, c]}\n\
                      fitting: {p0: [3, 2, 1], typo: 1}\n";
    let found = run(&scratch, &format!("{head}{expression}"), &[]).ends_with(0);
    assert!(found.err.contains("fitting.typo"), "{}", found.err);
    let found = run(&scratch, &format!("{head}{expression}"), &["--json"]).json();
    let named = |name: &str| {
        let all = found["parameters"].as_array().unwrap();
        let p = all.iter().find(|p| p["name"] == name).unwrap();
        (p["start"].as_f64().unwrap(), p["value"].as_f64().unwrap())
    };
    assert_eq!((named("a").0, named("b").0, named("c").0), (3.0, 2.0, 1.0));
    assert!((named("a").1 - 3.0).abs() < 0.01);
}

#[test]
fn wrong_workflows_say_which_key_and_what_to_write() {
    let scratch = Scratch::new("workflow-wrong");
    scratch.file("decay.txt", &decay());
    scratch.file(
        "models.py",
        "import jax.numpy as jnp\ndef decay(t, a, b):\n    for i in range(3):\n        a = a * b\n    \
         return a * jnp.exp(-b * t)**2\n",
    );
    let change = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        TEXT.replacen(from, to, 1)
    };
    let python = "type: custom\n  path: models.py\n  function: decay";
    let builtin = "type: builtin\n  name: exponential_decay";
    let cases = [
        (change(builtin, python), "for i in range(3):"),
        (
            change(builtin, &python.replace("decay", "other")),
            "models.py has no function `other`",
        ),
        (
            format!("{TEXT}\nworkflow: hpc\n"),
            "workflow: hpc: use auto",
        ),
        (
            change(builtin, "type: builtin\n  name: expo"),
            "no built-in curve `expo`",
        ),
        (
            change("p0: [1.0, 1.0, 0.0]", "p0: [1.0]"),
            "fitting.p0: 1 numbers for 3 parameters (a, b, c)",
        ),
        (
            change("method: trf", "method: dogbox"),
            "fitting.method: dogbox: use trf or lm",
        ),
        (
            change("loss: linear", "loss: square"),
            "fitting.loss: square: use one of linear",
        ),
        (
            change("y: 2", "y: 7"),
            "data.columns.y: 7: decay.txt has 4 columns",
        ),
        (change("decay.txt", "none.txt"), "data.input_file: none.txt"),
        (change("decay.txt", "decay.bin"), "name its format"),
        (
            change("comment_char: '#'", "comment_char: '%'"),
            "line 1: `number` is no number",
        ),
        (
            change("formats: [svg]", "formats: [eps]"),
            "visualization.formats",
        ),
        (
            change("absolute_sigma: true", "absolute_sigma: 3"),
            "is true or false",
        ),
        ("data: [1, 2".into(), "no YAML"),
        ("3".into(), "it holds no keys"),
    ];
    for (workflow, said) in cases {
        let found = run(&scratch, &workflow, &[]).ends_with(2);
        assert!(found.err.contains(said), "no `{said}` in:\n{}", found.err);
        assert!(found.err.contains("fit.yaml"), "{}", found.err);
    }
    let both = run(&scratch, TEXT, &["--p0", "a=1"]).ends_with(2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn functions_in_python_limits_of_termination_and_starts_are_understood() {
    let scratch = Scratch::new("workflow-python");
    scratch.file("decay.txt", &decay());
    scratch.file(
        "models.py",
        "import jax.numpy as jnp\n\ndef decay(t, c, b: float, a=1.0):\n    \"\"\"Decays.\"\"\"\n    \
         u = jnp.exp(-b * t)\n    return a * u + c\n",
    );
    let model = TEXT
        .replacen(
            "type: builtin\n  name: exponential_decay",
            "type: custom\n  path: models.py\n  function: decay",
            1,
        )
        .replacen("p0: [1.0, 1.0, 0.0]", "p0: [0.0, 1.0, 1.5]", 1)
        .replacen("lower: [0.0, 0.001, -1.0]", "lower: [-1.0, 0.001, 0.0]", 1)
        .replacen("upper: [10.0, .inf, 1.0]", "upper: [1.0, .inf, 10.0]", 1);
    let builtin = run(&scratch, TEXT, &["--json"]).json();
    let custom = run(&scratch, &model, &["--json"]).json();
    for (name, place) in [("c", 0), ("b", 1), ("a", 2)] {
        let find = |found: &serde_json::Value| {
            let all = found["parameters"].as_array().unwrap();
            all.iter().position(|p| p["name"] == name).unwrap()
        };
        assert_eq!(find(&custom), place, "{name} in the order of the arguments");
        let value = |found: &serde_json::Value| found["parameters"][find(found)]["value"].as_f64();
        let (own, other) = (value(&custom).unwrap(), value(&builtin).unwrap());
        assert!(
            (own - other).abs() < 1e-6 * other.abs(),
            "{name}: {own} {other}"
        );
    }
    let stopped = format!("{model}\nworkflow: auto_global\nn_starts: 4\n").replacen(
        "method: trf",
        "method: trf\n  termination: {gtol: 1e-9, max_nfev: 900}",
        1,
    );
    let found = run(&scratch, &stopped, &["--json"]).ends_with(0);
    assert!(!found.err.contains("mean nothing"), "{}", found.err);
    assert_eq!(found.json()["minima"]["starts"], 4);
}

/// Arrays of a trace of ArviZ stand in groups.
#[test]
fn paths_lead_through_the_groups_of_an_hdf5_file() {
    let scratch = Scratch::new("workflow-groups");
    let packed = std::fs::read(program::repository("tests/golden/traces/arviz1.nc.gz")).unwrap();
    let mut plain = std::fs::File::create(scratch.0.join("trace.h5")).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).unwrap();
    let workflow = |y: &str| {
        format!(
            "data:\n  input_file: trace.h5\n  hdf5: {{x_path: /observed_data/time, y_path: {y}}}\n\
             model: {{type: builtin, name: linear}}\nfitting: {{p0: [1.0, 1.0]}}\n"
        )
    };
    let found = run(&scratch, &workflow("/observed_data/y"), &["--json"]);
    let json = found.ends_with(0).json();
    // Through (0.5, 28), (1, 8) and (2, -3), by hand.
    let slope = json["parameters"][0]["value"].as_f64().unwrap();
    assert!((slope + 22.5 / (7.0 / 6.0)).abs() < 1e-9, "{slope}");
    let missing = run(&scratch, &workflow("observed_data/z"), &[]).ends_with(2);
    missing.complains(&[
        "data.hdf5.y_path",
        "no array `observed_data/z`",
        "observed_data/y",
    ]);
}
