//! A fit for every group of rows.

use super::device::FitDevice;
use crate::clock::Clock;
use crate::face::{Face, Note};
use fitzroy::data::{Array, Values};
use fitzroy::report::csv_field;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::batch::{
    Batch, Doubted, Groups, ON_PROCESSOR, doubts, fit_many_on, suit_machines,
};
use fitzroy_curve_fit::fit::{Doubt, Plan, check_rows};
use fitzroy_curve_fit::formula::Roles;
use fitzroy_curve_fit::report::{Many, View};
use fitzroy_curve_fit::source::{Assembled, Missing, Request, assemble};
use fitzroy_curve_fit::{Formula, Options};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Fits of one formula to groups of rows.
pub struct GroupFits<'a> {
    /// The formula.
    pub formula: &'a Formula,
    /// The column whose values are the groups.
    pub column: &'a str,
    /// The roles of the other columns.
    pub request: &'a Request,
    /// Who is told of the device.
    pub face: &'a dyn Face,
    /// Ends the fits once true; those that are done are kept.
    pub stop: &'a AtomicBool,
    /// Began when the work began.
    pub clock: Clock,
}

/// Groups that were fitted.
pub struct Fitted {
    /// The groups.
    pub groups: Groups,
    /// Their fits.
    pub batch: Batch,
    /// Rows of all groups.
    pub n_rows: usize,
    /// What the residuals of each say against it.
    pub doubts: Doubted,
    /// Seconds of the fits.
    pub fit_s: f64,
    /// What figures show.
    pub shown: Many,
    /// Values of parameters that were held or tied, by name.
    held: Vec<(String, Vec<f64>)>,
}

impl GroupFits<'_> {
    /// Fits every group in `arrays`, or the groups of a `share` of them. `options` may depend on the
    /// roles of the names in the formula.
    ///
    /// # Errors
    /// Something is wrong with data or options. A group that cannot be fitted is no error.
    pub fn run(
        &self,
        device: &mut FitDevice,
        mut arrays: Vec<Array>,
        share: impl FnOnce(&Array, usize) -> Result<Option<Range<usize>>>,
        options: impl FnOnce(&Roles) -> Result<Options>,
    ) -> Result<Fitted> {
        let groups = self.groups(&mut arrays, share)?;
        // A group with gaps is that group's failure, not the batch's.
        let request = Request {
            unchecked: true,
            ..self.request.clone()
        };
        let Assembled {
            data, remarks, y, ..
        } = assemble(arrays, self.formula, &request)?;
        remarks.iter().for_each(|r| self.face.tell(Note::Remark(r)));
        let roles = self.formula.roles(&data.names(), &data.label_columns())?;
        let options = &options(&roles)?;
        let plan = Plan::new(self.formula, roles, data.has_sigma(), options)?;
        // What is no count is no gap: it would be fitted all the same.
        check_rows(&plan, &data)?;
        let table = data.table(&plan.roles.predictors)?;
        if !suit_machines(&plan, options) {
            device.decline(ON_PROCESSOR, self.face);
        }
        device.settle(&plan, &table, options, &self.clock, self.face)?;
        let before = self.clock.seconds();
        let batch = fit_many_on(
            device.machines(),
            &plan,
            &table,
            &groups,
            options,
            self.stop,
        )?;
        device.tell_failed(self.face);
        let fit_s = self.clock.seconds() - before;
        let doubts = doubts(&batch, &plan, &table, &groups, options);
        let view = View {
            columns: self.request.rename.clone(),
            ..View::of(y)
        };
        Ok(Fitted {
            fit_s,
            shown: Many::new(
                &plan,
                &table,
                (&groups, &batch, &doubts.each),
                self.column,
                &view,
            )?,
            doubts,
            held: batch.held(&plan)?,
            n_rows: data.n_rows(),
            groups,
            batch,
        })
    }

    /// The groups; unless the formula uses their column, it leaves `arrays`.
    fn groups(
        &self,
        arrays: &mut Vec<Array>,
        share: impl FnOnce(&Array, usize) -> Result<Option<Range<usize>>>,
    ) -> Result<Groups> {
        let at = self.position(arrays)?;
        let groups = match &arrays[at].values {
            Values::Real(values) => Groups::by_number(values),
            Values::Text(cells) => Groups::by_label(cells),
        };
        let groups = match share(&arrays[at], groups.len())? {
            Some(part) => groups.part(part),
            None => groups,
        };
        let used = self.formula.roles(&[self.column], &[]);
        if used.is_ok_and(|roles| roles.predictors.is_empty()) {
            arrays.remove(at);
        }
        Ok(groups)
    }

    /// The place of the column of groups among `arrays`.
    fn position(&self, arrays: &[Array]) -> Result<usize> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        let Some(at) = arrays.iter().position(|a| a.name == self.column) else {
            let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
            return usage(format!(
                "⟨batch_by⟩: there is no column `{}`; the columns are {}",
                self.column,
                names.join(", ")
            ));
        };
        if !self.request.range.is_empty() {
            return usage("⟨batch_by⟩ and ⟨range⟩ do not go together; cut the file before".into());
        }
        if matches!(self.request.missing, Missing::Drop) {
            let message = "⟨batch_by⟩ needs no ⟨missing drop⟩: a group with gaps fails alone";
            return usage(message.into());
        }
        Ok(at)
    }
}

