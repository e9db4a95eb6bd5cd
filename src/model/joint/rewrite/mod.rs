//! Rewrites of the joint density: exact, and only where a pattern matches in full.

mod coefficients;
mod conjugate;
mod dense;
mod design;
mod find;
mod form;
mod gram;
mod innovation;
mod kalman;
mod kinds;
mod linear;
mod normal;
mod reading;
mod recognise;
mod repeated;
mod series;
mod signed;
mod small;
mod wide;

pub use conjugate::Conditional;
pub(super) use conjugate::{ConjugatePrior, Observation};
pub use kinds::{Rewrites, Rewrote};
pub(super) use signed::{Factors, Positive, reaches_zero, sign};

use super::build::Build;
use super::{Term, TermKind};
use crate::dist::Real;
use coefficients::Regression;
use find::Block;
use fitzroy_graph::{Expr as Value, NodeId, Scope};
use series::StateSpace;
use std::collections::HashMap;

/// A parameter with an untruncated normal prior, whose coordinate is the number itself.
#[derive(Clone, Debug)]
pub(super) struct Latent {
    /// Index among the parameters.
    pub(super) parameter: usize,
    /// Its coordinate.
    pub(super) node: NodeId,
    /// Mean and standard deviation of its prior.
    pub(super) mean: NodeId,
    pub(super) sd: NodeId,
    /// The term of its prior.
    pub(super) term: usize,
}

/// An untruncated normal likelihood.
#[derive(Clone, Debug)]
pub(super) struct NormalTerm {
    pub(super) term: usize,
    pub(super) y: NodeId,
    pub(super) mean: NodeId,
    pub(super) sd: NodeId,
}

/// Location and scale of a parameter whose coordinates may be chosen later.
#[derive(Clone, Copy, Debug)]
struct Movable {
    parameter: usize,
    location: NodeId,
    scale: NodeId,
}

/// Everything a search for patterns looks at.
#[derive(Clone)]
struct Sites<'a, 'g> {
    scope: &'g Scope,
    terms: &'a [Term],
    latents: &'a [Latent],
    normals: &'a [NormalTerm],
    /// Which parameters may be integrated out.
    allowed: &'a [bool],
    plates: Vec<Movable>,
}

/// What takes the place of the rows of a normal likelihood.
enum Replacement {
    /// Sums over its rows.
    Sums(Block),
    /// A matrix of its coefficients.
    Matrix(Regression),
    /// The filter of a series.
    Filter(Box<StateSpace>),
}

impl Replacement {
    fn term(&self) -> usize {
        match self {
            Replacement::Sums(block) => block.term,
            Replacement::Matrix(dense) => dense.term,
            Replacement::Filter(of) => of.regression.term,
        }
    }

    /// Its rows.
    fn rows(&self) -> usize {
        match self {
            Replacement::Sums(block) => block.y.len(),
            Replacement::Matrix(dense) => dense.n_rows,
            Replacement::Filter(of) => of.regression.n_rows,
        }
    }

    /// The latents that are integrated out.
    fn latents(&self) -> Vec<usize> {
        match self {
            Replacement::Sums(block) => block.latents(),
            Replacement::Matrix(dense) => dense.latents(),
            Replacement::Filter(of) => of.latents(),
        }
    }

    fn write<'g>(&self, scope: &'g Scope, name: &str) -> normal::Rewritten<'g> {
        match self {
            Replacement::Sums(block) => normal::write(scope, block, name),
            Replacement::Matrix(dense) => dense::write(scope, dense, name),
            Replacement::Filter(of) => kalman::write(scope, of, name),
        }
    }
}

/// What a joint density became.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Whether each parameter is integrated out.
    pub(super) integrated: Vec<bool>,
    /// ln p(integrated parameters | the others, data), in their coordinates.
    pub(super) conditional: Option<NodeId>,
    /// The coordinates of each integrated parameter.
    pub(super) restored: Vec<(usize, NodeId)>,
    /// See [`Graphs::conditionals`](super::Graphs::conditionals).
    pub(super) conditionals: Vec<Conditional>,
    /// Terms that are sums now.
    pub(super) rewritten: Vec<usize>,
    /// What was done, in words.
    pub(super) done: Vec<Rewrote>,
}

