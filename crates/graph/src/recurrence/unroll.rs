//! A step as operations on single numbers.

use super::Recurrence;
use crate::graph::{Bindings, DimId, Graph, NodeId};
use crate::op::{Binary, Op};
use crate::reference::{around, flat_positions, gather_positions};

/// A number that a step is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The hole it belongs to.
    pub hole: usize,
    /// Which element of it, beside steps and lanes.
    pub element: usize,
}

/// A step over single numbers: what it computes in one lane.
#[derive(Clone, Debug)]
pub struct Unrolled {
    /// Its nodes, elementwise over one dim. Its arrays are the leaves, in their order.
    pub graph: Graph,
    /// The dim.
    pub rows: DimId,
    /// What it is given: every element of every hole.
    pub leaves: Vec<Leaf>,
    /// The states after the step, each with all its elements.
    pub next: Vec<NodeId>,
}

impl Unrolled {
    /// The states after a step, over `dims`, if `behind` stands behind the leaves.
    pub(crate) fn place(&self, g: &mut Graph, behind: &[NodeId], dims: &[DimId]) -> Vec<NodeId> {
        let mut at: Vec<NodeId> = Vec::new();
        for node in self.graph.nodes() {
            let x = |k: usize| at[node.inputs[k].index()];
            let made = match &node.op {
                Op::Data(number) => behind[number.index()],
                Op::Const(bits) => g.lit(f64::from_bits(*bits)),
                Op::Unary(op) => g.unary(*op, x(0)),
                Op::Binary(op) => {
                    let [a, b] = [x(0), x(1)];
                    g.binary(*op, a, b).expect("numbers over the same dims")
                }
                Op::Select => {
                    let [c, a, b] = [x(0), x(1), x(2)];
                    g.select(c, a, b).expect("numbers over the same dims")
                }
                Op::WithSlopes => {
                    let inputs: Vec<NodeId> = (0..node.inputs.len())
                        .map(|k| g.broadcast(x(k), dims))
                        .collect();
                    g.push(Op::WithSlopes, inputs, dims.to_vec())
                }
                _ => x(0),
            };
            at.push(made);
        }
        let next = self.next.iter();
        next.map(|n| g.broadcast(at[n.index()], dims)).collect()
    }

    /// The same without [`Op::WithSlopes`], for a device.
    pub fn without_slopes(mut self) -> Self {
        if let Some((graph, next)) = self.graph.without_slopes(&self.next) {
            (self.graph, self.next) = (graph, next);
        }
        self
    }
}

impl Recurrence {
    /// The dims of node `k` of a step beside steps and lanes.
    pub(super) fn own_dims(&self, dims: &[DimId]) -> Vec<DimId> {
        let own = |d: &&DimId| **d != self.time && !self.lanes.contains(d);
        dims.iter().filter(own).copied().collect()
    }

    /// Numbers of hole `k` that a step is given in one lane.
    pub fn elements(&self, g: &Graph, k: usize) -> usize {
        g.len_of(&self.own_dims(self.hole_dims(k)))
    }

    /// The step over single numbers. `g` is the graph of the recurrence.
    pub fn unroll(&self, g: &Graph, bindings: &Bindings) -> Unrolled {
        let mut out = Graph::new();
        let rows = out.dim("rows", 2);
        let mut leaves = Vec::new();
        let mut at: Vec<Vec<NodeId>> = Vec::new();
        for hole in 0..self.holes {
            let elements = 0..self.elements(g, hole);
            let leaf = |element: usize| {
                leaves.push(Leaf { hole, element });
                out.data(&format!("{hole}.{element}"), &[rows])
            };
            at.push(elements.map(leaf).collect());
        }
        for k in self.holes..self.nodes.len() {
            let numbers = self.numbers(g, bindings, k, &at, &mut out);
            at.push(numbers);
        }
        let next = self.next.iter().flat_map(|n| at[n.index()].clone());
        let next = next.map(|n| out.broadcast(n, &[rows])).collect();
        Unrolled {
            graph: out,
            rows,
            leaves,
            next,
        }
    }

