//! Curves as people fit them, on rows as they measure them: without starting values, and from plausible ones that are
//! far off.
//!
//! The truth of every problem is known, and so is the noise: the least sum of squares is no larger than that of the
//! noise itself, whatever the program finds. `FITZROY_SHAPES=50` tries so many problems of each kind, and
//! `FITZROY_SHAPES_SHOW=1` shows what is wrong.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "shared/chance.rs"]
mod chance;

use chance::Chance;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::fit::Restarts;
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Options, Sigma};
use std::f64::consts::TAU;

/// Problems of a kind in the test suite.
const FEW: usize = 5;

/// Rows along the predictor.
enum Rows {
    Even(f64, f64, usize),
    /// Evenly by the logarithm.
    Decades(f64, f64, usize),
    /// A row at 0, as a control has it, before rows by the logarithm.
    Control(f64, f64, usize),
    Uneven(f64, f64, usize),
}

impl Rows {
    fn drawn(&self, chance: &mut Chance) -> Vec<f64> {
        let even = |low: f64, high: f64, n: usize| {
            (0..n).map(move |i| low + (high - low) * i as f64 / (n - 1) as f64)
        };
        let decades = |low: f64, high: f64, n| even(low.ln(), high.ln(), n).map(f64::exp);
        match *self {
            Rows::Even(low, high, n) => even(low, high, n).collect(),
            Rows::Decades(low, high, n) => decades(low, high, n).collect(),
            Rows::Control(low, high, n) => {
                let others = decades(low, high, n);
                [0.0, 0.0].into_iter().chain(others).collect()
            }
            Rows::Uneven(low, high, n) => {
                let mut x: Vec<f64> = (0..n).map(|_| chance.between(low, high)).collect();
                x.sort_by(f64::total_cmp);
                x
            }
        }
    }
}

/// Noise: a part of the range of the curve, or of each value.
enum Noise {
    OfRange(f64),
    OfValue(f64),
}

/// A kind of problem: the formula, rows, noise, true parameters by chance, the curve, and a plausible start.
struct Kind {
    text: &'static str,
    rows: Rows,
    noise: Noise,
    truth: fn(&mut Chance) -> Vec<f64>,
    curve: fn(f64, &[f64]) -> f64,
    start: &'static [(&'static str, f64)],
}

/// Rows at 0, where x^b has no slope that is finite.
const AT_ZERO: [Kind; 4] = [
    Kind {
        text: "d + (a-d)/(1+(x/c)^b)",
        rows: Rows::Control(0.01, 1e3, 24),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(1.5, 3.0),
                c.between(0.0, 0.3),
                c.scale(1.0, 50.0),
                c.between(0.5, 2.0),
            ]
        },
        curve: |x, p| p[0] + (p[1] - p[0]) / (1.0 + (x / p[2]).powf(p[3])),
        start: &[("d", 2.0), ("a", 0.0), ("c", 10.0), ("b", 1.0)],
    },
    Kind {
        text: "a*exp(-(x/tau)^beta)+c",
        rows: Rows::Even(0.0, 100.0, 200),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(0.5, 2.0),
                c.scale(3.0, 20.0),
                c.between(0.4, 1.6),
                c.between(-0.2, 0.2),
            ]
        },
        curve: |x, p| p[0] * (-(x / p[1]).powf(p[2])).exp() + p[3],
        start: &[("a", 1.0), ("tau", 1.0), ("beta", 1.0), ("c", 0.0)],
    },
    Kind {
        text: "a*(1-exp(-(x/tau)^k))+c",
        rows: Rows::Control(0.1, 100.0, 40),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(0.5, 2.0),
                c.scale(1.0, 20.0),
                c.between(0.4, 2.0),
                c.between(-0.2, 0.2),
            ]
        },
        curve: |x, p| p[0] * (1.0 - (-(x / p[1]).powf(p[2])).exp()) + p[3],
        start: &[("a", 1.0), ("tau", 5.0), ("k", 1.0), ("c", 0.0)],
    },
    Kind {
        text: "ymax*x^n/(k^n+x^n)+y0",
        rows: Rows::Control(0.05, 100.0, 24),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(0.5, 2.0),
                c.between(0.5, 4.0),
                c.scale(0.5, 10.0),
                c.between(0.0, 0.2),
            ]
        },
        curve: |x, p| p[0] * x.powf(p[1]) / (p[2].powf(p[1]) + x.powf(p[1])) + p[3],
        start: &[("ymax", 1.0), ("n", 2.0), ("k", 1.0), ("y0", 0.0)],
    },
];

