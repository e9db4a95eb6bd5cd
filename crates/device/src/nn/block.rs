//! One block: a perceptron over rows (nodes or edges), forward, tile by tile.
//!
//! The first layer of [e; s; r]·W is a sum of three products. What belongs to a row itself is
//! multiplied tile by tile ([`Dense`]); what is looked up is multiplied once at its source and
//! then gathered ([`Lookup`]), which for edges replaces two of three products on edges by
//! products on nodes. Backward, with G the slope by that sum: Σ of G over the rows that look a
//! source row up, then two products at the source.

use super::number::Number;
use super::plan::{Buffer, View};
use super::pool::{Common, Crew};
use super::product::{Left, Start, product};
use super::rows::{Norm, add, add_rows, add_to_rows, silu, sum_of, zero};
use std::ops::Range;

/// Rows of a tile: what they need stays in the second-level cache.
pub(super) const TILE: usize = 96;
/// Pieces that gradients are summed in, at least; more than the threads of most machines.
const LANES: usize = 8;
/// Lanes at most (`Job::cut`).
pub(super) const LANES_MAX: usize = 16;
/// Rows of a job that has no sums to keep apart.
pub(super) const FREE_ROWS: usize = 4 * TILE;

/// Edges sorted by receiver, and the same by sender.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    pub(super) senders: Vec<u32>,
    pub(super) receivers: Vec<u32>,
    /// Where the edges of each receiver start, and the end.
    pub(super) by_receiver: Vec<u32>,
    /// Where the edges of each sender start in `sent`, and the end.
    pub(super) by_sender: Vec<u32>,
    /// Edges sorted by sender.
    pub(super) sent: Vec<u32>,
    /// 0, 1, 2, ...: all edges, as `by_receiver` counts them.
    pub(super) own: Vec<u32>,
}

/// A layer of the perceptron: parameters from `w` and `b` on, `k` inputs, `n` outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub(super) w: usize,
    pub(super) b: usize,
    pub(super) k: usize,
    pub(super) n: usize,
}

/// What a dense part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Data: the slope is wanted only when the caller asks for it.
    Input,
    /// A state: slopes by what else reads it are added up.
    State,
    /// Sums of messages: nothing else reads them, so the slope replaces what an earlier stage
    /// has left in its place.
    Sums,
}

/// A part of the input that belongs to the row itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    pub(super) source: Buffer,
    pub(super) k: usize,
    pub(super) w: usize,
    /// Where the slope by the source is added; none for data.
    pub(super) slope: Option<Buffer>,
    pub(super) role: Role,
}

/// Which row of the source a row looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// The row of its own number.
    Same,
    /// Its sender.
    Sender,
    /// Its receiver.
    Receiver,
}

/// A part of the input that is looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    pub(super) source: Buffer,
    pub(super) rows: usize,
    /// The source is the same for all samples.
    pub(super) once: bool,
    pub(super) k: usize,
    pub(super) w: usize,
    /// source·W.
    pub(super) projected: Buffer,
    pub(super) index: Index,
    pub(super) slope: Buffer,
}

/// Sums of the results over the edges of each receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregate {
    pub(super) to: Buffer,
    pub(super) slope: Buffer,
}

/// What the backward pass needs of the forward pass, if it is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Inputs of the activations.
    pub(super) pre: Vec<Buffer>,
    pub(super) x: Buffer,
    pub(super) rstd: Buffer,
}

/// A perceptron over rows.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) name: String,
    /// Runs for one sample, which stands for all.
    pub(super) once: bool,
    pub(super) rows: usize,
    pub(super) dense: Vec<Dense>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) layers: Vec<Layer>,
    /// γ and β.
    pub(super) norm: Option<(usize, usize)>,
    /// What the result is added to, and whether it is the same for all samples.
    pub(super) base: Option<(Buffer, bool)>,
    /// The slope by a base that is the same for all samples.
    pub(super) base_slope: Option<Buffer>,
    pub(super) out: Option<Buffer>,
    /// The slope by `out`, which becomes the slope by `base`.
    pub(super) slope: Option<Buffer>,
    pub(super) edges: Option<usize>,
    pub(super) aggregate: Option<Aggregate>,
    pub(super) kept: Option<Kept>,
    /// G of all rows, where it is looked up afterwards.
    pub(super) g: Option<Buffer>,
    /// All parameters of the block.
    pub(super) parameters: Range<usize>,
}

