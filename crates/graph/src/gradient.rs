//! Reverse mode: adjoint nodes appended to the graph, all rules in one table.
//!
//! Inside the branches of a `select` an adjoint may be 0 where a partial is infinite; there the
//! product is `MulZ`, which is 0 whenever the adjoint is, so the branch not taken never leaks.

use crate::graph::{DimId, Graph, NodeId};
use crate::op::{Binary, Op, Unary};

/// The derivative of a scalar with respect to one parameter leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The parameter leaf.
    pub param: NodeId,
    /// Its adjoint, of the same dims.
    pub adjoint: NodeId,
}

/// Appends the gradient of the scalar `y` with respect to every parameter leaf it depends on.
///
/// # Panics
/// When `y` has dims.
#[track_caller]
pub fn gradient(graph: &mut Graph, y: NodeId) -> Vec<Partial> {
    assert!(
        graph.dims(y).is_empty(),
        "the gradient is taken of a scalar"
    );
    let mut tape = Tape {
        adjoint: vec![None; y.index() + 1],
        guarded: vec![false; y.index() + 1],
    };
    let one = graph.lit(1.0);
    tape.adjoint[y.index()] = Some(one);
    let mut partials = Vec::new();
    for at in (0..=y.index()).rev() {
        let id = NodeId(at as u32);
        let Some(d) = tape.adjoint[at] else { continue };
        if !graph.varies(id) {
            continue;
        }
        if let Op::Param { .. } = graph.node(id).op {
            partials.push(Partial {
                param: id,
                adjoint: d,
            });
            continue;
        }
        let select = graph.node(id).op == Op::Select;
        let guard = tape.guarded[at];
        let inputs = graph.node(id).inputs.clone();
        for (slot, adjoint) in rule(graph, id, d, guard) {
            tape.add(graph, inputs[slot], adjoint, guard || select);
        }
    }
    partials.reverse();
    partials
}

/// The adjoints of `leaves`, of which the values `of` are computed, given the adjoints of these;
/// `None` for a leaf that none of them depends on. What leaves depend on is not looked at.
pub(crate) fn pull_back(
    graph: &mut Graph,
    of: &[(NodeId, NodeId)],
    leaves: &[NodeId],
    guard: bool,
) -> Vec<Option<NodeId>> {
    let depends = graph.dependents(leaves);
    let mut tape = Tape {
        adjoint: vec![None; depends.len()],
        guarded: vec![false; depends.len()],
    };
    for &(value, adjoint) in of {
        if depends[value.index()] {
            tape.add(graph, value, adjoint, guard);
        }
    }
    for at in (0..depends.len()).rev() {
        let id = NodeId(at as u32);
        if leaves.contains(&id) {
            continue;
        }
        let Some(d) = tape.adjoint[at] else { continue };
        let select = graph.node(id).op == Op::Select;
        let guard = tape.guarded[at];
        let inputs = graph.node(id).inputs.clone();
        for (slot, adjoint) in rule(graph, id, d, guard) {
            if depends[inputs[slot].index()] {
                tape.add(graph, inputs[slot], adjoint, guard || select);
            }
        }
    }
    leaves.iter().map(|l| tape.adjoint[l.index()]).collect()
}

struct Tape {
    adjoint: Vec<Option<NodeId>>,
    guarded: Vec<bool>,
}

impl Tape {
    fn add(&mut self, graph: &mut Graph, to: NodeId, adjoint: NodeId, guard: bool) {
        if !graph.varies(to) {
            return;
        }
        let sum = match self.adjoint[to.index()] {
            Some(before) => graph.bin(Binary::Add, before, adjoint),
            None => adjoint,
        };
        self.adjoint[to.index()] = Some(sum);
        self.guarded[to.index()] |= guard;
    }
}