/// Exponentials that overflow inside of curves which are finite.
const OVERFLOWING: [Kind; 3] = [
    Kind {
        text: "C/(l^5*(exp(14387.77/(l*T))-1))",
        rows: Rows::Even(0.3, 3.0, 100),
        noise: Noise::OfRange(0.02),
        truth: |c| vec![c.scale(1e2, 1e8), c.between(2500.0, 8000.0)],
        curve: |x, p| p[0] / (x.powi(5) * ((14387.77 / (x * p[1])).exp() - 1.0)),
        start: &[("C", 1e4), ("T", 5000.0)],
    },
    Kind {
        text: "K/(1+exp(-r*(year-y0)))",
        rows: Rows::Even(1790.0, 2020.0, 47),
        noise: Noise::OfRange(0.01),
        truth: |c| {
            vec![
                c.between(200.0, 500.0),
                c.between(0.02, 0.06),
                c.between(1900.0, 1970.0),
            ]
        },
        curve: |x, p| p[0] / (1.0 + (-p[1] * (x - p[2])).exp()),
        start: &[("K", 300.0), ("r", 5.0), ("y0", 1950.0)],
    },
    Kind {
        text: "a*exp(-b*exp(-c*t))",
        rows: Rows::Even(0.0, 20.0, 40),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(5.0, 15.0),
                c.between(3.0, 20.0),
                c.between(0.2, 0.8),
            ]
        },
        curve: |x, p| p[0] * (-p[1] * (-p[2] * x).exp()).exp(),
        start: &[("a", 10.0), ("b", 5.0), ("c", 0.5)],
    },
];

/// Constants of nature in the formula, and places beside the rows.
const SCALES: [Kind; 5] = [
    Kind {
        text: "A*exp(-Ea/(1.380649e-23*T))",
        rows: Rows::Even(250.0, 1200.0, 30),
        noise: Noise::OfValue(0.03),
        truth: |c| vec![c.scale(1e-5, 1e-2), c.between(0.5e-19, 2e-19)],
        curve: |x, p| p[0] * (-p[1] / (1.380649e-23 * x)).exp(),
        start: &[("A", 1e-3), ("Ea", 1e-19)],
    },
    Kind {
        text: "A*exp(-Ea/(8.314*T))",
        rows: Rows::Even(300.0, 500.0, 15),
        noise: Noise::OfValue(0.03),
        truth: |c| vec![c.scale(1e10, 1e13), c.between(5e4, 1.1e5)],
        curve: |x, p| p[0] * (-p[1] / (8.314 * x)).exp(),
        start: &[("A", 1e12), ("Ea", 8e4)],
    },
    Kind {
        text: "A*exp(B/(T-T0))",
        rows: Rows::Even(260.0, 400.0, 30),
        noise: Noise::OfValue(0.02),
        truth: |c| {
            vec![
                c.scale(1e-5, 1e-3),
                c.between(800.0, 2500.0),
                c.between(150.0, 220.0),
            ]
        },
        curve: |x, p| p[0] * (p[1] / (x - p[2])).exp(),
        start: &[("A", 1e-4), ("B", 1000.0), ("T0", 200.0)],
    },
    Kind {
        text: "A*(k/2)^2/((f-f0)^2+(k/2)^2)+c",
        rows: Rows::Even(4.99e9, 5.01e9, 401),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(0.5, 2.0),
                c.between(5e5, 3e6),
                5e9 + c.between(-5e6, 5e6),
                c.between(0.0, 0.2),
            ]
        },
        curve: |x, p| {
            p[0] * (p[1] / 2.0).powi(2) / ((x - p[2]).powi(2) + (p[1] / 2.0).powi(2)) + p[3]
        },
        start: &[("A", 1.0), ("k", 1e6), ("f0", 5e9), ("c", 0.0)],
    },
    Kind {
        text: "Cs*erfc(z/(2*sqrt(D*3600)))",
        rows: Rows::Even(0.0, 1e-4, 50),
        noise: Noise::OfRange(0.01),
        truth: |c| vec![c.scale(1e18, 1e20), c.scale(1e-14, 3e-13)],
        curve: |x, p| p[0] * libm::erfc(x / (2.0 * (p[1] * 3600.0).sqrt())),
        start: &[("Cs", 1e19), ("D", 1e-14)],
    },
];

