//! Tests of the joint density: every distribution of a model against its formula over numbers.

mod functions;
mod further;
mod indexed;
mod interval;
mod matrices;
mod missing;
mod observed;
mod odes;
mod predicted;
mod priors;

use super::{Coordinates, Graphs, Joint};
use crate::data::Dataset;
use crate::model::Model;
use crate::rng::{Purpose, Rng};
use fitzroy_device::cpu::Function;
use fitzroy_graph::{NodeId, Op, evaluate};

/// Arrays of a test: name, shape, values.
type Reals<'a> = [(&'a str, &'a [usize], &'a [f64])];

fn joint(text: &str, data: &Reals<'_>) -> Joint {
    let model = Model::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut set = Dataset::new();
    data.iter()
        .for_each(|(name, shape, v)| set.insert_real(name, shape, v.to_vec()));
    let binding = model.bind(&set).unwrap_or_else(|e| panic!("{e}"));
    Joint::new(&model, binding).unwrap_or_else(|e| panic!("{e}"))
}

fn error(text: &str, data: &Reals<'_>) -> String {
    let model = Model::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut set = Dataset::new();
    data.iter()
        .for_each(|(name, shape, v)| set.insert_real(name, shape, v.to_vec()));
    let result = model.bind(&set).and_then(|b| Joint::new(&model, b));
    result.expect_err("this model is wrong").to_string()
}

/// A joint density with the choice non-centred for every plate, and what is asked of it.
struct Tested {
    graphs: Graphs,
    n_params: usize,
}

impl Tested {
    fn new(text: &str, data: &Reals<'_>) -> Self {
        let joint = joint(text, data);
        let graphs = joint.graphs(&vec![Coordinates::NonCentred; joint.plates().len()]);
        Tested {
            graphs,
            n_params: joint.n_params(),
        }
    }

    fn value(&self, node: NodeId, u: &[f64]) -> Vec<f64> {
        let mut all = u.to_vec();
        all.resize(self.graphs.n_extended.max(u.len()), 0.0);
        let mut out = evaluate(&self.graphs.graph, &self.graphs.bindings, &all, &[node]);
        out.remove(0)
    }

    fn density(&self, u: &[f64]) -> f64 {
        self.value(self.graphs.density, u)[0]
    }

    fn recorded(&self, name: &str, u: &[f64]) -> Vec<f64> {
        let found = self.graphs.recorded.iter().find(|r| r.name == name);
        self.value(found.expect("it is recorded").node, u)
    }

    /// The elements of the term of `name`.
    fn term(&self, name: &str, u: &[f64]) -> Vec<f64> {
        let found = self.graphs.terms.iter().find(|t| t.name == name);
        self.value(found.expect("a term").node, u)
    }

    /// A few points, drawn within ±1.5.
    fn points(&self) -> Vec<Vec<f64>> {
        let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
        let one = |rng: &mut Rng| {
            (0..self.n_params)
                .map(|_| 3.0 * rng.uniform() - 1.5)
                .collect()
        };
        (0..3).map(|_| one(&mut rng)).collect()
    }

    /// That the gradient is the slope of the density, that the sum of each term is the sum of its
    /// elements, and that the compiled density is that of the reference interpreter.
    ///
    /// Bound: central differences at step 1e-5 are good to about 1e-8 here; 2e-6 of the slope
    /// leaves room for densities of large numbers. The compiled density reorders sums, which
    /// costs a few units in the last place of the largest term.
    #[track_caller]
    fn check_gradient(&self) {
        for u in self.points() {
            let (density, gradient) = self.compiled(&u);
            let exact = self.density(&u);
            assert!(exact.is_finite(), "the density at {u:?} is {exact}");
            assert!(
                (density - exact).abs() < 1e-11 * (1.0 + exact.abs()),
                "{density}, not {exact}"
            );
            for k in 0..self.n_params {
                let at = |h: f64| {
                    let mut moved = u.clone();
                    moved[k] += h;
                    self.density(&moved)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                let error = (gradient[k] - slope).abs() / (1.0 + slope.abs());
                assert!(
                    error < 2e-6,
                    "coordinate {k}: gradient {}, slope {slope}",
                    gradient[k]
                );
            }
            for term in &self.graphs.terms {
                let sum: f64 = self.value(term.node, &u).iter().sum();
                let short = self.value(term.sum, &u)[0];
                assert!(
                    (sum - short).abs() < 1e-9 * (1.0 + sum.abs()),
                    "{}: {sum}, {short}",
                    term.name
                );
            }
        }
    }

    /// Density and gradient by the CPU engine.
    fn compiled(&self, u: &[f64]) -> (f64, Vec<f64>) {
        let g = &self.graphs;
        let mut outputs = vec![g.density];
        outputs.extend(g.gradient.iter().map(|p| p.adjoint));
        let function = Function::compile(&g.graph, &g.bindings, &outputs).expect("it compiles");
        let mut workspace = function.workspace();
        function.run(&mut workspace, u);
        let mut gradient = vec![0.0; self.n_params];
        for (k, partial) in g.gradient.iter().enumerate() {
            let Op::Param { offset } = g.graph.node(partial.param).op else {
                panic!("a gradient is with respect to a parameter");
            };
            let part = function.output(&workspace, k + 1);
            gradient[offset..offset + part.len()].copy_from_slice(part);
        }
        (function.output(&workspace, 0)[0], gradient)
    }
}

/// Bound: formulas over numbers and over graphs differ by the order of a few sums.
#[track_caller]
fn assert_near(got: f64, expected: f64) {
    let error = (got - expected).abs() / (1.0 + expected.abs());
    assert!(error < 1e-10, "got {got}, expected {expected}");
}
