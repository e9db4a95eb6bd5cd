//! Places that no chain visited: what a sampler notes of them in a trace.

use super::findings::{Finding, FindingKind};
use super::say;
use crate::draws::{Attribute, Trace};
use serde_json::{Value, json};

const KEY: &str = "fitzroy_place_missed";

/// A place at which further starts stayed, apart from all draws, at a log density like theirs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlaceMissed {
    /// The element that tells it best from the draws.
    pub(crate) element: String,
    /// Its median there.
    pub(crate) at: f64,
    /// Its least and largest value in the draws.
    pub(crate) range: (f64, f64),
    /// How many starts stayed at places that no chain visited.
    pub(crate) starts: usize,
}

impl PlaceMissed {
    /// Notes it among the attributes of `trace`.
    pub(crate) fn note(&self, trace: &mut Trace) {
        let text = json!({
            "element": self.element,
            "at": self.at,
            "least": self.range.0,
            "largest": self.range.1,
            "starts": self.starts,
        });
        let text = Attribute::Text(text.to_string());
        trace.attributes.push((KEY.into(), text));
    }

    /// What was noted in `trace`.
    pub(crate) fn of(trace: &Trace) -> Option<PlaceMissed> {
        let mut noted = trace.attributes.iter().filter(|(name, _)| name == KEY);
        let Some((_, Attribute::Text(text))) = noted.next() else {
            return None;
        };
        let value: Value = serde_json::from_str(text).ok()?;
        Some(PlaceMissed {
            element: value["element"].as_str()?.into(),
            at: value["at"].as_f64()?,
            range: (value["least"].as_f64()?, value["largest"].as_f64()?),
            starts: usize::try_from(value["starts"].as_u64()?).ok()?,
        })
    }

    /// In words.
    pub(crate) fn finding(self) -> Finding {
        let (low, high) = self.range;
        let [at, low, high] = [self.at, low, high].map(say);
        let starts = match self.starts {
            1 => "a further start".into(),
            n => format!("{n} further starts"),
        };
        let element = self.element;
        let fact = format!(
            "{starts}, made when the draws were done, stayed at a place that no chain visited, at a \
             log density like that of the draws: {element} is near {at} there, and {low} to {high} in \
             all draws"
        );
        Finding::new(FindingKind::PlaceMissed, self.at, element, fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact. Catches: a note that is not found again in a trace that was read.
    #[test]
    fn what_is_noted_is_found_again() {
        let missed = PlaceMissed {
            element: "mu[1]".into(),
            at: -1.75,
            range: (0.5, 2.25),
            starts: 3,
        };
        let mut trace = Trace {
            coords: Default::default(),
            groups: Vec::new(),
            attributes: Vec::new(),
        };
        assert_eq!(PlaceMissed::of(&trace), None);
        missed.note(&mut trace);
        assert_eq!(PlaceMissed::of(&trace), Some(missed.clone()));
        let finding = missed.finding();
        assert_eq!(
            finding.to_string().split(':').next().unwrap(),
            "3 further starts, made when the draws were done, stayed at a place that no chain \
             visited, at a log density like that of the draws"
        );
    }
}
