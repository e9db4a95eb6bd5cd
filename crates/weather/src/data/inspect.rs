//! What an archive holds, without keeping it in memory: every variable, its range and gaps, and
//! what would be used.

use super::archive::Chosen;
use super::check::{FILLS, Seen, is_number};
use super::merge::Merged;
use super::missing::Missing;
use super::parts::{Part, Parts};
use super::times::{RECORDS_MIN, check_number, usual_step};
use crate::files::{Dims, Held};
use crate::time::Time;
use fitzroy::Result;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A variable of an archive, over all its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its name here.
    pub name: String,
    /// Its name in the first file that has it.
    pub file_name: String,
    /// What the first file says that it is.
    pub long_name: Option<String>,
    /// Its units here, and in that file.
    pub units: (String, String),
    /// Whether its numbers are converted from the one to the other.
    pub converted: bool,
    /// Its axes.
    pub dims: Dims,
    /// Its levels, hPa.
    pub levels: Vec<f64>,
    /// Files that have it.
    pub n_files: usize,
    /// Times that it has.
    pub n_times: usize,
    /// Its first and last time.
    pub span: Option<(Time, Time)>,
    /// Least and greatest value and their mean; none where all are missing.
    pub range: Option<(f64, f64, f64)>,
    /// Missing values, and all.
    pub missing: (u64, u64),
    /// Fill values that the files do not declare, which count as missing, and how many there are.
    pub fills: Vec<(f32, usize)>,
    /// Places, of every level, without a value at any time, and all; none where files have different
    /// levels of it.
    pub absent: Option<(usize, usize)>,
    /// Whether it would be used.
    pub used: bool,
}

/// What an archive holds.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Latitudes: how many, or the rows of a curvilinear grid, the least and the greatest.
    pub lat: (usize, f64, f64),
    /// Longitudes, or columns.
    pub lon: (usize, f64, f64),
    /// Times of all files together.
    pub times: Vec<Time>,
    /// Seconds from one to the next, mostly.
    pub step_s: i64,
    /// Times before and behind each longer step.
    pub gaps: Vec<(Time, Time)>,
    /// Its variables.
    pub variables: Vec<Summary>,
    /// Arrays that are not on the grid.
    pub others: Vec<String>,
    /// What a user may not expect.
    pub notes: Vec<String>,
    /// Records and channels that would be used, or why the archive would be refused.
    pub verdict: std::result::Result<(usize, Vec<String>), String>,
}

/// What is seen of a variable.
struct Sums {
    /// Level by level of the summary; one without levels.
    seen: Vec<Seen>,
    /// Whether each place has a value at some time, and the levels in whose order.
    known: Vec<bool>,
    levels: Vec<f64>,
}

impl Sums {
    /// Adds fields, of which each is for the level with this number.
    fn add(&mut self, fields: &[f32], levels: &[usize]) {
        if self.known.is_empty() {
            self.known = vec![false; fields.len()];
        }
        for (known, &x) in self.known.iter_mut().zip(fields) {
            *known |= is_number(x) && !FILLS.contains(&x);
        }
        let n = fields.len() / levels.len().max(1);
        for (field, &level) in fields.chunks_exact(n.max(1)).zip(levels) {
            field.iter().for_each(|&x| self.seen[level].take(x));
        }
    }
}

