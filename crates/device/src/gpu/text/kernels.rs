//! Steps on whole arrays as C: maxima, contractions, running sums and small matrices.

use super::Writer;
use super::arrays::Access;
use crate::cpu::program::KernelPlan;
use fitzroy_graph::{Op, reference};

impl Writer<'_> {
    /// Writes one such step, in the order of operations of the CPU's.
    pub(super) fn kernel(&mut self, plan: &KernelPlan) {
        let to = self.arrays.place(plan.to);
        let len = plan.len;
        let input = |writer: &mut Self, k: usize, index: &str| {
            let (loc, len) = plan.inputs[k];
            writer.element(loc, len, index, Access::Any)
        };
        let owners = |body: &str| {
            format!("    for (int i = THREAD; i < {len}; i += TEAM) {{\n{body}    }}\n")
        };
        let assign = |value: &str| format!("        w[{to} + i] = {value};\n");
        let text = match &plan.op {
            Op::MaxOver => {
                let rows = self.tables.rows_of(&plan.positions[0], len);
                let row = rows.row.replace('g', "i");
                let x = input(self, 0, &row);
                let (first, end) = (rows.first.replace('g', "i"), rows.end.replace('g', "i"));
                owners(&format!(
                    "        double s = {};\n        \
                     for (int j = {first}; j < {end}; j += {})\n            s = m_max(s, {x});\n{}",
                    super::printer::literal(f64::NEG_INFINITY),
                    rows.step,
                    assign("s")
                ))
            }
            Op::Contract { .. } => self.contraction(plan, to),
            Op::CumSum { axis, reverse } => {
                let (outer, n, inner) = reference::around(self.graph, &plan.dims, *axis);
                let k = if *reverse {
                    format!("{n} - 1 - k")
                } else {
                    "k".into()
                };
                let x = input(self, 0, "at");
                format!(
                    "    for (int i = THREAD; i < {}; i += TEAM) {{\n        double s = 0.0;\n        \
                     for (int k = 0; k < {n}; ++k) {{\n            \
                     const int at = (i / {inner} * {n} + ({k})) * {inner} + i % {inner};\n            \
                     s = s + {x};\n            w[{to} + at] = s;\n        }}\n    }}\n",
                    outer * inner
                )
            }
            Op::Unslice { axis, start } => {
                let (outer, n, inner) = reference::around(self.graph, &plan.dims, *axis);
                let taken = plan.inputs[0].1 / (outer * inner).max(1);
                let x = input(
                    self,
                    0,
                    &format!("(o * {taken} + k) * {inner} + i % {inner}"),
                );
                owners(&format!(
                    "        const int o = i / {}, k = i / {inner} % {n} - {start};\n{}",
                    n * inner,
                    assign(&format!("k >= 0 && k < {taken} ? {x} : 0.0"))
                ))
            }
            Op::LowerTriangle => {
                let n = self.graph.size(plan.dims[0]);
                let x = input(self, 0, "i");
                owners(&assign(&format!("i % {n} <= i / {n} ? {x} : 0.0")))
            }
            Op::Diagonal => {
                let n = self.graph.size(plan.dims[0]);
                let x = input(self, 0, &format!("i * {}", n + 1));
                owners(&assign(&x))
            }
            Op::FromDiagonal => {
                let n = plan.inputs[0].1;
                let x = input(self, 0, &format!("i / {n}"));
                owners(&assign(&format!("i % {n} == i / {n} ? {x} : 0.0")))
            }
            _ => self.matrix_step(plan, to),
        };
        self.step(&text);
        // A running sum's elements are written by the owner of their line.
        self.arrays.wrote(to, len, Access::Any);
    }

    /// Σ a·b over positions, an owner for each element.
    fn contraction(&mut self, plan: &KernelPlan, to: usize) -> String {
        let terms = plan.positions[0].len() / plan.len.max(1);
        let k = format!("(i * {terms} + j)");
        let x: Vec<String> = (0..2)
            .map(|side| {
                let index = self.tables.index(0, &plan.positions[side], &k);
                let (loc, len) = plan.inputs[side];
                self.element(loc, len, &index, Access::Any)
            })
            .collect();
        format!(
            "    for (int i = THREAD; i < {}; i += TEAM) {{\n        double s = -0.0;\n        \
             for (int j = 0; j < {terms}; ++j)\n            s = s + {} * {};\n        \
             w[{to} + i] = s;\n    }}\n",
            plan.len, x[0], x[1]
        )
    }

    /// Factors and triangular solves: small, by the first thread.
    fn matrix_step(&mut self, plan: &KernelPlan, to: usize) -> String {
        let n = self.graph.size(plan.dims[0]);
        let mut pointer = |k: usize| {
            let (loc, len) = plan.inputs[k];
            let first = self.element(loc, len, "0", Access::Any);
            format!("&{first}")
        };
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
                "tri_solve_into({n}, {}, {}, {}, {transpose}, w + {to})",
                plan.len / n.max(1),
                pointer(0),
                pointer(1)
            ),
            other => unreachable!("{other:?} is not a step on whole arrays"),
        };
        format!("    if (THREAD == 0)\n        {call};\n")
    }
}
