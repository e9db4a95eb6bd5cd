//! Findings of a fit: how it ended, bounds, parameters that rows do not tell apart.

use super::doubt::Doubts;
use super::estimate::Estimate;
use super::options::Options;
use super::plan::Plan;
use crate::method::Status;
use crate::method::statistics::Rank;

/// Degrees of freedom below which a warning is due.
const LOW_DOF: usize = 3;

/// What a person should know about a result.
pub(super) struct Advice<'a> {
    pub(super) plan: &'a Plan,
    pub(super) options: &'a Options,
    pub(super) at_bound: &'a [bool],
    pub(super) inside: &'a [usize],
    pub(super) ranked: &'a Rank,
    pub(super) doubts: &'a Doubts,
    pub(super) last_fall: f64,
    /// A free parameter along which the cost falls at the end.
    pub(super) descent: Option<usize>,
}

impl Advice<'_> {
    pub(super) fn give(&self, e: &mut Estimate) {
        self.of_the_end(e);
        self.of_bounds(e);
        self.of_rank(e);
        if e.dof < LOW_DOF {
            e.flags.push("low_degrees_of_freedom");
            let (n, p) = (e.n, e.popt.len());
            e.findings.push(format!(
                "{n} rows and {p} parameters: intervals rest on {} degrees of freedom",
                e.dof
            ));
        }
        if let Some(m) = &e.minima
            && m.costs.len() > 1
            // A search of the whole field is the remedy for them.
            && !self.options.global
        {
            e.findings.push(format!(
                "{} distinct minima; {} of {} starts reached the best",
                m.costs.len(),
                m.n_best,
                m.n_starts
            ));
            e.flags.push("multiple_minima");
        }
    }

    /// Why a fit ended where it should not have.
    fn of_the_end(&self, e: &mut Estimate) {
        let text = match e.status {
            Status::EvaluationLimit | Status::TimeLimit => {
                let what = if e.status == Status::TimeLimit {
                    "the time limit was reached".to_string()
                } else {
                    format!("{} evaluations", e.evaluations)
                };
                let fall = 100.0 * self.last_fall;
                format!("not converged: {what}; cost still falling {fall:.2} % per step")
            }
            _ if !self.doubts.beyond.is_empty() => {
                e.flags.push("out_of_range");
                let text = self.doubts.beyond_words(self.plan, &e.popt);
                text.expect("there is a parameter beyond")
            }
            Status::DampingLimit | Status::NoProgress => {
                let along = match self.descent {
                    Some(k) => format!(", though its slope along {} is not 0", self.plan.name(k)),
                    None => String::new(),
                };
                format!(
                    "not converged: no step reduced the cost any further{along}; try other starting values \
                     (⟨p0⟩, ⟨multistart⟩)"
                )
            }
            Status::Kink => {
                e.flags.push("kink");
                "the curve has a kink where the sum of squares is least; standard errors are those of \
                 one side of it, and may be too small"
                    .into()
            }
            Status::NonFinite => "not converged: the model has no finite value".into(),
            Status::Interrupted => "not converged: interrupted".into(),
            _ => return,
        };
        e.findings.push(text);
    }

    /// Parameters at their bounds.
    fn of_bounds(&self, e: &mut Estimate) {
        for k in (0..self.at_bound.len()).filter(|&k| self.at_bound[k]) {
            let (lower, upper) = (self.plan.bounds.lower[k], self.plan.bounds.upper[k]);
            let (side, at) = match e.popt[k] <= lower {
                true => ("lower", lower),
                false => ("upper", upper),
            };
            let name = self.plan.name(k);
            e.findings.push(format!(
                "{name} is at its {side} bound {at}; no standard error for it"
            ));
        }
        if self.at_bound.iter().any(|&b| b) {
            e.flags.push("at_bound");
        }
    }

    /// Parameters that rows do not determine, or do not tell apart.
    fn of_rank(&self, e: &mut Estimate) {
        let lost = self.doubts.lost_words(self.plan);
        let undetermined = self.ranked.undetermined.as_ref();
        let apart = || undetermined.map(|v| self.rank_words(v));
        // Nobody looks for parameters to tell apart where the numbers themselves are in doubt.
        if self.doubts.beyond.is_empty()
            && let Some(text) = lost.or_else(apart)
        {
            e.flags.push("rank_deficient");
            e.findings.push(text);
        }
    }

    /// Which parameters cannot be told apart.
    fn rank_words(&self, v: &[f64]) -> String {
        let peak = v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let names: Vec<&str> = self
            .inside
            .iter()
            .zip(v)
            .filter(|(_, x)| x.abs() > 0.05 * peak)
            .map(|(&k, _)| self.plan.name(k))
            .collect();
        if let [one] = names[..] {
            let k = self
                .inside
                .iter()
                .position(|&k| self.plan.name(k) == one)
                .unwrap_or(0);
            let what = if self.plan.programs.unused()[self.inside[k]] {
                "the model does not depend on it"
            } else {
                "no row is sensitive to it here"
            };
            return format!("{one} cannot be determined: {what}; fix it with ⟨fix {one}=VALUE⟩");
        }
        let signs: Vec<f64> = v
            .iter()
            .filter(|x| x.abs() > 0.05 * peak)
            .copied()
            .collect();
        // What the data leave free is the direction v; with two parameters, name their correlation.
        let correlation = match signs[..] {
            [a, b] => format!(" (correlation {})", if a * b < 0.0 { "-1" } else { "1" }),
            _ => String::new(),
        };
        let list = match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => "the parameters".to_string(),
        };
        format!("{list} cannot be told apart{correlation}: fix one, or add rows that separate them")
    }
}
