//! Times of files and of channels: in order, and those that all channels have.

use super::merge::Course;
use super::parts::Part;
use crate::time::Time;
use fitzroy::{Error, Result};

/// Times at which all channels are there.
pub(super) fn common(courses: &[Course], notes: &mut Vec<String>) -> Result<Vec<Time>> {
    let has = |course: &Course, time: Time| {
        let found = course.times.binary_search_by_key(&time, |(time, _)| *time);
        found.is_ok()
    };
    let mut all: Vec<Time> = Vec::new();
    for course in courses {
        // Most channels have the times of the first.
        if !course.times.iter().map(|t| t.0).eq(all.iter().copied()) {
            all.extend(course.times.iter().map(|t| t.0));
            all.sort_unstable();
            all.dedup();
        }
    }
    let times: Vec<Time> = all
        .iter()
        .copied()
        .filter(|&time| courses.iter().all(|c| has(c, time)))
        .collect();
    let left_out = all.len() - times.len();
    if left_out == 0 {
        return Ok(times);
    }
    let lacks = all.iter().find_map(|&time| {
        let course = courses.iter().find(|c| !has(c, time))?;
        Some(format!("{} at {}", course.channel.label(), time.iso()))
    });
    let lacks = lacks.unwrap_or_default();
    if times.is_empty() {
        let span = |c: &Course| {
            let ends = c.times.first().zip(c.times.last());
            ends.map_or("no time".to_string(), |(a, b)| {
                format!("{} to {}", a.0.iso(), b.0.iso())
            })
        };
        let each = |c: &Course| format!("{}: {}", c.channel.label(), span(c));
        let some: Vec<String> = courses.iter().take(8).map(each).collect();
        return Err(Error::data(format!(
            "no time has all channels; {}; give files of the same times, or fewer ⟨variables⟩",
            some.join("; ")
        )));
    }
    notes.push(format!(
        "{left_out} of {} times are left out because a channel is missing then: the first is {lacks}",
        all.len()
    ));
    Ok(times)
}

/// Refuses times of a file that repeat or go back.
pub(super) fn check_order(part: &Part) -> Result<()> {
    for (k, pair) in part.file.axes.times.windows(2).enumerate() {
        if pair[1] <= pair[0] {
            let (what, cure) = match pair[1] == pair[0] {
                true => (
                    "repeats",
                    "keep each time once, as by xarray's drop_duplicates(\"time\")",
                ),
                false => (
                    "goes back",
                    "sort the records, as by xarray's sortby(\"time\")",
                ),
            };
            return Err(Error::data(format!(
                "{}: time {what}: record {} is {} after {}; {cure}",
                part.path,
                k + 1,
                pair[1].iso(),
                pair[0].iso()
            )));
        }
    }
    Ok(())
}

/// A window to learn from, and one to look at.
pub(super) const RECORDS_MIN: usize = 4;

/// Refuses fewer times than are needed.
pub(super) fn check_number(times: &[Time], least: usize) -> Result<()> {
    if times.len() < least {
        return Err(Error::data(format!(
            "{} records are too few to learn from",
            times.len()
        )));
    }
    Ok(())
}

/// The most frequent difference of neighbouring times.
pub(super) fn usual_step(times: &[Time]) -> i64 {
    let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    steps.sort_unstable();
    let runs = steps.chunk_by(|a, b| a == b);
    runs.max_by_key(|run| run.len()).map_or(1, |run| run[0])
}
