//! The log likelihood of each observed value, where a discrete variable is summed out.
//!
//! It is ln p(y | continuous parameters, all other data that depend on the same element of the
//! variable): what leaving the value out changes. Where every row has an element of its own, that is
//! the density of the row with the variable summed out.

use super::super::TermKind;
use super::super::build::Build;
use super::Discrete;
use super::coupling::{NONE, Owner, Piece};
use super::sum::Valued;
use super::weights::Weights;
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value};

impl<'g> Build<'_, 'g> {
    /// Gives every likelihood term among `valued` the log likelihood of its rows. `over` are the dims
    /// of `total`, the sum of them all.
    pub(super) fn rows_of_terms(
        &mut self,
        z: &Discrete,
        over: &[DimId],
        valued: &[Valued<'g>],
        total: &Weights<'g>,
    ) {
        for (at, one) in valued.iter().enumerate() {
            let Some(term) = one.term else { continue };
            if self.terms[term].kind != TermKind::Likelihood {
                continue;
            }
            let dims = self.scope.with(|g| g.dims(one.piece.node).to_vec());
            let own_row = matches!(one.piece.owner, Owner::Same) && dims == over;
            let rest = match own_row {
                true => {
                    let others = valued.iter().enumerate().filter(|(k, _)| *k != at);
                    let others = others.map(|(_, v)| v.sums.map(|x| x));
                    let rest = others.reduce(|a, b| a.plus(&b));
                    rest.expect("the prior is one of them")
                }
                false => self.rest_of_rows(z, over, one, valued),
            };
            let all = self.log_total(total).broadcast(self.scope, over);
            let all = Weights {
                parts: vec![all],
                along: None,
            };
            let all = self.by_row(z, &one.piece, over, &all).parts[0];
            let mut rows = all - self.log_total(&rest);
            if let Some(free) = self.without_element(z, one) {
                let some = self.has_element(z, &one.piece);
                rows = some.select(rows, free);
            }
            self.terms[term].node = self.scope.node(rows.broadcast(self.scope, &dims));
        }
    }

    /// For each row of a term the sum of everything that depends on its element, but for the row.
    fn rest_of_rows(
        &self,
        z: &Discrete,
        over: &[DimId],
        one: &Valued<'g>,
        valued: &[Valued<'g>],
    ) -> Weights<'g> {
        // A sum with −∞ in it cannot be taken apart: these are counted beside it.
        let impossible = |x: Value<'g>| x.equals(Value::lit(f64::NEG_INFINITY));
        let finite = |x: Value<'g>| impossible(x).select(Value::lit(0.0), x);
        let rest = |f: &dyn Fn(Value<'g>) -> Value<'g>| {
            let sums = valued.iter().map(|v| {
                let part = v.at_values.map(f);
                self.by_element(z, &v.piece, over, &part)
            });
            let sum = sums.reduce(|a, b| a.plus(&b));
            let sum = sum.expect("the prior is one of them");
            let rows = self.by_row(z, &one.piece, over, &sum);
            rows.plus(&one.at_values.map(|x| -f(x)))
        };
        let (numbers, counts) = (rest(&finite), rest(&impossible));
        let both = numbers.parts.iter().zip(&counts.parts);
        let nothing = Value::lit(f64::NEG_INFINITY);
        let some = |(&x, &n): (&Value<'g>, &Value<'g>)| Value::lit(0.5).lt(n).select(nothing, x);
        Weights {
            parts: both.map(some).collect(),
            along: numbers.along,
        }
    }

    /// Of sums by element those of the element of each row.
    fn by_row(
        &self,
        z: &Discrete,
        piece: &Piece,
        over: &[DimId],
        sums: &Weights<'g>,
    ) -> Weights<'g> {
        let scope = self.scope;
        let own = scope.with(|g| g.dims(piece.node).to_vec());
        sums.map(|x| {
            let more = x.dims()[over.len()..].to_vec();
            let full = [&own[..], &more].concat();
            let Owner::By(owners) = &piece.owner else {
                return x.broadcast(scope, &full);
            };
            let at: Vec<u32> = owners
                .iter()
                .map(|&o| if o == NONE { 0 } else { o })
                .collect();
            let (rows, target) = self.flat_apart(&own, over);
            let index = self.known_index(z, rows, target, &at);
            let node = scope.node(x);
            scope.expr(scope.with(|g| {
                let flat = g.relabel(node, &[&[target], &more[..]].concat());
                let looked = g.gather(flat, index);
                g.relabel(looked, &full)
            }))
        })
    }

    /// Elements of a piece that depend on no element of the variable, 0 for others; none where all
    /// depend on one.
    pub(super) fn without_element(&self, z: &Discrete, one: &Valued<'g>) -> Option<Value<'g>> {
        match &one.piece.owner {
            Owner::By(owners) if owners.contains(&NONE) => {}
            _ => return None,
        }
        let first = match one.at_values.along {
            Some(dim) => self.first_along(one.at_values.parts[0], dim),
            None => one.at_values.parts[0],
        };
        let some = self.has_element(z, &one.piece);
        Some(some.select(Value::lit(0.0), first))
    }

    fn first_along(&self, x: Value<'g>, dim: DimId) -> Value<'g> {
        let node = self.scope.node(x);
        let first = self.scope.with(|g| g.element(node, dim, 0));
        self.scope.expr(first.expect("there is a first value"))
    }

    fn has_element(&self, z: &Discrete, piece: &Piece) -> Value<'g> {
        let own = self.scope.with(|g| g.dims(piece.node).to_vec());
        match &piece.owner {
            Owner::By(owners) => self.with_owner(z, &own, owners),
            Owner::Same => Value::lit(1.0),
        }
    }
}
