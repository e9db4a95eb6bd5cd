//! Discrete variables that nothing but their prior depends on: predictions, and missing data.

use super::super::Drawn;
use super::super::build::Build;
use super::sum::Factor;
use crate::dist::Real;
use fitzroy_graph::Expr as Value;

impl Build<'_, '_> {
    /// Takes variables out of `left`, and their priors out of `factors`, on whose values no other
    /// factor depends: the sum of such a prior is 1, however many values there are. The draws are
    /// in the order in which they were taken out.
    pub(super) fn leaves(
        &mut self,
        left: &mut Vec<usize>,
        factors: &mut Vec<Factor>,
    ) -> Vec<Drawn> {
        let mut draws = Vec::new();
        while let Some(at) = left.iter().rposition(|&k| self.is_leaf(k, factors)) {
            let k = left.remove(at);
            let prior = self.discrete[k].term;
            factors.retain(|f| f.term != Some(prior));
            self.terms[prior].node = self.scope.node(Value::lit(0.0));
            draws.extend(self.discrete[k].own_draw.clone());
        }
        draws
    }

    fn is_leaf(&self, k: usize, factors: &[Factor]) -> bool {
        let (depends, z) = (self.dependents_of(k), &self.discrete[k]);
        let is_other = |f: &Factor| f.term != Some(z.term) && depends[f.node.index()];
        z.own_draw.is_some() && !factors.iter().any(is_other)
    }
}
