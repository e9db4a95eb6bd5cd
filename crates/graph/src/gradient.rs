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

/// Operations on nodes that follow one another, as a formula reads.
trait Chain: Copy {
    fn then(self, op: Unary, g: &mut Graph) -> NodeId;
    fn with(self, op: Binary, other: NodeId, g: &mut Graph) -> NodeId;
    fn square(self, g: &mut Graph) -> NodeId;
}

impl Chain for NodeId {
    fn then(self, op: Unary, g: &mut Graph) -> NodeId {
        g.unary(op, self)
    }

    fn with(self, op: Binary, other: NodeId, g: &mut Graph) -> NodeId {
        g.bin(op, self, other)
    }

    fn square(self, g: &mut Graph) -> NodeId {
        g.bin(Binary::Mul, self, self)
    }
}

/// The product of an adjoint and a partial.
fn product(guard: bool) -> Binary {
    if guard { Binary::MulZ } else { Binary::Mul }
}

/// The adjoint `d` where `c` holds and where it does not, `zero` elsewhere.
fn branches(g: &mut Graph, c: NodeId, d: NodeId, zero: NodeId) -> [NodeId; 2] {
    [(d, zero), (zero, d)].map(|(yes, no)| {
        g.select(c, yes, no)
            .expect("the adjoint has the node's dims")
    })
}

/// The adjoints of a node's inputs, given its own adjoint `d`: (which input, adjoint).
fn rule(g: &mut Graph, id: NodeId, d: NodeId, guard: bool) -> Vec<(usize, NodeId)> {
    let node = g.node(id).clone();
    let a = node.inputs.first().copied();
    let a_dims: Vec<DimId> = a.map(|a| g.dims(a).to_vec()).unwrap_or_default();
    match node.op {
        Op::Const(_) | Op::Param { .. } | Op::Data(_) => vec![],
        Op::Unary(Unary::Neg) => vec![(0, g.unary(Unary::Neg, d))],
        Op::Unary(op) => match unary_partial(g, op, node.inputs[0], id) {
            Some(p) => vec![(0, g.bin(product(guard), d, p))],
            None => vec![],
        },
        Op::Binary(op) => binary_rule(g, op, &node.inputs, id, d, guard),
        Op::Select => {
            let zero = g.lit(0.0);
            let [yes, no] = branches(g, node.inputs[0], d, zero);
            vec![(1, yes), (2, no)]
        }
        Op::WithSlopes => (1..node.inputs.len())
            .step_by(2)
            .map(|slot| (slot, g.bin(product(guard), d, node.inputs[slot + 1])))
            .collect(),
        Op::Broadcast => {
            let added = node.dims.iter().filter(|x| !a_dims.contains(x));
            let added: Vec<DimId> = added.copied().collect();
            let sum = g.sum(d, &added);
            vec![(0, g.broadcast(sum, &a_dims))]
        }
        Op::Sum => vec![(0, g.broadcast(d, &a_dims))],
        Op::MaxOver => vec![(0, max_over_adjoint(g, node.inputs[0], id, d, &a_dims))],
        Op::Gather(index) => vec![(0, g.segment_sum(d, index))],
        Op::SegmentSum(index) => vec![(0, g.gather(d, index))],
        Op::CumSum { axis, reverse } => vec![(0, g.cum_sum(d, axis, !reverse))],
        Op::Slice { axis, start } => {
            let at = a_dims.iter().position(|&x| x == axis);
            let whole = node.dims[at.expect("the sliced axis")];
            vec![(0, g.unslice(d, whole, axis, start))]
        }
        Op::Unslice { axis, start } => {
            let at = node.dims.iter().position(|&x| x == axis);
            let at = at.expect("the padded axis");
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
    use Binary::{Add, Div, Lt, Mul, Sub};
    use Unary::*;
    let two_over_root_pi = std::f64::consts::FRAC_2_SQRT_PI;
    let one = g.lit(1.0);
    Some(match op {
        Neg => g.lit(-1.0),
        Floor => return None,
        Recip => y.square(g).then(Neg, g),
        Sqrt => g.lit(0.5).with(Mul, y.then(Recip, g), g),
        Abs => {
            let zero = g.lit(0.0);
            let (up, down) = (zero.with(Lt, a, g), a.with(Lt, zero, g));
            up.with(Sub, down, g)
        }
        Exp => y,
        Log => a.then(Recip, g),
        Log1p => a.with(Add, one, g).then(Recip, g),
        Expm1 => y.with(Add, one, g),
        Sin => a.then(Cos, g),
        Cos => a.then(Sin, g).then(Neg, g),
        Tan => y.square(g).with(Add, one, g),
        Asin | Acos => {
            let root = one.with(Sub, a.square(g), g).then(Sqrt, g);
            let slope = root.then(Recip, g);
            if op == Asin {
                slope
            } else {
                slope.then(Neg, g)
            }
        }
        Atan => a.square(g).with(Add, one, g).then(Recip, g),
        Sinh => a.then(Cosh, g),
        Cosh => a.then(Sinh, g),
        Tanh => one.with(Sub, y.square(g), g),
        Erf | Erfc => {
            let bell = a.square(g).then(Neg, g).then(Exp, g);
            let sign = if op == Erf { 1.0 } else { -1.0 };
            g.lit(sign * two_over_root_pi).with(Mul, bell, g)
        }
        Erfcx => {
            // 2a·y − 2/√π
            let (c, two) = (g.lit(two_over_root_pi), g.lit(2.0));
            let twice = two.with(Mul, a.with(Mul, y, g), g);
            twice.with(Sub, c, g)
        }
        LogNdtr => a.then(NdtrSlope, g),
        // −r (a + r)
        NdtrSlope => y.with(Mul, a.with(Add, y, g), g).then(Neg, g),
        Lgamma => a.then(Digamma, g),
        Digamma => a.then(Trigamma, g),
        Trigamma => panic!("the derivative of trigamma is not defined"),
        LogI0 => a.then(I1OverI0, g),
        I1OverI0 => {
            // 1 − r/a − r²
            let (square, ratio) = (y.square(g), y.with(Div, a, g));
            one.with(Sub, square.with(Add, ratio, g), g)
        }
        InvLogit => y.with(Mul, one.with(Sub, y, g), g),
        Softplus => a.then(InvLogit, g),
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
    let times = |g: &mut Graph, d: NodeId, p: NodeId| g.bin(product(guard), d, p);
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
            let [to_a, to_b] = branches(g, first, d, zero);
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
    let times = |g: &mut Graph, d: NodeId, p: NodeId| g.bin(product(guard), d, p);
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
