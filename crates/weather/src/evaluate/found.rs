//! What an evaluation found.

use super::scores::{Score, Series};
use super::seasons::Part;
use super::spatial::Spatial;
use super::verdict::{
    Comparison, HOURS, LEVEL, RIVALS, Standing, below, comparisons, judged, standing,
};
use crate::data::Channel;
use crate::time::Time;

/// Scores of one method.
#[derive(Clone, Debug)]
pub struct Scored {
    /// `model` (of an ensemble the mean), `persistence`, `climatology`, `start` (what the network
    /// corrects, without the network), `linear` (a ridge regression whose penalty the validation
    /// records chose), `forecast` (of others), or `member` (the first of an ensemble).
    pub method: &'static str,
    /// Lead by lead, channel by channel.
    pub scores: Vec<Vec<Score>>,
    /// Lead by lead, channel by channel: the numbers of every forecast, in the order of time.
    pub series: Vec<Vec<Series>>,
}

/// All scores, and the last forecast for maps.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Channels, as scored.
    pub channels: Vec<Channel>,
    /// Hours from one lead to the next.
    pub step_hours: f64,
    /// Initial times.
    pub n_starts: usize,
    /// The same, in their order.
    pub starts: Vec<Time>,
    /// Members of the ensemble that is the model; 1 if it is none.
    pub n_members: usize,
    /// Parts of the region that were scored by themselves.
    pub areas: Vec<Part>,
    /// Rain in its place, spectra, and where the errors of the model are.
    pub spatial: Spatial,
    /// First and last initial time.
    pub span: (Time, Time),
    /// The model first.
    pub methods: Vec<Scored>,
    /// Hours of each lead of the maps, with truth and forecast of all channels (node, channel),
    /// in the channels' units, from the first initial time.
    pub maps: Vec<(f64, Vec<f64>, Vec<f64>)>,
    /// Latitudes of the maps; those of all points where the grid is curved.
    pub lat: Vec<f64>,
    /// Longitudes of the maps, likewise.
    pub lon: Vec<f64>,
    /// Rows and columns of a projected or curvilinear grid.
    pub curved: Option<(usize, usize)>,
    /// Channels of the maps, scored or not.
    pub n_channels: usize,
    /// Penalty of the ridge regression at each lead; empty where it was not fitted.
    pub penalties: Vec<f64>,
    /// What could not be scored, and why.
    pub notes: Vec<String>,
    /// By scored channel, its place among those of the maps.
    pub places: Vec<usize>,
}

impl Evaluation {
    /// Hours from the first to the last initial time.
    pub(super) fn span_hours(&self) -> f64 {
        (self.span.1.0 - self.span.0.0) as f64 / 3600.0
    }

    /// True where the model was scored beside others.
    pub fn compared(&self) -> bool {
        self.methods.len() > 1
    }

    /// The model beside what it must be ahead of, at every lead to 48 hours.
    pub fn comparisons(&self) -> Vec<Comparison> {
        comparisons(self, &RIVALS)
    }

    /// The same, and beside the forecasts of others.
    pub fn shown(&self) -> Vec<Comparison> {
        let mut all = self.comparisons();
        all.extend(self.beside("forecast"));
        all
    }

    /// The model beside a method, at every lead to 48 hours.
    pub fn beside(&self, method: &'static str) -> Vec<Comparison> {
        comparisons(self, &[method])
    }

    /// Where the model stands beside a method, of one variable at one lead.
    pub fn standing(&self, method: usize, lead: usize, channel: usize) -> Standing {
        standing(self, method, lead, channel)
    }

    /// Variables and leads at which the model is ahead of, level with and behind a method by more
    /// than chance, and at which that cannot be told.
    pub fn standings(&self, method: usize) -> [usize; 4] {
        let mut counts = [0; 4];
        for lead in 0..self.methods[0].scores.len() {
            for channel in 0..self.channels.len() {
                counts[self.standing(method, lead, channel) as usize] += 1;
            }
        }
        counts
    }

    /// Whether a number of the table is below the model's although it should not be.
    pub fn is_behind(&self, method: usize, lead: usize, channel: usize) -> bool {
        let rmse = |m: usize| self.methods[m].scores[lead][channel].rmse;
        method > 0 && judged(lead, self.step_hours) && !below(rmse(0), rmse(method))
    }

    /// True if the model is ahead of persistence, of its own start and of the ridge regression at
    /// every lead to 48 hours: on every variable, and in the mean over them by more than chance.
    pub fn passed(&self) -> bool {
        self.compared() && self.failures().is_empty()
    }

    /// Channels and leads at which the model is not below a rival, and leads at which its
    /// advantage may be chance; in words.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (k, channel) in self.channels.iter().enumerate() {
            for lead in 0..self.methods[0].scores.len() {
                for (m, method) in self.methods.iter().enumerate().skip(1) {
                    if !RIVALS.contains(&method.method) || !self.is_behind(m, lead, k) {
                        continue;
                    }
                    let rmse = |m: usize| self.methods[m].scores[lead][k].rmse;
                    let (own, theirs) = apart(rmse(0), rmse(m));
                    failures.push(format!(
                        "{}, {} h: RMSE {own} is not below {}'s {theirs}",
                        channel.label(),
                        (lead + 1) as f64 * self.step_hours,
                        method.method,
                    ));
                }
            }
        }
        failures.extend(self.comparisons().iter().filter_map(doubt));
        failures
    }

    /// Variables and leads to 48 hours at which climatology is the better forecast.
    pub fn behind_climatology(&self) -> (usize, usize) {
        let all = self.beside("climatology");
        let sum = |f: fn(&Comparison) -> usize| all.iter().map(f).sum::<usize>();
        (sum(|c| c.ahead.1 - c.ahead.0), sum(|c| c.ahead.1))
    }
}

/// Why an advantage may be chance.
fn doubt(comparison: &Comparison) -> Option<String> {
    if comparison.beyond_chance() {
        return None;
    }
    let Comparison {
        rival,
        lead_hours,
        ratio,
        chance,
        n_blocks,
        ..
    } = comparison;
    Some(match chance {
        None => format!(
            "all variables, {lead_hours} h: the initial times make {n_blocks} blocks of a day or \
             more, too few to tell an advantage over {rival} from chance (RMSE ratio {ratio:.3}); \
             score a longer time"
        ),
        Some(chance) => format!(
            "all variables, {lead_hours} h: no advantage over {rival} beyond chance (RMSE ratio \
             {ratio:.3}, chance {chance:.3}; needed are half a percent and {LEVEL})"
        ),
    })
}

/// What is asked for, in words.
pub fn asked() -> String {
    format!(
        "Asked for: a smaller error than persistence, than the start of training and than the \
         tuned linear model at every lead to {HOURS} hours, on every variable, and in the mean \
         over variables by half a percent and by more than chance ({LEVEL})."
    )
}

/// Two numbers with as many digits as it takes to tell them apart, up to nine.
fn apart(a: f64, b: f64) -> (String, String) {
    let shown = |n: usize| (format!("{a:.n$}"), format!("{b:.n$}"));
    let mut all = (4..=9).map(shown);
    let found = all.clone().find(|(a, b)| a != b);
    found.or_else(|| all.next()).unwrap_or_default()
}
