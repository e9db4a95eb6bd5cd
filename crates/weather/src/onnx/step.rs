//! A step of a forecast: from states in their units to the next one, with the network between.

use super::graph::{Graph, Kind};
use super::network::Written;
use crate::data::{FORCINGS, NEIGHBOURS};
use crate::train::Problem;
use fitzroy::{Error, Result};
use fitzroy_device::nn::{Network, Recompute};
use serde_json::{Value, json};

/// The most that a file of this kind may hold.
const BYTES_MAX: usize = 1 << 31;

/// The model that makes one step with `parameters`, as a file. Its inputs are in f32:
///
/// | input | shape | what |
/// |---|---|---|
/// | `before`, `now` | (row, column, channel) | two states a step apart, in the units of the channels |
/// | `boundary` | (row, column, channel) | the state a step later, read at the forced boundary; where there is one |
/// | `forcings` | (3, row, column, 5) | sine and cosine of day and year and the sun's height of the three times; for forecasts |
///
/// and its outputs:
///
/// | output | shape | what |
/// |---|---|---|
/// | `forecast` | (row, column, channel) | what `weather predict` writes: rain not below 0, NaN where a channel has no values |
/// | `next` | (row, column, channel) | the same to be fed as `now` of the next step; of forecasts |
///
/// For rain alone `forecast` is (row, column), NaN outside of the downstream box. `attributes` are
/// kept in the file beside channels, units, step and grid.
///
/// # Errors
/// The model would be larger than a file of this kind may be.
pub fn onnx(
    problem: &Problem,
    parameters: &[f32],
    attributes: &[(String, String)],
) -> Result<Vec<u8>> {
    let network = Network::new(&problem.spec, Recompute::None)?;
    let mut graph = Graph::default();
    let mut step = Step::new(problem, &mut graph);
    let inputs = step.inputs();
    let written = Written {
        spec: &problem.spec,
        network: &network,
        parameters,
    };
    let added = written.write(step.graph, &inputs);
    match problem.is_forecast() {
        true => step.forecast(&added),
        false => step.rain(&added),
    }
    let file = graph.file("step", &notes(problem, attributes));
    if file.len() >= BYTES_MAX {
        return Err(Error::data(format!(
            "the model has {:.1} GiB; a file of ONNX holds 2 at most",
            file.len() as f64 / f64::from(1 << 30)
        )));
    }
    Ok(file)
}

/// What the file says of itself.
fn notes(problem: &Problem, attributes: &[(String, String)]) -> Vec<(String, String)> {
    let archive = &problem.archive;
    let labels = |channels: &[&crate::data::Channel]| -> Value {
        channels.iter().map(|c| c.label()).collect()
    };
    let units: Value = archive.channels.iter().map(|c| c.units.clone()).collect();
    let all: Vec<_> = archive.channels.iter().collect();
    let own = [
        ("channels", labels(&all)),
        ("units", units),
        ("forecast_channels", labels(&problem.target_channels())),
        ("step_seconds", json!(archive.step_s)),
        ("latitude", json!(archive.lat)),
        ("longitude", json!(archive.lon)),
    ];
    let own = own.map(|(name, value)| (name.to_string(), value.to_string()));
    [&own[..], attributes].concat()
}

/// The parts of a step, in a graph.
struct Step<'a> {
    problem: &'a Problem,
    graph: &'a mut Graph,
    /// Rows, columns, nodes and channels.
    shape: (usize, usize, usize, usize),
    /// Means and deviations of the channels.
    scales: (String, String),
    /// Where channels have no values; none where they all have.
    held: Option<String>,
    /// The two states, (node, channel), normalised.
    before: String,
    now: String,
}

impl<'a> Step<'a> {
    /// The step of a problem, with its two states.
    fn new(problem: &'a Problem, graph: &'a mut Graph) -> Self {
        let archive = &problem.archive;
        let ((rows, columns), nodes) = (archive.shape(), archive.n_nodes());
        let channels = archive.channels.len();
        let scales = &problem.normaliser;
        let held: Vec<bool> = (0..archive.record_len())
            .map(|at| archive.is_held(at))
            .collect();
        let held = held
            .contains(&true)
            .then(|| graph.truths(&[nodes, channels], &held));
        let scales = (graph.doubles(&scales.mean), graph.doubles(&scales.sd));
        let mut step = Step {
            problem,
            graph,
            shape: (rows, columns, nodes, channels),
            scales,
            held,
            before: String::new(),
            now: String::new(),
        };
        step.before = step.state("before");
        step.now = step.state("now");
        step
    }

