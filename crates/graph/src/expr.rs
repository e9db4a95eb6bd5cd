//! Expressions: graph nodes that look like numbers, so that a formula written over
//! [`Real`] records itself.

use crate::graph::{Bindings, DimId, Graph, IndexId, NodeId};
use crate::op::{Binary, Unary};
use crate::{Real, Result};
use std::cell::{Cell, RefCell};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A graph under construction, to which expressions append.
///
/// ```
/// use fitzroy_graph::{Bindings, Real, Scope, evaluate, gradient};
/// let scope = Scope::new();
/// let obs = scope.dim("obs", 3);
/// let y = scope.data("y", &[obs]);
/// let mu = scope.param(0, &[]);
/// let z = y - mu;
/// let total = (z * z).sum_all();
/// let node = scope.node(total);
/// let mut graph = scope.finish();
/// let slope = gradient(&mut graph, node)[0].adjoint;
/// let bindings = Bindings { data: vec![vec![1.0, 2.0, 4.0]], indices: vec![] };
/// let out = evaluate(&graph, &bindings, &[1.0], &[node, slope]);
/// assert_eq!(out, [[10.0], [-8.0]]);
/// ```
#[derive(Debug, Default)]
pub struct Scope {
    graph: RefCell<Graph>,
    bindings: RefCell<Bindings>,
    trust_support: Cell<bool>,
}

/// A node of a [`Scope`], or a constant that has not met one yet.
#[derive(Clone, Copy, Debug)]
pub struct Expr<'g>(Repr<'g>);

#[derive(Clone, Copy, Debug)]
enum Repr<'g> {
    Lit(f64),
    Node(&'g Scope, NodeId),
}

impl Scope {
    /// An empty scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// The graph, complete.
    pub fn finish(self) -> Graph {
        self.graph.into_inner()
    }

    /// Works on the graph itself, for what expressions do not offer.
    pub fn with<T>(&self, f: impl FnOnce(&mut Graph) -> T) -> T {
        f(&mut self.graph.borrow_mut())
    }

    /// The same with the arrays that were given.
    pub(crate) fn with_bound<T>(&self, f: impl FnOnce(&mut Graph, &Bindings) -> T) -> T {
        f(&mut self.graph.borrow_mut(), &self.bindings.borrow())
    }

    /// While on, `c.select(x, −∞)` and `c.select(−∞, x)` are x: the support has been checked
    /// elsewhere, by data checks or by the transform of a parameter. Returns the former setting.
    pub fn trust_support(&self, on: bool) -> bool {
        self.trust_support.replace(on)
    }

    /// See [`Graph::dim`].
    pub fn dim(&self, name: &str, size: usize) -> DimId {
        self.with(|g| g.dim(name, size))
    }

    /// See [`Graph::param`].
    pub fn param(&self, offset: usize, dims: &[DimId]) -> Expr<'_> {
        self.expr(self.with(|g| g.param(offset, dims)))
    }

    /// See [`Graph::data`].
    pub fn data(&self, name: &str, dims: &[DimId]) -> Expr<'_> {
        self.expr(self.with(|g| g.data(name, dims)))
    }

    /// A real array with its elements, row-major. Conditions on it are decided at once.
    ///
    /// # Panics
    /// When the number of elements is not that of the dims.
    #[track_caller]
    pub fn bound_data(&self, name: &str, dims: &[DimId], values: &[f64]) -> Expr<'_> {
        assert_eq!(
            values.len(),
            self.with(|g| g.len_of(dims)),
            "as many elements as the dims"
        );
        let out = self.data(name, dims);
        let mut bindings = self.bindings.borrow_mut();
        if bindings.data.len() < self.with(|g| g.data.len()) {
            bindings.data.push(values.to_vec());
        }
        out
    }

    /// An index array with its 0-based positions.
    pub fn bound_index(
        &self,
        name: &str,
        rows: DimId,
        target: DimId,
        positions: &[u32],
    ) -> IndexId {
        let out = self.index(name, rows, target);
        let mut bindings = self.bindings.borrow_mut();
        if bindings.indices.len() < self.with(|g| g.indices.len()) {
            bindings.indices.push(positions.to_vec());
        }
        out
    }

    /// The positions of an index that was given with them.
    ///
    /// # Panics
    /// When it was declared without.
    pub fn index_positions(&self, index: IndexId) -> Vec<u32> {
        self.bindings.borrow().indices[index.index()].clone()
    }

    /// The graph, complete, and the arrays that were given with their elements.
    pub fn finish_bound(self) -> (Graph, Bindings) {
        (self.graph.into_inner(), self.bindings.into_inner())
    }

    /// The elements of an expression that does not vary; `None` where it does.
    ///
    /// # Panics
    /// When an array it needs was declared without its elements.
    pub fn known(&self, expr: Expr<'_>) -> Option<Vec<f64>> {
        let node = self.node(expr);
        let graph = self.graph.borrow();
        if graph.varies(node) {
            return None;
        }
        let params = vec![0.0; graph.n_params()];
        crate::evaluate(&graph, &self.bindings.borrow(), &params, &[node]).pop()
    }

    /// What a condition comes to, where it is the same for all elements and known.
    fn decided(&self, condition: Expr<'_>) -> Option<bool> {
        let known = {
            let (graph, bindings) = (self.graph.borrow(), self.bindings.borrow());
            graph.data.len() == bindings.data.len() && graph.indices.len() == bindings.indices.len()
        };
        let values = if known {
            self.known(condition)?
        } else {
            return None;
        };
        let first = *values.first()? != 0.0;
        values.iter().all(|&v| (v != 0.0) == first).then_some(first)
    }

    /// See [`Graph::index`].
    pub fn index(&self, name: &str, rows: DimId, target: DimId) -> IndexId {
        self.with(|g| g.index(name, rows, target))
    }

    /// The expression of a node.
    pub fn expr(&self, node: NodeId) -> Expr<'_> {
        Expr(Repr::Node(self, node))
    }

    /// The node of an expression.
    pub fn node(&self, expr: Expr<'_>) -> NodeId {
        match expr.0 {
            Repr::Lit(x) => self.with(|g| g.lit(x)),
            Repr::Node(_, node) => node,
        }
    }
}