impl<'g> Build<'_, 'g> {
    /// Finds the normal likelihoods to rewrite, one after the other, each seeing what the one
    /// before left; with `write` false only which parameters would be integrated out. Only
    /// parameters that `allowed` names are, so that the choice does not hang on the coordinates
    /// of the others.
    pub(super) fn rewrite(&mut self, rewrites: Rewrites, allowed: &[bool], write: bool) -> Outcome {
        let mut outcome = Outcome {
            integrated: vec![false; self.parameters.len()],
            ..Outcome::default()
        };
        let mut conditional = Value::lit(0.0);
        let mut replaced: HashMap<NodeId, NodeId> = HashMap::new();
        for which in 0..self.normals.len() {
            let found = self.replacement(which, rewrites, allowed, &outcome.integrated);
            let Some(found) = found else { continue };
            for latent in found.latents() {
                let latent = &self.latents[latent];
                outcome.integrated[latent.parameter] = true;
                self.terms[latent.term].sum = self.scope.node(Value::lit(0.0));
            }
            if !write {
                continue;
            }
            let term = found.term();
            let name = format!("{} ({which})", self.terms[term].name);
            outcome.done.push(self.words(&found));
            outcome.rewritten.push(term);
            let rewritten = found.write(self.scope, &name);
            self.terms[term].sum = self.scope.node(rewritten.density);
            conditional = conditional + rewritten.conditional;
            for (old, new) in rewritten.drawn {
                let new = self.scope.node(new);
                replaced.insert(old, new);
                let latent = self.latents.iter().find(|l| l.node == old);
                let latent = latent.expect("only latents are integrated out");
                outcome.restored.push((latent.parameter, new));
            }
        }
        if rewrites.collapse && !allowed.is_empty() {
            conditional = conditional + self.integrate_conjugates(allowed, &mut outcome);
        }
        assert!(
            !write || allowed.is_empty() || outcome.integrated == allowed,
            "what is integrated out does not change with the coordinates of the others"
        );
        if !outcome.restored.is_empty() {
            outcome.conditional = Some(self.scope.node(conditional));
            self.replace(&replaced);
        }
        outcome
    }

    fn replacement(
        &self,
        which: usize,
        rewrites: Rewrites,
        allowed: &[bool],
        gone: &[bool],
    ) -> Option<Replacement> {
        let known = self.plates.iter().zip(&self.plate_nodes);
        let plates = known.filter(|(p, _)| !gone[p.parameter]);
        let plates = plates.map(|(plate, &(location, scale))| Movable {
            parameter: plate.parameter,
            location,
            scale,
        });
        let sites = Sites {
            scope: self.scope,
            terms: &self.terms,
            latents: &self.latents,
            normals: &self.normals,
            allowed,
            plates: plates.collect(),
        };
        let n_stay = |latents: &[usize]| -> usize {
            let now: Vec<usize> = latents.iter().map(|l| self.latents[*l].parameter).collect();
            let stay = (0..gone.len()).filter(|p| !gone[*p] && !now.contains(p));
            stay.map(|p| self.parameters[p].len).sum()
        };
        let collapsed = rewrites.collapse.then(|| self.sums(&sites, which, &n_stay));
        // Matrices and filters keep the same company as group effects do.
        let accompanied = |regression: &mut Regression, others: &[usize]| {
            let gone = [others, &regression.latents()].concat();
            if !regression.coefficients.is_empty() && gone.len() > 1 && n_stay(&gone) == 1 {
                regression.keep_one();
            }
        };
        let mut dense = rewrites.collapse.then(|| sites.dense(which)).flatten();
        if let Some(dense) = &mut dense {
            accompanied(dense, &[]);
        }
        let mut filter = rewrites.collapse.then(|| sites.state_space(which));
        if let Some(Some(of)) = &mut filter {
            accompanied(&mut of.regression, &[of.series.latent]);
        }
        let found = [
            collapsed.flatten().map(Replacement::Sums),
            dense.map(Replacement::Matrix),
            filter.flatten().map(|of| Replacement::Filter(Box::new(of))),
        ];
        let width = |r: &Replacement| -> usize {
            let len = |l: &usize| self.scope.with(|g| g.len(self.latents[*l].node));
            r.latents().iter().map(len).sum()
        };
        let found = found.into_iter().flatten();
        let found = found.filter(|r| n_stay(&r.latents()) > 0);
        // Of those that integrate out as many numbers the first, which costs least.
        let best = found.rev().max_by_key(width);
        if best.is_some() {
            return best;
        }
        let sums = rewrites.sufficient.then(|| sites.block(which, false));
        sums.flatten().map(Replacement::Sums)
    }

    /// The sums of normal term `which` with the effects and coefficients that are integrated out of it; `n_stay` counts
    /// the numbers that then stay.
    fn sums(
        &self,
        sites: &Sites<'_, '_>,
        which: usize,
        n_stay: &dyn Fn(&[usize]) -> usize,
    ) -> Option<Block> {
        let mut found = sites.block(which, true)?;
        if let (1, Some(kept)) = (n_stay(&found.latents()), found.company()) {
            let mut fewer = sites.allowed.to_vec();
            fewer[self.latents[kept.latent].parameter] = false;
            let sites = Sites {
                allowed: &fewer,
                ..sites.clone()
            };
            found = sites.block(which, true)?;
        }
        let gone = found.latents();
        (!gone.is_empty() && n_stay(&gone) > 0).then_some(found)
    }

    fn words(&self, found: &Replacement) -> Rewrote {
        let name = |latent: usize| self.parameters[self.latents[latent].parameter].name.clone();
        let term = &self.terms[found.term()];
        debug_assert_eq!(term.kind, TermKind::Likelihood);
        let names = found.latents().into_iter().map(name).collect();
        Rewrote::normal(&term.name, found.rows(), names)
    }

    /// Puts other nodes in the place of coordinates, wherever anything is computed from them.
    pub(super) fn replace(&mut self, replaced: &HashMap<NodeId, NodeId>) {
        let mut nodes: Vec<&mut NodeId> = Vec::new();
        for term in &mut self.terms {
            nodes.extend([&mut term.node, &mut term.sum]);
        }
        let records = [&mut self.recorded, &mut self.computed, &mut self.predicted];
        for records in records {
            nodes.extend(records.iter_mut().map(|r| &mut r.node));
        }
        let drawn = self.drawn.iter_mut().chain(&mut self.summed_out);
        nodes.extend(drawn.flat_map(|d| &mut d.arguments));
        nodes.extend(self.volumes.iter_mut());
        nodes.extend(self.plate_nodes.iter_mut().flat_map(|(m, s)| [m, s]));
        for normal in &mut self.normals {
            nodes.extend([&mut normal.mean, &mut normal.sd]);
        }
        let old: Vec<NodeId> = nodes.iter().map(|n| **n).collect();
        let new = self.scope.with(|g| g.substitute(&old, replaced));
        nodes.into_iter().zip(new).for_each(|(to, from)| *to = from);
    }
}
