//! Contractions: sums of products over the dims that two arrays share, and all other dims kept.
//!
//! Every result is one sum over the terms in their order, products rounded: the bits of
//! [`fitzroy_graph::reference`]. If one array is fixed along the last dims of the result, the other
//! is read in whole registers there, and each register serves several rows of results.

use super::blocks::{Product, add_products};
use super::lower::Lower;
use super::program::{KernelPlan, Loc, base};
use crate::lanes::Lanes;
use fitzroy_graph::{DimId, Graph, NodeId};

/// Rows of results from which it pays to put an array in order that is computed.
const WORTH_PACKING: usize = 4;

/// From one step along some dims to the next in the two arrays, and in the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) strides: [usize; 2],
    of_result: usize,
}

/// One step, along nothing.
const ONE: Axis = Axis {
    size: 1,
    strides: [0, 0],
    of_result: 0,
};

/// A contraction by its axes, the last one moving fastest.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    /// Those of the result.
    pub(crate) kept: Vec<Axis>,
    /// Those summed over.
    pub(crate) over: Vec<Axis>,
    blocks: Option<Blocks>,
}

/// A contraction in whole registers of results.
#[derive(Clone, Debug)]
struct Blocks {
    /// Which array is read in whole registers; the other has stride 0 along the columns.
    wide: usize,
    /// Where that array stands, and how it gets there from where it is stored.
    from: Loc,
    packing: Option<Vec<Axis>>,
    /// With the strides of the array as it stands here.
    columns: usize,
    rows: Axis,
    outer: Vec<Axis>,
    over: Vec<Axis>,
}

/// Distance between neighbours along `dim` in an array over `dims`; 0 if it does not have it.
fn stride(graph: &Graph, dims: &[DimId], dim: DimId) -> usize {
    let at = dims.iter().position(|&d| d == dim);
    at.map_or(0, |at| graph.len_of(&dims[at + 1..]))
}

/// Neighbours that all arrays step through as through one axis become one.
fn merged(axes: &[Axis]) -> Vec<Axis> {
    let mut out: Vec<Axis> = Vec::new();
    for &axis in axes.iter().filter(|axis| axis.size != 1) {
        let steps = |a: &Axis| [a.strides[0], a.strides[1], a.of_result];
        match out.last_mut() {
            Some(last) if steps(last) == steps(&axis).map(|s| s * axis.size) => {
                *last = Axis {
                    size: last.size * axis.size,
                    ..axis
                };
            }
            _ => out.push(axis),
        }
    }
    out
}

/// The product of the sizes.
fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// Calls `f` with the offsets of every step along the axes, the last one moving fastest.
#[inline(always)]
fn for_each_step(axes: &[Axis], mut f: impl FnMut([usize; 2], usize)) {
    let offsets = |index: usize| {
        let (mut rest, mut strides, mut of_result) = (index, [0, 0], 0);
        for axis in axes.iter().rev() {
            let at = rest % axis.size;
            rest /= axis.size;
            strides[0] += at * axis.strides[0];
            strides[1] += at * axis.strides[1];
            of_result += at * axis.of_result;
        }
        (strides, of_result)
    };
    for index in 0..count(axes) {
        let (strides, of_result) = offsets(index);
        f(strides, of_result);
    }
}

impl Contraction {
    /// Plans the contraction `node` over `over`, its inputs at `inputs`.
    pub(super) fn plan(lower: &mut Lower<'_>, node: NodeId, over: &[DimId]) -> Contraction {
        let graph = lower.graph;
        let dims = graph.dims(node);
        let inputs = [0, 1].map(|k| graph.node(node).inputs[k]);
        let axis = |&dim: &DimId| Axis {
            size: graph.size(dim),
            strides: inputs.map(|input| stride(graph, graph.dims(input), dim)),
            of_result: stride(graph, dims, dim),
        };
        let kept = merged(&dims.iter().map(axis).collect::<Vec<_>>());
        let over = merged(&over.iter().map(axis).collect::<Vec<_>>());
        let blocks = Blocks::plan(lower, inputs, &kept, &over);
        Contraction { kept, over, blocks }
    }
}

impl Blocks {
    fn plan(
        lower: &mut Lower<'_>,
        inputs: [NodeId; 2],
        kept: &[Axis],
        over: &[Axis],
    ) -> Option<Blocks> {
        let last = kept.last()?;
        if count(kept) * count(over) == 0 {
            return None;
        }
        let wide = match last.strides {
            [0, _] => 1,
            [_, 0] => 0,
            _ => return None,
        };
        let varies = lower.graph.varies(inputs[wide]);
        let is_fixed = |axis: &&Axis| axis.strides[wide] == 0;
        let n_rows: usize = kept.iter().filter(is_fixed).map(|axis| axis.size).product();
        let stored = lower.storage(inputs[wide]);
        let (mut kept, mut over, mut from, mut packing) =
            (kept.to_vec(), over.to_vec(), stored, None);
        if last.strides[wide] != 1 {
            if varies && n_rows < WORTH_PACKING {
                return None;
            }
            // Term by term, and in the order of the results.
            let own = over.iter().chain(&kept).copied();
            let own: Vec<Axis> = own.filter(|axis| axis.strides[wide] != 0).collect();
            let mut next = count(&own);
            for axis in over.iter_mut().chain(&mut kept) {
                if axis.strides[wide] != 0 {
                    next /= axis.size;
                    axis.strides[wide] = next;
                }
            }
            (kept, over) = (merged(&kept), merged(&over));
            if varies {
                from.at = lower.reserve(count(&own));
                packing = Some(own);
            } else {
                let mut values = Vec::with_capacity(count(&own));
                for_each_step(&own, |at, _| values.push(lower.fixed[stored.at + at[wide]]));
                from.at = lower.fix(&values);
            }
        }
        let columns = kept.pop()?.size;
        let rows = kept.iter().rposition(|axis| axis.strides[wide] == 0);
        Some(Blocks {
            wide,
            from,
            packing,
            columns,
            rows: rows.map_or(ONE, |at| kept.remove(at)),
            outer: kept,
            over,
        })
    }
}

