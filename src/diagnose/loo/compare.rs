//! Models side by side.

use super::super::chains::variance;
use super::{Loo, stacking};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::special::{ndtr, ndtri};

/// Observations below which the normal approximation of a difference is not to be trusted.
const FEW_OBSERVATIONS: usize = 100;
/// Differences in nats below which models predict alike.
const SMALL_DIFFERENCE: f64 = 4.0;
/// Models above which the best may be best by chance.
const MANY_MODELS: usize = 11;

/// One model in a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its place in the list that was given.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// Its elpd in nats, standard error and effective number of parameters.
    pub elpd: f64,
    /// Standard error of `elpd`.
    pub se: f64,
    /// Effective number of parameters.
    pub p: f64,
    /// Its elpd less that of the best: 0 or negative.
    pub elpd_diff: f64,
    /// Standard error of that difference, √(N var(d_i)), divisor N.
    pub dse: f64,
    /// Probability that it predicts worse than the best, by a normal approximation; NaN for the
    /// best.
    pub p_worse: f64,
    /// Its weight where the predictions of all models are averaged (stacking).
    pub weight: f64,
    /// Observations whose elpd cannot be trusted.
    pub n_unreliable: usize,
    /// What to bear in mind, in words.
    pub caution: Option<String>,
}

/// Models ranked, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The models.
    pub models: Vec<Compared>,
    /// Observations.
    pub n_observations: usize,
    /// What holds for the whole, in words: a best model that may be best by chance.
    pub caution: Option<String>,
}

/// Ranks models by their elpd on the same data.
///
/// # Errors
/// Fewer than two models; other observations; an elpd that is not a number.
pub fn compare(models: &[(String, Loo)]) -> Result<Comparison> {
    check(models)?;
    let elpd_i: Vec<Vec<f64>> = models
        .iter()
        .map(|(_, loo)| loo.pointwise.iter().map(|x| x.elpd).collect())
        .collect();
    let n = elpd_i[0].len();
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by(|&a, &b| models[b].1.elpd.total_cmp(&models[a].1.elpd));
    let sorted: Vec<&[f64]> = order.iter().map(|&m| elpd_i[m].as_slice()).collect();
    let weights = stacking::weights(&sorted);
    let best = sorted[0];
    let row = |(rank, &place): (usize, &usize)| {
        let (name, loo) = &models[place];
        let d: Vec<f64> = sorted[rank].iter().zip(best).map(|(a, b)| a - b).collect();
        let elpd_diff: f64 = d.iter().sum();
        let dse = (n as f64 * variance(&d, 0)).sqrt();
        let caution = match elpd_diff {
            0.0 => None,
            _ if n < FEW_OBSERVATIONS => {
                Some(format!("fewer than {FEW_OBSERVATIONS} observations"))
            }
            d if d.abs() < SMALL_DIFFERENCE => {
                Some(format!("differs by less than {SMALL_DIFFERENCE}"))
            }
            _ => None,
        };
        Compared {
            place,
            name: name.clone(),
            elpd: loo.elpd,
            se: loo.se,
            p: loo.p,
            elpd_diff,
            dse,
            p_worse: match elpd_diff {
                0.0 => f64::NAN,
                d => ndtr(-d / (dse + 1e-12)),
            },
            weight: weights[rank],
            n_unreliable: loo.unreliable().len(),
            caution,
        }
    };
    Ok(Comparison {
        models: order.iter().enumerate().map(row).collect(),
        n_observations: n,
        caution: by_chance(&sorted),
    })
}

fn check(models: &[(String, Loo)]) -> Result<()> {
    let data = |message: String| Err(Error::new(ErrorKind::Data, message));
    let [(first_name, first), others @ ..] = models else {
        return data("there is nothing to compare".into());
    };
    if others.is_empty() {
        return data(format!("`{first_name}` is alone; give two traces or more"));
    }
    for (name, loo) in models {
        if !loo.elpd.is_finite() {
            let at = loo.pointwise.iter().position(|x| !x.elpd.is_finite());
            let place = at.map_or(String::new(), |i| {
                format!(" ({} is the first)", loo.names[i])
            });
            return data(format!(
                "`{name}` has log likelihoods that are not finite{place}, so it has no elpd"
            ));
        }
        let (n, wanted) = (loo.pointwise.len(), first.pointwise.len());
        if n != wanted {
            return data(format!(
                "`{name}` has {n} observations of `{}` and `{first_name}` {wanted} of `{}`; models \
                 can be compared on the same data alone",
                loo.variable, first.variable
            ));
        }
        if let (Some(a), Some(b)) = (&first.observed, &loo.observed)
            && let Some(i) = (0..n).find(|&i| a.get(i) != b.get(i))
        {
            return data(format!(
                "`{name}` was fitted to other data than `{first_name}`: {} is {:?} there and {:?} \
                 here",
                first.names[i], b[i], a[i]
            ));
        }
    }
    Ok(())
}

/// Whether the best of many models may be the best by chance alone (McLatchie, Vehtari, Statistics
/// and Computing 34, 2024): compared with the expected largest of as many normal numbers.
fn by_chance(sorted: &[&[f64]]) -> Option<String> {
    if sorted.len() <= MANY_MODELS {
        return None;
    }
    let base = sorted[sorted.len() / 2];
    let difference = |m: &&[f64]| m.iter().zip(base).map(|(a, b)| a - b).sum::<f64>();
    let differences: Vec<f64> = sorted.iter().map(difference).collect();
    let median = super::super::quantile(&differences, 0.5);
    let upper: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|&d| d >= median)
        .collect();
    let sd = (upper.iter().map(|d| d * d).sum::<f64>() / upper.len() as f64).sqrt();
    let expected = sd * ndtri(1.0 - 0.5 / (sorted.len() - 1) as f64);
    let most = differences
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    (most <= expected).then(|| {
        format!(
            "the best of {} models may be the best by chance: average them by their weights \
             instead of choosing one",
            sorted.len()
        )
    })
}
