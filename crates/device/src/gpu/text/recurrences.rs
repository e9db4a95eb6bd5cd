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
        let mut values = HashMap::new();
        for instr in &plan.code {
            self.step_instruction(plan, instr, &mut values, &mut text);
        }
        text.push_str("        }\n    }\n");
        self.step(&text);
        let to = self.arrays.place(plan.to);
        self.arrays.wrote(to, plan.len, Access::Any);
    }

    fn step_instruction(
        &mut self,
        plan: &RecurrencePlan,
        instr: &Instr,
        values: &mut HashMap<(bool, usize), String>,
        text: &mut String,
    ) {
        let operands = instr.from.iter().flatten();
        let x: Vec<String> = operands
            .map(|&loc| match values.get(&key(loc)) {
                Some(value) if loc.motion == Motion::Buffer => value.clone(),
                _ => self.step_operand(plan, loc),
            })
            .collect();
        let name = self.name();
        let also = instr.also_to.map(|to| (to, self.name()));
        let done = statement(instr.code, &x, self.real).expect("a step works element by element");
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
                let to = array(self.arrays.place(to.at), "at");
                let _ = writeln!(text, "            {to} = {name};");
            }
            values.insert(key(to), name);
        }
    }

    /// What a step reads from memory.
    fn step_operand(&mut self, plan: &RecurrencePlan, loc: Loc) -> String {
        match loc.motion {
            Motion::Stream => {
                let len = plan.steps * plan.lanes;
                self.element(loc, len, "at", Access::Any)
            }
            Motion::Along => self.element(loc, plan.lanes, "l", Access::Any),
            _ => self.scalar(loc),
        }
    }
}

fn key(loc: Loc) -> (bool, usize) {
    (loc.arena == Arena::Work, loc.at)
}
