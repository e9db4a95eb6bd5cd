//! Findings: what is wrong with a run, in plain words, with value, place and advice.

use super::remedy::{Advice, Circumstances, Remedy};
use super::weight::Weight;
use std::fmt;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// Some draws are NaN or infinite.
    NonFinite,
    /// One or a few chains stayed elsewhere than the others.
    ChainsApart,
    /// Chains still move from one place to another.
    ChainsDrift,
    /// Chains cover the same place with different widths.
    ChainsDifferInSpread,
    /// R-hat is high because chains move slowly everywhere.
    ChainsMixSlowly,
    /// R-hat cannot be had from one chain.
    OneChain,
    /// Too few draws for any diagnostic.
    FewDraws,
    /// Trajectories left the region where the integrator is accurate.
    Divergences,
    /// Further starts stayed apart from all draws.
    PlaceMissed,
    /// Few effective draws.
    LowEss,
    /// Very few effective draws for the number of draws.
    LowEfficiency,
    /// A tail is so heavy that the standard deviation of the draws may be far off.
    HeavyTail,
    /// Trajectories were cut at the depth limit.
    DepthHits,
    /// Energies are explored slowly.
    LowBfmi,
    /// One chain uses a far smaller or larger step than the others.
    OddStepSize,
    /// A chain was started anew during warm-up.
    RestartedChain,
    /// A rewrite of the model was taken back because it changed the density.
    RewriteUndone,
    /// A lower precision was not good enough, and f64 was used.
    PrecisionRaised,
    /// A GPU failed, and others made its draws.
    DeviceLost,
    /// Independence proposals would not have been right or not have been worth it.
    ProposalsRefused,
    /// Solutions of differential equations took almost all the steps that they may.
    SolutionsCut,
    /// An element never changes.
    Constant,
    /// Sampler statistics are missing, so some checks were skipped.
    ChecksSkipped,
}

