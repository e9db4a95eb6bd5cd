//! Going on from a checkpoint: what must agree, and whether anything is left to do.

use super::caller::{Ended, Outcome};
use super::checkpoint::{Checkpoint, Progress};
use super::files::BEST;
use super::model::initial;
use super::plan::{Plan, Settings, plan};
use super::problem::Problem;
use super::schedule::{Rollouts, Schedule};
use crate::data::Climatology;
use fitzroy::{Error, Named, Result};
use fitzroy_device::nn::Network;
use serde_json::{Value, json};
use std::path::Path;

/// What a resumed run must agree on to go on as if it had not stopped.
fn settings_json(problem: &Problem, s: &Settings, schedule: &Schedule) -> Value {
    let first = |range: &std::ops::Range<usize>| problem.archive.times[range.start].iso();
    json!({
        "validation_start": first(&problem.splits.validation),
        "test_start": first(&problem.splits.test),
        "batch_size": s.batch_size, "accumulate": s.accumulate,
        "rollout_steps": s.rollout_steps, "learning_rate": s.learning_rate,
        "warmup_steps": schedule.warmup, "decay_steps": schedule.decay,
        "clip_norm": s.clip_norm, "weight_decay": s.weight_decay, "ema": s.average,
        "seed": s.seed, "data_checksum": problem.checksum,
        "loss": format!("{:?}", problem.weighting.loss).to_lowercase(),
        "loss_weights": problem.weighting.variables, "heavy_rain": problem.weighting.heavy,
        "validation_leads": s.validation_leads, "monitor": s.monitor.setting(),
    })
}

/// The average of the hour is kept in checkpoints up to this size.
const CLIMATOLOGY_MAX: u64 = 32 << 20;

/// What is told where it is larger.
pub(super) const NO_CLIMATOLOGY: &str = "the average of the hour is too large to be kept in \
     checkpoints: climatology is scored where the data hold the training records";

/// The checkpoint of a training that begins.
pub(super) fn first(
    problem: &Problem,
    network: &Network,
    s: &Settings,
    settings: Value,
) -> Checkpoint {
    let carried = problem.provenance.parameters.clone();
    let parameters = carried.unwrap_or_else(|| initial(problem, network, s.seed));
    let zeros = vec![0.0; parameters.len()];
    let train = &problem.splits.train;
    let small = Climatology::bytes(&problem.archive, train) <= CLIMATOLOGY_MAX;
    Checkpoint {
        identity: problem.identity(),
        normaliser: problem.normaliser.to_json(),
        settings,
        reading: problem.provenance.reading.clone(),
        origin: problem.provenance.origin.clone(),
        climatology: small.then(|| Climatology::new(&problem.archive, train)),
        arrays: network.parameters().to_vec(),
        progress: Progress::default(),
        m: zeros.clone(),
        v: zeros,
        average: s.average.map(|_| parameters.clone()),
        parameters,
    }
}

/// What a run starts with: its plan, and what follows from its settings.
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) rollouts: Rollouts,
    pub(super) schedule: Schedule,
    pub(super) network: Network,
    /// The settings that a resumed run must agree on.
    pub(super) own: Value,
}

pub(super) fn ready(problem: &Problem, s: &Settings, from: Option<&Checkpoint>) -> Result<Ready> {
    let plan = plan(problem, s)?;
    let saved = |name: &str| from.and_then(|c| c.settings[name].as_u64());
    // The end of the schedule does not move when a run goes on, whatever --num-epochs says then.
    let decay = s.decay_steps.or(saved("decay_steps"));
    let warmup = s.warmup_steps.or(saved("warmup_steps"));
    let schedule = Schedule::new(s.learning_rate, warmup, decay, plan.steps.1)?;
    Ok(Ready {
        rollouts: Rollouts::parse(&s.rollout_steps, s.n_epochs)?,
        network: Network::new(&problem.spec, s.recompute)?,
        own: settings_json(problem, s, &schedule),
        schedule,
        plan,
    })
}

/// Whether a run can go on from a checkpoint; how it has ended, where nothing is left to do.
///
/// # Errors
/// The checkpoint is of another problem, other data or other settings.
pub fn resumed(problem: &Problem, s: &Settings, from: &Checkpoint) -> Result<Option<Ended>> {
    let ready = ready(problem, s, Some(from))?;
    from.agree(&problem.identity(), ready.network.n_parameters())?;
    agree_on_settings(&from.settings, &ready.own)?;
    let p = &from.progress;
    let all = p.epoch >= s.n_epochs || s.max_steps.is_some_and(|most| p.step >= most);
    Ok(match (all, p.patience >= s.patience) {
        (true, _) => Some(Ended::Finished),
        (_, true) => Some(Ended::Early),
        _ => None,
    })
}

/// What came of a run that had ended before.
pub(super) fn untouched(ended: Ended, checkpoint: &Checkpoint, folder: &Path) -> Outcome {
    let best = folder.join(BEST);
    Outcome {
        ended,
        progress: checkpoint.progress.clone(),
        last_loss: f64::NAN,
        best: best.exists().then_some(best),
        unwritten: Vec::new(),
        beside_start: Vec::new(),
        data_wait: 0.0,
        step_s: (f64::NAN, f64::NAN),
        profile: None,
    }
}

/// Settings that a checkpoint of an earlier version does not hold are not compared.
fn agree_on_settings(saved: &Value, own: &Value) -> Result<()> {
    let differs = |name: &str, value: &Value| saved.get(name).is_some_and(|s| s != value);
    let differing: Vec<String> = own
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| differs(name, value))
        .map(|(name, value)| match name.as_str() {
            "data_checksum" => "the training and validation records are other ones".to_string(),
            _ => format!("{name}: {} saved, {value} here", saved[name.as_str()]),
        })
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "⟨resume_from⟩ goes on exactly where the run stopped, which needs the same data and \
         settings: {}",
        differing.join("; ")
    );
    Err(Error::usage(message))
}
