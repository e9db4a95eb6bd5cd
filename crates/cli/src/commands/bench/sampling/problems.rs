//! The problems of `bench sample` and `bench hierarchical`: models as people write them, and data
//! with known truth, made from a seed.

use fitzroy::data::Values;
use fitzroy::examples;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::validate::{Truth, generate};
use serde_json::{Value, json};

/// A model, its data, and how it is sampled.
pub(super) struct Problem {
    /// Its name, also of its files.
    pub(super) name: String,
    /// The text of the model.
    pub(super) model: &'static str,
    /// The data by name.
    pub(super) data: Value,
    /// Warm-up transitions, draws and chains.
    pub(super) counts: [usize; 3],
    /// Acceptance to tune to.
    pub(super) target_accept: f64,
    /// What scalar parameters must be near to: the truth, or the mean of a reference posterior.
    pub(super) truth: &'static [(&'static str, f64)],
}

/// The text of a model that comes along.
fn example(name: &str) -> &'static str {
    examples::find(name).expect("it comes along").text
}

/// Rubin (1981): effects of coaching and their standard errors.
const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

const LOGISTIC: &str = "\
data y[obs]: int, X[obs, feature]

intercept     ~ Normal(0, 2.5)
beta[feature] ~ Normal(0, 1)

y[obs] ~ Bernoulli(logit_p=intercept + X @ beta)
";

const FUNNEL: &str = "\
dim nine = 9

v       ~ Normal(0, 3)
x[nine] ~ Normal(0, exp(v / 2)) @ centred
";

fn normals(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.normal()).collect()
}

/// A generator of its own for every problem and part, so that one more changes no other.
fn stream(seed: u64, problem: u32, part: u32) -> Rng {
    Rng::new(seed, problem, part, 0, Purpose::Data)
}

/// Regression of 1,000 observations on 10 features with an intercept for each of 100 artists.
pub(super) fn artists(counts: [usize; 3], seed: u64) -> Problem {
    const BETA: [f64; 10] = [0.8, -0.5, 0.3, 0.0, 0.0, 1.2, -0.9, 0.1, 0.4, -0.2];
    let (n, n_artists) = (1_000, 100);
    let effect = normals(&mut stream(seed, 1_001, 0), n_artists);
    let mut picks = stream(seed, 1_001, 1);
    let mut rng = stream(seed, 1_001, 2);
    let (mut artist, mut y, mut features) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        // The first hundred make sure that every artist occurs.
        let any = (picks.uniform() * n_artists as f64) as usize;
        let own = if i < n_artists {
            i
        } else {
            any.min(n_artists - 1)
        };
        let row = normals(&mut rng, BETA.len());
        let slope: f64 = row.iter().zip(&BETA).map(|(x, b)| x * b).sum();
        y.push(10.0 + 1.5 * effect[own] + slope + rng.normal());
        artist.push(own);
        features.push(row);
    }
    Problem {
        name: "artists".into(),
        model: example("artists"),
        data: json!({"artist": artist, "y": y, "features": features}),
        counts,
        target_accept: 0.8,
        truth: &[("mu", 10.0), ("sigma_artist", 1.5), ("sigma", 1.0)],
    }
}

/// Ten observations in each of `groups` groups, non-centred as most people write it. A hundred
/// groups have the settings of `validate`.
pub(super) fn groups(groups: usize, seed: u64) -> Problem {
    let made = generate(groups, 10, seed);
    let column = |name: &str| match &made.get(name).expect("it has this name").values {
        Values::Real(values) => values.clone(),
        Values::Text(_) => unreachable!("numbers were made"),
    };
    let group: Vec<usize> = column("group").iter().map(|&g| g as usize).collect();
    let (draws, target_accept) = if groups == 100 {
        (2_000, 0.95)
    } else {
        (1_000, 0.8)
    };
    Problem {
        name: format!("groups-{groups}"),
        model: example("hierarchical-noncentred"),
        data: json!({"y": column("y"), "group": group}),
        counts: [1_000, draws, 4],
        target_accept,
        truth: &[
            ("mu_pop", Truth::MU_POP),
            ("sigma_pop", Truth::SIGMA_POP),
            ("sigma_obs", Truth::SIGMA_OBS),
        ],
    }
}

/// Eight schools. What it is near to are the means of the reference posterior in posteriordb.
pub(super) fn eight_schools() -> Problem {
    Problem {
        name: "eight-schools".into(),
        model: example("eight-schools"),
        data: json!({"y": EFFECTS, "sigma": ERRORS}),
        counts: [1_000, 1_000, 4],
        target_accept: 0.8,
        truth: &[("mu", 4.4), ("tau", 3.6)],
    }
}

/// Neal's funnel in ten coordinates, kept as it is: nothing is observed, and v is N(0, 3).
pub(super) fn funnel() -> Problem {
    Problem {
        name: "funnel".into(),
        model: FUNNEL,
        data: json!({}),
        counts: [1_000, 1_000, 4],
        target_accept: 0.8,
        truth: &[("v", 0.0)],
    }
}

/// Logistic regression of 10,000 rows on 25 features.
pub(super) fn logistic(seed: u64) -> Problem {
    let (n, width) = (10_000, 25);
    let beta = normals(&mut stream(seed, 1_002, 0), width);
    let (mut rng, mut coin) = (stream(seed, 1_002, 1), stream(seed, 1_002, 2));
    let (mut y, mut features) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let row = normals(&mut rng, width);
        let slope: f64 = row.iter().zip(&beta).map(|(x, b)| 0.3 * x * b).sum();
        let probability = 1.0 / (1.0 + (0.5 - slope).exp());
        y.push(u8::from(coin.uniform() < probability));
        features.push(row);
    }
    Problem {
        name: "logistic".into(),
        model: LOGISTIC,
        data: json!({"y": y, "X": features}),
        counts: [1_000, 1_000, 4],
        target_accept: 0.8,
        truth: &[("intercept", -0.5)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy::model::Model;

    #[test]
    fn the_models_parse_and_the_same_seed_gives_the_same_data() {
        let all = || {
            let counts = [500, 500, 4];
            [
                artists(counts, 3),
                groups(20, 3),
                eight_schools(),
                logistic(3),
            ]
        };
        for (one, two) in all().iter().zip(&all()) {
            assert!(Model::parse(one.model).is_ok(), "{}", one.name);
            assert_eq!(one.data, two.data, "{}", one.name);
        }
        assert_ne!(artists([1, 1, 1], 3).data, artists([1, 1, 1], 4).data);
    }
}
