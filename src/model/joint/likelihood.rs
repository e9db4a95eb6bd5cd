//! Data given parameters: likelihood terms of distributions of single numbers.

use super::build::Build;
use super::law::{Law, Of};
use super::observed::Observed;
use super::rewrite::NormalTerm;
use super::sampled::kind;
use super::{Observations, TermKind};
use crate::Result;
use crate::dist::{Real, Scalar};
use crate::model::ast::{Expr, ExprKind, LimitKind, Sampled};
use fitzroy_graph::Expr as Value;
use std::sync::Arc;

impl<'g> Build<'_, 'g> {
    /// Data given parameters.
    pub(super) fn likelihood(&mut self, s: &Sampled) -> Result<()> {
        if let Some(missing) = self.missing_of(&s.name.text) {
            return self.partly_observed(s, missing);
        }
        let base = Expr {
            kind: ExprKind::Name(s.name.text.clone()),
            span: s.name.span,
        };
        let whole = self.value(&base)?;
        let y = match s.subscripts.is_empty() {
            true => whole,
            false => self.index(&base, &s.subscripts)?,
        };
        let y = self.scope.expr(self.scope.node(y));
        let dims = y.dims();
        let Some(values) = self.scope.known(y) else {
            return Err(self.computed_from_missing(s));
        };
        let part = self.observations(s, whole, &values)?;
        let observed = Observed {
            s,
            dims: &dims,
            values: &values,
            part: part.as_deref(),
        };
        let of = Of {
            name: &s.name,
            dims: &dims,
        };
        if let Some(ends) = self.interval_of(s)? {
            return self.interval(observed, ends);
        }
        let (n_terms, n_drawn) = (self.terms.len(), self.drawn.len());
        match self.law(&s.distribution, of)? {
            Some(law) => {
                let limits = self.limit_values(s, &dims)?;
                self.observed(y, observed, &law, limits)?;
            }
            None => super::vector::likelihood(self, y, observed)?,
        }
        self.note_part(n_terms, n_drawn, &part);
        Ok(())
    }

    /// That the terms and replicates from these numbers on observe `part`.
    pub(super) fn note_part(
        &mut self,
        n_terms: usize,
        n_drawn: usize,
        part: &Option<Arc<Observations>>,
    ) {
        let terms = self.terms[n_terms..].iter_mut().map(|t| &mut t.part);
        let drawn = self.drawn[n_drawn..].iter_mut().map(|d| &mut d.part);
        terms.chain(drawn).for_each(|p| p.clone_from(part));
    }

    /// The likelihood of single numbers `y`.
    pub(super) fn observed(
        &mut self,
        y: Value<'g>,
        observed: Observed<'_>,
        law: &Law<'g>,
        limits: Option<(Value<'g>, Value<'g>)>,
    ) -> Result<()> {
        let Observed { s, dims, .. } = observed;
        let name = &s.name.text;
        let checked = self.check_observed(observed, law)?;
        let before = self.scope.trust_support(checked);
        let density = law.log_density(y);
        self.scope.trust_support(before);
        let Some(mut density) = density else {
            let message = format!(
                "`{}` cannot be censored: its distribution function has no closed form",
                law.innermost()
            );
            return Err(self.model.error(s.distribution.span, message));
        };
        if let Some((lower, upper)) = limits {
            if kind(s) == Some(LimitKind::Truncated) {
                density = density - self.log_mass(s, law, lower, upper)?;
            }
            let inside = lower.le(y) * y.le(upper);
            density = inside.select(density, Value::lit(f64::NEG_INFINITY));
        }
        let density = density.broadcast(self.scope, dims);
        self.term(name, TermKind::Likelihood, density);
        if let (Law::Scalar(Scalar::Normal, arguments), None) = (law, limits) {
            self.normals.push(NormalTerm {
                term: self.terms.len() - 1,
                y: self.scope.node(y),
                mean: self.scope.node(arguments[0]),
                sd: self.scope.node(arguments[1]),
            });
        }
        if limits.is_none() {
            self.note_observation(law, y);
        }
        self.draw_numbers(s, law, limits, dims, true);
        Ok(())
    }
}
