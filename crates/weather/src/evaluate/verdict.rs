//! Whether a model is ahead of what it is compared with, by more than chance.
//!
//! Every initial time gives a pair of errors, and errors of neighbouring times are alike. So the
//! initial times are cut into blocks in the order of time, none shorter than the lead or than a
//! day, at most [`BLOCKS_MAX`]; the blocks count as independent. For a block the number is
//!
//! d = mean over variables of ½ ln(mean square error of the other / that of the model),
//!
//! less 0.005: the logarithm of the ratio of root mean square errors beyond half a percent, for a
//! network that has hardly moved from its start can be ahead by next to nothing, and always. Variables of any unit weigh alike, and
//! a rival that explodes weighs no more than one number. If the model had no advantage, d would
//! be as likely below 0 as above it by the same amount, in each block for itself; the share of the
//! 2^blocks choices of signs whose sum is at least the one found is the chance of it. One such
//! test is made for each rival and lead, and all of them must hold, so that no correction for
//! their number is due (an intersection-union test has the size of a single one).
//!
//! Sources: Diebold and Mariano 1995 (paired losses of forecasts); Ibragimov and Müller 2010, and
//! Canay, Romano and Shaikh 2017 (blocks of dependent data, changes of sign); Berger 1982.

use super::found::Evaluation;
use fitzroy::Named;

/// The largest chance with which an advantage counts. Neighbouring blocks are not quite
/// independent: with errors alike for two days and blocks of a week a model without an advantage is
/// called ahead in less than 5 % of cases, which a test holds.
pub(super) const LEVEL: f64 = 0.025;
/// Blocks of initial times, at most.
const BLOCKS_MAX: usize = 8;
/// Blocks with which something can be found: 2^−6 is below [`LEVEL`].
const BLOCKS_MIN: usize = 6;
/// Hours to which a model is judged, and its first lead in any case.
pub(super) const HOURS: f64 = 48.0;
/// Hours of a block, at least: a day repeats itself.
const BLOCK_HOURS: f64 = 24.0;
/// What a model must be ahead of, where it is scored.
pub(super) const RIVALS: [&str; 3] = ["persistence", "start", "linear"];
/// An advantage must be larger than this, as ln of a ratio of RMSE: half a percent.
const MARGIN: f64 = 0.005;
/// A ratio of errors above this counts as this, either way: of one variable in one block, as rain in a
/// dry week, of which persistence is never wrong.
const RATIO_MAX: f64 = 10.0;

/// A model beside one rival at one lead.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the rival's method.
    pub rival: &'static str,
    /// Hours ahead.
    pub lead_hours: f64,
    /// Geometric mean over variables of RMSE over the rival's.
    pub ratio: f64,
    /// Chance of such an advantage without one; none where the times are too few to tell.
    pub chance: Option<f64>,
    /// Blocks of initial times.
    pub n_blocks: usize,
    /// Variables whose RMSE is below the rival's, and variables.
    pub ahead: (usize, usize),
}

impl Comparison {
    /// Ahead in the mean over variables by more than chance, and on every variable.
    pub fn holds(&self) -> bool {
        self.beyond_chance() && self.ahead.0 == self.ahead.1
    }

    /// Ahead in the mean over variables by more than chance.
    pub fn beyond_chance(&self) -> bool {
        self.chance.is_some_and(|chance| chance <= LEVEL)
    }
}

/// Whether a lead is judged: to 48 hours, and the first in any case.
pub fn judged(lead: usize, step_hours: f64) -> bool {
    lead == 0 || (lead + 1) as f64 * step_hours <= HOURS
}

/// ½ ln(theirs / own), held within bounds; 0 where both are 0 or neither is finite.
fn log_ratio(theirs: f64, own: f64) -> f64 {
    let most = RATIO_MAX.ln();
    match (theirs.is_finite(), own.is_finite()) {
        (false, false) => 0.0,
        (false, true) => most,
        (true, false) => -most,
        (true, true) if theirs == own => 0.0,
        (true, true) => (0.5 * (theirs / own).ln()).clamp(-most, most),
    }
}

/// Blocks of `n` initial times over `span_hours` for forecasts of `lead_hours`.
pub(super) fn n_blocks(n: usize, span_hours: f64, lead_hours: f64) -> usize {
    let room = (span_hours / lead_hours.max(BLOCK_HOURS)).floor() as usize;
    room.min(n).clamp(1, BLOCKS_MAX)
}

