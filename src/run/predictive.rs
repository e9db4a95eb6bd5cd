//! What a model says about data: replicated observations and predicted quantities.

use super::compiled::Compiled;
use crate::Result;
use crate::model::joint::Drawn;
use crate::rng::{Purpose, Rng};
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_graph::NodeId;
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
struct Replicated {
    drawn: Drawn,
    /// Its outputs of the function of its stage.
    arguments: Range<usize>,
    /// Its place among all drawn variables of the model, a part of its random key.
    order: u32,
    /// Its place among those of the replicator; none where only others read it.
    place: Option<usize>,
}

/// Variables whose arguments are known at the same time.
struct Stage {
    function: Function,
    variables: Vec<Replicated>,
}

/// Draws variables from their distributions given the parameters, and computes what depends on
/// parameters and drawn variables.
pub struct Replicator {
    /// Variables that depend on drawn ones come in later stages.
    stages: Vec<Stage>,
    computed: Option<Function>,
    n_drawn: usize,
    n_computed: usize,
    n_extended: usize,
}

/// Memory for drawing.
pub struct ReplicationWorkspace {
    stages: Vec<Workspace>,
    computed: Option<Workspace>,
    /// The parameters, then the drawn variables that others read.
    position: Vec<f64>,
    /// Values of a variable that only others read.
    hidden: Vec<f64>,
}

/// Streams of a run are told apart in the low bits, variables in the high ones.
const VARIABLE_SHIFT: u32 = 20;

impl Replicator {
    /// For the drawn variables that `wanted` picks, and after them `computed` ones. Discrete
    /// parameters are drawn first.
    pub(super) fn new(
        compiled: &Compiled,
        wanted: impl Fn(&Drawn) -> bool,
        computed: &[NodeId],
    ) -> Result<Self> {
        let graphs = &compiled.graphs;
        let mut stages: Vec<Vec<Replicated>> = vec![Vec::new()];
        let all = graphs.drawn.iter().enumerate();
        let discrete = graphs.discrete.iter().enumerate();
        let discrete = discrete.map(|(k, d)| (graphs.drawn.len() + k, d, None));
        let mut n_drawn = 0;
        let picked = all.filter(|(_, d)| wanted(d)).map(|(order, d)| {
            n_drawn += 1;
            (order, d, Some(n_drawn - 1))
        });
        let picked: Vec<_> = discrete.chain(picked).collect();
        for (order, drawn, place) in picked {
            let replicated = Replicated {
                drawn: drawn.clone(),
                arguments: 0..0,
                order: order as u32,
                place,
            };
            if graphs.reads_drawn(&drawn.arguments) {
                stages.push(vec![replicated]);
            } else {
                stages[0].push(replicated);
            }
        }
        let stage = |mut variables: Vec<Replicated>| {
            let mut nodes = Vec::new();
            for variable in &mut variables {
                let start = nodes.len();
                nodes.extend(&variable.drawn.arguments);
                variable.arguments = start..nodes.len();
            }
            Ok(Stage {
                function: compiled.function(&nodes)?,
                variables,
            })
        };
        let stages: Result<Vec<Stage>> = stages.into_iter().map(stage).collect();
        let function = (!computed.is_empty()).then(|| compiled.function(computed));
        Ok(Replicator {
            stages: stages?,
            computed: function.transpose()?,
            n_drawn,
            n_computed: computed.len(),
            n_extended: graphs.n_extended,
        })
    }

    /// Memory for drawing; one per thread.
    pub fn workspace(&self) -> ReplicationWorkspace {
        ReplicationWorkspace {
            stages: self.stages.iter().map(|s| s.function.workspace()).collect(),
            computed: self.computed.as_ref().map(Function::workspace),
            position: vec![0.0; self.n_extended],
            hidden: Vec::new(),
        }
    }

    /// One replicate of every drawn variable at `position`, then every computed one, each into its
    /// slice of `out`.
    pub fn draw(
        &self,
        work: &mut ReplicationWorkspace,
        position: &[f64],
        key: Key,
        out: &mut [&mut [f64]],
    ) {
        assert_eq!(
            out.len(),
            self.n_drawn + self.n_computed,
            "a slice for each"
        );
        work.position[..position.len()].copy_from_slice(position);
        for (stage, workspace) in self.stages.iter().zip(&mut work.stages) {
            stage.function.run(workspace, &work.position);
            for variable in &stage.variables {
                let out = match variable.place {
                    Some(place) => &mut *out[place],
                    None => {
                        work.hidden.clear();
                        work.hidden
                            .resize(variable.drawn.shape.iter().product(), 0.0);
                        &mut work.hidden[..]
                    }
                };
                let stream = key.stream ^ (variable.order << VARIABLE_SHIFT);
                let mut rng = Rng::new(key.seed, stream, key.chain, key.draw, Purpose::Predictive);
                let outputs = variable.arguments.clone();
                let given: Vec<&[f64]> = outputs
                    .map(|k| stage.function.output(workspace, k))
                    .collect();
                variable.drawn.draw(&mut rng, &given, out);
                if let Some(at) = variable.drawn.feeds {
                    work.position[at..at + out.len()].copy_from_slice(out);
                }
            }
        }
        if let (Some(function), Some(workspace)) = (&self.computed, &mut work.computed) {
            function.run(workspace, &work.position);
            for (k, row) in out[self.n_drawn..].iter_mut().enumerate() {
                row.copy_from_slice(function.output(workspace, k));
            }
        }
    }
}
