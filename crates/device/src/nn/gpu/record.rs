//! A network as a list of kernels and products: forward.

use super::super::block::{Block, Dense, Index, Lookup};
use super::super::network::Network;
use super::super::plan::Buffer;
use super::layout::{self, Layout};
use crate::gpu::work::{Command, Math, Product};

/// Teams of a kernel that goes through numbers one by one, at most.
const TEAMS: u64 = 1 << 16;
/// Teams that are not too many for a GPU at once.
const FEW: u64 = 1 << 15;

/// Writes commands; `base` is where the memory starts.
pub(super) struct Recorder<'a> {
    pub(super) network: &'a Network,
    pub(super) layout: &'a Layout,
    pub(super) base: u64,
    pub(super) commands: &'a mut Vec<Command>,
    /// What [`Self::reduce`] will do.
    pub(super) sums: Sums,
}

/// Arrays of as many rows each whose columns are still to be summed: address, width, and where the sums
/// are added.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) n_rows: u64,
    pub(super) arrays: Vec<[u64; 3]>,
}

/// Teams for `n` numbers.
pub(super) fn teams(n: u64) -> u64 {
    n.div_ceil(32).clamp(1, TEAMS)
}

/// Teams for `n` numbers that threads go through in packs of 16 bytes.
fn pack_teams(n: u64) -> u64 {
    teams(n.div_ceil(4))
}

/// Teams for `n` rows, a row each at a time.
pub(super) fn row_teams(n: u64) -> u64 {
    n.clamp(1, 4 * TEAMS)
}

