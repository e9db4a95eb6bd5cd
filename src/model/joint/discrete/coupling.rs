//! Which element of a discrete variable each element of a term depends on.

use super::super::build::Build;
use super::Discrete;
use fitzroy_graph::reference::flat_positions;
use fitzroy_graph::{Binary, DimId, NodeId, Op, Unary};

/// No element at all.
pub(super) const NONE: u32 = u32::MAX;

/// Part of a term, and the element of the variable that each of its elements depends on.
pub(super) struct Piece {
    pub(super) node: NodeId,
    pub(super) owner: Owner,
}

/// See [`Piece`].
pub(super) enum Owner {
    /// The one at the same place along the dims of the variable.
    Same,
    /// The ones of a list, in the order of the term's elements.
    By(Vec<u32>),
}

/// A term in parts: those that depend on the variable, and those that do not.
#[derive(Default)]
pub(super) struct Split {
    pub(super) on: Vec<Piece>,
    pub(super) free: Vec<NodeId>,
}

impl Build<'_, '_> {
    /// `node` in parts whose sum over all elements is the same; none where several elements of the
    /// variable meet in one of them.
    pub(super) fn split(&self, z: &Discrete, node: NodeId) -> Option<Split> {
        let mut split = Split::default();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let holes: Vec<NodeId> = z.holes().collect();
            let depends = self.scope.with(|g| g.dependents(&holes)[node.index()]);
            if !depends {
                split.free.push(node);
            } else if let Some(owner) = self.owner(z, node) {
                split.on.push(Piece { node, owner });
            } else {
                open.extend(self.summands(node)?);
            }
        }
        Some(split)
    }

    /// Nodes whose sums over all elements add up to that of `node`.
    fn summands(&self, node: NodeId) -> Option<Vec<NodeId>> {
        self.scope.with(|g| {
            let (op, x) = (g.node(node).op.clone(), g.node(node).inputs.clone());
            let count = |g: &fitzroy_graph::Graph| (g.len(node) / g.len(x[0]).max(1)) as f64;
            Some(match op {
                Op::Sum | Op::Relabel => vec![x[0]],
                Op::Binary(Binary::Add) => x,
                Op::Binary(Binary::Sub) => vec![x[0], g.unary(Unary::Neg, x[1])],
                // Each sign and each number goes to where the sums are.
                Op::Unary(Unary::Neg) => {
                    let inner = g.node(x[0]).clone();
                    match inner.op {
                        Op::Sum => vec![g.unary(Unary::Neg, inner.inputs[0])],
                        Op::Binary(Binary::Add) => {
                            let minus = inner.inputs.iter().map(|&i| g.unary(Unary::Neg, i));
                            minus.collect()
                        }
                        _ => return None,
                    }
                }
                Op::Binary(Binary::Mul) => {
                    let (a, b) = match (g.constant(x[0]), g.constant(x[1])) {
                        (Some(a), _) => (a, x[1]),
                        (_, Some(b)) => (b, x[0]),
                        _ => return None,
                    };
                    let inner = g.node(b).clone();
                    let number = g.lit(a);
                    let times = |g: &mut fitzroy_graph::Graph, i: NodeId| {
                        g.binary(Binary::Mul, number, i).ok()
                    };
                    match inner.op {
                        Op::Sum => vec![times(g, inner.inputs[0])?],
                        Op::Binary(Binary::Add) => {
                            let all = inner.inputs.iter().map(|&i| times(g, i));
                            all.collect::<Option<Vec<_>>>()?
                        }
                        _ => return None,
                    }
                }
                Op::Broadcast => {
                    let number = count(g);
                    let number = g.lit(number);
                    vec![g.binary(Binary::Mul, number, x[0]).ok()?]
                }
                Op::Contract { over } => {
                    let all: Vec<DimId> = [g.dims(node), &over].concat();
                    let [a, b] = [x[0], x[1]].map(|i| g.broadcast(i, &all));
                    vec![g.binary(Binary::Mul, a, b).ok()?]
                }
                _ => return None,
            })
        })
    }

    /// The element of the variable that each element of `node` depends on; none where one depends
    /// on several.
    fn owner(&self, z: &Discrete, node: NodeId) -> Option<Owner> {
        let (n, dims) = self
            .scope
            .with(|g| (g.len_of(&z.dims), g.dims(node).to_vec()));
        let is_over = z.dims.iter().all(|d| dims.contains(d));
        if n == 1 && is_over {
            return Some(Owner::Same);
        }
        let (name, holes) = (&z.name, z.holes().collect::<Vec<_>>());
        let leaf = |what: &str, values: Vec<f64>| {
            let name = format!("{what} elements of {name}");
            self.scope
                .node(self.scope.bound_data(&name, &z.dims, &values))
        };
        // From the first and from the last; both from 1 on, as 0 is no element.
        let up = leaf("counted", (1..=n).map(|i| i as f64).collect());
        let down = leaf("counted back", (1..=n).rev().map(|i| i as f64).collect());
        let known = |leaf: NodeId| {
            let most = self.scope.with(|g| g.greatest_source(node, &holes, leaf));
            let known = self.scope.known(self.scope.expr(most));
            known.expect("positions do not vary")
        };
        let (last, first) = (known(up), known(down));
        let one = |(&last, &first): (&f64, &f64)| match last == 0.0 {
            true => Some(NONE),
            false => (last - 1.0 == n as f64 - first).then_some(last as u32 - 1),
        };
        let owners: Option<Vec<u32>> = last.iter().zip(&first).map(one).collect();
        let owners = owners?;
        let same = is_over && self.scope.with(|g| flat_positions(g, &dims, &z.dims)) == owners;
        Some(match same {
            true => Owner::Same,
            false => Owner::By(owners),
        })
    }
}
