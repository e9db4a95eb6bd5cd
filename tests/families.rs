//! Random models of distributions with zeros apart, of urns, lengths and skew tails, of categories,
//! counts and vectors, against the same densities written here in `f64` and from textbooks.
//!
//! `FITZROY_DIFFERENTIAL=N` tries N models instead of 150. A failure prints its model, whose number
//! is its seed.
//!
//! Bound: 1e-9 relative for values; formulas differ by the order of sums, and series and quadratures
//! here are good to 1e-12. Slopes: central differences of the value by hand, 1e-6.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::Coordinates;
use fitzroy::rng::{Purpose, Rng};
use std::f64::consts::PI;
use support::{Density, everywhere, joint};

fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

fn choose(n: f64, k: f64) -> f64 {
    (1..=k as u32)
        .map(|i| (n - k + f64::from(i)).ln() - f64::from(i).ln())
        .sum()
}

fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

fn gamma(x: f64, a: f64, b: f64) -> f64 {
    a * b.ln() - lgamma(a) + (a - 1.0) * x.ln() - b * x
}

fn beta(x: f64, a: f64, b: f64) -> f64 {
    lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1.0) * x.ln() + (b - 1.0) * (1.0 - x).ln()
}

/// Φ(b) − Φ(a), on the side of 0 where it does not cancel.
fn between(a: f64, b: f64) -> f64 {
    let upper = |z: f64| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    if a + b > 0.0 {
        upper(a) - upper(b)
    } else {
        upper(-b) - upper(-a)
    }
}

/// I₀ by its series.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..200 {
        term *= (0.5 * x / f64::from(k)).powi(2);
        sum += term;
    }
    sum
}

/// A lower triangular matrix with this inverse root, and ln of its determinant.
fn whitened(r: [f64; 2], cov: [f64; 3]) -> (f64, f64) {
    let [a, b, c] = cov;
    let det = a * c - b * b;
    let square = (c * r[0] * r[0] - 2.0 * b * r[0] * r[1] + a * r[1] * r[1]) / det;
    (square, 0.5 * det.ln())
}

/// What the parameters of every model are: m ~ Normal(0, 1), s ~ HalfNormal(1), k ~ LogNormal(0, 0.5)
/// and p ~ Beta(2, 3).
#[derive(Clone, Copy)]
struct Given {
    m: f64,
    s: f64,
    k: f64,
    p: f64,
}

const HEAD: &str = "m ~ Normal(0, 1)\ns ~ HalfNormal(1)\nk ~ LogNormal(0, 0.5)\np ~ Beta(2, 3)\n";

/// The parameters, and the logarithm of the density of their coordinates.
fn given(u: &[f64]) -> (Given, f64) {
    let p = 1.0 / (1.0 + (-u[3]).exp());
    let it = Given {
        m: u[0],
        s: u[1].exp(),
        k: u[2].exp(),
        p,
    };
    let prior = normal(it.m, 0.0, 1.0)
        + (2f64.ln() + normal(it.s, 0.0, 1.0) + u[1])
        + normal(u[2], 0.0, 0.5)
        + (beta(p, 2.0, 3.0) + (p * (1.0 - p)).ln());
    (it, prior)
}

/// ln p of a row: y (one number or several), x, and the parameters.
type ByHand = fn(&[f64], f64, Given) -> f64;

struct Family {
    /// The distribution of `y`; `x` is a column of numbers.
    law: &'static str,
    /// Numbers in a row of `y`: 1 or 2.
    width: usize,
    /// A row of `y`, by chance.
    row: fn(&mut Rng) -> Vec<f64>,
    by_hand: ByHand,
}

fn up_to(rng: &mut Rng, most: f64) -> f64 {
    (rng.uniform() * (most + 1.0)).floor()
}

fn amount(rng: &mut Rng) -> Vec<f64> {
    let zero = rng.uniform() < 0.4;
    vec![if zero {
        0.0
    } else {
        0.05 + 3.0 * rng.uniform()
    }]
}

fn pair(rng: &mut Rng) -> Vec<f64> {
    vec![rng.normal(), 2.0 * rng.normal()]
}

fn negative_binomial(y: f64, mu: f64, a: f64) -> f64 {
    lgamma(y + a) - lgamma(a) - lgamma(y + 1.0) + a * (a / (a + mu)).ln() + y * (mu / (a + mu)).ln()
}

