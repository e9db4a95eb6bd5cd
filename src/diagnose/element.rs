//! Every summary number of one scalar, from one sort.

use super::chains::{Chains, mean, sd};
use super::ess::{TailEss, ess_bulk, ess_tail};
use super::interval::Interval;
use super::mcse::{mcse_mean, mcse_sd};
use super::ranks::{Ordered, Scores};
use super::rhat::{nested_of_scores, rhat_of_scores};
use super::tails::heaviest;

/// The numbers of one row of a summary. Locations and errors are in the units of the scalar,
/// effective sample sizes in draws, R-hat is dimensionless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementStatistics {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, divisor S − 1.
    pub sd: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse_mean: f64,
    /// Monte Carlo standard error of the standard deviation.
    pub mcse_sd: f64,
    /// Effective sample size of the bulk.
    pub ess_bulk: f64,
    /// Effective sample size of the tails.
    pub ess_tail: f64,
    /// Rank-normalised split R-hat.
    pub r_hat: f64,
    /// Nested R-hat of 16 superchains, from 256 chains on; NaN for fewer.
    pub r_hat_nested: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Median.
    pub median: f64,
    /// Shape k of a generalized Pareto distribution fitted to the heavier tail: moments of order
    /// 1/k and above do not exist. NaN where no draw lies more than 5 sd from the mean.
    pub pareto_k: f64,
}

/// Which interval and which tails a summary shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticsOptions {
    /// Probability inside the interval, between 0 and 1; 0.89 by default.
    pub ci_prob: f64,
    /// Which interval; highest density by default.
    pub ci_kind: Interval,
    /// Which quantiles the tail ESS looks at; .05 and .95 by default.
    pub ess_tail: TailEss,
}

impl Default for StatisticsOptions {
    fn default() -> Self {
        StatisticsOptions {
            ci_prob: 0.89,
            ci_kind: Interval::Hdi,
            ess_tail: TailEss::Classic,
        }
    }
}

/// Summarises the draws `x`.
///
/// `scores` must be those of the shape of `x` ([`Scores::of`]); they are shared by all scalars of a
/// trace. Any NaN makes every number NaN; fewer than four draws leave mean, sd, median and
/// interval.
#[track_caller]
pub fn element_statistics(
    x: Chains,
    scores: &Scores,
    options: StatisticsOptions,
) -> ElementStatistics {
    assert!(scores.fits(&x), "scores of another shape");
    let mut out = ElementStatistics {
        mean: mean(x.values()),
        sd: sd(x.values()),
        mcse_mean: f64::NAN,
        mcse_sd: f64::NAN,
        ess_bulk: f64::NAN,
        ess_tail: f64::NAN,
        r_hat: f64::NAN,
        r_hat_nested: f64::NAN,
        lower: f64::NAN,
        upper: f64::NAN,
        median: f64::NAN,
        pareto_k: f64::NAN,
    };
    if x.values().iter().any(|v| v.is_nan()) {
        return out;
    }
    let draws = Ordered::new(x);
    out.median = draws.quantile(0.5);
    (out.lower, out.upper) = options.ci_kind.of_sorted(&draws.sorted, options.ci_prob);
    if !x.usable() {
        return out;
    }
    out.pareto_k = heaviest(&draws.sorted, out.mean, out.sd);
    out.mcse_mean = mcse_mean(&x);
    out.mcse_sd = mcse_sd(&x);
    let z = draws.scores(scores);
    out.ess_bulk = ess_bulk(&z, &x);
    out.ess_tail = ess_tail(&draws, options.ess_tail);
    if x.n_chains() > 1 {
        out.r_hat = rhat_of_scores(&z, &draws, scores);
        out.r_hat_nested = nested_of_scores(&z, &draws, scores);
    }
    out
}

impl ElementStatistics {
    /// The R-hat that the verdict goes by: that of superchains where there are any, for chains that
    /// are many may be short, and the classic one asks for long ones.
    pub fn judged_r_hat(&self) -> f64 {
        match self.r_hat_nested.is_nan() {
            true => self.r_hat,
            false => self.r_hat_nested,
        }
    }
}
