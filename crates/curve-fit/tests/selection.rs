//! Curves beside others: information criteria by their definitions, F tests where one is within the other.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::fit::{Candidate, Plan, Selection, fit_table, quality, select};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::{Data, Formula, Loss, Options, Sigma};

fn compared(models: &[&str], data: &Data<'_>, options: &Options) -> fitzroy::Result<Selection> {
    let mut fits = Vec::new();
    for model in models {
        let formula = Formula::parse(model)?;
        let roles = formula.roles(&data.names(), &[])?;
        let plan = Plan::new(&formula, roles, data.has_sigma(), options)?;
        let table = data.table(&plan.roles.predictors)?;
        let estimate = fit_table(&plan, &table, options, &mut |_| Next::Continue)?;
        let quality = quality(&plan, &table, &estimate)?;
        fits.push((plan, estimate, quality));
    }
    let all = fits.iter().map(|(plan, estimate, quality)| Candidate {
        plan,
        estimate,
        quality,
    });
    select(&all.collect::<Vec<_>>(), data, options)
}

fn rows() -> (Vec<f64>, Vec<f64>) {
    let mut rng = Rng::new(11, 0, 0, 0, Purpose::Test);
    let x: Vec<f64> = (0..80).map(|i| 0.1 + 0.1 * f64::from(i)).collect();
    let y = x
        .iter()
        .map(|x| 3.0 * (-0.7 * x).exp() + 1.0 + 0.05 * rng.normal())
        .collect();
    (x, y)
}

