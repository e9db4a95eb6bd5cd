//! From values of variables, on their natural scale, to the coordinates that stand for them.

use super::build::Build;
use super::{Chosen, Joint};
use crate::model::ast::Sampled;
use crate::model::names::{did_you_mean, list};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::{Bindings, Expr as Value, Graph, NodeId, Scope};
use std::collections::HashMap;

/// Variables that are given, while statements are read.
#[derive(Default)]
pub(super) struct Given {
    /// Where the first element of each stands among the inputs.
    at: HashMap<String, usize>,
    /// Of each the parameter, and the nodes of its coordinates, in order.
    found: Vec<(usize, Vec<NodeId>)>,
}

impl<'g> Build<'_, 'g> {
    /// The last parameter: `x`, which is made of its coordinates, or what is given instead. Then
    /// `back` says what the coordinates are, in their order.
    pub(super) fn or_given(
        &mut self,
        s: &Sampled,
        x: Value<'g>,
        back: impl FnOnce(&Self, Value<'g>) -> Vec<Value<'g>>,
    ) -> Value<'g> {
        let Some(&at) = self.given.at.get(&s.name.text) else {
            return x;
        };
        let x = self.scope.param(at, &x.dims());
        let coordinates = back(self, x);
        let nodes = coordinates.into_iter().map(|u| self.scope.node(u));
        let found = (self.parameters.len() - 1, nodes.collect());
        self.given.found.push(found);
        x
    }
}

/// The way from values of some variables to their coordinates and back, see [`Joint::inverse`].
#[derive(Clone, Debug)]
pub struct Inverse {
    /// Coordinates from values. Its inputs are all coordinates, of which those of the given
    /// variables are not read, then the elements of the given variables.
    pub back: (Graph, Bindings),
    /// Values from coordinates.
    pub there: (Graph, Bindings),
    /// The given variables, in the order of the model.
    pub placed: Vec<Placed>,
    /// Number of inputs of `back`.
    pub n_inputs: usize,
}

/// A variable that is given.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Index into [`Joint::parameters`].
    pub parameter: usize,
    /// First of its elements among the inputs of `back`.
    pub input: usize,
    /// Sizes of its dims.
    pub shape: Vec<usize>,
    /// Nodes of `back`: its coordinates, which follow each other. They are infinite or NaN where a
    /// number is outside its range.
    pub coordinates: Vec<NodeId>,
    /// Node of `there`: its value.
    pub value: NodeId,
}

impl Joint {
    /// The way from values of the variables `names` to their coordinates, in what is `chosen`. All
    /// other variables are made of their own coordinates.
    ///
    /// Values outside the support of a vector (shares that do not sum to 1) give the coordinates of
    /// other values, which the way back tells.
    ///
    /// # Errors
    /// A name that is none of a parameter.
    pub fn inverse(&self, names: &[&str], chosen: &Chosen) -> Result<Inverse> {
        let plain = Scope::new();
        let there = self.statements(&plain, chosen)?;
        let value = |name: &str| {
            let mut all = there.recorded.iter();
            all.find(|r| r.name == name)
                .expect("parameters are recorded")
        };
        let mut given = Given::default();
        let mut n_inputs = self.n_params;
        for &name in names {
            if !self.parameters.iter().any(|p| p.name == name) {
                return Err(self.no_parameter(name));
            }
            if given.at.insert(name.into(), n_inputs).is_none() {
                n_inputs += value(name).shape.iter().product::<usize>();
            }
        }
        let scope = Scope::new();
        let Given { at, found } = self.statements_given(&scope, chosen, given)?.given;
        let placed = found.into_iter().map(|(parameter, coordinates)| {
            let name = &self.parameters[parameter].name;
            let value = value(name);
            Placed {
                parameter,
                input: at[name],
                shape: value.shape.clone(),
                coordinates,
                value: value.node,
            }
        });
        let placed = placed.collect();
        drop(there);
        Ok(Inverse {
            back: scope.finish_bound(),
            there: plain.finish_bound(),
            placed,
            n_inputs,
        })
    }

    fn no_parameter(&self, name: &str) -> Error {
        let names = || self.parameters.iter().map(|p| p.name.as_str());
        let is = match self.model.symbols().get(name) {
            Some(_) => format!("`{name}` is no parameter of the model"),
            None => format!("the model has no `{name}`{}", did_you_mean(name, names())),
        };
        let message = format!("{is}; its parameters are {}", list(names(), 12));
        Error::new(ErrorKind::Usage, message)
    }
}
