//! Curves that are a function of a sum, as 1/(a + b log x) and √(1 + b x²/(x² − c)): undone of the function, the sum
//! has linear parameters, at which a search of the curve itself begins (as generalised linear models begin; McCullagh
//! and Nelder 1989).

use fitzroy_graph::{Binary, Graph, NodeId, Op, Unary, tangent};

/// A curve undone of its outer functions.
pub(super) struct Link {
    /// What they were functions of.
    pub(super) sum: NodeId,
    /// The response, undone of the same; 0 where it is no value of the functions.
    pub(super) response: NodeId,
    /// The slope of the functions at the response, by which residuals of the sum weigh as those of the curve; 0 where
    /// it has none.
    pub(super) weight: NodeId,
}

/// Values of the response that count, undone.
const LARGEST: f64 = 1e300;
/// Functions undone, at most.
const MOST: usize = 16;

/// Undoes the outer functions of `curve`, whose response is `y`; none where there are none but sums and factors.
pub(super) fn undo(g: &mut Graph, curve: NodeId, y: NodeId) -> Option<Link> {
    let (mut sum, mut undone, mut bends) = (curve, y, false);
    for _ in 0..MOST {
        let Some((inner, value, bent)) = outer(g, sum, undone) else {
            break;
        };
        (sum, undone) = (inner, value);
        bends |= bent;
    }
    if !bends || !has_parameters(g, sum) {
        return None;
    }
    let one = g.lit(1.0);
    let dims = g.dims(curve).to_vec();
    let (sum, undone) = (g.broadcast(sum, &dims), g.broadcast(undone, &dims));
    let along = g.broadcast(one, &dims);
    let slope = tangent(g, undone, &[(y, along)]);
    let slope = g.unary(Unary::Abs, slope);
    let weight = g.unary(Unary::Recip, slope);
    let mut known = along;
    for node in [undone, weight] {
        let size = g.unary(Unary::Abs, node);
        let largest = g.lit(LARGEST);
        let inside = binary(g, Binary::Lt, size, largest);
        known = binary(g, Binary::Mul, known, inside);
    }
    let zero = g.lit(0.0);
    let zero = g.broadcast(zero, &dims);
    let mut where_known = |node| g.select(known, node, zero).expect("all over rows");
    Some(Link {
        sum,
        response: where_known(undone),
        weight: where_known(weight),
    })
}

/// The node inside the outermost function of `node`, `value` undone of it, and whether it is more than a sum or a
/// factor.
fn outer(g: &mut Graph, node: NodeId, value: NodeId) -> Option<(NodeId, NodeId, bool)> {
    use Unary::{Abs, Exp, Expm1, Log, Log1p, Neg, Recip, Sqrt};
    let of = g.node(node).clone();
    let one = g.lit(1.0);
    Some(match (&of.op, &of.inputs[..]) {
        (Op::Broadcast, &[a]) if !g.dims(a).is_empty() => (a, value, false),
        (Op::Unary(op), &[a]) => {
            let back = match op {
                Neg | Recip => *op,
                Exp => Log,
                Log => Exp,
                Expm1 => Log1p,
                Log1p => Expm1,
                Sqrt => Abs,
                _ => return None,
            };
            let mut value = g.unary(back, value);
            if *op == Sqrt {
                value = binary(g, Binary::Mul, value, value);
            }
            (a, value, *op != Neg)
        }
        // A square, of which the upper branch is taken.
        (Op::Binary(Binary::Mul), &[a, b]) if a == b => (a, g.unary(Sqrt, value), true),
        (Op::Binary(op), &[a, b]) => {
            let known = (has_parameters(g, a), has_parameters(g, b));
            match (op, known) {
                (Binary::Add, (true, false)) => (a, binary(g, Binary::Sub, value, b), false),
                (Binary::Add, (false, true)) => (b, binary(g, Binary::Sub, value, a), false),
                (Binary::Sub, (true, false)) => (a, binary(g, Binary::Add, value, b), false),
                (Binary::Sub, (false, true)) => (b, binary(g, Binary::Sub, a, value), false),
                (Binary::Mul, (true, false)) => (a, binary(g, Binary::Div, value, b), false),
                (Binary::Mul, (false, true)) => (b, binary(g, Binary::Div, value, a), false),
                (Binary::Div, (true, false)) => (a, binary(g, Binary::Mul, value, b), false),
                (Binary::Div, (false, true)) => (b, binary(g, Binary::Div, a, value), true),
                (Binary::Pow, (true, false)) => {
                    let power = binary(g, Binary::Div, one, b);
                    (a, binary(g, Binary::Pow, value, power), true)
                }
                (Binary::Pow, (false, true)) => {
                    let (above, below) = (g.unary(Log, value), g.unary(Log, a));
                    (b, binary(g, Binary::Div, above, below), true)
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// A node of both, over rows where one of them is.
fn binary(g: &mut Graph, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    let (of_a, of_b) = (g.dims(a).to_vec(), g.dims(b).to_vec());
    let dims = if of_a.is_empty() { of_b } else { of_a };
    let (a, b) = (g.broadcast(a, &dims), g.broadcast(b, &dims));
    g.binary(op, a, b).expect("both over the same")
}

/// Whether `node` depends on any parameter.
fn has_parameters(g: &Graph, node: NodeId) -> bool {
    let needed = g.needed(&[node]);
    let mut ids = g.node_ids();
    ids.any(|id| needed[id.index()] && matches!(g.node(id).op, Op::Param { .. }))
}