impl Inspection {
    /// Looks at files, one field after the other.
    ///
    /// # Errors
    /// A file cannot be read, or their grids differ.
    pub fn new(paths: &[PathBuf], chosen: &Chosen) -> Result<Self> {
        let parts = Parts::open(paths, &chosen.reading)?;
        let merged = Merged::new(&parts, chosen);
        let merged = merged.and_then(|merged| {
            check_number(&merged.times, RECORDS_MIN)?;
            Ok(merged)
        });
        let mut notes: Vec<String> = Vec::new();
        let mut others: Vec<String> = Vec::new();
        let mut times: Vec<Time> = Vec::new();
        let mut variables: Vec<(Summary, Sums)> = Vec::new();
        for (k, part) in parts.all.iter().enumerate() {
            notes.extend(part.file.notes.iter().cloned());
            others.extend(part.file.others.iter().cloned());
            times.extend(&part.file.axes.times);
            for v in 0..part.file.variables.len() {
                let used = merged.as_ref().is_ok_and(|merged| {
                    !merged.levels_of(k, v).is_empty() || merged.statics.contains(&(k, v))
                });
                take(part, v, used, &mut variables)?;
            }
        }
        for list in [&mut notes, &mut others] {
            list.sort();
            list.dedup();
        }
        times.sort_unstable();
        times.dedup();
        let step_s = usual_step(&times);
        let pairs = times.windows(2).map(|pair| (pair[0], pair[1]));
        let gaps = pairs.filter(|(a, b)| b.0 - a.0 > step_s).collect();
        let axes = &parts.all[0].file.axes;
        let ends = |axis: &[f64], n: Option<usize>| {
            let start = (f64::INFINITY, f64::NEG_INFINITY);
            let ends = axis.iter().fold(start, |(a, b), &x| (a.min(x), b.max(x)));
            (n.unwrap_or(axis.len()), ends.0, ends.1)
        };
        let variables: Vec<Summary> = variables.into_iter().map(finished).collect();
        let verdict = match merged {
            Ok(merged) => {
                notes.extend(variables.iter().filter_map(holes));
                notes.extend(variables.iter().flat_map(undeclared));
                notes.extend(merged.notes);
                let labels = merged.courses.iter().map(|c| c.channel.label());
                let used = (merged.times.len(), labels.collect());
                refused(&variables, chosen).map_or(Ok(used), Err)
            }
            Err(error) => Err(error.to_string()),
        };
        Ok(Inspection {
            lat: ends(&axes.lat, axes.curved.map(|shape| shape.0)),
            lon: ends(&axes.lon, axes.curved.map(|shape| shape.1)),
            times,
            step_s,
            gaps,
            variables,
            others,
            notes,
            verdict,
        })
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let axis =
            |(n, first, last): (usize, f64, f64)| json!({"n": n, "first": first, "last": last});
        let ends = self.times.first().zip(self.times.last());
        let variables = self.variables.iter().map(|v| {
            json!({
                "variable": v.name, "in_file": v.file_name, "long_name": v.long_name,
                "units": v.units.0, "units_in_file": v.units.1, "static": v.dims == Dims::Fixed,
                "levels_hpa": v.levels, "files": v.n_files, "times": v.n_times,
                "first": v.span.map(|s| s.0.iso()), "last": v.span.map(|s| s.1.iso()),
                "min": v.range.map(|r| r.0), "max": v.range.map(|r| r.1),
                "mean": v.range.map(|r| r.2), "missing": v.missing.0, "values": v.missing.1,
                "places_without_values": v.absent.map(|a| a.0), "places": v.absent.map(|a| a.1),
                "used": v.used,
            })
        });
        let gaps = self.gaps.iter().map(|(a, b)| json!([a.iso(), b.iso()]));
        json!({
            "latitudes": axis(self.lat), "longitudes": axis(self.lon),
            "times": self.times.len(),
            "first": ends.map(|e| e.0.iso()), "last": ends.map(|e| e.1.iso()),
            "step_hours": self.step_s as f64 / 3600.0,
            "gaps": gaps.collect::<Vec<Value>>(),
            "variables": variables.collect::<Vec<Value>>(),
            "off_the_grid": self.others, "notes": self.notes,
            "records_used": self.verdict.as_ref().ok().map(|v| v.0),
            "channels_used": self.verdict.as_ref().ok().map(|v| &v.1),
            "refused": self.verdict.as_ref().err(),
        })
    }
}

/// Where a variable that is used lacks values: at places of its own, or now and then.
fn holes(v: &Summary) -> Option<String> {
    let (n_absent, n_places) = v.absent.filter(|_| v.used && v.missing.0 > 0)?;
    if n_absent == 0 || v.dims == Dims::Fixed {
        return None;
    }
    let elsewhere = 1.0 - n_absent as f64 / n_places as f64;
    let all = v.missing.1 as f64;
    let gaps = v.missing.0 as f64 - all * (1.0 - elsewhere);
    let share = 100.0 * gaps / (all * elsewhere).max(1.0);
    Some(format!(
        "{} has no value at any time at {n_absent} of {n_places} places; elsewhere {share:.2} % are missing",
        v.name
    ))
}

