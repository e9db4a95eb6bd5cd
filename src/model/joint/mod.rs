//! A model bound to its data: the joint log density as a graph over unconstrained coordinates,
//! and the way back to the user's variables.

mod along;
mod build;
mod cells;
mod columns;
mod coordinates;
mod dims;
mod discrete;
mod draw;
mod drawing;
mod function;
mod general;
mod index;
mod interval;
mod inverse;
mod law;
mod likelihood;
mod list;
mod matrix;
mod missing;
mod observations;
mod observed;
mod ode;
mod outer;
mod recorded_names;
mod recurrence;
mod rewrite;
mod sampled;
#[cfg(test)]
mod tests;
mod value;
mod vector;
mod weighted;

pub use coordinates::{Chosen, Coordinates, Parameter, Plate, Range};
pub use draw::Draw;
pub use function::elementwise;
pub use inverse::{Inverse, Placed};
pub(crate) use matrix::not_positive_definite;
pub use observations::Observations;
pub use rewrite::{Conditional, Rewrites, Rewrote};

use super::{Binding, Model};
use crate::Result;
use fitzroy_graph::{Bindings, Graph, NodeId, Op, Partial, gradient};
use std::sync::Arc;

/// What a term of the log density stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// The prior of a parameter, with the Jacobian of its transform.
    Prior,
    /// Data given parameters.
    Likelihood,
    /// `target += ...`
    Potential,
}

/// A term of the log density.
#[derive(Clone, Debug)]
pub struct Term {
    /// The variable it belongs to, or `target` with its line.
    pub name: String,
    /// What it stands for.
    pub kind: TermKind,
    /// Its elements, not yet summed: one for each number, or for each vector.
    pub node: NodeId,
    /// Their sum, by a shorter way where there is one.
    pub sum: NodeId,
    /// The dims of `node` where they are dims of the model (for data: those of the observed
    /// slice), for messages and for `log_likelihood`.
    pub dims: Vec<String>,
    /// For data: what the statement observes, unless that is a data array as it is.
    pub part: Option<Arc<Observations>>,
}

/// A variable that is recorded for every draw.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Names of its dims.
    pub dims: Vec<String>,
    /// Sizes of its dims.
    pub shape: Vec<usize>,
    /// Its value in the user's terms.
    pub node: NodeId,
}

/// A variable that is drawn anew for every draw of the parameters: observed data (their posterior
/// predictive distribution) or a predicted quantity.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its name.
    pub name: String,
    /// Names of its dims.
    pub dims: Vec<String>,
    /// Sizes of its dims.
    pub shape: Vec<usize>,
    /// True for observed data, false for `predict`.
    pub observed: bool,
    /// How many of the last dims one draw of the distribution has: 0 for numbers, 1 for vectors,
    /// 2 for matrices.
    pub event_dims: usize,
    /// How one draw is made.
    pub law: Draw,
    /// The arguments of `law`, evaluated at the coordinates; see [`Drawn::draw`].
    pub arguments: Vec<NodeId>,
    /// Elements of each argument for one draw. An argument that has just as many serves all draws.
    pub widths: Vec<usize>,
    /// For `predict`: where the drawn value stands among the coordinates that later predictions
    /// are evaluated at, which are [`Graphs::n_extended`].
    pub feeds: Option<usize>,
    /// For observed data: what the statement observes, unless that is a data array as it is.
    pub part: Option<Arc<Observations>>,
}