impl<'g> Expr<'g> {
    fn scope(self) -> Option<&'g Scope> {
        match self.0 {
            Repr::Lit(_) => None,
            Repr::Node(scope, _) => Some(scope),
        }
    }

    /// Its value, if it is a known constant.
    pub fn constant(self) -> Option<f64> {
        match self.0 {
            Repr::Lit(x) => Some(x),
            Repr::Node(scope, node) => scope.with(|g| g.constant(node)),
        }
    }

    /// Its dims; none for a constant.
    pub fn dims(self) -> Vec<DimId> {
        match self.0 {
            Repr::Lit(_) => vec![],
            Repr::Node(scope, node) => scope.with(|g| g.dims(node).to_vec()),
        }
    }

    fn map(self, f: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> Self {
        match self.0 {
            Repr::Lit(_) => self,
            Repr::Node(scope, node) => scope.expr(scope.with(|g| f(g, node))),
        }
    }

    /// A function of one argument.
    pub fn unary(self, op: Unary) -> Self {
        match self.0 {
            Repr::Lit(x) => Self::lit(op.eval(x)),
            Repr::Node(..) => self.map(|g, node| g.unary(op, node)),
        }
    }

    /// A function of two arguments.
    ///
    /// # Errors
    /// When their dims do not combine.
    pub fn try_binary(self, op: Binary, other: Self) -> Result<Self> {
        let Some(scope) = self.scope().or(other.scope()) else {
            let (Repr::Lit(x), Repr::Lit(y)) = (self.0, other.0) else {
                unreachable!("an expression without a scope is a constant")
            };
            return Ok(Self::lit(op.eval(x, y)));
        };
        let (a, b) = (scope.node(self), scope.node(other));
        Ok(scope.expr(scope.with(|g| g.binary(op, a, b))?))
    }

    /// As [`Expr::try_binary`]; where neither has all dims of the other, each element of one meets each of
    /// the other. Formulas of distributions are written so: `Gamma(a[g], b[h])` of a variable over `[g, h]`.
    fn binary(self, op: Binary, other: Self) -> Self {
        let out = self.try_binary(op, other).or_else(|_| {
            let [a, b] = Self::together([self, other]);
            a.try_binary(op, b)
        });
        out.expect("arguments over the same dims combine")
    }

    /// Each of `values` repeated to the dims of all.
    fn together<const N: usize>(values: [Self; N]) -> [Self; N] {
        let Some(scope) = values.iter().find_map(|v| v.scope()) else {
            return values;
        };
        let all = Self::dims_of_all(&values);
        values.map(|v| v.broadcast(scope, &all))
    }

    /// The dims of all `values`, in the order in which they are met.
    pub fn dims_of_all(values: &[Self]) -> Vec<DimId> {
        let mut all: Vec<DimId> = Vec::new();
        for dim in values.iter().flat_map(|v| v.dims()) {
            if !all.contains(&dim) {
                all.push(dim);
            }
        }
        all
    }

    /// `yes` where this is not 0, else `no`.
    ///
    /// # Errors
    /// When the dims do not combine.
    pub fn try_select(self, yes: Self, no: Self) -> Result<Self> {
        if let Some(known) = self.constant() {
            let dims_agree = self.dims().is_empty();
            if dims_agree {
                return Ok(if known != 0.0 { yes } else { no });
            }
        }
        let scope = self
            .scope()
            .expect("a constant condition was decided above");
        if scope.trust_support.get() {
            if no.constant() == Some(f64::NEG_INFINITY) {
                return Ok(yes);
            }
            if yes.constant() == Some(f64::NEG_INFINITY) {
                return Ok(no);
            }
        }
        let (c, a, b) = (scope.node(self), scope.node(yes), scope.node(no));
        if let Some(known) = scope.decided(self) {
            let dims = scope.with(|g| {
                let both = g.combined_dims(a, b)?;
                let widest = g.broadcast(a, &both);
                g.combined_dims(c, widest)
            })?;
            let taken = if known { yes } else { no };
            return Ok(taken.broadcast(scope, &dims));
        }
        Ok(scope.expr(scope.with(|g| g.select(c, a, b))?))
    }

    /// This value with known slopes: pairs of an x and ∂/∂x. See [`Graph::with_slopes`].
    #[track_caller]
    pub fn with_slopes(self, slopes: &[(Self, Self)]) -> Self {
        let Repr::Node(scope, value) = self.0 else {
            return self;
        };
        let nodes = slopes.iter().map(|(x, s)| (scope.node(*x), scope.node(*s)));
        let nodes: Vec<_> = nodes.collect();
        scope.expr(scope.with(|g| g.with_slopes(value, &nodes)))
    }

    /// Repeats to `dims`, a superset of its own. A constant stays one.
    #[track_caller]
    pub fn broadcast(self, scope: &'g Scope, dims: &[DimId]) -> Self {
        let node = scope.node(self);
        scope.expr(scope.with(|g| g.broadcast(node, dims)))
    }

    /// Σ over all dims.
    pub fn sum_all(self) -> Self {
        self.map(|g, node| g.sum_all(node))
    }

    /// Σ over `over`.
    #[track_caller]
    pub fn sum_over(self, over: &[DimId]) -> Self {
        self.map(|g, node| g.sum(node, over))
    }

    /// Looks it up by an index.
    #[track_caller]
    pub fn gather(self, index: IndexId) -> Self {
        self.map(|g, node| g.gather(node, index))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<'g> $trait for Expr<'g> {
            type Output = Expr<'g>;
            #[track_caller]
            fn $method(self, other: Expr<'g>) -> Expr<'g> {
                self.binary(Binary::$op, other)
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

impl<'g> Neg for Expr<'g> {
    type Output = Expr<'g>;
    fn neg(self) -> Expr<'g> {
        self.unary(Unary::Neg)
    }
}

macro_rules! functions {
    ($($method:ident $op:ident),*) => {$(
        fn $method(self) -> Self { self.unary(Unary::$op) }
    )*};
}
macro_rules! functions_of_two {
    ($($method:ident $op:ident),*) => {$(
        #[track_caller]
        fn $method(self, y: Self) -> Self { self.binary(Binary::$op, y) }
    )*};
}

impl<'g> Real for Expr<'g> {
    fn lit(x: f64) -> Self {
        Expr(Repr::Lit(x))
    }
    functions!(
        exp Exp, ln Log, ln_1p Log1p, exp_m1 Expm1, sqrt Sqrt, abs Abs, sin Sin, cos Cos,
        tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh, tanh Tanh, erf Erf,
        erfc Erfc, erfcx Erfcx, log_ndtr LogNdtr, lgamma Lgamma, digamma Digamma, log_i0 LogI0,
        inv_logit InvLogit, softplus Softplus, floor Floor
    );
    functions_of_two!(
        powf Pow, min Min, max Max, log_add_exp LogAddExp, lt Lt, le Le, equals Eq
    );
    fn select(self, yes: Self, no: Self) -> Self {
        let out = self.try_select(yes, no).or_else(|_| {
            let [c, a, b] = Self::together([self, yes, no]);
            c.try_select(a, b)
        });
        out.expect("arguments over the same dims combine")
    }
}
