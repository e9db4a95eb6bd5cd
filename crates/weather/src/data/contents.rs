//! What files hold, and what of it is used.

use super::archive::{Channel, KNOWN};
use super::check::{Spread, belied};
use crate::files::{Dims, FieldFile};
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
}

impl Contents {
    pub(super) fn new(file: &FieldFile, channels: &[Channel]) -> Self {
        let over_time = file.variables.iter().filter(|v| v.dims != Dims::Fixed);
        let names = over_time.map(|v| v.name.clone());
        let mut unused: Vec<String> = names
            .filter(|name| channels.iter().all(|c| c.variable != *name))
            .collect();
        unused.sort();
        Contents {
            used: channels.iter().map(|c| (c.clone(), None)).collect(),
            unused,
            statics: Vec::new(),
            notes: file.notes.clone(),
        }
    }

    /// Takes the spreads of a further file in; means weigh alike.
    pub(super) fn add(&mut self, channels: &[Channel], spreads: &[Spread]) {
        debug_assert_eq!(channels.len(), self.used.len());
        for ((_, all), own) in self.used.iter_mut().zip(spreads) {
            *all = Some(all.map_or(*own, |all| Spread {
                min: all.min.min(own.min),
                mean: 0.5 * (all.mean + own.mean),
                max: all.max.max(own.max),
            }));
        }
    }

    /// Refuses known variables whose numbers belie their units; notes others.
    pub(super) fn check(&mut self, path: &str) -> Result<()> {
        for (channel, spread) in &self.used {
            let Some(wrong) = spread.as_ref().and_then(|s| belied(channel, s)) else {
                continue;
            };
            if KNOWN.iter().any(|(name, _)| *name == channel.variable) {
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
