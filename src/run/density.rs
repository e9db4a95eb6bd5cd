//! The log density of a model at values of its variables, and its slopes.

use super::initial::Placing;
use crate::data::{Array, Dataset, Values};
use crate::model::joint::Joint;
use crate::{Error, ErrorKind, Result};
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_graph::{Binary, DimId, NodeId, Op, gradient};
use std::ops::Range;

/// The log density `lp` of a model as a function of the values of its parameters, as a trace records
/// it: of the coordinates as written, Jacobians of their transforms included.
///
/// ```
/// use fitzroy::data::Dataset;
/// use fitzroy::model::Model;
/// use fitzroy::run::{LogDensity, Settings, bind};
///
/// let model = Model::parse("data y\nsigma ~ Exponential(1)\ny ~ Normal(0, sigma)")?;
/// let mut data = Dataset::new();
/// data.insert_real("y", &[], vec![1.0]);
/// let joint = bind(&model, &data, &Settings::default())?;
/// let mut at = Dataset::new();
/// at.insert_real("sigma", &[], vec![2.0]);
/// let found = LogDensity::new(&joint)?.at(&at)?;
/// // −sigma − ln sigma − ½ ln 2π − ½ y²/sigma², and ln sigma for the coordinate ln sigma.
/// assert!((found.lp + 2.0 + 0.9189385332046727 + 0.125).abs() < 1e-12);
/// // By ln sigma: −sigma + y²/sigma².
/// assert!((found.slope[0] + 2.0 - 0.25).abs() < 1e-12);
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub struct LogDensity<'a> {
    placing: Placing<'a>,
    joint: &'a Joint,
    function: Function,
    workspace: Workspace,
    /// Where the output of each leaf goes.
    leaves: Vec<Range<usize>>,
    /// Those of `along`.
    along: Vec<Range<usize>>,
    /// Name, first input and elements of each vector along which variables move.
    directions: Vec<(String, Range<usize>)>,
    position: Vec<f64>,
    inputs: Vec<f64>,
}

/// The density at values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The log density.
    pub lp: f64,
    /// Its slope by each coordinate as written.
    pub slope: Vec<f64>,
}

impl<'a> LogDensity<'a> {
    /// Compiles the density of all data and parameters.
    ///
    /// # Errors
    /// None that building the joint density did not have.
    pub fn new(joint: &'a Joint) -> Result<Self> {
        let chosen = joint.centred();
        let names: Vec<&str> = joint.parameters().iter().map(|p| p.name.as_str()).collect();
        let placing = Placing::new(joint, &names, &chosen)?;
        let mut graphs = joint.plain_graphs(&chosen.plates);
        let graph = &mut graphs.graph;
        let mut lp = graphs.density;
        for &volume in &graphs.volumes {
            lp = graph.binary(Binary::Sub, lp, volume)?;
        }
        // Σ direction · variable, whose slope is how the variables move.
        let (mut moved, mut at) = (graph.lit(0.0), joint.n_params());
        let mut directions = Vec::new();
        for name in names {
            let Some(value) = graphs.recorded.iter().find(|r| r.name == name) else {
                continue; // Its name begins with an underscore.
            };
            let dims: Vec<DimId> = graph.dims(value.node).to_vec();
            let len = graph.len(value.node);
            let direction = graph.param(at, &dims);
            let product = graph.binary(Binary::Mul, direction, value.node)?;
            let sum = graph.sum_all(product);
            moved = graph.binary(Binary::Add, moved, sum)?;
            directions.push((name.to_string(), at..at + len));
            at += len;
        }
        let mut nodes = vec![lp];
        let mut slopes = |of: NodeId, graph: &mut _| {
            let all = gradient(graph, of).into_iter().filter_map(|partial| {
                let Op::Param { offset } = graph.node(partial.param).op else {
                    return None;
                };
                let own = offset < joint.n_params();
                own.then(|| (offset..offset + graph.len(partial.param), partial.adjoint))
            });
            let all: Vec<(Range<usize>, NodeId)> = all.collect();
            nodes.extend(all.iter().map(|(_, node)| *node));
            all.into_iter().map(|(place, _)| place).collect::<Vec<_>>()
        };
        let leaves = slopes(lp, graph);
        let along = slopes(moved, graph);
        let function = Function::compile(graph, &graphs.bindings, &nodes)?;
        Ok(LogDensity {
            workspace: function.workspace(),
            function,
            placing,
            joint,
            leaves,
            along,
            directions,
            position: vec![0.0; joint.n_params()],
            inputs: vec![0.0; at],
        })
    }

    /// The density where all parameters have the `values`.
    ///
    /// # Errors
    /// A parameter without a value, a value of another shape or outside the support of its prior.
    pub fn at(&mut self, values: &Dataset) -> Result<Point> {
        let mut names = self.joint.parameters().iter().map(|p| &p.name);
        if let Some(name) = names.find(|name| values.get(name).is_none()) {
            let message = format!("`{name}` has no value; all parameters need one");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        self.placing.read(values)?;
        self.placing.place(&mut self.position)?;
        let n = self.position.len();
        self.inputs[..n].copy_from_slice(&self.position);
        self.inputs[n..].fill(0.0);
        self.function.run(&mut self.workspace, &self.inputs);
        Ok(Point {
            lp: self.function.output(&self.workspace, 0)[0],
            slope: self.gathered(&self.leaves, 1),
        })
    }

    /// Slopes of some function of the variables, by their values, as slopes by the coordinates of
    /// the last [`LogDensity::at`]. Variables that are not among `slopes` do not enter the function.
    ///
    /// # Errors
    /// Slopes of another shape than their variable.
    pub fn by_coordinates(&mut self, slopes: &Dataset) -> Result<Vec<f64>> {
        let n = self.position.len();
        self.inputs[..n].copy_from_slice(&self.position);
        for (name, place) in &self.directions {
            let given = slopes.get(name).map(|array| (array, &array.values));
            let to = &mut self.inputs[place.clone()];
            match given {
                None => to.fill(0.0),
                Some((_, Values::Real(x))) if x.len() == to.len() => to.copy_from_slice(x),
                Some((Array { shape, .. }, _)) => {
                    let message = format!(
                        "the slopes by `{name}` have shape {shape:?}; it has {} elements",
                        to.len()
                    );
                    return Err(Error::new(ErrorKind::Usage, message));
                }
            }
        }
        self.function.run(&mut self.workspace, &self.inputs);
        Ok(self.gathered(&self.along, 1 + self.leaves.len()))
    }

    fn gathered(&self, places: &[Range<usize>], first: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.position.len()];
        for (k, place) in places.iter().enumerate() {
            let part = self.function.output(&self.workspace, first + k);
            let to = &mut out[place.clone()];
            to.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        out
    }
}
