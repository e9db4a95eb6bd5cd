//! The example models: they read, bind to their data and have a finite log density; two of them
//! have the log density and gradient that JAX and mpmath give (`benches/peers/reference.json`).
#![allow(clippy::unwrap_used)]

#[path = "../benches/problems/mixture.rs"]
mod mixture;
#[path = "../benches/problems/random.rs"]
mod random;

use std::path::{Path, PathBuf};

use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy_graph::{Op, evaluate};

/// Name, data file and number of parameters of every example, as `models/README.md` lists them.
const EXAMPLES: [(&str, &str, usize); 21] = [
    ("linear", "linear.csv", 3),
    ("logistic", "logistic.csv", 5),
    ("poisson", "counts.csv", 3),
    ("negative-binomial", "counts.csv", 4),
    ("hierarchical", "hierarchical.csv", 103),
    ("hierarchical-noncentred", "hierarchical.csv", 103),
    ("eight-schools", "eight-schools.csv", 10),
    ("eight-schools-noncentred", "eight-schools.csv", 10),
    ("radon", "radon.json", 90),
    ("artists", "artists.json", 113),
    ("conversion-funnel", "conversion-funnel.csv", 42),
    ("energy", "energy.json", 71),
    ("mixture", "mixture.csv", 5),
    ("random-walk", "random-walk.csv", 123),
    ("pumps", "pumps.csv", 12),
    ("seeds", "seeds.csv", 26),
    ("rats", "rats.csv", 65),
    ("ratings", "ratings.csv", 6),
    ("slopes", "slopes.csv", 56),
    ("trips", "trips.json", 40),
    ("autoregression", "autoregression.csv", 3),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn model(path: &str) -> Model {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    Model::parse(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn data(path: &str) -> Dataset {
    let mut data = Dataset::new();
    for array in read_file(root().join(path)).unwrap() {
        data.insert(array);
    }
    data
}

/// Value and gradient of the log density in centred coordinates, by the reference interpreter.
fn value_and_gradient(joint: &Joint, at: &[f64]) -> (f64, Vec<f64>) {
    let graphs = joint.graphs(&vec![Coordinates::Centred; joint.plates().len()]);
    let mut outputs = vec![graphs.density];
    outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
    let values = evaluate(&graphs.graph, &graphs.bindings, at, &outputs);
    let mut gradient = vec![0.0; joint.n_params()];
    for (partial, part) in graphs.gradient.iter().zip(&values[1..]) {
        let Op::Param { offset } = graphs.graph.node(partial.param).op else {
            panic!("a gradient is with respect to a parameter");
        };
        gradient[offset..offset + part.len()].copy_from_slice(part);
    }
    (values[0][0], gradient)
}

#[test]
fn every_example_binds_to_its_data_and_has_a_finite_log_density() {
    for (name, file, n_params) in EXAMPLES {
        let model = model(&format!("models/{name}.fz"));
        let binding = model
            .bind(&data(&format!("models/{file}")))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let joint = Joint::new(&model, binding).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(joint.n_params(), n_params, "{name}");
        assert!(
            model.warnings().is_empty(),
            "{name}: {:?}",
            model.warnings()
        );
        let (value, gradient) = value_and_gradient(&joint, &vec![0.1; n_params]);
        assert!(value.is_finite(), "{name}: {value}");
        assert!(gradient.iter().all(|g| g.is_finite()), "{name}");
    }
}

#[test]
fn every_model_file_is_listed_and_has_a_reference_posterior() {
    let mut files: Vec<String> = std::fs::read_dir(root().join("models"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "fz"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut listed: Vec<&str> = EXAMPLES.iter().map(|e| e.0).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
    for name in listed {
        let name = name.strip_suffix("-noncentred").unwrap_or(name);
        let path = root().join(format!("tests/golden/posteriors/{name}.json"));
        assert!(path.exists(), "{}", path.display());
    }
}

/// Bound: 1e-9, of the value relative, of a gradient element in units of the gradient's norm.
fn check_against_reference(problem: &str, joint: &Joint) {
    let text = std::fs::read_to_string(root().join("benches/peers/reference.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reals = |key: &str| -> Vec<f64> {
        let list = all[problem][key].as_array().unwrap();
        list.iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let (point, expected) = (reals("point"), reals("gradient"));
    let names = all[problem]["names"].as_array().unwrap();
    let places: Vec<usize> = names
        .iter()
        .map(|n| place(joint, n.as_str().unwrap()))
        .collect();
    let mut at = vec![f64::NAN; joint.n_params()];
    for (&place, &x) in places.iter().zip(&point) {
        at[place] = x;
    }
    let (value, gradient) = value_and_gradient(joint, &at);
    let wanted = all[problem]["value"].as_f64().unwrap();
    assert!(
        (value / wanted - 1.0).abs() < 1e-9,
        "{problem}: {value} for {wanted}"
    );
    let norm = all[problem]["gradient_norm"].as_f64().unwrap();
    for ((name, &place), &g) in names.iter().zip(&places).zip(&expected) {
        let error = (gradient[place] - g).abs() / norm;
        assert!(
            error < 1e-9,
            "{problem}, {name}: {} for {g}",
            gradient[place]
        );
    }
}

/// The coordinate that `name`, `name[3]` or `log(name)` stands for.
fn place(joint: &Joint, name: &str) -> usize {
    let name = name
        .strip_prefix("log(")
        .and_then(|n| n.strip_suffix(')'))
        .unwrap_or(name);
    let (name, index) = match name.split_once('[') {
        Some((name, rest)) => (name, rest.trim_end_matches(']').parse().unwrap()),
        None => (name, 0),
    };
    let parameter = joint.parameters().iter().find(|p| p.name == name);
    parameter
        .unwrap_or_else(|| panic!("no parameter {name}"))
        .offset
        + index
}

#[test]
fn the_noncentred_hierarchical_model_has_the_density_of_jax() {
    let model = model("models/hierarchical-noncentred.fz");
    let binding = model.bind(&data("models/hierarchical.csv")).unwrap();
    check_against_reference(
        "hierarchical-noncentred",
        &Joint::new(&model, binding).unwrap(),
    );
}

#[test]
fn the_grouped_mixture_has_the_density_of_jax() {
    let (subject, ticks) = mixture::ticks();
    assert_eq!(random::checksum(&ticks), mixture::CHECKSUM);
    let mut data = Dataset::new();
    let n = ticks.len();
    data.insert_real("rt", &[n], ticks.iter().map(|&t| t as f64 / 1e5).collect());
    data.insert_real("subject", &[n], subject.iter().map(|&s| s as f64).collect());
    let model = model("benches/problems/mixture.fz");
    let binding = model.bind(&data).unwrap();
    let joint = Joint::new(&model, binding).unwrap();
    assert_eq!(joint.n_params(), 613);
    check_against_reference("mixture", &joint);
}
