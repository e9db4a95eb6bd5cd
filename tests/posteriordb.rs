//! The models of posteriordb (Magnusson and others) as texts of the language, on its data.
//!
//! The texts stand in models/posteriordb; the database is not a part of this project. With
//! `FITZROY_POSTERIORDB` = the path of a checkout, every text is bound to the data of its
//! posteriors; with `FITZROY_POSTERIORDB_STAN` = a folder that tests/python/posteriordb_stan.py
//! has written, log densities are compared with those of Stan; and with
//! `FITZROY_POSTERIORDB_SAMPLE` set, posteriors are sampled and compared with reference draws.
//! `FITZROY_POSTERIORDB_ONLY` picks posteriors by a part of their name.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // tables, and what was skipped

#[path = "posteriordb/database.rs"]
mod database;
#[path = "posteriordb/reference.rs"]
mod reference;
#[path = "posteriordb/stan.rs"]
mod stan;
mod support;

use database::{Database, bound, texts};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy::rng::{Purpose, Rng};
use support::{Density, everywhere};

/// Posteriors whose data the newest checkout lacked when this was written.
const WITHOUT_DATA: [&str; 1] = ["mnist-nn_rbm1bJ100"];

#[test]
fn every_text_of_posteriordb_is_a_valid_model() {
    let all = texts();
    assert_eq!(all.len(), 120, "all models of the database");
    for (name, text) in all {
        let first = format!("# posteriordb {name}: ");
        assert!(text.starts_with(&first), "{name} says where it comes from");
        Model::parse(&text).unwrap_or_else(|e| panic!("models/posteriordb/{name}.fz: {e}"));
    }
}

/// The log density and its gradient are finite at one of 20 places near 0.
fn finite_somewhere(joint: &Joint) -> Result<(), String> {
    let mut density = Density::new(joint, &everywhere(joint, &Coordinates::Centred));
    let mut rng = Rng::new(7, 0, 0, 0, Purpose::Test);
    let mut last = String::new();
    for scale in (0..20).map(|k| 1.0 / f64::from(1 + k / 4)) {
        let u: Vec<f64> = (0..joint.n_params())
            .map(|_| scale * (2.0 * rng.uniform() - 1.0))
            .collect();
        let (value, gradient) = density.run(&u);
        let bad = gradient.iter().position(|g| !g.is_finite());
        match bad {
            None if value.is_finite() => return Ok(()),
            _ => last = format!("log density {value}, first slope that is not finite {bad:?}"),
        }
    }
    Err(last)
}

#[test]
fn every_posterior_has_a_finite_density_and_gradient_on_its_data() {
    let name = "densities of posteriordb";
    let Some(database) = Database::of_environment(name) else {
        return;
    };
    let (mut good, mut bad) = (0, Vec::new());
    for posterior in database.posteriors() {
        if WITHOUT_DATA.contains(&posterior.name.as_str()) {
            continue;
        }
        let joint = bound(&database, &posterior);
        match joint.and_then(|joint| finite_somewhere(&joint)) {
            Ok(()) => good += 1,
            Err(why) => bad.push(format!("{}: {why}", posterior.name)),
        }
    }
    eprintln!("{good} posteriors");
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Microseconds of a gradient on one thread: the least of five rounds.
fn microseconds(density: &mut Density, u: &[f64]) -> f64 {
    let mut repeats = 1;
    loop {
        let round = |density: &mut Density| {
            let start = std::time::Instant::now();
            for _ in 0..repeats {
                let _ = density.run(u);
            }
            start.elapsed().as_secs_f64() / f64::from(repeats)
        };
        let least = (0..5).map(|_| round(density)).fold(f64::INFINITY, f64::min);
        if least * f64::from(repeats) > 2e-3 || repeats >= 1 << 14 {
            return 1e6 * least;
        }
        repeats *= 4;
    }
}

#[test]
fn speed_of_gradients() {
    if std::env::var_os("FITZROY_POSTERIORDB_SPEED").is_none() {
        return;
    }
    let Some(database) = Database::of_environment("speed of gradients") else {
        return;
    };
    eprintln!("microseconds  parameters  numbers  ns a number");
    for posterior in database.posteriors() {
        if WITHOUT_DATA.contains(&posterior.name.as_str()) {
            continue;
        }
        let Ok(joint) = bound(&database, &posterior) else {
            continue;
        };
        let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        let u = vec![0.1; joint.n_params()];
        let numbers = density.numbers();
        let each = microseconds(&mut density, &u);
        eprintln!(
            "{each:10.2}  {:6}  {numbers:9}  {:6.2}  {}",
            joint.n_params(),
            1e3 * each / numbers as f64,
            posterior.name
        );
    }
}
