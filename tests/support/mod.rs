//! What several test files share: models bound to data, and their densities on any level.
// Every test file uses a part of it.
#![allow(dead_code)]
#![allow(clippy::print_stderr)] // a skipped test says so

pub(crate) mod draws;
pub(crate) mod kernels;
pub(crate) mod language;
pub(crate) mod rewritten;
mod special;
pub(crate) mod trials;

use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::{Chosen, Coordinates, Graphs, Joint, TermKind};
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{NodeId, Op, evaluate};
use std::path::{Path, PathBuf};

/// Name, data file, and name of the reference posterior of every example model.
pub(crate) const EXAMPLES: [(&str, &str, &str); 21] = [
    ("linear", "linear.csv", "linear"),
    ("logistic", "logistic.csv", "logistic"),
    ("poisson", "counts.csv", "poisson"),
    ("negative-binomial", "counts.csv", "negative-binomial"),
    ("hierarchical", "hierarchical.csv", "hierarchical"),
    (
        "hierarchical-noncentred",
        "hierarchical.csv",
        "hierarchical",
    ),
    ("eight-schools", "eight-schools.csv", "eight-schools"),
    (
        "eight-schools-noncentred",
        "eight-schools.csv",
        "eight-schools",
    ),
    ("radon", "radon.json", "radon"),
    ("artists", "artists.json", "artists"),
    (
        "conversion-funnel",
        "conversion-funnel.csv",
        "conversion-funnel",
    ),
    ("energy", "energy.json", "energy"),
    ("mixture", "mixture.csv", "mixture"),
    ("random-walk", "random-walk.csv", "random-walk"),
    ("pumps", "pumps.csv", "pumps"),
    ("seeds", "seeds.csv", "seeds"),
    ("rats", "rats.csv", "rats"),
    ("ratings", "ratings.csv", "ratings"),
    ("slopes", "slopes.csv", "slopes"),
    ("trips", "trips.json", "trips"),
    ("autoregression", "autoregression.csv", "autoregression"),
];

