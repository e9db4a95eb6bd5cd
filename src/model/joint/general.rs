//! Linear systems of any square matrix A, by the Cholesky factor L of AᵀA.
//!
//! A⁻¹ b = (L Lᵀ)⁻¹ Aᵀ b loses as many digits as AᵀA is ill-conditioned, twice those of A. Each step of
//! refinement, x + (L Lᵀ)⁻¹ Aᵀ (b − A x), wins back as many as the solution before had right, so that
//! after two the error is that of elimination with pivots as long as AᵀA has a factor (a condition of A up
//! to about 1e7). Slopes pass through the same steps and are as good. ln |det A| is Σ ln Lᵢᵢ, with the
//! digits of AᵀA.

use super::build::Build;
use super::matrix::not_positive_definite;
use crate::Result;
use crate::dist::Real;
use crate::model::ast::Expr;
use fitzroy_graph::{DimId, Expr as Value};

/// Steps of refinement.
const REFINEMENTS: usize = 2;

/// A square matrix with the Cholesky factor of AᵀA.
struct Factored<'e, 'g> {
    matrix: Value<'g>,
    factor: Value<'g>,
    at: &'e Expr,
}

impl<'g> Build<'_, 'g> {
    /// The x with A x = b; further dims of `b` are columns.
    pub(super) fn linear_solve(
        &mut self,
        a: (Value<'g>, &Expr),
        (b, at_b): (Value<'g>, &Expr),
    ) -> Result<Value<'g>> {
        const NAME: &str = "linear_solve";
        let a = self.factored(NAME, a)?;
        // Tells of dims that do not fit before anything is multiplied.
        let b = self.fit_list(b, &[a.matrix.dims()[0]]);
        self.solve(NAME, (a.factor, a.at), (b, at_b), &[])?;
        self.solution(&a, b)
    }

    /// A⁻¹.
    pub(super) fn inverse_matrix(&mut self, a: (Value<'g>, &Expr)) -> Result<Value<'g>> {
        let a = self.factored("inverse", a)?;
        let rows = a.matrix.dims()[0];
        let one = self.identity_over(rows);
        let inverse = self.solution(&a, one)?;
        Ok(self.in_order(inverse))
    }

    /// ln |det A|.
    pub(super) fn log_abs_det(&mut self, a: (Value<'g>, &Expr)) -> Result<Value<'g>> {
        let a = self.factored("log_abs_det", a)?;
        let l = self.scope.node(a.factor);
        let diagonal = self.scope.expr(self.scope.with(|g| g.diagonal(l)));
        Ok(diagonal.ln().sum_all())
    }

    fn factored<'e>(
        &mut self,
        name: &str,
        (x, at): (Value<'g>, &'e Expr),
    ) -> Result<Factored<'e, 'g>> {
        let matrix = self.square(x, at, name)?;
        let dims = matrix.dims();
        let square = self.in_order(self.turned_product(matrix, matrix)?);
        let k = self.scope.with(|g| g.size(dims[0]));
        let known = self.scope.known(square);
        if known.is_some_and(|m| not_positive_definite(&m, k).is_some()) {
            let message = format!("`{at}` is singular, or so nearly that `{name}` has no meaning");
            return Err(self.model.error(at.span, message));
        }
        let node = self.scope.node(square);
        let factor = self.scope.expr(self.scope.with(|g| g.cholesky(node)));
        Ok(Factored { matrix, factor, at })
    }

    /// Aᵀ B, where A is over a dim and its twin, and B over the dim and others.
    fn turned_product(&self, a: Value<'g>, b: Value<'g>) -> Result<Value<'g>> {
        let rows = a.dims()[0];
        let sum = self.primed(rows, 2);
        let left = self.relabel(a, &[sum, rows]);
        let others: Vec<DimId> = b.dims().into_iter().filter(|&d| d != rows).collect();
        let first: Vec<DimId> = [rows].into_iter().chain(others.iter().copied()).collect();
        let renamed: Vec<DimId> = [sum].into_iter().chain(others.iter().copied()).collect();
        let right = self.relabel(b.broadcast(self.scope, &first), &renamed);
        let (left, right) = (self.scope.node(left), self.scope.node(right));
        Ok(self
            .scope
            .expr(self.scope.with(|g| g.contract(left, right, &[sum]))?))
    }

    fn solution(&self, a: &Factored<'_, 'g>, b: Value<'g>) -> Result<Value<'g>> {
        let step = |residual: Value<'g>| {
            let right = self.turned_product(a.matrix, residual)?;
            let both = [false, true];
            self.solve("linear_solve", (a.factor, a.at), (right, a.at), &both)
        };
        let mut x = step(b)?;
        for _ in 0..REFINEMENTS {
            let residual = b - self.plain_product(a.matrix, x)?;
            x = x + step(residual)?;
        }
        Ok(x.broadcast(self.scope, &b.dims()))
    }

    /// A X, where A is over a dim and its twin, and X over the dim and others.
    fn plain_product(&self, a: Value<'g>, x: Value<'g>) -> Result<Value<'g>> {
        let rows = a.dims()[0];
        let sum = self.primed(rows, 2);
        let left = self.relabel(a, &[rows, sum]);
        let dims = x.dims().into_iter();
        let renamed: Vec<DimId> = dims.map(|d| if d == rows { sum } else { d }).collect();
        let right = self.relabel(x, &renamed);
        let (left, right) = (self.scope.node(left), self.scope.node(right));
        Ok(self
            .scope
            .expr(self.scope.with(|g| g.contract(left, right, &[sum]))?))
    }
}