/// Runs a contraction.
///
/// # Safety
/// The plan's arrays lie inside these arenas, with room for a register beyond their ends, and the
/// result overlaps no input.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(
    plan: &KernelPlan,
    contraction: &Contraction,
    work: *mut f64,
    fixed: *const f64,
) {
    // SAFETY: passed on.
    unsafe {
        let inputs = [0, 1].map(|k| base(plan.inputs[k].0, work, fixed));
        let to = work.add(plan.to);
        match &contraction.blocks {
            Some(blocks) => {
                let wide = base(blocks.from, work, fixed);
                if let Some(packing) = &blocks.packing {
                    pack(packing, blocks.wide, inputs[blocks.wide], wide.cast_mut());
                }
                let other = inputs[1 - blocks.wide];
                in_blocks::<L>(blocks, [other, wide], to, plan.len);
            }
            None => one_by_one(contraction, inputs, to),
        }
    }
}

/// Puts the elements of an array in the order of the axes.
unsafe fn pack(axes: &[Axis], side: usize, from: *const f64, mut to: *mut f64) {
    let Some((last, outer)) = axes.split_last() else {
        // SAFETY: an array without axes is one number.
        return unsafe { *to = *from };
    };
    for_each_step(outer, |at, _| {
        let mut from = from.wrapping_add(at[side]);
        for _ in 0..last.size {
            // SAFETY: the axes are those of the array.
            unsafe { *to = *from };
            from = from.wrapping_add(last.strides[side]);
            to = to.wrapping_add(1);
        }
    });
}

#[inline(always)]
unsafe fn in_blocks<L: Lanes>(
    b: &Blocks,
    [other, wide]: [*const f64; 2],
    to: *mut f64,
    len: usize,
) {
    // What a sum of numbers starts from.
    let nothing: f64 = std::iter::empty::<f64>().sum();
    // SAFETY: see `run`.
    unsafe {
        for k in 0..len {
            *to.add(k) = nothing;
        }
    }
    let (narrow, b_side) = (1 - b.wide, b.wide);
    let (terms, more) = b.over.split_last().unwrap_or((&ONE, &[]));
    for_each_step(&b.outer, |at, of_result| {
        for_each_step(more, |term, _| {
            let product = Product {
                a: other.wrapping_add(at[narrow] + term[narrow]),
                a_row: b.rows.strides[narrow] as isize,
                a_k: terms.strides[narrow] as isize,
                b: wide.wrapping_add(at[b_side] + term[b_side]),
                b_k: terms.strides[b_side] as isize,
                terms: terms.size,
            };
            let (c, stride) = (to.wrapping_add(of_result), b.rows.of_result as isize);
            // SAFETY: see `run`.
            unsafe { add_products::<L>(product, c, stride, b.rows.size, b.columns) };
        });
    });
}

/// Eight results at a time, so that one does not wait for the other.
unsafe fn one_by_one(contraction: &Contraction, inputs: [*const f64; 2], to: *mut f64) {
    const SIDE_BY_SIDE: usize = 8;
    let (last, outer) = contraction.kept.split_last().unwrap_or((&ONE, &[]));
    let (terms, more) = contraction.over.split_last().unwrap_or((&ONE, &[]));
    for_each_step(outer, |at, of_result| {
        for first in (0..last.size).step_by(SIDE_BY_SIDE) {
            let count = SIDE_BY_SIDE.min(last.size - first);
            let mut sums = [std::iter::empty::<f64>().sum(); SIDE_BY_SIDE];
            for_each_step(more, |term, _| {
                let mut x = [0, 1]
                    .map(|k| inputs[k].wrapping_add(at[k] + term[k] + first * last.strides[k]));
                for _ in 0..terms.size {
                    for (r, sum) in sums.iter_mut().enumerate().take(count) {
                        let [a, b] = [0, 1].map(|k| x[k].wrapping_add(r * last.strides[k]));
                        // SAFETY: see `run`.
                        *sum += unsafe { *a * *b };
                    }
                    x = [0, 1].map(|k| x[k].wrapping_add(terms.strides[k]));
                }
            });
            for (r, &sum) in sums.iter().enumerate().take(count) {
                // SAFETY: see `run`.
                unsafe { *to.add(of_result + (first + r) * last.of_result) = sum };
            }
        }
    });
}
