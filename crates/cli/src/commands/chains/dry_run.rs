//! `--dry-run`: says what a run needs.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use fitzroy::Result;
use fitzroy::report::json_number;
use fitzroy::run::{Settings, Subject, n_observations};
use fitzroy_session::Sampled;
use fitzroy_session::chains::need;
use serde_json::{Map, Value, json};

/// Says what the run of `model` needs; nothing is written.
///
/// # Errors
/// Those of the sampler: no start with a finite log density.
pub(crate) fn dry_run(
    model: &str,
    subject: &impl Sampled,
    settings: &Settings,
    common: &Common,
) -> Result<Outcome> {
    let subject = subject.subject();
    let n_observations = match subject {
        Subject::Model(joint) => n_observations(joint),
        Subject::Density(_) => 0,
    };
    let need = need(subject, settings, common.asked_precision())?;
    let (memory, time_s, made) = (&need.memory, need.time_s, need.pilot_transitions);
    let s = &settings.sampler;
    if common.json {
        json::print(&json!({
            "model": model,
            "parameters": subject.n_coordinates(),
            "observations": n_observations,
            "chains": s.chains,
            "first_chain": s.first_chain,
            "tune": s.tune,
            "draws": s.draws,
            "threads": s.threads,
            "memory_bytes": memory.bytes.ceil(),
            "draws_bytes": memory.draws_bytes.ceil(),
            "transition_s": json_number(need.transition_s),
            "pilot_transitions": made,
            "time_s": json_number(time_s),
            "gpu_time_s": need.cards.iter()
                .map(|(name, time_s)| (name.clone(), json_number(*time_s)))
                .collect::<Map<String, Value>>(),
        }));
        return Ok(Outcome::Done);
    }
    let named = ["v100", "a100", "h100"].iter().filter_map(|name| {
        let (_, time_s) = need.cards.iter().find(|(card, _)| card == name)?;
        Some(format!("{time_s:.0} s on a {}", name.to_uppercase()))
    });
    terminal::out(format_args!(
        "{model}: {} parameters, {n_observations} observations\nmemory  about {:.0} MiB, {:.0} of \
         them draws\ntime    about {time_s:.0} s for {} chains of {} + {} transitions on {} threads, \
         by the pace of the first {made} of a warm-up, which is often slower than what follows",
        subject.n_coordinates(),
        memory.bytes / f64::from(1 << 20),
        memory.draws_bytes / f64::from(1 << 20),
        s.chains,
        s.tune,
        s.draws,
        s.threads,
    ));
    if !need.cards.is_empty() {
        terminal::out(format_args!(
            "GPUs    about {}, by their clocks and the instructions of a gradient: never measured",
            named.collect::<Vec<_>>().join(", "),
        ));
    }
    Ok(Outcome::Done)
}
