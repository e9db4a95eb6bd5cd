//! The files of an archive: opened, on one grid, and what their variables are here.

use super::archive::Reading;
use super::names::Meaning;
use super::times::usual_step;
use crate::files::FieldFile;
use fitzroy::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// A file of an archive.
pub(super) struct Part {
    pub(super) path: String,
    pub(super) file: FieldFile,
    /// What each of its variables is here.
    pub(super) meanings: Vec<Meaning>,
}

/// The files of an archive, by their first times; those without times last.
pub(super) struct Parts {
    pub(super) all: Vec<Part>,
}

impl Parts {
    /// # Errors
    /// None was given, one cannot be read, or their grids differ.
    pub(super) fn open(paths: &[PathBuf], reading: &Reading) -> Result<Self> {
        let mut all = Vec::new();
        for path in paths {
            let file = FieldFile::open_with(path, &reading.names.axes, reading.region.as_ref())?;
            all.push(Part {
                path: path.display().to_string(),
                meanings: reading.names.meanings(&file.variables, step_of(&file)),
                file,
            });
        }
        if all.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "⟨data⟩: no file was given"));
        }
        all.sort_by_key(|part| {
            let first = part.file.axes.times.first().copied();
            (first.is_none(), first)
        });
        check_grids(&all)?;
        Ok(Parts { all })
    }
}

/// Seconds from one time of a file to the next, mostly.
fn step_of(file: &FieldFile) -> Option<i64> {
    let times = &file.axes.times;
    let step_s = usual_step(times);
    (times.len() > 1 && step_s > 0).then_some(step_s)
}

fn check_grids(parts: &[Part]) -> Result<()> {
    let first = &parts[0];
    for part in &parts[1..] {
        let close = |a: &[f64], b: &[f64], turn: f64| {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|(a, b)| (a + turn - b).abs() < 1e-4)
        };
        let (a, b) = (&first.file.axes, &part.file.axes);
        if a.curved != b.curved {
            return Err(Error::data(format!(
                "{}: its grid has other rows and columns than that of {}; bring all files to one \
                 grid first",
                part.path, first.path
            )));
        }
        let turns = [0.0, 360.0, -360.0];
        for (name, a, b, turns) in [
            ("latitude", &a.lat, &b.lat, &turns[..1]),
            ("longitude", &a.lon, &b.lon, &turns[..]),
        ] {
            if !turns.iter().any(|&turn| close(a, b, turn)) {
                let range = |v: &[f64]| match (v.first(), v.last()) {
                    (Some(low), Some(high)) => format!("{} from {low} to {high}", v.len()),
                    _ => "none".into(),
                };
                return Err(Error::data(format!(
                    "{}: {name} ({}) differs from {} ({}); bring all files to one grid first",
                    part.path,
                    range(b),
                    first.path,
                    range(a)
                )));
            }
        }
    }
    Ok(())
}