impl Recorder<'_> {
    pub(super) fn launch(&mut self, kernel: &'static str, n_teams: u64, words: &[u64]) {
        self.commands.push(Command::launch(kernel, n_teams, words));
    }

    /// An address from a place.
    pub(super) fn at(&self, place: u64) -> u64 {
        self.base + place
    }

    pub(super) fn of(&self, buffer: Buffer, step: usize) -> u64 {
        self.base + self.layout.of(buffer, step)
    }

    /// A parameter in f32, or its slope.
    pub(super) fn parameter(&self, offset: usize) -> u64 {
        self.at(self.layout.parameters + 4 * offset as u64)
    }

    pub(super) fn gradient(&self, offset: usize) -> u64 {
        self.at(self.layout.gradient + 4 * offset as u64)
    }

    /// A weight as products read it.
    pub(super) fn weight(&self, offset: usize) -> u64 {
        self.at(self.layout.weights + self.layout.math.bytes() * offset as u64)
    }

    pub(super) fn zero(&mut self, at: u64, n: u64) {
        self.launch("zero", teams(n), &[at, n]);
    }

    /// `n` numbers of an array as products read them; what was made so before is lost.
    pub(super) fn factor(&mut self, buffer: Buffer, step: usize, n: u64) -> u64 {
        if let Some(place) = self.layout.operand(buffer, step) {
            return self.at(place);
        }
        let to = self.at(self.layout.factor);
        self.cast(self.of(buffer, step), to, n);
        to
    }

    pub(super) fn cast(&mut self, from: u64, to: u64, n: u64) {
        self.launch("cast", pack_teams(n), &[from, to, n]);
    }

    pub(super) fn product(
        &mut self,
        at: [u64; 3],
        size: [u64; 3],
        turned: [bool; 2],
        (add, narrow): (bool, bool),
    ) {
        self.commands.push(Command::Product(Product {
            at,
            size: size.map(|n| n as usize),
            turned,
            add,
            narrow,
        }));
    }

    /// Numbers of a row of `n` that a thread takes at a time: 16 bytes in the type of work, if rows, and
    /// a bias that goes with them, can be cut so.
    pub(super) fn pack(&self, n: usize, bias: Option<usize>) -> u64 {
        let wide = 16 / self.layout.math.bytes();
        let even = bias.is_none_or(|bias| self.parameter(bias).is_multiple_of(16));
        match even && (n as u64).is_multiple_of(wide) {
            true => wide,
            false => 1,
        }
    }

    pub(super) fn rows(&self, block: &Block) -> u64 {
        layout::rows(block, self.layout.batch)
    }

    /// Rows that are looked up, of all samples.
    pub(super) fn lookup_rows(&self, lookup: &Lookup) -> u64 {
        (lookup.rows * if lookup.once { 1 } else { self.layout.batch }) as u64
    }

    /// Where the input of activation `layer` lies.
    pub(super) fn pre(&self, block: &Block, layer: usize, step: usize) -> u64 {
        match &block.kept {
            Some(kept) => self.of(kept.pre[layer], step),
            None => self.at(self.layout.pre[layer]),
        }
    }

    /// Where x̂ and 1/sd lie.
    pub(super) fn saved(&self, block: &Block, step: usize) -> (u64, u64) {
        match &block.kept {
            Some(kept) => (self.of(kept.x, step), self.of(kept.rstd, step)),
            None => (self.at(self.layout.x), self.at(self.layout.rstd)),
        }
    }

    /// Rows of a set of edges that look `lookup` up, or none for a row's own number.
    fn index(&self, block: &Block, lookup: &Lookup) -> u64 {
        let Some(edges) = block.edges.map(|e| self.layout.edges[e]) else {
            return 0;
        };
        match lookup.index {
            Index::Same => 0,
            Index::Sender => self.at(edges.senders),
            Index::Receiver => self.at(edges.receivers),
        }
    }

    /// What is the same for all samples; due when parameters have changed.
    pub(super) fn embed(&mut self) {
        let network = self.network;
        if self.layout.math == Math::Bf16 {
            let n = network.n_parameters() as u64;
            self.cast(self.parameter(0), self.weight(0), n);
        }
        for block in network.blocks.iter().filter(|b| b.once) {
            self.block(block, 0, true);
        }
        for block in &network.blocks {
            self.project(block, true, 0);
        }
    }

    pub(super) fn forward(&mut self, range: std::ops::Range<usize>, step: usize) {
        let network = self.network;
        for block in network.blocks[range].iter().filter(|b| !b.once) {
            self.project(block, false, step);
            self.block(block, step, true);
        }
    }

    /// Multiplies the looked-up sources; those that are the same for all samples when `once`.
    pub(super) fn project(&mut self, block: &Block, once: bool, step: usize) {
        let n = block.layers[0].n as u64;
        for lookup in block.lookups.iter().filter(|l| l.once == once) {
            let (rows, k) = (self.lookup_rows(lookup), lookup.k as u64);
            let source = self.factor(lookup.source, step, rows * k);
            let at = [
                source,
                self.weight(lookup.w),
                self.of(lookup.projected, step),
            ];
            self.product(at, [rows, n, k], [false; 2], (false, true));
        }
    }

    /// z of the first layer without its bias and what is looked up; false where there is nothing.
    fn first_layer(&mut self, block: &Block, z: u64, step: usize) -> bool {
        let rows = self.rows(block);
        for (number, dense) in block.dense.iter().enumerate() {
            let source = self.source(dense, rows, step);
            let at = [source, self.weight(dense.w), z];
            let size = [rows, block.layers[0].n as u64, dense.k as u64];
            self.product(at, size, [false; 2], (number > 0, true));
        }
        !block.dense.is_empty()
    }

    /// The source of a dense part as products read it.
    pub(super) fn source(&mut self, dense: &Dense, rows: u64, step: usize) -> u64 {
        self.factor(dense.source, step, rows * dense.k as u64)
    }

    /// Bias, what is looked up, and the activation.
    fn activate(&mut self, block: &Block, number: usize, step: usize, filled: bool) {
        let (layer, rows) = (block.layers[number], self.rows(block));
        let mut words = vec![
            self.pre(block, number, step),
            self.at(self.layout.activation),
            self.parameter(layer.b),
            rows,
            layer.n as u64,
            block.rows as u64,
            u64::from(!filled),
        ];
        if number == 0 {
            for lookup in &block.lookups {
                words.push(self.of(lookup.projected, step));
                words.push(self.index(block, lookup));
                words.push(if lookup.once { 0 } else { lookup.rows as u64 });
            }
        }
        // Other layers add their bias again where they need it.
        words.resize(16, 0);
        words.push(u64::from(number > 0));
        words.push(self.pack(layer.n, Some(layer.b)));
        // Where rows are many a team reads its bias once for several.
        let n_teams = rows.div_ceil(4).max(rows.min(FEW));
        self.launch("gather_rows", row_teams(n_teams), &words);
    }

    /// A block forward. Without `deliver` only what the backward pass needs is computed.
    pub(super) fn block(&mut self, block: &Block, step: usize, deliver: bool) {
        let rows = self.rows(block);
        let last = block.layers.len() - 1;
        let z = self.pre(block, 0, step);
        let filled = self.first_layer(block, z, step);
        self.activate(block, 0, step, filled);
        let activation = self.at(self.layout.activation);
        for (number, layer) in block.layers.iter().enumerate().skip(1) {
            let to = match (number == last, block.norm, block.out) {
                (false, ..) => self.pre(block, number, step),
                (true, Some(_), _) => self.saved(block, step).0,
                (true, None, Some(out)) => self.of(out, step),
                (true, None, None) => continue,
            };
            let narrow = number < last || block.norm.is_some();
            let size = [rows, layer.n as u64, layer.k as u64];
            let at = [activation, self.weight(layer.w), to];
            self.product(at, size, [false; 2], (false, narrow));
            if number < last {
                self.activate(block, number, step, true);
            } else if block.norm.is_none() {
                let words = [to, self.parameter(layer.b), rows, layer.n as u64];
                self.launch("add_bias", row_teams(rows), &words);
            }
        }
        self.normalise(block, step, deliver);
    }

    fn normalise(&mut self, block: &Block, step: usize, deliver: bool) {
        let Some((gamma, beta)) = block.norm else {
            return;
        };
        let last = block.layers[block.layers.len() - 1];
        let (x, rstd) = self.saved(block, step);
        let samples = self.rows(block) / block.rows as u64;
        let base = block.base.filter(|_| deliver);
        let out = block.out.filter(|_| deliver);
        let sums = block.aggregate.zip(block.edges).filter(|_| deliver);
        let (groups, starts, to) = match sums {
            Some((aggregate, edges)) => (
                self.network.edges[edges].by_receiver.len() as u64 - 1,
                self.at(self.layout.edges[edges].by_receiver),
                self.of(aggregate.to, step),
            ),
            None => (block.rows as u64, 0, 0),
        };
        let words = [
            x,
            rstd,
            self.parameter(last.b),
            self.parameter(gamma),
            self.parameter(beta),
            base.map_or(0, |(base, _)| self.of(base, step)),
            base.map_or(0, |(_, once)| if once { 0 } else { block.rows as u64 }),
            out.map_or(0, |out| self.of(out, step)),
            to,
            starts,
            groups,
            block.rows as u64,
            samples,
            out.and_then(|out| self.layout.twin(out, step))
                .map_or(0, |place| self.at(place)),
        ];
        self.launch("norm_rows", row_teams(groups * samples), &words);
    }
}
