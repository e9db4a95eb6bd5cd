//! NIST's reference problems: models, files, fits and scores.

use fitzroy_curve_fit::{CurveFit, Data, Estimate, Method, Options};
use std::path::Path;

/// Name and model; Nelson is fitted in log(y).
pub(crate) const PROBLEMS: [(&str, &str); 27] = [
    ("Misra1a", "b1*(1-exp(-b2*x))"),
    ("Chwirut2", "exp(-b1*x)/(b2+b3*x)"),
    ("Chwirut1", "exp(-b1*x)/(b2+b3*x)"),
    ("Lanczos3", "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"),
    (
        "Gauss1",
        "b1*exp(-b2*x) + b3*exp(-(x-b4)^2/b5^2) + b6*exp(-(x-b7)^2/b8^2)",
    ),
    (
        "Gauss2",
        "b1*exp(-b2*x) + b3*exp(-(x-b4)^2/b5^2) + b6*exp(-(x-b7)^2/b8^2)",
    ),
    ("DanWood", "b1*x^b2"),
    ("Misra1b", "b1*(1-(1+b2*x/2)^(-2))"),
    ("Kirby2", "(b1+b2*x+b3*x^2)/(1+b4*x+b5*x^2)"),
    ("Hahn1", "(b1+b2*x+b3*x^2+b4*x^3)/(1+b5*x+b6*x^2+b7*x^3)"),
    ("Nelson", "b1 - b2*x1*exp(-b3*x2)"),
    ("MGH17", "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)"),
    ("Lanczos1", "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"),
    ("Lanczos2", "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"),
    (
        "Gauss3",
        "b1*exp(-b2*x) + b3*exp(-(x-b4)^2/b5^2) + b6*exp(-(x-b7)^2/b8^2)",
    ),
    ("Misra1c", "b1*(1-(1+2*b2*x)^(-0.5))"),
    ("Misra1d", "b1*b2*x/(1+b2*x)"),
    ("Roszman1", "b1 - b2*x - atan(b3/(x-b4))/pi"),
    (
        "ENSO",
        "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4) \
         + b8*cos(2*pi*x/b7) + b9*sin(2*pi*x/b7)",
    ),
    ("MGH09", "b1*(x^2+x*b2)/(x^2+x*b3+b4)"),
    ("Thurber", "(b1+b2*x+b3*x^2+b4*x^3)/(1+b5*x+b6*x^2+b7*x^3)"),
    ("BoxBOD", "b1*(1-exp(-b2*x))"),
    ("Rat42", "b1/(1+exp(b2-b3*x))"),
    ("MGH10", "b1*exp(b2/(x+b3))"),
    ("Eckerle4", "(b1/b2)*exp(-0.5*((x-b3)/b2)^2)"),
    ("Rat43", "b1/((1+exp(b2-b3*x))^(1/b4))"),
    ("Bennett5", "b1*(b2+x)^(-1/b3)"),
];

/// A problem as NIST has it.
pub(crate) struct Problem {
    pub(crate) starts: [Vec<f64>; 2],
    pub(crate) certified: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    pub(crate) rss: f64,
    pub(crate) columns: Vec<Vec<f64>>,
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace()
        .filter_map(|w| w.parse().ok())
        .collect()
}

/// Reads a file in NIST's format: parameters from line 41, data from line 61.
pub(crate) fn read(name: &str) -> Problem {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/nist/{name}.dat"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut problem = Problem {
        starts: [vec![], vec![]],
        certified: vec![],
        errors: vec![],
        rss: f64::NAN,
        columns: vec![],
    };
    for line in &lines[40..60] {
        if let Some((_, values)) = line.split_once('=') {
            let v = numbers(values);
            problem.starts[0].push(v[0]);
            problem.starts[1].push(v[1]);
            problem.certified.push(v[2]);
            problem.errors.push(v[3]);
        } else if let Some((_, value)) = line.split_once("Sum of Squares:") {
            problem.rss = numbers(value)[0];
        }
    }
    for line in &lines[60..] {
        let row = numbers(line);
        problem.columns.resize(row.len(), vec![]);
        for (column, x) in problem.columns.iter_mut().zip(row) {
            column.push(x);
        }
    }
    problem
}

/// Fits a problem from one of its starts.
pub(crate) fn fit(
    name: &str,
    formula: &str,
    problem: &Problem,
    start: usize,
    method: Method,
) -> Estimate {
    let y = match name {
        "Nelson" => problem.columns[0].iter().map(|y| y.ln()).collect(),
        _ => problem.columns[0].clone(),
    };
    let mut data = Data::new(y);
    let names: &[&str] = if name == "Nelson" {
        &["x1", "x2"]
    } else {
        &["x"]
    };
    for (k, column) in names.iter().enumerate() {
        data = data.with(column, problem.columns[k + 1].clone());
    }
    let starts = problem.starts[start].iter().enumerate();
    let options = Options {
        p0: starts.map(|(k, &x)| (format!("b{}", k + 1), x)).collect(),
        method,
        ..Options::default()
    };
    CurveFit::compile(formula)
        .unwrap()
        .fit(&data, &options)
        .unwrap()
}

/// Correct digits, NIST's log relative error, at most 11.
pub(crate) fn digits(got: f64, certified: f64) -> f64 {
    let relative = ((got - certified) / certified).abs();
    if relative == 0.0 {
        11.0
    } else {
        (-relative.log10()).clamp(0.0, 11.0)
    }
}

/// Correct digits of the worst parameter.
pub(crate) fn score(estimate: &Estimate, problem: &Problem) -> f64 {
    let pairs = problem.certified.iter().enumerate().map(|(k, &want)| {
        let name = format!("b{}", k + 1);
        digits(estimate.parameter(&name).unwrap().value, want)
    });
    pairs.fold(11.0, f64::min)
}
