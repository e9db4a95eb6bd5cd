//! Recurrences as C: a thread to each lane, which runs through the steps.

use super::arrays::Access;
use super::loops::{Statement, statement};
use super::precision::Real;
use super::{Writer, array};
use crate::cpu::program::{Arena, Instr, Loc, Motion, RecurrencePlan};
use std::collections::HashMap;
use std::fmt::Write as _;

impl Writer<'_> {
    /// Writes a recurrence, in the order of operations of the CPU's.
    pub(super) fn recurrence(&mut self, plan: &RecurrencePlan) {
        self.real = Real::Double;
        let (steps, lanes) = (plan.steps, plan.lanes);
        let mut text = format!("    SHARE(l, {lanes}) {{\n");
        for &(from, to) in &plan.starts {
            let x = self.element(from, lanes, "l", Access::Any);
            let to = array(self.arrays.place(to), "l");
            let _ = writeln!(text, "        {to} = {x};");
        }
        let step = match plan.reverse {
            true => format!("{steps} - 1 - k"),
            false => "k".into(),
        };
        let _ = writeln!(
            text,
            "        ROLLED for (int k = 0; k < {steps}; ++k) {{\n            \
             const int at = ({step}) * {lanes} + l;"
        );
        let operand = |w: &mut Self, loc: Loc| w.step_operand(plan, loc);
        let store = |w: &mut Self, loc: Loc| array(w.arrays.place(loc.at), "at");
        self.straight(&plan.code, operand, store, &mut text);
        text.push_str("        }\n    }\n");
        self.step(&text);
        let to = self.arrays.place(plan.to);
        self.arrays.wrote(to, plan.len, Access::Any);
    }

    /// Instructions over single numbers; `operand` says how what is no intermediate result is read,
    /// `store` where a stream is written.
    pub(super) fn straight(
        &mut self,
        code: &[Instr],
        mut operand: impl FnMut(&mut Self, Loc) -> String,
        mut store: impl FnMut(&mut Self, Loc) -> String,
        text: &mut String,
    ) {
        let mut values: HashMap<(bool, usize), String> = HashMap::new();
        for instr in code {
            let mut x = Vec::new();
            for &loc in instr.from.iter().flatten() {
                x.push(match values.get(&key(loc)) {
                    Some(value) if loc.motion == Motion::Buffer => value.clone(),
                    _ => operand(self, loc),
                });
            }
            let name = self.name();
            let also = instr.also_to.map(|to| (to, self.name()));
            let done =
                statement(instr.code, &x, self.real).expect("a step works element by element");
            let line = match (done, &also) {
                (Statement::Pair(call), Some((_, also))) => {
                    format!("double {also};\n            const double {name} = {call}, &{also});")
                }
                (Statement::Value(value) | Statement::Pair(value), _) => {
                    format!("const double {name} = {value};")
                }
            };
            let _ = writeln!(text, "            {line}");
            let to = instr.to.map(|to| (to, name));
            for (to, name) in to.into_iter().chain(also) {
                if to.motion == Motion::Stream {
                    let to = store(self, to);
                    let _ = writeln!(text, "            {to} = {name};");
                }
                values.insert(key(to), name);
            }
        }
    }

    /// What a step reads from memory.
    fn step_operand(&mut self, plan: &RecurrencePlan, loc: Loc) -> String {
        match loc.motion {
            Motion::Stream => {
                let len = plan.steps * plan.lanes;
                self.element(loc, len, "at", Access::Any)
            }
            _ => self.lane_operand(loc, plan.lanes),
        }
    }

    /// A number of lane `l`, or one that all lanes share.
    pub(super) fn lane_operand(&mut self, loc: Loc, lanes: usize) -> String {
        match loc.motion {
            Motion::Along => self.element(loc, lanes, "l", Access::Any),
            _ => self.scalar(loc),
        }
    }
}

fn key(loc: Loc) -> (bool, usize) {
    (loc.arena == Arena::Work, loc.at)
}
