//! Scores by season of the initial time, and what they have in common with those of other parts.

use super::bootstrap::Bootstrap;
use super::found::Evaluation;
use super::scores::Series;

/// Names of the seasons, by months.
const NAMES: [&str; 4] = ["DJF", "MAM", "JJA", "SON"];

/// Errors of a part of the forecasts: a season, or a part of the region.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is called: a season by its months.
    pub name: String,
    /// Initial times of a season, points of a part of the region.
    pub count: usize,
    /// Method by method, lead by lead, channel by channel: root mean square error.
    pub rmse: Vec<Vec<Vec<f64>>>,
    /// Likewise the intervals of these; empty of a part of the region.
    pub intervals: Vec<Vec<Vec<Option<[f64; 2]>>>>,
    /// Method by method, lead by lead: the interval of [`Part::ratio`]; empty of a part of the region.
    pub ratios: Vec<Vec<Option<[f64; 2]>>>,
}

impl Part {
    /// Interval of [`Part::ratio`], where there is one.
    pub fn ratio_interval(&self, method: usize, lead: usize) -> Option<[f64; 2]> {
        *self.ratios.get(method)?.get(lead)?
    }

    /// Geometric mean over channels of the model's error over that of a method at a lead; over those of
    /// which a truth is known.
    pub fn ratio(&self, method: usize, lead: usize) -> f64 {
        let pairs = self.rmse[0][lead].iter().zip(&self.rmse[method][lead]);
        let known = pairs.filter(|(own, theirs)| !own.is_nan() || !theirs.is_nan());
        let logs = known.fold((0.0, 0.0), |(sum, n), (own, theirs)| {
            (sum + (own / theirs).ln(), n + 1.0)
        });
        (logs.0 / logs.1).exp()
    }
}

/// The seasons that the initial times fall into; none where it is one alone.
pub fn seasons(found: &Evaluation) -> Vec<Part> {
    let of = |k: usize| (found.starts[k].month() % 12 / 3) as usize;
    let season = |number: usize| {
        let own: Vec<usize> = (0..found.starts.len())
            .filter(|&k| of(k) == number)
            .collect();
        let mean = |s: &Series| {
            let known = own.iter().filter(|k| !s.is_missing(**k));
            let sum = known.fold((0.0, 0.0), |(sum, n), &k| (sum + s.squares[k], n + 1.0));
            (sum.0 / sum.1).sqrt()
        };
        let methods = found.methods.iter().map(|method| {
            let lead = |lead: &Vec<Series>| lead.iter().map(mean).collect();
            method.series.iter().map(lead).collect()
        });
        let rmse = methods.collect();
        let (intervals, ratios) = intervals(found, &own);
        Part {
            name: NAMES[number].into(),
            count: own.len(),
            rmse,
            intervals,
            ratios,
        }
    };
    let all: Vec<Part> = (0..4).map(season).filter(|s| s.count > 0).collect();
    if all.len() < 2 { Vec::new() } else { all }
}

/// Intervals of the errors of some of the initial times, by method, lead and channel.
type OfErrors = Vec<Vec<Vec<Option<[f64; 2]>>>>;
/// Intervals of ratios of errors, by method and lead.
type OfRatios = Vec<Vec<Option<[f64; 2]>>>;

/// Intervals of the initial times `own` alone.
fn intervals(found: &Evaluation, own: &[usize]) -> (OfErrors, OfRatios) {
    let part = |s: &Series| -> (Vec<f64>, Vec<usize>) {
        let missing = (0..own.len()).filter(|&k| s.is_missing(own[k]));
        let squares = own.iter().map(|&k| s.squares[k]);
        (squares.collect(), missing.collect())
    };
    let leads = found.methods[0].series.len();
    let draws = (0..leads).map(|lead| {
        let hours = (lead + 1) as f64 * found.step_hours;
        Bootstrap::new(found, own.len(), hours)
    });
    let draws: Vec<Option<Bootstrap>> = draws.collect();
    let error = |draws: &Option<Bootstrap>, series: &Series| {
        let (squares, missing) = part(series);
        let draws = draws.as_ref()?;
        draws.interval((&squares, &missing), f64::sqrt)
    };
    let ratio = |method: usize, lead: usize| {
        let of = |m: usize| found.methods[m].series[lead].iter().map(part);
        let pairs = of(0).zip(of(method));
        let known = pairs.filter(|((squares, missing), _)| missing.len() < squares.len());
        let pairs = known.map(|((model, missing), (theirs, _))| ([model, theirs], missing));
        let draws = draws[lead].as_ref().filter(|_| method > 0)?;
        draws.mean_ratio(&pairs.collect::<Vec<_>>())
    };
    let errors = found.methods.iter().map(|method| {
        let leads = method.series.iter().zip(&draws);
        let lead = |(channels, draws): (&Vec<Series>, &Option<Bootstrap>)| {
            channels.iter().map(|s| error(draws, s)).collect()
        };
        leads.map(lead).collect()
    });
    let ratios = |m: usize| (0..leads).map(|lead| ratio(m, lead)).collect();
    (
        errors.collect(),
        (0..found.methods.len()).map(ratios).collect(),
    )
}
