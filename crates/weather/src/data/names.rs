//! What variables are called in archives of others, and the units they are brought to.

use super::units::{conversion, rate};
use crate::files::{AxisNames, Dims, Held};
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;
use toml::{Table, Value};

/// The table that comes along, in the form that users extend.
const BUILT_IN: &str = include_str!("names.toml");

/// What variables and axes are called.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    rows: Vec<Row>,
    /// Names of axes.
    pub axes: AxisNames,
    /// What a user has added to the table that comes along, as it was written.
    added: String,
}

/// A variable and its other names.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    name: String,
    names: Vec<String>,
    standard_names: Vec<String>,
    units: Option<String>,
    /// Only with levels, or only without.
    levels: Option<bool>,
}

/// What a variable of a file is here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) name: String,
    pub(super) units: String,
    /// Its numbers are to be multiplied by the first, and the second added.
    pub(super) conversion: (f64, f64),
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            rows: Vec::new(),
            axes: AxisNames::default(),
            added: String::new(),
        };
        let read = names.extend(BUILT_IN);
        debug_assert!(read.is_ok(), "{read:?}");
        names
    }
}

impl Names {
    /// The table that comes along with what a file of the same form adds to it.
    ///
    /// # Errors
    /// The file cannot be read, or is not of that form. The message begins with the path.
    pub fn with_file(path: &Path) -> Result<Self> {
        let context = |error: Error| error.context(path.display());
        let text = std::fs::read_to_string(path)
            .map_err(|e| context(Error::new(ErrorKind::Io, e.to_string())))?;
        Self::with_text(text).map_err(context)
    }

    /// The table that comes along with what a text of the same form adds to it.
    ///
    /// # Errors
    /// The text is not of that form.
    pub fn with_text(text: String) -> Result<Self> {
        let mut names = Names::default();
        names.extend(&text)?;
        names.added = text;
        Ok(names)
    }

    /// What was added to the table that comes along, as it was written.
    pub fn added(&self) -> &str {
        &self.added
    }

    /// Adds what a text says: a table a variable, with `names`, `standard_names`, `units` and
    /// `levels`, and `[axes]` with `time`, `level`, `lat` and `lon`. Names that it gives come
    /// before those that were there.
    fn extend(&mut self, text: &str) -> Result<()> {
        let wrong = |message: String| Error::new(ErrorKind::Data, message);
        let table: Table = text
            .parse()
            .map_err(|e: toml::de::Error| wrong(e.to_string().trim_end().to_string()))?;
        for (name, value) in &table {
            let Value::Table(fields) = value else {
                return Err(wrong(format!(
                    "`{name}` must be a table: [{name}] with names = [\"...\"], units = \"...\""
                )));
            };
            let context = |error: Error| error.context(format!("[{name}]"));
            match name.as_str() {
                "axes" => self.extend_axes(fields).map_err(context)?,
                name => self.extend_row(name, fields).map_err(context)?,
            }
        }
        Ok(())
    }

    fn extend_axes(&mut self, fields: &Table) -> Result<()> {
        for (field, value) in fields {
            let to = match field.as_str() {
                "time" => &mut self.axes.time,
                "level" => &mut self.axes.level,
                "lat" => &mut self.axes.lat,
                "lon" => &mut self.axes.lon,
                other => return Err(unknown(other, "time, level, lat and lon")),
            };
            prepend(to, texts(field, value)?);
        }
        Ok(())
    }

    fn extend_row(&mut self, name: &str, fields: &Table) -> Result<()> {
        let at = self.rows.iter().position(|row| row.name == name);
        let at = at.unwrap_or_else(|| {
            self.rows.push(Row {
                name: name.into(),
                ..Row::default()
            });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("names", _) => prepend(&mut row.names, texts(field, value)?),
                ("standard_names", _) => prepend(&mut row.standard_names, texts(field, value)?),
                ("units", Value::String(units)) => row.units = Some(units.clone()),
                ("levels", Value::Boolean(levels)) => row.levels = Some(*levels),
                ("units", _) => return Err(Error::data("`units` must be a text")),
                ("levels", _) => return Err(Error::data("`levels` must be true or false")),
                (other, _) => {
                    return Err(unknown(other, "names, standard_names, units and levels"));
                }
            }
        }
        Ok(())
    }

    /// The units that numbers of a variable are brought to, if it is in the table.
    pub(super) fn units(&self, name: &str) -> Option<&str> {
        let row = self.rows.iter().find(|row| row.name == name)?;
        row.units.as_deref()
    }

    /// What the variables of a file are here, one by one. A name that two of them could have goes
    /// to that which has it already, or to the first; the other keeps its own.
    ///
    /// Rates of what is counted by the step become amounts of a step of `step_s` seconds.
    pub(super) fn meanings(&self, all: &[Held], step_s: Option<i64>) -> Vec<Meaning> {
        let own = |held: &Held| Meaning {
            name: held.name.clone(),
            units: held.units.clone().unwrap_or_default(),
            conversion: (1.0, 0.0),
        };
        let mut found: Vec<Meaning> = Vec::new();
        for (k, held) in all.iter().enumerate() {
            let meaning = self.row(held).and_then(|row| {
                let taken = found.iter().any(|m| m.name == row.name);
                let named = all.iter().skip(k + 1).any(|other| other.name == row.name);
                let free = held.name == row.name || !taken && !named;
                free.then_some(())?;
                let wanted = row.units.clone()?;
                let conversion = match held.units.as_deref().unwrap_or_default() {
                    "" => (1.0, 0.0),
                    units => conversion(units, &wanted).or_else(|| {
                        let (counted, seconds) = rate(units)?;
                        let (scale, offset) = conversion(&counted, &wanted)?;
                        Some((scale * step_s? as f64 / seconds, offset))
                    })?,
                };
                Some(Meaning {
                    name: row.name.clone(),
                    units: wanted,
                    conversion,
                })
            });
            found.push(meaning.unwrap_or_else(|| own(held)));
        }
        found
    }

    fn row(&self, held: &Held) -> Option<&Row> {
        let with_levels = !held.levels.is_empty();
        let fits = |row: &&Row| row.levels.is_none_or(|levels| levels == with_levels);
        let rows = || self.rows.iter().filter(fits);
        // Under its own name a variable is meant, with levels or without.
        let own = self.rows.iter().find(|row| row.name == held.name);
        let named = || rows().find(|row| row.names.contains(&held.name));
        let standard = || {
            let name = held.standard_name.as_ref()?;
            let over_time = held.dims != Dims::Fixed;
            let found = rows().find(|row| row.standard_names.contains(name));
            found.filter(|_| over_time)
        };
        // What has no row of its own keeps its units.
        own.or_else(named)
            .or_else(standard)
            .filter(|row| row.units.is_some())
    }
}

fn unknown(field: &str, known: &str) -> Error {
    Error::data(format!("`{field}` is not known; known are {known}"))
}

fn texts(field: &str, value: &Value) -> Result<Vec<String>> {
    let list = value.as_array().map(|list| {
        let text = |v: &Value| v.as_str().map(str::to_string);
        list.iter().map(text).collect::<Option<Vec<String>>>()
    });
    list.flatten()
        .ok_or_else(|| Error::data(format!("`{field}` must be a list of texts")))
}

fn prepend(to: &mut Vec<String>, mut first: Vec<String>) {
    first.append(to);
    *to = first;
}
