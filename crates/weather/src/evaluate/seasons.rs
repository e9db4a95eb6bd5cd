//! Scores by season of the initial time, and what they have in common with those of other parts.

use super::found::Evaluation;

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
}

impl Part {
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
        let mean = |s: &super::Series| {
            let known = own.iter().filter(|k| !s.is_missing(**k));
            let sum = known.fold((0.0, 0.0), |(sum, n), &k| (sum + s.squares[k], n + 1.0));
            (sum.0 / sum.1).sqrt()
        };
        let methods = found.methods.iter().map(|method| {
            let lead = |lead: &Vec<super::Series>| lead.iter().map(mean).collect();
            method.series.iter().map(lead).collect()
        });
        Part {
            name: NAMES[number].into(),
            count: own.len(),
            rmse: methods.collect(),
        }
    };
    let all: Vec<Part> = (0..4).map(season).filter(|s| s.count > 0).collect();
    if all.len() < 2 { Vec::new() } else { all }
}