/// A piece of a block's rows: samples, rows and receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) samples: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) receivers: Range<usize>,
}

/// How a block is cut for a batch.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    pub(super) rows: Vec<Job>,
    pub(super) lookups: Vec<Vec<Job>>,
}

impl Job {
    /// Cuts samples first, then rows, into about `LANES` pieces, whatever the threads; `ends`
    /// tells where the rows of each receiver start.
    fn cut(n_samples: usize, rows: usize, ends: Option<&[u32]>) -> Vec<Job> {
        let groups = n_samples.min(LANES);
        let pieces = LANES.div_ceil(n_samples.max(1)).clamp(1, LANES);
        let mut jobs = Vec::new();
        for group in 0..groups {
            let samples = n_samples * group / groups..n_samples * (group + 1) / groups;
            let mut start = (0, 0);
            for piece in 1..=pieces {
                let wanted = rows * piece / pieces;
                let end = match ends {
                    None => (wanted, 0),
                    Some(ends) if piece == pieces => (rows, ends.len() - 1),
                    Some(ends) => {
                        let receiver = ends.partition_point(|&e| (e as usize) < wanted);
                        (ends[receiver] as usize, receiver)
                    }
                };
                jobs.push(Job {
                    samples: samples.clone(),
                    rows: start.0..end.0,
                    receivers: start.1..end.1,
                });
                start = end;
            }
        }
        debug_assert!(jobs.len() <= LANES_MAX);
        jobs
    }
}

/// Everything a block needs to run.
pub(super) struct Run<'a, E> {
    pub(super) view: View<'a, E>,
    pub(super) crew: &'a Crew<'a>,
    pub(super) parameters: &'a [E],
    pub(super) edges: &'a [Edges],
    /// Number of the block, for its jobs.
    pub(super) number: usize,
}

/// What the backward pass needs besides.
pub(super) struct Backward<'a, E> {
    /// The weights, each matrix transposed in its place.
    pub(super) transposed: Buffer,
    pub(super) lanes: Buffer,
    pub(super) gradient: Common<'a, E>,
    /// Whether the slope by the input is wanted.
    pub(super) input_slope: bool,
}

/// Scratch of one thread: activations of each layer, then four tiles.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    width: usize,
    n_layers: usize,
}

impl Tiles {
    pub(super) fn pre(&self, layer: usize) -> usize {
        TILE * self.width * layer
    }
    pub(super) fn extra(&self, k: usize) -> usize {
        TILE * self.width * (self.n_layers + k)
    }
}

/// A tile: rows `row..row + n` of `sample`.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) sample: usize,
    pub(super) row: usize,
    pub(super) n: usize,
}

/// Where a tile's saved values are: kept for all rows, or in scratch.
pub(super) struct Saved<'a, E> {
    pub(super) x: &'a mut [E],
    pub(super) rstd: &'a mut [E],
}

impl Block {
    /// Scratch of one thread.
    pub(super) fn scratch_len(&self) -> usize {
        let tiles = self.tiles();
        tiles.extra(4) + TILE
    }

    pub(super) fn tiles(&self) -> Tiles {
        let widest = self.layers.iter().map(|l| l.n).max().unwrap_or(0);
        Tiles {
            width: widest,
            n_layers: self.layers.len(),
        }
    }

    /// Multiply-adds of a forward pass over `batch` samples.
    pub(super) fn multiply_adds(&self, batch: usize) -> u64 {
        let samples = |once: bool| if once { 1 } else { batch };
        let per_row = self
            .dense
            .iter()
            .map(|d| d.k * self.layers[0].n)
            .sum::<usize>()
            + self.layers[1..].iter().map(|l| l.k * l.n).sum::<usize>();
        let looked_up = self.lookups.iter();
        let looked_up = looked_up.map(|l| samples(l.once) * l.rows * l.k * self.layers[0].n);
        (samples(self.once) * self.rows * per_row + looked_up.sum::<usize>()) as u64
    }

