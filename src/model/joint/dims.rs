//! Dims of the model as dims of the graph: names, twins, and what is repeated along which.

use super::build::Build;
use crate::Result;
use crate::model::ast::{Expr, ExprKind, Span, Subscript};
use crate::model::names::did_you_mean;
use fitzroy_graph::{DimId, Expr as Value};

impl<'g> Build<'_, 'g> {
    /// Names and sizes of dims for a record of `name`; dims the model does not name are numbered.
    pub(super) fn dim_names(&self, name: &str, dims: &[DimId]) -> (Vec<String>, Vec<usize>) {
        let one = |(k, &d): (usize, &DimId)| {
            let known = self.dims.iter().position(|&m| m == d);
            match known {
                Some(at) => self.binding.dims[at].name.clone(),
                None => {
                    let plain = self.name_of(d);
                    if plain.ends_with('\'') {
                        plain
                    } else {
                        format!("{name}_dim_{k}")
                    }
                }
            }
        };
        let names = dims.iter().enumerate().map(one).collect();
        (
            names,
            dims.iter()
                .map(|&d| self.scope.with(|g| g.size(d)))
                .collect(),
        )
    }

    /// Repeats `value` to exactly `dims`.
    pub(super) fn spread(
        &mut self,
        value: Value<'g>,
        dims: &[DimId],
        name: &str,
        span: Span,
    ) -> Result<Value<'g>> {
        let value = self.with_names_of(self.fit_list(value, dims), dims);
        let own = value.dims();
        self.refuse_half_of_a_square(&own, dims, name, span)?;
        if !own.iter().all(|d| dims.contains(d)) {
            let (has, needs) = self
                .scope
                .with(|g| (g.describe_dims(&own), g.describe_dims(dims)));
            let message = format!("`{name}` has dims {needs}, but this has {has}");
            return Err(self.model.error(span, message));
        }
        Ok(value.broadcast(self.scope, dims))
    }

    /// `value` with axes that have no name of their own (slices, lists) called as the dims of the
    /// model that are written for it: by their places if all the others stand there as well, else
    /// by their lengths, where one dim alone has that.
    fn with_names_of(&self, value: Value<'g>, dims: &[DimId]) -> Value<'g> {
        let own = value.dims();
        let size = |d: DimId| self.scope.with(|g| g.size(d));
        let named = |d: DimId| self.dims.contains(&self.primed(d, 0));
        let fits = |a: DimId, b: DimId| a == b || (!named(a) && named(b) && size(a) == size(b));
        if own.iter().all(|&d| named(d)) {
            return value;
        }
        let in_place = own.len() == dims.len()
            && own
                .iter()
                .zip(dims)
                .all(|(&a, &b)| fits(a, b) || self.twins(a, b));
        if in_place {
            return self.relabel(value, dims);
        }
        let one = |&d: &DimId| {
            let mut open = dims.iter().filter(|&&b| !own.contains(&b) && fits(d, b));
            match (open.next(), open.next()) {
                (Some(&only), None) if !named(d) => only,
                _ => d,
            }
        };
        let renamed: Vec<DimId> = own.iter().map(one).collect();
        let distinct = (1..renamed.len()).all(|k| !renamed[..k].contains(&renamed[k]));
        if distinct {
            self.relabel(value, &renamed)
        } else {
            value
        }
    }

    /// Refuses to repeat an array along one of two dims of the same name: which of the two its own
    /// is cannot be told, and a matrix of equal columns is hardly ever meant.
    pub(super) fn refuse_half_of_a_square(
        &self,
        own: &[DimId],
        dims: &[DimId],
        name: &str,
        span: Span,
    ) -> Result<()> {
        let name_of = |d: DimId| self.name_of(d);
        let twin = |d: DimId| {
            let twin = format!("{}'", name_of(d));
            dims.iter().find(|&&other| name_of(other) == twin)
        };
        let half = |d: &&DimId| twin(**d).is_some_and(|t| own.contains(d) && !own.contains(t));
        let Some(&dim) = dims.iter().find(half) else {
            return Ok(());
        };
        let dim = name_of(dim);
        let message = format!(
            "`{name}` has the dim `{dim}` twice, but this has it once: it would be repeated, so that \
             all columns are equal; name both axes where it is made, as in `x[{dim}] - x[{dim}']`"
        );
        Err(self.model.error(span, message))
    }

    /// The graph's dim called `name`.
    pub(super) fn dim(&self, name: &str) -> DimId {
        self.dims[self
            .binding
            .dim(name)
            .expect("checking the model found every dim")]
    }

    /// Dims with a second of the same name replaced by its twin.
    pub(super) fn distinct(&self, dims: &[DimId]) -> Vec<DimId> {
        let mut out: Vec<DimId> = Vec::new();
        for &d in dims {
            let d = if out.contains(&d) {
                self.scope.with(|g| g.twin(d))
            } else {
                d
            };
            out.push(d);
        }
        out
    }

    /// The dims a declaration names between its brackets.
    pub(super) fn declared_dims(&self, subscripts: &[Subscript]) -> Result<Vec<DimId>> {
        let one = |s: &Subscript| match s {
            Subscript::At(Expr {
                kind: ExprKind::Name(name),
                ..
            }) if self.binding.dim(name).is_some() => Ok(self.dim(name)),
            _ => {
                let names = self.binding.dims.iter().map(|d| d.name.as_str());
                let near = match s {
                    Subscript::At(e) => did_you_mean(&e.to_string(), names),
                    Subscript::Slice { .. } => String::new(),
                };
                Err(self
                    .model
                    .error(s.span(), format!("expected the name of a dim{near}")))
            }
        };
        let dims: Result<Vec<DimId>> = subscripts.iter().map(one).collect();
        Ok(self.distinct(&dims?))
    }
}
