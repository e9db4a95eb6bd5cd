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

/// Cases as one library, and what it says of each.
struct Kernels<'c> {
    cases: &'c [Case],
    library: HostLibrary,
}

impl<'c> Kernels<'c> {
    fn of(cases: &'c [Case]) -> Kernels<'c> {
        let sources: Vec<&Source> = cases.iter().map(|c| &c.source).collect();
        let library = HostLibrary::densities(&sources).unwrap();
        Kernels { cases, library }
    }

    /// Value and gradient of case `k`; all threads of the team must have the value.
    fn found(&mut self, k: usize, q: &[f64], threads: usize, seed: u32) -> Vec<f64> {
        let Case { name, source, .. } = &self.cases[k];
        let (values, gradient) = self
            .library
            .value_and_gradient(k, source, q, threads, seed)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let first = values[0].to_bits();
        assert!(
            values.iter().all(|v| v.to_bits() == first),
            "{name}, {threads} threads: {values:?}"
        );
        values[..1].iter().chain(&gradient).copied().collect()
    }
}

impl Case {
    /// Point number `number`, whose coordinates are within half of `scale`.
    fn point(&self, number: usize, scale: f64) -> Vec<f64> {
        let one = |i: usize| 0.9 * ((i * 37 + number * 11) % 19) as f64 / 19.0 - 0.4;
        (0..self.source.dim).map(|i| scale * one(i)).collect()
    }
}

const THREADS: [usize; 3] = [1, 32, 128];

/// Of the points that are tried: what is usual, and what only a search that has lost its way comes to.
const SCALES: [f64; 9] = [1.0, 1.0, 1.0, 7.0, 40.0, 1e-9, 1e5, 1e20, 1e170];

/// With one thread and with many; `finite` asks for values that are numbers.
pub(crate) fn assert_same_bits(cases: &[Case], finite: bool) {
    if !has_compiler() {
        return;
    }
    let mut kernels = Kernels::of(cases);
    for (k, case) in cases.iter().enumerate() {
        for (number, &scale) in SCALES.iter().enumerate() {
            let q = case.point(number, scale);
            let expected = case.expected(&q);
            let odd = expected.iter().position(|x| !x.is_finite());
            assert!(
                !finite || scale != 1.0 || odd.is_none(),
                "{}, number {odd:?}",
                case.name
            );
            for threads in THREADS {
                let got = kernels.found(k, &q, threads, number as u32);
                for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
                    // Zero over an infinite scale may have another sign, which nothing looks at.
                    let same = a.to_bits() == b.to_bits()
                        || (a.is_nan() && b.is_nan())
                        || (scale != 1.0 && *a == 0.0 && *b == 0.0);
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
    let mut kernels = Kernels::of(cases);
    for (k, case) in cases.iter().enumerate() {
        let q = case.point(0, 1.0);
        let expected = case.expected(&q);
        let size = 1.0 + expected.iter().map(|x| x.abs()).sum::<f64>();
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let of_teams = THREADS.map(|threads| kernels.found(k, &q, threads, 3));
        for got in &of_teams {
            assert_eq!(bits(got), bits(&of_teams[0]), "{}", case.name);
        }
        for (i, (a, b)) in of_teams[0].iter().zip(&expected).enumerate() {
            assert!(
                (a - b).abs() <= MIXED * size || !b.is_finite(),
                "{}, number {i}: {a:e}, in f64 {b:e}",
                case.name
            );
        }
    }
}