/// The adjoints of a node's inputs, given its own adjoint `d`: (which input, adjoint).
fn rule(g: &mut Graph, id: NodeId, d: NodeId, guard: bool) -> Vec<(usize, NodeId)> {
    let node = g.node(id).clone();
    let a = node.inputs.first().copied();
    let a_dims: Vec<DimId> = a.map(|a| g.dims(a).to_vec()).unwrap_or_default();
    let times = |g: &mut Graph, d: NodeId, p: NodeId| {
        g.bin(if guard { Binary::MulZ } else { Binary::Mul }, d, p)
    };
    match node.op {
        Op::Const(_) | Op::Param { .. } | Op::Data(_) => vec![],
        Op::Unary(Unary::Neg) => vec![(0, g.unary(Unary::Neg, d))],
        Op::Unary(op) => match unary_partial(g, op, node.inputs[0], id) {
            Some(p) => vec![(0, times(g, d, p))],
            None => vec![],
        },
        Op::Binary(op) => binary_rule(g, op, &node.inputs, id, d, guard),
        Op::Select => {
            let zero = g.lit(0.0);
            let c = node.inputs[0];
            let yes = g
                .select(c, d, zero)
                .expect("the adjoint has the node's dims");
            let no = g
                .select(c, zero, d)
                .expect("the adjoint has the node's dims");
            vec![(1, yes), (2, no)]
        }
        Op::WithSlopes => (1..node.inputs.len())
            .step_by(2)
            .map(|slot| (slot, times(g, d, node.inputs[slot + 1])))
            .collect(),
        Op::Broadcast => {
            let added: Vec<_> = node
                .dims
                .iter()
                .copied()
                .filter(|x| !a_dims.contains(x))
                .collect();
            let sum = g.sum(d, &added);
            vec![(0, g.broadcast(sum, &a_dims))]
        }
        Op::Sum => vec![(0, g.broadcast(d, &a_dims))],
        Op::MaxOver => vec![(0, max_over_adjoint(g, node.inputs[0], id, d, &a_dims))],
        Op::Gather(index) => vec![(0, g.segment_sum(d, index))],
        Op::SegmentSum(index) => vec![(0, g.gather(d, index))],
        Op::CumSum { axis, reverse } => vec![(0, g.cum_sum(d, axis, !reverse))],
        Op::Slice { axis, start } => {
            let at = a_dims
                .iter()
                .position(|&x| x == axis)
                .expect("the sliced axis");
            vec![(0, g.unslice(d, node.dims[at], axis, start))]
        }
        Op::Unslice { axis, start } => {
            let at = node
                .dims
                .iter()
                .position(|&x| x == axis)
                .expect("the padded axis");
            let (part, len) = (a_dims[at], g.size(a_dims[at]));
            let cut = g.slice(d, axis, start, len).expect("the part is inside");
            let mut dims = node.dims.clone();
            dims[at] = part;
            vec![(0, g.relabel(cut, &dims))]
        }
        Op::Contract { over } => contract_rule(g, &node.inputs, &over, d),
        Op::Relabel => vec![(0, g.relabel(d, &a_dims))],
        Op::Cholesky => {
            let dims = node.dims.clone();
            vec![(0, g.push(Op::CholeskyAdjoint, vec![id, d], dims))]
        }
        Op::TriSolve { transpose } => tri_solve_rule(g, &node.inputs, id, d, transpose),
        Op::LowerTriangle => vec![(0, g.lower_triangle(d))],
        Op::Diagonal => {
            let full = g.from_diagonal(d);
            vec![(0, g.relabel(full, &a_dims))]
        }
        Op::FromDiagonal => vec![(0, g.diagonal(d))],
        Op::CholeskyAdjoint => panic!("second derivatives of a Cholesky factor are not defined"),
        Op::Hole(_) => vec![],
        Op::Recurrence(of) => of.adjoint(g, id, d, guard),
        Op::Ode(of) => of.adjoint(g, id, d),
        Op::OdeAdjoint(_) => {
            panic!("second derivatives of a differential equation are not defined")
        }
    }
}

