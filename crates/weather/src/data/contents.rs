//! What files hold, and what of it is used.

use super::archive::{Channel, KNOWN};
use super::check::{Spread, belied};
use super::merge::Merged;
use super::names::Meaning;
use super::parts::Parts;
use crate::files::{Dims, Held};
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// What files hold, and what of it is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Channels that are used, and the spread of their numbers.
    pub used: Vec<(Channel, Option<Spread>)>,
    /// Variables over time that are not used.
    pub unused: Vec<String>,
    /// Static fields that are used.
    pub statics: Vec<String>,
    /// What was read otherwise than it stands in the file, and what looks odd.
    pub notes: Vec<String>,
    /// Whether rain was a total, of which the changes were taken.
    pub accumulated: bool,
}

impl Contents {
    pub(super) fn new(parts: &Parts, merged: &Merged) -> Self {
        let channels: Vec<Channel> = merged.courses.iter().map(|c| c.channel.clone()).collect();
        let (mut unused, mut notes) = (Vec::new(), Vec::new());
        let mut note = |text: String| {
            if !notes.contains(&text) {
                notes.push(text);
            }
        };
        for (k, part) in parts.all.iter().enumerate() {
            part.file.notes.iter().cloned().for_each(&mut note);
            for (v, (held, meaning)) in part.file.variables.iter().zip(&part.meanings).enumerate() {
                let used = channels.iter().any(|c| c.variable == meaning.name);
                if !used && held.dims != Dims::Fixed && !merged.statics.contains(&(k, v)) {
                    unused.push(meaning.name.clone());
                }
                if used {
                    read_as(held, meaning).into_iter().for_each(&mut note);
                }
            }
        }
        merged.notes.iter().cloned().for_each(&mut note);
        unused.sort();
        unused.dedup();
        Contents {
            used: channels.into_iter().map(|c| (c, None)).collect(),
            unused,
            statics: Vec::new(),
            notes,
            accumulated: false,
        }
    }

    /// Takes the spreads of the channels.
    pub(super) fn add(&mut self, spreads: &[Spread]) {
        for ((_, all), own) in self.used.iter_mut().zip(spreads) {
            *all = Some(*own);
        }
    }

    /// Refuses known variables whose numbers belie their units; notes others.
    pub(super) fn check(&mut self, path: &str) -> Result<()> {
        for (channel, spread) in &self.used {
            let Some(wrong) = spread.as_ref().and_then(|s| belied(channel, s)) else {
                continue;
            };
            if KNOWN.contains(&channel.variable.as_str()) {
                let message = format!("{path}: {wrong}; convert the numbers, or correct the units");
                return Err(Error::new(ErrorKind::Data, message));
            }
            self.notes.push(wrong);
        }
        Ok(())
    }

    /// A line for each channel, and one for each thing to know.
    pub fn lines(&self) -> Vec<String> {
        let line = |(channel, spread): &(Channel, Option<Spread>)| {
            let units = if channel.units.is_empty() {
                "units unknown"
            } else {
                &channel.units
            };
            let range = spread.map_or(String::new(), |s| {
                format!(", {:.6} to {:.6}, mean {:.6}", s.min, s.max, s.mean)
            });
            format!("uses {} [{units}]{range}", channel.label())
        };
        let mut lines: Vec<String> = self.used.iter().map(line).collect();
        if !self.statics.is_empty() {
            lines.push(format!(
                "uses the static fields {}",
                self.statics.join(", ")
            ));
        }
        lines.extend(self.warnings());
        lines
    }

    /// What a user may not expect.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = self.notes.clone();
        if !self.unused.is_empty() {
            let mut names: Vec<&str> = Vec::new();
            for (channel, _) in &self.used {
                if !names.contains(&channel.variable.as_str()) {
                    names.push(&channel.variable);
                }
            }
            names.extend(self.unused.iter().map(String::as_str));
            lines.push(format!(
                "not used: {}; to use them too: ⟨variables {}⟩",
                self.unused.join(", "),
                names.join(",")
            ));
        }
        lines
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let used = self.used.iter().map(|(channel, spread)| {
            json!({
                "variable": channel.variable, "level_hpa": channel.level, "units": channel.units,
                "min": spread.map(|s| s.min), "mean": spread.map(|s| s.mean),
                "max": spread.map(|s| s.max),
            })
        });
        json!({
            "used": used.collect::<Vec<Value>>(), "unused": self.unused,
            "static_fields": self.statics, "notes": self.notes,
        })
    }
}

/// What a variable was taken as, where that is not what the file says.
fn read_as(held: &Held, meaning: &Meaning) -> Option<String> {
    let units = held.units.as_deref().unwrap_or_default();
    let unknown = units.is_empty() && !meaning.units.is_empty();
    if unknown {
        return Some(format!(
            "`{}` of the file is read as {}; its units are not told and are taken for {}",
            held.name, meaning.name, meaning.units
        ));
    }
    if held.name == meaning.name && meaning.conversion == (1.0, 0.0) {
        return None;
    }
    let converted = match meaning.conversion {
        (1.0, 0.0) => String::new(),
        _ => format!(", from {units} to {}", meaning.units),
    };
    Some(format!(
        "`{}` of the file is read as {}{converted}",
        held.name, meaning.name
    ))
}
