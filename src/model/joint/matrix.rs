//! Functions of matrices as wholes: factors, solves, determinants, products.
//!
//! A square matrix has a dim and its twin, `k` and `k'`, in this order: rows, then columns.

use super::build::Build;
use crate::Result;
use crate::dist::{Real, cholesky};
use crate::model::ast::{Call, Expr, ExprKind, Span};
use fitzroy_graph::{DimId, Expr as Value, Op};

/// What is wrong with a `k` by `k` matrix as a covariance, as the end of a sentence about it.
pub(crate) fn not_positive_definite(m: &[f64], k: usize) -> Option<String> {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (a.abs() + b.abs());
    let place = (0..k * k).find(|c| !near(m[*c], m[(c % k) * k + c / k]));
    if let Some(c) = place {
        let (i, j) = (c / k, c % k);
        return Some(format!(
            "must be symmetric, but element [{i}, {j}] is {} and [{j}, {i}] is {}",
            m[i * k + j],
            m[j * k + i]
        ));
    }
    let factor = cholesky(m, k);
    let row = (0..k).find(|i| !(factor[i * k + i] > 0.0))?;
    let before = &factor[row * k..row * k + row];
    let pivot = m[row * k + row] - before.iter().map(|l| l * l).sum::<f64>();
    Some(format!(
        "is not positive definite: pivot {row} of {k}, counted from 0, is {pivot}, and all must be \
         above 0; look for equal rows, or add a small number to the diagonal"
    ))
}