/// A path of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The text of a file of the repository.
#[track_caller]
pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// An example model and its data.
pub(crate) fn example(name: &str, file: &str) -> (Model, Dataset) {
    let path = format!("models/{name}.fz");
    let model = Model::parse(&text(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut data = Dataset::new();
    let arrays = read_file(repository(&format!("models/{file}"))).expect("the data read");
    arrays.into_iter().for_each(|array| data.insert(array));
    (model, data)
}

/// The joint density of an example; none while it names a distribution that has no density yet.
pub(crate) fn example_joint(name: &str, file: &str) -> Option<Joint> {
    let (model, data) = example(name, file);
    let binding = model.bind(&data).unwrap_or_else(|e| panic!("{name}: {e}"));
    match Joint::new(&model, binding) {
        Ok(joint) => Some(joint),
        Err(e) if e.to_string().contains("is not available here") => {
            eprintln!("skipped: {name} needs a distribution that is not there yet");
            None
        }
        Err(e) => panic!("{name}: {e}"),
    }
}

/// A model text bound to data.
#[track_caller]
pub(crate) fn joint(text: &str, data: &Dataset) -> Joint {
    let model = Model::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let binding = model.bind(data).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Joint::new(&model, binding).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The log density of a model in one choice of coordinates, compiled.
pub(crate) struct Density {
    pub(crate) graphs: Graphs,
    pub(crate) dim: usize,
    outputs: Vec<NodeId>,
    /// Offset and length of each part of the gradient.
    parts: Vec<(usize, usize)>,
    function: Function,
    workspace: Workspace,
}

impl Density {
    /// On the widest level of this machine.
    pub(crate) fn new(joint: &Joint, coordinates: &[Coordinates]) -> Density {
        Density::at(Level::detect(), joint, coordinates)
    }

    /// On `level`.
    pub(crate) fn at(level: Level, joint: &Joint, coordinates: &[Coordinates]) -> Density {
        Density::of(level, joint, &coordinates.into())
    }

    /// On `level`, in coordinates with scales that may have a sign.
    pub(crate) fn of(level: Level, joint: &Joint, chosen: &Chosen) -> Density {
        let graphs = joint.graphs_of(chosen);
        let mut outputs = vec![graphs.density];
        outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
        let part = |p: &fitzroy_graph::Partial| match graphs.graph.node(p.param).op {
            Op::Param { offset } => (offset, graphs.graph.len(p.param)),
            _ => panic!("a gradient is taken with respect to parameters"),
        };
        let parts = graphs.gradient.iter().map(part).collect();
        let function = Function::compile_for(
            level,
            fitzroy_device::cpu::Engine::Auto,
            &graphs.graph,
            &graphs.bindings,
            &outputs,
        )
        .expect("it compiles");
        Density {
            workspace: function.workspace(),
            dim: joint.n_params(),
            function,
            outputs,
            parts,
            graphs,
        }
    }

    /// How many numbers the values of the graph that are computed have together.
    #[allow(dead_code)] // not every test asks
    pub(crate) fn numbers(&self) -> usize {
        let graph = &self.graphs.graph;
        let computed = |id: &NodeId| !matches!(graph.node(*id).op, Op::Data(_) | Op::Const(_));
        graph
            .node_ids()
            .filter(computed)
            .map(|id| graph.len(id))
            .sum()
    }

    /// Log density and gradient by the device.
    pub(crate) fn run(&mut self, x: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = vec![0.0; self.dim];
        let value = self.run_into(x, &mut gradient);
        (value, gradient)
    }

    /// The same without a new vector.
    pub(crate) fn run_into(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.function.run(&mut self.workspace, x);
        gradient.fill(0.0);
        for (k, &(offset, len)) in self.parts.iter().enumerate() {
            let part = self.function.output(&self.workspace, k + 1);
            let slots = &mut gradient[offset..offset + len];
            slots.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        }
        self.function.output(&self.workspace, 0)[0]
    }

    /// The log density alone.
    pub(crate) fn value(&mut self, x: &[f64]) -> f64 {
        self.function.run(&mut self.workspace, x);
        self.function.output(&self.workspace, 0)[0]
    }

    /// Log density and gradient by the reference interpreter.
    pub(crate) fn reference(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let values = self.by_reference(x, &self.outputs);
        let mut gradient = vec![0.0; self.dim];
        for (&(offset, len), part) in self.parts.iter().zip(&values[1..]) {
            let slots = &mut gradient[offset..offset + len];
            slots.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        }
        (values[0][0], gradient)
    }

    /// Any nodes of the graph by the reference interpreter.
    pub(crate) fn by_reference(&self, x: &[f64], nodes: &[NodeId]) -> Vec<Vec<f64>> {
        evaluate(&self.graphs.graph, &self.graphs.bindings, x, nodes)
    }

    /// Location and scale of every plate.
    pub(crate) fn frames(&self, x: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let nodes: Vec<NodeId> = self.graphs.plates.iter().flat_map(|p| [p.0, p.1]).collect();
        let values = self.by_reference(x, &nodes);
        values
            .chunks_exact(2)
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect()
    }

    /// The elements of the likelihood terms by the device, in the user's order of rows.
    pub(crate) fn likelihood(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let terms = self.graphs.terms.iter();
        let nodes: Vec<NodeId> = terms
            .filter(|t| t.kind == TermKind::Likelihood)
            .map(|t| t.node)
            .collect();
        let (graph, bindings) = (&self.graphs.graph, &self.graphs.bindings);
        let function = Function::compile(graph, bindings, &nodes).expect("it compiles");
        let mut workspace = function.workspace();
        function.run(&mut workspace, x);
        (0..nodes.len())
            .map(|k| function.output(&workspace, k).to_vec())
            .collect()
    }
}

/// Every scale that can have a sign with one, and all plates non-centred.
pub(crate) fn signed(joint: &Joint) -> Chosen {
    Chosen {
        plates: everywhere(joint, &Coordinates::NonCentred),
        signed: (0..joint.scales().len()).collect(),
    }
}

/// The same choice for every plate.
pub(crate) fn everywhere(joint: &Joint, choice: &Coordinates) -> Vec<Coordinates> {
    vec![choice.clone(); joint.plates().len()]
}

/// Where two log densities, or two slopes in units of `scale`, differ by at most `bound`.
#[track_caller]
pub(crate) fn near(a: f64, b: f64, scale: f64, bound: f64, what: impl std::fmt::Display) {
    let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= bound * scale;
    assert!(same, "{what}: {a} and {b}, off by {:e}", (a - b) / scale);
}

/// Whether there is a C++ compiler; says so when there is none.
pub(crate) fn has_compiler() -> bool {
    let found = fitzroy_device::gpu::host::HostLibrary::has_compiler();
    assert!(
        found || std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
        "FITZROY_REQUIRE_GXX is set and there is no g++"
    );
    if !found {
        eprintln!("skipped: there is no g++");
    }
    found
}
