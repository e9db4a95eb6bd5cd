//! The one form in which a density uses a standard normal z: `b * z`, perhaps with a location, or
//! something linear in `b * z` from which a factor of b has been taken out.
//!
//! Graphs take a number that is the same for all elements out of a sum: `A @ (s * z)` stands there
//! as `s * (A @ z)`. Such factors are found again behind what is linear in z.

use super::super::build::Build;
use super::Latent;
use fitzroy_graph::{Binary, Graph, NodeId, Op};
use std::collections::HashMap;

/// Where z stands, and what its scale is.
pub(super) struct Form {
    /// b, with the dims of z.
    pub(super) scale: NodeId,
    /// `b * z`, if it stands in the graph as a whole.
    pub(super) product: Option<NodeId>,
    /// `a + b * z` and a, if that is the only use of the product.
    pub(super) sum: Option<(NodeId, NodeId)>,
}

impl Form {
    /// What stands in the place of z, `b * z` and `a + b * z`, as far as they stand in the graph.
    pub(super) fn replaced(
        &self,
        latent: &Latent,
        [z, product, sum]: [NodeId; 3],
    ) -> HashMap<NodeId, NodeId> {
        let old = [
            Some(latent.node),
            self.product,
            self.sum.map(|(sum, _)| sum),
        ];
        let both = old.into_iter().zip([z, product, sum]);
        both.filter_map(|(old, new)| Some((old?, new))).collect()
    }
}

/// The users of values of a density, and which values depend on one z.
struct Uses<'a> {
    graph: &'a Graph,
    needed: Vec<bool>,
    depends: Vec<bool>,
    /// Whether a factor is a scale if its sign is not known.
    any_sign: bool,
}

impl Uses<'_> {
    /// The only value that is computed from `of`; none if there are several.
    fn only(&self, of: NodeId) -> Option<NodeId> {
        let uses = |n: &NodeId| self.needed[n.index()] && self.graph.node(*n).inputs.contains(&of);
        let mut users = self.graph.node_ids().filter(uses);
        users.next().filter(|_| users.next().is_none())
    }

    /// The other input of a value with two, if it does not depend on z.
    fn other(&self, node: NodeId, of: NodeId) -> Option<NodeId> {
        let inputs = &self.graph.node(node).inputs;
        let rest = inputs.iter().find(|i| **i != of)?;
        (!self.depends[rest.index()]).then_some(*rest)
    }

    /// Whether a factor can be one of the scale: a positive value of parameters.
    fn is_scale(&self, factor: NodeId) -> bool {
        self.graph.varies(factor) && (self.any_sign || self.graph.is_positive(factor))
    }

    /// The value of one number that `factor` repeats, if it is a scale.
    fn uniform_scale(&self, factor: NodeId) -> Option<NodeId> {
        let node = self.graph.node(factor);
        let core = match node.op {
            Op::Broadcast => node.inputs[0],
            _ => factor,
        };
        (self.graph.dims(core).is_empty() && self.is_scale(core)).then_some(core)
    }

    /// The number that everything linear in `from` is multiplied by, if there is one.
    fn taken_out(&self, from: NodeId) -> Option<NodeId> {
        let mut at = from;
        loop {
            let next = self.only(at)?;
            match self.graph.node(next).op {
                Op::Binary(Binary::Mul) => {
                    let factor = self.other(next, at)?;
                    if let Some(scale) = self.uniform_scale(factor) {
                        return Some(scale);
                    }
                }
                Op::Contract { .. } => _ = self.other(next, at)?,
                Op::Sum | Op::Broadcast | Op::Gather(_) | Op::Relabel | Op::SegmentSum(_) => {}
                _ => return None,
            }
            at = next;
        }
    }
}

impl Build<'_, '_> {
    fn is(&self, node: NodeId, x: f64) -> bool {
        self.scope.with(|g| g.constant(node)) == Some(x)
    }

    /// The one form in which the density uses a standard normal z. If it was recognised before, the
    /// sign of its scale does not matter: what was recognised has kept its sign.
    pub(super) fn form(&self, latent: &Latent, known: bool) -> Option<Form> {
        if !self.is(latent.mean, 0.0) || !self.is(latent.sd, 1.0) {
            return None;
        }
        let terms = self.terms.iter().enumerate();
        let others = terms.filter(|(t, _)| *t != latent.term);
        let mut roots: Vec<NodeId> = others.map(|(_, t)| t.sum).collect();
        // The density of other plates comes to contain these as soon as they are centred.
        roots.extend(self.plate_nodes.iter().flat_map(|(m, s)| [*m, *s]));
        let z = latent.node;
        let (own, product, sum, out) = self.scope.with(|g| {
            let uses = Uses {
                graph: g,
                needed: g.needed(&roots),
                depends: g.dependents(&[z]),
                any_sign: known,
            };
            let first = uses.only(z)?;
            let own = match g.node(first).op {
                Op::Binary(Binary::Mul) if g.dims(first) == g.dims(z) => uses.other(first, z),
                _ => None,
            };
            let own = own.filter(|scale| uses.is_scale(*scale));
            let product = own.map(|_| first);
            let sum = product.and_then(|product| {
                let sum = uses.only(product)?;
                let is_sum = g.node(sum).op == Op::Binary(Binary::Add) && g.dims(sum) == g.dims(z);
                let location = uses.other(sum, product)?;
                is_sum.then_some((sum, location))
            });
            let out = match sum {
                Some(_) => None,
                None => uses.taken_out(product.unwrap_or(z)),
            };
            Some((own, product, sum, out))
        })?;
        let dims = self.scope.with(|g| g.dims(z).to_vec());
        let spread = |scale: NodeId| self.scope.expr(scale).broadcast(self.scope, &dims);
        let scale = match (own, out) {
            (own, None) => own?,
            (None, Some(out)) => self.scope.node(spread(out)),
            (Some(own), Some(out)) => self.scope.node(self.scope.expr(own) * spread(out)),
        };
        Some(Form {
            scale,
            product: product.filter(|_| out.is_none()),
            sum,
        })
    }
}
