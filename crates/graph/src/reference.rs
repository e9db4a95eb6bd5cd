//! The reference interpreter: slow, one element at a time, and by definition right.

use crate::graph::{Bindings, DimId, Graph, NodeId};
use crate::matrix::{cholesky, cholesky_adjoint, tri_solve};
use crate::op::Op;

/// Values of `outputs` at `params`, row-major over each node's dims.
///
/// # Panics
/// When `params` is shorter than the graph needs, or `bindings` do not fit (see
/// [`Bindings::check`]).
#[track_caller]
pub fn evaluate(
    graph: &Graph,
    bindings: &Bindings,
    params: &[f64],
    outputs: &[NodeId],
) -> Vec<Vec<f64>> {
    assert!(params.len() >= graph.n_params(), "one number per parameter");
    let needed = graph.needed(outputs);
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); needed.len()];
    for at in 0..needed.len() {
        if needed[at] {
            let id = NodeId(at as u32);
            let mut out = vec![0.0; graph.len(id)];
            compute(graph, bindings, params, &values, id, &mut out);
            values[at] = out;
        }
    }
    outputs.iter().map(|o| values[o.index()].clone()).collect()
}

/// Where each element of an array over `from` finds its element in an array over `to`; dims that
/// `to` lacks are ignored.
pub fn flat_positions(graph: &Graph, from: &[DimId], to: &[DimId]) -> Vec<u32> {
    let strides: Vec<usize> = from
        .iter()
        .map(|d| match to.iter().position(|t| t == d) {
            Some(p) => graph.len_of(&to[p + 1..]),
            None => 0,
        })
        .collect();
    let sizes: Vec<usize> = from.iter().map(|&d| graph.size(d)).collect();
    let mut counter = vec![0usize; from.len()];
    let mut at = 0usize;
    let mut out = Vec::with_capacity(graph.len_of(from));
    for _ in 0..graph.len_of(from) {
        out.push(at as u32);
        for axis in (0..from.len()).rev() {
            counter[axis] += 1;
            at += strides[axis];
            if counter[axis] < sizes[axis] {
                break;
            }
            at -= strides[axis] * sizes[axis];
            counter[axis] = 0;
        }
    }
    out
}

/// For a lookup of node `a` by an index: for each element of the result, its element of `a`.
/// For the sum by index of `a`, use the result's dims as `wide` and swap the roles.
pub fn gather_positions(
    graph: &Graph,
    bindings: &Bindings,
    index: crate::graph::IndexId,
    narrow: &[DimId],
    wide: &[DimId],
) -> Vec<u32> {
    let slot = &graph.index_slots()[index.index()];
    let rows = &bindings.indices[index.index()];
    let axis = wide
        .iter()
        .position(|&d| d == slot.rows)
        .expect("the row dim");
    let inner = graph.len_of(&wide[axis + 1..]);
    let outer = graph.len_of(&wide[..axis]);
    let target = graph.size(slot.target);
    debug_assert_eq!(narrow[axis], slot.target);
    let mut out = Vec::with_capacity(graph.len_of(wide));
    for o in 0..outer {
        for &row in rows {
            for i in 0..inner {
                out.push(((o * target + row as usize) * inner + i) as u32);
            }
        }
    }
    out
}

/// Outer, axis and inner sizes of an array around one of its dims.
pub fn around(graph: &Graph, dims: &[DimId], axis: DimId) -> (usize, usize, usize) {
    let at = dims.iter().position(|&d| d == axis).expect("the axis");
    (
        graph.len_of(&dims[..at]),
        graph.size(axis),
        graph.len_of(&dims[at + 1..]),
    )
}

fn compute(
    graph: &Graph,
    bindings: &Bindings,
    params: &[f64],
    values: &[Vec<f64>],
    id: NodeId,
    out: &mut [f64],
) {
    let node = graph.node(id);
    let input = |k: usize| &values[node.inputs[k].index()];
    let inputs = || -> Vec<&[f64]> { (0..node.inputs.len()).map(|k| &input(k)[..]).collect() };
    let input_dims = |k: usize| graph.dims(node.inputs[k]);
    match &node.op {
        Op::Const(bits) => out[0] = f64::from_bits(*bits),
        Op::Param { offset } => out.copy_from_slice(&params[*offset..offset + out.len()]),
        Op::Data(id) => out.copy_from_slice(&bindings.data[id.index()]),
        Op::Unary(op) => each(out, |i| op.eval(input(0)[i])),
        Op::Binary(op) => each(out, |i| op.eval(input(0)[i], input(1)[i])),
        Op::Select => each(out, |i| {
            if input(0)[i] != 0.0 {
                input(1)[i]
            } else {
                input(2)[i]
            }
        }),
        Op::Broadcast => {
            let at = flat_positions(graph, &node.dims, input_dims(0));
            each(out, |i| input(0)[at[i] as usize]);
        }
        Op::Sum => {
            let at = flat_positions(graph, input_dims(0), &node.dims);
            add_at(out, &at, input(0));
        }
        Op::MaxOver => {
            let at = flat_positions(graph, input_dims(0), &node.dims);
            out.fill(f64::NEG_INFINITY);
            for (i, &x) in input(0).iter().enumerate() {
                let o = &mut out[at[i] as usize];
                *o = crate::Real::max(*o, x);
            }
        }
        Op::Gather(index) => {
            let at = gather_positions(graph, bindings, *index, input_dims(0), &node.dims);
            each(out, |i| input(0)[at[i] as usize]);
        }
        Op::SegmentSum(index) => {
            let at = gather_positions(graph, bindings, *index, &node.dims, input_dims(0));
            add_at(out, &at, input(0));
        }
        Op::Relabel | Op::WithSlopes => out.copy_from_slice(input(0)),
        Op::Recurrence(of) => of.evaluate(graph, bindings, &inputs(), out),
        Op::Ode(of) => of.evaluate(graph, bindings, &inputs(), out),
        Op::OdeAdjoint(of) => of.evaluate_adjoint(graph, bindings, &inputs(), out),
        Op::Contract { over } => {
            let (dims, inputs) = ([0, 1].map(input_dims), [0, 1].map(input));
            contract(graph, &node.dims, over, dims, inputs, out);
        }
        op => {
            let last = node.inputs.len() - 1;
            let dims = [0, last].map(input_dims);
            let inputs = [0, last].map(|k| input(k).as_slice());
            kernel(graph, op, dims, &node.dims, inputs, out);
        }
    }
}

