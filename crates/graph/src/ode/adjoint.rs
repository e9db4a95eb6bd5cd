//! The adjoint of an equation's node, and both by the definitions of the elementwise functions.

use super::{Arrays, Course, Layout, Machine, Ode, Piece, Source, Straight, Strided};
use crate::graph::{Bindings, Graph, NodeId};
use crate::op::Op;
use std::sync::Arc;

impl Ode {
    /// The adjoints of the inputs of node `id`, given its own: (which input, adjoint).
    pub(crate) fn adjoint(&self, g: &mut Graph, id: NodeId, d: NodeId) -> Vec<(usize, NodeId)> {
        let layout = self.layout(g);
        let inputs = g.node(id).inputs.clone();
        let flat = g.dims(d)[0];
        let asked = g.slice(d, flat, 0, layout.asked()).expect("a part of it");
        let lanes = self.rate.lanes.clone();
        let rows = g.dim("adjoints*", layout.adjoints() * layout.lanes);
        let all = [&[id, asked][..], &inputs].concat();
        let all = g.push(Op::OdeAdjoint(Arc::new(self.clone())), all, vec![rows]);
        let mut start = 0;
        let mut part = |g: &mut Graph, input: usize| {
            // One for each lane; the lanes share what they all read.
            let dims = g.dims(inputs[input]).to_vec();
            let mut whole = dims.clone();
            whole.extend(lanes.iter().filter(|l| !dims.contains(l)));
            let len = g.len_of(&whole);
            let cut = g.slice(all, rows, start, len).expect("a part of it");
            start += len;
            let cut = g.relabel(cut, &whole);
            let shared: Vec<_> = lanes
                .iter()
                .copied()
                .filter(|l| !dims.contains(l))
                .collect();
            let sum = g.sum(cut, &shared);
            (input, g.broadcast(sum, &dims))
        };
        let parts = (0..self.n_states())
            .chain(self.kicks_at())
            .chain(self.reads_at()..inputs.len());
        parts.map(|input| part(g, input)).collect()
    }

    /// The result of `Ode`.
    pub(crate) fn evaluate(
        &self,
        g: &Graph,
        bindings: &Bindings,
        inputs: &[&[f64]],
        out: &mut [f64],
    ) {
        let layout = self.layout(g);
        let (asked, records) = out.split_at_mut(layout.asked());
        self.each_lane(g, bindings, inputs, |course, machine| {
            let record = &mut records[course.lane * layout.record()..][..layout.record()];
            course.solve(machine, asked, record);
        });
    }

    /// The result of `OdeAdjoint`.
    pub(crate) fn evaluate_adjoint(
        &self,
        g: &Graph,
        bindings: &Bindings,
        inputs: &[&[f64]],
        out: &mut [f64],
    ) {
        let layout = self.layout(g);
        let (solution, d) = (inputs[0], inputs[1]);
        self.each_lane(g, bindings, &inputs[2..], |course, machine| {
            let record = &solution[layout.asked() + course.lane * layout.record()..];
            course.adjoint(machine, record, d, out);
        });
    }

    /// One lane after the other, each at its start, given the inputs of an `Ode`.
    fn each_lane(
        &self,
        g: &Graph,
        bindings: &Bindings,
        inputs: &[&[f64]],
        mut each: impl FnMut(&Course<'_>, &mut Interpreter<'_>),
    ) {
        let layout = self.layout(g);
        let mut machine = Interpreter::new(self, g, bindings, inputs);
        for lane in 0..layout.lanes {
            machine.start(lane);
            each(&self.course(layout, lane, inputs), &mut machine);
        }
    }

    /// The course of one lane, given the inputs of the node.
    fn course<'a>(&self, layout: Layout, lane: usize, inputs: &[&'a [f64]]) -> Course<'a> {
        let [from, times, kicks] = self.times_at();
        let strided = |input: usize, own: usize| {
            let data = inputs[input];
            Strided::of_lane(data, data.len() > own, lane, layout.lanes)
        };
        Course {
            layout,
            method: self.method(),
            tolerance: self.tolerance(),
            lane,
            arrays: Arrays {
                from: strided(from, 1).at(0),
                times: strided(times, layout.times),
                kicks: match self.kicks {
                    Some(_) => strided(kicks, layout.kicks),
                    None => Strided::of_lane(&[], false, lane, layout.lanes),
                },
            },
        }
    }
}

/// Runs straight code node by node.
struct Interpreter<'a> {
    of: &'a Ode,
    g: &'a Graph,
    layout: Layout,
    pieces: Vec<(Piece, Straight)>,
    inputs: &'a [&'a [f64]],
    scratch: Vec<f64>,
    values: Vec<f64>,
    lane: usize,
}

impl<'a> Interpreter<'a> {
    fn new(of: &'a Ode, g: &'a Graph, bindings: &Bindings, inputs: &'a [&'a [f64]]) -> Self {
        let layout = of.layout(g);
        let pieces = [
            Piece::Rate,
            Piece::Step,
            Piece::WholeStep,
            Piece::Adjoint,
            Piece::WholeAdjoint,
        ];
        Interpreter {
            of,
            g,
            layout,
            pieces: pieces
                .into_iter()
                .map(|piece| (piece, of.piece(g, bindings, piece)))
                .collect(),
            inputs,
            scratch: vec![0.0; layout.scratch()],
            values: Vec::new(),
            lane: 0,
        }
    }

    /// Places the start of a lane.
    fn start(&mut self, lane: usize) {
        self.lane = lane;
        let mut number = 0;
        for s in 0..self.of.n_states() {
            for element in 0..self.of.elements(self.g, s) {
                self.scratch[number] = self.inputs[s][element * self.layout.lanes + lane];
                number += 1;
            }
        }
    }
}

impl Machine for Interpreter<'_> {
    fn run(&mut self, piece: Piece) {
        let (_, code) = (self.pieces.iter())
            .find(|(p, _)| *p == piece)
            .expect("all pieces are there");
        self.values.clear();
        for node in code.graph.nodes() {
            let x = |slot: usize| self.values[node.inputs[slot].index()];
            let value = match &node.op {
                Op::Data(id) => match code.sources[id.index()] {
                    Source::Scratch(at) => self.scratch[at],
                    Source::Input {
                        input,
                        element,
                        laned,
                    } => {
                        let all = self.inputs[input];
                        match laned {
                            true => all[element * self.layout.lanes + self.lane],
                            false => all[element],
                        }
                    }
                },
                Op::Const(bits) => f64::from_bits(*bits),
                Op::Unary(op) => op.eval(x(0)),
                Op::Binary(op) => op.eval(x(0), x(1)),
                Op::Select if x(0) != 0.0 => x(1),
                Op::Select => x(2),
                Op::Hole(_) => f64::NAN,
                _ => x(0),
            };
            self.values.push(value);
        }
        for &(node, to) in &code.results {
            self.scratch[to] = self.values[node.index()];
        }
    }

    fn scratch(&mut self) -> &mut [f64] {
        &mut self.scratch
    }

    fn kick(&self, mut number: usize, kick: usize) -> f64 {
        let inputs = self.of.kicks_at().enumerate();
        for (s, input) in inputs {
            let elements = self.of.elements(self.g, s);
            if number < elements {
                let at = number * self.layout.kicks + kick;
                return self.inputs[input][at * self.layout.lanes + self.lane];
            }
            number -= elements;
        }
        0.0
    }
}
