//! What chains take of the memory of a machine, known before they run.

use super::super::entangled::Plates;
use super::super::estimate::AUTO_DENSE_MAX_DIM;
use super::super::metric::LOW_RANK_MOST;
use super::super::{Adapt, MetricKind, Settings};
use super::{
    Job, Kinds, LEVEL_SUMS, LEVEL_VECTORS, N_SUMS, N_VECTORS, ROW_HEAD, ROWS_BYTES, STATE_EXTRA,
};
use fitzroy_device::gpu::blocks;
use fitzroy_device::gpu::text::Source;

/// What decides how much memory a run takes.
#[derive(Clone, Copy, Debug)]
pub struct Needs<'a> {
    /// The density.
    pub source: &'a Source,
    /// Chains, transitions, metric.
    pub settings: &'a Settings,
    /// Threads to a chain.
    pub team: usize,
    /// Coordinates that may form blocks of the metric.
    pub plates: &'a Plates,
}

/// Words that the kernel needs for `n_chains` chains at most: data, states, vectors, metric and rows.
pub fn memory_words(needs: Needs<'_>, n_chains: usize) -> usize {
    let Needs {
        source, settings, ..
    } = needs;
    let per_chain =
        chain_words(source, settings.max_treedepth, needs.team) + 2 * source.dim + STATE_EXTRA;
    let table = source.table.len().div_ceil(2);
    let data = source.fixed.len().max(1) + table.max(1) + settings.tune + 1;
    let n_metrics = match settings.adapt {
        Adapt::Pooled => 1,
        Adapt::PerChain => n_chains,
    };
    let metric = metric_words(settings, source.dim, needs.plates);
    let row = ROW_HEAD + 2 * source.dim;
    let transitions = settings.tune.max(settings.draws).min(most(row, n_chains));
    let rows = 2 * transitions * n_chains * row;
    let progress = 1 + n_chains;
    n_chains * per_chain
        + data
        + n_metrics * metric
        + rows
        + progress
        + Job::default().words().len()
}

/// Words of a metric of these settings at most.
fn metric_words(settings: &Settings, dim: usize, plates: &Plates) -> usize {
    let kind = settings.metric;
    // Rotations have a centre, and the inverse of what is dense.
    let Kinds { rotates, .. } = Kinds::of(settings, dim);
    let centre = if rotates { dim } else { 0 };
    let directions = LOW_RANK_MOST * (2 + 2 * dim);
    let dense = (1 + usize::from(rotates)) * dim * dim.next_multiple_of(8);
    3 + centre
        + match kind {
            MetricKind::Diagonal => dim,
            MetricKind::LowRank => dim + directions,
            MetricKind::Dense => dense,
            MetricKind::Blocks => {
                // Triangles of the elements, and of itself whatever stands in none, by rows and by columns.
                let triangle = |element: &Vec<usize>| element.len() * (element.len() + 1) / 2;
                let numbers: usize = plates.iter().flatten().map(triangle).sum();
                directions + 1 + 2 * (dim + 1 + 2 * (numbers + dim))
            }
            MetricKind::Auto if dim <= AUTO_DENSE_MAX_DIM => dense.max(dim + directions),
            MetricKind::Auto => dim + directions,
        }
}

/// Transitions of a launch of `n_chains` chains at most, with rows of `row` words.
pub(super) fn most(row: usize, n_chains: usize) -> usize {
    (ROWS_BYTES / (8 * row * n_chains)).max(1)
}

/// Words of memory of one chain at work: what its blocks have in common, then what each has.
pub(super) fn chain_words(source: &Source, max_treedepth: u32, team: usize) -> usize {
    // Every thread of a block has as many elements of a vector.
    let padded = source.dim.next_multiple_of(team / blocks(team));
    let words = |n_vectors: usize| {
        let bytes = n_vectors * padded * source.precision.vector_bytes();
        bytes.div_ceil(8)
    };
    let levels = max_treedepth as usize;
    let own = words(N_VECTORS + LEVEL_VECTORS * levels) + N_SUMS + LEVEL_SUMS * levels;
    words(2) + source.n_work + blocks(team) * own
}
