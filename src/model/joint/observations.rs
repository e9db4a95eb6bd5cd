//! Which elements of an array a statement observes.

use super::build::Build;
use crate::Result;
use crate::model::ast::{Expr, ExprKind, Sampled, Subscript};
use crate::model::bind::place;
use crate::model::source::line_number;
use fitzroy_graph::{DimId, Expr as Value};
use std::sync::Arc;

/// What a statement observes, unless that is a data array as it is: some of its elements, or numbers
/// computed from data.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// Names of the dims of the whole array.
    pub dims: Vec<String>,
    /// Their sizes.
    pub shape: Vec<usize>,
    /// The places of the observed elements in the whole array (row-major), increasing.
    pub at: Vec<usize>,
    /// Their values.
    pub values: Vec<f64>,
    /// The line of the statement.
    pub line: usize,
}

/// Whether `subscript` is the name of `axis` itself; the second of a square matrix is called as the
/// first, with a prime.
pub(super) fn is_own(subscript: &str, axis: &str) -> bool {
    axis.trim_end_matches('\'') == subscript.trim_end_matches('\'')
}

impl<'g> Build<'_, 'g> {
    /// What `s` observes of `whole`; none for all of a data array. `values` are the observed ones.
    ///
    /// # Errors
    /// An element has a distribution already.
    pub(super) fn observations(
        &mut self,
        s: &Sampled,
        whole: Value<'g>,
        values: &[f64],
    ) -> Result<Option<Arc<Observations>>> {
        let name = &s.name.text;
        let dims = whole.dims();
        let plain = |t: &Subscript| match t {
            Subscript::At(Expr {
                kind: ExprKind::Name(n),
                ..
            }) => self.binding.dim(n).is_some(),
            Subscript::At(_) | Subscript::Slice { .. } => false,
        };
        // There is one such statement at most, which checking the model made sure of.
        if s.subscripts.iter().all(plain) && self.binding.array(name).is_some() {
            return Ok(None);
        }
        let at = self.observed_places(&dims, &s.subscripts)?;
        let (dims, shape) = self.dim_names(name, &dims);
        let before = self.terms.iter().filter(|t| t.name == *name);
        for other in before.filter_map(|t| t.part.as_ref()) {
            let twice = at.iter().find(|i| other.at.binary_search(i).is_ok());
            if let Some(&i) = twice {
                let message = format!(
                    "`{name}`{}: this element already has a distribution on line {}; give each \
                     element one",
                    place(&shape, i),
                    other.line
                );
                return Err(self.model.error(s.name.span, message));
            }
        }
        Ok(Some(Arc::new(Observations {
            dims,
            shape,
            at,
            values: values.to_vec(),
            line: line_number(self.model.text(), s.name.span.start()),
        })))
    }

    /// Row-major places of what `subscripts` pick of an array over `dims`.
    fn observed_places(&mut self, dims: &[DimId], subscripts: &[Subscript]) -> Result<Vec<usize>> {
        let mut places = vec![0];
        for (k, &dim) in dims.iter().enumerate() {
            let (name, size) = self
                .scope
                .with(|g| (g.dim_info(dim).name.clone(), g.size(dim)));
            let picked = match subscripts.get(k) {
                None => 0..size,
                Some(Subscript::Slice { start, stop, .. }) => {
                    let start = self.bound(start.as_ref(), 0, size)?;
                    start..self.bound(stop.as_ref(), size, size)?
                }
                Some(Subscript::At(e)) => match &e.kind {
                    ExprKind::Name(text) if is_own(text, &name) => 0..size,
                    _ => {
                        let at = self.element_at(e, size)?;
                        at..at + 1
                    }
                },
            };
            let inner = |&outer: &usize| picked.clone().map(move |i| outer * size + i);
            places = places.iter().flat_map(inner).collect();
        }
        Ok(places)
    }

    /// Element `e` of an axis, counted from the end where it is negative. It was found to be inside.
    fn element_at(&mut self, e: &Expr, size: usize) -> Result<usize> {
        let at = self.number(e)?;
        Ok(if at < 0.0 { at + size as f64 } else { at } as usize)
    }
}