    /// Node `k` of the step, number by number.
    fn numbers(
        &self,
        g: &Graph,
        bindings: &Bindings,
        k: usize,
        at: &[Vec<NodeId>],
        out: &mut Graph,
    ) -> Vec<NodeId> {
        let node = &self.nodes[k];
        let dims = self.own_dims(&node.dims);
        let x = |slot: usize| &at[node.inputs[slot].index()];
        let x_dims = |slot: usize| self.own_dims(&self.nodes[node.inputs[slot].index()].dims);
        let picked = |positions: Vec<u32>| positions.iter().map(|&p| x(0)[p as usize]).collect();
        let fold = |out: &mut Graph, op: Binary, to: &[u32], len: usize| {
            let mut sums: Vec<Option<NodeId>> = vec![None; len];
            for (&x, &to) in x(0).iter().zip(to) {
                let sum = &mut sums[to as usize];
                *sum = Some(sum.map_or(x, |sum| out.bin(op, sum, x)));
            }
            let zero = out.lit(0.0);
            sums.into_iter().map(|s| s.unwrap_or(zero)).collect()
        };
        match &node.op {
            Op::Const(_) => vec![out.push(node.op.clone(), vec![], vec![])],
            Op::Unary(op) => x(0).iter().map(|&a| out.unary(*op, a)).collect(),
            Op::Binary(op) => (x(0).iter().zip(x(1)))
                .map(|(&a, &b)| out.bin(*op, a, b))
                .collect(),
            Op::Select => (0..x(0).len())
                .map(|i| out.select(x(0)[i], x(1)[i], x(2)[i]))
                .map(|chosen| chosen.expect("numbers combine"))
                .collect(),
            Op::Relabel => x(0).clone(),
            Op::WithSlopes => {
                let rows = out.dims(at[0][0]).to_vec();
                let one = |out: &mut Graph, i: usize| {
                    let inputs: Vec<NodeId> = (0..node.inputs.len())
                        .map(|slot| out.broadcast(x(slot)[i], &rows))
                        .collect();
                    out.push(Op::WithSlopes, inputs, rows.clone())
                };
                (0..x(0).len()).map(|i| one(out, i)).collect()
            }
            Op::Broadcast => picked(flat_positions(g, &dims, &x_dims(0))),
            Op::Sum | Op::MaxOver => {
                let op = match node.op {
                    Op::Sum => Binary::Add,
                    _ => Binary::Max,
                };
                let to = flat_positions(g, &x_dims(0), &dims);
                fold(out, op, &to, g.len_of(&dims))
            }
            Op::SegmentSum(index) => {
                let to = gather_positions(g, bindings, *index, &dims, &x_dims(0));
                fold(out, Binary::Add, &to, g.len_of(&dims))
            }
            Op::Gather(index) => picked(gather_positions(g, bindings, *index, &x_dims(0), &dims)),
            Op::Contract { over } => {
                let all = [&dims[..], over].concat();
                let [a, b] = [0, 1].map(|slot| flat_positions(g, &all, &x_dims(slot)));
                let terms = g.len_of(over).max(1);
                contracted(out, [x(0), x(1)], [&a, &b], terms)
            }
            op => self.moved(g, op, (x(0), &x_dims(0)), &dims, out),
        }
    }

