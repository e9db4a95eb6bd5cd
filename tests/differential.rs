//! Random small models against a plain evaluation of the same density, written here in `f64` and
//! from textbooks: priors with their transforms, hierarchies, GLMs, mixtures, truncation, slices and
//! shared parameters.
//!
//! `FITZROY_DIFFERENTIAL=N` tries N models instead of 150. A failure prints its model, whose number
//! is its seed.
//!
//! Bound: 1e-9 relative; formulas differ by the order of sums and a few special functions.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::{Coordinates, Joint, Rewrites};
use fitzroy::rng::{Purpose, Rng};
use std::f64::consts::{LN_2, PI};
use support::rewritten::{BOUND, at_start, drawn_at, point, values};
use support::{Density, everywhere, joint};

struct Chance(Rng);

impl Chance {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() - 1)]
    }
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.0.uniform() * (high - low + 1) as f64) as usize
    }
    fn coin(&mut self) -> bool {
        self.0.uniform() < 0.5
    }
}

fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

fn student(x: f64, nu: f64, m: f64, s: f64) -> f64 {
    let norm = lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * (nu * PI).ln() - s.ln();
    norm - 0.5 * (nu + 1.0) * (1.0 + ((x - m) / s).powi(2) / nu).ln()
}

fn logistic(x: f64, m: f64, s: f64) -> f64 {
    let z = (x - m) / s;
    -z - s.ln() - 2.0 * (1.0 + (-z).exp()).ln()
}

fn skew_normal(x: f64, m: f64, s: f64, a: f64) -> f64 {
    LN_2 + normal(x, m, s) + phi(a * (x - m) / s).ln()
}

fn gamma(x: f64, a: f64, b: f64) -> f64 {
    a * b.ln() - lgamma(a) + (a - 1.0) * x.ln() - b * x
}

