//! Curves with kinks: two lines that meet where a parameter says, bends at a parameter, values cut at one. The
//! fit ends at a minimum, which may be a kink; no step that this file tries from there is lower.
//!
//! `FITZROY_KINKS=10000` tries as many fits, of which every seed is one.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::method::Limits;
use fitzroy_curve_fit::{CurveFit, Data, Options};

/// A curve: its formula, the same in Rust, and its true values.
struct Shape {
    formula: &'static str,
    value: fn(f64, &[f64]) -> f64,
    truth: &'static [f64],
}

const SHAPES: [Shape; 5] = [
    Shape {
        formula: "a + b*x + c*max(x - t, 0)",
        value: |x, p| p[0] + p[1] * x + p[2] * (x - p[3]).max(0.0),
        truth: &[1.0, 0.7, -1.5, 2.1],
    },
    Shape {
        formula: "a*abs(x - t)",
        value: |x, p| p[0] * (x - p[1]).abs(),
        truth: &[2.8, 2.0],
    },
    Shape {
        formula: "where(x < t, a, a + b*(x - t)) + c*exp(-0.5*((x - m)/s)^2)",
        value: |x, p| {
            let line = if x < p[2] { 0.0 } else { p[1] * (x - p[2]) };
            p[0] + line + p[3] * (-0.5 * ((x - p[4]) / p[5]).powi(2)).exp()
        },
        truth: &[0.5, 1.6, 1.8, 2.2, 2.5, 0.7],
    },
    Shape {
        formula: "a*min(x, t)",
        value: |x, p| p[0] * x.min(p[1]),
        truth: &[1.3, 2.4],
    },
    // A narrow valley: steps along the parameters do not get to its end in time.
    Shape {
        formula: "a*min(x, t) + b*log(1 + c*x)",
        value: |x, p| p[0] * x.min(p[1]) + p[2] * (1.0 + p[3] * x).ln(),
        truth: &[1.6, 2.5, 2.6, 0.8],
    },
];
const NAMES: [&[&str]; 5] = [
    &["a", "b", "c", "t"],
    &["a", "t"],
    &["a", "b", "t", "c", "m", "s"],
    &["a", "t"],
    &["a", "t", "b", "c"],
];

/// Numbers between 0 and 1 (Steele, Lea and Flood's SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn cost(shape: &Shape, x: &[f64], y: &[f64], theta: &[f64]) -> f64 {
    let squares = x.iter().zip(y);
    squares
        .map(|(x, y)| ((shape.value)(*x, theta) - y).powi(2))
        .sum()
}

#[test]
fn fits_of_curves_with_kinks_end_at_a_minimum() {
    let fits = std::env::var("FITZROY_KINKS").map_or(400, |n| n.parse().unwrap());
    let (mut at_kinks, mut given_up) = (0, 0);
    for seed in 0..fits {
        let mut random = Random(seed);
        let k = seed as usize % SHAPES.len();
        let (shape, names) = (&SHAPES[k], NAMES[k]);
        let n = 20 + (40.0 * random.next()) as usize;
        let x: Vec<f64> = (0..n).map(|_| 4.0 * random.next()).collect();
        let y: Vec<f64> = x
            .iter()
            .map(|x| (shape.value)(*x, shape.truth) + 0.05 * random.normal())
            .collect();
        let start: Vec<(String, f64)> = names
            .iter()
            .zip(shape.truth)
            .map(|(name, t)| (name.to_string(), t * (0.95 + 0.1 * random.next())))
            .collect();
        let options = Options {
            p0: start,
            ..Options::default()
        };
        let data = Data::new(&y).with("x", &x);
        let found = CurveFit::compile(shape.formula)
            .unwrap()
            .fit(&data, &options)
            .unwrap();
        if !found.status.converged() {
            // Of six parameters, steps along each may not follow the kink to its lowest point.
            let narrow = k == 2 || k == 4;
            assert!(
                narrow,
                "seed {seed}: {:?} {:?}",
                found.status, found.findings
            );
            given_up += 1;
            continue;
        }
        let theta: Vec<f64> = names
            .iter()
            .map(|name| found.popt[found.free.iter().position(|n| n == name).unwrap()])
            .collect();
        let least = cost(shape, &x, &y, &theta);
        at_kinks += usize::from(found.status.name() == "kink");
        if found.status.name() != "kink" {
            continue;
        }
        assert!(
            found.findings.iter().any(|f| f.contains("kink")),
            "{:?}",
            found.findings
        );
        for k in 0..theta.len() {
            for step in [
                0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, -1e-6, -1e-5, -1e-4, -1e-3, -1e-2, -0.1,
            ] {
                let mut moved = theta.clone();
                moved[k] += step * theta[k].abs();
                let there = cost(shape, &x, &y, &moved);
                assert!(
                    there > least * (1.0 - 1e-6),
                    "seed {seed}: {there} after a step of {step} along {}, {least} before",
                    names[k]
                );
            }
        }
    }
    assert!(at_kinks > 0, "no fit ended at a kink");
    assert!(
        given_up <= fits / 100,
        "{given_up} of {fits} fits were given up"
    );
}

#[test]
fn a_fit_that_has_no_time_left_is_not_at_a_kink() {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x
        .iter()
        .map(|x| 5.0 * (-0.8 * x).exp() + 0.01 * (37.0 * x).sin())
        .collect();
    let options = Options {
        p0: vec![("a".into(), 1.0), ("b".into(), 9.0)],
        limits: Limits {
            max_evaluations: 3,
            ..Limits::default()
        },
        ..Options::default()
    };
    let data = Data::new(&y).with("x", &x);
    let found = CurveFit::compile("a*exp(-b*x)")
        .unwrap()
        .fit(&data, &options)
        .unwrap();
    assert_eq!(found.status.name(), "evaluation_limit");
}