fn skew_student(y: f64, a: f64, b: f64) -> f64 {
    let r = y / (a + b + y * y).sqrt();
    let norm = (a + b - 1.0) * 2f64.ln() + lgamma(a) + lgamma(b) - lgamma(a + b);
    (a + 0.5) * (1.0 + r).ln() + (b + 0.5) * (1.0 - r).ln() - norm - 0.5 * (a + b).ln()
}

fn student_pair(y: &[f64], nu: f64, m: f64, cov: [f64; 3]) -> f64 {
    let (square, ln_det) = whitened([y[0] - m, y[1] - m], cov);
    -(2.0 * PI).ln() - ln_det - 0.5 * (nu + 2.0) * (1.0 + square / nu).ln()
}

const FAMILIES: [Family; 13] = [
    Family {
        law: "HurdleGamma(p, k, s * exp(x))",
        width: 1,
        row: amount,
        by_hand: |y, x, g| match y[0] == 0.0 {
            true => (1.0 - g.p).ln(),
            false => g.p.ln() + gamma(y[0], g.k, g.s * x.exp()),
        },
    },
    Family {
        law: "HurdleGamma(psi=p, mu=exp(m + x), sigma=s)",
        width: 1,
        row: amount,
        by_hand: |y, x, g| match y[0] == 0.0 {
            true => (1.0 - g.p).ln(),
            false => {
                let mu = (g.m + x).exp();
                g.p.ln() + gamma(y[0], (mu / g.s).powi(2), mu / g.s.powi(2))
            }
        },
    },
    Family {
        law: "HurdleLogNormal(p, m + x, s)",
        width: 1,
        row: amount,
        by_hand: |y, x, g| match y[0] == 0.0 {
            true => (1.0 - g.p).ln(),
            false => g.p.ln() + normal(y[0].ln(), g.m + x, g.s) - y[0].ln(),
        },
    },
    Family {
        law: "HurdleNegativeBinomial(p, exp(m + x), k)",
        width: 1,
        row: |rng| vec![up_to(rng, 5.0)],
        by_hand: |y, x, g| match y[0] == 0.0 {
            true => (1.0 - g.p).ln(),
            false => {
                let of = |y: f64| negative_binomial(y, (g.m + x).exp(), g.k);
                g.p.ln() + of(y[0]) - (1.0 - of(0.0).exp()).ln()
            }
        },
    },
    Family {
        law: "Mixture([p, 1 - p], HyperGeometric(12, 7, 4), Binomial(4, p))",
        width: 1,
        row: |rng| vec![up_to(rng, 4.0)],
        by_hand: |y, _, g| {
            let urn = choose(7.0, y[0]) + choose(5.0, 4.0 - y[0]) - choose(12.0, 4.0);
            let ways = choose(4.0, y[0]) + y[0] * g.p.ln() + (4.0 - y[0]) * (1.0 - g.p).ln();
            (g.p * urn.exp() + (1.0 - g.p) * ways.exp()).ln()
        },
    },
    Family {
        law: "Rice(k * exp(x), s)",
        width: 1,
        row: |rng| vec![0.05 + 2.0 * rng.uniform()],
        by_hand: |y, x, g| {
            let (y, nu, s) = (y[0], g.k * x.exp(), g.s);
            let bell = (y * y + nu * nu) / (2.0 * s * s);
            y.ln() - 2.0 * s.ln() - bell + bessel(y * nu / (s * s)).ln()
        },
    },
    Family {
        law: "SkewStudentT(k, 0.5 + s, m + x, 1.3)",
        width: 1,
        row: |rng| vec![3.0 * rng.normal()],
        by_hand: |y, x, g| skew_student((y[0] - g.m - x) / 1.3, g.k, 0.5 + g.s) - 1.3f64.ln(),
    },
    Family {
        law: "OrderedProbit(m + x, [-1, 0.2, 0.9], s)",
        width: 1,
        row: |rng| vec![up_to(rng, 3.0)],
        by_hand: |y, x, g| {
            let ends = [f64::NEG_INFINITY, -1.0, 0.2, 0.9, f64::INFINITY];
            let z = |k: usize| (ends[k] - g.m - x) / g.s;
            let y = y[0] as usize;
            between(z(y), z(y + 1)).ln()
        },
    },
    Family {
        law: "DirichletMultinomial(sum(y, axis=two), [k, s])",
        width: 2,
        row: |rng| vec![up_to(rng, 6.0), up_to(rng, 3.0)],
        by_hand: |y, _, g| {
            // Of two categories a beta-binomial distribution.
            let ln_beta = |a: f64, b: f64| lgamma(a) + lgamma(b) - lgamma(a + b);
            choose(y[0] + y[1], y[0]) + ln_beta(y[0] + g.k, y[1] + g.s) - ln_beta(g.k, g.s)
        },
    },
    Family {
        law: "MvStudentT(nu=k, mu=m + x, chol=[[1.2, 0], [0.5, 0.8]])",
        width: 2,
        row: pair,
        by_hand: |y, x, g| student_pair(y, g.k, g.m + x, [1.44, 0.6, 0.89]),
    },
    Family {
        law: "MvStudentT(3 + s, m, scale=[[1 + k, p], [p, 1]])",
        width: 2,
        row: pair,
        by_hand: |y, _, g| student_pair(y, 3.0 + g.s, g.m, [1.0 + g.k, g.p, 1.0]),
    },
    Family {
        law: "Mixture([p, 1 - p], MvNormal(m + x, [[1 + k, p], [p, 1]]), MvStudentT(3 + s, m, [[2, 1], [1, 2]]))",
        width: 2,
        row: pair,
        by_hand: |y, x, g| {
            let (square, ln_det) =
                whitened([y[0] - g.m - x, y[1] - g.m - x], [1.0 + g.k, g.p, 1.0]);
            let normal = -(2.0 * PI).ln() - ln_det - 0.5 * square;
            let heavy = student_pair(y, 3.0 + g.s, g.m, [2.0, 1.0, 2.0]);
            (g.p * normal.exp() + (1.0 - g.p) * heavy.exp()).ln()
        },
    },
    Family {
        law: "StickBreakingWeights(k * exp(x))",
        width: 2,
        row: |rng| {
            let share = 0.05 + 0.9 * rng.uniform();
            vec![share, 1.0 - share]
        },
        // Of two shares, the first is a Beta(1, alpha).
        by_hand: |y, x, g| beta(y[0], 1.0, g.k * x.exp()),
    },
];