/// f′(a), given y = f(a); `None` where it is 0.
pub(crate) fn unary_partial(g: &mut Graph, op: Unary, a: NodeId, y: NodeId) -> Option<NodeId> {
    use Unary::*;
    let one = g.lit(1.0);
    let mul = |g: &mut Graph, a, b| g.bin(Binary::Mul, a, b);
    Some(match op {
        Neg => g.lit(-1.0),
        Floor => return None,
        Recip => {
            let square = mul(g, y, y);
            g.unary(Neg, square)
        }
        Sqrt => {
            let (half, inverse) = (g.lit(0.5), g.unary(Recip, y));
            mul(g, half, inverse)
        }
        Abs => {
            let zero = g.lit(0.0);
            let (up, down) = (g.bin(Binary::Lt, zero, a), g.bin(Binary::Lt, a, zero));
            g.bin(Binary::Sub, up, down)
        }
        Exp => y,
        Log => g.unary(Recip, a),
        Log1p => {
            let sum = g.bin(Binary::Add, a, one);
            g.unary(Recip, sum)
        }
        Expm1 => g.bin(Binary::Add, y, one),
        Sin => g.unary(Cos, a),
        Cos => {
            let sin = g.unary(Sin, a);
            g.unary(Neg, sin)
        }
        Tan => {
            let square = mul(g, y, y);
            g.bin(Binary::Add, square, one)
        }
        Asin | Acos => {
            let square = mul(g, a, a);
            let rest = g.bin(Binary::Sub, one, square);
            let root = g.unary(Sqrt, rest);
            let slope = g.unary(Recip, root);
            if op == Asin {
                slope
            } else {
                g.unary(Neg, slope)
            }
        }
        Atan => {
            let square = mul(g, a, a);
            let sum = g.bin(Binary::Add, square, one);
            g.unary(Recip, sum)
        }
        Sinh => g.unary(Cosh, a),
        Cosh => g.unary(Sinh, a),
        Tanh => {
            let square = mul(g, y, y);
            g.bin(Binary::Sub, one, square)
        }
        Erf | Erfc => {
            let square = mul(g, a, a);
            let minus = g.unary(Neg, square);
            let bell = g.unary(Exp, minus);
            let two_over_root_pi = std::f64::consts::FRAC_2_SQRT_PI;
            let c = g.lit(if op == Erf {
                two_over_root_pi
            } else {
                -two_over_root_pi
            });
            mul(g, c, bell)
        }
        Erfcx => {
            // 2a·y − 2/√π
            let c = g.lit(std::f64::consts::FRAC_2_SQRT_PI);
            let two = g.lit(2.0);
            let product = mul(g, a, y);
            let twice = mul(g, two, product);
            g.bin(Binary::Sub, twice, c)
        }
        LogNdtr => g.unary(NdtrSlope, a),
        NdtrSlope => {
            // −r (a + r)
            let sum = g.bin(Binary::Add, a, y);
            let product = mul(g, y, sum);
            g.unary(Neg, product)
        }
        Lgamma => g.unary(Digamma, a),
        Digamma => g.unary(Trigamma, a),
        Trigamma => panic!("the derivative of trigamma is not defined"),
        LogI0 => g.unary(I1OverI0, a),
        I1OverI0 => {
            // 1 − r/a − r²
            let (square, ratio) = (mul(g, y, y), g.bin(Binary::Div, y, a));
            let sum = g.bin(Binary::Add, square, ratio);
            g.bin(Binary::Sub, one, sum)
        }
        InvLogit => {
            let rest = g.bin(Binary::Sub, one, y);
            mul(g, y, rest)
        }
        Softplus => g.unary(InvLogit, a),
    })
}

pub(crate) fn binary_rule(
    g: &mut Graph,
    op: Binary,
    inputs: &[NodeId],
    y: NodeId,
    d: NodeId,
    guard: bool,
) -> Vec<(usize, NodeId)> {
    let (a, b) = (inputs[0], inputs[1]);
    let times = |g: &mut Graph, d: NodeId, p: NodeId| {
        g.bin(if guard { Binary::MulZ } else { Binary::Mul }, d, p)
    };
    let zero = g.lit(0.0);
    match op {
        Binary::Add => vec![(0, d), (1, d)],
        Binary::Sub => vec![(0, d), (1, g.unary(Unary::Neg, d))],
        Binary::Mul | Binary::MulZ if a == b => {
            let two = g.lit(2.0);
            let slope = g.bin(Binary::Mul, two, a);
            vec![(0, times(g, d, slope))]
        }
        Binary::Mul | Binary::MulZ => vec![(0, times(g, d, b)), (1, times(g, d, a))],
        Binary::Div => {
            let inverse = g.unary(Unary::Recip, b);
            let first = times(g, d, inverse);
            let slope = g.bin(Binary::Mul, y, inverse);
            let second = times(g, d, slope);
            vec![(0, first), (1, g.unary(Unary::Neg, second))]
        }
        Binary::Pow => power_rule(g, a, b, y, d, guard),
        Binary::Min | Binary::Max => {
            let (low, high) = if op == Binary::Min { (a, b) } else { (b, a) };
            let first = g.bin(Binary::Le, low, high);
            let to_a = g.select(first, d, zero).expect("same dims");
            let to_b = g.select(first, zero, d).expect("same dims");
            vec![(0, to_a), (1, to_b)]
        }
        Binary::LogAddExp => {
            let gap = g.bin(Binary::Sub, a, b);
            let weight = g.unary(Unary::InvLogit, gap);
            let first = times(g, d, weight);
            vec![(0, first), (1, g.bin(Binary::Sub, d, first))]
        }
        Binary::Lt | Binary::Le | Binary::Eq => vec![],
    }
}

