//! Row programs against the reference interpreter, at every level and length.

use super::*;
use fitzroy_graph::{Bindings, Expr, Real, Scope, evaluate};

/// A formula with fusions, a pair, a constant output and an output that is a column.
fn formula(scope: &Scope, n: usize) -> (DimId, [NodeId; 8]) {
    let rows = scope.dim("rows", n);
    let (x, y) = (scope.data("x", &[rows]), scope.data("y", &[rows]));
    let [a, b, c] = [0, 1, 2].map(|k| scope.param(k, &[]));
    let e = (-(b * x)).exp();
    let ones = Expr::lit(1.0).broadcast(scope, &[rows]);
    let r = a * e + c - y;
    let s = (x * c).sin();
    let t = (x * c).cos();
    let w = Real::select(x.lt(b), s * e - y, (a + b).exp() + t);
    (rows, [e, r, x, ones, s, t, w, r * r].map(|v| scope.node(v)))
}

fn columns(n: usize) -> [Vec<f64>; 2] {
    let x = |i: usize| (i * 37 % 101) as f64 / 40.0;
    let y = |i: usize| (i * 61 % 89) as f64 / 50.0 - 0.5;
    [(0..n).map(x).collect(), (0..n).map(y).collect()]
}

/// With sums in memory, and few enough that they stay in registers.
#[test]
fn outputs_and_sums_are_those_of_the_reference_at_every_level_and_length() {
    for n in [
        1, 7, 8, 31, 32, 33, 39, 40, 255, 256, 257, 1000, 1024, 1025, 3000, 20_001,
    ] {
        for n_products in [7, 4, 1] {
            sums_are_those_of_the_reference(n, n_products);
        }
    }
}

