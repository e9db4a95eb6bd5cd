//! Errors by fitting again, against closed forms of linear models.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::fit::{Plan, Resampled, Resampling, fit_table, resample};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::{Data, Formula, Options, Sigma};

fn resampled(
    model: &str,
    data: &Data<'_>,
    resampling: Resampling,
    seed: u64,
) -> fitzroy::Result<Resampled> {
    let options = Options {
        seed,
        ..Options::default()
    };
    let formula = Formula::parse(model)?;
    let plan = Plan::new(
        &formula,
        formula.roles(&data.names(), &[])?,
        data.has_sigma(),
        &options,
    )?;
    let table = data.table(&plan.roles.predictors)?;
    let estimate = fit_table(&plan, &table, &options, &mut |_| Next::Continue)?;
    resample(&plan, data, &options, &estimate, resampling)
}

/// A weighted line, with noise that grows.
fn line(n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut rng = Rng::new(21, 0, 0, 0, Purpose::Test);
    let x: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
    let sigma: Vec<f64> = x.iter().map(|x| 0.1 + 0.2 * x).collect();
    let y = x
        .iter()
        .zip(&sigma)
        .map(|(x, s)| 2.0 * x - 1.0 + s * rng.normal())
        .collect();
    (x, y, sigma)
}

/// (XᵀWX)⁻¹ of a line, its solution, and weights.
fn normal(x: &[f64], y: &[f64], sigma: &[f64]) -> ([[f64; 2]; 2], [f64; 2]) {
    let (mut a, mut b) = ([[0.0; 2]; 2], [0.0; 2]);
    for i in 0..x.len() {
        let (row, w) = ([x[i], 1.0], 1.0 / (sigma[i] * sigma[i]));
        for j in 0..2 {
            b[j] += w * row[j] * y[i];
            for k in 0..2 {
                a[j][k] += w * row[j] * row[k];
            }
        }
    }
    let det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    let inverse = [
        [a[1][1] / det, -a[0][1] / det],
        [-a[1][0] / det, a[0][0] / det],
    ];
    let theta = [
        inverse[0][0] * b[0] + inverse[0][1] * b[1],
        inverse[1][0] * b[0] + inverse[1][1] * b[1],
    ];
    (inverse, theta)
}

/// Without row i a linear fit moves by (XᵀWX)⁻¹ wᵢ xᵢ eᵢ/(1 − hᵢ): the jackknife in closed form.
#[test]
fn the_jackknife_of_a_line_is_its_closed_form() {
    let (x, y, sigma) = line(40);
    let data = Data::new(y.clone())
        .with("x", x.clone())
        .with_sigma(Sigma::Each(sigma.clone().into()));
    let found = resampled("a*x + b", &data, Resampling::Jackknife, 1).unwrap();
    let (inverse, theta) = normal(&x, &y, &sigma);
    let n = x.len() as f64;
    let moves: Vec<[f64; 2]> = (0..x.len())
        .map(|i| {
            let (row, w) = ([x[i], 1.0], 1.0 / (sigma[i] * sigma[i]));
            let along = [0, 1].map(|j| inverse[j][0] * row[0] + inverse[j][1] * row[1]);
            let h = w * (row[0] * along[0] + row[1] * along[1]);
            let e = y[i] - theta[0] * row[0] - theta[1];
            along.map(|v| -v * w * e / (1.0 - h))
        })
        .collect();
    for j in 0..2 {
        let mean = moves.iter().map(|m| m[j]).sum::<f64>() / n;
        let variance = (n - 1.0) / n * moves.iter().map(|m| (m[j] - mean).powi(2)).sum::<f64>();
        let got = &found.spreads[j];
        assert!((got.se / variance.sqrt() - 1.0).abs() < 1e-7, "{got:?}");
        assert!((got.bias - (n - 1.0) * mean).abs() < 1e-7, "{got:?}");
    }
    assert_eq!((found.n_fits, found.n_failed), (40, 0));
}

/// Errors of 1,000 bootstrap fits have a relative spread of 1/√2000; bound: five of those and the 5 % by which the
/// bootstrap of 200 rows differs from the sandwich. Catches: rows drawn without replacement, or σ left behind.
#[test]
fn the_bootstrap_of_a_line_has_the_errors_of_the_sandwich() {
    let (x, y, sigma) = line(200);
    let data = Data::new(y.clone())
        .with("x", x.clone())
        .with_sigma(Sigma::Each(sigma.clone().into()));
    let found = resampled("a*x + b", &data, Resampling::Bootstrap(1000), 7).unwrap();
    let (inverse, theta) = normal(&x, &y, &sigma);
    for j in 0..2 {
        let meat = (0..x.len()).map(|i| {
            let (row, w) = ([x[i], 1.0], 1.0 / (sigma[i] * sigma[i]));
            let along = inverse[j][0] * row[0] + inverse[j][1] * row[1];
            (along * w * (y[i] - theta[0] * x[i] - theta[1])).powi(2)
        });
        let sandwich = meat.sum::<f64>().sqrt();
        let got = &found.spreads[j];
        assert!(
            (got.se / sandwich - 1.0).abs() < 0.16,
            "{got:?}, sandwich {sandwich}"
        );
        let width = (got.ci.1 - got.ci.0) / (2.0 * 1.96 * got.se);
        assert!(
            (width - 1.0).abs() < 0.15 && got.ci.0 < theta[j] && theta[j] < got.ci.1,
            "{got:?}"
        );
    }
    let again = resampled("a*x + b", &data, Resampling::Bootstrap(1000), 7).unwrap();
    assert_eq!(again, found);
}

#[test]
fn what_cannot_be_resampled_is_refused() {
    let (x, y, _) = line(30);
    let data = Data::new(y).with("x", x);
    let error = resampled("a*x + b", &data, Resampling::Bootstrap(3), 1).unwrap_err();
    assert!(error.to_string().contains("20 fits or more"));
}