/// aᵇ: b·aᵇ⁻¹ and y·ln a; the latter 0 where a is 0.
fn power_rule(
    g: &mut Graph,
    a: NodeId,
    b: NodeId,
    y: NodeId,
    d: NodeId,
    guard: bool,
) -> Vec<(usize, NodeId)> {
    let times = |g: &mut Graph, d: NodeId, p: NodeId| {
        g.bin(if guard { Binary::MulZ } else { Binary::Mul }, d, p)
    };
    let (zero, one) = (g.lit(0.0), g.lit(1.0));
    let mut out = Vec::new();
    if g.varies(a) {
        let less = g.bin(Binary::Sub, b, one);
        let power = g.bin(Binary::Pow, a, less);
        let slope = g.bin(Binary::Mul, b, power);
        out.push((0, times(g, d, slope)));
    }
    if g.varies(b) {
        let log = g.unary(Unary::Log, a);
        let slope = g.bin(Binary::MulZ, y, log);
        let positive = g.bin(Binary::Lt, zero, a);
        let slope = g.select(positive, slope, zero).expect("same dims");
        out.push((1, times(g, d, slope)));
    }
    out
}

/// The adjoint goes to the elements that are the maximum, in equal parts where several are.
fn max_over_adjoint(g: &mut Graph, a: NodeId, y: NodeId, d: NodeId, dims: &[DimId]) -> NodeId {
    let peak = g.broadcast(y, dims);
    let is_peak = g.bin(Binary::Eq, a, peak);
    let over: Vec<_> = dims
        .iter()
        .copied()
        .filter(|x| !g.dims(y).contains(x))
        .collect();
    let ties = g.sum(is_peak, &over);
    let share = g.bin(Binary::Div, d, ties);
    g.bin(Binary::Mul, is_peak, share)
}

fn contract_rule(
    g: &mut Graph,
    inputs: &[NodeId],
    over: &[DimId],
    d: NodeId,
) -> Vec<(usize, NodeId)> {
    let mut out = Vec::new();
    for (slot, this, other) in [(0, inputs[0], inputs[1]), (1, inputs[1], inputs[0])] {
        if !g.varies(this) {
            continue;
        }
        let dims = g.dims(this).to_vec();
        // Sum over the dims that this input lacks: those of `other` outside `over`, which d has.
        let rest: Vec<_> = g
            .dims(other)
            .iter()
            .copied()
            .filter(|x| !dims.contains(x))
            .collect();
        debug_assert!(rest.iter().all(|x| !over.contains(x)));
        let full = g
            .contract(d, other, &rest)
            .expect("the adjoint has these dims");
        out.push((slot, g.broadcast(full, &dims)));
    }
    out
}

/// x = L⁻¹b: b̄ = L⁻ᵀx̄ and L̄ = −tril(b̄ xᵀ); with Lᵀ, b̄ = L⁻¹x̄ and L̄ = −tril(x b̄ᵀ).
fn tri_solve_rule(
    g: &mut Graph,
    inputs: &[NodeId],
    x: NodeId,
    d: NodeId,
    transpose: bool,
) -> Vec<(usize, NodeId)> {
    let (l, b) = (inputs[0], inputs[1]);
    let b_bar = g.tri_solve(l, d, !transpose);
    let mut out = vec![];
    if g.varies(l) {
        let l_dims = g.dims(l).to_vec();
        let (left, right) = if transpose { (x, b_bar) } else { (b_bar, x) };
        let mut right_dims = g.dims(b).to_vec();
        right_dims[0] = l_dims[1];
        let right = g.relabel(right, &right_dims);
        let columns: Vec<_> = right_dims[1..].to_vec();
        let outer = g
            .contract(left, right, &columns)
            .expect("both have the columns");
        let outer = g.broadcast(outer, &l_dims);
        let lower = g.lower_triangle(outer);
        out.push((0, g.unary(Unary::Neg, lower)));
    }
    out.push((1, b_bar));
    out
}