impl<'g> Build<'_, 'g> {
    /// The value of a call of a function of matrices, with its arguments in order.
    pub(super) fn matrix_function(&mut self, call: &Call, given: &[&Expr]) -> Result<Value<'g>> {
        let name = call.name.text.as_str();
        match name {
            "identity" => return Ok(self.identity(given[0])),
            "positions" => return Ok(self.positions_in(given[0])),
            _ => {}
        }
        let x = self.value(given[0])?;
        if let [_, second] = given {
            let y = self.value(second)?;
            let (l, y) = ((x, given[0]), (y, *second));
            return match name {
                "outer" => self.outer_product(l, y, call.span),
                "solve_lower" => self.solve(name, l, y, &[false]),
                "solve_upper" => {
                    let lower = self.transposed(self.square(l.0, l.1, name)?);
                    self.solve(name, (lower, l.1), y, &[true])
                }
                "cho_solve" => self.solve(name, l, y, &[false, true]),
                "linear_solve" => self.linear_solve(l, y),
                other => panic!("function `{other}` is in the table and has no meaning"),
            };
        }
        match name {
            "transpose" => self.transpose(x, given[0]),
            "diag" => self.diag(x, given[0]),
            "inverse" => self.inverse_matrix((x, given[0])),
            "log_abs_det" => self.log_abs_det((x, given[0])),
            _ => {
                let square = self.square(x, given[0], name)?;
                if matches!(name, "cholesky" | "log_det") {
                    self.refuse_indefinite(square, given[0])?;
                }
                Ok(self.of_square(name, square))
            }
        }
    }

    fn of_square(&mut self, name: &str, x: Value<'g>) -> Value<'g> {
        let node = self.scope.node(x);
        let factor = |b: &Self| match b.factors.get(&node) {
            Some(&factor) => factor,
            None => b.scope.expr(b.scope.with(|g| g.cholesky(node))),
        };
        match name {
            "diagonal" => self.scope.expr(self.scope.with(|g| g.diagonal(node))),
            "tril" => self.scope.expr(self.scope.with(|g| g.lower_triangle(node))),
            "cholesky" => factor(self),
            "log_det" => {
                let l = self.scope.node(factor(self));
                let diagonal = self.scope.expr(self.scope.with(|g| g.diagonal(l)));
                Value::lit(2.0) * diagonal.ln().sum_all()
            }
            other => panic!("function `{other}` is in the table and has no meaning"),
        }
    }

    fn describe(&self, x: Value<'g>) -> String {
        let dims = x.dims();
        self.scope.with(|g| g.describe_dims(&dims))
    }

    /// `x` if it is a square matrix over a dim and its twin.
    pub(super) fn square(&self, x: Value<'g>, at: &Expr, name: &str) -> Result<Value<'g>> {
        let x = self.in_order(x);
        match x.dims()[..] {
            [k, t] if self.twins(k, t) => Ok(x),
            _ => {
                let message = format!(
                    "`{name}` needs a square matrix, of a dim twice as `K[k, k]`, but `{at}` has \
                     dims {}",
                    self.describe(x)
                );
                Err(self.model.error(at.span, message))
            }
        }
    }

    /// Refuses a known matrix that is not positive definite.
    fn refuse_indefinite(&self, x: Value<'g>, at: &Expr) -> Result<()> {
        let rows = x.dims()[0];
        let k = self.scope.with(|g| g.size(rows));
        let known = self.scope.known(x);
        match known.and_then(|m| not_positive_definite(&m, k)) {
            None => Ok(()),
            Some(why) => Err(self.model.error(at.span, format!("`{at}` {why}"))),
        }
    }

    fn dim_of(&self, e: &Expr) -> DimId {
        let ExprKind::Name(name) = &e.kind else {
            unreachable!("checking the model made sure of a dim")
        };
        self.dim(name)
    }

    /// 0, 1, 2, ... over a dim.
    fn positions_in(&self, dim: &Expr) -> Value<'g> {
        let dim = self.dim_of(dim);
        let n = self.scope.with(|g| g.size(dim));
        let all: Vec<f64> = (0..n).map(|k| k as f64).collect();
        let name = format!("positions in {}", self.name_of(dim));
        self.scope.bound_data(&name, &[dim], &all)
    }

    fn identity(&self, dim: &Expr) -> Value<'g> {
        self.identity_over(self.dim_of(dim))
    }

    pub(super) fn identity_over(&self, dim: DimId) -> Value<'g> {
        let ones = self.scope.with(|g| {
            let one = g.lit(1.0);
            let ones = g.broadcast(one, &[dim]);
            g.from_diagonal(ones)
        });
        self.scope.expr(ones)
    }

    fn diag(&self, x: Value<'g>, at: &Expr) -> Result<Value<'g>> {
        let node = self.scope.node(x);
        match x.dims().len() {
            1 => Ok(self.scope.expr(self.scope.with(|g| g.from_diagonal(node)))),
            n => {
                let advice = match n {
                    0 => "; a number times the identity is `x * identity(dim)`",
                    _ => "; the diagonal of a matrix is `diagonal(x)`",
                };
                let has = self.describe(x);
                let message = format!("`diag` needs a vector, but `{at}` has dims {has}{advice}");
                Err(self.model.error(at.span, message))
            }
        }
    }

    fn transpose(&self, x: Value<'g>, at: &Expr) -> Result<Value<'g>> {
        match x.dims()[..] {
            [a, b] if self.twins(a, b) => Ok(self.transposed(self.in_order(x))),
            [a, b] => Ok(x.broadcast(self.scope, &[b, a])),
            _ => {
                let has = self.describe(x);
                let message = format!("`transpose` needs a matrix, but `{at}` has dims {has}");
                Err(self.model.error(at.span, message))
            }
        }
    }

    /// Xᵀ of a square matrix, which has the same dims; of a transpose, what it is one of.
    fn transposed(&self, x: Value<'g>) -> Value<'g> {
        let dims = x.dims();
        let turned: Vec<DimId> = dims.iter().rev().copied().collect();
        let node = self.scope.node(x);
        let before = self.scope.with(|g| {
            let input = |id, op: fn(&Op) -> bool| {
                let node = g.node(id);
                op(&node.op).then(|| node.inputs[0])
            };
            let relabelled = input(node, |op| matches!(op, Op::Broadcast))?;
            let x = input(relabelled, |op| matches!(op, Op::Relabel))?;
            (g.dims(relabelled) == turned && g.dims(x) == dims).then_some(x)
        });
        match before {
            Some(x) => self.scope.expr(x),
            None => self.relabel(x, &turned).broadcast(self.scope, &dims),
        }
    }

    /// L⁻¹ or L⁻ᵀ of `b`, one after the other, along the dim of L; other dims of `b` repeat it.
    pub(super) fn solve(
        &self,
        name: &str,
        (l, at_l): (Value<'g>, &Expr),
        (b, at_b): (Value<'g>, &Expr),
        transposed: &[bool],
    ) -> Result<Value<'g>> {
        let l = self.square(l, at_l, name)?;
        let k = l.dims()[0];
        self.refuse_singular(l, at_l)?;
        let b = self.fit_list(b, &[k]);
        let dims = b.dims();
        let Some(own) = dims.iter().copied().find(|&d| d == k) else {
            let (square, has) = (self.describe(l), self.describe(b));
            let message = format!(
                "`{at_l}` has dims {square}, so the right side of `{name}` needs the dim `{}`, but \
                 `{at_b}` has {has}",
                self.name_of(k)
            );
            return Err(self.model.error(at_b.span, message));
        };
        let others: Vec<DimId> = dims.iter().copied().filter(|&d| d != own).collect();
        let turned: Vec<DimId> = [own].into_iter().chain(others.iter().copied()).collect();
        let mut x = b.broadcast(self.scope, &turned);
        if !others.is_empty() {
            let n = self.scope.with(|g| g.len_of(&others));
            let columns = self.scope.dim(&format!("columns of {n}"), n);
            x = self.relabel(x, &[own, columns]);
        }
        let l = self.scope.node(l);
        for &transpose in transposed {
            let node = self.scope.node(x);
            x = self
                .scope
                .expr(self.scope.with(|g| g.tri_solve(l, node, transpose)));
        }
        Ok(self.relabel(x, &turned).broadcast(self.scope, &dims))
    }

    /// Refuses a known triangular matrix with a zero on its diagonal.
    fn refuse_singular(&self, l: Value<'g>, at: &Expr) -> Result<()> {
        let rows = l.dims()[0];
        let k = self.scope.with(|g| g.size(rows));
        let known = self.scope.known(l).unwrap_or_default();
        let zero = (0..k.min(known.len())).find(|i| known[i * k + i] == 0.0);
        zero.map_or(Ok(()), |i| {
            let message = format!(
                "`{at}` cannot be solved with: element [{i}, {i}] of its diagonal is 0, and all must \
                 be other than 0"
            );
            Err(self.model.error(at.span, message))
        })
    }

    /// a bᵀ; of one dim twice over it and its twin.
    fn outer_product(
        &self,
        (a, at_a): (Value<'g>, &Expr),
        (b, at_b): (Value<'g>, &Expr),
        span: Span,
    ) -> Result<Value<'g>> {
        let ([rows], [columns]) = (&a.dims()[..], &b.dims()[..]) else {
            let (da, db) = (self.describe(a), self.describe(b));
            let message = format!(
                "`outer` needs two vectors, but `{at_a}` has dims {da} and `{at_b}` has {db}"
            );
            return Err(self.model.error(span, message));
        };
        let twin = if rows == columns {
            self.primed(*columns, 1)
        } else {
            *columns
        };
        let dims = [*rows, twin];
        let b = self.relabel(b, &[twin]);
        let product = a.broadcast(self.scope, &dims) * b.broadcast(self.scope, &dims);
        Ok(self.in_order(product))
    }

    /// `a @ b`: the last dim of a is summed with the first of b, which is the same or its twin.
    pub(super) fn product(
        &mut self,
        (x, a): (Value<'g>, &Expr),
        (y, b): (Value<'g>, &Expr),
        span: Span,
    ) -> Result<Value<'g>> {
        let fail = |why: &str| {
            let (dx, dy) = (self.describe(x), self.describe(y));
            let message = format!("`{a}` has dims {dx} but `{b}` has {dy}: {why}");
            Err(self.model.error(span, message))
        };
        let (Some(last), Some(first)) = (x.dims().last().copied(), y.dims().first().copied())
        else {
            return fail("a matrix product needs arrays; write `*` for numbers");
        };
        let (left, right) = (self.fit_list(x, &[first]), self.fit_list(y, &[last]));
        let (mut dx, mut dy) = (left.dims(), right.dims());
        let last = *dx.last().expect("fitting a list keeps its axes");
        if !self.twins(last, dy[0]) {
            return fail("the last dim of the first must be the first dim of the second");
        }
        let n_rows = dx.len() - 1;
        // Summed over a dim that neither has otherwise; what both have gets a prime in the second.
        let rest = [&dx[..n_rows], &dy[1..]].concat();
        let candidates = [last, dy[0], self.primed(last, 2)];
        let Some(over) = candidates.into_iter().find(|d| !rest.contains(d)) else {
            return fail("both have a further dim of the same name");
        };
        (dx[n_rows], dy[0]) = (over, over);
        for k in 1..dy.len() {
            if dx[..n_rows].contains(&dy[k]) {
                dy[k] = self.primed(dy[k], 1);
            }
            if dx[..n_rows].contains(&dy[k]) || dy[..k].contains(&dy[k]) {
                return fail("both have a further dim of the same name");
            }
        }
        let (left, right) = (self.relabel(left, &dx), self.relabel(right, &dy));
        let (left, right) = (self.scope.node(left), self.scope.node(right));
        let out = self.scope.with(|g| g.contract(left, right, &[over]))?;
        let out = self.scope.expr(out);
        // Not a twin without the dim it is one of.
        let dims = out.dims();
        let kept = dims.iter().map(|&d| {
            let base = self.primed(d, 0);
            if dims.contains(&base) { d } else { base }
        });
        let kept: Vec<DimId> = kept.collect();
        Ok(self.in_order(self.relabel(out, &kept)))
    }
}
