//! Subjects that are left out of a study by rules on what they did.

use crate::data::{Counts, Row, Study};
use serde_json::{Value, json};

/// Rules on subjects; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Least share of right ones among the responses on go trials.
    pub min_accuracy: Option<f64>,
    /// Largest share of go trials without a response.
    pub max_omissions: Option<f64>,
    /// Least and largest share of stop trials with a response.
    pub stop_responses: Option<(f64, f64)>,
    /// Whether responses on stop trials must be faster than those on go trials in the mean, as a race
    /// between independent processes makes them.
    pub race: bool,
    /// Least number of go trials.
    pub min_go: Option<usize>,
    /// Least number of stop trials.
    pub min_stop: Option<usize>,
}

/// A subject that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Excluded {
    /// Its name.
    pub subject: String,
    /// The rule, in words.
    pub rule: String,
    /// What was found.
    pub found: String,
}

impl Excluded {
    /// As a part of a report.
    pub fn json(&self) -> Value {
        json!({"subject": self.subject, "rule": self.rule, "found": self.found})
    }
}

/// Mean RT of responses on go trials and on stop trials, by subject.
fn mean_rts(study: &Study) -> Vec<[f64; 2]> {
    let mut sums = vec![[(0.0, 0.0); 2]; study.subjects.len()];
    let responses = study.rows.iter().filter(|r| r.trial.rt.is_finite());
    for Row { subject, trial, .. } in responses {
        let (sum, n) = &mut sums[*subject][usize::from(trial.ssd.is_finite())];
        (*sum, *n) = (*sum + trial.rt, *n + 1.0);
    }
    let mean = |(sum, n): (f64, f64)| sum / n;
    sums.into_iter().map(|s| s.map(mean)).collect()
}

impl Rules {
    /// What speaks against a subject, first of all rules.
    fn broken(&self, c: &Counts, [go, stop]: [f64; 2]) -> Option<(String, String)> {
        let (answered, n_stop) = (c.go[0] + c.go[1], c.stop.iter().sum::<usize>());
        let n_go = answered + c.go[2];
        let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
        let said = |rule: String, found: String| Some((rule, found));
        if let Some(least) = self.min_go.filter(|least| n_go < *least) {
            return said(format!("fewer than {least} go trials"), n_go.to_string());
        }
        if let Some(least) = self.min_stop.filter(|least| n_stop < *least) {
            return said(
                format!("fewer than {least} stop trials"),
                n_stop.to_string(),
            );
        }
        let accuracy = share(c.go[0], answered);
        if let Some(least) = self.min_accuracy.filter(|least| accuracy < *least) {
            return said(
                format!("go accuracy below {least}"),
                format!("{accuracy:.3}"),
            );
        }
        let omissions = share(c.go[2], n_go);
        if let Some(most) = self.max_omissions.filter(|most| omissions > *most) {
            return said(format!("omissions above {most}"), format!("{omissions:.3}"));
        }
        let responds = share(c.stop[0] + c.stop[1], n_stop);
        let outside = |(low, high): &(f64, f64)| n_stop > 0 && !(*low..=*high).contains(&responds);
        if let Some((low, high)) = self.stop_responses.filter(outside) {
            let rule = format!("a share of responses on stop trials outside {low} to {high}");
            return said(rule, format!("{responds:.3}"));
        }
        // Without a response on one side there is nothing to compare.
        if self.race && stop > go {
            let rule = "slower responses on stop trials than on go trials, against the race";
            return said(rule.into(), format!("{stop:.3} s against {go:.3} s"));
        }
        None
    }

    /// Leaves out the subjects that break a rule, and their trials.
    pub(crate) fn apply(&self, study: &mut Study) -> Vec<Excluded> {
        let (counts, means) = (study.counts(), mean_rts(study));
        let mut out = Vec::new();
        let mut place = Vec::new();
        let mut kept = Vec::new();
        for (k, name) in study.subjects.iter().enumerate() {
            match self.broken(&counts[k], means[k]) {
                Some((rule, found)) => {
                    place.push(None);
                    out.push(Excluded {
                        subject: name.clone(),
                        rule,
                        found,
                    });
                }
                None => {
                    place.push(Some(kept.len()));
                    kept.push(name.clone());
                }
            }
        }
        if out.is_empty() {
            return out;
        }
        study.subjects = kept;
        study.rows.retain_mut(|row| match place[row.subject] {
            Some(subject) => {
                row.subject = subject;
                true
            }
            None => false,
        });
        out
    }
}

/// A sentence for each rule that left out subjects.
pub(crate) fn sentences(excluded: &[Excluded]) -> Vec<String> {
    let mut rules: Vec<&str> = Vec::new();
    for e in excluded {
        if !rules.contains(&e.rule.as_str()) {
            rules.push(&e.rule);
        }
    }
    let sentence = |rule: &&str| {
        let all: Vec<&Excluded> = excluded.iter().filter(|e| e.rule == **rule).collect();
        let shown = all
            .iter()
            .take(5)
            .map(|e| format!("{} ({})", e.subject, e.found));
        let shown: Vec<String> = shown.collect();
        let more = match all.len() - shown.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let word = if all.len() == 1 {
            "subject"
        } else {
            "subjects"
        };
        let (n, each) = (all.len(), shown.join(", "));
        format!("left out {n} {word} with {rule}: {each}{more}")
    };
    rules.iter().map(sentence).collect()
}
