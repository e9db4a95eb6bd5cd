//! Trials from a table: one row each, checked; what is wrong is named with its row.

mod read;

pub use read::{parse, read};

use crate::exclude::{Excluded, Rules};
use crate::integration;
use crate::layout::Layout;
use crate::simulate::Trial;
use fitzroy::data::TableOptions;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// How a file is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seconds in a unit of the file: 1, or 0.001 for milliseconds.
    pub unit_s: f64,
    /// Responses outside are dropped, in seconds.
    pub rt_range: (f64, f64),
    /// Responses after it count as none, in seconds; ∞ without a time limit.
    pub deadline: f64,
    /// Whether the rows of a subject may stand apart.
    pub any_order: bool,
    /// These subjects alone; all if empty.
    pub only: Vec<String>,
    /// Whether stop trials are needed.
    pub stops: bool,
    /// Whether a subject must have trials enough to be fitted.
    pub fits: bool,
    /// Which columns hold what, and what their codes mean.
    pub layout: Layout,
    /// What is said of the table.
    pub tables: TableOptions,
    /// Rules that leave out subjects.
    pub rules: Rules,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            unit_s: 1.0,
            rt_range: (0.15, 2.0),
            deadline: f64::INFINITY,
            any_order: false,
            only: Vec::new(),
            stops: true,
            fits: true,
            layout: Layout::default(),
            tables: TableOptions::default(),
            rules: Rules::default(),
        }
    }
}

/// A trial and whose it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Position in [`Study::subjects`].
    pub subject: usize,
    /// What happened.
    pub trial: Trial,
    /// Row of the file, from 1.
    pub row: usize,
}

impl Row {
    /// 0 no response, 1 the response that matches the stimulus, 2 the other.
    pub fn outcome(&self) -> u8 {
        match self.trial.response {
            0 => 0,
            r if r == self.trial.stimulus + 1 => 1,
            _ => 2,
        }
    }

    /// Whether there was a stop signal.
    pub fn is_stop(&self) -> bool {
        self.trial.ssd.is_finite()
    }
}

/// All trials of all subjects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Their names, in the order of the file.
    pub subjects: Vec<String>,
    /// Their trials, in the order of the file.
    pub rows: Vec<Row>,
    /// What was left out or looks strange, in sentences.
    pub warnings: Vec<String>,
    /// Trials that were left out or changed, by reason.
    pub counted: Vec<Counted>,
    /// Subjects that were left out by rules.
    pub excluded: Vec<Excluded>,
    /// Rows of the table.
    pub n_read: usize,
    /// How the table was read, where it could have been meant otherwise.
    pub remarks: Vec<String>,
    /// What the population depends on.
    pub covariates: Vec<Covariate>,
}

/// A number of every subject on which the population depends.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariate {
    /// Its name in the model.
    pub name: String,
    /// What its numbers mean.
    pub meaning: String,
    /// Of every subject, in the order of [`Study::subjects`].
    pub values: Vec<f64>,
}

/// Trials of which the same was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What was done and why: `responses outside 0.15 to 2 s are left out`.
    pub what: String,
    /// How many there are.
    pub trials: usize,
    /// Row of the first.
    pub first_row: usize,
}

/// What is counted of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Go trials with the matching response, the other, and none.
    pub go: [usize; 3],
    /// Stop trials likewise.
    pub stop: [usize; 3],
    /// Shortest response time, seconds.
    pub shortest: f64,
}

pub(crate) fn wrong(source: &str, row: usize, message: String) -> Error {
    Error::new(ErrorKind::Data, format!("{source}, row {row}: {message}"))
}

/// The first `most` of `all`, and how many more there are.
fn first_of(all: &[String], most: usize, between: &str, more: &str) -> String {
    let shown = all[..all.len().min(most)].join(between);
    match all.len().saturating_sub(most) {
        0 => shown,
        n => format!("{shown} and {n}{more}"),
    }
}

impl Study {
    /// Counts responses after the deadline as none: the likelihood has their mass among the omissions.
    fn miss_after(&mut self, deadline: f64) {
        let (mut n, mut first) = (0, 0);
        for row in self.rows.iter_mut().filter(|r| r.trial.rt > deadline) {
            if n == 0 {
                first = row.row;
            }
            n += 1;
            (row.trial.response, row.trial.rt) = (0, f64::NAN);
        }
        if n > 0 {
            let what = format!("responses later than the deadline of {deadline} s count as none");
            self.warnings
                .push(format!("{n} {what} (first: row {first})"));
            self.count(what, n, first);
        }
    }

    fn drop_outside(&mut self, (low, high): (f64, f64)) {
        let mut dropped: Vec<(usize, usize)> = vec![(0, 0); self.subjects.len()];
        self.rows.retain(|r| {
            let outside = r.trial.rt < low || r.trial.rt > high;
            if outside {
                let d = &mut dropped[r.subject];
                *d = (d.0 + 1, if d.0 == 0 { r.row } else { d.1 });
            }
            !outside
        });
        let (n, first) = dropped
            .iter()
            .filter(|d| d.0 > 0)
            .fold((0, usize::MAX), |(n, first), d| (n + d.0, first.min(d.1)));
        if n > 0 {
            self.count(
                format!("responses outside {low} to {high} s are left out"),
                n,
                first,
            );
        }
        let each = self.subjects.iter().zip(&dropped).filter(|(_, d)| d.0 > 0);
        let each: Vec<String> = each
            .map(|(n, d)| format!("{n} {} (first: row {})", d.0, d.1))
            .collect();
        if !each.is_empty() {
            self.warnings.push(format!(
                "responses outside {low} to {high} s are left out: {}",
                first_of(&each, 5, ", ", " more subjects")
            ));
        }
    }

