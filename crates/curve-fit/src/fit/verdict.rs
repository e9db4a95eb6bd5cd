//! What is to be thought of a fit: how it ended, and what its residuals say. All that shows a fit says this.

use super::estimate::Estimate;
use super::quality::Quality;
use crate::formula::Loss;

/// Probability below which neighbouring residuals are alike for a reason. Of right models with independent noise
/// fewer than one in a thousand are called into question; see `tests/verdict.rs`.
const PATTERNED: f64 = 1e-3;
/// R² below which a curve tells little of the response.
const POOR: f64 = 0.25;
/// Probability of χ² above which noise is as large as sigma, or counts, say it is, and any R² is right.
const AS_EXPECTED: f64 = 0.01;
/// Probability of χ² below which sigma are too small, or the curve is wrong.
const BEYOND_SIGMA: f64 = 1e-6;
/// R² of a curve that is a constant, which says nothing, but for rounding.
const CONSTANT: f64 = 1e-9;
/// Size of residuals, relative to the response, that rounding may leave.
const ROUNDED: f64 = 1e-11;
/// The flag of a fit whose findings begin with what was guessed.
pub(crate) const GUESSED: &str = "guessed_start";
/// Degrees of freedom that R² needs.
const FEWEST: usize = 3;

/// What speaks against a fit that converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Neighbouring residuals are alike.
    Patterned,
    /// R² is small.
    PoorR2,
    /// Residuals are larger than σ allows.
    BeyondSigma,
}

impl Doubt {
    /// All of them, in the order in which they are said.
    pub const ALL: [Doubt; 3] = [Doubt::Patterned, Doubt::PoorR2, Doubt::BeyondSigma];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Doubt::Patterned => "patterned_residuals",
            Doubt::PoorR2 => "poor_r2",
            Doubt::BeyondSigma => "beyond_sigma",
        }
    }

    /// How it stands in a headline.
    pub fn words(self) -> &'static str {
        match self {
            Doubt::Patterned => "the residuals are patterned",
            Doubt::PoorR2 => "the curve tells little of the response",
            Doubt::BeyondSigma => "the residuals are larger than sigma",
        }
    }

    /// How often it is raised against a fit of the right model, at most.
    pub fn by_chance(self) -> f64 {
        match self {
            Doubt::Patterned => PATTERNED,
            Doubt::PoorR2 => 0.0,
            Doubt::BeyondSigma => BEYOND_SIGMA,
        }
    }
}

/// Doubts of one fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubts(u8);

impl Doubts {
    fn add(&mut self, doubt: Doubt) {
        self.0 |= 1 << doubt as u8;
    }

    /// Whether `doubt` is among them.
    pub fn has(self, doubt: Doubt) -> bool {
        self.0 & 1 << doubt as u8 != 0
    }

    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = Doubt> {
        Doubt::ALL.into_iter().filter(move |d| self.has(*d))
    }

    /// All of them, as they stand in a headline: "the residuals are patterned"; none if there are none.
    pub fn words(self) -> Option<String> {
        let words: Vec<&str> = self.each().map(Doubt::words).collect();
        (!words.is_empty()).then(|| words.join(" and "))
    }
}

/// What is known of a fit besides its residuals.
#[derive(Clone, Copy, Debug)]
pub struct Misfit {
    /// Fitted parameters.
    pub n_parameters: usize,
    /// Rows less parameters.
    pub dof: usize,
    /// Σ r², or the deviance for counts.
    pub chi2: f64,
    /// What residuals cost.
    pub loss: Loss,
    /// Whether σ are those of the noise, and no relative weights.
    pub absolute_sigma: bool,
}

impl Misfit {
    /// Doubts that `quality` raises against a fit that converged.
    pub(crate) fn doubts(&self, quality: &Quality) -> Doubts {
        let mut out = Doubts::default();
        let rounded = quality.rmse <= ROUNDED * quality.size;
        if quality.pattern.is_some_and(|p| p.p < PATTERNED) && !rounded {
            out.add(Doubt::Patterned);
        }
        let expected = quality.chi2_p > AS_EXPECTED;
        let poor = quality.r2 < POOR && quality.r2.abs() > CONSTANT;
        if poor && !self.loss.is_robust() && !expected && !rounded && self.dof >= FEWEST {
            out.add(Doubt::PoorR2);
        }
        let linear = self.loss == Loss::Linear;
        if self.absolute_sigma && linear && quality.chi2_p < BEYOND_SIGMA {
            out.add(Doubt::BeyondSigma);
        }
        out
    }
}

