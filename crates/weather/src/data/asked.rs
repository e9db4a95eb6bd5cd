//! How files are read: what is asked for, and what a checkpoint remembers of a training.

use super::accumulated::Accumulation;
use super::archive::Reading;
use super::missing::Missing;
use super::names::Names;
use crate::files::Region;
use fitzroy::{Error, Named, Result};
use serde_json::{Value, json};

/// How files are to be read, as far as somebody says.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What variables and axes are called.
    pub names: Option<Names>,
    /// What is done about missing values.
    pub missing: Option<Missing>,
    /// A part of the grid.
    pub region: Option<Region>,
    /// What the numbers of rain are.
    pub accumulation: Option<Accumulation>,
}

impl Asked {
    /// What was asked for, and for the rest what `saved` says.
    pub fn over(&self, saved: Reading) -> Reading {
        Reading {
            names: self.names.clone().unwrap_or(saved.names),
            missing: self.missing.unwrap_or(saved.missing),
            region: self.region.or(saved.region),
            accumulation: self.accumulation.unwrap_or(saved.accumulation),
        }
    }
}

impl Reading {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let region = self.region.map(|r| [r.south, r.north, r.west, r.east]);
        let mut all = json!({
            "names": self.names.added(), "missing": self.missing.setting(), "region": region,
        });
        if self.accumulation != Accumulation::default() {
            all["accumulation"] = self.accumulation.setting().into();
        }
        all
    }

    /// From JSON; what is missing there is as if nothing had been said.
    ///
    /// # Errors
    /// The table of names is none.
    pub fn from_json(value: &Value) -> Result<Self> {
        let side = |k: usize| value["region"][k].as_f64();
        let region = (|| {
            Some(Region {
                south: side(0)?,
                north: side(1)?,
                west: side(2)?,
                east: side(3)?,
            })
        })();
        let missing = value["missing"].as_str().unwrap_or_default();
        let known = Missing::NAMES.iter().find(|(name, _)| *name == missing);
        let kind = value["accumulation"].as_str().unwrap_or_default();
        let kind = Accumulation::NAMES.iter().find(|(name, _)| *name == kind);
        let names = value["names"].as_str().unwrap_or_default();
        Ok(Reading {
            names: Names::with_text(names.to_string())
                .map_err(|e: Error| e.context("the checkpoint's table of names"))?,
            missing: known.map_or(Missing::default(), |(_, missing)| *missing),
            region,
            accumulation: kind.map_or(Accumulation::default(), |(_, kind)| *kind),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a checkpoint keeps is read again as it was; an older one keeps nothing; what is asked
    /// for comes before both.
    #[test]
    fn how_files_were_read_is_remembered() {
        let text = "[t2m]\nnames = [\"TMP_2maboveground\"]\n[axes]\ntime = [\"when\"]\n";
        let region = Some(Region {
            south: 35.0,
            north: 60.5,
            west: 350.0,
            east: 30.0,
        });
        let reading = Reading {
            names: Names::with_text(text.into()).unwrap(),
            missing: Missing::LeaveOut,
            region,
            accumulation: Accumulation::Total,
        };
        let text = reading.to_json().to_string();
        let again = Reading::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again.names, reading.names);
        assert_eq!((again.missing, again.region), (Missing::LeaveOut, region));
        assert_eq!(again.accumulation, Accumulation::Total);
        let old = Reading::from_json(&Value::Null).unwrap();
        assert_eq!(old.names, Names::default());
        assert_eq!((old.missing, old.region), (Missing::Refuse, None));
        let asked = Asked {
            missing: Some(Missing::Fill),
            ..Asked::default()
        };
        let both = asked.over(again);
        assert_eq!((both.missing, both.region), (Missing::Fill, region));
        assert_eq!(both.names, reading.names);
        let wrong = Reading::from_json(&json!({"names": "[a]\nb = 1"})).unwrap_err();
        assert!(wrong.to_string().contains("table of names"), "{wrong}");
    }
}