/// χ² of each by the linear algebra of two columns where that is possible; criteria from their definitions.
#[test]
fn criteria_are_their_definitions_and_the_true_curve_is_first() {
    let (x, y) = rows();
    let data = Data::new(y.clone()).with("x", x.clone());
    let models = [
        "a*x + b",
        "a*exp(-b*x)",
        "a*exp(-b*x) + c",
        "a*exp(-b*x) + c + d*x",
    ];
    let found = compared(&models, &data, &Options::default()).unwrap();
    assert_eq!(found.ranked[0].model, "a*exp(-b*x) + c");
    let n = y.len() as f64;
    for r in &found.ranked {
        let k = r.n_parameters as f64 + 1.0;
        let log_l = -0.5 * n * ((2.0 * std::f64::consts::PI * r.chi2 / n).ln() + 1.0);
        assert!((r.aic - (2.0 * k - 2.0 * log_l)).abs() < 1e-9, "{r:?}");
        assert!(
            (r.aicc - r.aic - 2.0 * k * (k + 1.0) / (n - k - 1.0)).abs() < 1e-9,
            "{r:?}"
        );
        assert!((r.bic - (k * n.ln() - 2.0 * log_l)).abs() < 1e-9, "{r:?}");
    }
    assert!((found.ranked.iter().map(|r| r.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    // A line is within the greatest one; the decay within two, the true curve within one.
    let pairs: Vec<(&str, &str)> = found
        .nested
        .iter()
        .map(|n| {
            (
                found.ranked[n.inner].model.as_str(),
                found.ranked[n.outer].model.as_str(),
            )
        })
        .collect();
    for (inner, outer, within) in [
        (models[0], models[3], true),
        (models[1], models[2], true),
        (models[1], models[3], true),
        (models[2], models[3], true),
        (models[0], models[1], false),
    ] {
        assert_eq!(
            pairs.contains(&(inner, outer)),
            within,
            "{inner} in {outer}: {pairs:?}"
        );
    }
    for n in &found.nested {
        let (small, large) = (&found.ranked[n.inner], &found.ranked[n.outer]);
        let more = (large.n_parameters - small.n_parameters) as f64;
        let f = (small.chi2 - large.chi2) / more / (large.chi2 / n.dof.1);
        assert!((n.f - f).abs() < 1e-9 * f.max(1.0), "{n:?}");
        assert_eq!(n.p < 0.001, small.model != models[2], "{n:?}");
    }
}

/// With one more parameter F is t² of that parameter where it enters linearly: both tests have one p.
#[test]
fn of_one_linear_parameter_f_is_the_square_of_t() {
    let (x, y) = rows();
    let data = Data::new(y).with("x", x);
    let found = compared(&["a*x + b", "a*x + b + c*x^2"], &data, &Options::default()).unwrap();
    let options = Options::default();
    let whole = fitzroy_curve_fit::curve_fit("a*x + b + c*x^2", &data, &options).unwrap();
    let c = whole.parameter("c").unwrap();
    let t = c.value / c.se;
    assert!((found.nested[0].f / (t * t) - 1.0).abs() < 1e-8);
}

/// Where σ is known the gain in χ² is what counts, and parameters alone.
#[test]
fn known_noise_is_no_parameter() {
    let (x, y) = rows();
    let data = Data::new(y).with("x", x).with_sigma(Sigma::Same(0.05));
    let options = Options {
        absolute_sigma: true,
        ..Options::default()
    };
    let found = compared(&["a*exp(-b*x) + c", "a*exp(-b*x)"], &data, &options).unwrap();
    let [best, other] = &found.ranked[..] else {
        panic!("two")
    };
    assert!((best.bic - best.chi2 - (other.bic - other.chi2) - 80f64.ln()).abs() < 1e-8);
    let n = &found.nested[0];
    assert!(
        n.dof == (1.0, f64::INFINITY)
            && n.p < 1e-10
            && (n.f - (other.chi2 - best.chi2)).abs() < 1e-9
    );
}

#[test]
fn what_has_no_likelihood_or_no_partner_is_refused() {
    let (x, y) = rows();
    let data = Data::new(y).with("x", x);
    let robust = Options {
        loss: Loss::Huber,
        ..Options::default()
    };
    let error = compared(&["a*x + b", "a*x"], &data, &robust).unwrap_err();
    assert!(error.to_string().contains("a robust loss is none"));
    let error = compared(&["a*x + b"], &data, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("at least one other"));
}

/// Each row left out in turn and the others fitted again; to rounding for a curve that is linear in its parameters.
#[test]
fn loo_is_what_fits_without_each_row_give() {
    let (x, y) = rows();
    let models = [("a*x + b", 1e-9), ("a*exp(-b*x) + c", 2e-3)];
    for sigma in [None, Some(0.04), Some(0.06)] {
        let given = |x: &[f64], y: &[f64]| {
            let data = Data::new(y.to_vec()).with("x", x.to_vec());
            let each = |s: f64| (0..x.len()).map(|i| s * (1.0 + x[i])).collect::<Vec<f64>>();
            match sigma {
                Some(s) => data.with_sigma(Sigma::Each(each(s).into())),
                None => data,
            }
        };
        let options = Options {
            absolute_sigma: sigma == Some(0.06),
            ..Options::default()
        };
        let names = models.map(|m| m.0);
        let found = compared(&names, &given(&x, &y), &options).unwrap();
        for (model, within) in models {
            let mut sum = 0.0;
            for out in 0..x.len() {
                let but = |v: &[f64]| [&v[..out], &v[out + 1..]].concat();
                let fit = fitzroy_curve_fit::curve_fit(model, &given(&but(&x), &but(&y)), &options);
                let fit = fit.unwrap();
                let p = |name: &str| fit.parameter(name).unwrap().value;
                let f = match model {
                    "a*x + b" => p("a") * x[out] + p("b"),
                    _ => p("a") * (-p("b") * x[out]).exp() + p("c"),
                };
                let s2 = if options.absolute_sigma {
                    1.0
                } else {
                    fit.chi2 / fit.dof as f64
                };
                let s = sigma.map_or(1.0, |s| s * (1.0 + x[out]));
                let variance = s2 * s * s;
                sum +=
                    (2.0 * std::f64::consts::PI * variance).ln() + (y[out] - f).powi(2) / variance;
            }
            let own = found.ranked.iter().find(|r| r.model == model).unwrap();
            assert!(
                (own.loo - sum).abs() < within * sum.abs().max(1.0),
                "{model}: {} {sum}",
                own.loo
            );
        }
    }
}