/// How a fit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Converged, and nothing speaks against it.
    Good,
    /// Converged, with findings to be read first.
    Questioned,
    /// Not converged.
    Bad,
}

impl Standing {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Good => "good",
            Standing::Questioned => "questioned",
            Standing::Bad => "bad",
        }
    }
}

impl Estimate {
    /// How the fit stands.
    pub fn standing(&self) -> Standing {
        match (self.converged(), self.findings.is_empty()) {
            (false, _) => Standing::Bad,
            (true, false) => Standing::Questioned,
            (true, true) => Standing::Good,
        }
    }

    /// Whether this fit of the same rows is to be preferred: it converged where the other did not, or costs less.
    pub(crate) fn is_better_than(&self, other: &Estimate) -> bool {
        (self.converged(), -self.cost) > (other.converged(), -other.cost)
    }

    /// Doubts in a fit that converged: "the residuals are patterned"; none where there are none.
    pub fn doubts(&self) -> Option<String> {
        let mut own = Doubts::default();
        let flagged = |d: &Doubt| self.flags.contains(&d.name());
        Doubt::ALL
            .into_iter()
            .filter(flagged)
            .for_each(|d| own.add(d));
        own.words().filter(|_| self.converged())
    }

    /// What is said of a start that stayed a guess, as the rows show nothing of its term; none where a search saw all.
    pub fn guess(&self) -> Option<&str> {
        let guessed = self.flags.contains(&GUESSED) && self.converged();
        guessed.then(|| self.findings.first().map(String::as_str))?
    }

    /// The verdict: `converged`, `converged, but the residuals are patterned`, or `NOT CONVERGED`.
    pub fn verdict(&self) -> String {
        match (self.converged(), self.doubts()) {
            (false, _) => "NOT CONVERGED".into(),
            (true, None) => "converged".into(),
            (true, Some(doubts)) => format!("converged, but {doubts}"),
        }
    }

    /// The verdict as a sentence, for pages and figures.
    pub fn headline(&self) -> String {
        match (self.converged(), self.doubts()) {
            (false, _) => "The fit did not converge".into(),
            (true, None) => "The fit converged".into(),
            (true, Some(doubts)) => format!("The fit converged, but {doubts}"),
        }
    }

    /// Weighs what the residuals say: findings and flags of a fit that converged and does not describe its data.
    pub fn weigh(&mut self, quality: &Quality) {
        if !self.converged() {
            return;
        }
        for doubt in self.misfit().doubts(quality).each() {
            self.flags.push(doubt.name());
            let finding = self.finding(doubt, quality);
            self.findings.push(finding);
        }
    }

    /// What this fit is, besides its residuals.
    pub(crate) fn misfit(&self) -> Misfit {
        Misfit {
            // An equation between parameters takes one of them.
            n_parameters: match self.dof {
                0 => self.popt.len(),
                dof => self.n.saturating_sub(dof),
            },
            dof: self.dof,
            chi2: self.chi2,
            loss: self.loss,
            absolute_sigma: self.absolute_sigma,
        }
    }

    /// `doubt`, in a sentence with what to do.
    fn finding(&self, doubt: Doubt, quality: &Quality) -> String {
        match doubt {
            Doubt::Patterned => {
                let along = quality.pattern.and_then(|p| p.along);
                let along = match along.and_then(|k| self.predictors.get(k)) {
                    Some(name) => format!("along {name}"),
                    None => "in the order of rows".into(),
                };
                let p = quality.pattern.map_or(f64::NAN, |p| p.p);
                format!(
                    "the residuals are patterned {along}: neighbours are alike (p = {p:.1e}), so the curve \
                     misses something and errors are too small; look at them, try other starting values \
                     (⟨p0⟩, ⟨multistart⟩) or another model"
                )
            }
            Doubt::PoorR2 => format!(
                "the curve tells little of the response: R2 is {:.3}; look at the figure, and try other \
                 starting values (⟨p0⟩, ⟨multistart⟩) or another model",
                quality.r2
            ),
            Doubt::BeyondSigma => format!(
                "the residuals are larger than sigma say: chi2 is {:.3} per degree of freedom (p = {:.1e}); \
                 the curve or sigma are wrong",
                self.reduced_chi2(),
                quality.chi2_p
            ),
        }
    }
}
