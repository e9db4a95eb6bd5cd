//! Rows of a table become trials.

use super::{Options, Row, Study, wrong};
use crate::exclude::sentences;
use crate::layout::{Doubtful, Layout, Role};
use crate::simulate::Trial;
use fitzroy::data::{Cells, TableText};
use fitzroy::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;

/// Reads a file: a table of text, packed or not, or a sheet of a workbook.
///
/// # Errors
/// The file cannot be read, or holds what no task can give; the message names column and row.
pub fn read(path: &Path, options: &Options) -> Result<Study> {
    let table = TableText::open(path, &options.tables)?;
    study(&table, &path.display().to_string(), options)
}

/// The same from bytes; `source` is named in messages.
///
/// # Errors
/// See [`read`].
pub fn parse(bytes: &[u8], source: &str, options: &Options) -> Result<Study> {
    if bytes.trim_ascii().is_empty() {
        let message = "the file is empty; it needs subject,stimulus,response,rt,ssd";
        return Err(Error::data(message).context(source));
    }
    let table = TableText::of_bytes(bytes.to_vec(), &options.tables);
    study(&table.map_err(|e| e.context(source))?, source, options)
}

/// Positions of the columns.
struct Columns {
    subject: usize,
    session: Option<usize>,
    stimulus: usize,
    response: usize,
    rt: usize,
    ssd: usize,
    kind: Option<usize>,
}

impl Columns {
    fn of(table: &TableText, layout: &Layout) -> Result<Columns> {
        let names = table.names();
        let find = |role: Role| layout.place(role, names);
        let needed = [
            Role::Subject,
            Role::Stimulus,
            Role::Response,
            Role::Rt,
            Role::Ssd,
        ];
        let missing = needed.into_iter().filter(|r| find(*r).is_none());
        let missing: Vec<&str> = missing.map(|r| layout.column(r)).collect();
        if let Some(first) = missing.first() {
            let role = needed.into_iter().find(|r| layout.column(*r) == *first);
            let role = role.map_or("rt", Role::name);
            return Err(Error::data(format!(
                "column {} is missing; the header has {}; say which it is by ⟨columns {role}=COLUMN⟩, or choose \
                 a layout by ⟨profile⟩",
                missing.join(", "),
                names.join(", ")
            )));
        }
        let at = |role: Role| find(role).expect("what is missing was named");
        Ok(Columns {
            subject: at(Role::Subject),
            session: find(Role::Session),
            stimulus: at(Role::Stimulus),
            response: at(Role::Response),
            rt: at(Role::Rt),
            ssd: at(Role::Ssd),
            kind: find(Role::TrialType),
        })
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        let needed = [
            self.subject,
            self.stimulus,
            self.response,
            self.rt,
            self.ssd,
        ];
        needed.into_iter().chain(self.kind)
    }
}

/// Why a row is no trial.
enum Fault {
    /// It is wrong.
    Wrong(String),
    /// It is left out, and counted by this reason.
    LeftOut(&'static str),
}

/// A trial, and what was passed over in its row.
struct Read {
    trial: Trial,
    spare_rt: bool,
    spare_ssd: bool,
}

/// Reasons that are counted, in the order of the report.
const REASONS: [&str; 5] = [
    "empty rows are left out",
    "rows that the layout leaves out",
    "premature responses (rt not above 0) are left out",
    "rows without a response hold an rt, which is ignored",
    "go trials hold an ssd, which is ignored",
];
const EMPTY: &str = REASONS[0];
const CODED: &str = REASONS[1];
const PREMATURE: &str = REASONS[2];
const SPARE_RT: &str = REASONS[3];
const SPARE_SSD: &str = REASONS[4];

/// Number and first row of what is counted by each reason.
#[derive(Default)]
struct Tally([(usize, usize); REASONS.len()]);

impl Tally {
    fn count(&mut self, reason: &str, row: usize) {
        let at = REASONS.iter().position(|r| *r == reason).unwrap_or(0);
        let (n, first) = &mut self.0[at];
        *n += 1;
        if *n == 1 {
            *first = row;
        }
    }

