//! Where everything lies in a GPU's memory.

use super::super::block::Block;
use super::super::network::Network;
use super::super::plan::{Buffer, Copies, Plan};
use crate::gpu::work::Math;

/// Every array starts on such a border, for whole lines and the widest loads.
const BORDER: u64 = 256;
/// Teams that sum columns, at most, and rows that one of them sums, at least.
pub(super) const PIECES: u64 = 3072;
const PIECE: u64 = 8;
/// Arrays whose columns are summed at a time, at most.
pub(super) const SUMMED: usize = 6;
/// Teams that sum squares.
pub(super) const SQUARES: u64 = 1024;

/// Where an array lies, counted from the start of the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) at: u64,
    /// From one step to the next.
    pub(super) step: u64,
}

impl Place {
    fn of(&self, step: usize) -> u64 {
        self.at + step as u64 * self.step
    }
}

/// Indices of a set of edges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EdgePlaces {
    pub(super) senders: u64,
    pub(super) receivers: u64,
    pub(super) by_sender: u64,
    pub(super) by_receiver: u64,
    pub(super) sent: u64,
}

/// The layout of a network for a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) math: Math,
    pub(super) batch: usize,
    pub(super) places: Vec<Place>,
    /// Arrays that are in the type of work alone.
    narrow: Vec<bool>,
    /// States once more as products read them, where that is not what they are.
    twins: Vec<Option<Place>>,
    pub(super) edges: Vec<EdgePlaces>,
    pub(super) parameters: u64,
    pub(super) gradient: u64,
    pub(super) m: u64,
    pub(super) v: u64,
    pub(super) average: u64,
    /// The parameters as products read them.
    pub(super) weights: u64,
    pub(super) status: u64,
    pub(super) squares: u64,
    /// A factor of a product, in the type of work.
    pub(super) factor: u64,
    pub(super) activation: u64,
    pub(super) slopes: [u64; 2],
    /// Sums at what is looked up.
    pub(super) sums: u64,
    /// Places for arrays whose columns are summed, and the bytes of each.
    pub(super) partial: (u64, u64),
    /// For blocks that keep nothing.
    pub(super) pre: Vec<u64>,
    pub(super) x: u64,
    pub(super) rstd: u64,
    /// What the caller asked for.
    pub(super) extra: u64,
    pub(super) bytes: u64,
    /// Bytes by part.
    pub(super) parts: Vec<(&'static str, u64)>,
}

/// Rows a team sums, and how many teams that makes.
pub(super) fn pieces(rows: u64) -> (u64, u64) {
    let each = rows.div_ceil(PIECES).max(PIECE);
    (each, rows.div_ceil(each).max(1))
}

/// Rows of a block, of all samples.
pub(super) fn rows(block: &Block, batch: usize) -> u64 {
    (block.rows * if block.once { 1 } else { batch }) as u64
}

struct Taker {
    bytes: u64,
}

impl Taker {
    fn take(&mut self, bytes: u64) -> u64 {
        let at = self.bytes;
        self.bytes += bytes.next_multiple_of(BORDER);
        at
    }
}

impl Layout {
    pub(super) fn new(
        network: &Network,
        (batch, steps): (usize, usize),
        math: Math,
        averaged: bool,
        extra: u64,
    ) -> Layout {
        let mut taker = Taker { bytes: 0 };
        let mut layout = Layout {
            math,
            batch,
            ..Layout::default()
        };
        let n = 4 * network.n_parameters() as u64;
        layout.parameters = taker.take(n);
        layout.gradient = taker.take(n);
        layout.m = taker.take(n);
        layout.v = taker.take(n);
        layout.average = if averaged { taker.take(n) } else { 0 };
        layout.weights = match math {
            Math::Bf16 => taker.take(n / 2),
            _ => layout.parameters,
        };
        layout.status = taker.take(8 * super::STATUS as u64);
        layout.squares = taker.take(8 * SQUARES);
        layout.mark("parameters and optimiser", taker.bytes);
        layout.arrays(network, steps, &mut taker);
        layout.mark("activations", taker.bytes);
        layout.scratch(network, &mut taker);
        layout.mark("scratch", taker.bytes);
        layout.extra = taker.take(extra);
        layout.mark("batches", taker.bytes);
        layout.bytes = taker.bytes;
        layout
    }

    /// Notes what was taken since the last mark.
    fn mark(&mut self, name: &'static str, bytes: u64) {
        let before: u64 = self.parts.iter().map(|p| p.1).sum();
        self.parts.push((name, bytes - before));
    }

