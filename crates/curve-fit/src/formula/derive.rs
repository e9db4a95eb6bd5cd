//! From a formula to row programs: residual, partials, weights, and the columns of projection.

use super::build::{Recorder, Setting};
use super::link::undo;
use super::loss::{Loss, Parts};
use super::newton::Newton;
use super::projection::{Projection, project};
use super::separate::separate;
use super::structure::{Structure, steps};
use super::{Formula, Roles};
use crate::pass::Slots;
use fitzroy::Result;
use fitzroy::dist::Real;
use fitzroy_device::cpu::{Engine, GridProgram, RowProgram, Separated};
use fitzroy_graph::{Binary, DimId, Expr as Value, Graph, NodeId, Op, Scope, Unary, tangent};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Names of the columns that a fit adds to the predictors.
pub(crate) const RESPONSE: &str = "(y)";
pub(crate) const WEIGHT: &str = "(1/sigma)";

/// A formula with its derivatives, compiled for one choice of columns, fixed and tied parameters.
pub struct Programs {
    pub(super) graph: Graph,
    pub(super) rows: DimId,
    /// ∂r/∂θ of the free parameters.
    pub(super) jacobian: Vec<NodeId>,
    residual: NodeId,
    pub(super) curve: NodeId,
    response: NodeId,
    pub(super) weight: Option<NodeId>,
    loss: Loss,
    engine: Engine,
    pub(super) n_free: usize,
    pub(super) linear: Vec<bool>,
    unused: Vec<bool>,
    /// Sums of one pass: products of `[J…, r]` (weighted as the loss has it), and Σ ρ if the loss
    /// is not linear.
    pub pass: RowProgram,
    /// The free parameters, the direction and the scale.
    pub(super) params: Vec<NodeId>,
    /// The residual with linear parameters at 0, where projection may apply.
    pub(super) base: Option<NodeId>,
    // Most fits need some of these or none, and compiling takes as long as many small passes.
    plain: OnceLock<RowProgram>,
    value: OnceLock<RowProgram>,
    second: OnceLock<RowProgram>,
    projection: OnceLock<Option<Projection>>,
    newton: OnceLock<Option<Newton>>,
    separated: OnceLock<Option<Separated>>,
    /// By the points along x and along y.
    grids: Mutex<HashMap<[usize; 2], Arc<GridProgram>>>,
    multiples: OnceLock<Option<Vec<Option<usize>>>>,
    pub(super) structure: OnceLock<Option<Structure>>,
    /// What passes of these programs needed, for the next fit.
    pub(crate) slots: Slots,
}

impl Programs {
    /// Compiles `formula`; `weighted` adds a column 1/σ.
    ///
    /// Parameters of every program: the free ones, a direction of as many, and the scale C.
    ///
    /// # Errors
    /// What [`Formula::roles`] did not find out: ties that use columns.
    pub fn new(
        formula: &Formula,
        roles: &Roles,
        settings: &[Setting],
        weighted: bool,
        loss: Loss,
        engine: Engine,
    ) -> Result<Programs> {
        let made = Self::made(formula, roles, settings, weighted, (loss, engine), false)?;
        Ok(made.expect("nothing is undone"))
    }

    /// Least squares of what `formula` is a function of, where it is one of a sum, as 1/(a + b*log(x)) is: the
    /// response is what the function would have been applied to, and weighs as little as the function makes of it.
    pub(crate) fn undone(
        formula: &Formula,
        roles: &Roles,
        settings: &[Setting],
        weighted: bool,
        engine: Engine,
    ) -> Result<Option<Programs>> {
        Self::made(
            formula,
            roles,
            settings,
            weighted,
            (Loss::Linear, engine),
            true,
        )
    }

