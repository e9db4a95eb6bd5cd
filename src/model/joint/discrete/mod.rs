//! Discrete parameters. While statements are read they are arrays like others, of which nothing but
//! the dims is known; when all statements are read they are summed out of the density, one after the
//! other, and drawn given the others.
//!
//! A variable z with elements i is summed out of all terms that depend on it: with the terms' log
//! densities ℓ(z), which split into ℓᵢ(zᵢ), what is left is Σᵢ ln Σᵥ exp ℓᵢ(v). This may depend on
//! discrete variables that are summed out later. Drawn are those summed out last first: each given
//! those that its sums depend on. A variable that nothing but its prior depends on has the sum 1.

mod chain;
mod coupling;
mod declare;
mod leaf;
mod look_up;
mod pointwise;
mod sum;
mod weights;

use super::Drawn;
use super::build::Build;
use crate::Error;
use crate::model::ast::Name;
use chain::Before;
use fitzroy_graph::{DimId, Expr as Value, NodeId};

/// Values of one discrete variable, and combinations of several that meet in one term, at most.
pub(super) const MOST_VALUES: usize = 4096;

/// A discrete parameter.
#[derive(Clone)]
pub(super) struct Discrete {
    name: Name,
    /// What stands for its values while statements are read.
    hole: NodeId,
    dims: Vec<DimId>,
    /// The least value, and how many there are.
    low: f64,
    count: usize,
    /// Why its values cannot be listed, if so.
    endless: Option<Error>,
    /// How it is drawn by its own distribution, if that is normalised.
    own_draw: Option<Drawn>,
    /// Its prior among the terms.
    term: usize,
    /// Whether it depends on its own step before, and on what, once that has been asked for.
    is_chain: bool,
    before: Option<Before>,
}

impl Discrete {
    /// What stands for its values, and for those before.
    fn holes(&self) -> impl Iterator<Item = NodeId> {
        let before = self.before.as_ref().map(|before| before.hole);
        std::iter::once(self.hole).chain(before)
    }
}

/// The elements of a table along one axis that a discrete variable picks.
#[derive(Clone)]
pub(super) struct LookUp {
    node: NodeId,
    /// Which discrete variable, and which of its elements, in whatever order.
    of: usize,
    by: NodeId,
    table: NodeId,
    axis: DimId,
}

impl<'g> Build<'_, 'g> {
    /// What stands for the values of all discrete parameters.
    fn holes(&self) -> Vec<NodeId> {
        self.discrete.iter().flat_map(Discrete::holes).collect()
    }

    /// Whether a value is computed from discrete parameters.
    pub(super) fn depends_on_discrete(&self, value: Value<'g>) -> bool {
        self.depends_on(value, &self.holes())
    }
}