    /// Which arrays are in the type of work alone, and which have a twin in it.
    fn kinds(network: &Network) -> (Vec<bool>, Vec<bool>) {
        let mut narrow = vec![false; network.plan.len()];
        let mut twin = narrow.clone();
        for block in &network.blocks {
            let kept = block.kept.iter();
            let kept = kept.flat_map(|kept| kept.pre.iter().chain([&kept.x]));
            let sums = block.aggregate.iter().map(|aggregate| &aggregate.to);
            let looked_up = block.lookups.iter().map(|lookup| &lookup.projected);
            for buffer in kept.chain(sums).chain(looked_up) {
                narrow[buffer.number()] = true;
            }
            if let (Some(out), Some(_)) = (block.out, block.norm) {
                twin[out.number()] = true;
            }
        }
        (narrow, twin)
    }

    fn arrays(&mut self, network: &Network, steps: usize, taker: &mut Taker) {
        let plan = &network.plan;
        let (narrow, twin) = Self::kinds(network);
        let mut skip = vec![false; plan.len()];
        // What the CPU's backward pass works in.
        for buffer in [network.transposed, network.lanes, Plan::FIRST] {
            skip[buffer.number()] = true;
        }
        for number in 0..plan.len() {
            if skip[number] {
                self.places.push(Place::default());
                self.twins.push(None);
                continue;
            }
            let (len, copies) = plan.size(number);
            let (samples, steps) = match copies {
                Copies::One => (1, 1),
                Copies::Samples => (self.batch, 1),
                Copies::Steps => (self.batch, steps),
            };
            let mut take = |width: u64| {
                let one = ((len * samples) as u64 * width).next_multiple_of(BORDER);
                let at = taker.take(one * steps as u64);
                let step = if steps > 1 { one } else { 0 };
                Place { at, step }
            };
            let bytes = self.math.bytes();
            self.places
                .push(take(if narrow[number] { bytes } else { 4 }));
            self.twins
                .push((twin[number] && bytes < 4).then(|| take(bytes)));
        }
        self.narrow = narrow;
        for edges in &network.edges {
            let mut index = |len: usize| taker.take(4 * len as u64);
            self.edges.push(EdgePlaces {
                senders: index(edges.senders.len()),
                receivers: index(edges.receivers.len()),
                by_sender: index(edges.by_sender.len()),
                by_receiver: index(edges.by_receiver.len()),
                sent: index(edges.sent.len()),
            });
        }
    }

    fn scratch(&mut self, network: &Network, taker: &mut Taker) {
        let width = self.math.bytes();
        let (mut factor, mut activation, mut widest) = (0, 0, 0);
        let (mut sums, mut partial, mut tallest) = (0, 0, 0);
        let depth = network.blocks.iter().map(|b| b.layers.len()).max();
        let mut pre = vec![0; depth.unwrap_or(1) - 1];
        let mut x = 0;
        for block in &network.blocks {
            let rows = rows(block, self.batch);
            let last = block.layers.len() - 1;
            for (number, layer) in block.layers.iter().enumerate() {
                let n = rows * layer.n as u64;
                widest = widest.max(n);
                partial = partial.max(pieces(rows).1 * 3 * layer.n as u64);
                if number < last {
                    activation = activation.max(n);
                }
                match (&block.kept, number < last) {
                    (None, true) => pre[number] = pre[number].max(n),
                    (None, false) => x = x.max(n),
                    _ => {}
                }
            }
            if block.kept.is_none() {
                tallest = tallest.max(rows);
            }
            for dense in &block.dense {
                factor = factor.max(rows * dense.k as u64);
            }
            for lookup in &block.lookups {
                let rows = (lookup.rows * if lookup.once { 1 } else { self.batch }) as u64;
                factor = factor.max(rows * lookup.k as u64);
                sums = sums.max(rows * block.layers[0].n as u64);
            }
        }
        if self.math == Math::Bf16 {
            self.factor = taker.take(width * factor);
        }
        self.activation = taker.take(width * activation);
        self.slopes = [(); 2].map(|()| taker.take(width * widest));
        self.sums = taker.take(width * sums);
        let each = (4 * partial).next_multiple_of(BORDER);
        self.partial = (taker.take(each * SUMMED as u64), each);
        self.pre = pre.iter().map(|n| taker.take(width * n)).collect();
        self.x = taker.take(width * x);
        self.rstd = taker.take(4 * tallest);
    }

    pub(super) fn of(&self, buffer: Buffer, step: usize) -> u64 {
        self.places[buffer.number()].of(step)
    }

    /// Where a state lies once more as products read it.
    pub(super) fn twin(&self, buffer: Buffer, step: usize) -> Option<u64> {
        self.twins[buffer.number()].map(|place| place.of(step))
    }

    /// Where an array lies as products read it, if it does.
    pub(super) fn operand(&self, buffer: Buffer, step: usize) -> Option<u64> {
        let itself = self.math.bytes() == 4 || self.narrow[buffer.number()];
        match itself {
            true => Some(self.of(buffer, step)),
            false => self.twin(buffer, step),
        }
    }
}
