//! What a network is made of: sets of nodes and edges, stages, sizes; and what can be wrong.

use super::block::Edges;
use fitzroy_graph::{Error, ErrorKind, Named, Result};

/// What a set of nodes is fed with.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Numbers that differ from sample to sample.
    Samples {
        /// Numbers of a node.
        channels: usize,
    },
    /// Numbers that are always the same, node by node.
    Fixed {
        /// Numbers of a node.
        channels: usize,
        /// All of them.
        values: Vec<f64>,
    },
}

/// A set of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSet {
    /// Its name, part of the names of parameters.
    pub name: String,
    /// Number of nodes.
    pub n: usize,
    /// Its input.
    pub input: Input,
}

impl NodeSet {
    /// `n` nodes that are fed `channels` numbers each, sample by sample.
    pub fn samples(name: &str, n: usize, channels: usize) -> Self {
        NodeSet {
            name: name.into(),
            n,
            input: Input::Samples { channels },
        }
    }

    /// Nodes whose `channels` numbers never change.
    pub fn fixed(name: &str, channels: usize, values: Vec<f64>) -> Self {
        NodeSet {
            name: name.into(),
            n: values.len() / channels,
            input: Input::Fixed { channels, values },
        }
    }
}

/// A set of edges, sorted by (receiver, sender).
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeSet {
    /// Its name, part of the names of parameters.
    pub name: String,
    /// Number of the set of senders.
    pub from: usize,
    /// Number of the set of receivers.
    pub to: usize,
    /// Senders, counted within their set.
    pub senders: Vec<u32>,
    /// Receivers, counted within their set; not decreasing.
    pub receivers: Vec<u32>,
    /// Numbers of an edge.
    pub channels: usize,
    /// All of them, edge by edge.
    pub features: Vec<f64>,
}

/// Messages along some sets of edges, then an update of some sets of nodes; all read the states
/// from before the stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its name, part of the names of parameters.
    pub name: String,
    /// Sets of edges that send.
    pub edges: Vec<usize>,
    /// Sets of nodes that are updated, with the sums of what they receive.
    pub nodes: Vec<usize>,
}

impl Stage {
    /// A stage by its name, the sets of edges that send and the sets of nodes that are updated.
    pub fn new(name: impl Into<String>, edges: &[usize], nodes: &[usize]) -> Self {
        Stage {
            name: name.into(),
            edges: edges.to_vec(),
            nodes: nodes.to_vec(),
        }
    }

    /// `n` stages alike, `layer0` and so on.
    pub fn layers(n: usize, edges: &[usize], nodes: &[usize]) -> impl Iterator<Item = Self> {
        (0..n).map(move |k| Stage::new(format!("layer{k}"), edges, nodes))
    }
}

/// A network:
///
/// ```text
/// encode   h = MLP(input), e = MLP(features)
/// stage    m = MLP([e, h_sender, h_receiver]);  e ← e + m
///          h ← h + MLP([h, Σ m of each set of edges that ends here])
/// decode   out = MLP(h) of one set, without LayerNorm
/// ```
///
/// MLP: hidden layers with SiLU, a linear one, LayerNorm (ε = 1e-5).
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Width of all states.
    pub latent: usize,
    /// Width of hidden layers.
    pub hidden: usize,
    /// Number of hidden layers of each perceptron, at least one.
    pub n_hidden: usize,
    /// Sets of nodes.
    pub nodes: Vec<NodeSet>,
    /// Sets of edges.
    pub edges: Vec<EdgeSet>,
    /// Stages, in order.
    pub stages: Vec<Stage>,
    /// The set of nodes that is decoded.
    pub output: usize,
    /// Numbers of a node that are decoded.
    pub out_channels: usize,
}

/// What the backward pass computes again instead of reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recompute {
    /// Nothing: fastest.
    #[default]
    None,
    /// The inside of every perceptron: only states are kept, about a quarter of the memory.
    Mlp,
    /// The same, and the states between: of L equal stages in a row, states are kept after every
    /// ⌈√L⌉-th alone, and each group of stages runs forward again before it runs backward.
    Layer,
}

