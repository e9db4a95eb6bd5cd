//! One function per kind of figure: plain data in, a scene out.

mod autocorr;
mod bars;
mod chart;
mod energy;
mod ess;
mod forest;
mod heat;
mod khat;
mod look;
mod pair;
mod parallel;
mod pit;
mod posterior;
mod predictive;
mod rank;
mod trace;

pub use autocorr::autocorrelation_figure;
pub use bars::{Bar, bar_figure};
pub use chart::{Chart, Layer, charts, stacked};
pub use energy::energy_figure;
pub use ess::ess_figure;
pub use forest::{ForestColumn, ForestRow, forest_figure};
pub use heat::{Heat, Tint, heat_figure, tint_of};
pub use khat::khat_figure;
pub use pair::pair_figure;
pub use parallel::parallel_figure;
pub use pit::pit_figure;
pub use posterior::{Posterior, posterior_figure};
pub use predictive::{Predictive, predictive_figure};
pub use rank::rank_figure;
pub use trace::trace_figure;

use fitzroy::diagnose::Interval;

/// The draws of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, with labels of its element: `theta[Choate]`.
    pub label: String,
    /// Draws of each chain, equally many.
    pub chains: Vec<Vec<f64>>,
}

impl Series {
    /// All draws, chain after chain.
    pub fn pooled(&self) -> Vec<f64> {
        self.chains.concat()
    }

    /// Draws of a chain.
    pub fn n_draws(&self) -> usize {
        self.chains.first().map_or(0, Vec::len)
    }
}

/// What figures of draws need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// The numbers to show, in their order.
    pub series: Vec<Series>,
    /// Names of the chains: "chain 0", ...
    pub chain_names: Vec<String>,
    /// By chain, the draws whose trajectory diverged; empty where the trace does not tell.
    pub divergent: Vec<Vec<usize>>,
    /// How many further numbers there are that are not shown.
    pub left_out: usize,
}

impl Draws {
    /// Values of a series where trajectories diverged.
    fn at_divergences(&self, series: &Series) -> Vec<f64> {
        let chains = self.divergent.iter().zip(&series.chains);
        let values = chains.flat_map(|(at, draws)| at.iter().filter_map(|&d| draws.get(d)));
        values.copied().collect()
    }

    /// How many trajectories diverged.
    fn n_divergent(&self) -> usize {
        self.divergent.iter().map(Vec::len).sum()
    }
}

/// How figures look.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Width in pixels; 1100 by default.
    pub width: f64,
    /// Probability inside intervals; 0.89 by default.
    pub ci_prob: f64,
    /// Kind of intervals; highest density by default.
    pub ci_kind: Interval,
    /// Whether paths carry the attributes that scripts of a page look for.
    pub live: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            width: 1100.0,
            ci_prob: 0.89,
            ci_kind: Interval::Hdi,
            live: false,
        }
    }
}

impl Style {
    /// `89 % HDI`.
    fn interval_name(&self) -> String {
        format!("{} % {}", said(100.0 * self.ci_prob), self.ci_kind.label())
    }

    /// Ends of the interval of `draws`; NaN when one is NaN.
    fn interval(&self, draws: &[f64]) -> (f64, f64) {
        match self.ci_kind {
            Interval::Hdi => fitzroy::diagnose::hdi(draws, self.ci_prob),
            Interval::Eti => fitzroy::diagnose::eti(draws, self.ci_prob),
        }
    }
}

/// A number with about three significant digits.
pub fn said(value: f64) -> String {
    use crate::draw::shown;
    let size = value.abs();
    if !value.is_finite() || value == 0.0 {
        return shown(value, 0);
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{size:.2e}");
        let (mantissa, exponent) = text.split_once('e').expect("an exponent was asked for");
        let sign = if value < 0.0 { "−" } else { "" };
        let raised = exponent
            .parse()
            .map_or(String::new(), crate::draw::superscript);
        return format!("{sign}{mantissa}×10{raised}");
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    let text = shown(value, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// `1,234`.
pub fn count(n: usize) -> String {
    let text = n.to_string();
    let mut out = String::new();
    for (i, digit) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Why draws have no density, in words; nothing when they have.
fn no_density(draws: &[f64]) -> Option<String> {
    let bad = draws.iter().filter(|v| !v.is_finite()).count();
    if draws.is_empty() {
        return Some("no draws".into());
    }
    if bad > 0 {
        let all = count(draws.len());
        return Some(format!("{} of {all} draws are NaN or infinite", count(bad)));
    }
    if draws.len() == 1 {
        return Some(format!("a single draw, {}", said(draws[0])));
    }
    let constant = draws.iter().all(|v| *v == draws[0]);
    constant.then(|| format!("always {}", said(draws[0])))
}
