//! Trials from a CSV file: one row each, checked; what is wrong is named with its row.

use crate::simulate::Trial;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

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

fn wrong(source: &str, row: usize, message: String) -> Error {
    Error::new(ErrorKind::Data, format!("{source}, row {row}: {message}"))
}

/// Positions of the columns.
struct Columns {
    subject: usize,
    stimulus: usize,
    response: usize,
    rt: usize,
    ssd: usize,
    kind: Option<usize>,
}

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or holds what no task can give; the message names column and row.
pub fn read(path: &Path, options: &Options) -> Result<Study> {
    let source = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|e| Error::new(ErrorKind::Io, format!("{source}: cannot be read: {e}")))?;
    parse(&bytes, &source, options)
}

/// The same from bytes; `source` is named in messages.
///
/// # Errors
/// See [`read`].
pub fn parse(bytes: &[u8], source: &str, options: &Options) -> Result<Study> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let columns = header(&mut reader, source)?;
    let mut study = Study::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut last, mut ignored) = (None, Vec::new());
    for (at, record) in reader.records().enumerate() {
        let row = at + 1;
        let record = record.map_err(|e| wrong(source, row, e.to_string()))?;
        let cell = |k: usize| record.get(k).unwrap_or("").trim();
        let name = cell(columns.subject);
        if name.is_empty() {
            return Err(wrong(source, row, "`subject` is empty".into()));
        }
        if !options.only.is_empty() && !options.only.iter().any(|n| n == name) {
            continue;
        }
        let subject = *known.entry(name.to_string()).or_insert_with(|| {
            study.subjects.push(name.to_string());
            study.subjects.len() - 1
        });
        if last != Some(subject) && subject + 1 < study.subjects.len() && !options.any_order {
            let message = format!(
                "subject `{name}` comes back after others: two children with one name? Give each \
                 their own, or allow rows in any order with ⟨any_order⟩"
            );
            return Err(wrong(source, row, message));
        }
        last = Some(subject);
        let (trial, spare) = trial(&cell, &columns, options.unit_s)
            .map_err(|message| wrong(source, row, message))?;
        if spare {
            ignored.push(row);
        }
        study.rows.push(Row {
            subject,
            trial,
            row,
        });
    }
    if let Some(&row) = ignored.first() {
        let n = ignored.len();
        let text =
            format!("{n} rows without a response hold an rt, which is ignored (first: row {row})");
        study.warnings.push(text);
    }
    missing_subjects(&study, options)?;
    check_unit(&study, source, options.unit_s)?;
    study.miss_after(options.deadline);
    study.drop_outside(options.rt_range);
    if study.rows.is_empty() {
        let message = format!("{source}: there is a header but no trial");
        return Err(Error::new(ErrorKind::Data, message));
    }
    if options.fits {
        study.check_subjects(source, options.stops)?;
    }
    Ok(study)
}

fn header(reader: &mut csv::Reader<&[u8]>, source: &str) -> Result<Columns> {
    let fail = |message: String| Err(Error::new(ErrorKind::Data, format!("{source}: {message}")));
    let names: Vec<String> = match reader.headers() {
        Ok(record) => record
            .iter()
            .map(|n| n.trim_start_matches('\u{feff}').trim().into())
            .collect(),
        Err(e) => return fail(e.to_string()),
    };
    if names.iter().all(String::is_empty) {
        return fail("the file is empty; it needs subject,stimulus,response,rt,ssd".into());
    }
    let find = |name: &str| names.iter().position(|n| n == name);
    let needed = ["subject", "stimulus", "response", "rt", "ssd"];
    let missing: Vec<&str> = needed.into_iter().filter(|n| find(n).is_none()).collect();
    if !missing.is_empty() {
        return fail(format!(
            "column {} is missing; the header has {}",
            missing.join(", "),
            names.join(", ")
        ));
    }
    let at = |name: &str| find(name).expect("what is missing was named");
    Ok(Columns {
        subject: at("subject"),
        stimulus: at("stimulus"),
        response: at("response"),
        rt: at("rt"),
        ssd: at("ssd"),
        kind: find("trial_type"),
    })
}