/// Functions of sums, none of whose parameters enters linearly.
const FUNCTIONS_OF_SUMS: [Kind; 4] = [
    Kind {
        text: "1/(A+B*log(R)+C*log(R)^3)",
        rows: Rows::Decades(500.0, 1e5, 40),
        noise: Noise::OfRange(0.0003),
        truth: |c| {
            vec![
                c.between(0.9e-3, 1.4e-3),
                c.between(2e-4, 2.6e-4),
                c.between(0.7e-7, 1.5e-7),
            ]
        },
        curve: |x, p| 1.0 / (p[0] + p[1] * x.ln() + p[2] * x.ln().powi(3)),
        start: &[("A", 1e-3), ("B", 2e-4), ("C", 1e-7)],
    },
    Kind {
        text: "sqrt(1+B1*l^2/(l^2-C1)+B2*l^2/(l^2-C2))",
        rows: Rows::Even(0.4, 2.3, 60),
        noise: Noise::OfRange(2e-4),
        truth: |c| {
            vec![
                c.between(1.0, 1.5),
                c.between(0.006, 0.02),
                c.between(0.5, 1.5),
                c.between(80.0, 120.0),
            ]
        },
        curve: |x, p| {
            let l2 = x * x;
            (1.0 + p[0] * l2 / (l2 - p[1]) + p[2] * l2 / (l2 - p[3])).sqrt()
        },
        start: &[("B1", 1.0), ("C1", 0.01), ("B2", 1.0), ("C2", 100.0)],
    },
    Kind {
        text: "exp(a + b*x + c*x^2)",
        rows: Rows::Even(-3.0, 9.0, 60),
        noise: Noise::OfRange(0.01),
        truth: |c| {
            vec![
                c.between(-4.0, 4.0),
                c.between(1.0, 3.0),
                -c.between(0.2, 0.5),
            ]
        },
        curve: |x, p| (p[0] + p[1] * x + p[2] * x * x).exp(),
        start: &[("a", 0.0), ("b", 1.0), ("c", -0.3)],
    },
    Kind {
        text: "x/(a + b*x)",
        rows: Rows::Decades(1e-6, 1e-3, 20),
        noise: Noise::OfValue(0.02),
        truth: |c| vec![c.scale(1.0, 1e2), c.scale(1e4, 1e6)],
        curve: |x, p| x / (p[0] + p[1] * x),
        start: &[("a", 1.0), ("b", 1e5)],
    },
];

/// Curves with many minima, from starts that lead to a wrong one.
const FAR_STARTS: [Kind; 4] = [
    Kind {
        text: "h*exp(-(x-x0)^2/(2*w^2))+m*x+b",
        rows: Rows::Even(0.0, 100.0, 200),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(5.0, 30.0),
                c.between(20.0, 80.0),
                c.between(2.0, 8.0),
                c.between(-0.2, 0.2),
                c.between(-10.0, 10.0),
            ]
        },
        curve: |x, p| p[0] * (-(x - p[1]).powi(2) / (2.0 * p[2] * p[2])).exp() + p[3] * x + p[4],
        start: &[
            ("h", 10.0),
            ("x0", 50.0),
            ("w", 5.0),
            ("m", 0.0),
            ("b", 0.0),
        ],
    },
    Kind {
        text: "A*exp(-t/tau)*cos(2*pi*f*t+phi)+C",
        rows: Rows::Uneven(0.0, 15.0, 180),
        noise: Noise::OfRange(0.03),
        truth: |c| {
            vec![
                c.between(1.0, 3.0),
                c.between(3.0, 8.0),
                c.between(0.5, 4.0),
                c.between(-3.0, 3.0),
                c.between(-1.0, 1.0),
            ]
        },
        curve: |x, p| p[0] * (-x / p[1]).exp() * (TAU * p[2] * x + p[3]).cos() + p[4],
        start: &[
            ("A", 2.0),
            ("tau", 5.0),
            ("f", 1.0),
            ("phi", 0.0),
            ("C", 0.0),
        ],
    },
    Kind {
        text: "A*sin(2*pi*(f0*t+0.5*k*t^2)+phi)",
        rows: Rows::Even(0.0, 3.0, 600),
        noise: Noise::OfRange(0.05),
        truth: |c| {
            vec![
                c.between(0.8, 2.0),
                c.between(3.0, 8.0),
                c.between(1.0, 5.0),
                c.between(-2.0, 2.0),
            ]
        },
        curve: |x, p| p[0] * (TAU * (p[1] * x + 0.5 * p[2] * x * x) + p[3]).sin(),
        start: &[("A", 1.0), ("f0", 5.0), ("k", 2.0), ("phi", 0.0)],
    },
    Kind {
        text: "y0+A/(w*sqrt(pi/2))*exp(-2*((x-xc)/w)^2)",
        rows: Rows::Even(1600.0, 1700.0, 150),
        noise: Noise::OfRange(0.02),
        truth: |c| {
            vec![
                c.between(90.0, 100.0),
                -c.between(20.0, 60.0),
                c.between(1.0, 3.0),
                c.between(1635.0, 1665.0),
            ]
        },
        curve: |x, p| {
            let root = (std::f64::consts::PI / 2.0).sqrt();
            p[0] + p[1] / (p[2] * root) * (-2.0 * ((x - p[3]) / p[2]).powi(2)).exp()
        },
        start: &[("y0", 0.0), ("A", -1.0), ("w", 1.0), ("xc", 0.0)],
    },
];

