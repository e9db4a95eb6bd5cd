//! Differential equations as C: a thread to each lane, which takes the steps that the CPU takes.

use super::arrays::Access;
use super::precision::Real;
use super::{Writer, array, printer};
use crate::cpu::program::{Loc, Motion, OdePlan};
use fitzroy_graph::ode::{Method, Piece};
use std::fmt::Write as _;

/// How steps are chosen; to stand before what calls it.
pub(super) const COURSE: &str = include_str!("ode.c");

impl Writer<'_> {
    /// Writes a solution, or its adjoint, in the order of operations of the CPU's.
    pub(super) fn ode(&mut self, plan: &OdePlan) {
        self.real = Real::Double;
        self.has_odes = true;
        let lanes = plan.layout.lanes;
        let mut text = format!(
            "    SHARE(l, {lanes}) {{\n            double s[{}];\n",
            plan.layout.scratch()
        );
        self.course(plan, &mut text);
        self.pieces(plan, &mut text);
        let out = array(self.arrays.place(plan.to), "");
        match plan.adjoint_of {
            None => {
                for (k, &start) in plan.starts.iter().enumerate() {
                    let x = self.element(start, lanes, "l", Access::Any);
                    let _ = writeln!(text, "            s[{k}] = {x};");
                }
                self.kicks(plan, &mut text);
                let record = array(
                    self.arrays.place(plan.to + plan.layout.asked()),
                    &format!("{} * l", plan.layout.record()),
                );
                let _ = writeln!(
                    text,
                    "            solve_ode(course, run, kick, s, &{out}, &{record});\n    }}"
                );
            }
            Some([solution, d]) => {
                self.arrays
                    .read(solution.at, plan.layout.result(), Access::Any);
                let record = array(
                    self.arrays.place(solution.at + plan.layout.asked()),
                    &format!("{} * l", plan.layout.record()),
                );
                let d = self.element(d, plan.layout.asked(), "k", Access::Any);
                let _ = writeln!(
                    text,
                    "            const auto d = [&](int k) {{ return {d}; }};\n            \
                     adjoint_of_ode(course, run, d, s, &{record}, &{out});\n    }}"
                );
            }
        }
        self.step(&text);
        let to = self.arrays.place(plan.to);
        self.arrays.wrote(to, plan.len, Access::Any);
    }

    /// Sizes, tolerances and times.
    fn course(&mut self, plan: &OdePlan, text: &mut String) {
        let layout = plan.layout;
        let own = [1, layout.times, layout.kicks];
        let mut times = Vec::new();
        for (&(loc, laned), own) in plan.times.iter().zip(own) {
            let (len, index, stride) = match laned {
                true => (own * layout.lanes, "l", layout.lanes),
                false => (own, "0", 1),
            };
            let first = self.element(loc, len.max(1), index, Access::Any);
            times.push((first, stride));
        }
        let [relative, absolute] =
            [plan.tolerance.relative, plan.tolerance.absolute].map(printer::literal);
        let _ = writeln!(
            text,
            "            const Course course = {{{}, {}, {}, {}, {}, {}, l,\n                {}, \
             {relative}, {absolute}, {},\n                &{}, {}, &{}, {}}};",
            layout.numbers,
            layout.reads,
            layout.times,
            layout.kicks,
            layout.lanes,
            layout.most_steps,
            plan.method == Method::Stiff,
            times[0].0,
            times[1].0,
            times[1].1,
            times[2].0,
            times[2].1,
        );
    }

    /// `run`: the pieces of a step.
    fn pieces(&mut self, plan: &OdePlan, text: &mut String) {
        text.push_str("            const auto run = [&](int piece) {\n");
        for part in &plan.pieces {
            let number = match part.piece {
                Piece::Rate | Piece::Adjoint => 0,
                Piece::Step | Piece::WholeAdjoint => 1,
                Piece::WholeStep => 2,
            };
            let _ = writeln!(text, "            if (piece == {number}) {{");
            let lanes = plan.layout.lanes;
            let own = |loc: Loc| format!("s[{}]", loc.at - plan.scratch);
            let operand = |w: &mut Self, loc: Loc| match loc.motion {
                Motion::Stream => own(loc),
                _ => w.lane_operand(loc, lanes),
            };
            self.straight(&part.code, operand, |_, loc| own(loc), text);
            text.push_str("            }\n");
        }
        text.push_str("            };\n");
    }

    /// `kick`: what is added to a number of the state.
    fn kicks(&mut self, plan: &OdePlan, text: &mut String) {
        let layout = plan.layout;
        text.push_str("            const auto kick = [&](int number, int k) {\n");
        let len = layout.kicks * layout.lanes;
        for (number, &by) in plan.kicks.iter().enumerate() {
            let x = self.element(by, len, &format!("(k * {} + l)", layout.lanes), Access::Any);
            let _ = writeln!(text, "            if (number == {number}) return {x};");
        }
        text.push_str("            return 0.0;\n            };\n");
    }
}
