//! One block backward, tile by tile; gradients go to lanes that are summed in a fixed order.

use super::block::{
    Backward, Block, Dense, FREE_ROWS, Index, Job, Jobs, Lookup, Role, Run, Saved, TILE, Tile,
};
use super::number::Number;
use super::plan::Buffer;
use super::product::{Left, Start, product};
use super::rows::{NormBackward, add, add_rows, column_sums, silu, silu_backward, sum_rows, zero};
use std::ops::Range;

impl Block {
    /// Backward: takes the slopes by `out` and `aggregate`, adds to the slopes by the sources and
    /// to the gradient.
    pub(super) fn backward<E: Number>(&self, run: &Run<'_, E>, back: &Backward<'_, E>) {
        let jobs = &run.view.jobs[run.number];
        if self.kept.is_none() && !self.lookups.is_empty() {
            self.project(run, false);
        }
        run.crew.each(jobs.rows.len(), |number| {
            let job = &jobs.rows[number];
            // SAFETY: each job has its lane.
            let lane = unsafe { run.view.rows_mut(back.lanes, 0, number, 1) };
            for range in self.own_ranges() {
                zero(&mut lane[range]);
            }
            for sample in job.samples.clone() {
                for row in job.rows.clone().step_by(TILE) {
                    let n = TILE.min(job.rows.end - row);
                    self.tile_backward(run, back, Tile { sample, row, n }, lane);
                }
            }
        });
        if let (Some((_, true)), Some(total), Some(slope)) =
            (self.base, self.base_slope, self.slope)
        {
            self.sum_samples(run, slope, total);
        }
        for (lookup, jobs) in self.lookups.iter().zip(&jobs.lookups) {
            run.crew.each(jobs.len(), |number| {
                // SAFETY: each job has its lane.
                let lane = unsafe { run.view.rows_mut(back.lanes, 0, number, 1) };
                let lane = &mut lane[self.range_of(lookup)];
                zero(lane);
                self.source_backward(run, back, lookup, &jobs[number], lane);
            });
        }
        self.reduce(run, back, jobs);
    }

    /// Parameters of a look-up, counted from the block's first.
    fn range_of(&self, lookup: &Lookup) -> Range<usize> {
        let start = lookup.w - self.parameters.start;
        start..start + lookup.k * self.layers[0].n
    }