/// One problem: predictor, response, errors where they are known, and the sum of squares of the noise.
struct Problem {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Option<Vec<f64>>,
    of_noise: f64,
}

impl Problem {
    fn drawn(kind: &Kind, chance: &mut Chance) -> Problem {
        let truth = (kind.truth)(chance);
        let x = kind.rows.drawn(chance);
        let curve: Vec<f64> = x.iter().map(|&x| (kind.curve)(x, &truth)).collect();
        let (low, high) = curve
            .iter()
            .fold((f64::MAX, f64::MIN), |(a, b), &y| (a.min(y), b.max(y)));
        let size = |y: f64| match kind.noise {
            Noise::OfRange(part) => part * (high - low),
            Noise::OfValue(part) => part * y.abs(),
        };
        let y: Vec<f64> = curve
            .iter()
            .map(|&y| y + size(y) * chance.0.normal())
            .collect();
        let sigma: Option<Vec<f64>> = match kind.noise {
            Noise::OfRange(_) => None,
            Noise::OfValue(_) => Some(curve.iter().map(|&y| size(y)).collect()),
        };
        let of = |i: usize| (y[i] - curve[i]) / sigma.as_ref().map_or(1.0, |s| s[i]);
        let of_noise = (0..x.len()).map(|i| of(i).powi(2)).sum();
        Problem {
            x,
            y,
            sigma,
            of_noise,
        }
    }

    fn fit(&self, kind: &Kind, options: &Options) -> Estimate {
        let fitter = CurveFit::compile(kind.text).unwrap();
        let name = fitter
            .formula()
            .roles(&["x", "t", "l", "T", "f", "z", "R", "year"], &[])
            .unwrap()
            .predictors[0]
            .clone();
        let mut data = Data::new(&self.y).with(&name, &self.x);
        if let Some(sigma) = &self.sigma {
            data = data.with_sigma(Sigma::Each(sigma.as_slice().into()));
        }
        fitter.fit(&data, options).unwrap()
    }
}

/// Fits problems of all `kinds`, without starts and from plausible ones.
fn try_all(kinds: &[Kind], seed: u64) {
    let n = std::env::var("FITZROY_SHAPES").map_or(FEW, |n| n.parse().unwrap());
    for (k, kind) in kinds.iter().enumerate() {
        let mut chance = Chance(Rng::new(seed, k as u32, 0, 0, Purpose::Data));
        let mut wrong = [0, 0];
        for _ in 0..n {
            let problem = Problem::drawn(kind, &mut chance);
            let given: Vec<(String, f64)> = kind
                .start
                .iter()
                .map(|&(name, x)| (name.into(), x))
                .collect();
            for (started, p0) in [Vec::new(), given].into_iter().enumerate() {
                let options = Options {
                    p0,
                    restarts: Restarts::Always,
                    ..Options::default()
                };
                let found = problem.fit(kind, &options);
                let right = found.converged() && found.chi2 <= problem.of_noise;
                if !right {
                    wrong[started] += 1;
                    if std::env::var("FITZROY_SHAPES_SHOW").is_ok() {
                        let told = (found.chi2, problem.of_noise, found.status);
                        println!("{} {started}: {:?} {told:?}", kind.text, found.popt);
                    }
                }
            }
        }
        println!(
            "{}: {} and {} of {n} are wrong",
            kind.text, wrong[0], wrong[1]
        );
        // One in fifty may be.
        assert!(wrong[0] + wrong[1] <= n / 25, "{}", kind.text);
    }
}

