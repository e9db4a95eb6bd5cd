//! Which channels the files of an archive have together, and at which times.

use super::archive::{Channel, Chosen, KNOWN};
use super::names::{Meaning, Names};
use super::parts::{Part, Parts};
use super::times::{check_order, common};
use crate::files::{Dims, Held};
use crate::time::Time;
use fitzroy::{Error, Result};

/// Levels this near to each other are the same, hPa.
const SAME_HPA: f64 = 0.01;

/// A channel and where its records are.
pub(super) struct Course {
    pub(super) channel: Channel,
    /// Files that have it, the number of the variable in each, and which of its levels it is.
    places: Vec<(usize, usize, usize)>,
    /// Its times, and the file each is in; ascending.
    pub(super) times: Vec<(Time, usize)>,
}

/// What the files have together.
pub(super) struct Merged {
    pub(super) courses: Vec<Course>,
    /// Times at which all channels are there.
    pub(super) times: Vec<Time>,
    /// Files and variables with fields that do not change.
    pub(super) statics: Vec<(usize, usize)>,
    /// What a user may not expect.
    pub(super) notes: Vec<String>,
}

/// A variable of a file.
#[derive(Clone, Copy)]
struct Entry<'a> {
    part: usize,
    variable: usize,
    held: &'a Held,
    meaning: &'a Meaning,
}

impl Merged {
    /// # Errors
    /// A variable or level is missing or of foreign units; times repeat, are out of order, or none
    /// are common to all channels.
    pub(super) fn new(parts: &Parts, chosen: &Chosen) -> Result<Self> {
        let mut notes = Vec::new();
        let (moving, statics) = entries(parts, &mut notes);
        let names = wanted(parts, &moving, chosen)?;
        let mut courses = Vec::new();
        for name in &names {
            let own: Vec<Entry<'_>> = moving
                .iter()
                .filter(|e| e.meaning.name == *name)
                .copied()
                .collect();
            let Some(first) = own.first() else {
                return Err(missing(parts, name));
            };
            check_units(&parts.all[first.part], first, &chosen.reading.names)?;
            courses.extend(levels_of(parts, name, &own, chosen)?);
        }
        if courses.is_empty() {
            return Err(off_the_grid(&parts.all[0]));
        }
        for course in &mut courses {
            course.order(parts)?;
        }
        let times = common(&courses, &mut notes)?;
        Ok(Merged {
            courses,
            times,
            statics,
            notes,
        })
    }

    /// The channels that a variable of a file has, and which of its levels each is.
    pub(super) fn levels_of(&self, part: usize, variable: usize) -> Vec<(usize, usize)> {
        let channels = self.courses.iter().enumerate();
        let own = channels.flat_map(|(channel, course)| {
            let places = course.places.iter();
            let here = places.filter(|place| (place.0, place.1) == (part, variable));
            here.map(move |place| (channel, place.2))
        });
        own.collect()
    }

    /// The file in which a channel has a time.
    pub(super) fn path_of<'a>(&self, parts: &'a Parts, channel: usize, time: Time) -> &'a str {
        let times = &self.courses[channel].times;
        let at = times.binary_search_by_key(&time, |(time, _)| *time);
        &parts.all[at.map_or(0, |at| times[at].1)].path
    }
}

impl Course {
    /// Collects its times from the files.
    fn order(&mut self, parts: &Parts) -> Result<()> {
        for &(part, ..) in &self.places {
            let own = &parts.all[part];
            check_order(own)?;
            let times = own.file.axes.times.iter();
            self.times.extend(times.map(|&time| (time, part)));
        }
        self.times.sort();
        let again = self.times.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some(pair) = again {
            return Err(Error::data(format!(
                "time repeats: {} of {} is in {} and in {}; keep it in one of them",
                pair[0].0.iso(),
                self.channel.label(),
                parts.all[pair[0].1].path,
                parts.all[pair[1].1].path
            )));
        }
        Ok(())
    }
}

/// Variables over time, and fields that do not change: those without times, and those of a single
/// time where others have more.
fn entries<'a>(parts: &'a Parts, notes: &mut Vec<String>) -> (Vec<Entry<'a>>, Vec<(usize, usize)>) {
    let all: Vec<Entry<'a>> = parts
        .all
        .iter()
        .enumerate()
        .flat_map(|(part, of)| {
            let pairs = of.file.variables.iter().zip(&of.meanings).enumerate();
            pairs.map(move |(variable, (held, meaning))| Entry {
                part,
                variable,
                held,
                meaning,
            })
        })
        .collect();
    let n_times = |name: &str| {
        let own = all.iter().filter(|e| e.meaning.name == name);
        let times = own.filter(|e| e.held.dims != Dims::Fixed);
        times
            .map(|e| parts.all[e.part].file.axes.times.len())
            .sum::<usize>()
    };
    let most = all.iter().map(|e| n_times(&e.meaning.name)).max();
    let (mut moving, mut statics) = (Vec::new(), Vec::new());
    for entry in &all {
        match entry.held.dims {
            Dims::Fixed => statics.push((entry.part, entry.variable)),
            Dims::Time if most > Some(1) && n_times(&entry.meaning.name) == 1 => {
                notes.push(format!(
                    "`{}` has one time alone and is taken as a static field",
                    entry.meaning.name
                ));
                statics.push((entry.part, entry.variable));
            }
            _ => moving.push(*entry),
        }
    }
    (moving, statics)
}

