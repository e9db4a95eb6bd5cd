//! Starts at given values, against the coordinates that formulas give.

use super::*;
use crate::model::Model;
use crate::model::joint::Coordinates;
use crate::run::compiled::Terms;
use crate::run::tests::{schools, short};
use crate::run::{Caller, Outcome};
use crate::run::{CoordinateChoice, LogDensity, bind, run};
use fitzroy_device::cpu::Engine;

fn set(values: &[(&str, &[usize], &[f64])]) -> Dataset {
    let mut out = Dataset::new();
    for (name, shape, numbers) in values {
        out.insert_real(name, shape, numbers.to_vec());
    }
    out
}

/// The points of a run of eight schools, non-centred at its start.
fn points_of(given: Vec<Dataset>) -> Result<Vec<Vec<f64>>> {
    let settings = Settings {
        initvals: given,
        ..short()
    };
    let joint = schools(&settings);
    let posterior = ModelPosterior::new(
        &joint,
        CoordinateChoice::Auto,
        Terms::All,
        Engine::Interpreter,
    )?;
    match points(&joint, &posterior, &settings)? {
        Init::Points(points) => Ok(points),
        other => panic!("{}", other.name()),
    }
}

fn message(given: Vec<Dataset>) -> String {
    points_of(given).unwrap_err().to_string()
}

const THETA: [f64; 8] = [3.0, 1.0, -2.0, 0.5, 4.0, 0.0, 7.5, -1.0];

/// mu, ln tau and (theta − mu)/tau, to rounding.
#[test]
fn values_become_the_coordinates_of_a_non_centred_model() {
    let all = set(&[
        ("theta", &[8], &THETA),
        ("tau", &[], &[2.5]),
        ("mu", &[], &[1.5]),
    ]);
    let points = points_of(vec![all]).unwrap();
    assert_eq!(points.len(), 4);
    let effects = THETA.map(|x| (x - 1.5) / 2.5);
    for point in points {
        let want: Vec<f64> = [1.5, 2.5f64.ln()].into_iter().chain(effects).collect();
        for (x, want) in point.iter().zip(want) {
            assert!((x - want).abs() < 1e-14, "{x} {want}");
        }
    }
}

/// Catches: a value that is put into a coordinate that another start moves.
#[test]
fn what_is_not_given_is_found_around_what_is() {
    let sets = [1.0, 2.0, 3.0, 4.0].map(|mu| set(&[("mu", &[], &[mu]), ("theta", &[8], &THETA)]));
    let points = points_of(sets.to_vec()).unwrap();
    let mut taus = Vec::new();
    for (k, point) in points.iter().enumerate() {
        let (mu, tau) = (1.0 + k as f64, point[1].exp());
        assert_eq!(point[0], mu);
        for (w, theta) in point[2..].iter().zip(THETA) {
            assert!((mu + tau * w - theta).abs() < 1e-12);
        }
        taus.push(tau);
    }
    assert_ne!(taus[0], taus[1]);
    // One number stands for all elements.
    let points = points_of(vec![set(&[("theta", &[], &[2.0]), ("mu", &[], &[0.0])])]).unwrap();
    assert!(points[0][2..].iter().all(|w| *w == points[0][2]));
}

#[test]
fn values_that_are_none_of_the_model_are_refused() {
    let one = |name, shape: &[usize], numbers: &[f64]| vec![set(&[(name, shape, numbers)])];
    let cases = [
        (one("tua", &[], &[1.0]), "no `tua`; did you mean `tau`?"),
        (one("y", &[8], &THETA), "`y` is no parameter of the model"),
        (
            one("theta", &[2], &[1.0, 2.0]),
            "`theta` has shape [2], the parameter [8]",
        ),
        (
            one("tau", &[], &[-1.0]),
            "`tau` is -1, which is not between 0 and inf",
        ),
        (
            one("tau", &[], &[0.0]),
            "`tau` is 0, which is not between 0 and inf",
        ),
        (
            one("mu", &[], &[f64::NAN]),
            "`mu` is NaN; it needs a finite number",
        ),
        (
            vec![Dataset::new(), Dataset::new()],
            "2 sets of values for 4 chains",
        ),
    ];
    for (given, want) in cases {
        let found = message(given);
        assert!(found.starts_with("⟨initvals⟩: "), "{found}");
        assert!(found.contains(want), "{found}");
    }
    let mut sets = vec![set(&[("mu", &[], &[1.0])]); 4];
    sets[2] = set(&[("tau", &[], &[-1.0])]);
    assert!(message(sets).contains("⟨initvals⟩: chain 2: `tau` is -1"));
    let mut text = Dataset::new();
    text.insert(Array::text("mu", &[], vec!["high".into()], "memory"));
    assert!(message(vec![text]).contains("`mu` is text"));
}