    fn made(
        formula: &Formula,
        roles: &Roles,
        settings: &[Setting],
        weighted: bool,
        (loss, engine): (Loss, Engine),
        undoing: bool,
    ) -> Result<Option<Programs>> {
        let p = settings
            .iter()
            .filter(|s| matches!(s, Setting::Free))
            .count();
        let scope = Scope::new();
        let rows = scope.dim("rows", 1);
        for name in &roles.predictors {
            scope.data(name, &[rows]);
        }
        let y = scope.data(RESPONSE, &[rows]);
        let free: Vec<Value<'_>> = (0..2 * p + 1).map(|k| scope.param(k, &[])).collect();
        let mut recorder = Recorder {
            scope: &scope,
            rows,
            roles,
            settings,
            free: free[..p].to_vec(),
        };
        let curve = recorder.formula(formula)?.broadcast(&scope, &[rows]);
        let whole = scope.node(curve);
        let weight = weighted.then(|| scope.node(scope.data(WEIGHT, &[rows])));
        let observed = scope.node(y);
        let params: Vec<NodeId> = free.iter().map(|&v| scope.node(v)).collect();
        let (mut curve, mut y, mut factors) = (whole, observed, [weight, None]);
        if undoing {
            let Some(link) = scope.with(|g| undo(g, whole, observed)) else {
                return Ok(None);
            };
            (curve, y, factors[1]) = (link.sum, link.response, Some(link.weight));
        }
        let weigh = |f: NodeId| {
            scope.with(|g| {
                let r = g.binary(Binary::Sub, f, y).expect("both over rows");
                let times = |r, &w| g.binary(Binary::Mul, r, w).expect("both over rows");
                factors.iter().flatten().fold(r, times)
            })
        };
        let residual = weigh(curve);
        let jacobian: Vec<NodeId> = (0..p)
            .map(|k| scope.with(|g| slope(g, residual, params[k])))
            .collect();
        let depends = |node: NodeId, k: usize| scope.with(|g| depends(g, node, k));
        let steps = scope.with(|g| steps(g, residual));
        let mut linear = vec![false; p];
        for k in 0..p {
            let apart =
                |l: usize| !linear[l] || !depends(jacobian[k], l) && !depends(jacobian[l], k);
            let smooth = || !steps.iter().any(|&node| depends(node, k));
            linear[k] =
                depends(residual, k) && !depends(jacobian[k], k) && smooth() && (0..k).all(apart);
        }
        let unused: Vec<bool> = (0..p).map(|k| !depends(residual, k)).collect();
        let candidates = p > 0 && linear.iter().any(|&l| l) && loss == Loss::Linear;
        let base = if candidates && undoing {
            let zero = scope.node(Value::lit(0.0));
            let none = (0..p).filter(|&k| linear[k]).map(|k| (params[k], zero));
            let none: HashMap<NodeId, NodeId> = none.collect();
            let base = scope.with(|g| g.substitute(&[curve], &none)[0]);
            Some(weigh(base))
        } else if candidates {
            for k in (0..p).filter(|&k| linear[k]) {
                recorder.free[k] = Value::lit(0.0);
            }
            let base = recorder.formula(formula)?.broadcast(&scope, &[rows]);
            Some(weigh(scope.node(base)))
        } else {
            None
        };
        let (weighed, cost) = {
            let c = free[2 * p];
            let parts = Parts {
                scope: &scope,
                residual,
                curve,
                y,
                c,
                one: Value::lit(1.0),
            };
            parts.weighed(loss, &jacobian)
        };
        let graph = scope.finish();
        let cost: Vec<NodeId> = cost.into_iter().collect();
        Ok(Some(Programs {
            pass: RowProgram::compile(&graph, rows, &weighed, &cost).with_engine(engine),
            params,
            base,
            plain: OnceLock::new(),
            value: OnceLock::new(),
            second: OnceLock::new(),
            projection: OnceLock::new(),
            newton: OnceLock::new(),
            separated: OnceLock::new(),
            grids: Mutex::default(),
            multiples: OnceLock::new(),
            structure: OnceLock::new(),
            slots: Slots::default(),
            jacobian,
            residual,
            curve,
            response: y,
            weight,
            loss,
            engine,
            n_free: p,
            linear,
            unused,
            graph,
            rows,
        }))
    }

