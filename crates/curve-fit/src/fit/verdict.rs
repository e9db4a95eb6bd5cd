//! What is to be thought of a fit: how it ended, and what its residuals say. All that shows a fit says this.

use super::estimate::Estimate;
use super::quality::Quality;

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
/// Degrees of freedom that R² needs.
const FEWEST: usize = 3;

/// Doubts in a fit that converged, by flag: how they stand in a headline.
const DOUBTS: [(&str, &str); 3] = [
    ("patterned_residuals", "the residuals are patterned"),
    ("poor_r2", "the curve tells little of the response"),
    ("beyond_sigma", "the residuals are larger than sigma"),
];

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

    /// Doubts in a fit that converged: "the residuals are patterned"; none where there are none.
    pub fn doubts(&self) -> Option<String> {
        let own = DOUBTS.iter().filter(|(flag, _)| self.flags.contains(flag));
        let words: Vec<&str> = own.map(|(_, words)| *words).collect();
        (self.converged() && !words.is_empty()).then(|| words.join(" and "))
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

    fn doubt(&mut self, at: usize, text: String) {
        self.flags.push(DOUBTS[at].0);
        self.findings.push(text);
    }

    /// Weighs what the residuals say: findings and flags of a fit that converged and does not describe its data.
    pub fn weigh(&mut self, quality: &Quality) {
        if !self.converged() {
            return;
        }
        let rounded = quality.rmse <= ROUNDED * quality.size;
        if let Some(pattern) = quality.pattern.filter(|p| p.p < PATTERNED && !rounded) {
            let along = match pattern.along.and_then(|k| self.predictors.get(k)) {
                Some(name) => format!("along {name}"),
                None => "in the order of rows".into(),
            };
            let text = format!(
                "the residuals are patterned {along}: neighbours are alike (p = {:.1e}), so the curve misses \
                 something and errors are too small; look at them, try other starting values (⟨p0⟩, \
                 ⟨multistart⟩) or another model",
                pattern.p
            );
            self.doubt(0, text);
        }
        let robust = !["linear", "poisson"].contains(&self.loss);
        let expected = quality.chi2_p > AS_EXPECTED;
        let poor = quality.r2 < POOR && quality.r2.abs() > CONSTANT;
        if poor && !robust && !expected && !rounded && self.dof >= FEWEST {
            let text = format!(
                "the curve tells little of the response: R2 is {:.3}; look at the figure, and try other \
                 starting values (⟨p0⟩, ⟨multistart⟩) or another model",
                quality.r2
            );
            self.doubt(1, text);
        }
        if self.absolute_sigma && self.loss == "linear" && quality.chi2_p < BEYOND_SIGMA {
            let text = format!(
                "the residuals are larger than sigma say: chi2 is {:.3} per degree of freedom (p = {:.1e}); \
                 the curve or sigma are wrong",
                self.reduced_chi2(),
                quality.chi2_p
            );
            self.doubt(2, text);
        }
    }
}
