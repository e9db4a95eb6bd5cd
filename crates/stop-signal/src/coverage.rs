//! Repeated simulations: do intervals hold the truth as often as they say?

use crate::check::{Check, State, scalar};
use crate::config::Config;
use crate::params::Kind;
use crate::simulate::Simulated;
use fitzroy::diagnose::{Diagnosis, eti, hdi, mean};
use fitzroy::draws::Trace;
use serde_json::{Value, json};

/// What has been counted over fits of simulated studies.
#[derive(Clone, Debug)]
pub struct Coverage {
    kind: Kind,
    subjects: Vec<Tally>,
    groups: Vec<Tally>,
    /// Fits so far.
    pub fits: usize,
    worst_r_hat: f64,
    divergences: usize,
    draws: usize,
}

/// Estimates against the truth, on the scale of logarithms or probits.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    n: f64,
    /// Truths inside the 50 % and the wide interval (90 % for subjects, 89 % for groups).
    inside: [f64; 2],
    /// Group medians within 10 % of the truth.
    near: f64,
    error: f64,
    square: f64,
    /// Σ x, y, x², y², xy of truth and estimate.
    sums: [f64; 5],
}

impl Tally {
    fn add(&mut self, truth: f64, draws: &[f64], wide: (f64, f64), scale: impl Fn(f64) -> f64) {
        let scaled: Vec<f64> = draws.iter().map(|x| scale(*x)).collect();
        let (x, y) = (scale(truth), mean(&scaled));
        let (low, high) = eti(draws, 0.5);
        let holds = |low: f64, high: f64| f64::from(u8::from(low <= truth && truth <= high));
        self.n += 1.0;
        self.inside[0] += holds(low, high);
        self.inside[1] += holds(wide.0, wide.1);
        self.near += f64::from(u8::from((mean(draws) / truth - 1.0).abs() < 0.1));
        self.error += y - x;
        self.square += (y - x) * (y - x);
        let terms = [x, y, x * x, y * y, x * y];
        self.sums.iter_mut().zip(terms).for_each(|(s, t)| *s += t);
    }

    fn share(&self, which: usize) -> f64 {
        self.inside[which] / self.n
    }

    fn correlation(&self) -> f64 {
        let [x, y, xx, yy, xy] = self.sums.map(|s| s / self.n);
        (xy - x * y) / ((xx - x * x) * (yy - y * y)).sqrt()
    }

    fn json(&self) -> Value {
        json!({"n": self.n, "in_50": self.share(0), "in_wide": self.share(1),
               "bias": self.error / self.n, "rmse": (self.square / self.n).sqrt(),
               "correlation": Some(self.correlation()).filter(|c| c.is_finite())})
    }
}

/// 4 standard errors of a share `p` of `n` values of which a third count as independent: what is
/// estimated together errs together.
fn slack(p: f64, n: f64) -> f64 {
    4.0 * (p * (1.0 - p) / n * 3.0).sqrt()
}

fn sum(tallies: &[Tally]) -> (f64, f64) {
    let n = tallies.iter().map(|t| t.n).sum::<f64>();
    (tallies.iter().map(|t| t.inside[1]).sum::<f64>() / n, n)
}

impl Coverage {
    /// Of no fit yet.
    pub fn new(kind: Kind) -> Self {
        let none = vec![Tally::default(); kind.parameters().len()];
        Coverage {
            kind,
            subjects: none.clone(),
            groups: none,
            fits: 0,
            worst_r_hat: 0.0,
            divergences: 0,
            draws: 0,
        }
    }

