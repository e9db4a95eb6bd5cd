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

/// A formula in a graph.
struct Recorded<'a, 'g> {
    scope: &'g Scope,
    formula: &'a Formula,
    recorder: Recorder<'a, 'g>,
    rows: DimId,
    curve: NodeId,
    response: NodeId,
    /// What residuals are multiplied by: 1/σ, and the weight of an undone function.
    factors: [Option<NodeId>; 2],
    /// The free parameters, the direction and the scale.
    params: Vec<NodeId>,
}

impl<'a, 'g> Recorded<'a, 'g> {
    fn new(
        scope: &'g Scope,
        formula: &'a Formula,
        (roles, settings): (&'a Roles, &'a [Setting]),
        weighted: bool,
    ) -> Result<Self> {
        let is_free = |s: &&Setting| matches!(s, Setting::Free);
        let p = settings.iter().filter(is_free).count();
        let rows = scope.dim("rows", 1);
        for name in &roles.predictors {
            scope.data(name, &[rows]);
        }
        let y = scope.data(RESPONSE, &[rows]);
        let free: Vec<Value<'_>> = (0..2 * p + 1).map(|k| scope.param(k, &[])).collect();
        let recorder = Recorder {
            scope,
            rows,
            roles,
            settings,
            free: free[..p].to_vec(),
        };
        let curve = recorder.formula(formula)?.broadcast(scope, &[rows]);
        let curve = scope.node(curve);
        let weight = weighted.then(|| scope.node(scope.data(WEIGHT, &[rows])));
        Ok(Recorded {
            scope,
            formula,
            recorder,
            rows,
            curve,
            response: scope.node(y),
            factors: [weight, None],
            params: free.iter().map(|&v| scope.node(v)).collect(),
        })
    }

    /// Makes a curve that is a function of a sum that sum; false where it is none.
    fn undo(&mut self) -> bool {
        let Some(link) = self.scope.with(|g| undo(g, self.curve, self.response)) else {
            return false;
        };
        (self.curve, self.response) = (link.sum, link.response);
        self.factors[1] = Some(link.weight);
        true
    }

    /// The residual of a curve, weighted.
    fn weigh(&self, curve: NodeId) -> NodeId {
        self.scope.with(|g| {
            let r = g.binary(Binary::Sub, curve, self.response);
            let times = |r, &w| g.binary(Binary::Mul, r, w).expect("both over rows");
            let r = r.expect("both over rows");
            self.factors.iter().flatten().fold(r, times)
        })
    }

    /// The residual with linear parameters at 0.
    fn without(&mut self, linear: &[bool], undone: bool) -> Result<NodeId> {
        let scope = self.scope;
        let linear = (0..linear.len()).filter(|&k| linear[k]);
        if undone {
            let zero = scope.node(Value::lit(0.0));
            let none: HashMap<NodeId, NodeId> = linear.map(|k| (self.params[k], zero)).collect();
            let curve = scope.with(|g| g.substitute(&[self.curve], &none)[0]);
            return Ok(self.weigh(curve));
        }
        for k in linear {
            self.recorder.free[k] = Value::lit(0.0);
        }
        let curve = self.recorder.formula(self.formula)?;
        let curve = curve.broadcast(scope, &[self.rows]);
        Ok(self.weigh(scope.node(curve)))
    }
}

/// Which free parameters enter linearly, together, and which not at all.
fn enters(g: &Graph, residual: NodeId, jacobian: &[NodeId]) -> (Vec<bool>, Vec<bool>) {
    let p = jacobian.len();
    let steps = steps(g, residual);
    let mut linear = vec![false; p];
    for k in 0..p {
        let (own, alone) = (jacobian[k], !depends(g, jacobian[k], k));
        let apart = |l: usize| !linear[l] || !depends(g, own, l) && !depends(g, jacobian[l], k);
        let smooth = || !steps.iter().any(|&node| depends(g, node, k));
        linear[k] = depends(g, residual, k) && alone && smooth() && (0..k).all(apart);
    }
    let unused = (0..p).map(|k| !depends(g, residual, k)).collect();
    (linear, unused)
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
        let scope = Scope::new();
        let mut recorded = Recorded::new(&scope, formula, (roles, settings), weighted)?;
        if undoing && !recorded.undo() {
            return Ok(None);
        }
        let residual = recorded.weigh(recorded.curve);
        let p = recorded.recorder.free.len();
        let slope = |k: usize| scope.with(|g| slope(g, residual, recorded.params[k]));
        let jacobian: Vec<NodeId> = (0..p).map(slope).collect();
        let (linear, unused) = scope.with(|g| enters(g, residual, &jacobian));
        let base = match loss == Loss::Linear && linear.contains(&true) {
            true => Some(recorded.without(&linear, undoing)?),
            false => None,
        };
        let Recorded {
            curve,
            response,
            params,
            factors: [weight, _],
            rows,
            ..
        } = recorded;
        let parts = Parts {
            scope: &scope,
            residual,
            curve,
            y: response,
            c: scope.expr(params[2 * p]),
            one: Value::lit(1.0),
        };
        let (weighed, cost) = parts.weighed(loss, &jacobian);
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
            response,
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
            loss => loss.pull(g, u, (z, one)),
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
