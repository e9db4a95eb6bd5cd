//! Waves in the envelopes of others: beats, and carriers whose amplitude is modulated.

use super::derive::{Programs, depends, slope};
use super::structure::the_predictor;
use fitzroy_graph::{Binary, Graph, NodeId, Op, Unary, tangent};

/// A sine or cosine in the envelope of another: of a beat, or of what modulates an amplitude.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner {
    /// The parameter that its frequency is `unit` times.
    pub(crate) frequency: usize,
    pub(crate) unit: f64,
    /// The parameter that shifts its phase.
    pub(crate) phase: Option<usize>,
    /// True where it is a factor, whose sign the whole column's may be.
    pub(crate) is_factor: bool,
}

impl Programs {
    /// The one wave along the predictor in the envelope of another, which has its `frequency`.
    pub(super) fn inner(
        &self,
        g: &mut Graph,
        envelope: NodeId,
        (predictor, frequency): (usize, usize),
        nonlinear: &[usize],
    ) -> Option<Inner> {
        let needed = g.needed(&[envelope]);
        let waves = g.node_ids().filter(|id| needed[id.index()]).filter(|id| {
            matches!(g.node(*id).op, Op::Unary(Unary::Sin | Unary::Cos))
                && the_predictor(g, *id).is_some_and(|(own, _)| own == predictor)
        });
        let [wave] = waves.collect::<Vec<_>>()[..] else {
            return None;
        };
        let argument = g.node(wave).inputs[0];
        let (_, data) = the_predictor(g, argument)?;
        let one = g.lit(1.0);
        let one = g.broadcast(one, &[self.rows]);
        let rate = tangent(g, argument, &[(data, one)]);
        if the_predictor(g, rate).is_some() {
            return None;
        }
        let mut rates = nonlinear.iter().copied().filter(|&k| depends(g, rate, k));
        let (Some(own_frequency), None) = (rates.next(), rates.next()) else {
            return None;
        };
        if own_frequency == frequency || depends(g, argument, frequency) {
            return None;
        }
        let unit = slope(g, rate, self.params[own_frequency]);
        let unit = number(g, unit)?;
        let mut phases = nonlinear
            .iter()
            .copied()
            .filter(|&k| k != own_frequency && depends(g, argument, k));
        let (phase, None) = (phases.next(), phases.next()) else {
            return None;
        };
        Some(Inner {
            frequency: own_frequency,
            unit,
            phase,
            is_factor: false,
        })
    }
}

/// The number that `node` is.
fn number(g: &Graph, node: NodeId) -> Option<f64> {
    let own = g.node(node);
    let of = |k: usize| number(g, own.inputs[k]);
    match own.op {
        Op::Const(bits) => Some(f64::from_bits(bits)),
        Op::Broadcast => of(0),
        Op::Unary(Unary::Neg) => Some(-of(0)?),
        Op::Binary(Binary::Mul) => Some(of(0)? * of(1)?),
        Op::Binary(Binary::Div) => Some(of(0)? / of(1)?),
        _ => None,
    }
}
