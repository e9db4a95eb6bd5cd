//! Curves beside others: information criteria by their definitions, F tests where one is within the other.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::fit::{
    Averaged, Candidate, Criterion, Plan, Selection, average, fit_table, quality, select,
};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::{Data, Formula, Loss, Options, Sigma};

fn compared(models: &[&str], data: &Data<'_>, options: &Options) -> fitzroy::Result<Selection> {
    averaged(models, data, options, Criterion::Aicc, data).map(|found| found.0)
}

/// Fits `models` to `data`, and averages them at `rows`.
fn averaged(
    models: &[&str],
    data: &Data<'_>,
    options: &Options,
    criterion: Criterion,
    rows: &Data<'_>,
) -> fitzroy::Result<(Selection, Averaged)> {
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
    let all: Vec<Candidate<'_>> = all.collect();
    let selection = select(&all, data, options)?;
    let averaged = average(&all, &selection, criterion, rows)?;
    Ok((selection, averaged))
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

/// Polynomials by the normal equations of their own columns: weights, averages, errors and intervals by their
/// definitions.
#[test]
fn averages_are_their_definitions() {
    let mut rng = Rng::new(12, 0, 0, 0, Purpose::Test);
    let models = ["a + 0*x", "a + b*x", "a + b*x + c*x^2"];
    for criterion in [Criterion::Aicc, Criterion::Bic, Criterion::Loo] {
        for _ in 0..20 {
            let x: Vec<f64> = (0..25).map(|_| rng.normal()).collect();
            let y: Vec<f64> = x.iter().map(|x| 0.2 * x + 0.5 * rng.normal()).collect();
            let (n, at) = (x.len() as f64, [-1.5, 0.0, 0.7]);
            let (mut criteria, mut values, mut errors) = (Vec::new(), Vec::new(), Vec::new());
            for p in 1..=3 {
                let row = |x: f64| (0..p).map(|k| x.powi(k as i32)).collect::<Vec<f64>>();
                let inverse = inverse_of(&x.iter().map(|&x| row(x)).collect::<Vec<_>>());
                let times = |a: &[f64], b: &[f64]| {
                    let inner = |j: usize| (0..p).map(|k| inverse[j][k] * b[k]).sum::<f64>();
                    (0..p).map(|j| a[j] * inner(j)).sum::<f64>()
                };
                let sums: Vec<f64> = (0..p)
                    .map(|k| x.iter().zip(&y).map(|(x, y)| x.powi(k as i32) * y).sum())
                    .collect();
                let f = |x: f64| times(&row(x), &sums);
                let chi2: f64 = x.iter().zip(&y).map(|(&x, y)| (f(x) - y).powi(2)).sum();
                let k = p as f64 + 1.0;
                let log_l = -0.5 * n * ((2.0 * std::f64::consts::PI * chi2 / n).ln() + 1.0);
                criteria.push(match criterion {
                    Criterion::Aicc => 2.0 * k - 2.0 * log_l + 2.0 * k * (k + 1.0) / (n - k - 1.0),
                    Criterion::Bic => k * n.ln() - 2.0 * log_l,
                    Criterion::Loo => x
                        .iter()
                        .zip(&y)
                        .map(|(&x, y)| {
                            let left = 1.0 - times(&row(x), &row(x));
                            let r = f(x) - y;
                            let v = (chi2 - r * r / left) / (n - p as f64 - 1.0);
                            (2.0 * std::f64::consts::PI * v).ln() + (r / left).powi(2) / v
                        })
                        .sum(),
                });
                let s2 = chi2 / (n - p as f64);
                values.push(at.map(f));
                errors.push(at.map(|x| (s2 * times(&row(x), &row(x))).sqrt()));
            }
            let least = criteria.iter().copied().fold(f64::INFINITY, f64::min);
            let raw: Vec<f64> = criteria
                .iter()
                .map(|c| (-0.5 * (c - least)).exp())
                .collect();
            let total: f64 = raw.iter().sum();
            let data = Data::new(y.clone()).with("x", x.clone());
            let rows = Data::new(vec![0.0; 3]).with("x", at.to_vec());
            let options = Options::default();
            let (selection, found) = averaged(&models, &data, &options, criterion, &rows).unwrap();
            for (r, &own) in selection.ranked.iter().zip(&selection.order) {
                assert_eq!(r.n_parameters, own + 1);
                assert!((r.weight_by(criterion) - raw[own] / total).abs() < 1e-7);
            }
            for i in 0..3 {
                let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                    (0..3).map(|m| raw[m] / total * of(m)).sum()
                };
                let value = sum(&|m| values[m][i]);
                let between = sum(&|m| (values[m][i] - value).powi(2));
                let se = (sum(&|m| errors[m][i].powi(2)) + between).sqrt();
                let near = |got: f64, want: f64| (got - want).abs() < 1e-6;
                assert!(near(found.value[i], value) && near(found.between[i], between.sqrt()));
                assert!(near(found.se[i], se), "{} {se}", found.se[i]);
                // Quantiles of t of 24, 23 and 22 degrees of freedom, and the normal one.
                let t = [2.063_898_6, 2.068_657_6, 2.073_873_1];
                let half = (sum(&|m| (t[m] * errors[m][i]).powi(2))
                    + 1.959_963_98_f64.powi(2) * between)
                    .sqrt();
                assert!(near(found.upper[i], value + half) && near(found.lower[i], value - half));
            }
        }
    }
}

/// (XᵀX)⁻¹ by Gauss and Jordan.
fn inverse_of(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let p = rows[0].len();
    let product = |j: usize, k: usize| rows.iter().map(|r| r[j] * r[k]).sum::<f64>();
    let unit = |j: usize, k: usize| f64::from(u8::from(j == k));
    let mut all: Vec<Vec<f64>> = (0..p)
        .map(|j| {
            let own = (0..p).map(|k| product(j, k));
            own.chain((0..p).map(|k| unit(j, k))).collect()
        })
        .collect();
    for j in 0..p {
        let pivot = all[j][j];
        all[j].iter_mut().for_each(|x| *x /= pivot);
        let own = all[j].clone();
        for row in all.iter_mut().enumerate().filter(|(k, _)| *k != j) {
            let factor = row.1[j];
            row.1
                .iter_mut()
                .zip(&own)
                .for_each(|(x, o)| *x -= factor * o);
        }
    }
    all.into_iter().map(|row| row[p..].to_vec()).collect()
}