/// Adds each element of `x` to that of `out` where it belongs.
fn add_at(out: &mut [f64], at: &[u32], x: &[f64]) {
    for (&at, x) in at.iter().zip(x) {
        out[at as usize] += x;
    }
}

fn each(out: &mut [f64], f: impl Fn(usize) -> f64) {
    for (i, o) in out.iter_mut().enumerate() {
        *o = f(i);
    }
}

/// Σ over `over` of a·b, in row-major order of `dims` then `over`.
fn contract(
    graph: &Graph,
    dims: &[DimId],
    over: &[DimId],
    input_dims: [&[DimId]; 2],
    input: [&Vec<f64>; 2],
    out: &mut [f64],
) {
    let all: Vec<DimId> = dims.iter().chain(over).copied().collect();
    let at = input_dims.map(|d| flat_positions(graph, &all, d));
    let n = graph.len_of(over);
    for (i, o) in out.iter_mut().enumerate() {
        *o = (i * n..(i + 1) * n)
            .map(|k| input[0][at[0][k] as usize] * input[1][at[1][k] as usize])
            .sum();
    }
}

/// Operations that work on whole arrays, also used by devices for all but factors and triangular
/// solves. Takes one or two inputs, the same one twice where there is one, and allocates nothing.
///
/// # Panics
/// When `op` is not one of running sums, slices and matrix operations.
pub fn kernel(
    graph: &Graph,
    op: &Op,
    input_dims: [&[DimId]; 2],
    dims: &[DimId],
    input: [&[f64]; 2],
    out: &mut [f64],
) {
    match op {
        Op::CumSum { axis, reverse } => {
            let (outer, n, inner) = around(graph, dims, *axis);
            for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
                let mut sum = 0.0;
                for k in 0..n {
                    let k = if *reverse { n - 1 - k } else { k };
                    let at = (o * n + k) * inner + i;
                    sum += input[0][at];
                    out[at] = sum;
                }
            }
        }
        Op::Slice { axis, start } => {
            let (outer, n, inner) = around(graph, input_dims[0], *axis);
            let len = out.len() / (outer * inner).max(1);
            for o in 0..outer {
                let from = (o * n + start) * inner;
                out[o * len * inner..(o + 1) * len * inner]
                    .copy_from_slice(&input[0][from..from + len * inner]);
            }
        }
        Op::Unslice { axis, start } => {
            let (outer, n, inner) = around(graph, dims, *axis);
            let len = input[0].len() / (outer * inner).max(1);
            out.fill(0.0);
            for o in 0..outer {
                let to = (o * n + start) * inner;
                out[to..to + len * inner]
                    .copy_from_slice(&input[0][o * len * inner..(o + 1) * len * inner]);
            }
        }
        Op::Cholesky => cholesky(graph.size(dims[0]), input[0], out),
        Op::CholeskyAdjoint => cholesky_adjoint(graph.size(dims[0]), input[0], input[1], out),
        Op::TriSolve { transpose } => {
            let n = graph.size(dims[0]);
            out.copy_from_slice(input[1]);
            tri_solve(n, out.len() / n.max(1), input[0], *transpose, out);
        }
        Op::LowerTriangle => {
            let n = graph.size(dims[0]).max(1);
            let rows = out.chunks_exact_mut(n).zip(input[0].chunks_exact(n));
            for (i, (out, row)) in rows.enumerate() {
                out[..=i].copy_from_slice(&row[..=i]);
                out[i + 1..].fill(0.0);
            }
        }
        Op::Diagonal => each(out, |i| input[0][i * (graph.size(dims[0]) + 1)]),
        Op::FromDiagonal => {
            out.fill(0.0);
            let places = out.iter_mut().step_by(input[0].len() + 1);
            places.zip(input[0]).for_each(|(to, &x)| *to = x);
        }
        other => panic!("{other:?} is not a whole-array operation"),
    }
}
