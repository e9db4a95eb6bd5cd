//! How standard normal numbers enter the mean of a likelihood linearly, with a matrix that may depend
//! on parameters.

use super::normal::relabelled;
use crate::dist::Real;
use fitzroy_graph::{Binary, DimId, Expr as Value, Node, NodeId, Op, Scope, Unary};

/// A value that is linear in z, apart from what does not depend on z.
enum Form<'g> {
    /// Element k is this factor times z_k; none stands for 1.
    Elements(Option<Value<'g>>),
    /// Row i is Σ_k of this matrix times z_k; its last dim is that of the columns.
    Rows(Value<'g>),
}

/// Searches for the matrix of one z.
pub(super) struct Search<'a, 'g> {
    pub(super) scope: &'g Scope,
    pub(super) z: NodeId,
    /// Whether each node depends on z.
    pub(super) depends: &'a [bool],
    /// The dim of the columns.
    pub(super) columns: DimId,
}

impl<'g> Search<'_, 'g> {
    /// The matrix over `dims` and the columns in front of z; none if `node` is not linear in z.
    pub(super) fn matrix(&self, node: NodeId, dims: &[DimId]) -> Option<Value<'g>> {
        match self.form(node)? {
            Form::Rows(matrix) => Some(matrix.broadcast(self.scope, &self.with_columns(dims))),
            Form::Elements(_) => None,
        }
    }

    fn depends_on_z(&self, node: NodeId) -> bool {
        // Nodes that are newer than the search are made of others that do not depend on z.
        self.depends.get(node.index()) == Some(&true)
    }

    fn with_columns(&self, dims: &[DimId]) -> Vec<DimId> {
        [dims, &[self.columns]].concat()
    }

    fn form(&self, node: NodeId) -> Option<Form<'g>> {
        let scope = self.scope;
        if node == self.z {
            let is_number = scope.with(|g| g.dims(node).is_empty());
            return Some(match is_number {
                true => Form::Rows(Value::lit(1.0).broadcast(scope, &[self.columns])),
                false => Form::Elements(None),
            });
        }
        let n = scope.with(|g| g.node(node).clone());
        let one = |at: usize| self.form(n.inputs[at]);
        let moves = |at: usize| self.depends_on_z(n.inputs[at]);
        match n.op {
            Op::Unary(Unary::Neg) => Some(times(one(0)?, Value::lit(-1.0))),
            Op::Binary(Binary::Add) => self.sum(&n, 1.0),
            Op::Binary(Binary::Sub) => self.sum(&n, -1.0),
            Op::Binary(Binary::Mul) if moves(0) != moves(1) => {
                let (factor, rest) = if moves(0) { (1, 0) } else { (0, 1) };
                let rest = self.lifted(one(rest)?, &n.dims)?;
                Some(times(rest, scope.expr(n.inputs[factor])))
            }
            Op::Binary(Binary::Div) if !moves(1) => {
                let rest = self.lifted(one(0)?, &n.dims)?;
                let divisor = scope.expr(n.inputs[1]).unary(Unary::Recip);
                Some(times(rest, divisor))
            }
            Op::Broadcast => self.lifted(one(0)?, &n.dims),
            Op::Relabel => Some(match one(0)? {
                Form::Elements(None) => Form::Elements(None),
                Form::Elements(Some(factor)) => {
                    let own = scope.with(|g| g.dims(n.inputs[0]).to_vec());
                    let factor = relabelled(scope, factor.broadcast(scope, &own), &n.dims);
                    Form::Elements(Some(factor))
                }
                Form::Rows(matrix) => {
                    Form::Rows(relabelled(scope, matrix, &self.with_columns(&n.dims)))
                }
            }),
            Op::Gather(index) => match one(0)? {
                Form::Rows(matrix) => {
                    let looked_up = matrix.gather(index);
                    let dims = self.with_columns(&n.dims);
                    Some(Form::Rows(looked_up.broadcast(scope, &dims)))
                }
                Form::Elements(_) => None,
            },
            Op::Contract { ref over } if moves(0) != moves(1) && over.len() == 1 => {
                let (matrix, vector) = if moves(0) { (1, 0) } else { (0, 1) };
                self.product(&n, over, (matrix, vector))
            }
            _ => None,
        }
    }

    /// The form of input 0 plus `sign` times input 1.
    fn sum(&self, n: &Node, sign: f64) -> Option<Form<'g>> {
        let sign = Value::lit(sign);
        let one = |at: usize| self.form(n.inputs[at]);
        match [0, 1].map(|at| self.depends_on_z(n.inputs[at])) {
            [true, false] => self.lifted(one(0)?, &n.dims),
            [false, true] => self.lifted(times(one(1)?, sign), &n.dims),
            _ => {
                let a = self.lifted(one(0)?, &n.dims)?;
                let b = self.lifted(one(1)?, &n.dims)?;
                match (a, b) {
                    (Form::Rows(a), Form::Rows(b)) => Some(Form::Rows(a + sign * b)),
                    _ => None,
                }
            }
        }
    }

    /// The form of a matrix, which does not depend on z, times a vector, which does.
    fn product(
        &self,
        n: &Node,
        over: &[DimId],
        (matrix, vector): (usize, usize),
    ) -> Option<Form<'g>> {
        let scope = self.scope;
        let own = scope.with(|g| g.dims(n.inputs[vector]).to_vec());
        let Form::Elements(factor) = self.form(n.inputs[vector])? else {
            return None;
        };
        if own != over {
            return None;
        }
        let full = [&n.dims[..], over].concat();
        let mut matrix = scope.expr(n.inputs[matrix]).broadcast(scope, &full);
        if let Some(factor) = factor {
            matrix = matrix * factor.broadcast(scope, &full);
        }
        let dims = self.with_columns(&n.dims);
        Some(Form::Rows(relabelled(scope, matrix, &dims)))
    }

    /// The form of a value that repeats another to `dims`.
    fn lifted(&self, form: Form<'g>, dims: &[DimId]) -> Option<Form<'g>> {
        match form {
            Form::Rows(matrix) => Some(Form::Rows(
                matrix.broadcast(self.scope, &self.with_columns(dims)),
            )),
            Form::Elements(factor) => (dims.len() == 1).then_some(Form::Elements(factor)),
        }
    }
}

fn times<'g>(form: Form<'g>, by: Value<'g>) -> Form<'g> {
    match form {
        Form::Elements(None) => Form::Elements(Some(by)),
        Form::Elements(Some(factor)) => Form::Elements(Some(factor * by)),
        Form::Rows(matrix) => Form::Rows(matrix * by),
    }
}
