//! The verdict on a run, and what a finding weighs in it.

/// What a finding means for the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Good to know; the verdict does not depend on it.
    Remark,
    /// The chains agree, but what they agree on may be wrong.
    Question,
    /// The run has not converged.
    Refusal,
}

/// Whether draws can be relied on, as everything that speaks of a run says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No finding weighs more than a remark.
    Converged,
    /// A finding calls the draws into question.
    InQuestion,
    /// A finding refuses them.
    NotConverged,
}

impl Verdict {
    /// The verdict where this is the gravest of all findings; `None` where there are none.
    pub fn of(gravest: Option<Weight>) -> Self {
        match gravest {
            None | Some(Weight::Remark) => Verdict::Converged,
            Some(Weight::Question) => Verdict::InQuestion,
            Some(Weight::Refusal) => Verdict::NotConverged,
        }
    }

    /// As a terminal and a log say it; in small letters it is the word of the JSON files.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Converged => "CONVERGED",
            Verdict::InQuestion => "IN QUESTION",
            Verdict::NotConverged => "NOT CONVERGED",
        }
    }

    /// As a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Verdict::Converged => "The chains have converged",
            Verdict::InQuestion => "The chains agree, but a part of the posterior may be missing",
            Verdict::NotConverged => {
                "The chains have not converged: do not rely on these draws yet"
            }
        }
    }
}