/// Fill values of a variable that is used which its files do not declare.
fn undeclared(v: &Summary) -> impl Iterator<Item = String> + '_ {
    let all = v.fills.iter().filter(|_| v.used && v.dims != Dims::Fixed);
    all.map(|(x, n)| {
        format!(
            "{} is {x:e} in {n} values: a fill value that the file does not declare, which counts as missing",
            v.name
        )
    })
}

/// Which variables have missing values that would be refused.
fn refused(variables: &[Summary], chosen: &Chosen) -> Option<String> {
    let holes = |v: &&Summary| v.used && v.dims != Dims::Fixed && v.missing.0 > 0;
    let names: Vec<&str> = variables
        .iter()
        .filter(holes)
        .map(|v| v.name.as_str())
        .collect();
    let asked = chosen.reading.missing == Missing::Refuse && !names.is_empty();
    asked.then(|| {
        format!(
            "values of {} are missing; they are used with ⟨missing mask⟩, ⟨missing fill⟩ or ⟨missing leave-out⟩",
            names.join(", ")
        )
    })
}

/// Takes a variable of a file in.
fn take(part: &Part, at: usize, used: bool, all: &mut Vec<(Summary, Sums)>) -> Result<()> {
    let (held, meaning): (&Held, _) = (&part.file.variables[at], &part.meanings[at]);
    let known = all
        .iter()
        .position(|(summary, _)| summary.name == meaning.name);
    let known = known.unwrap_or_else(|| {
        let summary = Summary {
            name: meaning.name.clone(),
            file_name: held.name.clone(),
            long_name: held.long_name.clone(),
            units: (
                meaning.units.clone(),
                held.units.clone().unwrap_or_default(),
            ),
            converted: meaning.conversion != (1.0, 0.0),
            dims: held.dims,
            levels: Vec::new(),
            n_files: 0,
            n_times: 0,
            span: None,
            range: None,
            missing: (0, 0),
            fills: Vec::new(),
            absent: Some((0, 0)),
            used: false,
        };
        let sums = Sums {
            seen: Vec::new(),
            known: Vec::new(),
            levels: held.levels.clone(),
        };
        all.push((summary, sums));
        all.len() - 1
    });
    let (summary, sums) = &mut all[known];
    summary.n_files += 1;
    if sums.levels != held.levels {
        summary.absent = None;
    }
    summary.used |= used;
    for level in &held.levels {
        if !summary.levels.contains(level) {
            summary.levels.push(*level);
        }
    }
    if held.dims != Dims::Fixed {
        let times = &part.file.axes.times;
        summary.n_times += times.len();
        if let (Some(&first), Some(&last)) = (times.iter().min(), times.iter().max()) {
            let (a, b) = summary.span.unwrap_or((first, last));
            summary.span = Some((a.min(first), b.max(last)));
        }
    }
    let levels: Vec<usize> = (0..held.levels.len().max(1)).collect();
    let place = |level: &f64| summary.levels.iter().position(|other| other == level);
    let places: Vec<usize> = match held.levels.is_empty() {
        true => vec![0],
        false => held.levels.iter().filter_map(place).collect(),
    };
    let most = summary.levels.len().max(1);
    sums.seen.resize_with(most, Seen::nothing);
    let read = part
        .file
        .read_as(held, &levels, meaning.conversion, |_, fields| {
            sums.add(fields, &places)
        });
    read.map_err(|error| error.context(format!("{}: `{}`", part.path, held.name)))
}

fn finished((mut summary, sums): (Summary, Sums)) -> Summary {
    let start = (0, f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let all = sums.seen.iter().map(Seen::without_fills);
    let (missing, low, high, sum) = all.fold(start, |all, one| {
        let ends = (all.1.min(one.1), all.2.max(one.2));
        (all.0 + one.0, ends.0, ends.1, all.3 + one.3)
    });
    let n: usize = sums.seen.iter().map(|seen| seen.n).sum();
    summary.missing = (missing as u64, n as u64);
    for (x, count) in sums.seen.iter().flat_map(Seen::counted_fills) {
        match summary.fills.iter_mut().find(|(other, _)| *other == x) {
            Some((_, all)) => *all += count,
            None => summary.fills.push((x, count)),
        }
    }
    let n_absent = sums.known.iter().filter(|known| !**known).count();
    summary.absent = summary.absent.map(|_| (n_absent, sums.known.len()));
    summary.range = (n > missing).then(|| (low, high, sum / (n - missing) as f64));
    summary
}