/// Every kind of parameter that the language has.
const KINDS: &str = "
    data y[g]
    dim k = 3
    dim t = 5
    mu       ~ Normal(0, 2)
    tau      ~ HalfNormal(1)
    low      ~ Uniform(-3, -1)
    width    ~ Uniform(low, tau)
    share    ~ Beta(2, 3)
    theta[g] ~ Normal(mu, tau)
    eta[g]   ~ StudentT(4, mu, tau) @ centred
    cut[k]   ~ Normal(0, 2) ordered
    rate[k]  ~ Exponential(1) ordered
    p[g, k]  ~ Dirichlet([2, 1, 3])
    level[t] ~ GaussianRandomWalk(mu=0.1, sigma=tau, init_dist=Normal(mu, 2))
    path[t]  ~ GaussianRandomWalk(sigma=tau, init_dist=Exponential(1))
    ar[t]    ~ AR(0.5, sigma=tau)
    z[g, k]  ~ ZeroSumNormal(tau)
    zc[k]    ~ ZeroSumNormal(tau) @ centred
    L[k, k]  ~ LKJCholeskyCov(2, Exponential(1))
    R[k, k]  ~ LKJCorr(2)
    v[g, k]  ~ MvNormal([0, 1, 2], chol=L)
    w[k]     ~ MvNormal([0, 1, 2], cov=R)
    x[k]     ~ MvNormal([0, 1, 2], cov=R) @ centred
    y        ~ Normal(theta + width, 1)
";

fn kinds(settings: &Settings) -> Joint {
    let data = set(&[("y", &[4], &[0.3, 1.0, -0.5, 2.0])]);
    bind(&Model::parse(KINDS).unwrap(), &data, settings).unwrap()
}

/// Values of all parameters in one draw.
fn draw(outcome: &Outcome, joint: &Joint, at: usize) -> Dataset {
    let posterior = outcome.trace.group("posterior").unwrap();
    let mut out = Dataset::new();
    for parameter in joint.parameters() {
        let variable = posterior.variable(&parameter.name).unwrap();
        let shape = &variable.shape[2..];
        let len: usize = shape.iter().product();
        let numbers = (0..len).map(|i| variable.element(i)[0][at]).collect();
        out.insert_real(&parameter.name, shape, numbers);
    }
    out
}

/// The density found from values is that of the draw with these values, for every kind of
/// parameter. Both round: 1e-9 of it. Catches: an inverse of any transform that is wrong, which moves
/// densities by whole nats.
#[test]
fn densities_of_values_are_those_of_draws() {
    let mut settings = short();
    settings.coordinates = CoordinateChoice::AsWritten;
    settings.sampler.chains = 1;
    let joint = kinds(&settings);
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    let lp = outcome.trace.group("sample_stats").unwrap();
    let lp = lp.variable("lp").unwrap().element(0)[0].to_vec();
    let mut density = LogDensity::new(&joint).unwrap();
    for (at, lp) in lp.iter().enumerate() {
        let found = density.at(&draw(&outcome, &joint, at)).unwrap();
        assert!(
            (found.lp - lp).abs() < 1e-9 * (1.0 + lp.abs()),
            "{} {lp}",
            found.lp
        );
        assert!(found.slope.iter().all(|g| g.is_finite()));
    }
}

