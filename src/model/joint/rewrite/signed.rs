//! Scales with a sign: a number s with |s| in place of a positive scale, and s z in place of the
//! scale times its standardised effects.
//!
//! For a scale τ with density p and effects m + τ z, z symmetric about 0, the pair (s, w) with
//! density ½ p(|s|) f(w) gives τ = |s| and z = sign(s) w the joint density p(τ) f(z): (s, w) and
//! (−s, −w) are the same effects m + s w. Where s crosses 0 the density is smooth, while ln τ has
//! a long tail there.

use super::super::build::Build;
use super::super::law::{Law, infinite};
use super::Rewrote;
use crate::dist::Real;
use fitzroy_graph::{Binary, Expr as Value, NodeId, Op};
use std::collections::HashMap;

/// A parameter above 0 whose density is finite at 0, so that its reflection can be crossed there.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Positive<'g> {
    /// Index among the parameters.
    pub(in super::super) parameter: usize,
    /// Its value.
    pub(in super::super) node: NodeId,
    /// −1 or 1 of each element, where its coordinate has a sign.
    pub(in super::super) sign: Option<Value<'g>>,
}

/// What is a factor of the scale of a plate.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Factors<'g> {
    /// Positive parameters, by their index among the parameters.
    pub(in super::super) parameters: Vec<usize>,
    /// The product of the signs of those that have one.
    pub(in super::super) sign: Option<Value<'g>>,
}

/// Whether a parameter with this prior can be reflected at 0: it begins there, and the density at
/// 0 is neither 0 nor infinite.
pub(in super::super) fn reaches_zero<'g>(
    law: &Law<'g>,
    limits: Option<(Value<'g>, Value<'g>)>,
) -> bool {
    let Law::Scalar(scalar, _) = law else {
        return false;
    };
    match limits {
        None => scalar.reaches_zero(),
        Some((lower, upper)) => {
            lower.constant() == Some(0.0) && infinite(upper) && scalar.is_symmetric()
        }
    }
}

/// −1 below 0, else 1.
pub(in super::super) fn sign(u: Value<'_>) -> Value<'_> {
    Value::lit(0.0)
        .le(u)
        .select(Value::lit(1.0), Value::lit(-1.0))
}

impl<'g> Build<'_, 'g> {
    /// The positive parameters that `scale` is a product of, each repeated or looked up by an
    /// index. What else it contains does not matter.
    pub(in super::super) fn factors_of(&self, scale: NodeId) -> Factors<'g> {
        if let Some(found) = self.positives.iter().find(|p| p.node == scale) {
            return Factors {
                parameters: vec![found.parameter],
                sign: found.sign,
            };
        }
        let node = self.scope.with(|g| g.node(scale).clone());
        match node.op {
            Op::Broadcast | Op::Gather(_) | Op::Relabel => {
                let inner = self.factors_of(node.inputs[0]);
                let again = |sign: Value<'g>| {
                    let replaced = HashMap::from([(node.inputs[0], self.scope.node(sign))]);
                    let new = self.scope.with(|g| g.substitute(&[scale], &replaced));
                    self.scope.expr(new[0])
                };
                Factors {
                    sign: inner.sign.map(again),
                    parameters: inner.parameters,
                }
            }
            Op::Binary(Binary::Mul) => {
                let (a, b) = (
                    self.factors_of(node.inputs[0]),
                    self.factors_of(node.inputs[1]),
                );
                Factors {
                    parameters: [a.parameters, b.parameters].concat(),
                    sign: match (a.sign, b.sign) {
                        (Some(a), Some(b)) => Some(a * b),
                        (a, b) => a.or(b),
                    },
                }
            }
            Op::Binary(Binary::Div) => self.factors_of(node.inputs[0]),
            _ => Factors::default(),
        }
    }

    /// What is said of the parameters that have a sign.
    pub(in super::super) fn words_of_signs(&self) -> Vec<Rewrote> {
        let signed = self.positives.iter().filter(|p| p.sign.is_some());
        let one = |positive: &Positive<'g>| {
            let name = |k: usize| self.parameters[k].name.clone();
            let own = self.plates.iter().filter(|plate| {
                plate.scales.contains(&positive.parameter)
                    && self.integrated.get(plate.parameter) != Some(&true)
            });
            let effects: Vec<String> = own.map(|plate| name(plate.parameter)).collect();
            Rewrote::signed(name(positive.parameter), effects)
        };
        signed.map(one).collect()
    }
}
