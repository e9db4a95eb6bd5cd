//! Forward mode: the derivative of an elementwise formula along a direction.

use crate::gradient::{binary_rule, unary_partial};
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};

/// Appends the derivative of `y` along a direction: `seeds` are leaves, each with its own
/// derivative (of the same dims). Leaves that are not named stand still.
///
/// Every node between the seeds and `y` must be elementwise, a broadcast, a lookup or a sum.
/// Uses the partials of reverse mode, so that the two agree.
///
/// ```
/// use fitzroy_graph::{Bindings, Real, Scope, evaluate, tangent};
/// let scope = Scope::new();
/// let (a, b) = (scope.param(0, &[]), scope.param(1, &[]));
/// let y = scope.node((a * b).exp());
/// let b = scope.node(b);
/// let mut graph = scope.finish();
/// let one = graph.lit(1.0);
/// let slope = tangent(&mut graph, y, &[(b, one)]);
/// let found = evaluate(&graph, &Bindings::default(), &[2.0, 0.5], &[slope]);
/// assert!((found[0][0] - 2.0 * 1f64.exp()).abs() < 1e-14);
/// ```
///
/// # Panics
/// When an operation in between has no rule here.
#[track_caller]
pub fn tangent(graph: &mut Graph, y: NodeId, seeds: &[(NodeId, NodeId)]) -> NodeId {
    let needed = graph.needed(&[y]);
    let mut along: Vec<Option<NodeId>> = vec![None; y.index() + 1];
    for id in graph.node_ids().take(y.index() + 1) {
        if needed[id.index()] {
            let seed = seeds.iter().find(|(leaf, _)| *leaf == id);
            along[id.index()] = match seed {
                Some(&(_, direction)) => Some(direction),
                None => rule(graph, id, &along),
            };
        }
    }
    let dims = graph.dims(y).to_vec();
    let out = along[y.index()].unwrap_or_else(|| graph.lit(0.0));
    graph.broadcast(out, &dims)
}

/// Whether `t` may be 0 in some rows.
fn varies(g: &Graph, t: NodeId) -> bool {
    !g.dims(t).is_empty() && g.constant(t).is_none()
}

/// Slope times derivative of the input, 0 where one of them is and the other may be infinite: √0 stays 0, and
/// 1/(1 + exp(u)) is 0 with all its derivatives where exp(u) overflows.
fn unary_term(g: &mut Graph, op: Unary, slope: NodeId, t: NodeId) -> NodeId {
    match op {
        Unary::Recip | Unary::Exp | Unary::Expm1 if overflows(g, t) => {
            g.bin(Binary::MulZ, slope, t)
        }
        Unary::Sqrt if varies(g, t) => g.bin(Binary::MulZ, t, slope),
        _ => g.bin(Binary::Mul, slope, t),
    }
}

/// The same of two inputs: 0ᵇ stays 0.
fn binary_term(g: &mut Graph, op: Binary, slot: usize, slope: NodeId, t: NodeId) -> NodeId {
    match (op, slot) {
        (Binary::Pow, 0) if overflows(g, t) && varies(g, t) => {
            // Either may be 0 where the other is infinite: (x·eᵏ)ᵇ stays 0 at x = 0, too.
            let (zero, product) = (g.lit(0.0), g.bin(Binary::MulZ, slope, t));
            let none = g.bin(Binary::Eq, t, zero);
            let dims = g.dims(t).to_vec();
            let zero = g.broadcast(zero, &dims);
            g.select(none, zero, product)
                .expect("dims of the derivative")
        }
        (Binary::Pow, 0) | (Binary::Div, 1) if overflows(g, t) => g.bin(Binary::MulZ, slope, t),
        (Binary::Pow, 0) if varies(g, t) => g.bin(Binary::MulZ, t, slope),
        // Its first factor decides.
        (Binary::MulZ, 0) => g.bin(Binary::MulZ, t, slope),
        (Binary::MulZ, _) => g.bin(Binary::MulZ, slope, t),
        _ => g.bin(Binary::Mul, slope, t),
    }
}

/// Whether `node` is made of functions that leave the range of numbers soon.
fn overflows(g: &Graph, node: NodeId) -> bool {
    let needed = g.needed(&[node]);
    g.node_ids().take(node.index() + 1).any(|id| {
        let grows = matches!(
            g.node(id).op,
            Op::Unary(Unary::Exp | Unary::Expm1 | Unary::Sinh | Unary::Cosh)
                | Op::Binary(Binary::Pow)
        );
        needed[id.index()] && grows
    })
}

/// The derivative of one node, given those of its inputs; `None` stands for 0.
fn rule(g: &mut Graph, id: NodeId, along: &[Option<NodeId>]) -> Option<NodeId> {
    let node = g.node(id).clone();
    let inputs: Vec<Option<NodeId>> = node.inputs.iter().map(|i| along[i.index()]).collect();
    if inputs.iter().all(Option::is_none) {
        return None;
    }
    let first = inputs[0];
    match node.op {
        Op::Unary(Unary::Neg) => first.map(|t| g.unary(Unary::Neg, t)),
        Op::Unary(op) => {
            let slope = unary_partial(g, op, node.inputs[0], id)?;
            first.map(|t| unary_term(g, op, slope, t))
        }
        Op::Binary(op) => {
            let one = g.lit(1.0);
            let one = g.broadcast(one, &node.dims);
            let mut total = None;
            for (slot, slope) in binary_rule(g, op, &node.inputs, id, one, false) {
                let Some(t) = inputs[slot] else { continue };
                let term = binary_term(g, op, slot, slope, t);
                total = Some(match total {
                    None => term,
                    Some(sum) => g.bin(Binary::Add, sum, term),
                });
            }
            total
        }
        Op::Select => {
            let zero = g.lit(0.0);
            let zero = g.broadcast(zero, &node.dims);
            let (yes, no) = (inputs[1].unwrap_or(zero), inputs[2].unwrap_or(zero));
            if inputs[1].is_none() && inputs[2].is_none() {
                return None;
            }
            Some(g.select(node.inputs[0], yes, no).expect("the node's dims"))
        }
        Op::WithSlopes => (1..node.inputs.len())
            .step_by(2)
            .filter_map(|k| Some(g.bin(Binary::Mul, node.inputs[k + 1], inputs[k]?)))
            .collect::<Vec<_>>()
            .into_iter()
            .reduce(|a, b| g.bin(Binary::Add, a, b)),
        Op::Broadcast => first.map(|t| g.broadcast(t, &node.dims)),
        Op::Gather(index) => first.map(|t| g.gather(t, index)),
        Op::Sum => {
            let over = g.dims(node.inputs[0]).to_vec();
            let over: Vec<_> = over
                .into_iter()
                .filter(|d| !node.dims.contains(d))
                .collect();
            first.map(|t| g.sum(t, &over))
        }
        other => panic!("{other:?} has no rule in forward mode"),
    }
}