fn n_models() -> u32 {
    let asked = std::env::var("FITZROY_DIFFERENTIAL").ok();
    asked.map_or(150, |n| {
        n.parse().expect("FITZROY_DIFFERENTIAL is a number")
    })
}

#[test]
fn random_models_have_the_density_and_the_slopes_that_they_have_by_hand() {
    for number in 0..n_models() {
        let mut rng = Rng::new(78, 0, 0, number, Purpose::Test);
        let family = &FAMILIES[(rng.uniform() * FAMILIES.len() as f64) as usize];
        let n = 1 + (rng.uniform() * 7.0) as usize;
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let y: Vec<f64> = (0..n).flat_map(|_| (family.row)(&mut rng)).collect();
        let mut data = Dataset::new();
        data.insert_real("x", &[n], x.clone());
        let shape: &[usize] = if family.width == 1 { &[n] } else { &[n, 2] };
        data.insert_real("y", shape, y.clone());
        let dims = if family.width == 1 { "obs" } else { "obs, two" };
        let text = format!("data x[obs], y[{dims}]\n{HEAD}y ~ {}\n", family.law);
        let joint = joint(&text, &data);
        let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        let by_hand = |u: &[f64]| {
            let (given, prior) = given(u);
            let rows = y.chunks(family.width).zip(&x);
            prior
                + rows
                    .map(|(y, x)| (family.by_hand)(y, *x, given))
                    .sum::<f64>()
        };
        for _ in 0..3 {
            let u: Vec<f64> = (0..4).map(|_| 2.0 * rng.uniform() - 1.0).collect();
            let what = format!("model {number} at {u:?}\n{text}{x:?}\n{y:?}");
            let expected = by_hand(&u);
            let (value, slopes) = density.run(&u);
            let near = |got: f64, expected: f64, bound: f64, of: &str| {
                let error = (got - expected).abs() / (1.0 + expected.abs());
                assert!(error < bound, "{of} {got}, but {expected} by hand\n{what}");
            };
            near(value, expected, 1e-9, "value");
            near(
                density.reference(&u).0,
                expected,
                1e-9,
                "value of the reference",
            );
            for k in 0..4 {
                let at = |h: f64| {
                    let mut moved = u.clone();
                    moved[k] += h;
                    by_hand(&moved)
                };
                let slope = (8.0 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4;
                near(slopes[k], slope, 1e-6, &format!("slope {k}"));
            }
        }
    }
}