impl Named for Recompute {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Recompute::None),
        ("mlp", Recompute::Mlp),
        ("layer", Recompute::Layer),
    ];
}

/// A parameter array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `BLOCK.w0`, `BLOCK.b0`, ..., `BLOCK.gamma`, `BLOCK.beta`, where the block is
    /// `embed.nodes.SET`, `embed.edges.SET`, `STAGE.edges.SET`, `STAGE.nodes.SET` or `decode`.
    pub name: String,
    /// (inputs, outputs) of a weight, (n) of the others.
    pub shape: Vec<usize>,
    /// Where it starts among all parameters.
    pub offset: usize,
}

impl Parameter {
    /// Number of elements.
    pub fn n(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Edges by receiver and by sender.
pub(super) fn index(spec: &Spec, set: &EdgeSet) -> Edges {
    let starts = |keys: &[u32], n: usize| {
        let mut starts = vec![0_u32; n + 1];
        for &key in keys {
            starts[key as usize + 1] += 1;
        }
        for k in 0..n {
            starts[k + 1] += starts[k];
        }
        starts
    };
    let own: Vec<u32> = (0..set.senders.len() as u32).collect();
    let mut sent = own.clone();
    sent.sort_by_key(|&edge| set.senders[edge as usize]);
    Edges {
        by_receiver: starts(&set.receivers, spec.nodes[set.to].n),
        by_sender: starts(&set.senders, spec.nodes[set.from].n),
        senders: set.senders.clone(),
        receivers: set.receivers.clone(),
        sent,
        own,
    }
}

/// Everything that could be wrong with a specification.
pub(super) fn check(spec: &Spec) -> Result<()> {
    let fail = |message: String| Err(Error::new(ErrorKind::Data, message));
    if [spec.latent, spec.hidden, spec.n_hidden, spec.out_channels].contains(&0) {
        return fail("a network needs at least one number in every layer, and one layer".into());
    }
    for set in &spec.nodes {
        let (channels, len) = match &set.input {
            Input::Samples { channels } => (*channels, set.n * channels),
            Input::Fixed { channels, values } => (*channels, values.len()),
        };
        if set.n == 0 || channels == 0 || len != set.n * channels {
            let name = &set.name;
            return fail(format!(
                "nodes `{name}`: {len} numbers for {} nodes of {channels}",
                set.n
            ));
        }
    }
    for set in &spec.edges {
        let name = &set.name;
        let n = set.senders.len();
        if set.receivers.len() != n || set.features.len() != n * set.channels || n == 0 {
            return fail(format!(
                "edges `{name}`: senders, receivers and features differ in number"
            ));
        }
        let (from, to) = (spec.nodes[set.from].n, spec.nodes[set.to].n);
        let pairs: Vec<(u32, u32)> = set
            .receivers
            .iter()
            .copied()
            .zip(set.senders.iter().copied())
            .collect();
        for (edge, &(receiver, sender)) in pairs.iter().enumerate() {
            if receiver as usize >= to || sender as usize >= from {
                return fail(format!(
                    "edges `{name}`: edge {edge} goes from node {sender} of {from} to node \
                     {receiver} of {to}; indices must count within their own sets"
                ));
            }
            if set.from == set.to && receiver == sender {
                return fail(format!(
                    "edges `{name}`: edge {edge} ends where it starts ({sender})"
                ));
            }
        }
        if let Some(edge) = pairs.windows(2).position(|pair| pair[0] >= pair[1]) {
            return fail(format!(
                "edges `{name}`: edge {} is not after edge {edge}; sort by receiver, then sender, \
                 without repeats",
                edge + 1
            ));
        }
    }
    for stage in &spec.stages {
        for &set in &stage.edges {
            if !stage.nodes.contains(&spec.edges[set].to) {
                let name = &spec.edges[set].name;
                return fail(format!("stage `{}`: nobody receives `{name}`", stage.name));
            }
        }
    }
    Ok(())
}