/// Share of the choices of signs of `d` whose sum is at least that of `d`.
pub(super) fn chance(d: &[f64]) -> f64 {
    let found: f64 = d.iter().sum();
    // Sums that differ by rounding alone are equal.
    let slack = 1e-12 * d.iter().map(|x| x.abs()).sum::<f64>();
    let all = 1_u32 << d.len();
    let reached = (0..all).filter(|signs| {
        let sum: f64 = (d.iter().enumerate())
            .map(|(k, x)| if signs >> k & 1 == 1 { -x } else { *x })
            .sum();
        sum >= found - slack
    });
    reached.count() as f64 / f64::from(all)
}

/// Where the model stands beside a rival, of one variable at one lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Ahead by more than chance.
    Ahead,
    /// No difference beyond chance.
    Level,
    /// Behind by more than chance.
    Behind,
    /// The initial times are too few to tell.
    Unknown,
}

impl Named for Standing {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ahead", Standing::Ahead),
        ("level", Standing::Level),
        ("behind", Standing::Behind),
        ("unknown", Standing::Unknown),
    ];
}

/// Where the model stands beside `rival`, by the test of the module for one variable alone, made
/// either way.
pub(super) fn standing(found: &Evaluation, rival: usize, lead: usize, channel: usize) -> Standing {
    let lead_hours = (lead + 1) as f64 * found.step_hours;
    let blocks = n_blocks(found.n_starts, found.span_hours(), lead_hours);
    if blocks < BLOCKS_MIN {
        return Standing::Unknown;
    }
    let of = |method: usize, k: usize| {
        let block = k * found.n_starts / blocks..(k + 1) * found.n_starts / blocks;
        let squares = &found.methods[method].series[lead][channel].squares;
        squares[block].iter().sum::<f64>()
    };
    let d: Vec<f64> = (0..blocks)
        .map(|k| log_ratio(of(rival, k), of(0, k)))
        .collect();
    let clear = |sign: f64| {
        let d: Vec<f64> = d.iter().map(|x| sign * x - MARGIN).collect();
        chance(&d) <= LEVEL
    };
    match (clear(1.0), clear(-1.0)) {
        (true, _) => Standing::Ahead,
        (_, true) => Standing::Behind,
        _ => Standing::Level,
    }
}

/// The model beside every method in `names`, at every judged lead.
pub(super) fn comparisons(found: &Evaluation, names: &[&'static str]) -> Vec<Comparison> {
    let own = &found.methods[0];
    let mut all = Vec::new();
    for rival in found.methods[1..]
        .iter()
        .filter(|m| names.contains(&m.method))
    {
        for lead in 0..own.scores.len() {
            if !judged(lead, found.step_hours) {
                continue;
            }
            let lead_hours = (lead + 1) as f64 * found.step_hours;
            let channels = own.scores[lead].len();
            let pairs = || own.scores[lead].iter().zip(&rival.scores[lead]);
            let ahead = pairs().filter(|(a, b)| below(a.rmse, b.rmse)).count();
            let logs: f64 = pairs().map(|(a, b)| 2.0 * log_ratio(b.rmse, a.rmse)).sum();
            let blocks = n_blocks(found.n_starts, found.span_hours(), lead_hours);
            let block = |k: usize| k * found.n_starts / blocks..(k + 1) * found.n_starts / blocks;
            let mean = |errors: &[f64], k: usize| errors[block(k)].iter().sum::<f64>();
            let d = (0..blocks).map(|k| {
                let ratios = own.series[lead].iter().zip(&rival.series[lead]);
                let ratios = ratios.map(|(a, b)| (&a.squares, &b.squares));
                let sum: f64 = ratios.map(|(a, b)| log_ratio(mean(b, k), mean(a, k))).sum();
                sum / channels as f64 - MARGIN
            });
            let d: Vec<f64> = d.collect();
            all.push(Comparison {
                rival: rival.method,
                lead_hours,
                ratio: (-logs / channels as f64).exp(),
                chance: (blocks >= BLOCKS_MIN).then(|| chance(&d)),
                n_blocks: blocks,
                ahead: (ahead, channels),
            });
        }
    }
    all
}

/// Whether an error is below a rival's; one that is not finite is above all.
pub(super) fn below(own: f64, theirs: f64) -> bool {
    own.is_finite() && (own < theirs || !theirs.is_finite())
}