/// A trial, and whether it holds an rt that means nothing.
fn trial<'a>(
    cell: &impl Fn(usize) -> &'a str,
    columns: &Columns,
    unit_s: f64,
) -> std::result::Result<(Trial, bool), String> {
    let stimulus = match cell(columns.stimulus).to_ascii_lowercase().as_str() {
        "0" | "left" => 0,
        "1" | "right" => 1,
        other => return Err(format!("stimulus is `{other}`; use 0 or left, 1 or right")),
    };
    let response = match cell(columns.response).to_ascii_lowercase().as_str() {
        "0" | "none" | "" | "na" | "nan" | "null" => 0,
        "1" | "left" => 1,
        "2" | "right" => 2,
        other => {
            return Err(format!(
                "response is `{other}`; use 0, none or nothing, 1 or left, 2 or right"
            ));
        }
    };
    let number = |k: usize, name: &str| match cell(k) {
        "" | "NA" | "NaN" | "nan" | "null" => Ok(f64::NAN),
        text => match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x * unit_s),
            _ => Err(format!("{name} is `{text}`; it must be a number, or empty")),
        },
    };
    let (rt, ssd) = (number(columns.rt, "rt")?, number(columns.ssd, "ssd")?);
    if ssd < 0.0 {
        return Err(format!(
            "ssd is {ssd}; it must be 0 or more, and empty on go trials"
        ));
    }
    if response != 0 && rt.is_nan() {
        return Err("there is a response without rt".into());
    }
    if response != 0 && rt <= 0.0 {
        return Err(format!("rt is {rt}; it must be above 0"));
    }
    if let Some(k) = columns.kind {
        match (cell(k).to_ascii_lowercase().as_str(), ssd.is_nan()) {
            ("go", true) | ("stop", false) => {}
            ("stop", true) => return Err("a stop trial without ssd".into()),
            ("go", false) => return Err(format!("a go trial with ssd {ssd}")),
            (other, _) => return Err(format!("trial_type is `{other}`; use go or stop")),
        }
    }
    let spare = response == 0 && !rt.is_nan() && rt != 0.0;
    let trial = Trial {
        stimulus,
        response,
        rt: if response == 0 { f64::NAN } else { rt },
        ssd: if ssd.is_nan() { f64::INFINITY } else { ssd },
    };
    Ok((trial, spare))
}

fn missing_subjects(study: &Study, options: &Options) -> Result<()> {
    match options.only.iter().find(|n| !study.subjects.contains(n)) {
        Some(name) => {
            let message = format!("there is no subject `{name}` in the data");
            Err(Error::new(ErrorKind::Data, message))
        }
        None => Ok(()),
    }
}

/// Finds times in milliseconds that were said to be seconds, and the other way round.
fn check_unit(study: &Study, source: &str, unit_s: f64) -> Result<()> {
    let mut times: Vec<(f64, usize)> = study.rows.iter().map(|r| (r.trial.rt, r.row)).collect();
    times.retain(|t| t.0.is_finite());
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = times.get(times.len() / 2).copied();
    let long = |r: &&Row| r.is_stop() && r.trial.ssd > 5.0;
    let found = match (middle, study.rows.iter().find(long)) {
        (Some((rt, row)), _) if rt > 10.0 => Some((row, format!("half of all rt are above {rt}"))),
        (_, Some(r)) => Some((r.row, format!("ssd is {}", r.trial.ssd))),
        _ => None,
    };
    if let Some((row, fact)) = found {
        let message = format!("{fact} seconds: are times in milliseconds? Then add ⟨unit ms⟩");
        return Err(wrong(source, row, message));
    }
    match middle {
        Some((rt, row)) if unit_s < 1.0 && rt < 0.01 => {
            let message =
                format!("half of all rt are below {rt} s with ⟨unit ms⟩; are they in seconds?");
            Err(wrong(source, row, message))
        }
        _ => Ok(()),
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
            self.warnings.push(format!(
                "{n} responses later than the deadline of {deadline} s count as none (first: row {first})"
            ));
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
        let each = self.subjects.iter().zip(&dropped).filter(|(_, d)| d.0 > 0);
        let each: Vec<String> = each
            .map(|(n, d)| format!("{n} {} (first: row {})", d.0, d.1))
            .collect();
        if !each.is_empty() {
            let shown = each.len().min(5);
            let more = match each.len() - shown {
                0 => String::new(),
                n => format!(" and {n} more subjects"),
            };
            self.warnings.push(format!(
                "responses outside {low} to {high} s are left out: {}{more}",
                each[..shown].join(", ")
            ));
        }
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
            let shown = strange.len().min(8);
            let more = match strange.len() - shown {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            self.warnings.push(format!(
                "kept, but look at: {}{more}",
                strange[..shown].join("; ")
            ));
        }
        Ok(())
    }

    /// What was read, for a file beside the results.
    pub fn report(&self) -> Value {
        let counts = self.counts();
        let each = self.subjects.iter().zip(&counts).map(|(name, c)| {
            json!({"subject": name,
                   "go": {"match": c.go[0], "mismatch": c.go[1], "none": c.go[2]},
                   "stop": {"match": c.stop[0], "mismatch": c.stop[1], "none": c.stop[2]}})
        });
        json!({"trials": self.rows.len(), "subjects": each.collect::<Vec<_>>(),
               "warnings": self.warnings})
    }

    /// Block `which` (from 1) of `n` blocks of subjects, for array jobs.
    pub fn block(&self, which: usize, n: usize) -> Study {
        let of = |k: usize| k * n / self.subjects.len().max(1) + 1;
        let mut new = vec![None; self.subjects.len()];
        let mut out = Study {
            warnings: self.warnings.clone(),
            ..Study::default()
        };
        for (k, name) in self.subjects.iter().enumerate() {
            if of(k) == which {
                new[k] = Some(out.subjects.len());
                out.subjects.push(name.clone());
            }
        }
        let keep = |r: &Row| new[r.subject].map(|subject| Row { subject, ..*r });
        out.rows = self.rows.iter().filter_map(keep).collect();
        out
    }
}
