//! Scores by season of the initial time.

use super::found::Evaluation;

/// Names of the seasons, by months.
const NAMES: [&str; 4] = ["DJF", "MAM", "JJA", "SON"];

/// Errors of a season.
#[derive(Clone, Debug, PartialEq)]
pub struct Season {
    /// Its months.
    pub name: &'static str,
    /// Initial times in it.
    pub n_starts: usize,
    /// Method by method, lead by lead, channel by channel: root mean square error.
    pub rmse: Vec<Vec<Vec<f64>>>,
}

impl Season {
    /// Geometric mean over channels of the model's error over that of a method at a lead.
    pub fn ratio(&self, method: usize, lead: usize) -> f64 {
        let pairs = self.rmse[0][lead].iter().zip(&self.rmse[method][lead]);
        let logs: f64 = pairs.map(|(own, theirs)| (own / theirs).ln()).sum();
        (logs / self.rmse[0][lead].len() as f64).exp()
    }
}

/// The seasons that the initial times fall into; none where it is one alone.
pub fn seasons(found: &Evaluation) -> Vec<Season> {
    let of = |k: usize| (found.starts[k].month() % 12 / 3) as usize;
    let season = |number: usize| {
        let own: Vec<usize> = (0..found.starts.len())
            .filter(|&k| of(k) == number)
            .collect();
        let mean = |squares: &[f64]| {
            let sum: f64 = own.iter().map(|&k| squares[k]).sum();
            (sum / own.len() as f64).sqrt()
        };
        let methods = found.methods.iter().map(|method| {
            let lead = |lead: &Vec<super::Series>| lead.iter().map(|s| mean(&s.squares)).collect();
            method.series.iter().map(lead).collect()
        });
        Season {
            name: NAMES[number],
            n_starts: own.len(),
            rmse: methods.collect(),
        }
    };
    let all: Vec<Season> = (0..4).map(season).filter(|s| s.n_starts > 0).collect();
    if all.len() < 2 { Vec::new() } else { all }
}
