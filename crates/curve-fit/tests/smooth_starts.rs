//! Smooth curves without starting values against fits that start at the truth: random problems of few and many rows,
//! in any unit, in and out of order.
//!
//! `FITZROY_STARTS=200` tries so many of each kind in place of the few of the test suite.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Options};

/// A formula, and its parameters by chance: the predictor goes from 0 to `span`, the response about to `size`.
type Kind = (
    &'static str,
    fn(&mut Rng, f64, f64) -> Vec<(&'static str, f64)>,
);

fn scale(rng: &mut Rng, low: f64, high: f64) -> f64 {
    (low.ln() + (high / low).ln() * rng.uniform()).exp()
}

const KINDS: [Kind; 6] = [
    ("a*exp(-b*x)+c", |rng, span, size| {
        let b = scale(rng, 1.0, 50.0) / span;
        vec![("a", size), ("b", b), ("c", 0.3 * size)]
    }),
    ("a*(1-exp(-x/t))", |rng, span, size| {
        vec![("a", size), ("t", span * scale(rng, 0.03, 0.8))]
    }),
    ("a*exp(-b*x)+c*exp(-d*x)", |rng, span, size| {
        let b = scale(rng, 0.5, 3.0) / span;
        let d = b * scale(rng, 6.0, 20.0);
        vec![("a", size), ("b", b), ("c", 0.7 * size), ("d", d)]
    }),
    ("a*x/(k+x)", |rng, span, size| {
        vec![("a", size), ("k", span * scale(rng, 0.05, 1.0))]
    }),
    ("a*x^b+c", |rng, span, size| {
        let b = scale(rng, 0.3, 4.0);
        vec![("a", size / span.powf(b)), ("b", b), ("c", 0.2 * size)]
    }),
    ("a*exp(b*x)+c", |rng, span, size| {
        let b = scale(rng, 0.5, 6.0) / span;
        vec![("a", size), ("b", b), ("c", 0.3 * size)]
    }),
];

fn value(kind: usize, p: &[(&str, f64)], x: f64) -> f64 {
    let p: Vec<f64> = p.iter().map(|p| p.1).collect();
    match kind {
        0 => p[0] * (-p[1] * x).exp() + p[2],
        1 => p[0] * (1.0 - (-x / p[1]).exp()),
        2 => p[0] * (-p[1] * x).exp() + p[2] * (-p[3] * x).exp(),
        3 => p[0] * x / (p[1] + x),
        4 => p[0] * x.powf(p[1]) + p[2],
        _ => p[0] * (p[1] * x).exp() + p[2],
    }
}

#[test]
fn smooth_curves_without_a_start_end_where_those_from_the_truth_do() {
    let asked = std::env::var("FITZROY_STARTS").ok();
    let n_each: u32 = asked.map_or(12, |n| n.parse().expect("a number of problems"));
    let mut wrong = Vec::new();
    for (number, (text, truth)) in KINDS.iter().enumerate() {
        for k in 0..n_each {
            let mut rng = Rng::new(19, 0, number as u32, k, Purpose::Test);
            let n = scale(&mut rng, 20.0, 4000.0) as usize;
            let (span, size) = (scale(&mut rng, 1e-3, 1e3), scale(&mut rng, 1e-3, 1e6));
            let truth = truth(&mut rng, span, size);
            let mut x: Vec<f64> = (0..n).map(|_| span * rng.uniform()).collect();
            if rng.coin() {
                x.sort_by(f64::total_cmp);
            }
            let clean: Vec<f64> = x.iter().map(|&x| value(number, &truth, x)).collect();
            let noise = size * scale(&mut rng, 1e-3, 0.1);
            let y: Vec<f64> = clean.iter().map(|y| y + noise * rng.normal()).collect();
            let data = Data::new(&y).with("x", &x);
            let fitter = CurveFit::compile(text).unwrap();
            let fit = |p0: &[(&str, f64)]| -> Estimate {
                let p0 = p0.iter().map(|(name, x)| ((*name).to_string(), *x));
                let options = Options {
                    p0: p0.collect(),
                    ..Options::default()
                };
                fitter.fit(&data, &options).unwrap()
            };
            let (best, found) = (fit(&truth), fit(&[]));
            if !(found.converged() && found.chi2 <= best.chi2 * (1.0 + 1e-6)) {
                let theirs = (found.chi2, best.chi2);
                wrong.push(format!("{text} {k}: {n} rows, {truth:?}, chi2 {theirs:?}"));
            }
        }
    }
    println!("{} of {} wrong", wrong.len(), KINDS.len() * n_each as usize);
    let most = KINDS.len() * n_each as usize / 200;
    assert!(wrong.len() <= most, "{wrong:#?}");
}