    /// Notes trials of which the same is said.
    fn count(&mut self, what: String, trials: usize, first_row: usize) {
        self.counted.push(Counted {
            what,
            trials,
            first_row,
        });
    }

    /// Counts of every subject.
    pub fn counts(&self) -> Vec<Counts> {
        let none = Counts {
            shortest: f64::INFINITY,
            ..Counts::default()
        };
        let mut all = vec![none; self.subjects.len()];
        for r in &self.rows {
            let c = &mut all[r.subject];
            let place = [2, 0, 1][usize::from(r.outcome())];
            match r.is_stop() {
                true => c.stop[place] += 1,
                false => c.go[place] += 1,
            }
            if r.trial.rt < c.shortest {
                c.shortest = r.trial.rt;
            }
        }
        all
    }

    fn check_subjects(&mut self, source: &str, stops: bool) -> Result<()> {
        if self.rows.iter().all(Row::is_stop) {
            let message =
                format!("{source}: every row has an ssd; go trials must have an empty ssd");
            return Err(Error::new(ErrorKind::Data, message));
        }
        let mut strange = Vec::new();
        for (k, c) in self.counts().iter().enumerate() {
            let name = &self.subjects[k];
            let row = self
                .rows
                .iter()
                .find(|r| r.subject == k)
                .map_or(0, |r| r.row);
            let (answered, n_stop) = (c.go[0] + c.go[1], c.stop.iter().sum::<usize>());
            if answered == 0 {
                let message =
                    format!("subject `{name}` never responds on go trials; leave them out");
                return Err(wrong(source, row, message));
            }
            if stops && n_stop == 0 {
                let message = format!(
                    "subject `{name}` has no stop trial; leave them out, or fit ⟨model wald⟩"
                );
                return Err(wrong(source, row, message));
            }
            let n_go = answered + c.go[2];
            let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
            let responded = share(c.stop[0] + c.stop[1], n_stop);
            let looks = [
                (answered < 50, format!("{answered} go responses")),
                (stops && n_stop < 20, format!("{n_stop} stop trials")),
                (
                    share(c.go[0], answered) < 0.6,
                    format!("go accuracy {:.2}", share(c.go[0], answered)),
                ),
                (
                    share(c.go[2], n_go) > 0.3,
                    format!("{:.0} % omissions", 100.0 * share(c.go[2], n_go)),
                ),
                (
                    stops && !(0.25..=0.75).contains(&responded),
                    format!("responds on {:.0} % of stop trials", 100.0 * responded),
                ),
            ];
            for (_, what) in looks.into_iter().filter(|l| l.0) {
                strange.push(format!("{name}: {what}"));
            }
        }
        if !strange.is_empty() {
            let shown = first_of(&strange, 8, "; ", " more");
            self.warnings.push(format!("kept, but look at: {shown}"));
        }
        Ok(())
    }

    /// What was read, for a file beside the results.
    pub fn report(&self) -> Value {
        let counts = self.counts();
        let ssrt = integration::of_study(self);
        let each = self
            .subjects
            .iter()
            .zip(&counts)
            .zip(&ssrt)
            .map(|((name, c), ssrt)| {
                json!({"subject": name, "integration": ssrt.map(|s| s.json()),
                   "go": {"match": c.go[0], "mismatch": c.go[1], "none": c.go[2]},
                   "stop": {"match": c.stop[0], "mismatch": c.stop[1], "none": c.stop[2]}})
            });
        let counted = self
            .counted
            .iter()
            .map(|c| json!({"what": c.what, "trials": c.trials, "first_row": c.first_row}));
        let excluded = self.excluded.iter().map(Excluded::json);
        let covariates = self.covariates.iter();
        let covariates = covariates.map(|c| json!({"name": c.name, "meaning": c.meaning}));
        json!({"covariates": covariates.collect::<Vec<_>>(), "table": self.remarks, "rows": self.n_read, "trials": self.rows.len(), "subjects": each.collect::<Vec<_>>(),
               "counted": counted.collect::<Vec<_>>(),
               "excluded_subjects": excluded.collect::<Vec<_>>(), "warnings": self.warnings})
    }

    /// Block `which` (from 1) of `n` blocks of subjects, for array jobs.
    pub fn block(&self, which: usize, n: usize) -> Study {
        self.some(|k| k * n / self.subjects.len().max(1) + 1 == which)
    }

    /// The study of the subjects at those positions that are `wanted`.
    pub fn some(&self, wanted: impl Fn(usize) -> bool) -> Study {
        let mut new = vec![None; self.subjects.len()];
        let mut subjects = Vec::new();
        for (k, name) in self.subjects.iter().enumerate().filter(|(k, _)| wanted(*k)) {
            new[k] = Some(subjects.len());
            subjects.push(name.clone());
        }
        let covariate = |c: &Covariate| Covariate {
            values: c
                .values
                .iter()
                .zip(&new)
                .filter_map(|(v, place)| place.map(|_| *v))
                .collect(),
            ..c.clone()
        };
        let keep = |r: &Row| new[r.subject].map(|subject| Row { subject, ..*r });
        Study {
            rows: self.rows.iter().filter_map(keep).collect(),
            covariates: self.covariates.iter().map(covariate).collect(),
            subjects,
            warnings: self.warnings.clone(),
            counted: self.counted.clone(),
            excluded: self.excluded.clone(),
            n_read: self.n_read,
            remarks: self.remarks.clone(),
        }
    }
}
