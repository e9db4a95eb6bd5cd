//! The same fits as SciPy: values, covariance, bounds, robust losses.
#![allow(clippy::unwrap_used)]

use fitzroy::Named;
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Loss, Options, Scale, Sigma, values};
use serde_json::Value;

struct Golden(Value);

impl Golden {
    fn read() -> Golden {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fits.json");
        Golden(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn numbers(&self, path: &[&str]) -> Vec<f64> {
        let mut at = &self.0;
        for key in path {
            at = &at[*key];
        }
        at.as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect()
    }

    fn fit(&self, y: &str, sigma: bool, options: Options) -> Estimate {
        let mut data = Data::new(self.numbers(&[y])).with("x", self.numbers(&["x"]));
        if sigma {
            data = data.with_sigma(Sigma::Each(self.numbers(&["sigma"]).into()));
        }
        let options = Options {
            p0: values(if options.loss == Loss::Linear {
                [("a", 1.0), ("b", 1.0), ("c", 0.5)]
            } else {
                // Robust losses have other minima far out.
                [("a", 2.0), ("b", 0.8), ("c", 0.3)]
            }),
            ..options
        };
        CurveFit::compile("a*exp(-b*x)+c")
            .unwrap()
            .fit(&data, &options)
            .unwrap()
    }
}

fn check_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{got} {want}");
    }
}

#[test]
fn values_and_covariance_are_those_of_scipy_with_and_without_sigma() {
    let golden = Golden::read();
    for (name, sigma, absolute) in [
        ("unweighted", false, false),
        ("weighted", true, false),
        ("absolute", true, true),
    ] {
        let options = Options {
            absolute_sigma: absolute,
            ..Options::default()
        };
        let found = golden.fit("y", sigma, options);
        assert!(found.converged(), "{:?}", found.status);
        check_close(&found.popt, &golden.numbers(&[name, "popt"]), 1e-8);
        check_close(&found.pcov, &golden.numbers(&[name, "pcov"]), 1e-6);
    }
}

#[test]
fn a_fit_at_its_bound_is_that_of_scipy_and_has_no_error_there() {
    let golden = Golden::read();
    let options = Options {
        bounds: vec![
            ("a".into(), 0.0, 5.0),
            ("b".into(), 0.0, 5.0),
            ("c".into(), 0.35, 1.0),
        ],
        ..Options::default()
    };
    let found = golden.fit("y", false, options);
    check_close(&found.popt, &golden.numbers(&["bounded", "popt"]), 1e-6);
    let c = found.parameter("c").unwrap();
    assert!(c.at_bound && c.se.is_nan() && c.value == 0.35);
    assert!(found.parameter("a").unwrap().se > 0.0);
    assert!(
        found
            .findings
            .iter()
            .any(|f| f.contains("c is at its lower bound 0.35"))
    );
}

#[test]
fn robust_losses_mean_what_they_mean_in_scipy() {
    let golden = Golden::read();
    for (name, loss) in Loss::NAMES
        .iter()
        .filter(|l| !["linear", "tukey"].contains(&l.0))
    {
        let options = Options {
            loss: *loss,
            f_scale: Scale::Fixed(0.05),
            ..Options::default()
        };
        let found = golden.fit("outliers", false, options);
        assert!(found.converged(), "{name}: {:?}", found.status);
        check_close(&found.popt, &golden.numbers(&[name, "popt"]), 2e-6);
        let cost = golden.0[name]["cost"].as_f64().unwrap();
        check_close(&[found.cost], &[cost], 1e-9);
        assert_eq!(found.covariance_kind, "sandwich");
    }
}
