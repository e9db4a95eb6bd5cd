//! Kernel texts, compiled as C++ and run here, against the CPU engine, bit for bit.

use super::has_compiler;
use fitzroy::model::joint::{Coordinates, Graphs, Joint};
use fitzroy_device::cpu::Function;
use fitzroy_device::gpu::host::HostLibrary;
use fitzroy_device::gpu::text::{Precision, Source, emit_in};
use fitzroy_graph::{NodeId, Op};

/// A density: its graphs, its text, and what the CPU engine says of it.
pub(crate) struct Case {
    name: String,
    graphs: Graphs,
    pub(crate) source: Source,
    slopes: Vec<(usize, NodeId)>,
}

impl Case {
    /// A model with all its effects centred.
    pub(crate) fn centred(name: String, joint: &Joint) -> Case {
        Case::new(
            name,
            joint,
            &vec![Coordinates::Centred; joint.plates().len()],
        )
    }

    pub(crate) fn new(name: String, joint: &Joint, coordinates: &[Coordinates]) -> Case {
        Case::in_precision(name, joint, coordinates, Precision::F64)
    }

    fn in_precision(
        name: String,
        joint: &Joint,
        coordinates: &[Coordinates],
        precision: Precision,
    ) -> Case {
        let graphs = joint.graphs(coordinates);
        let slopes: Vec<(usize, NodeId)> = graphs
            .gradient
            .iter()
            .map(|p| match graphs.graph.node(p.param).op {
                Op::Param { offset } => (offset, p.adjoint),
                _ => panic!("a gradient is with respect to a parameter"),
            })
            .collect();
        let source = emit_in(
            &graphs.graph,
            &graphs.bindings,
            graphs.density,
            &slopes,
            joint.n_params(),
            precision,
        )
        .unwrap();
        Case {
            name,
            graphs,
            source,
            slopes,
        }
    }

    /// With sums in f64 and all else in f32.
    pub(crate) fn mixed(name: String, joint: &Joint) -> Case {
        let centred = vec![Coordinates::Centred; joint.plates().len()];
        Case::in_precision(name, joint, &centred, Precision::Mixed)
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

/// Of the points that are tried: what is usual, and what only a search that has lost its way comes to.
const SCALES: [f64; 9] = [1.0, 1.0, 1.0, 7.0, 40.0, 1e-9, 1e5, 1e20, 1e170];

/// With one thread and with many; `finite` asks for values that are numbers.
pub(crate) fn assert_same_bits(cases: &[Case], finite: bool) {
    if !has_compiler() {
        return;
    }
    let sources: Vec<&Source> = cases.iter().map(|c| &c.source).collect();
    let mut library = HostLibrary::densities(&sources).unwrap();
    for (k, case) in cases.iter().enumerate() {
        for (point, scale) in SCALES.iter().enumerate() {
            let q: Vec<f64> = (0..case.source.dim)
                .map(|i| scale * (0.9 * ((i * 37 + point * 11) % 19) as f64 / 19.0 - 0.4))
                .collect();
            let expected = case.expected(&q);
            let number = expected.iter().position(|x| !x.is_finite());
            assert!(
                !finite || *scale != 1.0 || number.is_none(),
                "{}, number {number:?}",
                case.name
            );
            for threads in [1, 32, 128] {
                let (values, gradient) = library
                    .value_and_gradient(k, &case.source, &q, threads, point as u32)
                    .unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let first = values[0].to_bits();
                assert!(
                    values.iter().all(|v| v.to_bits() == first),
                    "{}, {threads} threads: {values:?}",
                    case.name
                );
                let got: Vec<f64> = values[..1].iter().chain(&gradient).copied().collect();
                for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
                    // Zero over an infinite scale may have another sign, which nothing looks at.
                    let same = a.to_bits() == b.to_bits()
                        || (a.is_nan() && b.is_nan())
                        || (*scale != 1.0 && *a == 0.0 && *b == 0.0);
                    assert!(
                        same,
                        "{}, {threads} threads, scale {scale:e}, number {i}: {a:e}, the engine gives {b:e}",
                        case.name
                    );
                }
            }
        }
    }
}

/// How far a number in mixed precision may lie from that of f64, of the size of all: terms cancel.
const MIXED: f64 = 1e-3;

/// Kernels in mixed precision give about the numbers of f64, and the same for any number of threads.
pub(crate) fn assert_near(cases: &[Case]) {
    if !has_compiler() {
        return;
    }
    let sources: Vec<&Source> = cases.iter().map(|c| &c.source).collect();
    let mut library = HostLibrary::densities(&sources).unwrap();
    for (k, case) in cases.iter().enumerate() {
        let q: Vec<f64> = (0..case.source.dim)
            .map(|i| 0.9 * ((i * 37) % 19) as f64 / 19.0 - 0.4)
            .collect();
        let expected = case.expected(&q);
        let size = 1.0 + expected.iter().map(|x| x.abs()).sum::<f64>();
        let mut first: Option<Vec<u64>> = None;
        for threads in [1, 32, 128] {
            let (values, gradient) = library
                .value_and_gradient(k, &case.source, &q, threads, 3)
                .unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let got: Vec<f64> = values[..1].iter().chain(&gradient).copied().collect();
            let bits: Vec<u64> = values
                .iter()
                .take(1)
                .chain(&gradient)
                .map(|x| x.to_bits())
                .collect();
            assert_eq!(
                *first.get_or_insert_with(|| bits.clone()),
                bits,
                "{}",
                case.name
            );
            for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
                assert!(
                    (a - b).abs() <= MIXED * size || !b.is_finite(),
                    "{}, {threads} threads, number {i}: {a:e}, in f64 {b:e}",
                    case.name
                );
            }
        }
    }
}
