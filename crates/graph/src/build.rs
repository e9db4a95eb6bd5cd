//! Elementwise construction: shape checks, constant folding, and the moving of work to where it
//! is cheapest.
//!
//! A *lift* is a node that only repeats elements: a broadcast, or a lookup by an index. Functions
//! of lifts are computed before the lift (once per group instead of once per row), and products
//! keep their lifted factor apart, so that a sum can take it out.

use crate::graph::{DimId, Graph, IndexId, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::{Error, ErrorKind, Result};

/// How a lift repeats.
#[derive(Clone, Copy, PartialEq)]
enum Lift {
    Broadcast,
    Gather(IndexId),
}

impl Graph {
    /// Repeats `a` to `dims`, which must hold all of its dims; the order may change.
    #[track_caller]
    pub fn broadcast(&mut self, a: NodeId, dims: &[DimId]) -> NodeId {
        if self.dims(a) == dims {
            return a;
        }
        let inside = self.dims(a).iter().all(|d| dims.contains(d));
        assert!(inside, "broadcast needs a superset of dims");
        let core = match self.node(a).op {
            Op::Broadcast => self.node(a).inputs[0],
            _ => a,
        };
        if self.dims(core) == dims {
            return core;
        }
        self.push(Op::Broadcast, vec![core], dims.to_vec())
    }

    /// The dims that `a` and `b` combine to: those of one, which must hold those of the other.
    ///
    /// # Errors
    /// When neither holds the other's dims; the message names both.
    pub fn combined_dims(&self, a: NodeId, b: NodeId) -> Result<Vec<DimId>> {
        let (da, db) = (self.dims(a), self.dims(b));
        if db.iter().all(|d| da.contains(d)) {
            return Ok(da.to_vec());
        }
        if da.iter().all(|d| db.contains(d)) {
            return Ok(db.to_vec());
        }
        let (a, b) = (self.describe_dims(da), self.describe_dims(db));
        Err(Error::new(
            ErrorKind::Dims,
            format!("dims {a} and {b} do not combine"),
        ))
    }

    /// A function of one argument.
    pub fn unary(&mut self, op: Unary, a: NodeId) -> NodeId {
        if let Some(x) = self.constant(a) {
            let dims = self.dims(a).to_vec();
            let folded = self.lit(op.eval(x));
            return self.broadcast(folded, &dims);
        }
        if let Some(simple) = self.simplify_unary(op, a) {
            return simple;
        }
        if let Some(hoisted) = self.hoist(&[a], |g, v| g.unary(op, v[0])) {
            return hoisted;
        }
        let dims = self.dims(a).to_vec();
        self.push(Op::Unary(op), vec![a], dims)
    }

    /// The input of `a` if `a` is `op` of something.
    fn under(&self, op: Unary, a: NodeId) -> Option<NodeId> {
        let node = self.node(a);
        (node.op == Op::Unary(op)).then(|| node.inputs[0])
    }

    fn is_binary(&self, op: Binary, a: NodeId) -> Option<(NodeId, NodeId)> {
        let node = self.node(a);
        (node.op == Op::Binary(op)).then(|| (node.inputs[0], node.inputs[1]))
    }

    fn simplify_unary(&mut self, op: Unary, a: NodeId) -> Option<NodeId> {
        match op {
            Unary::Neg => {
                if let Some(x) = self.under(Unary::Neg, a) {
                    return Some(x);
                }
                if let Some((x, y)) = self.is_binary(Binary::Sub, a) {
                    return Some(self.same(Binary::Sub, y, x));
                }
                // The sign goes into the lifted factor.
                let (x, y) = self.is_binary(Binary::Mul, a)?;
                let lifted = if self.lift(x).is_some() {
                    (x, y)
                } else {
                    (y, x)
                };
                self.lift(lifted.0)?;
                let minus = self.unary(Unary::Neg, lifted.0);
                self.lift(minus)?;
                Some(self.same(Binary::Mul, minus, lifted.1))
            }
            Unary::Recip => {
                if let Some(x) = self.under(Unary::Recip, a) {
                    return Some(x);
                }
                let x = self.under(Unary::Exp, a)?;
                let minus = self.unary(Unary::Neg, x);
                Some(self.unary(Unary::Exp, minus))
            }
            Unary::Log => {
                if let Some(x) = self.under(Unary::Exp, a) {
                    return Some(x);
                }
                if let Some(x) = self.under(Unary::InvLogit, a) {
                    return Some(self.minus_softplus(x, true));
                }
                if let Some(x) = self.under(Unary::Recip, a) {
                    let log = self.unary(Unary::Log, x);
                    return Some(self.unary(Unary::Neg, log));
                }
                let (one, p) = self.is_binary(Binary::Sub, a)?;
                let x = self.under(Unary::InvLogit, p)?;
                (self.constant(one) == Some(1.0)).then(|| self.minus_softplus(x, false))
            }
            Unary::Log1p => {
                let minus = self.under(Unary::Neg, a)?;
                let x = self.under(Unary::InvLogit, minus)?;
                Some(self.minus_softplus(x, false))
            }
            _ => None,
        }
    }

    /// −ln(1 + eˣ), or −ln(1 + e⁻ˣ) if `flip`.
    fn minus_softplus(&mut self, x: NodeId, flip: bool) -> NodeId {
        let x = if flip { self.unary(Unary::Neg, x) } else { x };
        let soft = self.unary(Unary::Softplus, x);
        self.unary(Unary::Neg, soft)
    }

    /// A function of two arguments, whose dims must combine.
    ///
    /// # Errors
    /// When neither argument's dims hold the other's.
    pub fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> Result<NodeId> {
        let dims = self.combined_dims(a, b)?;
        let (a, b) = (self.broadcast(a, &dims), self.broadcast(b, &dims));
        Ok(self.same(op, a, b))
    }

    /// As [`Graph::binary`], for arguments that are known to combine.
    #[track_caller]
    pub(crate) fn bin(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.binary(op, a, b).expect("the dims combine")
    }

    /// A function of two arguments of the same dims.
    fn same(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        debug_assert_eq!(self.dims(a), self.dims(b));
        let dims = self.dims(a).to_vec();
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            let folded = self.lit(op.eval(x, y));
            return self.broadcast(folded, &dims);
        }
        if let Some(simple) = self.simplify_binary(op, a, b) {
            return simple;
        }
        if let Some(hoisted) = self.hoist(&[a, b], |g, v| g.bin(op, v[0], v[1])) {
            return hoisted;
        }
        if op == Binary::Mul {
            return self.product(a, b);
        }
        let (a, b) = if op.commutes() && b < a {
            (b, a)
        } else {
            (a, b)
        };
        self.push(Op::Binary(op), vec![a, b], dims)
    }

    fn simplify_binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> Option<NodeId> {
        let (ca, cb) = (self.constant(a), self.constant(b));
        match op {
            Binary::Add => {
                if ca == Some(0.0) {
                    return Some(b);
                }
                if cb == Some(0.0) {
                    return Some(a);
                }
                if a == b {
                    let two = self.lit(2.0);
                    return Some(self.bin(Binary::Mul, two, a));
                }
                if let Some(x) = self.under(Unary::Neg, b) {
                    return Some(self.same(Binary::Sub, a, x));
                }
                let x = self.under(Unary::Neg, a)?;
                Some(self.same(Binary::Sub, b, x))
            }
            Binary::Sub => {
                if cb == Some(0.0) {
                    return Some(a);
                }
                if ca == Some(0.0) {
                    return Some(self.unary(Unary::Neg, b));
                }
                let x = self.under(Unary::Neg, b)?;
                Some(self.same(Binary::Add, a, x))
            }
            Binary::Mul => self
                .simplify_product(a, b, ca)
                .or_else(|| self.simplify_product(b, a, cb)),
            Binary::Div => {
                if cb == Some(1.0) {
                    return Some(a);
                }
                if ca == Some(1.0) {
                    return Some(self.unary(Unary::Recip, b));
                }
                self.lift(b)?;
                let inverse = self.unary(Unary::Recip, b);
                Some(self.same(Binary::Mul, a, inverse))
            }
            Binary::Pow => self.simplify_power(a, cb?),
            // Asks whether it is NaN; what depends on it then is NaN anyway.
            Binary::Eq if a == b && self.varies(a) => {
                let (dims, one) = (self.dims(a).to_vec(), self.lit(1.0));
                Some(self.broadcast(one, &dims))
            }
            // Support checks on what is positive by construction.
            Binary::Lt | Binary::Le => {
                let holds = (ca.is_some_and(|c| c <= 0.0) && self.is_positive(b))
                    || (cb.is_some_and(|c| c >= 1.0) && self.is_below_one(a));
                let fails = cb.is_some_and(|c| c <= 0.0) && self.is_positive(a);
                if !holds && !fails {
                    return None;
                }
                let dims = self.dims(b).to_vec();
                let known = self.lit(f64::from(u8::from(holds)));
                Some(self.broadcast(known, &dims))
            }
            _ => None,
        }
    }

    /// True when every element is positive for all parameters, underflow aside.
    pub fn is_positive(&self, a: NodeId) -> bool {
        let node = self.node(a);
        let input = |k: usize| self.is_positive(node.inputs[k]);
        match node.op {
            Op::Const(bits) => f64::from_bits(bits) > 0.0,
            Op::Unary(Unary::Exp | Unary::InvLogit | Unary::Softplus | Unary::Cosh) => true,
            Op::Unary(Unary::Sqrt | Unary::Recip) => input(0),
            Op::Binary(Binary::Add | Binary::Mul | Binary::Div) => input(0) && input(1),
            Op::Binary(Binary::Sub) => {
                self.constant(node.inputs[0]).is_some_and(|c| c >= 1.0)
                    && self.is_below_one(node.inputs[1])
            }
            Op::Broadcast | Op::Gather(_) | Op::Relabel | Op::Slice { .. } => input(0),
            _ => false,
        }
    }

    /// True when every element is below 1 for all parameters, rounding aside.
    fn is_below_one(&self, a: NodeId) -> bool {
        let node = self.node(a);
        match node.op {
            Op::Const(bits) => f64::from_bits(bits) < 1.0,
            Op::Unary(Unary::InvLogit) => true,
            Op::Broadcast | Op::Gather(_) | Op::Relabel | Op::Slice { .. } => {
                self.is_below_one(node.inputs[0])
            }
            _ => false,
        }
    }

    /// c·x for a constant c, and (−x)·y.
    fn simplify_product(&mut self, a: NodeId, b: NodeId, ca: Option<f64>) -> Option<NodeId> {
        if ca == Some(1.0) {
            return Some(b);
        }
        if ca == Some(-1.0) {
            return Some(self.unary(Unary::Neg, b));
        }
        let x = self.under(Unary::Neg, a)?;
        let product = self.same(Binary::Mul, x, b);
        Some(self.unary(Unary::Neg, product))
    }

    fn simplify_power(&mut self, a: NodeId, exponent: f64) -> Option<NodeId> {
        if exponent == 1.0 {
            Some(a)
        } else if exponent == 2.0 {
            Some(self.same(Binary::Mul, a, a))
        } else if exponent == 3.0 {
            let square = self.same(Binary::Mul, a, a);
            Some(self.same(Binary::Mul, square, a))
        } else if exponent == -1.0 {
            Some(self.unary(Unary::Recip, a))
        } else if exponent == -2.0 {
            let square = self.same(Binary::Mul, a, a);
            Some(self.unary(Unary::Recip, square))
        } else if exponent == 0.5 {
            Some(self.unary(Unary::Sqrt, a))
        } else {
            None
        }
    }

    /// A product with its lifted factor first: `(u·x)·(v·y)` becomes `(u·v)·(x·y)`.
    fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let dims = self.dims(a).to_vec();
        let (lift_a, rest_a) = self.split_product(a);
        let (lift_b, rest_b) = self.split_product(b);
        if rest_a.is_none() && rest_b.is_none() {
            // Two lifts that do not combine.
            return self.ordered_product(a, b, dims);
        }
        let lift = match (lift_a, lift_b) {
            (Some(u), Some(v)) => {
                let both = self.same(Binary::Mul, u, v);
                if self.lift(both).is_none() {
                    return self.ordered_product(a, b, dims);
                }
                both
            }
            (Some(u), None) | (None, Some(u)) => u,
            (None, None) => return self.ordered_product(a, b, dims),
        };
        let rest = match (rest_a, rest_b) {
            (Some(x), Some(y)) => self.same(Binary::Mul, x, y),
            (Some(x), None) | (None, Some(x)) => x,
            (None, None) => return lift,
        };
        match self.constant(lift) {
            Some(1.0) => rest,
            _ => self.push(Op::Binary(Binary::Mul), vec![lift, rest], dims),
        }
    }

    fn ordered_product(&mut self, a: NodeId, b: NodeId, dims: Vec<DimId>) -> NodeId {
        let (a, b) = if b < a { (b, a) } else { (a, b) };
        self.push(Op::Binary(Binary::Mul), vec![a, b], dims)
    }

    /// The lifted factor of a product, and the rest.
    pub(crate) fn split_product(&self, a: NodeId) -> (Option<NodeId>, Option<NodeId>) {
        if self.lift(a).is_some() {
            return (Some(a), None);
        }
        match self.is_binary(Binary::Mul, a) {
            Some((x, y)) if self.lift(x).is_some() => (Some(x), Some(y)),
            Some((x, y)) if self.lift(y).is_some() => (Some(y), Some(x)),
            _ => (None, Some(a)),
        }
    }

    fn lift(&self, a: NodeId) -> Option<Lift> {
        match self.node(a).op {
            Op::Broadcast => Some(Lift::Broadcast),
            Op::Gather(index) => Some(Lift::Gather(index)),
            _ => None,
        }
    }

    /// Builds an elementwise function before the lifts of its inputs instead of after, where that
    /// is the same and smaller. All inputs have the same dims.
    fn hoist(
        &mut self,
        inputs: &[NodeId],
        build: impl FnOnce(&mut Graph, &[NodeId]) -> NodeId,
    ) -> Option<NodeId> {
        let dims = self.dims(inputs[0]).to_vec();
        let lifts: Vec<Lift> = inputs
            .iter()
            .map(|&i| self.lift(i))
            .collect::<Option<_>>()?;
        let cores: Vec<NodeId> = inputs.iter().map(|&i| self.node(i).inputs[0]).collect();
        let gathered = lifts.iter().position(|l| matches!(l, Lift::Gather(_)));
        let widest = match gathered {
            Some(at) => at,
            None => (0..cores.len()).max_by_key(|&k| self.dims(cores[k]).len())?,
        };
        let core_dims = self.dims(cores[widest]).to_vec();
        let fits = |g: &Graph, k: usize| match lifts[k] {
            Lift::Broadcast => {
                let inside = g.dims(cores[k]).iter().all(|d| core_dims.contains(d));
                inside && !g.reads_target_only_after(lifts[widest], cores[k])
            }
            other => other == lifts[widest] && g.dims(cores[k]) == core_dims,
        };
        if !(0..cores.len()).all(|k| fits(self, k)) || self.len_of(&core_dims) > self.len_of(&dims)
        {
            return None;
        }
        let cores: Vec<NodeId> = cores
            .iter()
            .map(|&c| self.broadcast(c, &core_dims))
            .collect();
        let inner = build(self, &cores);
        Some(match lifts[widest] {
            Lift::Broadcast => self.broadcast(inner, &dims),
            Lift::Gather(index) => self.gather(inner, index),
        })
    }

    /// True when `core`, broadcast beside a lookup, uses the target dim of that lookup: it then
    /// means another axis than the one looked up.
    fn reads_target_only_after(&self, lift: Lift, core: NodeId) -> bool {
        match lift {
            Lift::Gather(index) => self
                .dims(core)
                .contains(&self.indices[index.index()].target),
            Lift::Broadcast => false,
        }
    }

    /// `a` where `c` is not 0, else `b`.
    ///
    /// # Errors
    /// When the dims do not combine.
    pub fn select(&mut self, c: NodeId, a: NodeId, b: NodeId) -> Result<NodeId> {
        let dims = self.combined_dims(a, b)?;
        let widest = self.broadcast(a, &dims);
        let dims = self.combined_dims(c, widest)?;
        let v = [c, a, b].map(|x| self.broadcast(x, &dims));
        if let Some(known) = self.constant(c) {
            return Ok(if known != 0.0 { v[1] } else { v[2] });
        }
        if a == b {
            return Ok(v[1]);
        }
        let rebuild = |g: &mut Graph, v: &[NodeId]| {
            g.select(v[0], v[1], v[2])
                .expect("the dims combined before")
        };
        if let Some(hoisted) = self.hoist(&v, rebuild) {
            return Ok(hoisted);
        }
        Ok(self.push(Op::Select, v.to_vec(), dims))
    }
}
