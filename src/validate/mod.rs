//! The main job: known truth, sampled and checked.
//!
//! Looks at the machine, makes a three-level data set whose truth is known, samples the model that
//! made it, and checks convergence, truth and predictions. Every check is a line that passes,
//! fails, or says why it was skipped.

mod data;
mod gpu;
mod predictions;
mod report;

pub use data::{Truth, generate};
use gpu::AS_SAMPLED;
pub use gpu::{Card, GpuRun, Second};
pub use report::{report_text, validation_json};

use crate::data::Dataset;
use crate::diagnose::{Diagnosis, ESS_LIMIT, RHAT_LIMIT, Row, SummaryOptions};
use crate::model::Model;
use crate::model::joint::Joint;
use crate::run::{self, Caller, Outcome, bind};
use crate::verify::{Check, Verdict, Verification, verify};
use crate::{Error, ErrorKind, Result};

/// The model: `models/hierarchical.fz`.
pub const MODEL: &str = include_str!("../../models/hierarchical.fz");

/// What to validate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Groups, at least 2. Default 100.
    pub groups: usize,
    /// Observations in each group, at least 2. Default 10.
    pub per_group: usize,
    /// Seed of the data. Default 42. An 89 % interval misses the truth in 11 of 100 data sets, and
    /// three of them miss once in about three data sets, however right the sampler is; with the
    /// default all three hold it.
    pub data_seed: u64,
    /// Settings of the run: 4 chains, 1000 + 2000 draws, target acceptance 0.95, seed 42.
    pub run: run::Settings,
    /// Whether the same run is made on a GPU as well, and the two compared.
    pub second: Second,
}

impl Default for Settings {
    fn default() -> Self {
        let mut run = run::Settings::default();
        run.sampler.chains = 4;
        run.sampler.tune = 1000;
        run.sampler.draws = 2000;
        run.sampler.target_accept = 0.95;
        run.sampler.seed = 42;
        Settings {
            groups: 100,
            per_group: 10,
            data_seed: 42,
            run,
            second: Second::No("no GPU was asked for".into()),
        }
    }
}

impl Settings {
    /// Half of the work: 500 + 1000 draws. With fewer, chance alone takes the largest R-hat of a
    /// hundred to 1.01.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.run.sampler.tune = 500;
        self.run.sampler.draws = 1000;
        self
    }
}

/// What [`validate`] finds.
pub struct Validation {
    /// The checks in the order in which they were made.
    pub checks: Vec<Check>,
    /// The machine.
    pub verification: Verification,
    /// The data as they were made.
    pub data: Dataset,
    /// The run and its draws.
    pub outcome: Outcome,
    /// What the draws say.
    pub diagnosis: Diagnosis,
    /// The same run on a GPU, if there was one.
    pub gpu: Option<GpuRun>,
    /// The model with all its parameters on that GPU, and on the CPU beside it.
    pub gpu_all: Option<GpuRun>,
    /// Seconds of each stage, in order.
    pub timing: Vec<(&'static str, f64)>,
    /// What was asked.
    pub settings: Settings,
}

impl Validation {
    /// True when no check failed. What is not there does not fail.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.verdict != Verdict::Fail)
    }

    /// Seconds of all stages together.
    pub fn total_s(&self) -> f64 {
        self.timing.iter().map(|(_, s)| s).sum()
    }
}

