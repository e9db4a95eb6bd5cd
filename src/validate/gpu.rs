//! The second half of a validation: the same run on a GPU, beside that of the CPU.

use super::report::seconds_of;
use super::verdict;
use crate::diagnose::{Agreement, Diagnosis, ESS_LIMIT, RHAT_LIMIT, SummaryOptions, agreement};
use crate::draws::Trace;
use crate::model::joint::{Joint, Rewrites};
use crate::run::{self, Caller, Device, Outcome};
use crate::verify::{Check, Verdict};
use crate::{ErrorKind, Result};
use fitzroy_device::gpu::text::Precision;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether the run is repeated on a GPU.
#[derive(Clone, Debug)]
pub enum Second {
    /// It is not, and why.
    No(String),
    /// It is, there.
    On(Card),
}

/// A GPU that was taken into use, or several.
#[derive(Clone, Debug)]
pub struct Card {
    /// `cuda:N` or `cuda:N,M`.
    pub label: String,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// The GPU itself.
    pub device: Device,
    /// What it computes in.
    pub precision: Precision,
    /// Bytes of the memory of each, the most that were in use.
    pub used: Vec<Arc<AtomicU64>>,
}

/// A run on a GPU, beside the same on the CPU.
pub struct GpuRun {
    /// Where it was made.
    pub card: Card,
    /// Its draws.
    pub outcome: Outcome,
    /// What they say.
    pub diagnosis: Diagnosis,
    /// How far they are from those of the CPU.
    pub agreement: Agreement,
    /// Whether every draw has the bits of the CPU's.
    pub same_bits: bool,
    /// Seconds of the warm-up and the draws on the CPU.
    pub cpu_s: f64,
}

/// The names of the two checks of a run on a GPU: convergence, and agreement with the CPU.
type Names = [&'static str; 2];
/// Of the run of the validation itself.
pub(super) const AS_SAMPLED: Names = ["gpu", "gpu = cpu"];
/// Of the run in which no parameter is integrated out.
pub(super) const ALL_PARAMETERS: Names = ["gpu, all", "gpu, all = cpu"];

/// Makes the run of `settings` again on `card`; a run that fails is a line, not an error.
pub(super) fn repeat(
    card: &Card,
    settings: &run::Settings,
    joint: &Joint,
    cpu: &Outcome,
    names: Names,
    caller: &Caller<'_>,
) -> (Option<GpuRun>, Vec<Check>) {
    let made = run_on(card, settings, joint, cpu, caller);
    match made {
        Ok(made) => {
            let checks = made.checks(names);
            (Some(made), checks)
        }
        Err(error) => {
            let detail = format!("{} ({}): {error}", card.label, card.name);
            let check = Check {
                name: names[0],
                verdict: Verdict::Fail,
                detail,
            };
            (None, vec![check])
        }
    }
}

/// Samples the model of `joint` with all its parameters, on the CPU and on `card`. The rewrites leave
/// two coordinates of the model of a validation, whose kernel has no sum in f32 and few registers.
pub(super) fn all_parameters(
    card: &Card,
    settings: &run::Settings,
    joint: &Joint,
    caller: &Caller<'_>,
) -> (Option<GpuRun>, Vec<Check>) {
    let own = run::Settings {
        rewrites: Rewrites::NONE,
        ..settings.clone()
    };
    match run::run(joint, &own, caller) {
        Ok(cpu) => repeat(card, &own, joint, &cpu, ALL_PARAMETERS, caller),
        Err(error) => {
            let check = Check {
                name: ALL_PARAMETERS[0],
                verdict: Verdict::Fail,
                detail: format!("on the CPU: {error}"),
            };
            (None, vec![check])
        }
    }
}

fn run_on(
    card: &Card,
    settings: &run::Settings,
    joint: &Joint,
    cpu: &Outcome,
    caller: &Caller<'_>,
) -> Result<GpuRun> {
    let mut own = settings.clone();
    own.device = card.device.clone();
    own.precision = card.precision;
    let outcome = run::run(joint, &own, caller)?;
    if outcome.run.interrupted {
        let message = "stopped before the run on the GPU was over";
        return Err(crate::Error::new(ErrorKind::Device, message));
    }
    let threads = own.sampler.threads;
    let options = SummaryOptions {
        threads,
        ..SummaryOptions::default()
    };
    Ok(GpuRun {
        card: card.clone(),
        diagnosis: outcome.diagnose(&options)?,
        agreement: agreement(&cpu.trace, &outcome.trace, &[], threads)?,
        same_bits: same_draws(&cpu.trace, &outcome.trace),
        cpu_s: seconds_of(cpu),
        outcome,
    })
}

fn same_draws(a: &Trace, b: &Trace) -> bool {
    match (a.group("posterior"), b.group("posterior")) {
        (Some(a), Some(b)) => a.variables == b.variables,
        _ => false,
    }
}

impl GpuRun {
    /// `cuda:0 (NVIDIA H200, f64)`, with the precision in which the draws were made.
    pub fn said(&self) -> String {
        let Card { label, name, .. } = &self.card;
        format!("{label} ({name}, {})", self.outcome.precision.name())
    }

    /// How many times as fast it was as the CPU.
    pub fn speed_up(&self) -> f64 {
        self.cpu_s / seconds_of(&self.outcome)
    }

    /// Bytes of memory, the most that were in use.
    pub fn memory_bytes(&self) -> u64 {
        let each = self.card.used.iter();
        each.map(|used| used.load(Ordering::Relaxed)).sum()
    }

    fn checks(&self, names: Names) -> Vec<Check> {
        let found = &self.diagnosis;
        let transitions = found.summary.n_chains * found.summary.n_draws;
        let divergences = found.divergences.unwrap_or(0);
        let converged = found.max_r_hat < RHAT_LIMIT
            && found.min_ess_bulk.min(found.min_ess_tail) > ESS_LIMIT
            && (divergences as f64) < 0.01 * transitions as f64;
        let n = self.agreement.elements.len();
        let furthest = self.agreement.elements.iter();
        let furthest = furthest.max_by(|a, b| a.largest().total_cmp(&b.largest()));
        let detail = match (self.same_bits, self.agreement.agree, furthest) {
            (true, ..) => format!("every draw of {n} numbers has the bits of the CPU's"),
            (_, true, Some(e)) => format!(
                "{n} numbers agree; the furthest is {}, {:.1} Monte Carlo standard errors away; \
                 below {:.1} is needed",
                e.name,
                e.largest(),
                self.agreement.limit
            ),
            _ => self.agreement.differences.join("; "),
        };
        vec![
            Check {
                name: names[0],
                verdict: verdict(converged),
                detail: format!(
                    "{}, {} coordinates: R-hat {:.4}, ESS {:.0} in the bulk and {:.0} in the tails, \
                     {divergences} divergences",
                    self.said(),
                    self.outcome.n_sampled(),
                    found.max_r_hat,
                    found.min_ess_bulk,
                    found.min_ess_tail
                ),
            },
            Check {
                name: names[1],
                verdict: verdict(self.same_bits || self.agreement.agree),
                detail,
            },
        ]
    }
}
