//! Forecasts that others have made, a file for each initial time.

use super::archive::{Archive, Chosen};
use super::normaliser::Normaliser;
use super::values::Room;
use crate::files::FieldFile;
use crate::time::Time;
use fitzroy::{Error, Result};
use std::path::PathBuf;

/// Forecasts of others, normalised as the archive beside which they are scored.
#[derive(Clone, Debug, Default)]
pub struct Forecasts {
    /// Initial times, and states of later times.
    all: Vec<(Time, Archive)>,
}

impl Forecasts {
    /// Reads files, each the forecast of one initial time, with the channels `chosen` on the grid of
    /// `archive`.
    ///
    /// # Errors
    /// A file cannot be read, lacks a channel, is on another grid, or does not say when it was made.
    pub fn read(
        paths: &[PathBuf],
        chosen: &Chosen,
        archive: &Archive,
        normaliser: &Normaliser,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for path in paths {
            let context = |error: Error| error.context(format!("⟨forecast⟩ {}", path.display()));
            let names = &chosen.reading.names.axes;
            let file = FieldFile::open_with(path, names, chosen.reading.region.as_ref())?;
            let start = file.initial.ok_or_else(|| {
                context(Error::data(
                    "it does not say when the forecast was made: it needs a time of one place, as \
                     forecast_reference_time, beside the times that it is for, or the attribute \
                     initial_time; and one file for each forecast",
                ))
            })?;
            let own =
                Archive::read_at_least(1, std::slice::from_ref(path), chosen, &Room::in_memory());
            let (mut own, _) = own.map_err(context)?;
            same_grid(&own, archive).map_err(context)?;
            whole(&own, archive).map_err(context)?;
            normaliser.apply(&mut own)?;
            all.push((start, own));
        }
        all.sort_by_key(|(start, _)| *start);
        let twice = all.windows(2).find(|pair| pair[0].0 == pair[1].0);
        match twice {
            Some(pair) => Err(Error::data(format!(
                "⟨forecast⟩: two files are of {}",
                pair[0].0.iso()
            ))),
            None => Ok(Forecasts { all }),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The state that was forecast at `start` for `time`.
    pub fn state(&self, start: Time, time: Time) -> Option<&[f32]> {
        let at = self.all.binary_search_by_key(&start, |(start, _)| *start);
        let (_, own) = &self.all[at.ok()?];
        let record = own.times.binary_search(&time).ok()?;
        Some(own.record(record))
    }
}

/// Refuses values that are missing where the data have some: scores would be those of other places.
fn whole(own: &Archive, archive: &Archive) -> Result<()> {
    let n = own.channels.len();
    let absent = |at: usize| {
        let places = archive.absent.get(at % n);
        places.is_some_and(|all| all.get(at / n) == Some(&true))
    };
    for (t, time) in own.times.iter().enumerate() {
        let lost = (0..own.record_len()).find(|&at| own.is_missing(t, at) && !absent(at));
        if let Some(at) = lost {
            let (lat, lon) = own.place(at / n);
            return Err(Error::data(format!(
                "{} is missing for {} at {lat} N {lon} E, where the data have values; give forecasts without gaps",
                own.channels[at % n].label(),
                time.iso()
            )));
        }
    }
    Ok(())
}

/// Refuses another grid, or channels in another order.
fn same_grid(own: &Archive, archive: &Archive) -> Result<()> {
    let close = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
    };
    let told = |a: &Archive| {
        let ends = |v: &[f64]| (v.first().copied(), v.last().copied(), v.len());
        let ((south, north, rows), (west, east, columns)) = (ends(&a.lat), ends(&a.lon));
        let shown = |x: Option<f64>| x.map_or("none".into(), |x| x.to_string());
        format!(
            "{rows} latitudes from {} to {}, {columns} longitudes from {} to {}",
            shown(south),
            shown(north),
            shown(west),
            shown(east)
        )
    };
    if !close(&own.lat, &archive.lat) || !close(&own.lon, &archive.lon) {
        return Err(Error::data(format!(
            "its grid ({}) is not that of the data ({}); bring it to that grid, or use the same ⟨region⟩",
            told(own),
            told(archive)
        )));
    }
    let label = |a: &Archive| a.channels.iter().map(|c| c.label()).collect::<Vec<_>>();
    match label(own) == label(archive) {
        true => Ok(()),
        false => Err(Error::data("its channels are not those of the data")),
    }
}