    /// An input with a state, (node, channel), normalised; what is held is 0.
    fn state(&mut self, name: &str) -> String {
        let (rows, columns, nodes, channels) = self.shape;
        let given = self.graph.input(name, &[rows, columns, channels]);
        let flat = self.graph.shaped(&given, &[nodes, channels]);
        let exact = self.graph.cast(&flat, Kind::F64);
        let about = self.graph.plain("Sub", &[&exact, &self.scales.0]);
        let scaled = self.graph.plain("Div", &[&about, &self.scales.1]);
        let scaled = self.graph.cast(&scaled, Kind::F32);
        let Some(held) = &self.held else {
            return scaled;
        };
        let zero = self.graph.reals(&[1, 1], &[0.0]);
        self.graph.plain("Where", &[held, &zero, &scaled])
    }

    /// What each set of nodes is fed.
    fn inputs(&mut self) -> Vec<Option<String>> {
        let problem = self.problem;
        let (rows, columns, nodes, channels) = self.shape;
        let mut whole = self.graph.beside(&[&self.before, &self.now]);
        if problem.is_forecast() {
            let scales = self.graph.reals(&[1, channels], &problem.tendency_scales);
            let change = self.graph.plain("Sub", &[&self.now, &self.before]);
            let tendency = self.graph.plain("Mul", &[&change, &scales]);
            let sky = [3, rows, columns, FORCINGS];
            let sky = self.graph.input("forcings", &sky);
            let sky = self.graph.shaped(&sky, &[3, nodes, FORCINGS]);
            let first = self.graph.whole(&[0]);
            let mut parts = vec![tendency, self.now.clone()];
            for time in 0..3 {
                let index = self.graph.whole(&[time]);
                let one = self.graph.rows(&sky, &index);
                parts.push(self.graph.plain("Squeeze", &[&one, &first]));
            }
            let (values, width) = (&problem.statics.0, problem.statics.1);
            parts.push(self.graph.reals(&[nodes, width], values));
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            whole = self.graph.beside(&parts);
        }
        let mut inputs = vec![None; problem.spec.nodes.len()];
        for fed in &problem.fed {
            let index = self.graph.indices(fed.nodes.iter().copied());
            inputs[fed.set] = Some(self.graph.rows(&whole, &index));
        }
        inputs
    }

    /// The changes that a forecast goes on with.
    fn going_on(&mut self) -> String {
        let (_, _, nodes, channels) = self.shape;
        let scales = &self.problem.normaliser;
        let Some(linear) = &scales.linear else {
            let momentum: Vec<f32> = scales.momentum.iter().map(|&a| a as f32).collect();
            let momentum = self.graph.reals(&[1, channels], &momentum);
            let change = self.graph.plain("Sub", &[&self.now, &self.before]);
            return self.graph.plain("Mul", &[&change, &momentum]);
        };
        let around = (0..nodes).flat_map(|node| (0..NEIGHBOURS).map(move |k| (node, k)));
        let around = around.map(|(node, k)| linear.neighbour(node, k) as u32);
        let index = self.graph.indices(around);
        let width = NEIGHBOURS * channels;
        let mut near = |state: &str| {
            let rows = self.graph.rows(state, &index);
            self.graph.shaped(&rows, &[nodes, width])
        };
        let (before, now) = (near(&self.before), near(&self.now));
        let near = self.graph.beside(&[&before, &now]);
        let lines = linear.weights.chunks_exact(linear.stride());
        let lines: Vec<f32> = lines.flat_map(|line| line[..channels].to_vec()).collect();
        let (weights, constant) = lines.split_at(2 * width * channels);
        let weights = self
            .graph
            .weights("linear", &[2 * width, channels], weights);
        let constant = self.graph.reals(&[1, channels], constant);
        let product = self.graph.plain("MatMul", &[&near, &weights]);
        self.graph.plain("Add", &[&product, &constant])
    }

    /// What a network adds to each channel: nothing to those that it reads alone.
    fn of_channels(&mut self, added: &str) -> String {
        let (_, _, nodes, channels) = self.shape;
        let targets = &self.problem.targets;
        if targets.len() == channels {
            return added.to_string();
        }
        let nothing = self.graph.reals(&[nodes, 1], &vec![0.0; nodes]);
        let all = self.graph.beside(&[added, &nothing]);
        let place = |k: usize| targets.iter().position(|&t| t == k);
        let places = (0..channels).map(|k| place(k).unwrap_or(targets.len()) as u32);
        let index = self.graph.indices(places);
        self.graph.columns(&all, &index)
    }

