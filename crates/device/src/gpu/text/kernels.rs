//! Steps on whole arrays as C: maxima, contractions, running sums and small matrices.

use super::arrays::{Access, Place};
use super::precision::Real;
use super::{Writer, array};
use crate::cpu::contract::{Axis, Contraction};
use crate::cpu::program::KernelPlan;
use fitzroy_graph::{DimId, Op, reference};

/// Factors of matrices and triangular solves; to stand before what calls them.
pub(super) const MATRICES: &str = include_str!("matrix.c");

impl Writer<'_> {
    /// Writes one such step, in the order of operations of the CPU's.
    pub(super) fn kernel(&mut self, plan: &KernelPlan) {
        self.real = self.arrays.of_kernel(plan);
        let to = self.arrays.place(plan.to);
        let size = |writer: &Self| writer.graph.size(plan.dims[0]);
        // Elements of running sums and of matrices are not all written by their owners.
        let (text, by) = match &plan.op {
            Op::MaxOver => (self.maxima(plan, to), Access::Along),
            Op::Contract { .. } => {
                let axes = plan.contraction.as_ref().expect("contractions are planned");
                (self.contraction(plan, axes, to), Access::Along)
            }
            Op::CumSum { axis, reverse } => {
                (self.running_sums(plan, (*axis, *reverse), to), Access::Any)
            }
            Op::Unslice { axis, start } => (self.unslice(plan, (*axis, *start), to), Access::Along),
            Op::LowerTriangle => {
                let n = size(self);
                let x = self.input(plan, 0, "i");
                let value = format!("i % {n} <= i / {n} ? {x} : 0.0");
                (owners(plan, &assign(to, &value)), Access::Along)
            }
            Op::Diagonal => {
                let x = self.input(plan, 0, &format!("i * {}", size(self) + 1));
                (owners(plan, &assign(to, &x)), Access::Along)
            }
            Op::FromDiagonal => {
                let n = plan.inputs[0].1;
                let x = self.input(plan, 0, &format!("i / {n}"));
                let value = format!("i % {n} == i / {n} ? {x} : 0.0");
                (owners(plan, &assign(to, &value)), Access::Along)
            }
            _ => (self.matrix_step(plan, to), Access::Any),
        };
        self.step(&text);
        self.arrays.wrote(to, plan.len, by);
        self.real = Real::Double;
    }

    /// An element of an input.
    fn input(&mut self, plan: &KernelPlan, k: usize, index: &str) -> String {
        let (loc, len) = plan.inputs[k];
        match self.turned.get(&loc.at).copied() {
            Some(from) => format!("-{}", self.element(from, len, index, Access::Any)),
            None => self.element(loc, len, index, Access::Any),
        }
    }

    /// The largest element of each row.
    fn maxima(&mut self, plan: &KernelPlan, to: Place) -> String {
        let (real, s) = (self.real.name(), self.real.functions());
        let rows = self.tables.rows_of(&plan.positions, plan.len);
        let row = rows.row.replace('g', "i");
        let x = self.input(plan, 0, &row);
        let (first, end) = (rows.first.replace('g', "i"), rows.end.replace('g', "i"));
        let body = format!(
            "        {real} m = {};\n        \
             FOUR for (int j = {first}; j < {end}; j += {})\n            m = {s}max(m, {x});\n{}",
            self.real.literal(f64::NEG_INFINITY),
            rows.step,
            assign(to, "m")
        );
        owners(plan, &body)
    }

    /// Running sums, a thread for each.
    fn running_sums(
        &mut self,
        plan: &KernelPlan,
        (axis, reverse): (DimId, bool),
        to: Place,
    ) -> String {
        let (outer, n, inner) = reference::around(self.graph, &plan.dims, axis);
        let k = if reverse {
            format!("{n} - 1 - k")
        } else {
            "k".into()
        };
        let x = self.input(plan, 0, "at");
        format!(
            "    SHARE(i, {}) {{\n        double s = 0.0;\n        \
             ROLLED for (int k = 0; k < {n}; ++k) {{\n            \
             const int at = (i / {inner} * {n} + ({k})) * {inner} + i % {inner};\n            \
             s = s + {x};\n            {} = s;\n        }}\n    }}\n",
            outer * inner,
            array(to, "at")
        )
    }

    /// An array with zeros around it, along one dim.
    fn unslice(&mut self, plan: &KernelPlan, (axis, start): (DimId, usize), to: Place) -> String {
        let (outer, n, inner) = reference::around(self.graph, &plan.dims, axis);
        let taken = plan.inputs[0].1 / (outer * inner).max(1);
        let x = format!("(o * {taken} + k) * {inner} + i % {inner}");
        let x = self.input(plan, 0, &x);
        let f = self.real.suffix();
        let body = format!(
            "        const int o = i / {}, k = i / {inner} % {n} - {start};\n{}",
            n * inner,
            assign(to, &format!("k >= 0 && k < {taken} ? {x} : 0.0{f}"))
        );
        owners(plan, &body)
    }

    /// Σ a·b, an owner for each result.
    fn contraction(&mut self, plan: &KernelPlan, axes: &Contraction, to: Place) -> String {
        let terms: usize = axes.over.iter().map(|axis| axis.size).product();
        let x = [0, 1].map(|side| {
            let offsets = [("i", &axes.kept), ("j", &axes.over)];
            let offsets = offsets.map(|(index, axes)| offset(index, axes, side));
            let index = match offsets.map(|terms| terms.join(" + ")) {
                [kept, over] if kept.is_empty() && over.is_empty() => "0".into(),
                [kept, over] if kept.is_empty() => over,
                [kept, over] if over.is_empty() => kept,
                [kept, over] => format!("{kept} + {over}"),
            };
            let (loc, len) = plan.inputs[side];
            self.element(loc, len, &index, Access::Any)
        });
        let head = format!("for (int j = 0; j < {terms}; ++j)");
        let sum = self.sum_of(&head, &format!("{} * {}", x[0], x[1]), "-0.0", terms);
        format!(
            "    SHARE(i, {}) {{\n{sum}        {} = s;\n    }}\n",
            plan.len,
            array(to, "i")
        )
    }

    /// Input `k` as `double` that stand one after the other: what is not is copied first.
    fn doubles(&mut self, plan: &KernelPlan, k: usize) -> String {
        let (loc, len) = plan.inputs[k];
        let first = self.element(loc, len, "0", Access::Any);
        if !Real::is_widened(&first) {
            return format!("&{first}");
        }
        let x = self.element(loc, len, "i", Access::Any);
        let place = self.arrays.reserve(len, Real::Double);
        self.step(&format!(
            "    SHARE(i, {len})\n        {} = {x};\n",
            array(place, "i")
        ));
        self.arrays.wrote(place, len, Access::Along);
        self.arrays.read_place(place, len, Access::Any);
        format!("w + {}", place.at)
    }

    /// Factors and triangular solves.
    fn matrix_step(&mut self, plan: &KernelPlan, to: Place) -> String {
        self.has_matrices = true;
        let (n, to) = (plan.side, to.at);
        let mut pointer = |k: usize| self.doubles(plan, k);
        let call = match &plan.op {
            Op::Cholesky => format!("cholesky({n}, {}, w + {to})", pointer(0)),
            Op::CholeskyAdjoint => {
                format!(
                    "cholesky_adjoint({n}, {}, {}, w + {to})",
                    pointer(0),
                    pointer(1)
                )
            }
            Op::TriSolve { transpose } => format!(
                "tri_solve({n}, {}, {}, {}, {transpose}, w + {to})",
                plan.len / n.max(1),
                pointer(0),
                pointer(1)
            ),
            other => unreachable!("{other:?} is not a step on whole arrays"),
        };
        format!("    {call};\n")
    }
}

/// Where element `index` of some axes, counted row by row, stands in the array of one side: terms of
/// a sum.
fn offset(index: &str, axes: &[Axis], side: usize) -> Vec<String> {
    let mut inner = 1;
    let mut terms = Vec::new();
    for (k, axis) in axes.iter().enumerate().rev() {
        let stride = axis.strides[side];
        if stride != 0 {
            let step = match inner {
                1 => index.to_string(),
                _ => format!("{index} / {inner}"),
            };
            let at = match k {
                0 => step,
                _ => format!("{step} % {}", axis.size),
            };
            terms.push(match stride {
                1 => at,
                _ if at == index => format!("{at} * {stride}"),
                _ => format!("({at}) * {stride}"),
            });
        }
        inner *= axis.size;
    }
    terms
}

/// A body for each element of the result, by its owner.
fn owners(plan: &KernelPlan, body: &str) -> String {
    format!("    SHARE(i, {}) {{\n{body}    }}\n", plan.len)
}

/// Writes element i.
fn assign(to: Place, value: &str) -> String {
    format!("        {} = {value};\n", array(to, "i"))
}