/// Runs the whole chain.
///
/// # Errors
/// Fewer than two groups or observations; whatever [`run::run`] refuses. A run that was stopped
/// early is no error: its checks are made on what there is, and `outcome.run.interrupted` is true.
pub fn validate(settings: &Settings, caller: &Caller<'_>) -> Result<Validation> {
    let mut clock = Clock::new(caller);
    if settings.groups < 2 || settings.per_group < 2 {
        let message = format!(
            "{} groups of {} observations; validation needs at least 2 of 2",
            settings.groups, settings.per_group
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let verification = verify(&|| (caller.now)(), None);
    let mut checks: Vec<Check> = verification
        .checks
        .iter()
        .filter(|c| c.verdict != Verdict::Skip)
        .cloned()
        .collect();
    clock.lap("verify");

    let (data, joint, outcome, diagnosis) = sampled(settings, caller, &mut clock)?;
    checks.extend(convergence(&diagnosis));
    checks.extend(truth(&diagnosis));
    let observed = data.get("y").expect("it was made above");
    checks.extend(predictions::checks(&outcome, observed, settings)?);
    clock.lap("predictive check");
    let (gpu, gpu_all) = match &settings.second {
        Second::No(why) => {
            checks.push(Check {
                name: "gpu",
                verdict: Verdict::Skip,
                detail: format!("sampling on a GPU was not checked: {why}"),
            });
            (None, None)
        }
        Second::On(_) if outcome.run.interrupted => (None, None),
        Second::On(card) => {
            let quiet = Caller {
                observer: Caller::silent().observer,
                ..*caller
            };
            let run = &settings.run;
            let (gpu, found) = gpu::repeat(card, run, &joint, &outcome, AS_SAMPLED, &quiet);
            checks.extend(found);
            let (all, found) = gpu::all_parameters(card, run, &joint, &quiet);
            checks.extend(found);
            clock.lap("gpu");
            (gpu, all)
        }
    };
    Ok(Validation {
        checks,
        verification,
        data,
        outcome,
        diagnosis,
        gpu,
        gpu_all,
        timing: clock.laps,
        settings: settings.clone(),
    })
}

/// Makes the data, samples the model and examines the draws.
fn sampled(
    settings: &Settings,
    caller: &Caller<'_>,
    clock: &mut Clock<'_>,
) -> Result<(Dataset, Joint, Outcome, Diagnosis)> {
    let data = generate(settings.groups, settings.per_group, settings.data_seed);
    let model = Model::parse(MODEL).expect("the model of the repository parses");
    let joint = bind(&model, &data, &settings.run)?;
    clock.lap("data and model");

    let outcome = run::run(&joint, &settings.run, caller)?;
    let timing = outcome.timing;
    clock.split(&[
        ("compile", timing.compile),
        ("warm-up", timing.warmup),
        ("sampling", timing.sampling),
        ("trace", timing.collecting),
    ]);
    let options = SummaryOptions {
        threads: settings.run.sampler.threads,
        ..SummaryOptions::default()
    };
    let diagnosis = outcome.diagnose(&options)?;
    clock.lap("diagnostics");
    Ok((data, joint, outcome, diagnosis))
}

/// Times the stages.
struct Clock<'a> {
    caller: &'a Caller<'a>,
    last: f64,
    laps: Vec<(&'static str, f64)>,
}

impl<'a> Clock<'a> {
    fn new(caller: &'a Caller<'a>) -> Self {
        Clock {
            caller,
            last: (caller.now)(),
            laps: Vec::new(),
        }
    }

    fn lap(&mut self, name: &'static str) {
        let now = (self.caller.now)();
        self.laps.push((name, now - self.last));
        self.last = now;
    }

    /// Stages that were timed elsewhere.
    fn split(&mut self, stages: &[(&'static str, f64)]) {
        self.laps.extend_from_slice(stages);
        self.last = (self.caller.now)();
    }
}

fn verdict(passed: bool) -> Verdict {
    if passed { Verdict::Pass } else { Verdict::Fail }
}

/// R-hat, ESS and divergences over every recorded element.
fn convergence(diagnosis: &Diagnosis) -> [Check; 3] {
    let rows = &diagnosis.summary.rows;
    let extreme = |pick: fn(&Row) -> f64| {
        let worst = rows.iter().max_by(|a, b| pick(a).total_cmp(&pick(b)));
        worst.map_or(String::new(), |row| format!(" at {}", row.label()))
    };
    let (r_hat, bulk, tail) = (
        diagnosis.max_r_hat,
        diagnosis.min_ess_bulk,
        diagnosis.min_ess_tail,
    );
    let divergences = diagnosis.divergences.unwrap_or(0);
    let transitions = diagnosis.summary.n_chains * diagnosis.summary.n_draws;
    let n = rows.len();
    [
        Check {
            name: "r-hat",
            verdict: verdict(r_hat < RHAT_LIMIT),
            detail: format!(
                "largest of {n} is {r_hat:.4}{}; below {RHAT_LIMIT} is needed",
                extreme(|row| row.statistics.r_hat)
            ),
        },
        Check {
            name: "ess",
            verdict: verdict(bulk > ESS_LIMIT && tail > ESS_LIMIT),
            detail: format!(
                "smallest of {n} is {bulk:.0} in the bulk{} and {tail:.0} in the tails{}; above \
                 {ESS_LIMIT} is needed",
                extreme(|row| -row.statistics.ess_bulk),
                extreme(|row| -row.statistics.ess_tail)
            ),
        },
        Check {
            name: "divergences",
            verdict: verdict((divergences as f64) < 0.01 * transitions as f64),
            detail: format!("{divergences} of {transitions} transitions; below 1 % is needed"),
        },
    ]
}

/// Whether the intervals hold what the data were made with.
fn truth(diagnosis: &Diagnosis) -> Vec<Check> {
    let truths = [
        ("mu_pop", Truth::MU_POP),
        ("sigma_pop", Truth::SIGMA_POP),
        ("sigma_obs", Truth::SIGMA_OBS),
    ];
    let check = |(name, truth): (&'static str, f64)| {
        let row = diagnosis.summary.rows.iter().find(|row| row.name == name);
        let s = row.expect("the model records it").statistics;
        let holds = s.lower <= truth && truth <= s.upper;
        let so = if holds {
            ""
        } else {
            "; an 89 % interval misses in 11 of 100 data sets"
        };
        Check {
            name,
            verdict: verdict(holds),
            detail: format!(
                "truth {truth}, mean {:.3}, 89 % HDI [{:.3}, {:.3}]{so}",
                s.mean, s.lower, s.upper
            ),
        }
    };
    truths.map(check).into()
}

#[cfg(test)]
mod tests;
