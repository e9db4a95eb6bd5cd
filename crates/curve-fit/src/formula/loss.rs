//! What is minimised: losses, and how they weigh residuals and partials.

use fitzroy::Named;
use fitzroy::dist::Real;
use fitzroy_graph::{Expr as Value, NodeId, Scope};

/// What is minimised: F = ½ C² Σ ρ((r/C)²), with r = (f − y)/σ, or half the Poisson deviance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// ρ(z) = z: least squares.
    #[default]
    Linear,
    /// ρ(z) = 2(√(1+z) − 1).
    SoftL1,
    /// ρ(z) = z up to 1, then 2√z − 1.
    Huber,
    /// ρ(z) = ln(1 + z).
    Cauchy,
    /// ρ(z) = arctan z.
    Arctan,
    /// ρ(z) = (1 − (1−z)³)/3 up to 1, then ⅓.
    Tukey,
    /// Counts: F = Σ m − y + y ln(y/m), half the deviance.
    Poisson,
}

/// A likelihood of counts is asked for as such, and no loss has its name.
impl Named for Loss {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("linear", Loss::Linear),
        ("soft_l1", Loss::SoftL1),
        ("huber", Loss::Huber),
        ("cauchy", Loss::Cauchy),
        ("arctan", Loss::Arctan),
        ("tukey", Loss::Tukey),
    ];
}

impl Loss {
    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, loss)| *loss == self);
        found.map_or("poisson", |(name, _)| name)
    }

    /// True for the losses that bound the pull of outliers.
    pub fn is_robust(self) -> bool {
        !matches!(self, Loss::Linear | Loss::Poisson)
    }
}

/// The residual and its weights as the loss has them.
pub(super) struct Parts<'g> {
    pub(super) scope: &'g Scope,
    pub(super) residual: NodeId,
    pub(super) curve: NodeId,
    pub(super) y: NodeId,
    pub(super) c: Value<'g>,
    pub(super) one: Value<'g>,
}

impl<'g> Parts<'g> {
    /// `[√w J…, √w r]` and ρ.
    pub(super) fn weighed(&self, loss: Loss, jacobian: &[NodeId]) -> (Vec<NodeId>, Option<NodeId>) {
        let scope = self.scope;
        let one = self.one;
        let lit = Value::lit;
        let residual = scope.expr(self.residual);
        let all: Vec<NodeId> = jacobian.iter().copied().chain([self.residual]).collect();
        if loss == Loss::Poisson {
            return self.poisson(jacobian);
        }
        if loss == Loss::Linear {
            return (all, None);
        }
        let u = residual / self.c;
        let z = u * u;
        let (root, rho) = match loss {
            Loss::SoftL1 => {
                let root = (z + one).sqrt();
                ((one / root).sqrt(), lit(2.0) * (root - one))
            }
            Loss::Huber => {
                let (inside, size) = (z.le(one), u.abs());
                let root = inside.select(one, (one / size).sqrt());
                (root, inside.select(z, lit(2.0) * size - one))
            }
            Loss::Cauchy => ((one / (z + one)).sqrt(), z.ln_1p()),
            Loss::Arctan => ((one / (z * z + one)).sqrt(), z.atan()),
            _ => {
                let inside = z.lt(one);
                let rest = one - z;
                let third = lit(1.0 / 3.0);
                let rho = (one - rest * rest * rest) * third;
                (inside.select(rest, lit(0.0)), inside.select(rho, third))
            }
        };
        let weighed = all.iter().map(|&n| scope.node(scope.expr(n) * root));
        (weighed.collect(), Some(scope.node(rho)))
    }

    /// Fisher's matrix and the gradient of half the deviance: `[∂m/√m…, (m − y)/√m]`.
    fn poisson(&self, jacobian: &[NodeId]) -> (Vec<NodeId>, Option<NodeId>) {
        let scope = self.scope;
        let (m, y) = (scope.expr(self.curve), scope.expr(self.y));
        let root = self.one / m.sqrt();
        let weighed = jacobian.iter().chain([&self.residual]);
        let weighed = weighed.map(|&n| scope.node(scope.expr(n) * root)).collect();
        let zero = Value::lit(0.0);
        let log = zero.lt(y).select(y * (y / m).ln() - y, zero);
        let half_deviance = zero.lt(m).select(m + log, Value::lit(f64::NAN));
        (weighed, Some(scope.node(half_deviance)))
    }
}
