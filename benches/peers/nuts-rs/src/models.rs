//! Log densities, up to constants, and their slopes. Positive parameters move on the log scale.

use nuts_rs::{CpuLogpFunc, CpuMathError, LogpError};
use nuts_storable::HasDims;
use rand::Rng;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A model with its data.
pub trait Density: Send + Sync {
    /// Which coordinates are logarithms.
    fn positive(&self) -> Vec<bool>;
    /// ln p(x) with its slopes.
    fn value(&self, x: &[f64], slopes: &mut [f64]) -> f64;
}

/// What nuts-rs samples from.
pub struct Target(pub Arc<dyn Density>);

#[derive(Debug, thiserror::Error)]
#[error("the log density is not a number")]
pub struct NotFinite;

impl LogpError for NotFinite {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl HasDims for Target {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        let n = self.0.positive().len() as u64;
        HashMap::from([("unconstrained_parameter".into(), n), ("dim".into(), n)])
    }
}

impl CpuLogpFunc for Target {
    type LogpError = NotFinite;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.0.positive().len()
    }

    fn logp(&mut self, x: &[f64], slopes: &mut [f64]) -> Result<f64, NotFinite> {
        let value = self.0.value(x, slopes);
        if value.is_finite() { Ok(value) } else { Err(NotFinite) }
    }

    fn expand_vector<R: Rng + ?Sized>(
        &mut self,
        _: &mut R,
        x: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(x.to_vec())
    }
}

/// The model of this name with the data in a file.
pub fn read(model: &str, path: &str) -> Arc<dyn Density> {
    let text = std::fs::read_to_string(path).expect("the data");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let numbers = |v: &Value| -> Vec<f64> {
        let all = v.as_array().expect("an array");
        all.iter().map(|x| x.as_f64().expect("a number")).collect()
    };
    let column = |name: &str| numbers(&all[name]);
    let places = |name: &str| column(name).iter().map(|&x| x as usize).collect();
    let rows = |name: &str| -> Vec<f64> {
        let rows = all[name].as_array().expect("rows");
        rows.iter().flat_map(numbers).collect()
    };
    match model {
        "groups" => Arc::new(Groups { y: column("y"), group: places("group") }),
        "schools" => Arc::new(Schools { y: column("y"), sigma: column("sigma") }),
        "artists" => Arc::new(Artists {
            y: column("y"),
            artist: places("artist"),
            features: rows("features"),
        }),
        "logistic" => Arc::new(Logistic { y: column("y"), x: rows("X") }),
        other => panic!("there is no model {other}"),
    }
}

fn count(places: &[usize]) -> usize {
    places.iter().max().map_or(0, |m| m + 1)
}

/// mu_pop, ln sigma_pop, z, ln sigma_obs
struct Groups {
    y: Vec<f64>,
    group: Vec<usize>,
}

impl Density for Groups {
    fn positive(&self) -> Vec<bool> {
        let n = count(&self.group);
        (0..n + 3).map(|k| k == 1 || k == n + 2).collect()
    }

    fn value(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let last = x.len() - 1;
        let (mu, spread, noise) = (x[0], x[1].exp(), x[last].exp());
        let z = &x[2..last];
        slopes.fill(0.0);
        let precision = 1.0 / (noise * noise);
        let (mut squares, mut value) = (0.0, 0.0);
        for (&y, &g) in self.y.iter().zip(&self.group) {
            let gap = y - (mu + spread * z[g]);
            squares += gap * gap;
            slopes[2 + g] += gap;
        }
        value -= 0.5 * squares * precision + self.y.len() as f64 * x[last];
        for (slope, &z) in slopes[2..last].iter_mut().zip(z) {
            value -= 0.5 * z * z;
            *slope *= precision;
        }
        slopes[0] = slopes[2..last].iter().sum::<f64>() - (mu - 50.0) / 400.0;
        slopes[1] = spread * slopes[2..last].iter().zip(z).map(|(s, z)| s * z).sum::<f64>()
            - (spread / 15.0).powi(2)
            + 1.0;
        for (slope, &z) in slopes[2..last].iter_mut().zip(z) {
            *slope = *slope * spread - z;
        }
        slopes[last] = squares * precision - self.y.len() as f64 - (noise / 5.0).powi(2) + 1.0;
        value -= (mu - 50.0).powi(2) / 800.0 + 0.5 * (spread / 15.0).powi(2)
            + 0.5 * (noise / 5.0).powi(2);
        value + x[1] + x[last]
    }
}