    /// The other parameters of the block.
    fn own_ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let n = self.layers[0].n;
        let dense = self.dense.iter().map(move |d| {
            let start = d.w - self.parameters.start;
            start..start + d.k * n
        });
        let rest = self.layers[0].b - self.parameters.start;
        dense.chain(std::iter::once(rest..self.parameters.len()))
    }

    fn tile_backward<E: Number>(
        &self,
        run: &Run<'_, E>,
        back: &Backward<'_, E>,
        tile: Tile,
        lane: &mut [E],
    ) {
        let Tile { sample, row, n } = tile;
        if self.kept.is_none() {
            self.tile_forward(run, tile);
        }
        let width = self.layers[self.layers.len() - 1].n;
        // SAFETY: scratch of this thread; the places are used in turn.
        let g = unsafe {
            let place = self.tiles().extra(2);
            run.view.scratch(run.crew.thread, place, n * width)
        };
        self.collect_slope(run, tile, g);
        if let Some(norm) = self.norm {
            self.norm_backward(run, tile, norm, (g, lane));
        }
        // SAFETY: nobody writes the transposed weights in this phase.
        let transposed = unsafe { run.view.rows(back.transposed, 0, 0, 1) };
        let g = self.layers_backward(run, transposed, tile, (g, lane));
        let first = self.layers[0];
        let b = first.b - self.parameters.start;
        column_sums(run.crew.level(), g, &mut lane[b..b + first.n]);
        for dense in &self.dense {
            let wanted = back.input_slope || dense.role != Role::Input;
            let transposed = wanted.then_some(transposed);
            self.dense_backward(run, dense, transposed, tile, (g, lane));
        }
        if let (Some(to), false) = (self.g, self.lookups.is_empty()) {
            // SAFETY: own rows; what was kept there has been used.
            unsafe { run.view.rows_mut(to, sample, row, n) }.copy_from_slice(g);
        }
    }

    /// Through LayerNorm: `g` becomes the slope by what was normalised.
    #[inline]
    fn norm_backward<E: Number>(
        &self,
        run: &Run<'_, E>,
        tile: Tile,
        (gamma, beta): (usize, usize),
        (g, lane): (&mut [E], &mut [E]),
    ) {
        let width = self.layers[self.layers.len() - 1].n;
        let at = |parameter: usize| parameter - self.parameters.start;
        let Saved { x, rstd } = self.saved(run, tile);
        let (head, tail) = lane.split_at_mut(at(beta));
        E::run(
            run.crew.level(),
            NormBackward {
                slope: g,
                x,
                rstd,
                gamma: &run.parameters[gamma..gamma + width],
                d_gamma: &mut head[at(gamma)..at(gamma) + width],
                d_beta: &mut tail[..width],
            },
        );
    }

    /// Through the layers from the last to the second; the slope by the first one's results.
    #[inline]
    fn layers_backward<'r, E: Number>(
        &self,
        run: &'r Run<'_, E>,
        transposed: &[E],
        tile: Tile,
        (mut g, lane): (&'r mut [E], &mut [E]),
    ) -> &'r mut [E] {
        let (tiles, level, n) = (self.tiles(), run.crew.level(), tile.n);
        let extra = |k: usize, width: usize| {
            // SAFETY: scratch of this thread; the places are used in turn.
            unsafe { run.view.scratch(run.crew.thread, tiles.extra(k), n * width) }
        };
        let at = |parameter: usize| parameter - self.parameters.start;
        let mut other = 3;
        for number in (1..self.layers.len()).rev() {
            let layer = self.layers[number];
            let pre = self.pre(run, tile, number - 1);
            let a = extra(0, layer.k);
            silu(level, pre, a);
            let weights = &mut lane[at(layer.w)..at(layer.w) + layer.k * layer.n];
            let left = Left::transposed(a, layer.k);
            product(level, (layer.k, layer.n, n), left, g, weights, Start::Keep);
            column_sums(level, g, &mut lane[at(layer.b)..at(layer.b) + layer.n]);
            let next = extra(other, layer.k);
            let left = Left::by_rows(g, layer.n);
            let weights = &transposed[layer.w..layer.w + layer.k * layer.n];
            let shape = (n, layer.k, layer.n);
            product(level, shape, left, weights, next, Start::Zero);
            silu_backward(level, pre, next);
            g = next;
            other = 5 - other;
        }
        g
    }

    /// A part of the input that stands row by row: its weights, and the slope by it, if that is wanted.
    #[inline]
    fn dense_backward<E: Number>(
        &self,
        run: &Run<'_, E>,
        dense: &Dense,
        transposed: Option<&[E]>,
        Tile { sample, row, n }: Tile,
        (g, lane): (&[E], &mut [E]),
    ) {
        let (level, width) = (run.crew.level(), self.layers[0].n);
        // SAFETY: sources are not written while the block runs; slopes of own rows are this
        // job's alone.
        let from = unsafe { run.view.rows(dense.source, sample, row, n) };
        let at = dense.w - self.parameters.start;
        let weights = &mut lane[at..at + dense.k * width];
        let left = Left::transposed(from, dense.k);
        product(level, (dense.k, width, n), left, g, weights, Start::Keep);
        if let (Some(slope), Some(transposed)) = (dense.slope, transposed) {
            // SAFETY: as above.
            let slope = unsafe { run.view.rows_mut(slope, sample, row, n) };
            let start = match dense.role {
                Role::Sums => Start::Zero,
                _ => Start::Keep,
            };
            let left = Left::by_rows(g, width);
            let weights = &transposed[dense.w..dense.w + dense.k * width];
            product(level, (n, dense.k, width), left, weights, slope, start);
        }
    }

    /// The slope by a tile's results: that of `out`, and that of its receivers' sums.
    fn collect_slope<E: Number>(&self, run: &Run<'_, E>, tile: Tile, g: &mut [E]) {
        let Tile { sample, row, n } = tile;
        match self.slope {
            // SAFETY: own rows, not written before this tile is done with them.
            Some(slope) => g.copy_from_slice(unsafe { run.view.rows(slope, sample, row, n) }),
            None => zero(g),
        }
        if let (Some(aggregate), Some(edges)) = (self.aggregate, self.edges) {
            let edges = &run.edges[edges];
            let receivers = &edges.receivers[row..row + n];
            let n_receivers = edges.by_receiver.len() - 1;
            // SAFETY: slopes by sums are written in a phase before.
            let table = unsafe { run.view.rows(aggregate.slope, sample, 0, n_receivers) };
            add_rows(run.crew.level(), g.len() / n, table, receivers, g);
        }
    }

    /// total ← total + Σ of `slope` over samples.
    fn sum_samples<E: Number>(&self, run: &Run<'_, E>, slope: Buffer, total: Buffer) {
        run.crew.each(self.rows.div_ceil(FREE_ROWS), |piece| {
            let row = piece * FREE_ROWS;
            let n = FREE_ROWS.min(self.rows - row);
            // SAFETY: jobs have rows of their own; the slopes are only read in this phase.
            let to = unsafe { run.view.rows_mut(total, 0, row, n) };
            for sample in 0..run.view.batch() {
                // SAFETY: as above.
                add(
                    run.crew.level(),
                    unsafe { run.view.rows(slope, sample, row, n) },
                    to,
                );
            }
        });
    }

    /// Sums G at the source rows of a job and multiplies there.
    fn source_backward<E: Number>(
        &self,
        run: &Run<'_, E>,
        back: &Backward<'_, E>,
        lookup: &Lookup,
        job: &Job,
        lane: &mut [E],
    ) {
        let (level, width) = (run.crew.level(), self.layers[0].n);
        let Some(g_of) = self.g else { return };
        for sample in job.samples.clone() {
            for row in job.rows.clone().step_by(TILE) {
                let n = TILE.min(job.rows.end - row);
                let at = self.tiles().extra(2);
                // SAFETY: scratch of this thread.
                let sums = unsafe { run.view.scratch(run.crew.thread, at, n * width) };
                zero(sums);
                let samples = if lookup.once && !self.once {
                    0..run.view.batch()
                } else {
                    sample..sample + 1
                };
                for of in samples {
                    // SAFETY: G is only read in this phase.
                    let g = unsafe { run.view.rows(g_of, of, 0, self.rows) };
                    match (lookup.index, self.edges) {
                        (Index::Sender, Some(edges)) => {
                            let edges = &run.edges[edges];
                            let starts = &edges.by_sender[row..=row + n];
                            sum_rows(level, width, g, starts, &edges.sent, sums);
                        }
                        (Index::Receiver, Some(edges)) => {
                            let edges = &run.edges[edges];
                            let starts = &edges.by_receiver[row..=row + n];
                            sum_rows(level, width, g, starts, &edges.own, sums);
                        }
                        _ => add(level, &g[row * width..(row + n) * width], sums),
                    }
                }
                // SAFETY: sources are only read; slopes of a job's rows are its own.
                let (from, slope, transposed) = unsafe {
                    (
                        run.view.rows(lookup.source, sample, row, n),
                        run.view.rows_mut(lookup.slope, sample, row, n),
                        run.view.rows(back.transposed, 0, 0, 1),
                    )
                };
                let left = Left::transposed(from, lookup.k);
                product(level, (lookup.k, width, n), left, sums, lane, Start::Keep);
                let left = Left::by_rows(sums, width);
                let weights = &transposed[lookup.w..lookup.w + lookup.k * width];
                product(
                    level,
                    (n, lookup.k, width),
                    left,
                    weights,
                    slope,
                    Start::Keep,
                );
            }
        }
    }

    /// gradient ← gradient + Σ over lanes, in the order of lanes.
    fn reduce<E: Number>(&self, run: &Run<'_, E>, back: &Backward<'_, E>, jobs: &Jobs) {
        const PIECE: usize = 4096;
        run.crew
            .each(self.parameters.len().div_ceil(PIECE), |piece| {
                let start = piece * PIECE;
                let end = (start + PIECE).min(self.parameters.len());
                let own = self.own_ranges().map(|range| (range, jobs.rows.len()));
                let looked_up = self.lookups.iter().zip(&jobs.lookups);
                let looked_up = looked_up.map(|(l, jobs)| (self.range_of(l), jobs.len()));
                for (range, n_lanes) in own.chain(looked_up) {
                    let (from, to) = (range.start.max(start), range.end.min(end));
                    if from >= to {
                        continue;
                    }
                    // SAFETY: pieces do not overlap; lanes are only read in this phase.
                    let sum = unsafe {
                        back.gradient
                            .slice_mut(self.parameters.start + from, to - from)
                    };
                    for lane in 0..n_lanes {
                        // SAFETY: as above.
                        let lane = unsafe { run.view.rows(back.lanes, 0, lane, 1) };
                        add(run.crew.level(), &lane[from..to], sum);
                    }
                }
            });
    }
}