/// Names of the variables to use.
fn wanted(parts: &Parts, moving: &[Entry<'_>], chosen: &Chosen) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    if !chosen.variables.is_empty() {
        for name in &chosen.variables {
            // By its name here, or by that of a file.
            let here = moving.iter().find(|e| e.meaning.name == *name);
            let found = here.or_else(|| moving.iter().find(|e| e.held.name == *name));
            let found = found.ok_or_else(|| missing(parts, name))?;
            if !names.contains(&found.meaning.name) {
                names.push(found.meaning.name.clone());
            }
        }
        return Ok(names);
    }
    let known = moving.iter().any(|e| KNOWN.contains(&e.held.name.as_str()));
    for name in KNOWN {
        if moving.iter().any(|e| e.meaning.name == *name) {
            names.push(name.to_string());
        }
    }
    if !known {
        let mut others: Vec<String> = moving.iter().map(|e| e.meaning.name.clone()).collect();
        others.retain(|name| !names.contains(name));
        others.sort();
        others.dedup();
        names.extend(others);
    }
    Ok(names)
}

/// The channels of a variable: its levels, in the order of the files.
fn levels_of(parts: &Parts, name: &str, own: &[Entry<'_>], chosen: &Chosen) -> Result<Vec<Course>> {
    let mut found: Vec<Course> = Vec::new();
    for entry in own {
        let levels: Vec<Option<f64>> = match entry.held.levels.is_empty() {
            true => vec![None],
            false => entry.held.levels.iter().copied().map(Some).collect(),
        };
        for (at, level) in levels.into_iter().enumerate() {
            let place = (entry.part, entry.variable, at);
            let same = found.iter_mut().find(|c| same(c.channel.level, level));
            match same {
                Some(course) => course.places.push(place),
                None => found.push(Course {
                    channel: Channel {
                        variable: name.into(),
                        level,
                        units: entry.meaning.units.clone(),
                    },
                    places: vec![place],
                    times: Vec::new(),
                }),
            }
        }
    }
    if chosen.levels.is_empty() {
        return Ok(found);
    }
    let mut picked = Vec::new();
    let has: Vec<String> = found
        .iter()
        .filter_map(|c| c.channel.level.map(|p| p.to_string()))
        .collect();
    for &level in &chosen.levels {
        match found
            .iter()
            .position(|c| same(c.channel.level, Some(level)))
        {
            Some(at) => picked.push(found.remove(at)),
            None if has.is_empty() => {}
            None => {
                return Err(Error::data(format!(
                    "{}: `{name}` has no level {level} hPa; the file has {}",
                    parts.all[own[0].part].path,
                    has.join(", ")
                )));
            }
        }
    }
    // What has no levels is not chosen by them.
    picked.extend(found.into_iter().filter(|c| c.channel.level.is_none()));
    Ok(picked)
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < SAME_HPA,
        (None, None) => true,
        _ => false,
    }
}

fn check_units(part: &Part, entry: &Entry<'_>, names: &Names) -> Result<()> {
    let meaning = entry.meaning;
    let Some(needed) = names.units(&meaning.name) else {
        return Ok(());
    };
    if !KNOWN.contains(&meaning.name.as_str()) || meaning.units == needed {
        return Ok(());
    }
    Err(Error::data(format!(
        "{}: `{}` is in `{}`, needed is {needed}; convert it first",
        part.path, meaning.name, meaning.units
    )))
}

fn missing(parts: &Parts, variable: &str) -> Error {
    let mut held: Vec<&str> = Vec::new();
    for part in &parts.all {
        for (v, meaning) in part.file.variables.iter().zip(&part.meanings) {
            for name in [meaning.name.as_str(), v.name.as_str()] {
                if !held.contains(&name) {
                    held.push(name);
                }
            }
        }
    }
    let has = if held.is_empty() {
        "none".to_string()
    } else {
        held.join(", ")
    };
    let what = match parts.all.len() {
        1 => "the file has",
        _ => "the files have",
    };
    Error::data(format!(
        "{}: variable `{variable}` is missing; on the grid (time, [level,] lat, lon) {what} {has}",
        parts.all[0].path
    ))
}

/// Nothing lies on the axes: says what they are and what there is.
fn off_the_grid(part: &Part) -> Error {
    let (path, axes) = (&part.path, &part.file.axes);
    if axes.times.is_empty() {
        return Error::data(format!(
            "{path}: there is no time axis (time, valid_time, or units such as `hours since \
             1970-01-01`); the file has {}",
            part.file.names.join(", ")
        ));
    }
    let others = match part.file.others.is_empty() {
        true => "axes and static fields alone".to_string(),
        false => part.file.others.join(", "),
    };
    Error::data(format!(
        "{path}: no variable lies on (time, [level,] lat, lon), of {} times, {} latitudes and {} \
         longitudes; the file has {others}",
        axes.times.len(),
        axes.lat.len(),
        axes.lon.len()
    ))
}
