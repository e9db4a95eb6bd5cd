//! Variables put together from several statements, wherever the draws go.

use crate::data::Dataset;
use crate::draws::{Column, Flush, Trace, Variable, read_zarr};
use crate::model::Model;
use crate::run::tests::short;
use crate::run::{
    Caller, Convergence, Keeping, Live, Outcome, Settings, bind, open, run, run_kept,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// The random walk of the documentation: the first element has a statement of its own.
const WALK: &str = "data y[time]
    rho   ~ Normal(0, 1)
    sigma ~ HalfNormal(1)
    y[0]  ~ Normal(0, 5)
    y[1:] ~ Normal(rho * y[:-1], sigma)";

/// The same density in one statement, with the first element's mean and scale as data.
const WHOLE: &str = "data y[time], before[time], first[time]
    rho   ~ Normal(0, 1)
    sigma ~ HalfNormal(1)
    y     ~ Normal(rho * before, where(first, 5, sigma))";

const Y: [f64; 6] = [0.3, 0.9, 0.4, 1.5, 1.8, 1.1];

fn data() -> Dataset {
    let mut data = Dataset::new();
    data.insert_real("y", &[6], Y.to_vec());
    data.insert_real("before", &[6], [&[0.0], &Y[..5]].concat());
    data.insert_real("first", &[6], vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    data
}

fn sampled(model: &str, settings: &Settings) -> Outcome {
    let joint = bind(&Model::parse(model).unwrap(), &data(), settings).unwrap();
    run(&joint, settings, &Caller::silent()).unwrap()
}

fn everything() -> Settings {
    Settings {
        predictive: true,
        log_likelihood: true,
        ..short()
    }
}

fn find<'a>(trace: &'a Trace, group: &str, name: &str) -> &'a Variable {
    let group = trace.group(group).unwrap_or_else(|| panic!("no {group}"));
    let named = group.variables.iter().filter(|v| v.name == name);
    let all: Vec<_> = named.collect();
    assert_eq!(all.len(), 1, "{name} in {}", group.name);
    all[0]
}

fn reals(variable: &Variable) -> &[f64] {
    match &variable.values {
        Column::Real(values) => values,
        other => panic!("{other:?}"),
    }
}