/// Everything one set of coordinates gives: one graph, and the nodes to compile from it.
#[derive(Clone, Debug)]
pub struct Graphs {
    /// The graph.
    pub graph: Graph,
    /// Its data.
    pub bindings: Bindings,
    /// The log density of the coordinates, Jacobians included; a scalar.
    pub density: NodeId,
    /// Its gradient, where it has been taken.
    pub gradient: Vec<Partial>,
    /// The terms it is the sum of.
    pub terms: Vec<Term>,
    /// Parameters, then deterministics, in the order of the model.
    pub recorded: Vec<Recorded>,
    /// Observed and predicted variables, the predicted ones in an order in which each is drawn
    /// after those it depends on.
    pub drawn: Vec<Drawn>,
    /// Discrete parameters, which are summed out of the density, in an order in which each is drawn
    /// after those it depends on. All that is recorded, drawn or computed may read them.
    pub discrete: Vec<Drawn>,
    /// `predict NAME = expr`: computed from the parameters and from drawn variables.
    pub predicted: Vec<Recorded>,
    /// Number of unconstrained coordinates of the parameters.
    pub n_params: usize,
    /// Number of coordinates, drawn predictions included. What is drawn or computed after sampling
    /// may read them: the parameters first, then each drawn variable, those of [`Graphs::discrete`]
    /// included, from [`Drawn::feeds`] on.
    pub n_extended: usize,
    /// For each plate its location and scale, one element per element of the parameter.
    pub plates: Vec<(NodeId, NodeId)>,
    /// For each plate −1 or 1 for each of its elements, where its coordinate has the sign of its
    /// scale.
    pub signs: Vec<Option<NodeId>>,
    /// ln |dx/du| of each vector or matrix x whose coordinates u are innovations or partial
    /// correlations: a number each, which is a part of `density`. x is the vector itself, and for
    /// the Cholesky factor of a covariance the elements below its diagonal and the logarithms of
    /// those on it.
    pub volumes: Vec<NodeId>,
    /// The value of each of [`Joint::scales`].
    pub scales: Vec<NodeId>,
    /// ln p(integrated parameters | sampled ones, data) in their coordinates; none where nothing
    /// is integrated out. Where something is, `density` is that of the sampled coordinates alone,
    /// and all that is recorded, drawn or computed reads those of integrated parameters, too. They
    /// hold draws of [`Graphs::conditionals`], and standard normal numbers else.
    pub conditional: Option<NodeId>,
    /// For each integrated parameter (an index into [`Joint::parameters`]) its coordinates.
    pub restored: Vec<(usize, NodeId)>,
    /// The integrated parameters whose coordinates are drawn from a distribution of their own, whose
    /// arguments read the sampled coordinates alone.
    pub conditionals: Vec<Conditional>,
    /// What was rewritten.
    pub done: Vec<Rewrote>,
}

impl Graphs {
    /// The same with the gradient of the density.
    #[must_use]
    pub fn with_gradient(mut self) -> Self {
        self.gradient = gradient(&mut self.graph, self.density);
        self
    }

    /// Whether any of `nodes` reads drawn predictions.
    pub fn reads_drawn(&self, nodes: &[NodeId]) -> bool {
        let needed = self.graph.needed(nodes);
        let mut ids = self.graph.node_ids().filter(|id| needed[id.index()]);
        ids.any(|id| match self.graph.node(id).op {
            Op::Param { offset } => offset >= self.n_params,
            _ => false,
        })
    }
}

/// A model bound to its data.
#[derive(Clone, Debug)]
pub struct Joint {
    model: Model,
    binding: Binding,
    parameters: Vec<Parameter>,
    plates: Vec<Plate>,
    scales: Vec<usize>,
    n_params: usize,
    n_observed: usize,
    n_potentials: usize,
    rewrites: Rewrites,
    is_rewritten: bool,
    /// Whether each parameter is integrated out.
    integrated: Vec<bool>,
    /// Parameters that were recognised as standardised, once that is known.
    recognised: Option<Vec<usize>>,
    /// Where each parameter starts among the coordinates; in order where empty.
    layout: Vec<usize>,
    /// Whether discrete parameters are summed out of the priors alone.
    only_priors: bool,
}

impl Joint {
    /// Builds the joint density once, so that every error of dims shows here.
    ///
    /// # Errors
    /// Dims that do not combine, values outside a support, and what the language has no meaning
    /// for, each with its line and column.
    pub fn new(model: &Model, binding: Binding) -> Result<Joint> {
        let mut joint = Joint {
            model: model.clone(),
            binding,
            parameters: Vec::new(),
            plates: Vec::new(),
            scales: Vec::new(),
            n_params: 0,
            n_observed: 0,
            n_potentials: 0,
            rewrites: Rewrites::NONE,
            is_rewritten: false,
            integrated: Vec::new(),
            recognised: None,
            layout: Vec::new(),
            only_priors: false,
        };
        let graphs = joint.build(&Chosen::default(), Rewrites::NONE)?;
        joint.check_names(&graphs)?;
        Ok(joint)
    }