    /// The jobs for a batch.
    pub(super) fn jobs(&self, batch: usize, edges: &[Edges]) -> Jobs {
        let n_samples = if self.once { 1 } else { batch };
        let ends = match (&self.aggregate, self.edges) {
            (Some(_), Some(edges_of)) => Some(edges[edges_of].by_receiver.as_slice()),
            _ => None,
        };
        let sources = self.lookups.iter();
        Jobs {
            rows: Job::cut(n_samples, self.rows, ends),
            lookups: sources
                .map(|l| Job::cut(if l.once { 1 } else { batch }, l.rows, None))
                .collect(),
        }
    }

    /// Multiplies the looked-up sources; those that are the same for all samples when `once`,
    /// else the others.
    pub(super) fn project<E: Number>(&self, run: &Run<'_, E>, once: bool) {
        let n = self.layers[0].n;
        for lookup in self.lookups.iter().filter(|l| l.once == once) {
            let n_samples = if once { 1 } else { run.view.batch() };
            let pieces = lookup.rows.div_ceil(FREE_ROWS);
            run.crew.each(n_samples * pieces, |job| {
                let (sample, row) = (job / pieces, job % pieces * FREE_ROWS);
                let rows = FREE_ROWS.min(lookup.rows - row);
                // SAFETY: jobs have rows of their own; sources are not written in this phase.
                let (from, to) = unsafe {
                    (
                        run.view.rows(lookup.source, sample, row, rows),
                        run.view.rows_mut(lookup.projected, sample, row, rows),
                    )
                };
                let weights = &run.parameters[lookup.w..lookup.w + lookup.k * n];
                let left = Left::by_rows(from, lookup.k);
                product(
                    run.crew.level(),
                    (rows, n, lookup.k),
                    left,
                    weights,
                    to,
                    Start::Zero,
                );
            });
        }
    }

    /// Forward: fills `out` and `aggregate`.
    pub(super) fn forward<E: Number>(&self, run: &Run<'_, E>) {
        let jobs = &run.view.jobs[run.number].rows;
        run.crew.each(jobs.len(), |number| {
            let job = &jobs[number];
            for sample in job.samples.clone() {
                if let Some(aggregate) = self.aggregate {
                    let (first, n) = (job.receivers.start, job.receivers.len());
                    // SAFETY: jobs have receivers of their own.
                    zero(unsafe { run.view.rows_mut(aggregate.to, sample, first, n) });
                }
                for row in job.rows.clone().step_by(TILE) {
                    let n = TILE.min(job.rows.end - row);
                    let tile = Tile { sample, row, n };
                    let y = self.tile_forward(run, tile);
                    self.deliver(run, job, tile, y);
                }
            }
        });
    }

    /// Adds a tile's result to the base and to the sums of its receivers.
    fn deliver<E: Number>(&self, run: &Run<'_, E>, job: &Job, tile: Tile, y: &[E]) {
        let Tile { sample, row, n } = tile;
        let level = run.crew.level();
        if let Some(out) = self.out {
            // SAFETY: jobs have rows of their own, and a base is never an `out` of this block.
            let to = unsafe { run.view.rows_mut(out, sample, row, n) };
            match self.base {
                Some((base, _)) => {
                    // SAFETY: as above.
                    let base = unsafe { run.view.rows(base, sample, row, n) };
                    sum_of(level, base, y, to);
                }
                None => to.copy_from_slice(y),
            }
        }
        if let (Some(aggregate), Some(edges)) = (self.aggregate, self.edges) {
            let (first, count) = (job.receivers.start, job.receivers.len());
            let receivers = &run.edges[edges].receivers[row..row + n];
            // SAFETY: jobs have receivers of their own.
            let to = unsafe { run.view.rows_mut(aggregate.to, sample, first, count) };
            let width = y.len() / n;
            add_to_rows(level, width, y, receivers, first, to);
        }
    }

