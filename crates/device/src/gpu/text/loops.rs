//! Loops as C: one element at a time where the CPU runs a block at a time.

use super::arrays::{Access, Place};
use super::functions;
use super::order;
use super::precision::{Precision, Real};
use super::sums::{Reduction, copies};
use super::{Writer, array};
use crate::cpu::program::{Arena, Code, Instr, Loc, LoopPlan, MatrixPlan, Motion, PARTIALS};
use fitzroy_graph::Unary;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Values of the turn of a loop, by where the CPU keeps them.
type Values = HashMap<(bool, usize), String>;

/// A loop being written.
pub(super) struct Turn<'p> {
    pub(super) plan: &'p LoopPlan,
    pub(super) values: Values,
    /// Statements of a turn.
    pub(super) text: String,
    /// What each statement starts with.
    indent: &'static str,
    /// Single numbers to be written: place and name.
    pub(super) once: Vec<(Place, String)>,
    /// Arrays written: place and length.
    pub(super) written: Vec<(Place, usize)>,
    /// Arrays made for sums, by the value they hold.
    added: HashMap<String, Place>,
    pub(super) reductions: Vec<Reduction>,
}

impl Turn<'_> {
    /// The value a turn computed for `loc`.
    pub(super) fn value(&self, loc: Loc) -> Option<&String> {
        self.values.get(&(loc.arena == Arena::Work, loc.at))
    }
}

/// What an elementwise instruction does.
pub(super) enum Statement {
    /// An expression of its operands.
    Value(String),
    /// A call with two results, the pointer to the second one and the end of the call left out.
    Pair(String),
}

/// The statement of an instruction with operands `x`, in `real`; none where it is not elementwise.
pub(super) fn statement(code: Code, x: &[String], real: Real) -> Option<Statement> {
    let end = real.suffix();
    let pair = |name: &str| {
        let call = format!("{}{name}_pair({}", real.functions(), x.join(", "));
        Some(Statement::Pair(call))
    };
    let value = match (code, x) {
        (Code::LogNdtrPair, _) => return pair("logndtr"),
        (Code::LogAddExpPair, _) => return pair("logaddexp"),
        (Code::SoftplusPair, _) => return pair("softplus"),
        (Code::LgammaPair, _) => return pair("lgamma"),
        (Code::SinCos, _) => return pair("sincos"),
        (Code::Copy, [a]) => a.clone(),
        (Code::Unary(op), [a]) => functions::unary(op, a, real),
        (Code::Binary(op), [a, b]) => functions::binary(op, a, b, real),
        (Code::Select, [c, a, b]) => format!("{c} == 0.0{end} ? {b} : {a}"),
        (Code::MulAdd, [a, b, c]) => format!("fma{end}({a}, {b}, {c})"),
        (Code::SubMul, [a, b, c]) => format!("fma{end}(-{a}, {b}, {c})"),
        (Code::MulSub, [a, b, c]) => format!("fma{end}({a}, {b}, -{c})"),
        _ => return None,
    };
    Some(Statement::Value(value))
}

