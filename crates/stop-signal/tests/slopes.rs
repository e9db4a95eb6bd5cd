//! Covariates in the model: which child has which, and what a slope does to the density.
#![allow(clippy::unwrap_used)]

mod density;

use density::density;
use fitzroy::model::joint::Joint;
use fitzroy_stop_signal::config::{Config, DEFAULT};
use fitzroy_stop_signal::data::{self, Covariate, Options, Study};
use fitzroy_stop_signal::model::Spec;
use fitzroy_stop_signal::simulate::simulate;

/// Three children whose names stand in another order than the file.
fn study() -> Study {
    let made = simulate(&Config::parse(DEFAULT).unwrap(), 3, 1);
    let csv = made
        .csv()
        .replace("s001", "z")
        .replace("s002", "b")
        .replace("s003", "m");
    let mut study = data::parse(csv.as_bytes(), "simulated", &Options::default()).unwrap();
    assert_eq!(study.subjects, ["z", "b", "m"]);
    study.covariates.push(Covariate {
        name: "x_age".into(),
        meaning: String::new(),
        values: vec![26.0, 2.0, 13.0],
    });
    study
}

fn joint(slopes: bool) -> Joint {
    let pairs = if slopes {
        vec![("B".into(), "x_age".into())]
    } else {
        Vec::new()
    };
    let spec = Spec {
        slopes: pairs,
        centred: vec!["B".into()],
        ..Spec::default()
    };
    let mut study = study();
    if !slopes {
        study.covariates.clear();
    }
    density::joint(&spec, &study)
}

/// ln p with a slope is ln p without one, where each child's log B is judged by its own mean: the
/// difference is that of three normal densities, by hand. Catches: covariates of other children.
#[test]
fn a_slope_moves_the_mean_of_each_child_by_its_own_covariate() {
    let (with, without) = (joint(true), joint(false));
    let (slope, centre, sigma) = (0.01, 0.1, 0.3f64);
    let log_b = [0.2, 0.05, 0.3];
    let value = |name: &str, i: usize| match name {
        "slope_B_x_age" => slope,
        "log_mu_B" => centre,
        "sigma_B" => sigma.ln(),
        "log_B" => log_b[i],
        "log_mu_t0" => -2.0,
        "log_mu_v_plus" | "log_mu_v0" => 1.0,
        "sigma_t0" | "sigma_v_plus" => -1.5,
        _ if name.starts_with("_signed") => 0.2,
        _ => 0.0,
    };
    let found = density(&with, value) - density(&without, value);
    let normal = |x: f64, m: f64, s: f64| {
        -0.5 * ((x - m) / s).powi(2) - (s * (2.0 * std::f64::consts::PI).sqrt()).ln()
    };
    // In the order of their names: b, m, z.
    let of = |i: usize, age: f64| {
        normal(log_b[i], centre + slope * age, sigma) - normal(log_b[i], centre, sigma)
    };
    let expected = of(0, 2.0) + of(1, 13.0) + of(2, 26.0) + normal(slope, 0.0, 0.3);
    assert!(
        found.is_finite() && (found - expected).abs() < 1e-9,
        "{found} against {expected}"
    );
}
