//! Sums over grids against sums over their points one by one.

use super::*;
#[cfg(all(unix, target_arch = "x86_64"))]
use crate::cpu::native::Fault;
use fitzroy_graph::{Real, Scope};

/// f = a e^(−b x) sin(y) + c x, and columns: its partials with respect to a and b, and x cos(y).
fn separated() -> Separated {
    let scope = Scope::new();
    let rows = scope.dim("rows", 1);
    let (x, y) = (scope.data("x", &[rows]), scope.data("y", &[rows]));
    let [a, b, c] = [0, 1, 2].map(|k| scope.param(k, &[]));
    let e = (-(b * x)).exp();
    let ones = Real::lit(1.0);
    let ones = fitzroy_graph::Expr::broadcast(ones, &scope, &[rows]);
    let functions = [e, x, x * e].map(|f| scope.node(f));
    let of_y = [y.sin(), ones, y.cos()].map(|f| scope.node(f));
    let numbers = [a, c, -a, Real::lit(1.0)].map(|n| scope.node(n));
    let term = |number, x, y| GridTerm { number, x, y };
    Separated {
        graph: scope.finish(),
        rows,
        n_free: 3,
        x: functions.to_vec(),
        y: of_y.to_vec(),
        numbers: numbers.to_vec(),
        curve: vec![term(0, 0, 0), term(1, 1, 1)],
        partials: vec![
            vec![term(3, 0, 0)],
            vec![term(2, 2, 0)],
            vec![term(3, 1, 2)],
        ],
    }
}

/// x, y and z of problem `lane` at point i of x and j of y.
fn point(lane: usize, [i, j]: [usize; 2]) -> [f64; 3] {
    let [i, j, k] = [i, j, lane].map(|n| n as f64);
    [0.3 * i - 0.1 * k, 0.5 * j + 0.2, (i + 2.0 * j + k).cos()]
}

fn params(lane: usize) -> [f64; 3] {
    let k = lane as f64;
    [1.0 + 0.3 * k, 0.5 - 0.1 * k, 0.2 * k - 0.7]
}

fn sums_of(program: &GridProgram, [nx, ny]: [usize; 2]) -> Vec<Eight> {
    let mut workspace = program.workspace();
    for lane in 0..8 {
        let at = |i: usize, j: usize| point(lane, [i, j]);
        let x = (0..nx).map(|i| at(i, 0)[0]);
        let y = (0..ny).map(|j| at(0, j)[1]);
        let z = (0..nx * ny).map(|k| at(k % nx, k / nx)[2]);
        let all = x.chain(y).chain(z);
        let slots = workspace.points().iter_mut().zip(all);
        slots.for_each(|(slot, number)| slot[lane] = number);
        let slots = workspace.params().iter_mut().zip(params(lane));
        slots.for_each(|(slot, number)| slot[lane] = number);
    }
    let mut out = vec![[f64::NAN; 8]; 10];
    program.accumulate(&mut workspace, &mut out);
    out
}

#[test]
fn sums_over_a_grid_are_those_over_its_points_on_either_engine() {
    let separated = separated();
    for shape in [[6, 3], [7, 7], [3, 9], [16, 16], [85, 3]] {
        let on = |engine| GridProgram::new(&separated, shape, engine);
        let (slow, fast) = (on(Engine::Interpreter), on(Engine::Emitter));
        let sums = sums_of(&slow, shape);
        let bits =
            |sums: &[Eight]| -> Vec<u64> { sums.iter().flatten().map(|x| x.to_bits()).collect() };
        assert_eq!(bits(&sums), bits(&sums_of(&fast, shape)), "{shape:?}");
        for lane in 0..8 {
            let [a, b, c] = params(lane);
            let mut want = [0.0; 10];
            let mut size = [0.0; 10];
            for at in (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| [i, j])) {
                let [x, y, z] = point(lane, at);
                let e = f64::exp(-b * x) * y.sin();
                let columns = [e, -a * x * e, x * y.cos(), a * e + c * x - z];
                let pairs = (0..4).flat_map(|k| (k..4).map(move |l| (k, l)));
                for (n, (k, l)) in pairs.enumerate() {
                    want[n] += columns[k] * columns[l];
                    size[n] += (columns[k] * columns[l]).abs();
                }
            }
            for n in 0..10 {
                let error = (sums[n][lane] - want[n]).abs();
                assert!(error <= 1e-13 * size[n], "{shape:?}, lane {lane}, sum {n}");
            }
        }
    }
}

#[cfg(all(unix, target_arch = "x86_64"))]
#[test]
fn code_that_differs_from_the_interpreter_is_found_out() {
    if Level::detect() == Level::Scalar {
        return;
    }
    let program = GridProgram::new(&separated(), [5, 6], Engine::Auto);
    assert!(program.made_with(Fault::None).is_ok());
    for fault in [Fault::Constant, Fault::Difference] {
        let note = program.made_with(fault).expect_err("a fault");
        assert!(note.contains("the interpreter is used"), "{note}");
    }
}
