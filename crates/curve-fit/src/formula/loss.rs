//! What is minimised: losses, and how they weigh residuals and partials.

use fitzroy::Named;
use fitzroy::dist::Real;
use fitzroy_graph::{Binary, Expr as Value, Graph, NodeId, Scope, Unary};

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

impl Loss {
    /// w and ψ′ of a robust loss, over rows like u: ψ(u) = u ρ′(u²) = u w. `z` is u².
    pub(super) fn pull(
        self,
        g: &mut Graph,
        u: NodeId,
        (z, one): (NodeId, NodeId),
    ) -> (NodeId, NodeId) {
        let two = |g: &mut Graph, op: Binary, a: NodeId, b: NodeId| {
            g.binary(op, a, b).expect("over rows")
        };
        let rows = g.dims(u).to_vec();
        let wide = |g: &mut Graph, x: f64| {
            let x = g.lit(x);
            g.broadcast(x, &rows)
        };
        match self {
            Loss::Linear | Loss::Poisson => unreachable!("only robust losses bound a pull"),
            Loss::SoftL1 => {
                // w = (1+z)^−½, ψ′ = w³
                let sum = two(g, Binary::Add, z, one);
                let root = g.unary(Unary::Sqrt, sum);
                let w = g.unary(Unary::Recip, root);
                let square = two(g, Binary::Mul, w, w);
                (w, two(g, Binary::Mul, square, w))
            }
            Loss::Huber => {
                let inside = two(g, Binary::Le, z, one);
                let size = g.unary(Unary::Abs, u);
                let outside = g.unary(Unary::Recip, size);
                let zero = wide(g, 0.0);
                let w = g.select(inside, one, outside).expect("over rows");
                (w, g.select(inside, one, zero).expect("over rows"))
            }
            Loss::Cauchy => {
                // w = 1/(1+z), ψ′ = (1−z) w²
                let sum = two(g, Binary::Add, z, one);
                let w = g.unary(Unary::Recip, sum);
                let square = two(g, Binary::Mul, w, w);
                let rest = two(g, Binary::Sub, one, z);
                (w, two(g, Binary::Mul, rest, square))
            }
            Loss::Arctan => {
                // w = 1/(1+z²), ψ′ = (1 − 3z²) w²
                let square = two(g, Binary::Mul, z, z);
                let sum = two(g, Binary::Add, square, one);
                let w = g.unary(Unary::Recip, sum);
                let three = wide(g, 3.0);
                let thrice = two(g, Binary::Mul, three, square);
                let rest = two(g, Binary::Sub, one, thrice);
                let w2 = two(g, Binary::Mul, w, w);
                (w, two(g, Binary::Mul, rest, w2))
            }
            Loss::Tukey => {
                // w = (1−z)², ψ′ = (1−z)(1−5z), both 0 outside
                let inside = two(g, Binary::Lt, z, one);
                let rest = two(g, Binary::Sub, one, z);
                let (zero, five) = (wide(g, 0.0), wide(g, 5.0));
                let rest = g.select(inside, rest, zero).expect("over rows");
                let w = two(g, Binary::Mul, rest, rest);
                let fivefold = two(g, Binary::Mul, five, z);
                let other = two(g, Binary::Sub, one, fivefold);
                (w, two(g, Binary::Mul, rest, other))
            }
        }
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