impl Fitted {
    /// How often each status comes, most frequent first.
    pub fn statuses(&self) -> Vec<(&'static str, usize)> {
        counts(self.batch.status.iter().map(|s| s.name()))
    }

    /// How many fits have errors, and why others have none.
    pub fn errors(&self) -> Vec<(&'static str, usize)> {
        counts(self.batch.covariance_status.iter().map(|s| s.name()))
    }

    /// The fits as one JSON document, without a row for each.
    pub fn json(&self, fits: &GroupFits<'_>, device: &FitDevice) -> Value {
        let object = |counts: &[(&str, usize)]| -> Map<String, Value> {
            let pairs = counts.iter().map(|(s, n)| ((*s).to_string(), json!(n)));
            pairs.collect()
        };
        let doubts = self.doubts.counts().into_iter();
        let doubts: Vec<(&str, usize)> = doubts.map(|(doubt, n)| (doubt.name(), n)).collect();
        json!({
            "device": device.json(),
            "model": fits.formula.text(),
            "batch_by": fits.column,
            "fits": self.groups.len(),
            "converged": self.batch.n_converged(),
            "status_counts": object(&self.statuses()),
            "covariance_status_counts": object(&self.errors()),
            "doubt_counts": object(&doubts),
            "alone": self.batch.n_alone,
            "rows": self.n_rows,
            "parameters": self.batch.names,
        })
    }

    /// One row per fit: what was fitted, parameters that were held, and doubts with spaces between them.
    pub fn csv(&self, column: &str) -> String {
        let (batch, groups) = (&self.batch, &self.groups);
        let p = batch.names.len();
        let mut out = format!("{column},rows,status,converged,covariance_status,chi2,evaluations");
        for name in &batch.names {
            let _ = write!(out, ",{name},{name}_se");
        }
        for (name, _) in &self.held {
            let _ = write!(out, ",{name}");
        }
        out.push_str(",doubts\n");
        for k in 0..groups.len() {
            let status = batch.status[k];
            let _ = write!(
                out,
                "{},{},{},{},{},{},{}",
                csv_field(&groups.label(k)),
                groups.rows(k).len(),
                status.name(),
                status.converged(),
                batch.covariance_status[k].name(),
                batch.chi2[k],
                batch.evaluations[k]
            );
            for a in 0..p {
                let _ = write!(out, ",{},{}", batch.theta[k * p + a], batch.se[k * p + a]);
            }
            for (_, values) in &self.held {
                let _ = write!(out, ",{}", values[k]);
            }
            let doubts: Vec<&str> = self.doubts.each[k].each().map(Doubt::name).collect();
            let _ = writeln!(out, ",{}", doubts.join(" "));
        }
        out
    }
}

/// How often each name comes, most frequent first.
fn counts(names: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut out: Vec<(&'static str, usize)> = Vec::new();
    for name in names {
        match out.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => out.push((name, 1)),
        }
    }
    out.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    out
}