/// What every kind of finding weighs, if it does not say otherwise, and the advice.
const ADVICE: [(FindingKind, Weight, Advice); 23] = [
    (
        FindingKind::NonFinite,
        Weight::Refusal,
        Advice::plain(
            "look for a division by zero, a log of a negative number or an overflow in the model; \
             priors that keep the quantity in range usually cure it",
        ),
    ),
    (
        FindingKind::ChainsApart,
        Weight::Refusal,
        Advice {
            before: "the posterior may have several modes, or these chains got stuck",
            remedies: &[Remedy::Tune, Remedy::Seed],
            after: "stronger or order-fixing priors help as well",
        },
    ),
    (
        FindingKind::ChainsDrift,
        Weight::Refusal,
        Advice {
            before: "warm-up was too short",
            remedies: &[Remedy::Twice],
            after: "",
        },
    ),
    (
        FindingKind::ChainsDifferInSpread,
        Weight::Refusal,
        Advice {
            before: "some chains miss part of the distribution",
            remedies: &[Remedy::Tune, Remedy::TargetAccept],
            after: "look for a scale that approaches zero",
        },
    ),
    (
        FindingKind::ChainsMixSlowly,
        Weight::Refusal,
        Advice {
            before: "",
            remedies: &[Remedy::DenseMetric, Remedy::Coordinates, Remedy::Draws],
            after: "",
        },
    ),
    (
        FindingKind::OneChain,
        Weight::Refusal,
        Advice {
            before: "only chains from different starts can show that they agree",
            remedies: &[Remedy::Chains],
            after: "",
        },
    ),
    (
        FindingKind::FewDraws,
        Weight::Refusal,
        Advice::plain("take at least 4 draws of each chain; 1000 is usual"),
    ),
    (
        FindingKind::Divergences,
        Weight::Remark,
        Advice {
            before: "",
            remedies: &[Remedy::TargetAccept, Remedy::Coordinates, Remedy::Walnuts],
            after: "if they gather at a small scale, write that level non-centred",
        },
    ),
    (
        FindingKind::PlaceMissed,
        Weight::Question,
        Advice {
            before: "the posterior may have a mode that no chain visited",
            remedies: &[Remedy::Seed],
            after: "priors that fix an order or a sign leave one of several equal modes",
        },
    ),
    (
        FindingKind::LowEss,
        Weight::Refusal,
        Advice {
            before: "",
            remedies: &[Remedy::Draws, Remedy::DenseMetric],
            after: "",
        },
    ),
    (
        FindingKind::LowEfficiency,
        Weight::Remark,
        Advice {
            before: "more draws will hardly help",
            remedies: &[Remedy::Coordinates, Remedy::DenseMetric],
            after: "look at the priors of parameters that the data do not separate",
        },
    ),
    (
        FindingKind::HeavyTail,
        Weight::Question,
        Advice::plain(
            "its quantiles hold, its mean and sd may not: read the median and an interval, or give \
             the parameter a prior with lighter tails; data that bound it from that side cure it as \
             well",
        ),
    ),
    (
        FindingKind::DepthHits,
        Weight::Remark,
        Advice {
            before: "draws are valid but costly",
            remedies: &[Remedy::MaxTreedepth, Remedy::Tune, Remedy::DenseMetric],
            after: "",
        },
    ),
    (
        FindingKind::LowBfmi,
        Weight::Question,
        Advice {
            before: "heavy tails or a funnel keep energies apart",
            remedies: &[Remedy::Coordinates],
            after: "write that level non-centred, or tighten the priors of scales",
        },
    ),
    (
        FindingKind::OddStepSize,
        Weight::Remark,
        Advice {
            before: "that chain adapted in another place than the rest",
            remedies: &[Remedy::Tune, Remedy::Seed],
            after: "",
        },
    ),
    (
        FindingKind::RestartedChain,
        Weight::Remark,
        Advice::plain(
            "the chain was far below the others in density; it may have found a second mode: \
             compare runs with other seeds",
        ),
    ),
    (
        FindingKind::RewriteUndone,
        Weight::Remark,
        Advice::plain(
            "the run is valid, sampled as written; numbers far from 0, such as years and their squares, \
             lose the digits that coordinates need: centre and scale them (year - 2000); if there are \
             none, please report the model as a defect",
        ),
    ),
    (
        FindingKind::PrecisionRaised,
        Weight::Remark,
        Advice::plain(
            "the draws are right, made in f64; ask for ⟨precision f64⟩, or centre and scale data \
             with large offsets",
        ),
    ),
    (
        FindingKind::DeviceLost,
        Weight::Remark,
        Advice::plain(
            "the draws are right: other GPUs went on from what it had handed back; before it is used \
             again look at `nvidia-smi -q` and the system's log (`dmesg`)",
        ),
    ),
    (
        FindingKind::ProposalsRefused,
        Weight::Remark,
        Advice::plain("harmless: all draws are those of NUTS; leave out ⟨sampler independence⟩"),
    ),
    (
        FindingKind::SolutionsCut,
        Weight::Question,
        Advice::plain(
            "if parts of the equations move at very different speeds, `solve_stiff` needs few steps; \
             otherwise allow more, as in `solve(..., steps=20000)`",
        ),
    ),
    (
        FindingKind::Constant,
        Weight::Remark,
        Advice::plain("harmless where the model fixes it; R-hat and ESS say nothing about it"),
    ),
    (
        FindingKind::ChecksSkipped,
        Weight::Remark,
        Advice::plain("save the sampler's statistics with the trace to have them checked"),
    ),
];

impl FindingKind {
    /// All of them, the gravest first.
    pub fn all() -> impl Iterator<Item = FindingKind> {
        ADVICE.iter().map(|(kind, ..)| *kind)
    }

