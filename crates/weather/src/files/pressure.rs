//! Levels of files: pressures in hPa, or something else.

use super::source::Array;
use fitzroy::{Error, Result};

/// No pressure level lies beneath this.
const HIGHEST_HPA: f64 = 1200.0;

/// Units of pressure, and hPa in one of them.
const UNITS: [(&str, f64); 15] = [
    ("Pa", 0.01),
    ("pascal", 0.01),
    ("pascals", 0.01),
    ("Pascals", 0.01),
    ("hPa", 1.0),
    ("hectopascal", 1.0),
    ("hectopascals", 1.0),
    ("mb", 1.0),
    ("mbar", 1.0),
    ("mbars", 1.0),
    ("millibar", 1.0),
    ("millibars", 1.0),
    ("Millibars", 1.0),
    ("millibarn", 1.0),
    ("kPa", 10.0),
];

/// hPa in a unit of the attribute; levels without units are in hPa.
fn scale(array: &Array<'_>) -> Option<f64> {
    let units = array.text("units").unwrap_or_default();
    let units = units.trim();
    let known = UNITS.iter().find(|(name, _)| *name == units);
    match units {
        "" => Some(1.0),
        _ => known.map(|(_, scale)| *scale),
    }
}

/// What levels are that are no pressures: by their units, by their name in the CF table or by what
/// the file says about them, or because they are counted.
///
/// # Errors
/// The file is damaged.
pub(super) fn not_pressures(array: &Array<'_>, name: &str) -> Result<Option<String>> {
    let text = |what: &str| array.text(what).unwrap_or_default();
    let (units, standard, long) = (text("units"), text("standard_name"), text("long_name"));
    if scale(array).is_none() {
        let more = match standard.as_str() {
            "" => String::new(),
            standard => format!(", standard_name `{standard}`"),
        };
        return Ok(Some(format!("units `{units}`{more}")));
    }
    if !units.is_empty() {
        return Ok(None); // Nominal pressures of hybrid levels among them.
    }
    if !standard.is_empty() && standard != "air_pressure" {
        return Ok(Some(format!("standard_name `{standard}`")));
    }
    let words = ["hybrid", "model", "sigma", "layer", "depth", "eta"];
    let mut said = long
        .split(|c: char| !c.is_alphabetic())
        .map(str::to_lowercase);
    if said.any(|word| words.contains(&word.as_str())) {
        return Ok(Some(format!("`{long}`")));
    }
    if standard.is_empty() && ["level", "lev"].contains(&name) && array.shape().len() == 1 {
        let values = array.values()?;
        let counted = values.len() > 2 && values.windows(2).all(|p| (p[1] - p[0]).abs() == 1.0);
        if counted {
            return Ok(Some(format!("numbers from {}", values[0])));
        }
    }
    Ok(None)
}

/// Pressure levels in hPa.
///
/// # Errors
/// They are too large for pressures of the air.
pub(super) fn pressures(array: &Array<'_>) -> Result<Vec<f64>> {
    let scale = scale(array).unwrap_or(1.0);
    let levels: Vec<f64> = array.values()?.iter().map(|p| p * scale).collect();
    match levels.iter().find(|p| **p > HIGHEST_HPA) {
        None => Ok(levels),
        Some(level) => Err(Error::data(format!(
            "level {level} hPa is no pressure level of the air; if it is in Pa, say so in the \
             attribute units of the level axis"
        ))),
    }
}