    /// Running sums and slices along one of the step's own dims.
    fn moved(
        &self,
        g: &Graph,
        op: &Op,
        (x, x_dims): (&[NodeId], &[DimId]),
        dims: &[DimId],
        out: &mut Graph,
    ) -> Vec<NodeId> {
        let zero = out.lit(0.0);
        let mut all = vec![zero; g.len_of(dims)];
        match op {
            Op::CumSum { axis, reverse } => {
                let (outer, n, inner) = around(g, dims, *axis);
                for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
                    let mut sum = zero;
                    for k in 0..n {
                        let k = if *reverse { n - 1 - k } else { k };
                        let at = (o * n + k) * inner + i;
                        sum = out.bin(Binary::Add, sum, x[at]);
                        all[at] = sum;
                    }
                }
            }
            Op::Slice { axis, start } => {
                let (outer, n, inner) = around(g, x_dims, *axis);
                let len = all.len() / (outer * inner).max(1) * inner;
                for o in 0..outer {
                    let from = (o * n + start) * inner;
                    all[o * len..(o + 1) * len].copy_from_slice(&x[from..from + len]);
                }
            }
            Op::Unslice { axis, start } => {
                let (outer, n, inner) = around(g, dims, *axis);
                let len = x.len() / (outer * inner).max(1) * inner;
                for o in 0..outer {
                    let to = (o * n + start) * inner;
                    all[to..to + len].copy_from_slice(&x[o * len..(o + 1) * len]);
                }
            }
            other => unreachable!("{other:?} is refused in a step"),
        }
        all
    }

    /// The result of the operation, by the definitions of the elementwise functions.
    pub(crate) fn evaluate(
        &self,
        g: &Graph,
        bindings: &Bindings,
        inputs: &[&[f64]],
        out: &mut [f64],
    ) {
        let step = self.unroll(g, bindings);
        let (steps, lanes) = (g.size(self.time), g.len_of(&self.lanes));
        let n: Vec<usize> = (0..self.states.len())
            .map(|s| self.elements(g, s))
            .collect();
        let n_states: usize = n.iter().sum();
        let row =
            |state: usize, row: usize, lane: usize| (state * (steps + 1) + row) * lanes + lane;
        // Start rows, state by state.
        let start_row = if self.reverse { steps } else { 0 };
        let starts = inputs[..self.states.len()].concat();
        for (i, &x) in starts.iter().enumerate() {
            out[row(i / lanes.max(1), start_row, i % lanes.max(1))] = x;
        }
        let mut values = vec![0.0; step.graph.nodes().len()];
        for (lane, k) in (0..lanes).flat_map(|lane| (0..steps).map(move |k| (lane, k))) {
            let t = if self.reverse { steps - 1 - k } else { k };
            let (from, to) = if self.reverse { (t + 1, t) } else { (t, t + 1) };
            let leaf = |number: usize| {
                let Leaf { hole, element } = step.leaves[number];
                if hole < n.len() {
                    return out[row(number, from, lane)];
                }
                let (timed, laned) = self.strides(hole);
                let at = match timed {
                    true => element * steps + t,
                    false => element,
                };
                inputs[hole][if laned { at * lanes + lane } else { at }]
            };
            for (at, node) in step.graph.nodes().iter().enumerate() {
                let x = |slot: usize| values[node.inputs[slot].index()];
                values[at] = match &node.op {
                    Op::Data(id) => leaf(id.index()),
                    Op::Const(bits) => f64::from_bits(*bits),
                    Op::Unary(op) => op.eval(x(0)),
                    Op::Binary(op) => op.eval(x(0), x(1)),
                    Op::Select if x(0) != 0.0 => x(1),
                    Op::Select => x(2),
                    _ => x(0),
                };
            }
            for number in 0..n_states {
                out[row(number, to, lane)] = values[step.next[number].index()];
            }
        }
    }

    /// Whether hole `k` differs from step to step, and from lane to lane.
    pub fn strides(&self, k: usize) -> (bool, bool) {
        let dims = self.hole_dims(k);
        let laned = self.lanes.iter().any(|d| dims.contains(d));
        (dims.contains(&self.time), laned)
    }
}

/// Sums of `terms` products each: of the numbers at `a` of the first with those at `b` of the second.
fn contracted(
    out: &mut Graph,
    x: [&[NodeId]; 2],
    [a, b]: [&[u32]; 2],
    terms: usize,
) -> Vec<NodeId> {
    let pairs: Vec<_> = a.iter().zip(b).collect();
    let sum = |pairs: &[(&u32, &u32)]| {
        let mut sum = None;
        for &(&a, &b) in pairs {
            let product = out.bin(Binary::Mul, x[0][a as usize], x[1][b as usize]);
            sum = Some(sum.map_or(product, |sum| out.bin(Binary::Add, sum, product)));
        }
        sum.expect("some terms")
    };
    pairs.chunks(terms).map(sum).collect()
}