    /// Number of free parameters.
    pub fn n_free(&self) -> usize {
        self.n_free
    }

    /// What is minimised.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// What runs the programs.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Which free parameters enter linearly, together.
    pub fn linear(&self) -> &[bool] {
        &self.linear
    }

    /// Which free parameters the residual does not depend on.
    pub fn unused(&self) -> &[bool] {
        &self.unused
    }

    /// The columns every program reads, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.graph
            .data_slots()
            .iter()
            .map(|slot| slot.name.as_str())
    }

    /// Outputs `[J…, r]`, not weighted by the loss.
    pub fn plain(&self) -> &RowProgram {
        self.plain.get_or_init(|| {
            let nodes = self.jacobian.iter().copied().chain([self.residual]);
            let nodes: Vec<NodeId> = nodes.collect();
            RowProgram::compile(&self.graph, self.rows, &nodes, &[]).with_engine(self.engine)
        })
    }

    /// Sums of J k, k the second derivative of r along a direction.
    pub fn second(&self) -> &RowProgram {
        self.second.get_or_init(|| {
            let mut graph = self.graph.clone();
            let (theta, rest) = self.params.split_at(self.n_free);
            let second = second_along(&mut graph, self.residual, theta, rest);
            let times = |&j: &NodeId| {
                graph
                    .binary(Binary::Mul, j, second)
                    .expect("both over rows")
            };
            let sums: Vec<NodeId> = self.jacobian.iter().map(times).collect();
            RowProgram::compile(&graph, self.rows, &[], &sums).with_engine(self.engine)
        })
    }

    /// The pass with second derivatives; none where it has too many sums, and for other losses than the
    /// linear.
    pub fn newton(&self) -> Option<&Newton> {
        let made = self.newton.get_or_init(|| {
            let linear = self.loss == Loss::Linear;
            let params = &self.params[..self.n_free];
            let parts = (&self.jacobian[..], self.residual, params);
            linear.then(|| Newton::new(self.graph.clone(), self.rows, parts, self.engine))?
        });
        made.as_ref()
    }

    /// The curve and its partials as sums of products of functions of one predictor each, where they
    /// are, of two predictors; none with σ, and for other losses than the linear.
    pub fn separated(&self) -> Option<&Separated> {
        let made = self.separated.get_or_init(|| {
            let plain = self.loss == Loss::Linear && self.weight.is_none();
            let two = plain && self.columns().count() == 3;
            let parts = (self.curve, &self.jacobian[..]);
            two.then(|| separate(&self.graph, self.rows, parts))?
        });
        made.as_ref()
    }

    /// The pass over grids of `shape`, points along x and along y, where there is one.
    pub fn grid(&self, shape: [usize; 2]) -> Option<Arc<GridProgram>> {
        let separated = self.separated()?;
        let mut known = self.grids.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(GridProgram::new(separated, shape, self.engine));
        Some(Arc::clone(known.entry(shape).or_insert_with(made)))
    }

    /// Of each free parameter, the linear one that its partial is a multiple of; none of partials that no
    /// linear one enters. None where they enter otherwise: what a step of these alone makes of the other
    /// partials is then told by no sum.
    pub(crate) fn multiples(&self) -> Option<&[Option<usize>]> {
        let made = self.multiples.get_or_init(|| {
            let g = &self.graph;
            let linear: Vec<usize> = (0..self.n_free).filter(|&l| self.linear[l]).collect();
            let of = |&j: &NodeId| {
                let (mut entering, mut left) = (Vec::new(), vec![j]);
                while let Some(at) = left.pop() {
                    match (&g.node(at).op, &g.node(at).inputs[..]) {
                        (Op::Binary(Binary::Mul | Binary::MulZ), &[a, b]) => left.extend([a, b]),
                        (Op::Unary(Unary::Neg) | Op::Broadcast, &[a]) => left.push(a),
                        _ => {
                            let within = linear.iter().filter(|&&l| depends(g, at, l));
                            entering.extend(within.map(|&l| (l, at == self.params[l])));
                        }
                    }
                }
                match entering[..] {
                    [] => Some(None),
                    [(l, true)] => Some(Some(l)),
                    _ => None,
                }
            };
            self.jacobian.iter().map(of).collect()
        });
        made.as_deref()
    }

    /// The columns of variable projection, where it applies.
    pub fn projection(&self) -> Option<&Projection> {
        let made = self.projection.get_or_init(|| {
            let (mut graph, params) = (self.graph.clone(), &self.params[..self.n_free]);
            let base = self.base?;
            project(
                &mut graph,
                self.rows,
                &self.linear,
                &self.jacobian,
                params,
                base,
            )
        });
        made.as_ref()
    }

    /// Products of `[ψ j…]` and Σ ψ′, for the sandwich of a robust loss; for a linear one
    /// products of `[r j…]`. ψ(u) = u ρ′(u²), u = r/C.
    pub fn influence(&self) -> RowProgram {
        let mut graph = self.graph.clone();
        let g = &mut graph;
        let wide = |g: &mut Graph, x: f64| {
            let x = g.lit(x);
            g.broadcast(x, &[self.rows])
        };
        let c = g.param(2 * self.n_free, &[]);
        let c = g.broadcast(c, &[self.rows]);
        let two = |g: &mut Graph, op: Binary, a: NodeId, b: NodeId| {
            g.binary(op, a, b).expect("over rows")
        };
        let u = two(g, Binary::Div, self.residual, c);
        let z = two(g, Binary::Mul, u, u);
        let one = wide(g, 1.0);
        let (weight, slope) = match self.loss {
            Loss::Linear | Loss::Poisson => (c, one),
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
        };
        let psi = two(g, Binary::Mul, u, weight);
        let products: Vec<NodeId> = self
            .jacobian
            .iter()
            .map(|&j| g.binary(Binary::Mul, psi, j).expect("over rows"))
            .collect();
        RowProgram::compile(&graph, self.rows, &products, &[slope]).with_engine(self.engine)
    }

    /// Outputs `[f, y]`, and 1/σ where rows have one.
    pub fn value(&self) -> &RowProgram {
        self.value.get_or_init(|| {
            let nodes = [self.curve, self.response].into_iter().chain(self.weight);
            let nodes: Vec<NodeId> = nodes.collect();
            RowProgram::compile(&self.graph, self.rows, &nodes, &[])
        })
    }

    /// Outputs `[∂f/∂θ…, f, y]`: the curve itself, not weighted by σ. Reads all columns, but the
    /// values of y do not matter to the others.
    pub fn curve(&self) -> RowProgram {
        let mut graph = self.graph.clone();
        let mut nodes = Vec::new();
        for k in 0..self.n_free {
            let param = graph.param(k, &[]);
            nodes.push(slope(&mut graph, self.curve, param));
        }
        nodes.extend([self.curve, self.response]);
        RowProgram::compile(&graph, self.rows, &nodes, &[])
    }
}

/// ∂y/∂param, with the dims of y.
pub(super) fn slope(g: &mut Graph, y: NodeId, param: NodeId) -> NodeId {
    let one = g.lit(1.0);
    tangent(g, y, &[(param, one)])
}

/// The second derivative of y along `directions`.
fn second_along(g: &mut Graph, y: NodeId, params: &[NodeId], directions: &[NodeId]) -> NodeId {
    let seeds: Vec<(NodeId, NodeId)> = params
        .iter()
        .copied()
        .zip(directions.iter().copied())
        .collect();
    let first = tangent(g, y, &seeds);
    tangent(g, first, &seeds)
}

/// Whether `node` depends on parameter `k`.
pub(super) fn depends(g: &Graph, node: NodeId, k: usize) -> bool {
    let needed = g.needed(&[node]);
    let mut ids = g.node_ids();
    ids.any(|id| needed[id.index()] && g.node(id).op == Op::Param { offset: k })
}
