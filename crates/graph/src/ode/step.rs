//! One step of a method, and its adjoint, as straight code over single numbers.

use super::{Layout, Method, Ode, POWERS, coefficients};
use crate::gradient::pull_back;
use crate::graph::{Bindings, DimId, Graph, NodeId};
use crate::op::{Binary, Unary};
use crate::recurrence::Unrolled;
use std::collections::HashMap;

/// The pieces of straight code that a solution is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The rate at the state and the time.
    Rate,
    /// A step, without its polynomial.
    Step,
    /// A step with its polynomial.
    WholeStep,
    /// The adjoint of a step of which nothing within is asked for.
    Adjoint,
    /// The adjoint of a step with its polynomial.
    WholeAdjoint,
}

/// Where a piece reads a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the numbers of the lane, as [`Layout`] has them.
    Scratch(usize),
    /// An element of an input of the equation's node.
    Input {
        /// Which input.
        input: usize,
        /// Which element of it, beside lanes.
        element: usize,
        /// Whether it differs from lane to lane.
        laned: bool,
    },
}

/// A piece of straight code.
#[derive(Clone, Debug)]
pub struct Straight {
    /// Its nodes, elementwise over one dim. Its arrays are the sources, in their order.
    pub graph: Graph,
    /// The dim.
    pub rows: DimId,
    /// What it reads.
    pub sources: Vec<Source>,
    /// What it computes, and where in the numbers of the lane each goes.
    pub results: Vec<(NodeId, usize)>,
}

impl Ode {
    /// A piece of this equation. `g` is its graph.
    pub fn piece(&self, g: &Graph, bindings: &Bindings, piece: Piece) -> Straight {
        let layout = self.layout(g);
        let unrolled = self.rate.unroll(g, bindings);
        let n = layout.numbers;
        let mut writer = Writer::new(self, layout, &unrolled);
        match piece {
            Piece::Rate => {
                let rate = writer.rate(&writer.state.clone(), writer.time);
                writer.result(&rate, layout.rate());
            }
            Piece::Step | Piece::WholeStep => {
                let rate = writer.leaves(Source::Scratch, layout.rate(), n);
                let step = writer.step(self.method, &rate, piece == Piece::WholeStep);
                writer.result(&step.next, layout.next());
                writer.result(&step.next_rate, layout.next_rate());
                let error = writer.error(&step, self);
                writer.result(&[error], layout.error());
                writer.result(&step.polynomial, layout.polynomial());
            }
            Piece::Adjoint | Piece::WholeAdjoint => {
                let rate = writer.rate(&writer.state.clone(), writer.time);
                let step = writer.step(self.method, &rate, piece == Piece::WholeAdjoint);
                let from = layout.adjoint();
                let of = [&step.next[..], &step.polynomial].concat();
                let given = writer.leaves(Source::Scratch, from, of.len());
                let of: Vec<(NodeId, NodeId)> = of.into_iter().zip(given).collect();
                let leaves = [&writer.state[..], &writer.read].concat();
                let adjoints = pull_back(&mut writer.g, &of, &leaves, false);
                let zero = writer.number(0.0);
                let adjoints: Vec<NodeId> =
                    adjoints.into_iter().map(|a| a.unwrap_or(zero)).collect();
                writer.result(&adjoints, layout.made());
            }
        }
        writer.finish()
    }
}

/// What a step comes to.
struct Step {
    next: Vec<NodeId>,
    next_rate: Vec<NodeId>,
    /// The difference of two methods.
    error: Vec<NodeId>,
    /// Power by power; empty if it was not asked for.
    polynomial: Vec<NodeId>,
}

/// A piece that is being written. The rate is written anew at each stage.
struct Writer<'u> {
    g: Graph,
    rows: DimId,
    rate: &'u Unrolled,
    sources: Vec<(NodeId, Source)>,
    results: Vec<(NodeId, usize)>,
    state: Vec<NodeId>,
    time: NodeId,
    length: NodeId,
    read: Vec<NodeId>,
}