impl Writer<'_> {
    /// A loop over many elements, shared out among the threads.
    pub(super) fn many(&mut self, plan: &LoopPlan) {
        self.real = self.arrays.of_loop(plan);
        let turn = self.turn(plan, "        ");
        let n = plan.n;
        match (turn.text.is_empty(), self.earlier_loop(n, &turn.text)) {
            (true, _) => self.step(""),
            (false, Some(which)) => self.add_to_loop(which, &turn.text),
            (false, None) => self.elements(n, &turn.text),
        }
        for &(place, len) in &turn.written {
            self.arrays.wrote(place, len, Access::Along);
        }
        self.reduce(turn);
        self.real = Real::Double;
    }

    /// A loop over one element: every thread computes it, the first one stores what is stored.
    pub(super) fn single(&mut self, plan: &LoopPlan) {
        self.is_single = true;
        let turn = self.turn(plan, "    ");
        self.is_single = false;
        if self.is_crowded() {
            self.step(&turn.text);
        } else {
            let (divisions, rest) = order::divisions_apart(&turn.text);
            self.step("");
            self.as_early_as_known(&divisions);
            self.step(&rest);
        }
        for (place, name) in turn.once {
            self.store_once(place, &name);
        }
        for (place, len) in turn.written {
            self.arrays.wrote(place, len, Access::Along);
        }
    }

    fn turn<'p>(&mut self, plan: &'p LoopPlan, indent: &'static str) -> Turn<'p> {
        let mut turn = Turn {
            plan,
            values: HashMap::new(),
            text: String::new(),
            indent,
            once: Vec::new(),
            written: Vec::new(),
            added: HashMap::new(),
            reductions: Vec::new(),
        };
        for instr in &plan.code {
            self.instruction(&mut turn, instr);
        }
        turn
    }

    /// The operand at `loc` in this turn.
    fn operand(&mut self, turn: &Turn<'_>, loc: Loc) -> String {
        if let Some(value) = turn.value(loc) {
            return value.clone();
        }
        match loc.motion {
            Motion::Stream if turn.plan.n > 1 => self.element(loc, turn.plan.n, "i", Access::Along),
            _ => self.scalar(loc),
        }
    }

    fn instruction(&mut self, turn: &mut Turn<'_>, instr: &Instr) {
        match instr.code {
            Code::GatherRuns(t) | Code::GatherRising(t) => {
                let runs = &turn.plan.runs[t];
                let rising = matches!(instr.code, Code::GatherRising(_));
                let positions = runs.positions(rising);
                self.lookup(turn, instr, &positions);
            }
            Code::GatherAt(t) => {
                let plan = turn.plan;
                self.lookup(turn, instr, &plan.positions[t]);
            }
            Code::MatVec(m) => self.matrix_row(turn, instr, m),
            Code::Sum(_)
            | Code::SumRuns(_)
            | Code::SumRising(_)
            | Code::SumAt(_)
            | Code::MatVecT(_) => self.reduction(turn, instr),
            Code::LogNdtrPair
            | Code::LogAddExpPair
            | Code::SoftplusPair
            | Code::LgammaPair
            | Code::SinCos
            | Code::Copy
            | Code::Unary(_)
            | Code::Binary(_)
            | Code::Select
            | Code::MulAdd
            | Code::SubMul
            | Code::MulSub => self.elementwise(turn, instr),
            Code::Native => unreachable!("text is made of steps before machine code is"),
        }
    }

    /// An instruction that reads and writes one element.
    fn elementwise(&mut self, turn: &mut Turn<'_>, instr: &Instr) {
        let operands = instr.from.iter().flatten();
        let x: Vec<String> = operands.map(|&loc| self.operand(turn, loc)).collect();
        let to = instr.to.expect("has a result");
        match statement(instr.code, &x, self.real).expect("is elementwise") {
            Statement::Value(text) => {
                self.assign(turn, to, &text);
                self.note_turned(instr, to);
            }
            Statement::Pair(call) => {
                let also = instr.also_to.expect("has a second result");
                self.assign_pair(turn, [to, also], &call);
            }
        }
    }

    /// Notes an array that is a parameter with its sign turned: who reads it anywhere need not wait for it.
    fn note_turned(&mut self, instr: &Instr, to: Loc) {
        if let (Code::Unary(Unary::Neg), Some(from)) = (instr.code, instr.from[0])
            && from.arena == Arena::Work
            && self.arrays.is_parameter(from.at)
            && self.precision == Precision::F64
            && to.motion != Motion::Buffer
        {
            self.turned.insert(to.at, from);
        }
    }

    /// A new variable with the value of `text`, stored where the CPU stores it.
    fn assign(&mut self, turn: &mut Turn<'_>, to: Loc, text: &str) {
        let name = self.name();
        let (indent, real) = (turn.indent, self.real.name());
        let _ = writeln!(turn.text, "{indent}const {real} {name} = {text};");
        self.store(turn, to, name);
    }

    fn assign_pair(&mut self, turn: &mut Turn<'_>, to: [Loc; 2], call: &str) {
        let [first, second] = [self.name(), self.name()];
        let (indent, real) = (turn.indent, self.real.name());
        let _ = writeln!(turn.text, "{indent}{real} {second};");
        let _ = writeln!(
            turn.text,
            "{indent}const {real} {first} = {call}, &{second});"
        );
        self.store(turn, to[0], first);
        self.store(turn, to[1], second);
    }

    fn store(&mut self, turn: &mut Turn<'_>, to: Loc, name: String) {
        if to.motion != Motion::Buffer {
            let place = self.arrays.place(to.at);
            let (indent, n) = (turn.indent, turn.plan.n);
            if n == 1 {
                self.know(to.at, name.clone());
                self.store_in(turn, place, &name);
            } else {
                // Writing to a string cannot fail.
                let _ = writeln!(turn.text, "{indent}{} = {name};", array(place, "i"));
            }
            turn.written.push((place, n));
        }
        turn.values.insert((true, to.at), name);
    }

    /// The first thread will have written the number `name` to `place`: when all meet next, or at once
    /// where it should not be kept for long.
    pub(super) fn store_in(&mut self, turn: &mut Turn<'_>, place: Place, name: &str) {
        if self.is_crowded() {
            let (indent, to) = (turn.indent, array(place, ""));
            let _ = writeln!(turn.text, "{indent}if (THREAD == 0) {to} = {name};");
        } else {
            turn.once.push((place, name.into()));
        }
    }

    fn lookup(&mut self, turn: &mut Turn<'_>, instr: &Instr, positions: &[u32]) {
        let from = instr.from[0].expect("has an operand");
        let to = instr.to.expect("has a result");
        let highest = positions.iter().max().copied().unwrap_or(0) as usize;
        let index = if turn.plan.n == 1 {
            // One element of an array may be a number that every thread knows.
            if from.arena == Arena::Work
                && let Some(name) = self.recall(from.at + highest)
            {
                return self.assign(turn, to, &name);
            }
            format!("{highest}")
        } else {
            self.tables.index(0, positions, "i")
        };
        let text = self.element(from, highest + 1, &index, Access::Any);
        self.assign(turn, to, &text);
    }

    /// One row of a matrix times a vector.
    fn matrix_row(&mut self, turn: &mut Turn<'_>, instr: &Instr, m: usize) {
        let m = turn.plan.matrices[m];
        let vector = instr.from[0].expect("has an operand");
        let to = instr.to.expect("has a result");
        let i = if turn.plan.n == 1 { "0" } else { "i" };
        let entry = self.entry(&m, turn.plan.n, i);
        let x = self.element(vector, m.columns, "c", Access::Any);
        let (name, indent) = (self.name(), turn.indent);
        let (real, f) = (self.real.name(), self.real.suffix());
        let _ = writeln!(turn.text, "{indent}{real} {name} = 0.0{f};");
        let _ = writeln!(
            turn.text,
            "{indent}{}for (int c = 0; c < {}; ++c)\n{indent}    {name} = fma{f}({entry}, {x}, {name});",
            copies(m.columns),
            m.columns
        );
        self.store(turn, to, name);
    }

    /// Row `i` and column `c` of a data matrix of `n` rows, in panels.
    pub(super) fn entry(&mut self, m: &MatrixPlan, n: usize, i: &str) -> String {
        let (columns, len) = (m.columns, n.next_multiple_of(PARTIALS) * m.columns);
        let index = match (columns, n) {
            (1, _) => i.to_string(),
            (_, 1) => format!("c * {PARTIALS}"),
            _ => format!(
                "{i} / {PARTIALS} * {} + c * {PARTIALS} + {i} % {PARTIALS}",
                PARTIALS * columns
            ),
        };
        self.constant(m.at, len, &index)
    }

    /// The terms of a sum, where another thread can read them.
    pub(super) fn term(&mut self, turn: &mut Turn<'_>, loc: Loc) -> Term {
        let n = turn.plan.n;
        let (value, indent) = (turn.value(loc).cloned(), turn.indent);
        match (value, loc.motion) {
            (Some(value), Motion::Buffer) if n > 1 => {
                if let Some(&place) = turn.added.get(&value) {
                    return Term::Added(place);
                }
                let place = self.arrays.reserve(n, self.real);
                let _ = writeln!(turn.text, "{indent}{} = {value};", array(place, "i"));
                turn.written.push((place, n));
                turn.added.insert(value, place);
                Term::Added(place)
            }
            (Some(value), _) if n == 1 => Term::Same(value),
            (_, Motion::Stream) if n > 1 => Term::Array(loc),
            _ => Term::Same(self.scalar(loc)),
        }
    }
}

/// Where the terms of a sum stand.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// The same number for every element.
    Same(String),
    /// An array that the CPU stores too.
    Array(Loc),
    /// An array made for this sum.
    Added(Place),
}