/// A start at a draw is where the draw was, in coordinates that are non-centred, partly centred and
/// centred; errors of 1e-6 of a value would be told.
#[test]
fn values_and_coordinates_go_round_in_all_coordinates() {
    let mut settings = short();
    settings.sampler.chains = 1;
    let joint = kinds(&settings);
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    let names: Vec<&str> = joint.parameters().iter().map(|p| p.name.as_str()).collect();
    let part = Coordinates::Partial(vec![0.2, 0.4, 0.6, 0.8]);
    for plates in [
        [Coordinates::NonCentred, Coordinates::Centred],
        [part.clone(), part],
    ] {
        // Of more plates the rest are as the statements ask.
        let mut all = vec![Coordinates::NonCentred; joint.plates().len()];
        for (k, plate) in joint.plates().iter().enumerate() {
            let of = |name: &str| joint.parameters()[plate.parameter].name == name;
            if of("theta") {
                all[k] = plates[0].clone();
            }
            if of("eta") {
                all[k] = plates[1].clone();
            }
        }
        let mut placing = Placing::new(&joint, &names, &Chosen::from(&all[..])).unwrap();
        let mut position = vec![0.0; joint.n_params()];
        for at in 0..10 {
            placing.read(&draw(&outcome, &joint, at)).unwrap();
            placing.place(&mut position).unwrap();
            assert!(position.iter().all(|x| x.is_finite()));
        }
    }
}

/// Catches: shares that do not sum to 1, and vectors that do not increase, taken as they are.
#[test]
fn vectors_outside_their_support_are_refused() {
    let joint = kinds(&short());
    let refused = |name: &str, shape: &[usize], numbers: &[f64]| {
        let plates = vec![Coordinates::NonCentred; joint.plates().len()];
        let mut placing = Placing::new(&joint, &[name], &Chosen::from(&plates[..])).unwrap();
        placing.read(&set(&[(name, shape, numbers)])).unwrap();
        let mut position = vec![0.0; joint.n_params()];
        placing.place(&mut position).unwrap_err().to_string()
    };
    let outside = "outside the support of its prior";
    let p = [0.2, 0.3, 0.5, 0.2, 0.3, 0.5, 0.2, 0.3, 0.6, 0.2, 0.3, 0.5];
    let found = refused("p", &[4, 3], &p);
    assert!(
        found.contains(outside) && found.contains("of `p` is"),
        "{found}"
    );
    assert!(refused("cut", &[3], &[0.0, 2.0, 1.0]).contains("`cut`"));
    assert!(refused("zc", &[3], &[1.0, 1.0, 1.0]).contains(outside));
    let not_lower = [1.0, 0.5, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert!(refused("L", &[3, 3], &not_lower).contains(outside));
    let not_positive = [1.0, 0.9, -0.9, 0.9, 1.0, 0.9, -0.9, 0.9, 1.0];
    assert!(refused("R", &[3, 3], &not_positive).contains(outside));
}

/// Runs where effects are integrated out have fewer coordinates than values. The mean of 5 normal
/// observations under a wide prior is theirs, 2; 200 draws are good to 0.2.
#[test]
fn a_run_with_rewrites_starts_at_values_too() {
    let text = "data y[obs]\nm ~ Normal(0, 10)\ns ~ HalfNormal(2)\nb[obs] ~ Normal(m, s)\ny ~ Normal(b, 0.5)";
    let data = set(&[("y", &[5], &[1.0, 2.0, 3.0, 2.5, 1.5])]);
    let mut settings = short();
    settings.sampler.draws = 200;
    settings.initvals = vec![set(&[
        ("m", &[], &[2.0]),
        ("s", &[], &[0.7]),
        ("b", &[5], &[1.0, 2.0, 3.0, 2.5, 1.5]),
    ])];
    let joint = bind(&Model::parse(text).unwrap(), &data, &settings).unwrap();
    assert!(
        joint
            .rewritten(crate::model::joint::Rewrites::default())
            .n_sampled()
            < joint.n_params()
    );
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    let m = outcome
        .trace
        .group("posterior")
        .unwrap()
        .variable("m")
        .unwrap();
    let mean = crate::diagnose::mean(&m.element(0).concat());
    assert!((mean - 2.0).abs() < 0.3, "{mean}");
}

/// Catches: a start without density that is not explained.
#[test]
fn values_without_density_say_which_term() {
    let text = "data y[obs]\nm ~ Normal(0, 10)\ny ~ Uniform(m, 10)";
    let data = set(&[("y", &[2], &[1.0, 2.0])]);
    let mut settings = short();
    settings.initvals = vec![set(&[("m", &[], &[1.5])])];
    let joint = bind(&Model::parse(text).unwrap(), &data, &settings).unwrap();
    let error = run(&joint, &settings, &Caller::silent())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("no chain can start at these values"),
        "{error}"
    );
    assert!(error.contains("likelihood of `y`, row 1"), "{error}");
}