/// Bound: the two densities add up their terms in another order, so draws drift apart; what is
/// compared is the likelihood at the draws of each, recomputed by hand. Catches: elements of one
/// statement in the place of another's, a statement left out.
#[test]
fn slices_are_one_variable_in_every_group() {
    let outcome = sampled(WALK, &everything());
    let trace = &outcome.trace;
    let likelihood = find(trace, "log_likelihood", "y");
    assert_eq!(likelihood.dims, ["chain", "draw", "time"]);
    assert_eq!(
        find(trace, "posterior_predictive", "y").shape,
        likelihood.shape
    );
    assert_eq!(reals(find(trace, "observed_data", "y")), Y);
    let (rho, sigma) = (
        find(trace, "posterior", "rho"),
        find(trace, "posterior", "sigma"),
    );
    for (d, (rho, sigma)) in reals(rho).iter().zip(reals(sigma)).enumerate() {
        let row = &reals(likelihood)[6 * d..6 * d + 6];
        for (t, got) in row.iter().enumerate() {
            let (mean, sd) = match t {
                0 => (0.0, 5.0),
                _ => (rho * Y[t - 1], *sigma),
            };
            let z = (Y[t] - mean) / sd;
            let expected = -0.5 * z * z - sd.ln() - 0.918_938_533_204_672_7;
            assert!(
                (got - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                "{t}"
            );
        }
    }
}

/// Bound: 200 replicates of element 0 are normal with sd 5; six standard errors of the mean square.
/// Catches: replicates of the long slice in the place of the first element.
#[test]
fn replicates_of_slices_stand_in_their_places() {
    for prior_only in [false, true] {
        let settings = Settings {
            predictive: true,
            prior_only,
            ..short()
        };
        let outcome = sampled(WALK, &settings);
        let group = if prior_only {
            "prior_predictive"
        } else {
            "posterior_predictive"
        };
        let y = find(&outcome.trace, group, "y");
        assert_eq!(y.dims, ["chain", "draw", "time"]);
        let n = y.shape[0] * y.shape[1];
        let square: f64 = (0..n).map(|d| reals(y)[6 * d].powi(2)).sum::<f64>() / n as f64;
        let bound = 6.0 * 25.0 * (2.0 / n as f64).sqrt();
        assert!((square - 25.0).abs() < bound, "{square}");
    }
}

/// The same posterior in one statement has groups of the same shapes, so LOO sees the same
/// observations. Bound: elpd of 2 x 100 draws agree within a few of their standard errors, 0.5 nats.
#[test]
fn cross_validation_sees_slices_as_one_array() {
    let loo = |model: &str| {
        let outcome = sampled(model, &everything());
        crate::diagnose::loo(&outcome.trace, None, 1).unwrap()
    };
    let (slices, whole) = (loo(WALK), loo(WHOLE));
    assert_eq!(slices.pointwise.len(), 6);
    assert_eq!(slices.names, whole.names);
    assert_eq!(slices.observed, whole.observed);
    assert!(
        (slices.elpd - whole.elpd).abs() < 0.5,
        "{} {}",
        slices.elpd,
        whole.elpd
    );
}

/// Two slices of equal length, of which the second comes first; and a slice that leaves elements
/// out. Catches: a replicate of the first slice for both, shapes that do not fit the data.
#[test]
fn slices_need_not_come_in_order_or_be_all() {
    let halves = "data y[time]
        m ~ Normal(0, 1)
        y[3:]  ~ Normal(m + 1000, 1)
        y[0:3] ~ Normal(m - 1000, 1)";
    let outcome = sampled(halves, &everything());
    for row in reals(find(&outcome.trace, "posterior_predictive", "y")).chunks(6) {
        assert!(row[..3].iter().all(|y| *y < 0.0) && row[3..].iter().all(|y| *y > 0.0));
    }
    let parts = "data y[time]
        m ~ Normal(0, 1)
        y[4:]  ~ Normal(m, 1)
        y[1:3] ~ Normal(m, 2)";
    let trace = sampled(parts, &everything()).trace;
    assert_eq!(find(&trace, "observed_data", "y").dims, ["y_dim_0"]);
    assert_eq!(
        reals(find(&trace, "observed_data", "y")),
        [0.9, 0.4, 1.8, 1.1]
    );
    assert_eq!(find(&trace, "log_likelihood", "y").shape[2..], [4]);
    assert_eq!(find(&trace, "posterior_predictive", "y").shape[2..], [4]);
    assert_eq!(find(&trace, "constant_data", "y").shape, [6]);
    let one = "data y[time]\nm ~ Normal(0, 1)\ny[2:] ~ Normal(m, 1)";
    let trace = sampled(one, &everything()).trace;
    for group in ["log_likelihood", "posterior_predictive"] {
        assert_eq!(find(&trace, group, "y").shape[2..], [4], "{group}");
    }
    assert_eq!(reals(find(&trace, "observed_data", "y")), &Y[2..]);
}

/// A vector has one log likelihood, its replicate has all elements.
#[test]
fn rows_of_a_matrix_may_have_distributions_of_their_own() {
    let model = "data Y[row, k], chol[k, k]
        m ~ Normal(0, 1)
        Y[0:2, :] ~ MvNormal([m, m], chol=chol)
        Y[2:, :]  ~ MvNormal([-m, m], chol=chol)";
    let mut data = Dataset::new();
    data.insert_real("Y", &[3, 2], vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    data.insert_real("chol", &[2, 2], vec![1.0, 0.0, 0.5, 1.0]);
    let settings = everything();
    let joint = bind(&Model::parse(model).unwrap(), &data, &settings).unwrap();
    let trace = run(&joint, &settings, &Caller::silent()).unwrap().trace;
    assert_eq!(find(&trace, "log_likelihood", "Y").dims[2..], ["row"]);
    assert_eq!(
        find(&trace, "posterior_predictive", "Y").dims[2..],
        ["row", "k"]
    );
}

/// Numbers computed from data that have a distribution are observed data.
#[test]
fn computed_outcomes_are_observed() {
    let model = "data y[time]
        let z = log(y)
        m ~ Normal(0, 1)
        z ~ Normal(m, 1)";
    let settings = everything();
    let joint = bind(&Model::parse(model).unwrap(), &data(), &settings).unwrap();
    assert_eq!(joint.n_observed(), 6);
    let trace = run(&joint, &settings, &Caller::silent()).unwrap().trace;
    let z = find(&trace, "observed_data", "z");
    assert_eq!(
        (z.dims.as_slice(), reals(z)[1]),
        (&["time".to_string()][..], 0.9_f64.ln())
    );
    assert_eq!(find(&trace, "log_likelihood", "z").shape[2..], [6]);
    assert_eq!(
        crate::diagnose::loo(&trace, None, 1)
            .unwrap()
            .pointwise
            .len(),
        6
    );
}

struct Silent;

impl Live for Silent {
    fn show(&self, _: &Convergence) {}
}

/// Exact. Catches: a stream whose template has other variables than its blocks.
#[test]
fn slices_are_streamed_as_they_are_kept_in_memory() {
    for in_memory_bytes in [None, Some(0)] {
        let settings = Settings {
            in_memory_bytes,
            ..everything()
        };
        let name = format!(
            "fitzroy-slices-{}-{}",
            in_memory_bytes.is_some(),
            std::process::id()
        );
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let joint = bind(&Model::parse(WALK).unwrap(), &data(), &settings).unwrap();
        let keeping = Keeping {
            folder: &folder,
            from: open(&folder, &joint, &settings).unwrap(),
            first_s: 0.0,
            every_s: 0.0,
            live: &Silent,
        };
        let ticks = AtomicU64::new(0);
        let caller = Caller {
            now: &|| ticks.fetch_add(1, Ordering::Relaxed) as f64 * 0.1,
            ..Caller::silent()
        };
        let mut outcome = run_kept(&joint, &settings, &caller, &keeping).unwrap();
        let mut kept = outcome.kept.take().unwrap();
        kept.finish(&outcome.trace, outcome.first_draw, Flush::Later)
            .unwrap();
        let stored = read_zarr(folder.join(crate::run::STREAM)).unwrap();
        let whole = sampled(WALK, &everything()).trace;
        for group in [
            "posterior",
            "posterior_predictive",
            "log_likelihood",
            "observed_data",
        ] {
            for variable in &whole.group(group).unwrap().variables {
                let other = find(&stored, group, &variable.name);
                assert_eq!(reals(other), reals(variable), "{group} {}", variable.name);
                assert_eq!(other.dims, variable.dims);
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// A square of data over one dim twice.
#[test]
fn a_square_of_data_is_observed_as_a_whole() {
    let model = "data R[k, k]\nm ~ Normal(0, 1)\nR[k, k] ~ Normal(m, 1)";
    let mut data = Dataset::new();
    data.insert_real("R", &[2, 2], vec![0.1, 0.2, 0.3, 0.4]);
    let settings = everything();
    let joint = bind(&Model::parse(model).unwrap(), &data, &settings).unwrap();
    let trace = run(&joint, &settings, &Caller::silent()).unwrap().trace;
    assert_eq!(find(&trace, "log_likelihood", "R").dims[2..], ["k", "k'"]);
}

#[test]
fn an_element_has_one_distribution() {
    let model = "data y[time]\nm ~ Normal(0, 1)\ny[0:3] ~ Normal(m, 1)\ny[2:] ~ Normal(m, 2)";
    let error = bind(&Model::parse(model).unwrap(), &data(), &short())
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "line 4, column 1: `y`, row 3: this element already has a distribution on line 3"
        ),
        "{text}"
    );
}

/// Against PyMC, at given coordinates; `tests/golden/lp/generate.py` says which they are. Bound:
/// PyMC has the norm of LKJ to eight digits. Catches: a Jacobian of innovations or partial
/// correlations that stays in `lp`.
#[test]
fn lp_of_vectors_and_matrices_is_that_of_pymc() {
    use crate::run::compiled::{Compiled, Terms};
    let golden = include_str!("../../../tests/golden/lp/pymc.json");
    let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
    let numbers = |v: &serde_json::Value| -> Vec<f64> {
        let all = v.as_array().unwrap().iter();
        all.map(|x| x.as_f64().unwrap()).collect()
    };
    for case in golden["cases"].as_array().unwrap() {
        let model = Model::parse(case["model"].as_str().unwrap()).unwrap();
        let joint = bind(&model, &Dataset::new(), &Settings::default()).unwrap();
        let chosen = vec![crate::model::joint::Coordinates::Centred; joint.plates().len()];
        let engine = fitzroy_device::cpu::Engine::Interpreter;
        let chosen = chosen.as_slice().into();
        let compiled = Compiled::new(&joint, &chosen, Terms::All, engine).unwrap();
        let recorded = compiled.graphs.recorded.iter().map(|r| r.node);
        let nodes: Vec<_> = recorded.chain([compiled.lp]).collect();
        let function = compiled.function(&nodes).unwrap();
        let mut workspace = function.workspace();
        function.run(&mut workspace, &numbers(&case["u"]));
        let records = compiled.graphs.recorded.iter().enumerate();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-7 * (1.0 + b.abs());
        for (k, record) in records.clone() {
            let Some(expected) = case["recorded"].get(&record.name) else {
                continue;
            };
            let got = function.output(&workspace, k);
            let pairs = got.iter().zip(numbers(expected));
            assert!(
                pairs.clone().all(|(a, b)| near(*a, b)),
                "{}: {got:?}",
                case["name"]
            );
        }
        let lp = function.output(&workspace, records.len())[0];
        let expected = case["lp"].as_f64().unwrap();
        assert!(near(lp, expected), "{}: {lp}, not {expected}", case["name"]);
    }
}
