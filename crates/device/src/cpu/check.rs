//! The engine checks itself: every elementwise operation, sums, lookups, a matrix product and a
//! recurrence with its adjoint, at every level of this machine, against the reference interpreter.

use super::{Engine, Function};
use crate::lanes::Level;
use fitzroy_graph::{Binary, Bindings, Carried, Graph, NodeId, Unary, evaluate, gradient};

/// Rows of the check: several blocks and an odd end.
const ROWS: usize = 1_037;
/// Groups of the check.
const GROUPS: usize = 21;
/// Largest error, relative to 1 + |value|. Functions are good to a few units in the last place,
/// sums of a thousand terms to a thousand of them.
const BOUND: f64 = 1e-11;

/// Compares the engine with the reference interpreter; the number of values compared.
///
/// # Errors
/// The first value that is wrong, in words.
pub fn self_check() -> Result<usize, String> {
    let (graph, bindings, outputs) = problem();
    let params = point();
    let expected = evaluate(&graph, &bindings, &params, &outputs);
    let mut compared = 0;
    for level in Level::available() {
        let engine = Engine::Emitter;
        let function = Function::compile_for(level, engine, &graph, &bindings, &outputs)
            .map_err(|error| error.to_string())?;
        let mut workspace = function.workspace();
        function.run(&mut workspace, &params);
        for (k, want) in expected.iter().enumerate() {
            for (got, want) in function.output(&workspace, k).iter().zip(want) {
                compared += 1;
                let near = (got - want).abs() <= BOUND * (1.0 + want.abs());
                if !near {
                    let op = &graph.node(outputs[k]).op;
                    return Err(format!(
                        "{op:?} at {level:?} gives {got:e} instead of {want:e}"
                    ));
                }
            }
        }
    }
    Ok(compared)
}

/// Where the check is made.
pub(crate) fn point() -> Vec<f64> {
    (0..ROWS + GROUPS + 3)
        .map(|i| 0.05 + 0.9 * fraction(i, 7919))
        .collect()
}

/// Numbers in [0, 1) that look random.
fn fraction(i: usize, step: usize) -> f64 {
    ((i * step + 13) % 10_007) as f64 / 10_007.0
}

pub(crate) fn problem() -> (Graph, Bindings, Vec<NodeId>) {
    let mut g = Graph::new();
    let (rows, groups, columns) = (
        g.dim("rows", ROWS),
        g.dim("groups", GROUPS),
        g.dim("columns", 3),
    );
    let x = g.param(0, &[rows]);
    let effect = g.param(ROWS, &[groups]);
    let slope = g.param(ROWS + GROUPS, &[columns]);
    let by = g.index("by", rows, groups);
    let y = g.data("y", &[rows]);
    let matrix = g.data("matrix", &[rows, columns]);
    let mut outputs: Vec<NodeId> = Unary::ALL.iter().map(|&op| g.unary(op, x)).collect();
    let bin = |g: &mut Graph, op, a, b| g.binary(op, a, b).expect("the dims combine");
    outputs.extend(Binary::ALL.iter().map(|&op| bin(&mut g, op, x, y)));
    let looked_up = g.gather(effect, by);
    let deviation = bin(&mut g, Binary::Sub, y, looked_up);
    let half = g.lit(0.5);
    let linear = g
        .contract(matrix, slope, &[columns])
        .expect("the dims combine");
    let both = bin(&mut g, Binary::Mul, deviation, linear);
    let (total, by_group) = (g.sum_all(both), g.segment_sum(both, by));
    let back = g.contract(matrix, both, &[rows]).expect("the dims combine");
    outputs.extend([looked_up, linear, total, by_group, back]);
    // Each step halves the state before it, pulled by a row, on three lanes; and the way back.
    let before = g.hole(&[rows, columns]);
    let start = bin(&mut g, Binary::Mul, slope, half);
    let halved = bin(&mut g, Binary::Mul, before, half);
    let pulled = bin(&mut g, Binary::Add, halved, x);
    let after = g.unary(Unary::Tanh, pulled);
    let carried = Carried {
        before,
        start,
        after,
    };
    let ran = g.recur(rows, false, &[carried]).expect("a causal step");
    let weighted = bin(&mut g, Binary::Mul, ran[0].after, matrix);
    let height = g.sum_all(weighted);
    outputs.extend([ran[0].after, height]);
    outputs.extend(gradient(&mut g, height).iter().map(|part| part.adjoint));
    let bindings = Bindings {
        data: vec![
            (0..ROWS).map(|i| 0.05 + fraction(i, 31)).collect(),
            (0..3 * ROWS).map(|i| fraction(i, 101) - 0.5).collect(),
        ],
        indices: vec![(0..ROWS).map(|i| (i * 17 % GROUPS) as u32).collect()],
    };
    (g, bindings, outputs)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_engine_passes_its_own_check() {
        assert!(super::self_check().is_ok_and(|n| n > 10_000));
    }
}
