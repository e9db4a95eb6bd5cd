//! What a model says about data: replicated observations and predicted quantities.

use super::compiled::Compiled;
use crate::Result;
use crate::dist::Scalar;
use crate::model::joint::Drawn;
use crate::rng::{Purpose, Rng};
use fitzroy_device::cpu::{Function, Workspace};
use std::ops::Range;

/// The random key of one draw: replicates depend on nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Seed of the run.
    pub seed: u64,
    /// Stream of the run.
    pub stream: u32,
    /// Global number of the chain.
    pub chain: u32,
    /// Number of the draw.
    pub draw: u32,
}

/// A variable that is drawn anew for every draw of the parameters.
#[derive(Clone, Debug)]
pub struct Replicated {
    /// Its name.
    pub name: String,
    /// Names of its dims.
    pub dims: Vec<String>,
    /// Sizes of its dims.
    pub shape: Vec<usize>,
    distribution: Scalar,
    /// Its outputs of the function.
    arguments: Range<usize>,
    /// Its place among all drawn variables of the model, a part of its random key.
    order: u32,
}

/// Draws variables from their distributions given the parameters.
pub struct Replicator {
    variables: Vec<Replicated>,
    function: Function,
}

/// Streams of a run are told apart in the low bits, variables in the high ones.
const VARIABLE_SHIFT: u32 = 20;

impl Replicator {
    /// For the drawn variables that `wanted` picks.
    pub(super) fn new(compiled: &Compiled, wanted: impl Fn(&Drawn) -> bool) -> Result<Self> {
        let mut nodes = Vec::new();
        let mut variables = Vec::new();
        for (order, drawn) in compiled.graphs.drawn.iter().enumerate() {
            if !wanted(drawn) {
                continue;
            }
            let start = nodes.len();
            nodes.extend(&drawn.arguments);
            variables.push(Replicated {
                name: drawn.name.clone(),
                dims: drawn.dims.clone(),
                shape: drawn.shape.clone(),
                distribution: drawn.distribution,
                arguments: start..nodes.len(),
                order: order as u32,
            });
        }
        Ok(Replicator {
            function: compiled.function(&nodes)?,
            variables,
        })
    }

    /// The variables it draws.
    pub fn variables(&self) -> &[Replicated] {
        &self.variables
    }

    /// Memory for drawing; one per thread.
    pub fn workspace(&self) -> Workspace {
        self.function.workspace()
    }

    /// One replicate of every variable at `position`, each into its slice of `out`.
    pub fn draw(
        &self,
        workspace: &mut Workspace,
        position: &[f64],
        key: Key,
        out: &mut [&mut [f64]],
    ) {
        self.function.run(workspace, position);
        for (variable, out) in self.variables.iter().zip(out) {
            let stream = key.stream ^ (variable.order << VARIABLE_SHIFT);
            let mut rng = Rng::new(key.seed, stream, key.chain, key.draw, Purpose::Predictive);
            let given: Vec<&[f64]> = variable
                .arguments
                .clone()
                .map(|k| self.function.output(workspace, k))
                .collect();
            let mut arguments = vec![0.0; given.len()];
            for (i, y) in out.iter_mut().enumerate() {
                for (argument, values) in arguments.iter_mut().zip(&given) {
                    *argument = values[i];
                }
                *y = variable.distribution.sample(&mut rng, &arguments);
            }
        }
    }
}