impl<'u> Writer<'u> {
    fn new(of: &Ode, layout: Layout, rate: &'u Unrolled) -> Self {
        let mut g = Graph::new();
        let rows = g.dim("rows", 2);
        let nothing = g.lit(0.0);
        let mut writer = Writer {
            g,
            rows,
            rate,
            sources: Vec::new(),
            results: Vec::new(),
            state: Vec::new(),
            time: nothing,
            length: nothing,
            read: Vec::new(),
        };
        writer.state = writer.leaves(Source::Scratch, layout.state(), layout.numbers);
        let times = writer.leaves(Source::Scratch, layout.time(), 2);
        (writer.time, writer.length) = (times[0], times[1]);
        let first = of.n_states() + 1;
        let read = rate.leaves[layout.numbers..].iter();
        let read = read.filter(|l| l.hole >= first).map(|l| Source::Input {
            input: of.reads_at() + l.hole - first,
            element: l.element,
            laned: of.is_laned(l.hole),
        });
        let read: Vec<Source> = read.collect();
        writer.read = read.into_iter().map(|s| writer.leaf(s)).collect();
        writer
    }

    /// A leaf is a hole while slopes are taken: those of data are none.
    fn leaf(&mut self, source: Source) -> NodeId {
        let hole = self.g.hole(&[self.rows]);
        self.sources.push((hole, source));
        hole
    }

    fn leaves(&mut self, source: fn(usize) -> Source, from: usize, n: usize) -> Vec<NodeId> {
        (from..from + n).map(|at| self.leaf(source(at))).collect()
    }

    fn number(&mut self, x: f64) -> NodeId {
        let x = self.g.lit(x);
        self.g.broadcast(x, &[self.rows])
    }

    fn result(&mut self, nodes: &[NodeId], to: usize) {
        let nodes = nodes.iter().enumerate();
        self.results.extend(nodes.map(|(k, &node)| (node, to + k)));
    }

    fn finish(self) -> Straight {
        let Writer { mut g, rows, .. } = self;
        let mut known = HashMap::new();
        for (number, (hole, _)) in self.sources.iter().enumerate() {
            known.insert(*hole, g.data(&number.to_string(), &[rows]));
        }
        let (nodes, places): (Vec<NodeId>, Vec<usize>) = self.results.into_iter().unzip();
        let nodes = g.substitute(&nodes, &known);
        let nodes: Vec<NodeId> = nodes.into_iter().map(|n| g.broadcast(n, &[rows])).collect();
        let plain = g.without_slopes(&nodes);
        let (graph, nodes) = plain.unwrap_or((g, nodes));
        Straight {
            graph,
            rows,
            sources: self.sources.into_iter().map(|(_, source)| source).collect(),
            results: nodes.into_iter().zip(places).collect(),
        }
    }

    fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.g.bin(Binary::Add, a, b)
    }

    fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.g.bin(Binary::Mul, a, b)
    }

    /// Σ cⱼ xⱼ of numbers that may be missing, which are 0.
    fn combine<'x>(
        &mut self,
        terms: impl IntoIterator<Item = (f64, &'x NodeId)>,
    ) -> Option<NodeId> {
        let mut sum = None;
        for (c, &x) in terms {
            if c == 0.0 {
                continue;
            }
            let c = self.number(c);
            let term = self.mul(c, x);
            sum = Some(sum.map_or(term, |sum| self.add(sum, term)));
        }
        sum
    }

    /// Σ cⱼ kⱼ of vectors, number by number.
    fn combined(&mut self, c: &[f64], k: &[Vec<NodeId>]) -> Vec<NodeId> {
        let one = |w: &mut Self, i: usize| {
            let terms = c.iter().copied().zip(k.iter().map(|k| &k[i]));
            let sum = w.combine(terms);
            sum.unwrap_or_else(|| w.number(0.0))
        };
        (0..k[0].len()).map(|i| one(self, i)).collect()
    }

    fn plus(&mut self, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
        a.iter().zip(b).map(|(&a, &b)| self.add(a, b)).collect()
    }

    fn times(&mut self, by: NodeId, x: &[NodeId]) -> Vec<NodeId> {
        x.iter().map(|&x| self.mul(by, x)).collect()
    }

    /// The rate at a state and a time.
    fn rate(&mut self, state: &[NodeId], time: NodeId) -> Vec<NodeId> {
        let mut behind = state.to_vec();
        let of_time = self.rate.leaves.len() - state.len() - self.read.len();
        behind.extend(std::iter::repeat_n(time, of_time));
        behind.extend(&self.read);
        let next = self.rate.place(&mut self.g, &behind, &[self.rows]);
        next[..state.len()].to_vec()
    }

    fn step(&mut self, method: Method, rate: &[NodeId], whole: bool) -> Step {
        match method {
            Method::Explicit => self.explicit(rate, whole),
            Method::Stiff => self.stiff(whole),
        }
    }

    /// Mean of (errorᵢ / (absolute + relative·max |yᵢ|))², over a step's two ends.
    fn error(&mut self, step: &Step, of: &Ode) -> NodeId {
        let tolerance = of.tolerance();
        let [absolute, relative] = [tolerance.absolute, tolerance.relative].map(|x| self.number(x));
        let state = self.state.clone();
        let mut sum = None;
        for ((&error, &next), before) in step.error.iter().zip(&step.next).zip(state) {
            let [before, next] = [before, next].map(|y| self.g.unary(Unary::Abs, y));
            let most = self.g.bin(Binary::Max, before, next);
            let by = self.mul(relative, most);
            let allowed = self.add(absolute, by);
            let ratio = self.g.bin(Binary::Div, error, allowed);
            let square = self.mul(ratio, ratio);
            sum = Some(sum.map_or(square, |sum| self.add(sum, square)));
        }
        let n = self.number(1.0 / step.error.len().max(1) as f64);
        let sum = sum.unwrap_or_else(|| self.number(0.0));
        self.mul(n, sum)
    }

    /// Dormand and Prince: kᵢ = f(t + cᵢh, y + h Σ aᵢⱼ kⱼ).
    fn explicit(&mut self, rate: &[NodeId], whole: bool) -> Step {
        use coefficients::dormand_prince::{A, C, E, P};
        let (state, time, length) = (self.state.clone(), self.time, self.length);
        let mut k = vec![rate.to_vec()];
        let mut at = state.clone();
        for (a, c) in A.iter().zip(C) {
            let moved = self.combined(&a[..k.len()], &k);
            let moved = self.times(length, &moved);
            at = self.plus(&state, &moved);
            let c = self.number(c);
            let later = self.mul(c, length);
            let later = self.add(time, later);
            let next = self.rate(&at, later);
            k.push(next);
        }
        let error = self.combined(&E, &k);
        let error = self.times(length, &error);
        let mut polynomial = Vec::new();
        for power in 0..if whole { POWERS } else { 0 } {
            let c: Vec<f64> = P.iter().map(|row| row[power]).collect();
            let sum = self.combined(&c, &k);
            polynomial.extend(self.times(length, &sum));
        }
        Step {
            next: at,
            next_rate: k.pop().expect("seven stages"),
            error,
            polynomial,
        }
    }

    /// RODAS: (1/(hγ) − J) uᵢ = f(t + cᵢh, y + Σ aᵢⱼ uⱼ) + Σ cᵢⱼ uⱼ/h + h dᵢ ∂f/∂t.
    fn stiff(&mut self, whole: bool) -> Step {
        use coefficients::rodas::{A, C, D, DENSE, GAMMA, TIME};
        let (state, time, length) = (self.state.clone(), self.time, self.length);
        let n = state.len();
        let rate = self.rate(&state, time);
        let (jacobian, by_time) = self.slopes(&rate);
        let inverse = self.g.unary(Unary::Recip, length);
        let over_gamma = self.number(1.0 / GAMMA);
        let diagonal = self.mul(over_gamma, inverse);
        let mut factors = self.factors(jacobian, diagonal);
        let mut u: Vec<Vec<NodeId>> = Vec::new();
        let mut at = state.clone();
        for stage in 0..6 {
            let mut right = match stage {
                0 => rate.clone(),
                _ => {
                    at = match stage {
                        5 => self.plus(&at, &u[4]),
                        _ => {
                            let moved = self.combined(&A[stage][..stage], &u);
                            self.plus(&state, &moved)
                        }
                    };
                    let c = self.number(TIME[stage]);
                    let later = self.mul(c, length);
                    let later = self.add(time, later);
                    self.rate(&at, later)
                }
            };
            if stage > 0 {
                let sum = self.combined(&C[stage][..stage], &u);
                let sum = self.times(inverse, &sum);
                right = self.plus(&right, &sum);
            }
            if D[stage] != 0.0 {
                let d = self.number(D[stage]);
                let by = self.mul(d, length);
                for (right, slope) in right.iter_mut().zip(&by_time) {
                    if let Some(slope) = *slope {
                        let term = self.mul(by, slope);
                        *right = self.add(*right, term);
                    }
                }
            }
            self.solve(&mut factors, &mut right);
            u.push(right);
        }
        let next = self.plus(&at, &u[5]);
        let mut polynomial = Vec::new();
        if whole {
            let [second, third] = DENSE.map(|c| self.combined(&c, &u[..5]));
            let one = self.number(-1.0);
            let zero = self.number(0.0);
            let minus = self.times(one, &state);
            let change = self.plus(&next, &minus);
            polynomial = self.plus(&change, &second);
            let minus = self.times(one, &second);
            polynomial.extend(self.plus(&third, &minus));
            polynomial.extend(self.times(one, &third));
            polynomial.extend(vec![zero; n]);
        }
        Step {
            next,
            next_rate: rate,
            error: u.pop().expect("six stages"),
            polynomial,
        }
    }

    /// The slopes of the rate by the state, row by row, and by the time; none of 0.
    fn slopes(&mut self, rate: &[NodeId]) -> (Vec<Vec<Option<NodeId>>>, Vec<Option<NodeId>>) {
        let one = self.number(1.0);
        let leaves = [&self.state[..], &[self.time]].concat();
        let (mut jacobian, mut by_time) = (Vec::new(), Vec::new());
        for &rate in rate {
            let mut row = pull_back(&mut self.g, &[(rate, one)], &leaves, false);
            by_time.push(row.pop().expect("the time is the last"));
            jacobian.push(row);
        }
        (jacobian, by_time)
    }

    /// The factors L and U of diagonal − J, in one matrix, with 1/uᵢᵢ on the diagonal. No rows change
    /// places: short steps make the diagonal large.
    fn factors(
        &mut self,
        mut a: Vec<Vec<Option<NodeId>>>,
        diagonal: NodeId,
    ) -> Vec<Vec<Option<NodeId>>> {
        let n = a.len();
        for (i, row) in a.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                let minus = x.map(|x| self.g.unary(Unary::Neg, x));
                *x = match (i == j, minus) {
                    (true, Some(minus)) => Some(self.add(diagonal, minus)),
                    (true, None) => Some(diagonal),
                    (false, minus) => minus,
                };
            }
        }
        for k in 0..n {
            let pivot = a[k][k].expect("a diagonal");
            let inverse = self.g.unary(Unary::Recip, pivot);
            a[k][k] = Some(inverse);
            for i in k + 1..n {
                let Some(x) = a[i][k] else { continue };
                let factor = self.mul(x, inverse);
                a[i][k] = Some(factor);
                for j in k + 1..n {
                    let Some(y) = a[k][j] else { continue };
                    let product = self.mul(factor, y);
                    let minus = self.g.unary(Unary::Neg, product);
                    a[i][j] = Some(a[i][j].map_or(minus, |x| self.g.bin(Binary::Sub, x, product)));
                }
            }
        }
        a
    }

    /// Solves with [`Writer::factors`], in place.
    fn solve(&mut self, factors: &mut [Vec<Option<NodeId>>], x: &mut [NodeId]) {
        let n = x.len();
        for i in 0..n {
            for j in 0..i {
                if let Some(l) = factors[i][j] {
                    let product = self.mul(l, x[j]);
                    x[i] = self.g.bin(Binary::Sub, x[i], product);
                }
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                if let Some(u) = factors[i][j] {
                    let product = self.mul(u, x[j]);
                    x[i] = self.g.bin(Binary::Sub, x[i], product);
                }
            }
            x[i] = self.mul(factors[i][i].expect("a diagonal"), x[i]);
        }
    }
}
