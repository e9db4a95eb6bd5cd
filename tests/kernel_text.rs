//! Kernel texts of the example models, compiled as C++ and run here, give the bits of the CPU
//! engine: with one thread, and with many in shuffled order.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::model::joint::{Coordinates, Graphs, Joint};
use fitzroy_device::cpu::Function;
use fitzroy_device::gpu::host::HostLibrary;
use fitzroy_device::gpu::text::{Source, emit};
use fitzroy_graph::{NodeId, Op};
use support::{EXAMPLES, has_compiler};

/// A density: its graphs, its text, and what the CPU engine says of it.
struct Case {
    name: String,
    graphs: Graphs,
    source: Source,
    slopes: Vec<(usize, NodeId)>,
}

impl Case {
    fn new(name: String, joint: &Joint, coordinates: &[Coordinates]) -> Case {
        let graphs = joint.graphs(coordinates);
        let slopes: Vec<(usize, NodeId)> = graphs
            .gradient
            .iter()
            .map(|p| match graphs.graph.node(p.param).op {
                Op::Param { offset } => (offset, p.adjoint),
                _ => panic!("a gradient is with respect to a parameter"),
            })
            .collect();
        let source = emit(
            &graphs.graph,
            &graphs.bindings,
            graphs.density,
            &slopes,
            joint.n_params(),
        )
        .unwrap();
        Case {
            name,
            graphs,
            source,
            slopes,
        }
    }

    /// Value and gradient by the CPU engine.
    fn expected(&self, q: &[f64]) -> Vec<f64> {
        let mut outputs = vec![self.graphs.density];
        outputs.extend(self.slopes.iter().map(|s| s.1));
        let graphs = &self.graphs;
        let function = Function::compile(&graphs.graph, &graphs.bindings, &outputs).unwrap();
        let mut workspace = function.workspace();
        function.run(&mut workspace, q);
        let mut out = vec![0.0; 1 + q.len()];
        out[0] = function.output(&workspace, 0)[0];
        for (k, (offset, _)) in self.slopes.iter().enumerate() {
            let part = function.output(&workspace, k + 1);
            let to = &mut out[1 + offset..];
            to.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        }
        out
    }
}

/// All examples in three choices of coordinates.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file, _) in EXAMPLES {
        let Some(joint) = support::example_joint(name, file) else {
            continue;
        };
        let partial = |plate: &fitzroy::model::joint::Plate| {
            let len = joint.parameters()[plate.parameter].len;
            Coordinates::Partial(
                (0..len)
                    .map(|j| 0.2 + 0.6 * j as f64 / len as f64)
                    .collect(),
            )
        };
        let plates = joint.plates();
        let mut choices = vec![vec![Coordinates::Centred; plates.len()]];
        if !plates.is_empty() {
            choices.push(vec![Coordinates::NonCentred; plates.len()]);
            choices.push(plates.iter().map(partial).collect());
        }
        for (k, choice) in choices.iter().enumerate() {
            cases.push(Case::new(
                format!("{name}, coordinates {k}"),
                &joint,
                choice,
            ));
        }
    }
    cases
}

#[test]
fn texts_give_the_bits_of_the_engine_with_one_thread_and_with_many() {
    if !has_compiler() {
        return;
    }
    assert_same_bits(&cases(), false);
}

/// Every distribution and every function of the language, in models made for the purpose, whose
/// densities are numbers at the points that are tried.
#[test]
fn texts_of_all_distributions_and_functions_give_the_bits_of_the_engine() {
    if !has_compiler() {
        return;
    }
    let models = support::language::joints().into_iter();
    let centred = |joint: &Joint| vec![Coordinates::Centred; joint.plates().len()];
    let cases = models.map(|(name, joint)| Case::new(name.into(), &joint, &centred(&joint)));
    assert_same_bits(&cases.collect::<Vec<Case>>(), true);
}

/// Catches a distribution or a function that is new and that no kernel has been made of.
#[test]
fn no_distribution_and_no_function_is_left_out() {
    let models = support::language::models();
    let text: String = models.iter().map(|m| m.1.as_str()).collect();
    let distributions = fitzroy::dist::entries().into_iter().map(|e| e.name);
    let functions = fitzroy::model::functions::FUNCTIONS.iter().map(|f| f.name);
    for name in distributions.chain(functions) {
        let starts: Vec<usize> = text
            .match_indices(&format!("{name}("))
            .map(|m| m.0)
            .collect();
        let whole = |at: &usize| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        assert!(starts.iter().any(whole), "{name}");
    }
}

/// With one thread and with many; `finite` asks for values that are numbers.
fn assert_same_bits(cases: &[Case], finite: bool) {
    let sources: Vec<&Source> = cases.iter().map(|c| &c.source).collect();
    let mut library = HostLibrary::densities(&sources).unwrap();
    for (k, case) in cases.iter().enumerate() {
        for point in 0..3 {
            let q: Vec<f64> = (0..case.source.dim)
                .map(|i| 0.9 * ((i * 37 + point * 11) % 19) as f64 / 19.0 - 0.4)
                .collect();
            let expected = case.expected(&q);
            let number = expected.iter().position(|x| !x.is_finite());
            assert!(
                !finite || number.is_none(),
                "{}, number {number:?}",
                case.name
            );
            for threads in [1, 32, 128] {
                let (values, gradient) = library
                    .value_and_gradient(k, &case.source, &q, threads, point as u32)
                    .unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let first = values[0].to_bits();
                assert!(values.iter().all(|v| v.to_bits() == first), "{}", case.name);
                let got: Vec<f64> = values[..1].iter().chain(&gradient).copied().collect();
                for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
                    let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                    assert!(
                        same,
                        "{}, {threads} threads, number {i}: {a:e}, the engine gives {b:e}",
                        case.name
                    );
                }
            }
        }
    }
}
