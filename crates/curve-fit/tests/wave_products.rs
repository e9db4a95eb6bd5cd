//! Products of two waves: beats and carriers whose amplitude is modulated, without starting values.
//!
//! The noise of every problem is known: the least sum of squares is no larger than that of the noise itself.
//! `FITZROY_PRODUCTS=50` tries so many problems of each kind, and `FITZROY_PRODUCTS_SHOW=1` shows what is wrong.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "shared/chance.rs"]
mod chance;

use chance::Chance;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::{CurveFit, Data, Options};
use std::f64::consts::TAU;

/// Problems of a kind in the test suite.
const FEW: usize = 4;

/// A kind of problem: the formula, and the curve at x, of the carrier and of what modulates it, each with its phase.
type Kind = (&'static str, fn(f64, [f64; 4]) -> f64);

const KINDS: [Kind; 5] = [
    ("a*sin(w*x+p)*sin(v*x+q)+c", |x, [w, p, v, q]| {
        2.0 * (w * x + p).sin() * (v * x + q).sin() + 0.5
    }),
    ("a*cos(w*x+p)*sin(v*x+q)", |x, [w, p, v, q]| {
        2.0 * (w * x + p).cos() * (v * x + q).sin()
    }),
    ("a*sin(2*pi*f*x+p)*sin(2*pi*g*x+q)", |x, [w, p, v, q]| {
        2.0 * (w * x + p).sin() * (v * x + q).sin()
    }),
    ("a*exp(-k*x)*sin(w*x+p)*sin(v*x+q)", |x, [w, p, v, q]| {
        2.0 * (-0.1 * x).exp() * (w * x + p).sin() * (v * x + q).sin()
    }),
    ("a*(1+m*sin(v*x+q))*sin(w*x+p)+c", |x, [w, p, v, q]| {
        2.0 * (1.0 + 0.7 * (v * x + q).sin()) * (w * x + p).sin() + 0.5
    }),
];

#[test]
fn products_of_two_waves_find_their_starts() {
    let tried = std::env::var("FITZROY_PRODUCTS").ok();
    let tried = tried.map_or(FEW, |n| n.parse().unwrap());
    let shows = std::env::var("FITZROY_PRODUCTS_SHOW").is_ok();
    let (mut wrong, mut all) = (0, 0);
    for (k, (text, curve)) in KINDS.iter().enumerate() {
        let (mut own, mut doubted) = (0, 0);
        for problem in 0..tried {
            let mut chance = Chance(Rng::new(77, problem as u32, k as u32, 0, Purpose::Test));
            let n = 300 + 100 * (problem % 4);
            let mut x: Vec<f64> = match problem % 2 {
                0 => (0..n).map(|i| 10.0 * i as f64 / (n - 1) as f64).collect(),
                _ => (0..n).map(|_| chance.between(0.0, 10.0)).collect(),
            };
            x.sort_by(f64::total_cmp);
            let carrier = TAU / 10.0 * chance.scale(6.0, 40.0);
            let slow = TAU / 10.0 * chance.between(0.8, 4.0);
            let phases = [chance.between(0.0, TAU), chance.between(0.0, TAU)];
            let truth = [carrier, phases[0], slow, phases[1]];
            let noise: Vec<f64> = (0..n).map(|_| 0.2 * chance.0.normal()).collect();
            let y: Vec<f64> = x
                .iter()
                .zip(&noise)
                .map(|(&x, e)| curve(x, truth) + e)
                .collect();
            let data = Data::new(&y).with("x", &x);
            let fitter = CurveFit::compile(text).unwrap();
            let before = std::time::Instant::now();
            let found = fitter.fit(&data, &Options::default()).unwrap();
            let least: f64 = noise.iter().map(|e| e * e).sum();
            all += 1;
            if found.chi2 > least * (1.0 + 1e-9) {
                own += 1;
                doubted += usize::from(found.chi2 > 1.5 * least);
                if shows {
                    let took = before.elapsed().as_secs_f64();
                    println!(
                        "  {text} #{problem}: {truth:?} {:?} {} {least} {took:.3} s",
                        found.popt, found.chi2
                    );
                }
            }
        }
        println!("{text}: {own} of {tried} are wrong, {doubted} by far");
        wrong += own;
    }
    println!("{wrong} of {all} are wrong");
    assert_eq!(wrong, 0);
}
