//! What a launch is told: where data, metric and the state of the chains are on the machine, and how many
//! transitions to make.

use super::super::chain::{Chain, PhaseSettings};
use super::super::run::Session;
use super::super::{Phase, Target};
use super::{Slot, Stretch, chain_words};
use crate::Result;
use fitzroy_device::gpu::text::Source;
use std::sync::Arc;

/// What `struct Job` holds, in its order.
#[derive(Clone, Copy, Default)]
pub(super) struct Job {
    pub(super) fixed: u64,
    pub(super) table: u64,
    pub(super) states: u64,
    pub(super) memory: u64,
    pub(super) metric: u64,
    pub(super) forgetting: u64,
    pub(super) rows: u64,
    pub(super) metric_stride: u64,
    pub(super) n_chains: u64,
    pub(super) n_transitions: u64,
    pub(super) is_warmup: u64,
    pub(super) max_depth: u64,
    pub(super) past_turn: u64,
    pub(super) seed: u64,
    pub(super) stream: u64,
    pub(super) fresh: u64,
    pub(super) target_accept: u64,
    pub(super) budget_ns: u64,
    pub(super) progress: u64,
    pub(super) n_row: u64,
}

impl Job {
    pub(super) fn words(&self) -> [u64; 20] {
        [
            self.fixed,
            self.table,
            self.states,
            self.memory,
            self.metric,
            self.forgetting,
            self.rows,
            self.metric_stride,
            self.n_chains,
            self.n_transitions,
            self.is_warmup,
            self.max_depth,
            self.past_turn,
            self.seed,
            self.stream,
            self.fresh,
            self.target_accept,
            self.budget_ns,
            self.progress,
            self.n_row,
        ]
    }
}

/// Brings data, metric and the state of the chains to the machine.
pub(super) fn prepare<T: Target>(
    stretch: &mut Stretch<'_>,
    (source, team): (&Source, usize),
    chains: &[Chain<T>],
    phase: &PhaseSettings,
    session: &Session<'_>,
) -> Result<Job> {
    let settings = session.settings;
    let states: Vec<f64> = chains
        .iter()
        .flat_map(|c| state_of(c, stretch.dim, phase))
        .collect();
    let (metric, metric_stride) = metric_of(chains, stretch.dim);
    let forgetting: Vec<f64> = (0..=settings.tune)
        .map(|count| super::super::step_size::forgetting(count as f64))
        .collect();
    let memory = chain_words(source, settings.max_treedepth, team) * stretch.n_chains;
    Ok(Job {
        fixed: stretch.send_numbers(Slot::Fixed, &source.fixed)?,
        table: stretch.send_table(&source.table)?,
        states: stretch.send_numbers(Slot::States, &states)?,
        memory: stretch.machine.reserve(Slot::Memory as usize, memory)?,
        metric: stretch.send_numbers(Slot::Metric, &metric)?,
        forgetting: stretch.send_numbers(Slot::Forgetting, &forgetting)?,
        rows: 0,
        metric_stride: metric_stride as u64,
        n_chains: stretch.n_chains as u64,
        n_transitions: 0,
        is_warmup: u64::from(phase.phase == Phase::Warmup && !phase.held),
        max_depth: u64::from(phase.reach.max_depth),
        past_turn: u64::from(phase.reach.past_turn),
        seed: settings.seed,
        stream: u64::from(settings.stream),
        fresh: 0,
        target_accept: phase.target_accept.to_bits(),
        ..Job::default()
    })
}

/// A chain's state, in the order of `transition.c`. The step that is held, or that of the draws.
fn state_of<T>(chain: &Chain<T>, dim: usize, phase: &PhaseSettings) -> Vec<f64> {
    let point = &chain.space.candidate;
    let mut state = point.position.as_flattened()[..dim].to_vec();
    state.extend_from_slice(&point.gradient.as_flattened()[..dim]);
    let [mu, error, log_step, log_average, count, log_most] = chain.step.numbers();
    state.extend([
        point.log_density,
        f64::from(chain.iteration),
        f64::from(chain.stream.chain),
        mu,
        error,
        log_step,
        log_average,
        count,
        log_most,
        if phase.held {
            chain.step.average()
        } else {
            chain.step_size
        },
    ]);
    state
}

/// The factors S of all chains, once if they share one, in the order of `transition.c`; the step
/// from one to the next.
fn metric_of<T>(chains: &[Chain<T>], dim: usize) -> (Vec<f64>, usize) {
    let first = &chains[0].metric;
    if chains.iter().all(|c| Arc::ptr_eq(&c.metric, first)) {
        return (first.words(dim), 0);
    }
    let each: Vec<Vec<f64>> = chains.iter().map(|c| c.metric.words(dim)).collect();
    // Chains that adapt alone may differ in kind.
    let stride = each.iter().map(Vec::len).max().unwrap_or(0);
    let mut numbers = Vec::with_capacity(stride * each.len());
    for one in each {
        numbers.extend_from_slice(&one);
        numbers.resize(numbers.len() + stride - one.len(), 0.0);
    }
    (numbers, stride)
}
