//! The network as nodes of ONNX: perceptrons, messages along edges, their sums.

use super::graph::{Attribute, Graph};
use fitzroy_device::nn::{Input, Network, Spec};

/// A network that is written into a graph.
pub(super) struct Written<'a> {
    /// What it is made of.
    pub(super) spec: &'a Spec,
    /// Its parameter arrays.
    pub(super) network: &'a Network,
    /// Their numbers.
    pub(super) parameters: &'a [f32],
}

impl Written<'_> {
    /// Encode, process, decode: `inputs` are those of the sets of nodes that are fed. What comes
    /// out is called `added`, (node, channel).
    pub(super) fn write(&self, graph: &mut Graph, inputs: &[Option<String>]) -> String {
        let spec = self.spec;
        let mut nodes: Vec<String> = Vec::new();
        for (set, given) in spec.nodes.iter().zip(inputs) {
            let input = match (&set.input, given) {
                (Input::Fixed { channels, values }, _) => fixed(graph, *channels, values),
                (Input::Samples { .. }, given) => given.clone().expect("the set is fed"),
            };
            let name = format!("embed.nodes.{}", set.name);
            nodes.push(self.perceptron(graph, &name, &input));
        }
        let mut edges: Vec<String> = Vec::new();
        let mut ends = Vec::new();
        for set in &spec.edges {
            let input = fixed(graph, set.channels, &set.features);
            let name = format!("embed.edges.{}", set.name);
            edges.push(self.perceptron(graph, &name, &input));
            let senders = graph.indices(set.senders.iter().copied());
            ends.push((senders, graph.indices(set.receivers.iter().copied())));
        }
        for stage in &spec.stages {
            let before = nodes.clone();
            let mut sums: Vec<(usize, String)> = Vec::new();
            for &k in &stage.edges {
                let (set, (senders, receivers)) = (&spec.edges[k], &ends[k]);
                let from = graph.rows(&before[set.from], senders);
                let to = graph.rows(&before[set.to], receivers);
                let all = graph.beside(&[&edges[k], &from, &to]);
                let name = format!("{}.edges.{}", stage.name, set.name);
                let message = self.perceptron(graph, &name, &all);
                sums.push((set.to, self.sum(graph, k, receivers, &message)));
                edges[k] = graph.plain("Add", &[&edges[k], &message]);
            }
            for &k in &stage.nodes {
                let mut parts = vec![before[k].as_str()];
                let own = sums.iter().filter(|(to, _)| *to == k);
                parts.extend(own.map(|(_, sum)| sum.as_str()));
                let all = graph.beside(&parts);
                let name = format!("{}.nodes.{}", stage.name, spec.nodes[k].name);
                let change = self.perceptron(graph, &name, &all);
                nodes[k] = graph.plain("Add", &[&before[k], &change]);
            }
        }
        let out = self.perceptron(graph, "decode", &nodes[spec.output]);
        graph.named("added", "Identity", &[&out], &[])
    }

    /// The sums of what arrives at each receiver of a set of edges.
    fn sum(&self, graph: &mut Graph, set: usize, receivers: &str, message: &str) -> String {
        let set = &self.spec.edges[set];
        let (n, width) = (self.spec.nodes[set.to].n, self.spec.latent);
        let nothing = graph.reals(&[n, width], &vec![0.0; n * width]);
        let rows = graph.shaped(receivers, &[set.receivers.len(), 1]);
        let add = [Attribute::Text("reduction", "add")];
        graph.node("ScatterND", &[&nothing, &rows, message], &add)
    }

    /// Hidden layers with SiLU, a linear one, and LayerNorm where the block has one.
    fn perceptron(&self, graph: &mut Graph, block: &str, input: &str) -> String {
        let n_hidden = self.spec.n_hidden;
        let mut x = input.to_string();
        for k in 0..=n_hidden {
            let weight = self.weights(graph, &format!("{block}.w{k}"));
            let offset = self.weights(graph, &format!("{block}.b{k}"));
            let (Some(weight), Some(offset)) = (weight, offset) else {
                continue;
            };
            let product = graph.plain("MatMul", &[&x, &weight]);
            x = graph.plain("Add", &[&product, &offset]);
            if k < n_hidden {
                let gate = graph.plain("Sigmoid", &[&x]);
                x = graph.plain("Mul", &[&x, &gate]);
            }
        }
        let gamma = self.weights(graph, &format!("{block}.gamma"));
        let beta = self.weights(graph, &format!("{block}.beta"));
        let (Some(gamma), Some(beta)) = (gamma, beta) else {
            return x;
        };
        let width = [
            Attribute::Integer("axis", -1),
            Attribute::Real("epsilon", 1e-5),
        ];
        graph.node("LayerNormalization", &[&x, &gamma, &beta], &width)
    }

    /// A parameter array; none if the network has none of this name.
    fn weights(&self, graph: &mut Graph, name: &str) -> Option<String> {
        let mut all = self.network.parameters().iter();
        let parameter = all.find(|parameter| parameter.name == name)?;
        let values = &self.parameters[parameter.offset..][..parameter.n()];
        Some(graph.weights(name, &parameter.shape, values))
    }
}

/// Numbers that never change, as a table of `channels` columns.
fn fixed(graph: &mut Graph, channels: usize, values: &[f64]) -> String {
    let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    graph.reals(&[values.len() / channels, channels], &values)
}