    /// The saved rows of a tile.
    pub(super) fn saved<'a, E: Number>(&self, run: &Run<'a, E>, tile: Tile) -> Saved<'a, E> {
        let Tile { sample, row, n } = tile;
        let (tiles, thread) = (self.tiles(), run.crew.thread);
        let width = self.layers[self.layers.len() - 1].n;
        // SAFETY: jobs have rows of their own; scratch is of this thread, and each place in it is
        // used for one thing.
        unsafe {
            match &self.kept {
                Some(kept) => Saved {
                    x: run.view.rows_mut(kept.x, sample, row, n),
                    rstd: run.view.rows_mut(kept.rstd, sample, row, n),
                },
                None => Saved {
                    x: run
                        .view
                        .scratch(thread, tiles.pre(self.layers.len() - 1), n * width),
                    rstd: run.view.scratch(thread, tiles.extra(4), n),
                },
            }
        }
    }

    /// The saved input of activation `layer` of a tile.
    pub(super) fn pre<'a, E: Number>(
        &self,
        run: &Run<'a, E>,
        tile: Tile,
        layer: usize,
    ) -> &'a mut [E] {
        let Tile { sample, row, n } = tile;
        // SAFETY: as in `saved`.
        unsafe {
            match &self.kept {
                Some(kept) => run.view.rows_mut(kept.pre[layer], sample, row, n),
                None => {
                    let at = self.tiles().pre(layer);
                    run.view
                        .scratch(run.crew.thread, at, n * self.layers[layer].n)
                }
            }
        }
    }

    /// A tile of results before the base is added, in scratch.
    pub(super) fn tile_forward<'a, E: Number>(&self, run: &Run<'a, E>, tile: Tile) -> &'a mut [E] {
        let n = tile.n;
        let (tiles, level) = (self.tiles(), run.crew.level());
        let last = self.layers.len() - 1;
        let extra = |k: usize, width: usize| {
            // SAFETY: scratch of this thread; the places are used in turn.
            unsafe { run.view.scratch(run.crew.thread, tiles.extra(k), n * width) }
        };
        for (number, layer) in self.layers.iter().enumerate() {
            // The last layer's result goes where x̂ is kept, if it is.
            let z = match (number == last, self.norm) {
                (false, _) => self.pre(run, tile, number),
                (true, Some(_)) => self.saved(run, tile).x,
                (true, None) => extra(1, layer.n),
            };
            let bias = Start::Row(&run.parameters[layer.b..layer.b + layer.n]);
            if number == 0 {
                self.first_layer(run, tile, z, bias);
            } else {
                let a = extra(0, layer.k);
                silu(level, self.pre(run, tile, number - 1), a);
                let left = Left::by_rows(a, layer.k);
                let weights = &run.parameters[layer.w..layer.w + layer.k * layer.n];
                product(level, (n, layer.n, layer.k), left, weights, z, bias);
            }
        }
        let width = self.layers[last].n;
        let y = extra(1, width);
        if let Some((gamma, beta)) = self.norm {
            let Saved { x, rstd } = self.saved(run, tile);
            let gamma = &run.parameters[gamma..gamma + width];
            let beta = &run.parameters[beta..beta + width];
            E::run(
                level,
                Norm {
                    z: x,
                    rstd,
                    gamma,
                    beta,
                    y,
                },
            );
        }
        extra(1, width)
    }

    /// The sum of all parts of the input, multiplied.
    fn first_layer<E: Number>(
        &self,
        run: &Run<'_, E>,
        tile: Tile,
        z: &mut [E],
        bias: Start<'_, E>,
    ) {
        let Tile { sample, row, n } = tile;
        let (level, width) = (run.crew.level(), self.layers[0].n);
        let mut start = bias;
        for dense in &self.dense {
            // SAFETY: sources are not written while the block runs.
            let from = unsafe { run.view.rows(dense.source, sample, row, n) };
            let left = Left::by_rows(from, dense.k);
            let weights = &run.parameters[dense.w..dense.w + dense.k * width];
            product(level, (n, width, dense.k), left, weights, z, start);
            start = Start::Keep;
        }
        if let Start::Row(row) = start {
            z.chunks_exact_mut(width)
                .for_each(|line| line.copy_from_slice(row));
        }
        for lookup in &self.lookups {
            let index = match (lookup.index, self.edges) {
                (Index::Sender, Some(edges)) => &run.edges[edges].senders[row..row + n],
                (Index::Receiver, Some(edges)) => &run.edges[edges].receivers[row..row + n],
                _ => {
                    // SAFETY: projections are written in a phase before.
                    let from = unsafe { run.view.rows(lookup.projected, sample, row, n) };
                    add(level, from, z);
                    continue;
                }
            };
            // SAFETY: as above.
            let table = unsafe { run.view.rows(lookup.projected, sample, 0, lookup.rows) };
            add_rows(level, width, table, index, z);
        }
    }
}
