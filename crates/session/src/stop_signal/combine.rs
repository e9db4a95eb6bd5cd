//! Blocks of a study, sampled as one population.

use crate::clock::Clock;
use crate::face::Face;
use crate::sampling::sample;
use crate::session::{Fit, Session};
use fitzroy::diagnose::Diagnosis;
use fitzroy::draws::Trace;
use fitzroy::fit::sample::{Init, Settings as Sampler};
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::Settings;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_stop_signal::check::{self, Check};
use fitzroy_stop_signal::combine::{Blocks, Children, checks, children_csv, populations};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::chains::Ended;

/// Populations over which estimates of subjects are averaged.
const AVERAGED: usize = 100;
/// Starts lie within this many of a block's standard deviations.
const JITTER: f64 = 0.5;

/// What a combination needs besides its blocks.
pub struct Combining<'a> {
    /// Chains, draws, threads, seed.
    pub sampler: Sampler,
    /// Who is told of progress.
    pub face: Arc<dyn Face>,
    /// Ends the run early.
    pub stop: &'a AtomicBool,
    /// Since when time counts.
    pub clock: Clock,
}

/// A population of all blocks.
pub struct Combined {
    /// Its draws and their diagnosis.
    pub fit: Fit,
    /// Whether they can be trusted.
    pub checks: Vec<Check>,
    /// Every subject, given all blocks: `subject,parameter,mean,sd,q05,q95`.
    pub subjects: String,
}

/// Samples the population of `blocks`; none if that was stopped before the first draw.
///
/// # Errors
/// Those of the sampler; blocks that do not record their population.
pub fn combine(blocks: &Blocks, how: Combining<'_>) -> Result<Option<Combined>> {
    let children = Children::new(blocks, how.sampler.threads).ok_or_else(|| {
        let message = "the blocks' traces do not hold their population's means and spreads";
        Error::new(ErrorKind::Data, message)
    })?;
    let settings = Settings {
        rewrites: Rewrites::NONE,
        sampler: how.sampler,
        ..Settings::default()
    };
    let (model, data) = (Model::parse(&blocks.text())?, blocks.data(&children));
    let threads = settings.sampler.threads;
    let mut session = sample(&model, &data)
        .name("stop-signal-combine")
        .settings(settings)
        .threads_after(threads)
        .face(how.face)
        .clock(how.clock)
        .bind()?;
    place(blocks, &mut session);
    session.settle()?;
    session.open()?;
    let outcome = match session.draw(how.stop)? {
        Ended::Drawn(outcome, _) => outcome,
        Ended::Early => return Ok(None),
        Ended::Unwritable(error) => return Err(error),
    };
    let mut fit = session.examine(outcome, order)?;
    // The draws of subjects are in the blocks.
    fit.trace.groups.retain(|g| g.name != "constant_data");
    let n_draws = fit
        .trace
        .group("posterior")
        .and_then(|g| g.variables.first());
    let n_draws = n_draws.map_or(0, |v| v.shape[0] * v.shape[1]);
    let mut found = check::sampler(&fit.diagnosis, n_draws);
    found.extend(checks(blocks, &children, &fit.trace));
    let some = populations(&blocks.levels, &fit.trace, AVERAGED);
    Ok(Some(Combined {
        subjects: children_csv(&children, &some),
        checks: found,
        fit,
    }))
}

/// Starts around the blocks' means.
fn place(blocks: &Blocks, session: &mut Session) {
    let sampler = &mut session.settings.sampler;
    let joint: &Joint = &session.subject;
    let one = |chain: usize| {
        let mut rng = Rng::new(sampler.seed, 0, chain as u32, 0, Purpose::Init);
        let mut point = vec![0.0; joint.n_sampled()];
        for p in joint.parameters() {
            let signed = p
                .name
                .strip_prefix("_signed_")
                .map(|x| format!("sigma_{x}"));
            let name = signed.as_deref().unwrap_or(&p.name);
            let width = blocks.blocks[0].moments(name).map_or(0.0, |m| m.1);
            let (Some(centre), Some(slot)) = (blocks.centre(name), point.get_mut(p.offset)) else {
                continue;
            };
            let jitter = JITTER * (2.0 * rng.uniform() - 1.0);
            *slot = match name.starts_with("sigma_") && signed.is_none() {
                true => centre.ln() + jitter * width / centre,
                false => centre + jitter * width,
            };
        }
        point
    };
    let n = sampler.chains;
    sampler.init = Init::Points((0..n).map(one).collect());
}

/// Stopping first, coordinates in disguise not at all.
fn order(diagnosis: &mut Diagnosis, _: &Trace) {
    let rows = &mut diagnosis.summary.rows;
    rows.retain(|row| !row.name.starts_with("log_"));
    rows.sort_by_key(|row| super::place(&row.name));
}