/// mu, ln tau, z
struct Schools {
    y: Vec<f64>,
    sigma: Vec<f64>,
}

impl Density for Schools {
    fn positive(&self) -> Vec<bool> {
        (0..self.y.len() + 2).map(|k| k == 1).collect()
    }

    fn value(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let (mu, tau) = (x[0], x[1].exp());
        let ratio = (tau / 5.0).powi(2);
        let mut value = -mu * mu / 50.0 - ratio.ln_1p() + x[1];
        slopes[0] = -mu / 25.0;
        slopes[1] = 1.0 - 2.0 * ratio / (1.0 + ratio);
        for (j, (&y, &sigma)) in self.y.iter().zip(&self.sigma).enumerate() {
            let z = x[2 + j];
            let gap = (y - mu - tau * z) / sigma;
            let pull = gap / sigma;
            value -= 0.5 * (gap * gap + z * z);
            slopes[0] += pull;
            slopes[1] += pull * tau * z;
            slopes[2 + j] = pull * tau - z;
        }
        value
    }
}

/// mu, ln sigma_artist, effects, beta, ln sigma
struct Artists {
    y: Vec<f64>,
    artist: Vec<usize>,
    features: Vec<f64>,
}

impl Density for Artists {
    fn positive(&self) -> Vec<bool> {
        let n = 3 + count(&self.artist) + self.features.len() / self.y.len();
        (0..n).map(|k| k == 1 || k == n - 1).collect()
    }

    fn value(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let (n, last) = (self.y.len(), x.len() - 1);
        let k = self.features.len() / n;
        let (mu, spread, noise) = (x[0], x[1].exp(), x[last].exp());
        let first_beta = last - k;
        let beta = &x[first_beta..last];
        let precision = 1.0 / (noise * noise);
        slopes.fill(0.0);
        let mut squares = 0.0;
        for ((&y, &a), row) in self.y.iter().zip(&self.artist).zip(self.features.chunks_exact(k)) {
            let mean: f64 = row.iter().zip(beta).map(|(f, b)| f * b).sum();
            let gap = y - x[2 + a] - mean;
            squares += gap * gap;
            let pull = gap * precision;
            slopes[2 + a] += pull;
            for (slope, f) in slopes[first_beta..last].iter_mut().zip(row) {
                *slope += pull * f;
            }
        }
        let mut value = -0.5 * squares * precision - n as f64 * x[last];
        let (mut sum, mut around) = (0.0, 0.0);
        for (slope, effect) in slopes[2..first_beta].iter_mut().zip(&x[2..first_beta]) {
            let gap = (effect - mu) / (spread * spread);
            sum += gap;
            around += gap * (effect - mu);
            *slope -= gap;
        }
        value -= 0.5 * around + (first_beta - 2) as f64 * x[1];
        slopes[0] = sum - mu / 400.0;
        slopes[1] = around - (first_beta - 2) as f64 - (spread / 5.0).powi(2) + 1.0;
        for (slope, b) in slopes[first_beta..last].iter_mut().zip(beta) {
            value -= b * b / 8.0;
            *slope -= b / 4.0;
        }
        slopes[last] = squares * precision - n as f64 - (noise / 5.0).powi(2) + 1.0;
        value -= mu * mu / 800.0 + 0.5 * (spread / 5.0).powi(2) + 0.5 * (noise / 5.0).powi(2);
        value + x[1] + x[last]
    }
}

/// intercept, beta
struct Logistic {
    y: Vec<f64>,
    x: Vec<f64>,
}

impl Density for Logistic {
    fn positive(&self) -> Vec<bool> {
        vec![false; 1 + self.x.len() / self.y.len()]
    }

    fn value(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let k = x.len() - 1;
        let mut value = -x[0] * x[0] / 12.5;
        slopes[0] = -x[0] / 6.25;
        for (slope, b) in slopes[1..].iter_mut().zip(&x[1..]) {
            value -= 0.5 * b * b;
            *slope = -b;
        }
        for (&y, row) in self.y.iter().zip(self.x.chunks_exact(k)) {
            let eta = x[0] + row.iter().zip(&x[1..]).map(|(f, b)| f * b).sum::<f64>();
            let small = (-eta.abs()).exp();
            value += y * eta - eta.max(0.0) - small.ln_1p();
            let p = if eta < 0.0 { small } else { 1.0 } / (1.0 + small);
            slopes[0] += y - p;
            for (slope, f) in slopes[1..].iter_mut().zip(row) {
                *slope += (y - p) * f;
            }
        }
        value
    }
}