    /// The same density with the allowed rewrites. Where parameters are integrated out the order
    /// of the coordinates changes: those that are sampled come first.
    ///
    /// # Panics
    /// When `self` has been rewritten before.
    pub fn rewritten(&self, rewrites: Rewrites) -> Joint {
        assert_eq!(self.rewrites, Rewrites::NONE, "a model is rewritten once");
        let mut out = self.clone();
        out.rewrites = rewrites;
        out.integrated = vec![rewrites.collapse; self.parameters.len()];
        while out.integrated.contains(&true) {
            let found = out.would_integrate(rewrites, &out.integrated);
            let found = found.expect("it was built before");
            let settled = found == out.integrated;
            out.integrated = found;
            if settled {
                break;
            }
        }
        let len = |k: usize| self.parameters[k].len;
        let mut at = 0;
        out.layout = vec![0; self.parameters.len()];
        for last in [false, true] {
            for k in (0..self.parameters.len()).filter(|&k| out.integrated[k] == last) {
                out.layout[k] = at;
                at += len(k);
            }
        }
        let built = out.build(&Chosen::default(), rewrites);
        out.is_rewritten = !built.expect("it was built before").done.is_empty();
        let recognised = out.plates.iter().filter(|p| p.standardised);
        out.recognised = Some(recognised.map(|p| p.parameter).collect());
        out
    }

    /// The same for the priors alone: [`Graphs::discrete`] are drawn as if there were no data, and of
    /// the terms those of [`TermKind::Prior`] count.
    #[must_use]
    pub fn of_priors(&self) -> Joint {
        let mut out = self.clone();
        out.only_priors = true;
        out
    }

    /// Whether some of them were possible.
    pub fn is_rewritten(&self) -> bool {
        self.is_rewritten
    }

    /// Which rewrites are allowed.
    pub fn rewrites(&self) -> Rewrites {
        self.rewrites
    }

    /// Whether parameter `k` is integrated out.
    pub fn is_integrated(&self, k: usize) -> bool {
        self.integrated.get(k).copied().unwrap_or(false)
    }

    fn is_integrated_by_name(&self, name: &str) -> bool {
        let mut all = self.parameters.iter().enumerate();
        all.any(|(k, p)| p.name == name && self.is_integrated(k))
    }

    /// Number of unconstrained coordinates that are sampled, the first of all.
    pub fn n_sampled(&self) -> usize {
        let integrated = self.parameters.iter().enumerate();
        let integrated = integrated.filter(|(k, _)| self.is_integrated(*k));
        self.n_params - integrated.map(|(_, p)| p.len).sum::<usize>()
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Dims and data.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Number of unconstrained coordinates of all parameters.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Number of values that have a distribution: of data, or computed from data.
    pub fn n_observed(&self) -> usize {
        self.n_observed
    }

    /// Number of statements `target += ...`.
    pub fn n_potentials(&self) -> usize {
        self.n_potentials
    }

    /// The free variables, in the order of their coordinates.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The parameters whose coordinates can be chosen.
    pub fn plates(&self) -> &[Plate] {
        &self.plates
    }

    /// The parameters that can have a sign, see [`Chosen::signed`]: those above 0, with a finite
    /// density there, that the scale of a plate with symmetric effects is a product of. Indices
    /// into [`Joint::parameters`].
    pub fn scales(&self) -> &[usize] {
        &self.scales
    }

    /// Every plate centred, and no scale with a sign: the coordinates of values as they are recorded.
    pub(crate) fn centred(&self) -> Chosen {
        Chosen::from(&vec![Coordinates::Centred; self.plates.len()][..])
    }

    /// The graphs for one choice of coordinates, one for each plate.
    ///
    /// # Panics
    /// When there are not as many as plates.
    #[track_caller]
    pub fn graphs(&self, coordinates: &[Coordinates]) -> Graphs {
        self.graphs_of(&coordinates.into())
    }

    /// As [`Joint::graphs`], with scales that may have a sign.
    ///
    /// # Panics
    /// When there are not as many coordinates as plates, or a scale that there is not.
    #[track_caller]
    pub fn graphs_of(&self, chosen: &Chosen) -> Graphs {
        self.graphs_with(chosen, self.rewrites).with_gradient()
    }

    /// As [`Joint::graphs`], without sums in place of rows and with nothing integrated out: the
    /// density as written, of coordinates in the same order. It has no gradient yet, see
    /// [`Graphs::with_gradient`].
    ///
    /// # Panics
    /// When there are not as many as plates.
    #[track_caller]
    pub fn plain_graphs(&self, coordinates: &[Coordinates]) -> Graphs {
        self.graphs_with(&coordinates.into(), Rewrites::NONE)
    }

    #[track_caller]
    fn graphs_with(&self, chosen: &Chosen, rewrites: Rewrites) -> Graphs {
        assert_eq!(
            chosen.plates.len(),
            self.plates.len(),
            "one choice for each plate"
        );
        let mut again = self.clone();
        again.build(chosen, rewrites).expect("it was built before")
    }
}