    fn row(self) -> &'static (FindingKind, Weight, Advice) {
        let row = ADVICE.iter().find(|(kind, ..)| *kind == self);
        row.expect("every kind has a row of advice")
    }

    /// What to do about it, if nothing is known of the run.
    pub fn advice(self) -> String {
        self.advice_for(&Circumstances::default())
    }

    /// What to do about it after this run: no setting that is in force, and none that the command lacks.
    pub fn advice_for(self, run: &Circumstances) -> String {
        self.row().2.text(run)
    }

    /// What it weighs, if the finding does not say otherwise.
    pub fn weight(self) -> Weight {
        self.row().1
    }
}

/// One thing a person should know about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What sort of thing.
    pub kind: FindingKind,
    /// What it means for the verdict.
    pub weight: Weight,
    /// The number behind it: an R-hat, a count, an ESS in draws, a BFMI.
    pub value: f64,
    /// Where: an element, a chain, or the whole run.
    pub place: String,
    /// The fact in words, with value and place.
    pub fact: String,
    /// What to do.
    pub advice: String,
    /// Whether that is not the advice of its kind.
    has_own_advice: bool,
}

impl Finding {
    /// A finding with the advice of its kind.
    pub fn new(
        kind: FindingKind,
        value: f64,
        place: impl Into<String>,
        fact: impl Into<String>,
    ) -> Self {
        Finding {
            kind,
            weight: kind.weight(),
            value,
            place: place.into(),
            fact: fact.into(),
            advice: kind.advice(),
            has_own_advice: false,
        }
    }

    /// Its advice after this run, unless it has one of its own.
    pub fn advise(&mut self, run: &Circumstances) {
        if !self.has_own_advice {
            self.advice = self.kind.advice_for(run);
        }
    }

    /// The same finding with advice of its own.
    pub(super) fn advising(self, advice: impl Into<String>) -> Self {
        Finding {
            advice: advice.into(),
            has_own_advice: true,
            ..self
        }
    }

    /// The same finding with another weight.
    pub fn weighing(self, weight: Weight) -> Self {
        Finding { weight, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.fact, self.advice)
    }
}

/// A number as people say it: three significant digits, thousands set apart.
pub(crate) fn say(value: f64) -> String {
    if !value.is_finite() {
        return match value {
            v if v.is_nan() => "NaN".into(),
            v if v > 0.0 => "∞".into(),
            _ => "−∞".into(),
        };
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return minus(format!("{value:.2e}"));
    }
    let whole_digits = if size < 1.0 {
        1
    } else {
        size.log10().floor() as usize + 1
    };
    let lead = if size > 0.0 && size < 1.0 {
        -size.log10().floor() as usize
    } else {
        0
    };
    let decimals = (3 + lead).saturating_sub(whole_digits);
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    if size >= 1e4 {
        thousands(&text)
    } else {
        minus(text)
    }
}

/// A count with commas between thousands.
pub(crate) fn count(n: usize) -> String {
    thousands(&n.to_string())
}

/// Sets commas between thousands of the whole part and a true minus sign.
pub(crate) fn thousands(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (digits, String::new()),
    };
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + &fraction
}

fn minus(text: String) -> String {
    text.replacen('-', "−", if text.starts_with('-') { 1 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_with_three_digits_or_as_whole_numbers() {
        for (value, text) in [
            (0.0, "0"),
            (4.1234, "4.12"),
            (-0.01234, "−0.0123"),
            (123.456, "123"),
            (1234.5, "1234"),
            (123_456.0, "123,456"),
            (1e-9, "1.00e-9"),
            (-3e12, "−3.00e12"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "−∞"),
        ] {
            assert_eq!(say(value), text);
        }
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn every_kind_has_one_row_of_advice() {
        for (i, (kind, weight, text)) in ADVICE.iter().enumerate() {
            assert_eq!(
                *kind as usize, i,
                "the table stands in the order of the kinds"
            );
            let said = text.text(&Circumstances::default());
            assert_eq!((kind.advice(), kind.weight()), (said, *weight));
        }
        assert_eq!(FindingKind::ChecksSkipped as usize + 1, ADVICE.len());
    }
}