    /// Names of parameters and what was counted of each.
    fn named<'a>(&self, tallies: &'a [Tally]) -> impl Iterator<Item = (&'static str, &'a Tally)> {
        self.kind.parameter_names().into_iter().zip(tallies)
    }

    /// Counts one fit of the subjects of `made`, in their order.
    pub fn add(&mut self, trace: &Trace, found: &Diagnosis, made: &Simulated, config: &Config) {
        for (k, p) in self.kind.parameters().iter().enumerate() {
            let (name, scale) = (p.name, |x: f64| p.scaled(x));
            for (i, truth) in made.params.iter().enumerate() {
                if let Some(draws) = scalar(trace, name, i) {
                    self.draws += usize::from(k == 0 && i == 0) * draws.len();
                    self.subjects[k].add(truth.values[k], &draws, eti(&draws, 0.9), scale);
                }
            }
            if let Some(draws) = scalar(trace, &format!("mu_{name}"), 0) {
                let truth = config.population[k];
                self.groups[k].add(truth, &draws, hdi(&draws, 0.89), scale);
            }
        }
        self.fits += 1;
        self.worst_r_hat = self.worst_r_hat.max(found.max_r_hat);
        self.divergences += found.divergences.unwrap_or(0);
    }

    /// The table of what is as it should be.
    ///
    /// Shares of subject values in their 90 % intervals lie within 90 % ± 4 standard errors. The
    /// population is the same in every study, in the middle of its prior, so that its intervals may
    /// hold it more often than they say, but not less.
    pub fn checks(&self) -> Vec<Check> {
        let share = self.divergences as f64 / self.draws.max(1) as f64;
        let mut out = vec![
            Check::of(
                "R-hat, largest of all fits",
                self.worst_r_hat < 1.05,
                format!("{:.4} of {} fits", self.worst_r_hat, self.fits),
                "< 1.05",
            ),
            Check::of(
                "divergences",
                share < 0.01,
                format!("{} of {}", self.divergences, self.draws),
                "< 1 %",
            ),
        ];
        let percent = |x: f64| 100.0 * x;
        let inside = |name: String, p: f64, n: f64| {
            let slack = slack(0.9, n);
            Check::of(
                &name,
                (p - 0.9).abs() < slack,
                format!("{:.1} % of {n}", percent(p)),
                &format!("90 % ± {:.1}", percent(slack)),
            )
        };
        for (name, tally) in self.named(&self.subjects) {
            let name = format!("{name} of subjects in 90 % intervals");
            out.push(inside(name, tally.share(1), tally.n));
        }
        let (p, n) = sum(&self.subjects);
        out.push(inside("subject values in 90 % intervals".into(), p, n));
        let (p, n) = sum(&self.groups);
        let least = 0.89 - slack(0.89, n);
        out.push(Check::of(
            "group medians in 89 % intervals",
            p > least,
            format!("{:.1} % of {n}", percent(p)),
            &format!("> {:.1} %", percent(least)),
        ));
        for (name, tally) in self.named(&self.groups) {
            let either = tally.near.max(tally.inside[1]) / tally.n;
            let state = if either >= 0.5 {
                State::Pass
            } else {
                State::Finding
            };
            let (near, inside) = (tally.near / tally.n, tally.share(1));
            let found = format!("{:.0} %, {:.0} %", percent(near), percent(inside));
            let name = format!("mu_{name} within 10 %, in its 89 % interval");
            out.push(Check::new(&name, state, found, "half of the fits"));
        }
        out
    }

    /// Shares, bias, root mean square error and correlation of every parameter, of logarithms or
    /// probits.
    pub fn json(&self) -> Value {
        let table = |tallies: &[Tally]| -> Value {
            let rows = self.named(tallies);
            rows.map(|(name, t)| (name.to_string(), t.json()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        json!({"fits": self.fits, "subjects": table(&self.subjects), "groups": table(&self.groups)})
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simulate::ndtri;
    use fitzroy::rng::{Purpose, Rng};

    /// Estimates that err by as much as they say, and by twice as much. Bound: 4 standard errors of
    /// 2,000 independent values. Catches: an interval of another width, truth and estimate swapped.
    #[test]
    fn honest_intervals_hold_the_truth_and_narrow_ones_do_not() {
        for (error, expected) in [(0.1, 0.9), (0.2, 0.589)] {
            let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
            let mut tally = Tally::default();
            for _ in 0..2000 {
                let truth = 1.0 + rng.uniform();
                let centre = truth + error * rng.normal();
                let at = |k: u32| centre + 0.1 * ndtri((f64::from(k) + 0.5) / 200.0);
                let draws: Vec<f64> = (0..200).map(at).collect();
                tally.add(truth, &draws, eti(&draws, 0.9), |x| x);
            }
            let share = tally.share(1);
            assert!((share - expected).abs() < 0.045, "{error}: {share}");
            assert!((tally.square / tally.n).sqrt() > 0.9 * error);
            assert!(tally.correlation() > 0.75 && tally.correlation() < 0.97);
        }
    }
}
