//! A network as a list of kernels and products: backward.

use super::super::block::{Block, Index, Lookup, Role};
use super::layout::{SUMMED, pieces};
use super::record::{Recorder, row_teams, teams};

impl Recorder<'_> {
    /// Backward through all blocks that are computed sample by sample, from the slope by the
    /// output of `step`.
    pub(super) fn backward(&mut self, step: usize, input_slope: bool) {
        let network = self.network;
        for &buffer in &network.slopes {
            let n = self.numbers(buffer);
            let at = self.of(buffer, 0);
            self.zero(at, n);
        }
        for (number, block) in network.blocks.iter().enumerate().rev() {
            let group = network.groups.iter().find(|group| group.end == number + 1);
            if let Some(group) = group {
                self.forward(group.clone(), step);
            }
            if !block.once {
                self.block_backward(block, step, input_slope);
            }
        }
    }

    /// Forgets the slopes that are the same for all samples.
    pub(super) fn begin_backward(&mut self) {
        let network = self.network;
        for &buffer in &network.slopes_once {
            let n = self.numbers(buffer);
            let at = self.of(buffer, 0);
            self.zero(at, n);
        }
    }

    /// Backward through what is computed once.
    pub(super) fn end_backward(&mut self) {
        let network = self.network;
        for block in network.blocks.iter().rev().filter(|b| b.once) {
            self.block_backward(block, 0, false);
        }
    }

    /// Numbers of an array, of all samples.
    fn numbers(&self, buffer: super::super::plan::Buffer) -> u64 {
        let (len, copies) = self.network.plan.size(buffer.number());
        let samples = match copies {
            super::super::plan::Copies::One => 1,
            _ => self.layout.batch,
        };
        (len * samples) as u64
    }

    /// A place for `n_pieces` rows of `width` numbers, whose sums [`Self::reduce`] adds to the gradient
    /// from `to` on.
    fn partial(&mut self, n_pieces: u64, width: u64, to: usize) -> u64 {
        if self.sums.arrays.len() == SUMMED {
            self.reduce();
        }
        let (first, each) = self.layout.partial;
        let place = self.at(first + each * self.sums.arrays.len() as u64);
        let to = self.gradient(to);
        self.sums.n_rows = n_pieces;
        self.sums.arrays.push([place, width, to]);
        place
    }

    /// Adds all that was summed by pieces to the gradient.
    fn reduce(&mut self) {
        let arrays = std::mem::take(&mut self.sums.arrays);
        let width = arrays.iter().map(|array| array[1]).sum();
        let mut words = vec![self.sums.n_rows];
        words.extend(arrays.into_iter().flatten());
        self.launch("reduce", width, &words);
    }

    /// g times SiLU', what the product with the layer before needs, and the slope by the bias, which
    /// is in z already where `whole`.
    fn activation_backward(
        &mut self,
        g: u64,
        (z, whole): (u64, bool),
        (rows, n, bias): (u64, usize, usize),
    ) {
        let (each, n_pieces) = pieces(rows);
        let pack = self.pack(n, Some(bias));
        let partial = self.partial(n_pieces, n as u64, bias);
        let words = [
            g,
            z,
            self.at(self.layout.activation),
            partial,
            rows,
            n as u64,
            each,
            if whole { 0 } else { self.parameter(bias) },
            pack,
        ];
        let n_teams = n_pieces * (n as u64).div_ceil(32 * pack);
        self.launch("silu_back", n_teams, &words);
    }

    /// The slope by a block's last layer.
    fn collect(&mut self, block: &Block, step: usize, g: u64) {
        let rows = self.rows(block);
        let last = block.layers[block.layers.len() - 1];
        let slope = block.slope.map_or(0, |slope| self.of(slope, 0));
        let Some((gamma, _)) = block.norm else {
            let n = rows * last.n as u64;
            self.cast(slope, g, n);
            return self.activation_backward(g, (0, true), (rows, last.n, last.b));
        };
        let (x, rstd) = self.saved(block, step);
        let (each, n_pieces) = pieces(rows);
        let sums = block.aggregate.zip(block.edges);
        let (table, receivers, groups) = sums.map_or((0, 0, 0), |(aggregate, edges)| {
            (
                self.of(aggregate.slope, 0),
                self.at(self.layout.edges[edges].receivers),
                self.network.edges[edges].by_receiver.len() as u64 - 1,
            )
        });
        // Bias, scale and shift stand one after the other among the parameters.
        let partial = self.partial(n_pieces, 3 * last.n as u64, last.b);
        let words = [
            slope,
            table,
            receivers,
            groups,
            x,
            rstd,
            self.parameter(gamma),
            g,
            partial,
            rows,
            block.rows as u64,
            each,
        ];
        self.launch("norm_back", n_pieces, &words);
    }

    fn block_backward(&mut self, block: &Block, step: usize, input_slope: bool) {
        if block.kept.is_none() {
            self.project(block, false, step);
            self.block(block, step, false);
        }
        let rows = self.rows(block);
        let slopes = self.layout.slopes.map(|place| self.at(place));
        let activation = self.at(self.layout.activation);
        let mut now = 0;
        self.collect(block, step, slopes[now]);
        for number in (1..block.layers.len()).rev() {
            let (layer, before) = (block.layers[number], block.layers[number - 1]);
            let (n, k) = (layer.n as u64, layer.k as u64);
            let next = slopes[1 - now];
            let at = [slopes[now], self.weight(layer.w), next];
            self.product(at, [rows, k, n], [false, true], (false, true));
            let z = self.pre(block, number - 1, step);
            self.activation_backward(next, (z, number == 1), (rows, layer.k, before.b));
            let at = [activation, slopes[now], self.gradient(layer.w)];
            self.product(at, [k, n, rows], [true, false], (true, false));
            now = 1 - now;
        }
        let g = slopes[now];
        let n = block.layers[0].n as u64;
        for dense in &block.dense {
            let k = dense.k as u64;
            let source = self.source(dense, rows, step);
            let at = [source, g, self.gradient(dense.w)];
            self.product(at, [k, n, rows], [true, false], (true, false));
            let wanted = input_slope || dense.role != Role::Input;
            if let Some(slope) = dense.slope.filter(|_| wanted) {
                let at = [g, self.weight(dense.w), self.of(slope, 0)];
                let add = dense.role != Role::Sums;
                self.product(at, [rows, k, n], [false, true], (add, false));
            }
        }
        if let (Some((_, true)), Some(total), Some(slope)) =
            (block.base, block.base_slope, block.slope)
        {
            let len = block.rows as u64 * block.layers[block.layers.len() - 1].n as u64;
            let words = [
                self.of(total, 0),
                self.of(slope, 0),
                len,
                self.layout.batch as u64,
            ];
            self.launch("add_samples", teams(len), &words);
        }
        for lookup in &block.lookups {
            self.source_backward(block, lookup, g, step);
        }
        self.reduce();
    }

    /// Sums of g at the rows that are looked up, then the products there.
    fn source_backward(&mut self, block: &Block, lookup: &Lookup, g: u64, step: usize) {
        let (n, k) = (block.layers[0].n as u64, lookup.k as u64);
        let rows = self.lookup_rows(lookup);
        let batch = self.layout.batch as u64;
        let (samples, summed) = match (lookup.once, block.once) {
            (true, false) => (1, batch),
            (true, true) => (1, 1),
            (false, _) => (batch, 1),
        };
        let edges = block.edges.map(|e| self.layout.edges[e]);
        let (starts, ids) = match (lookup.index, edges) {
            (Index::Sender, Some(e)) => (self.at(e.by_sender), self.at(e.sent)),
            (Index::Receiver, Some(e)) => (self.at(e.by_receiver), 0),
            _ => (0, 0),
        };
        let sums = self.at(self.layout.sums);
        let words = [
            g,
            starts,
            ids,
            sums,
            lookup.rows as u64,
            n,
            block.rows as u64,
            samples,
            summed,
            self.pack(block.layers[0].n, None),
        ];
        self.launch(
            "gather_back",
            row_teams(lookup.rows as u64 * samples),
            &words,
        );
        let source = self.factor(lookup.source, step, rows * k);
        let at = [source, sums, self.gradient(lookup.w)];
        self.product(at, [k, n, rows], [true, false], (true, false));
        let at = [sums, self.weight(lookup.w), self.of(lookup.slope, 0)];
        self.product(at, [rows, k, n], [false, true], (true, false));
    }
}