/// A prior: its text, whether its coordinate is a logarithm, or two ends, and ln p(x).
type Prior = (&'static str, Ends, fn(f64) -> f64);

#[derive(Clone, Copy)]
enum Ends {
    None,
    Zero,
    Two(f64, f64),
}

impl Ends {
    /// x and ln dx/du.
    fn value(self, u: f64) -> (f64, f64) {
        match self {
            Ends::None => (u, 0.0),
            Ends::Zero => (u.exp(), u),
            Ends::Two(low, high) => {
                let share = 1.0 / (1.0 + (-u).exp());
                let slope = (high - low) * share * (1.0 - share);
                (low + (high - low) * share, slope.ln())
            }
        }
    }
}

const REAL: [Prior; 6] = [
    ("Normal(0, 1)", Ends::None, |x| normal(x, 0.0, 1.0)),
    ("StudentT(3, 0.2, 1.5)", Ends::None, |x| {
        student(x, 3.0, 0.2, 1.5)
    }),
    ("Logistic(-0.1, 0.8)", Ends::None, |x| {
        logistic(x, -0.1, 0.8)
    }),
    ("SkewNormal(0, 1, 2)", Ends::None, |x| {
        skew_normal(x, 0.0, 1.0, 2.0)
    }),
    ("Uniform(-2, 3)", Ends::Two(-2.0, 3.0), |_| -5f64.ln()),
    (
        "Normal(0.5, 2) truncated(-1, 2)",
        Ends::Two(-1.0, 2.0),
        |x| normal(x, 0.5, 2.0) - (phi(0.75) - phi(-0.75)).ln(),
    ),
];

const POSITIVE: [Prior; 6] = [
    ("HalfNormal(1.5)", Ends::Zero, |x| {
        LN_2 + normal(x, 0.0, 1.5)
    }),
    ("Exponential(2)", Ends::Zero, |x| 2f64.ln() - 2.0 * x),
    ("Gamma(2, 3)", Ends::Zero, |x| gamma(x, 2.0, 3.0)),
    ("LogNormal(0.1, 0.5)", Ends::Zero, |x| {
        normal(x.ln(), 0.1, 0.5) - x.ln()
    }),
    ("InverseGamma(3, 2)", Ends::Zero, |x| {
        gamma(1.0 / x, 3.0, 2.0) - 2.0 * x.ln()
    }),
    ("HalfCauchy(1)", Ends::Zero, |x| {
        LN_2 - PI.ln() - (1.0 + x * x).ln()
    }),
];

/// An effect: what stands before location and scale, what after, and ln p(x | location, scale).
type Effect = (&'static str, &'static str, fn(f64, f64, f64) -> f64);

const EFFECTS: [Effect; 4] = [
    ("Normal(", ")", normal),
    ("StudentT(5, ", ")", |x, m, s| student(x, 5.0, m, s)),
    ("SkewNormal(", ", -1.5)", |x, m, s| {
        skew_normal(x, m, s, -1.5)
    }),
    ("Logistic(", ")", logistic),
];

/// A likelihood: its data, its text with `ETA` for the predictor and `S` for a scale, and ln p.
type Likelihood = (&'static str, &'static str, fn(f64, f64, f64) -> f64);

const LIKELIHOODS: [Likelihood; 8] = [
    ("y", "Normal(ETA, S)", normal),
    ("y", "StudentT(4, ETA, S)", |y, m, s| student(y, 4.0, m, s)),
    (
        "y",
        "Mixture([0.3, 0.7], Normal(ETA, S), Normal(ETA + 1, 2 * S))",
        |y, m, s| (0.3 * normal(y, m, s).exp() + 0.7 * normal(y, m + 1.0, 2.0 * s).exp()).ln(),
    ),
    (
        "y",
        "Normal(ETA, S) truncated(lower=-4)",
        |y, m, s| match y < -4.0 {
            true => f64::NEG_INFINITY,
            false => normal(y, m, s) - phi((m + 4.0) / s).ln(),
        },
    ),
    ("bit", "Bernoulli(logit_p=ETA / S)", |y, m, s| {
        y * m / s - (1.0 + (m / s).exp()).ln()
    }),
    ("count", "Poisson(exp(ETA) * S)", |y, m, s| {
        y * (m + s.ln()) - m.exp() * s - lgamma(y + 1.0)
    }),
    ("count", "NegativeBinomial(exp(ETA), S)", |y, m, s| {
        let (mu, total) = (m.exp(), m.exp() + s);
        lgamma(y + s) - lgamma(s) - lgamma(y + 1.0) + s * (s / total).ln() + y * (mu / total).ln()
    }),
    ("positive", "Gamma(S, S / exp(ETA))", |y, m, s| {
        gamma(y, s, s / m.exp())
    }),
];

/// A model put together by chance, and all that is needed to evaluate it by hand.
struct Random {
    data: Dataset,
    rows: usize,
    groups: usize,
    /// Priors of m, b, s and tau.
    priors: [Prior; 4],
    effect: Option<Effect>,
    /// Whether the effects have s as their scale, too.
    shared: bool,
    slope: bool,
    likelihood: Likelihood,
    /// Where the likelihood is cut in two statements.
    cut: Option<usize>,
}

impl Random {
    fn new(number: u32) -> Self {
        let mut chance = Chance(Rng::new(77, 0, 0, number, Purpose::Test));
        let (rows, groups) = (chance.between(3, 9), chance.between(2, 4));
        let mut data = Dataset::new();
        let mut column = |name: &str, f: &mut dyn FnMut(&mut Chance, usize) -> f64| {
            let values = (0..rows).map(|i| f(&mut chance, i)).collect();
            data.insert_real(name, &[rows], values);
        };
        column("y", &mut |c, _| 1.5 * c.0.normal());
        column("x", &mut |c, _| c.0.normal());
        column("bit", &mut |c, _| f64::from(u8::from(c.coin())));
        column("count", &mut |c, _| c.between(0, 5) as f64);
        column("positive", &mut |c, _| 0.1 + 2.0 * c.0.uniform());
        column("g", &mut |c, i| if i < groups { i } else { c.between(0, groups - 1) } as f64);
        // Rows may be fewer than groups: the sizes then come from the labels that are there.
        let groups = groups.min(rows);
        Random {
            data,
            rows,
            groups,
            priors: [
                chance.pick(&REAL),
                chance.pick(&REAL),
                chance.pick(&POSITIVE),
                chance.pick(&POSITIVE),
            ],
            effect: chance.coin().then(|| chance.pick(&EFFECTS)),
            shared: chance.coin(),
            slope: chance.coin(),
            likelihood: chance.pick(&LIKELIHOODS),
            cut: chance.coin().then(|| chance.between(1, rows - 1)),
        }
    }

    /// The model, its likelihood in one statement or cut.
    fn text(&self, cut: Option<usize>) -> String {
        let [m, b, s, tau] = self.priors.map(|prior| prior.0);
        let (name, law, _) = self.likelihood;
        let mut text = format!(
            "data y[obs], x[obs], bit[obs], count[obs], positive[obs], g[obs] in groups\n\
             m ~ {m}\nb ~ {b}\ns ~ {s}\ntau ~ {tau}\n"
        );
        let mut eta = String::from("m + 0 * x");
        if self.slope {
            eta += " + b * x";
        }
        if let Some((before, after, _)) = self.effect {
            let scale = if self.shared { "s" } else { "tau" };
            text += &format!("theta[groups] ~ {before}b, {scale}{after}\n");
            eta += " + theta[g]";
        }
        text += &format!("let eta = {eta}\n");
        let parts = match cut {
            None => vec![String::new()],
            Some(at) => vec![format!("[{at}:]"), format!("[:{at}]")],
        };
        for part in parts {
            let law = law.replace("ETA", &format!("eta{part}")).replace('S', "s");
            // Names of distributions have a capital S as well.
            let law = law.replace("studentT", "StudentT");
            text += &format!("{name}{part} ~ {law}\n");
        }
        text
    }

    fn column(&self, name: &str) -> Vec<f64> {
        match &self.data.get(name).unwrap().values {
            fitzroy::data::Values::Real(values) => values.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// ln p by hand, at coordinates of centred effects.
    fn by_hand(&self, u: &[f64]) -> f64 {
        let mut total = 0.0;
        let mut given = [0.0; 4];
        for (k, (_, ends, density)) in self.priors.iter().enumerate() {
            let (x, log_slope) = ends.value(u[k]);
            given[k] = x;
            total += density(x) + log_slope;
        }
        let [m, b, s, tau] = given;
        let theta = &u[4..];
        if let Some((_, _, density)) = self.effect {
            let scale = if self.shared { s } else { tau };
            total += theta.iter().map(|x| density(*x, b, scale)).sum::<f64>();
        }
        let (name, _, density) = self.likelihood;
        let (y, x, g) = (self.column(name), self.column("x"), self.column("g"));
        for i in 0..self.rows {
            let mut eta = m;
            if self.slope {
                eta += b * x[i];
            }
            if self.effect.is_some() {
                eta += theta[g[i] as usize];
            }
            total += density(y[i], eta, s);
        }
        total
    }
}

#[track_caller]
fn near(got: f64, expected: f64, what: &str) {
    let same = got == expected || (got - expected).abs() <= BOUND * (1.0 + expected.abs());
    assert!(same, "{got}, but {expected} by hand or as written\n{what}");
}

fn n_models() -> u32 {
    let asked = std::env::var("FITZROY_DIFFERENTIAL").ok();
    asked.map_or(150, |n| {
        n.parse().expect("FITZROY_DIFFERENTIAL is a number")
    })
}

/// With every rewrite: density of what is sampled, plus that of what is integrated out given it, is
/// the density as written. Catches what the models of `rewrites.rs`, all of one kind, do not hold.
fn check_rewritten(plain: &Joint, what: &str) {
    let rewritten = plain.rewritten(Rewrites::ALL);
    let coordinates = at_start(&rewritten);
    let (new, written) = (
        rewritten.graphs(&coordinates),
        rewritten.plain_graphs(&coordinates),
    );
    for number in 0..2 {
        let (_, x, total) = drawn_at(&rewritten, &new, number);
        near(total, values(&written, &x, &[written.density])[0][0], what);
    }
}

#[test]
fn random_models_have_the_density_that_they_have_by_hand() {
    for number in 0..n_models() {
        let random = Random::new(number);
        let text = random.text(None);
        let what = format!("model {number}\n{text}");
        let whole = joint(&text, &random.data);
        let n_effects = if random.effect.is_some() {
            random.groups
        } else {
            0
        };
        assert_eq!(whole.n_params(), 4 + n_effects, "{what}");
        let mut density = Density::new(&whole, &everywhere(&whole, &Coordinates::Centred));
        let points: Vec<Vec<f64>> = (0..3).map(|k| point(&whole, k)).collect();
        for u in &points {
            let by_hand = random.by_hand(u);
            near(density.value(u), by_hand, &what);
            near(density.reference(u).0, by_hand, &what);
        }
        check_rewritten(&whole, &what);
        // The likelihood in two statements, and all names changed.
        let renamed = renamed(&random.text(random.cut));
        let data = with_names(&random.data);
        let other = joint(&renamed, &data);
        let mut density = Density::new(&other, &everywhere(&other, &Coordinates::Centred));
        for u in &points {
            near(
                density.value(u),
                random.by_hand(u),
                &format!("{what}as\n{renamed}"),
            );
        }
        check_rewritten(&other, &renamed);
        assert_eq!(other.n_observed(), random.rows);
    }
}

const NAMES: [&str; 13] = [
    "y", "x", "bit", "count", "positive", "g", "groups", "m", "b", "s", "tau", "theta", "eta",
];

/// Every name of the model with another after it.
fn renamed(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out += &word;
        if NAMES.contains(&word.as_str()) {
            out += "_of_another_name";
        }
        word.clear();
        out.push(c);
    }
    out
}

fn with_names(data: &Dataset) -> Dataset {
    let mut out = Dataset::new();
    for array in data.arrays() {
        let mut array = array.clone();
        array.name += "_of_another_name";
        out.insert(array);
    }
    out
}
