//! Settings that may cure a finding, and when they are worth naming.

use crate::draws::{Attribute, Trace};
use serde_json::Value;

/// What a run was made with, as far as advice depends on it. What nobody knows, as of a trace of
/// another program, hides no advice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Target acceptance.
    pub target_accept: Option<f64>,
    /// Depth at which trajectories are cut.
    pub max_treedepth: Option<u32>,
    /// The family of the metric of the draws, by its name, or else that which was asked for.
    pub metric: Option<String>,
    /// How coordinates of hierarchical parameters are chosen: `auto` or `as-written`.
    pub centring: Option<String>,
    /// The sampler, by its name.
    pub sampler: Option<String>,
    /// Whether the command takes no other sampler.
    pub has_one_sampler: bool,
}

impl Circumstances {
    /// Those of the run that made a trace, by the settings that it holds.
    pub fn of(trace: &Trace) -> Self {
        let attribute = |key: &str| {
            let mut all = trace.attributes.iter();
            all.find(|(name, _)| name == key).map(|(_, value)| value)
        };
        let settings = match attribute("fitzroy_settings") {
            Some(Attribute::Text(text)) => serde_json::from_str(text).ok(),
            _ => None,
        };
        let tuned_to = match attribute("fitzroy_target_accept") {
            Some(Attribute::Real(accept)) => Some(*accept),
            _ => None,
        };
        let settings: Value = settings.unwrap_or_default();
        let word = |key: &str| settings[key].as_str().map(str::to_owned);
        let metric = match attribute("fitzroy_metric") {
            Some(Attribute::Text(family)) => Some(family.clone()),
            _ => word("metric"),
        };
        let depth = settings["max_treedepth"].as_u64();
        Circumstances {
            target_accept: tuned_to.or(settings["target_accept"].as_f64()),
            max_treedepth: depth.and_then(|depth| u32::try_from(depth).ok()),
            metric,
            centring: word("centring"),
            sampler: word("sampler"),
            has_one_sampler: false,
        }
    }
}

/// A setting that may cure a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Smaller steps.
    TargetAccept,
    /// Longer trajectories.
    MaxTreedepth,
    /// A metric with all directions.
    DenseMetric,
    /// Coordinates that the data choose.
    Coordinates,
    /// A sampler whose steps differ within a trajectory.
    Walnuts,
    /// A longer warm-up.
    Tune,
    /// Twice the warm-up and the draws.
    Twice,
    /// More draws.
    Draws,
    /// Other random numbers.
    Seed,
    /// Chains from several starts.
    Chains,
}

impl Remedy {
    /// All of them.
    pub const ALL: [Remedy; 10] = [
        Remedy::TargetAccept,
        Remedy::MaxTreedepth,
        Remedy::DenseMetric,
        Remedy::Coordinates,
        Remedy::Walnuts,
        Remedy::Tune,
        Remedy::Twice,
        Remedy::Draws,
        Remedy::Seed,
        Remedy::Chains,
    ];

    /// What to try; `None` if that is in force already, or if the command does not take it.
    pub fn words(self, run: &Circumstances) -> Option<String> {
        let unless = |in_force: bool, words: &str| (!in_force).then(|| words.to_string());
        match self {
            Remedy::TargetAccept => match run.target_accept.unwrap_or(0.0) {
                t if t < 0.95 => Some("⟨target_accept 0.95⟩ or 0.99".into()),
                t if t < 0.99 => Some("⟨target_accept 0.99⟩".into()),
                _ => None,
            },
            Remedy::MaxTreedepth => {
                let depth = run.max_treedepth.map_or(12, |depth| (depth + 2).max(12));
                unless(depth > 20, &format!("⟨max_treedepth {depth}⟩"))
            }
            Remedy::DenseMetric => unless(run.metric.as_deref() == Some("dense"), "⟨metric dense⟩"),
            Remedy::Coordinates => {
                unless(run.centring.as_deref() == Some("auto"), "⟨centring auto⟩")
            }
            Remedy::Walnuts => {
                let in_force = run.sampler.as_deref() == Some("walnuts") || run.has_one_sampler;
                unless(in_force, "⟨sampler walnuts⟩")
            }
            Remedy::Tune => Some("a longer ⟨tune⟩".into()),
            Remedy::Twice => Some("twice the ⟨tune⟩ and ⟨draws⟩".into()),
            Remedy::Draws => Some("more ⟨draws⟩".into()),
            Remedy::Seed => Some("another ⟨seed⟩".into()),
            Remedy::Chains => Some("⟨chains 4⟩".into()),
        }
    }

