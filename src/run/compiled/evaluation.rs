//! What is evaluated at positions: frames of plates, the density as written, and the compiled density.

use super::{Compiled, Terms, of_terms, with_terms};
use crate::Result;
use crate::fit::sample::Target;
use crate::model::joint::{Chosen, Coordinates, Joint};
use fitzroy_device::cpu::{Function, Workspace};
use std::sync::Arc;

/// Locations and scales of all plates at a position.
pub(in crate::run) struct Frames<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) function: &'a Function,
    pub(super) workspace: Workspace,
    /// Whether all plates are there, or the sampled ones alone.
    pub(super) whole: bool,
}

impl Frames<'_> {
    /// Evaluates them at `position`.
    pub(in crate::run) fn run(&mut self, position: &[f64]) {
        self.function.run(&mut self.workspace, position);
    }

    /// Location and scale of every element of plate `k` at the last position.
    pub(in crate::run) fn of(&self, k: usize) -> (&[f64], &[f64]) {
        let output = |i| self.function.output(&self.workspace, i);
        let at = if self.whole {
            2 * k
        } else {
            self.compiled.slots[k].0
        };
        (output(at), output(at + 1))
    }

    /// −1 or 1 for each coordinate of plate `k`, where it has the sign of its scale.
    pub(super) fn signs_of(&self, k: usize) -> Option<&[f64]> {
        let signs = &self.compiled.graphs.signs;
        let at = match self.whole {
            true => {
                let first = 2 * self.compiled.places.len() + 1 + self.compiled.integrated.len();
                signs[k].map(|_| first + signs[..k].iter().flatten().count())
            }
            false => self.compiled.slots[k].1,
        };
        at.map(|at| self.function.output(&self.workspace, at))
    }

    /// The log density of all coordinates at the last position; only of [`Compiled::whole`].
    pub(in crate::run) fn density(&self) -> f64 {
        let at = 2 * self.compiled.places.len();
        self.function.output(&self.workspace, at)[0]
    }

    /// Replaces standard normal numbers by the coordinates they stand for at the last position,
    /// which are those of [`Compiled::plain`]; only of [`Compiled::whole`].
    pub(in crate::run) fn restore(&self, position: &mut [f64]) {
        let first = 2 * self.compiled.places.len() + 1;
        for (k, &(offset, len)) in self.compiled.integrated.iter().enumerate() {
            let values = self.function.output(&self.workspace, first + k);
            position[offset..offset + len].copy_from_slice(values);
        }
    }
}

/// The log density as written, without sums in place of rows and with nothing integrated out: what
/// others are compared with at some points. It needs no gradient, and no machine code.
pub(in crate::run) struct Written {
    /// The coordinates that the model is written in.
    pub(in crate::run) chosen: Chosen,
    density: Function,
}

impl Written {
    /// Builds and compiles `terms` of `joint` in these `coordinates`, one for each plate.
    pub(in crate::run) fn new(
        joint: &Joint,
        coordinates: &[Coordinates],
        terms: Terms,
    ) -> Result<Self> {
        let graphs = with_terms(of_terms(joint, terms).plain_graphs(coordinates), terms)?;
        let (graph, bindings) = (&graphs.graph, &graphs.bindings);
        Ok(Written {
            chosen: coordinates.into(),
            density: Function::compile(graph, bindings, &[graphs.density])?,
        })
    }

    /// What evaluates it, with memory of its own.
    pub(in crate::run) fn evaluator(&self) -> impl FnMut(&[f64]) -> f64 {
        let mut workspace = self.density.workspace();
        move |position| {
            self.density.run(&mut workspace, position);
            self.density.output(&workspace, 0)[0]
        }
    }
}

/// Evaluates a compiled density; one for each chain. Allocates nothing after it was made.
pub(in crate::run) struct Evaluator {
    compiled: Arc<Compiled>,
    workspace: Workspace,
}

impl Evaluator {
    /// An evaluator with memory of its own.
    pub(in crate::run) fn new(compiled: &Arc<Compiled>) -> Self {
        Evaluator {
            workspace: compiled.density.workspace(),
            compiled: Arc::clone(compiled),
        }
    }

    /// The log density alone.
    pub(in crate::run) fn value(&mut self, position: &[f64]) -> f64 {
        let density = &self.compiled.density;
        density.run(&mut self.workspace, position);
        density.output(&self.workspace, 0)[0]
    }
}

impl Target for Evaluator {
    fn dim(&self) -> usize {
        self.compiled.dim
    }

    fn value_and_gradient(&mut self, position: &[f64], slope: &mut [f64]) -> f64 {
        let value = self.value(position);
        let compiled = &*self.compiled;
        let parts = compiled.leaves.iter().enumerate();
        let parts = parts.map(|(k, leaf)| {
            let part = compiled.density.output(&self.workspace, k + 1);
            (leaf.offset..leaf.offset + leaf.len, part)
        });
        if compiled.complete {
            parts.for_each(|(at, part)| slope[at].copy_from_slice(part));
        } else {
            slope.fill(0.0);
            for (at, part) in parts {
                slope[at].iter_mut().zip(part).for_each(|(g, p)| *g += p);
            }
        }
        value
    }
}