    fn tell(&self, study: &mut Study) {
        for (reason, &(n, first)) in REASONS.iter().zip(&self.0) {
            if n > 0 {
                let text = format!("{n} {reason} (first: row {first})");
                study.warnings.push(text);
                study.count((*reason).into(), n, first);
            }
        }
    }
}

fn study(table: &TableText, source: &str, options: &Options) -> Result<Study> {
    let columns = Columns::of(table, &options.layout).map_err(|e| e.context(source))?;
    let mut study = Study::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut counted = Tally::default();
    let mut last = None;
    let mut n_read = 0;
    let read = table.each(&mut |row, cells| {
        n_read = row;
        if columns.all().all(|k| cells.text(k).is_empty()) {
            counted.count(EMPTY, row);
            return Ok(());
        }
        let name = name(cells, &columns).map_err(|m| wrong(source, row, m))?;
        if !options.only.is_empty() && !options.only.contains(&name) {
            return Ok(());
        }
        let found = match trial(cells, &columns, options) {
            Ok(found) => found,
            Err(Fault::Wrong(message)) => return Err(wrong(source, row, message)),
            Err(Fault::LeftOut(reason)) => {
                counted.count(reason, row);
                return Ok(());
            }
        };
        let subject = *known.entry(name.clone()).or_insert_with(|| {
            study.subjects.push(name.clone());
            study.subjects.len() - 1
        });
        if last != Some(subject) && subject + 1 < study.subjects.len() && !options.any_order {
            let message = format!(
                "subject `{name}` comes back after others: two children with one name? Give each their own, or \
                 allow rows in any order with ⟨any_order⟩"
            );
            return Err(wrong(source, row, message));
        }
        last = Some(subject);
        if found.spare_rt {
            counted.count(SPARE_RT, row);
        }
        if found.spare_ssd {
            counted.count(SPARE_SSD, row);
        }
        let trial = found.trial;
        study.rows.push(Row {
            subject,
            trial,
            row,
        });
        Ok(())
    });
    // What is said of a row has its place already.
    let place = format!("{source}, row ");
    read.map_err(|e| match e.to_string().starts_with(&place) {
        true => e,
        false => e.context(source),
    })?;
    study.n_read = n_read;
    study.remarks = table.remarks().to_vec();
    counted.tell(&mut study);
    settle(study, source, options)
}

/// What is asked of all trials together.
fn settle(mut study: Study, source: &str, options: &Options) -> Result<Study> {
    if let Some(name) = options.only.iter().find(|n| !study.subjects.contains(n)) {
        let message = format!("there is no subject `{name}` in the data");
        return Err(Error::new(ErrorKind::Data, message));
    }
    check_unit(&study, source, options)?;
    study.miss_after(options.deadline);
    study.drop_outside(options.rt_range);
    if study.rows.is_empty() {
        let message = format!("{source}: there is a header but no trial");
        return Err(Error::new(ErrorKind::Data, message));
    }
    study.excluded = options.rules.apply(&mut study);
    study.warnings.extend(sentences(&study.excluded));
    if study.subjects.is_empty() {
        let why = sentences(&study.excluded).join("; ");
        return Err(Error::data(format!("{source}: no subject is left: {why}")));
    }
    if options.fits {
        study.check_subjects(source, options.stops)?;
    }
    Ok(study)
}

/// The name of the subject, with that of the session if there are sessions.
fn name(cells: &Cells<'_>, columns: &Columns) -> std::result::Result<String, String> {
    let name = cells.text(columns.subject);
    if name.is_empty() {
        return Err("`subject` is empty".into());
    }
    // Spreadsheets write 17 as 17.0.
    let name = name.strip_suffix(".0").unwrap_or(&name).to_string();
    let session = columns.session.map(|k| cells.text(k));
    Ok(match session.filter(|s| !s.is_empty()) {
        Some(session) => format!("{name}:{session}"),
        None => name,
    })
}

fn trial(
    cells: &Cells<'_>,
    columns: &Columns,
    options: &Options,
) -> std::result::Result<Read, Fault> {
    let layout = &options.layout;
    let meaning = |role: Role, k: usize| {
        let cell = cells.text(k);
        match layout.meaning(role, &cell) {
            Some("leave_out") => Err(Fault::LeftOut(CODED)),
            Some(found) => Ok(found),
            None => Err(Fault::Wrong(format!(
                "{} is `{cell}`; use {}, or say what it means in a file for ⟨columns⟩",
                layout.column(role),
                layout.codes(role)
            ))),
        }
    };
    let kind = columns
        .kind
        .map(|k| meaning(Role::TrialType, k))
        .transpose()?;
    let stimulus = u8::from(meaning(Role::Stimulus, columns.stimulus)? == "right");
    let response = match meaning(Role::Response, columns.response)? {
        "left" => 1,
        "right" => 2,
        _ => 0,
    };
    let number = |role: Role, k: usize| {
        if cells.is_missing(k) || layout.meaning(role, &cells.text(k)) == Some("none") {
            return Ok(f64::NAN);
        }
        match cells.number(k).filter(|x| x.is_finite()) {
            Some(x) => Ok(x * layout.unit_s(role, options.unit_s)),
            None => Err(Fault::Wrong(format!(
                "{} is `{}`; it must be a number, or empty",
                role.name(),
                cells.text(k)
            ))),
        }
    };
    let rt = number(Role::Rt, columns.rt)?;
    let ssd = number(Role::Ssd, columns.ssd)?;
    let (ssd, spare_ssd) = delay(kind, ssd, layout)?;
    if response != 0 && rt.is_nan() {
        return Err(Fault::Wrong("there is a response without rt".into()));
    }
    if response != 0 && rt <= 0.0 {
        return Err(match layout.premature {
            Doubtful::Drop => Fault::LeftOut(PREMATURE),
            Doubtful::Refuse => Fault::Wrong(format!(
                "rt is {rt}; it must be above 0 (⟨premature drop⟩ leaves such trials out)"
            )),
        });
    }
    let spare_rt = response == 0 && !rt.is_nan() && rt != 0.0;
    let trial = Trial {
        stimulus,
        response,
        rt: if response == 0 { f64::NAN } else { rt },
        ssd: if ssd.is_nan() { f64::INFINITY } else { ssd },
    };
    Ok(Read {
        trial,
        spare_rt,
        spare_ssd,
    })
}

/// The delay of the stop signal, NaN on a go trial, and whether one was passed over.
fn delay(kind: Option<&str>, ssd: f64, layout: &Layout) -> std::result::Result<(f64, bool), Fault> {
    match (kind, ssd.is_nan()) {
        (Some("stop"), true) => Err(Fault::Wrong("a stop trial without ssd".into())),
        (Some("go"), false) if layout.ssd_on_go == Doubtful::Drop => Ok((f64::NAN, true)),
        (Some("go"), false) => Err(Fault::Wrong(format!(
            "a go trial with ssd {ssd} (⟨ssd_on_go ignore⟩ passes over it)"
        ))),
        _ if ssd < 0.0 => Err(Fault::Wrong(format!(
            "ssd is {ssd}; it must be 0 or more, and empty on go trials; a code for none is said in a file for \
             ⟨columns⟩, as none below [codes.ssd]"
        ))),
        _ => Ok((ssd, false)),
    }
}

/// Finds times in milliseconds that were said to be seconds, and the other way round.
fn check_unit(study: &Study, source: &str, options: &Options) -> Result<()> {
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
    let (small, said) = match options.layout.has_units() {
        true => (true, "the units of the layout"),
        false => (options.unit_s < 1.0, "⟨unit ms⟩"),
    };
    if let Some((row, fact)) = found {
        let message = format!("{fact} seconds: are times in milliseconds? Then add ⟨unit ms⟩");
        return Err(wrong(source, row, message));
    }
    match middle {
        Some((rt, row)) if small && rt < 0.01 => {
            let message =
                format!("half of all rt are below {rt} s with {said}; are they in seconds?");
            Err(wrong(source, row, message))
        }
        _ => Ok(()),
    }
}