fn sums_are_those_of_the_reference(n: usize, n_products: usize) {
    let params = [1.3, 0.7, 0.4];
    let scope = Scope::new();
    let (rows, nodes) = formula(&scope, n);
    let graph = scope.finish();
    let data = columns(n);
    let bindings = Bindings {
        data: data.to_vec(),
        indices: vec![],
    };
    let (products, alone) = (&nodes[..n_products], &nodes[7..]);
    let want = evaluate(&graph, &bindings, &params, &[products, alone].concat());
    let mut first: Option<Vec<f64>> = None;
    for (level, engine) in engines() {
        let program = RowProgram::compile_for(level, &graph, rows, products, alone);
        let program = program.with_engine(engine);
        let mut workspace = program.workspace();
        program.set_parameters(&mut workspace, &params);
        let columns = [&data[0][..], &data[1][..]];
        let mut out = vec![vec![0.0; n]; n_products + 1];
        program.evaluate(&mut workspace, &columns, &mut out);
        for (got, want) in out.iter().flatten().zip(want.iter().flatten()) {
            let size = 1.0 + want.abs();
            assert!((got - want).abs() <= 1e-14 * size, "{got} {want}");
        }
        let mut sums = vec![0.0; program.n_sums()];
        let mut bits = Vec::new();
        program.accumulate(&mut workspace, &columns, &mut |tile| {
            bits.extend_from_slice(tile);
            sums.iter_mut().zip(tile).for_each(|(s, t)| *s += t);
        });
        let mut at = 0;
        for a in 0..n_products {
            for b in a..n_products {
                let terms = || (0..n).map(|i| want[a][i] * want[b][i]);
                let (sum, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
                assert!((sums[at] - sum).abs() <= 1e-13 * size, "n {n}, {a} {b}");
                at += 1;
            }
        }
        let alone: f64 = want[n_products].iter().sum();
        assert!((sums[at] - alone).abs() <= 1e-13 * alone);
        assert_eq!(
            &bits,
            first.get_or_insert_with(|| bits.clone()),
            "{level:?} {engine:?} differs"
        );
        ran(&program, level, engine);
    }
}

/// With sums in memory, and few enough that they stay in registers; of problems with equally many
/// rows, and others.
#[test]
fn eight_problems_side_by_side_are_the_same_as_one_by_one() {
    let equal = [49; 8];
    let different = [49, 3, 49, 17, 1, 48, 33, 40];
    for n_products in [7, 4, 1] {
        eight_are_the_same(n_products, &equal);
        eight_are_the_same(n_products, &different);
    }
}

fn eight_are_the_same(n_products: usize, n_rows: &[usize; 8]) {
    let scope = Scope::new();
    let (rows, nodes) = formula(&scope, 1);
    let graph = scope.finish();
    let n = 49;
    let data: Vec<[Vec<f64>; 2]> = (0..8).map(|k| columns(n + k)).collect();
    let mut wide = [vec![0.0; 8 * n], vec![0.0; 8 * n]];
    for (column, wide) in wide.iter_mut().enumerate() {
        for (at, value) in wide.iter_mut().enumerate() {
            *value = data[at % 8][column][at / 8];
        }
    }
    let params: [[f64; 8]; 3] =
        [1.3, 0.7, 0.4].map(|p| [0, 1, 2, 3, 4, 5, 6, 7].map(|k| p + 0.1 * f64::from(k)));
    let mut first: Option<Vec<[f64; 8]>> = None;
    for (level, engine) in engines() {
        let program =
            RowProgram::compile_for(level, &graph, rows, &nodes[..n_products], &nodes[7..]);
        let program = program.with_engine(engine);
        let mut workspace = program.workspace();
        let mut out = vec![[0.0; 8]; program.n_sums()];
        let columns = [&wide[0][..], &wide[1][..]];
        program.accumulate_eight(&mut workspace, &params, &columns, n_rows, &mut out);
        let bits = first.get_or_insert_with(|| out.clone());
        assert_eq!(bits, &out, "{level:?} {engine:?} differs");
        ran(&program, level, engine);
        for k in 0..8 {
            let own = params.map(|p| p[k]);
            program.set_parameters(&mut workspace, &own);
            let columns = [&data[k][0][..n_rows[k]], &data[k][1][..n_rows[k]]];
            program.accumulate(&mut workspace, &columns, &mut |tile| {
                for (s, &want) in tile.iter().enumerate() {
                    let got = out[s][k];
                    assert!(
                        (got - want).abs() <= 1e-12 * (1.0 + want.abs()),
                        "{got} {want}"
                    );
                }
            });
        }
    }
}

/// Every level with the interpreter, then with the emitter.
fn engines() -> Vec<(Level, Engine)> {
    let both = [Engine::Interpreter, Engine::Emitter];
    let levels = Level::available().into_iter();
    levels.flat_map(|l| both.map(|e| (l, e))).collect()
}

/// Asserts that the engine that was asked for is the one that ran.
fn ran(program: &RowProgram, level: Level, engine: Engine) {
    let emitter = cfg!(all(unix, target_arch = "x86_64")) && level != Level::Scalar;
    let wanted = if emitter { engine } else { Engine::Interpreter };
    assert_eq!(program.engine().0, wanted, "{:?}", program.engine().1);
}

#[test]
fn machine_code_is_made_once_the_rows_pay_for_it() {
    let scope = Scope::new();
    let (rows, nodes) = formula(&scope, 1);
    let program = RowProgram::compile(&scope.finish(), rows, &nodes[..7], &nodes[7..]);
    let mut workspace = program.workspace();
    program.set_parameters(&mut workspace, &[1.3, 0.7, 0.4]);
    let data = columns(1 << 17);
    let (mut before, mut sums) = (Vec::new(), Vec::new());
    for pass in 0..4 {
        sums.clear();
        let columns = [&data[0][..], &data[1][..]];
        program.accumulate(&mut workspace, &columns, &mut |tile| {
            sums.extend_from_slice(tile);
        });
        let expected = pass > 0 && cfg!(all(unix, target_arch = "x86_64"));
        let expected = expected && Level::detect() != Level::Scalar;
        assert_eq!(
            program.engine().0 == Engine::Emitter,
            expected,
            "pass {pass}"
        );
        if pass > 0 {
            assert_eq!(sums, before);
        }
        before.clone_from(&sums);
    }
}

#[cfg(all(unix, target_arch = "x86_64"))]
#[test]
fn faults_of_machine_code_for_rows_are_found_before_it_is_used() {
    use super::emitted::make_with;
    use crate::cpu::native::Fault;
    let scope = Scope::new();
    let (rows, nodes) = formula(&scope, 1);
    let graph = scope.finish();
    for level in Level::available() {
        let program = RowProgram::compile_for(level, &graph, rows, &nodes[..3], &nodes[7..]);
        let sound = make_with(&program, Fault::None);
        assert_eq!(sound.is_ok(), level != Level::Scalar);
        for fault in [
            Fault::Constant,
            Fault::Difference,
            Fault::Product,
            Fault::Refused,
        ] {
            let found = make_with(&program, fault).is_err();
            assert!(found, "{fault:?} {level:?}");
        }
    }
}