    /// Settings that the words stand for, with a value that is taken.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Remedy::TargetAccept => &[("target_accept", "0.99")],
            Remedy::MaxTreedepth => &[("max_treedepth", "12")],
            Remedy::DenseMetric => &[("metric", "dense")],
            Remedy::Coordinates => &[("centring", "auto")],
            Remedy::Walnuts => &[("sampler", "walnuts")],
            Remedy::Tune => &[("tune", "2000")],
            Remedy::Twice => &[("tune", "2000"), ("draws", "2000")],
            Remedy::Draws => &[("draws", "4000")],
            Remedy::Seed => &[("seed", "2")],
            Remedy::Chains => &[("chains", "4")],
        }
    }
}

/// What to do about a finding: a reason, what to try, and what else helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advice {
    /// What stands in front.
    pub(super) before: &'static str,
    /// What may be tried.
    pub(super) remedies: &'static [Remedy],
    /// What stands behind.
    pub(super) after: &'static str,
}

impl Advice {
    /// Advice that no setting of a run changes.
    pub(super) const fn plain(before: &'static str) -> Self {
        Advice {
            before,
            remedies: &[],
            after: "",
        }
    }

    /// As a sentence without a full stop, for this run.
    pub(super) fn text(&self, run: &Circumstances) -> String {
        let words: Vec<String> = self.remedies.iter().filter_map(|r| r.words(run)).collect();
        let tried = match words.as_slice() {
            [] => String::new(),
            [one] => format!("try {one}"),
            [first @ .., last] => format!("try {}, or {last}", first.join(", ")),
        };
        let parts = [self.before, &tried, self.after];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVICE: Advice = Advice {
        before: "steps are too long",
        remedies: &[Remedy::TargetAccept, Remedy::Coordinates, Remedy::Walnuts],
        after: "look at the scales",
    };

    /// Catches: advice to set what is set, and to give a flag that the command refuses.
    #[test]
    fn what_is_in_force_is_not_advised() {
        let unknown = Circumstances::default();
        assert_eq!(
            ADVICE.text(&unknown),
            "steps are too long; try ⟨target_accept 0.95⟩ or 0.99, ⟨centring auto⟩, or ⟨sampler \
             walnuts⟩; look at the scales"
        );
        let run = |target_accept, has_one_sampler| Circumstances {
            target_accept: Some(target_accept),
            max_treedepth: Some(12),
            metric: Some("dense".into()),
            centring: Some("auto".into()),
            sampler: Some("nuts".into()),
            has_one_sampler,
        };
        assert_eq!(
            ADVICE.text(&run(0.95, false)),
            "steps are too long; try ⟨target_accept 0.99⟩, or ⟨sampler walnuts⟩; look at the scales"
        );
        assert_eq!(
            ADVICE.text(&run(0.99, true)),
            "steps are too long; look at the scales"
        );
        let run = run(0.8, true);
        assert_eq!(Remedy::DenseMetric.words(&run), None);
        let deeper = Remedy::MaxTreedepth.words(&run);
        assert_eq!(deeper.as_deref(), Some("⟨max_treedepth 14⟩"));
    }

    /// Catches: advice to take the metric that `auto` has taken.
    #[test]
    fn the_metric_in_force_counts_and_not_that_which_was_asked_for() {
        let text = |value: &str| Attribute::Text(value.into());
        let of = |attributes: &[(&str, &str)]| {
            let all = attributes
                .iter()
                .map(|(key, value)| ((*key).into(), text(value)));
            Circumstances::of(&Trace {
                attributes: all.collect(),
                ..Trace::default()
            })
        };
        let asked = ("fitzroy_settings", r#"{"metric": "auto"}"#);
        let advised = |run: &Circumstances| Remedy::DenseMetric.words(run).is_some();
        assert!(advised(&of(&[asked])));
        assert!(advised(&of(&[asked, ("fitzroy_metric", "low-rank")])));
        assert!(!advised(&of(&[asked, ("fitzroy_metric", "dense")])));
    }

    /// Catches: a remedy whose settings are not those of its words.
    #[test]
    fn words_name_the_first_setting_of_each_remedy() {
        for remedy in Remedy::ALL {
            let words = remedy
                .words(&Circumstances::default())
                .expect("nothing is in force");
            let (name, _) = remedy.settings()[0];
            assert!(words.contains(&format!("⟨{name}")), "{words}");
        }
    }
}
