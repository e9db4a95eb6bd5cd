//! The stop-signal reaction time without a model: the integration method, with omissions on go trials
//! replaced (Verbruggen and others, eLife 8, e46323, 2019).

use crate::data::{Row, Study};
use fitzroy::diagnose::{mean, sd};
use serde_json::{Value, json};

/// One subject by the integration method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integrated {
    /// Share of stop trials with a response.
    pub p_respond: f64,
    /// Mean delay of the stop trials, seconds.
    pub mean_ssd: f64,
    /// The time by which that share of go responses was given, seconds.
    pub nth_rt: f64,
    /// `nth_rt` − `mean_ssd`, seconds.
    pub ssrt: f64,
}

/// The quantile of ascending numbers at (n + 1) p, between neighbours in proportion (Hyndman and Fan's
/// sixth, as the published analyses take it).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    let place = ((n + 1) as f64 * p).clamp(1.0, n as f64);
    let low = (place.floor() as usize).min(n - 1).max(1);
    let (a, b) = (sorted[low - 1], sorted[low.min(n - 1)]);
    a + (place - low as f64) * (b - a)
}

/// Of the trials of one subject. Go trials without a response count as long as the longest response;
/// right and wrong responses count alike.
///
/// None where no stop trial or every stop trial has a response, or no go trial has one: there is then
/// no such time.
pub fn integrated<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<Integrated> {
    let (mut go, mut missed) = (Vec::new(), 0);
    let (mut delays, mut responded) = (Vec::new(), 0);
    for row in rows {
        let answered = row.trial.response != 0;
        if row.is_stop() {
            delays.push(row.trial.ssd);
            responded += usize::from(answered);
        } else if answered {
            go.push(row.trial.rt);
        } else {
            missed += 1;
        }
    }
    go.sort_by(f64::total_cmp);
    let longest = *go.last()?;
    go.extend(std::iter::repeat_n(longest, missed));
    if responded == 0 || responded == delays.len() {
        return None;
    }
    let p_respond = responded as f64 / delays.len() as f64;
    let (mean_ssd, nth_rt) = (mean(&delays), quantile(&go, p_respond));
    Some(Integrated {
        p_respond,
        mean_ssd,
        nth_rt,
        ssrt: nth_rt - mean_ssd,
    })
}

/// Of every subject of a study, in its order.
pub fn of_study(study: &Study) -> Vec<Option<Integrated>> {
    let mut rows: Vec<Vec<&Row>> = vec![Vec::new(); study.subjects.len()];
    for row in &study.rows {
        rows[row.subject].push(row);
    }
    rows.into_iter()
        .map(|r| integrated(r.into_iter()))
        .collect()
}

impl Integrated {
    /// For a report.
    pub fn json(&self) -> Value {
        json!({"ssrt": self.ssrt, "p_respond": self.p_respond, "mean_ssd": self.mean_ssd,
               "nth_rt": self.nth_rt})
    }
}

/// The mean and the standard deviation over subjects in a sentence, if there are stop trials.
pub fn sentence(study: &Study) -> Option<String> {
    let all = of_study(study);
    let known: Vec<f64> = all.iter().flatten().map(|i| i.ssrt).collect();
    let n = study.subjects.len();
    match known.len() {
        0 => None,
        1 => Some(format!(
            "ssrt without a model (integration)  {:.3} s",
            known[0]
        )),
        k => {
            let rest = match n - k {
                0 => String::new(),
                m => format!(", {m} more without one"),
            };
            let (mean, sd) = (mean(&known), sd(&known));
            Some(format!(
                "ssrt without a model (integration)  mean {mean:.3} s, sd {sd:.3} s over {k} subjects{rest}"
            ))
        }
    }
}
