//! Second derivatives summed in the pass of a fit.

use super::derive::slope;
use fitzroy_device::cpu::{Engine, RowProgram};
use fitzroy_graph::{Binary, Bindings, DimId, Graph, NodeId, Op, Unary, evaluate};

/// A pass that also sums what Gauss and Newton leave out.
pub struct Newton {
    /// Sums of the products of `[J…, r]`, then of those r ∂²r/∂θ_a∂θ_b that no other sum tells.
    pub program: RowProgram,
    terms: Vec<Term>,
    /// What the ratios of the terms are of.
    graph: Graph,
}

/// Σ r ∂²r/∂θ_a∂θ_b, where it is not 0 everywhere: a sum, times what is the same in every row.
struct Term {
    pair: (usize, usize),
    sum: usize,
    ratio: Option<NodeId>,
}

/// Most sums of such a pass: as many as machine code is made for.
const MOST_SUMS: usize = 29;

/// A product: what differs from row to row, and what does not.
struct Product {
    rows: Vec<NodeId>,
    scalars: Vec<NodeId>,
}

impl Product {
    fn of(g: &mut Graph, node: NodeId) -> Product {
        let (mut rows, mut scalars, mut left) = (Vec::new(), Vec::new(), vec![node]);
        while let Some(at) = left.pop() {
            let node = g.node(at).clone();
            match (&node.op, &node.inputs[..]) {
                (_, _) if g.dims(at).is_empty() => scalars.push(at),
                (Op::Broadcast, &[a]) if g.dims(a).is_empty() => scalars.push(a),
                (Op::Binary(Binary::Mul | Binary::MulZ), &[a, b]) => left.extend([a, b]),
                (Op::Unary(Unary::Neg), &[a]) => {
                    left.push(a);
                    scalars.push(g.lit(-1.0));
                }
                _ => rows.push(at),
            }
        }
        rows.sort_unstable();
        Product { rows, scalars }
    }

    /// How many times the other this is in every row, where that is so.
    fn over(&self, other: &Product, g: &mut Graph) -> Option<NodeId> {
        if self.rows != other.rows {
            return None;
        }
        let product = |g: &mut Graph, all: &[NodeId]| {
            let one = g.lit(1.0);
            let times = |a, &b| g.binary(Binary::Mul, a, b).expect("both are numbers");
            all.iter().fold(one, times)
        };
        let (above, below) = (product(g, &self.scalars), product(g, &other.scalars));
        Some(
            g.binary(Binary::Div, above, below)
                .expect("both are numbers"),
        )
    }
}

impl Newton {
    /// The pass of `[J…, r]` and parameters; none where it has too many sums.
    pub(super) fn new(
        mut graph: Graph,
        rows: DimId,
        (jacobian, residual, params): (&[NodeId], NodeId, &[NodeId]),
        engine: Engine,
    ) -> Option<Newton> {
        let p = params.len();
        let first = (p + 1) * (p + 2) / 2;
        let room = MOST_SUMS.checked_sub(first)?;
        // What r is multiplied by in the sums so far: where r ∂r stand, then what is added here.
        let mut known: Vec<(usize, Product)> = Vec::new();
        for (k, &j) in jacobian.iter().enumerate() {
            known.push((k * (2 * p + 1 - k) / 2 + p, Product::of(&mut graph, j)));
        }
        let (mut terms, mut alone) = (Vec::new(), Vec::new());
        for pair in (0..p).flat_map(|a| (a..p).map(move |b| (a, b))) {
            let bend = slope(&mut graph, jacobian[pair.0], params[pair.1]);
            if graph.constant(bend) == Some(0.0) {
                continue;
            }
            let product = Product::of(&mut graph, bend);
            let told = known.iter().find_map(|(sum, other)| {
                let ratio = Some(product.over(other, &mut graph)?);
                let sum = *sum;
                Some(Term { pair, sum, ratio })
            });
            terms.push(told.unwrap_or_else(|| {
                let sum = first + alone.len();
                let term = graph.binary(Binary::Mul, residual, bend);
                alone.push(term.expect("both over rows"));
                known.push((sum, product));
                let ratio = None;
                Term { pair, sum, ratio }
            }));
        }
        let all: Vec<NodeId> = jacobian.iter().copied().chain([residual]).collect();
        (alone.len() <= room).then(|| Newton {
            program: RowProgram::compile(&graph, rows, &all, &alone).with_engine(engine),
            terms,
            graph,
        })
    }

    /// The matrix Σ r ∂²r at `params`, from the sums there. An element whose sum vanishes with what
    /// it would be divided by stays 0.
    pub(crate) fn rest(&self, params: &[f64], sums: &[f64], out: &mut [f64]) {
        let p = out.len().isqrt();
        let ratios: Vec<NodeId> = self.terms.iter().filter_map(|t| t.ratio).collect();
        let ratios = evaluate(&self.graph, &Bindings::default(), params, &ratios);
        let mut ratios = ratios.iter().map(|ratio| ratio[0]);
        out.fill(0.0);
        for &Term {
            pair: (a, b),
            sum,
            ratio,
        } in &self.terms
        {
            let ratio = ratio.and_then(|_| ratios.next()).unwrap_or(1.0);
            if ratio.is_finite() {
                (out[a * p + b], out[b * p + a]) = (ratio * sums[sum], ratio * sums[sum]);
            }
        }
    }
}