/// Catches: slopes that are NaN where 0 is raised to a power.
#[test]
fn controls_at_zero_are_rows_like_others() {
    try_all(&AT_ZERO, 1);
}

/// Catches: slopes that are NaN where an exponential inside of the curve overflows.
#[test]
fn curves_are_fitted_where_exponentials_overflow() {
    try_all(&OVERFLOWING, 2);
}

/// Catches: searches in ranges that know nothing of constants in the formula.
#[test]
fn parameters_of_any_size_are_found() {
    try_all(&SCALES, 3);
}

/// Catches: searches by chance where the sum itself tells its factors.
#[test]
fn functions_of_sums_are_undone() {
    try_all(&FUNCTIONS_OF_SUMS, 4);
}

/// Catches: fits that stay at the wrong minimum to which a start led.
#[test]
fn a_start_that_leads_astray_is_left() {
    try_all(&FAR_STARTS, 5);
}

/// Catches: negative widths. A width that is started below 0, or bounded there, stays.
#[test]
fn widths_are_positive_where_the_curve_is_the_same() {
    let mut chance = Chance(Rng::new(6, 0, 0, 0, Purpose::Data));
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.1).collect();
    let curve = |x: f64| 3.0 * (-((x - 9.0) / 1.2).powi(2) / 2.0).exp() + 0.5;
    let y: Vec<f64> = x
        .iter()
        .map(|&x| curve(x) + 0.02 * chance.0.normal())
        .collect();
    let data = Data::new(&y).with("x", &x);
    let fitter = CurveFit::compile("a*exp(-((x-m)/s)^2/2)+c").unwrap();
    let area = CurveFit::compile("k/s*exp(-((x-m)/s)^2/2)+c").unwrap();
    let at = |s: f64, bounds: Vec<(String, f64, f64)>| Options {
        p0: vec![("m".into(), 9.2), ("s".into(), s)],
        bounds,
        ..Options::default()
    };
    for (fitter, factor) in [(&fitter, "a"), (&area, "k")] {
        let left = fitter.fit(&data, &at(-1.0, Vec::new())).unwrap();
        assert!(left.parameter("s").unwrap().value < 0.0);
        // A start without a sign, from which the width goes below 0.
        let turned = fitter.fit(&data, &at(-0.0, Vec::new()));
        if let Ok(turned) = turned {
            assert!(turned.parameter("s").unwrap().value >= 0.0);
        }
        let held = fitter
            .fit(&data, &at(-1.0, vec![("s".into(), -5.0, -0.1)]))
            .unwrap();
        assert!(held.parameter("s").unwrap().value < 0.0);
        let free = fitter.fit(&data, &Options::default()).unwrap();
        let of = |name: &str| free.parameter(name).unwrap().value;
        assert!(
            (of("s") - 1.2).abs() < 0.05 && of(factor) > 0.0,
            "{:?}",
            free.popt
        );
        assert!((left.chi2 / free.chi2 - 1.0).abs() < 1e-9);
    }
}

/// Catches: searches that go on for minutes where no values of the parameters describe the rows. `--nocapture` shows
/// how long each took.
#[test]
fn a_wrong_curve_is_in_doubt_and_no_worse_for_the_search() {
    let mut chance = Chance(Rng::new(7, 0, 0, 0, Purpose::Data));
    for n in [300, 5000] {
        let x: Vec<f64> = (0..n).map(|i| 10.0 * f64::from(i) / f64::from(n)).collect();
        let step = |x: f64| 3.0 / (1.0 + (5.0 - x).exp()) + 0.02 * chance.0.normal();
        let y: Vec<f64> = x.iter().copied().map(step).collect();
        let data = Data::new(&y).with("x", &x);
        for text in [
            "a*exp(-b*x)+c",
            "a*sin(w*x+p)+c",
            "h*exp(-((x-m)/s)^2)+b",
            "a*(1-exp(-(x/t)^k))^n+c",
        ] {
            let fitter = CurveFit::compile(text).unwrap();
            let with = |restarts| Options {
                restarts,
                ..Options::default()
            };
            let alone = fitter.fit(&data, &with(Restarts::Never)).unwrap();
            let began = std::time::Instant::now();
            let found = fitter.fit(&data, &with(Restarts::Always)).unwrap();
            println!(
                "{text}, {n} rows: {:.0} ms",
                1e3 * began.elapsed().as_secs_f64()
            );
            assert!(found.chi2 <= alone.chi2 * (1.0 + 1e-9), "{text}");
        }
    }
}