    /// The state that follows, as `forecast` and as `next`.
    fn forecast(&mut self, added: &str) {
        let (rows, columns, nodes, channels) = self.shape;
        let scales = &self.problem.normaliser;
        let going_on = self.going_on();
        let sd = self.graph.doubles(&scales.rest_sd);
        let mean = self.graph.doubles(&scales.rest_mean);
        let added = self.of_channels(added);
        let exact = self.graph.cast(&added, Kind::F64);
        let spread = self.graph.plain("Mul", &[&exact, &sd]);
        let rest = self.graph.plain("Add", &[&spread, &mean]);
        let rest = self.graph.cast(&rest, Kind::F32);
        let moved = self.graph.plain("Add", &[&self.now, &going_on]);
        let mut next = self.graph.plain("Add", &[&moved, &rest]);
        if self.problem.needs_truth() {
            let alone: Vec<usize> = self.problem.read_alone().collect();
            let weights = self.problem.node_weights.iter();
            let of_node = |w: &f32| {
                let edge = *w == 0.0;
                let alone = &alone;
                (0..channels)
                    .map(move |k| edge || alone.contains(&k))
                    .collect::<Vec<_>>()
            };
            let forced: Vec<bool> = weights.flat_map(of_node).collect();
            let truth = self.state("boundary");
            let forced = self.graph.truths(&[nodes, channels], &forced);
            next = self.graph.plain("Where", &[&forced, &truth, &next]);
        }
        if let Some(held) = &self.held {
            next = self.graph.plain("Where", &[held, &self.now, &next]);
        }
        let exact = self.graph.cast(&next, Kind::F64);
        let spread = self.graph.plain("Mul", &[&exact, &self.scales.1]);
        let values = self.graph.plain("Add", &[&spread, &self.scales.0]);
        let values = self.graph.cast(&values, Kind::F32);
        let shape = [rows, columns, channels];
        let next = self.graph.shaped(&values, &shape);
        self.graph.named("next", "Identity", &[&next], &[]);
        self.graph.output("next", &shape);
        let all = &self.problem.archive.channels;
        let least = all.iter().map(|c| match c.is_rain() {
            true => 0.0,
            false => f32::NEG_INFINITY,
        });
        let least: Vec<f32> = least.collect();
        let least = self.graph.reals(&[1, channels], &least);
        let mut shown = self.graph.plain("Max", &[&values, &least]);
        if let Some(held) = &self.held {
            let nothing = self.graph.reals(&[1, 1], &[f32::NAN]);
            shown = self.graph.plain("Where", &[held, &nothing, &shown]);
        }
        let shown = self.graph.shaped(&shown, &shape);
        self.graph.named("forecast", "Identity", &[&shown], &[]);
        self.graph.output("forecast", &shape);
    }

    /// Rain at the output nodes, NaN elsewhere, as `forecast`.
    fn rain(&mut self, added: &str) {
        let (rows, columns, nodes, _) = self.shape;
        let (problem, scales) = (self.problem, &self.problem.normaliser);
        let channel = problem.targets[0];
        let sd = self.graph.doubles(&[scales.sd[channel]]);
        let mean = self.graph.doubles(&[scales.mean[channel]]);
        let exact = self.graph.cast(added, Kind::F64);
        let spread = self.graph.plain("Mul", &[&exact, &sd]);
        let values = self.graph.plain("Add", &[&spread, &mean]);
        let values = self.graph.cast(&values, Kind::F32);
        let zero = self.graph.reals(&[1, 1], &[0.0]);
        let values = self.graph.plain("Max", &[&values, &zero]);
        let nothing = self.graph.reals(&[nodes, 1], &vec![f32::NAN; nodes]);
        let index = self.graph.indices(problem.outputs.iter().copied());
        let index = self.graph.shaped(&index, &[problem.outputs.len(), 1]);
        let all = self.graph.plain("ScatterND", &[&nothing, &index, &values]);
        let all = self.graph.shaped(&all, &[rows, columns]);
        self.graph.named("forecast", "Identity", &[&all], &[]);
        self.graph.output("forecast", &[rows, columns]);
    }
}
