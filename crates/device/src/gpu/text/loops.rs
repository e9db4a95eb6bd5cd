//! Loops as C: one element at a time where the CPU runs a block at a time.

use super::arrays::Access;
use super::functions;
use super::sums::Reduction;
use super::{Writer, subscript};
use crate::cpu::program::{Arena, Code, Instr, Loc, LoopPlan, Motion};
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
    /// Arrays written: place and length.
    pub(super) written: Vec<(usize, usize)>,
    pub(super) reductions: Vec<Reduction>,
}

impl Turn<'_> {
    /// The value a turn computed for `loc`.
    pub(super) fn value(&self, loc: Loc) -> Option<&String> {
        self.values.get(&(loc.arena == Arena::Work, loc.at))
    }
}

/// What an instruction does, as an expression of its operands; none where it needs a statement.
pub(super) fn expression(code: Code, x: &[String]) -> Option<String> {
    Some(match (code, x) {
        (Code::Copy, [a]) => a.clone(),
        (Code::Unary(op), [a]) => functions::unary(op, a),
        (Code::Binary(op), [a, b]) => functions::binary(op, a, b),
        (Code::Select, [c, a, b]) => format!("{c} == 0.0 ? {b} : {a}"),
        (Code::MulAdd, [a, b, c]) => format!("fma({a}, {b}, {c})"),
        (Code::SubMul, [a, b, c]) => format!("fma(-{a}, {b}, {c})"),
        (Code::MulSub, [a, b, c]) => format!("fma({a}, {b}, -{c})"),
        _ => return None,
    })
}

/// The function of an instruction with two results.
pub(super) fn pair(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::LogNdtrPair => "m_logndtr_pair",
        Code::LogAddExpPair => "m_logaddexp_pair",
        Code::SoftplusPair => "m_softplus_pair",
        Code::LgammaPair => "m_lgamma_pair",
        Code::SinCos => "m_sincos_pair",
        _ => return None,
    })
}

impl Writer<'_> {
    /// A loop over many elements, shared out among the threads.
    pub(super) fn many(&mut self, plan: &LoopPlan) {
        let turn = self.turn(plan, "        ");
        let n = plan.n;
        let barrier = self.arrays.take_barrier();
        if barrier {
            self.body.push_str("    SYNC();\n");
        }
        if !turn.text.is_empty() {
            let head = format!("    for (int i = THREAD; i < {n}; i += TEAM) {{\n");
            self.body.push_str(&head);
            self.body.push_str(&turn.text);
            self.body.push_str("    }\n");
        }
        for &(at, len) in &turn.written {
            self.arrays.wrote(at, len, Access::Along);
        }
        self.reduce(turn);
    }

    /// A loop over one element: every thread computes it, the first one stores what is stored.
    pub(super) fn single(&mut self, plan: &LoopPlan) {
        let turn = self.turn(plan, "    ");
        let text = turn.text;
        self.step(&text);
        for (at, len) in turn.written {
            self.arrays.wrote(at, len, Access::Along);
        }
    }

    fn turn<'p>(&mut self, plan: &'p LoopPlan, indent: &'static str) -> Turn<'p> {
        let mut turn = Turn {
            plan,
            values: HashMap::new(),
            text: String::new(),
            indent,
            written: Vec::new(),
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
            code => {
                let operands = instr.from.iter().flatten();
                let x: Vec<String> = operands.map(|&loc| self.operand(turn, loc)).collect();
                let to = instr.to.expect("has a result");
                if let Some(text) = expression(code, &x) {
                    self.assign(turn, to, &text);
                } else if let Some(name) = pair(code) {
                    let also = instr.also_to.expect("has a second result");
                    self.assign_pair(turn, [to, also], &format!("{name}({}", x.join(", ")));
                }
            }
        }
    }

    /// A new variable with the value of `text`, stored where the CPU stores it.
    fn assign(&mut self, turn: &mut Turn<'_>, to: Loc, text: &str) {
        let name = self.name();
        let _ = writeln!(turn.text, "{}const double {name} = {text};", turn.indent);
        self.store(turn, to, name);
    }

    fn assign_pair(&mut self, turn: &mut Turn<'_>, to: [Loc; 2], call: &str) {
        let [first, second] = [self.name(), self.name()];
        let indent = turn.indent;
        let _ = writeln!(turn.text, "{indent}double {second};");
        let _ = writeln!(
            turn.text,
            "{indent}const double {first} = {call}, &{second});"
        );
        self.store(turn, to[0], first);
        self.store(turn, to[1], second);
    }

    fn store(&mut self, turn: &mut Turn<'_>, to: Loc, name: String) {
        if to.motion != Motion::Buffer {
            let at = self.arrays.place(to.at);
            let (indent, n) = (turn.indent, turn.plan.n);
            let _ = if n == 1 {
                self.known.insert(to.at, name.clone());
                writeln!(turn.text, "{indent}if (THREAD == 0) w[{at}] = {name};")
            } else {
                writeln!(turn.text, "{indent}{} = {name};", subscript("w", at, "i"))
            };
            turn.written.push((at, n));
        }
        turn.values.insert((true, to.at), name);
    }

    fn lookup(&mut self, turn: &mut Turn<'_>, instr: &Instr, positions: &[u32]) {
        let from = instr.from[0].expect("has an operand");
        let to = instr.to.expect("has a result");
        let highest = positions.iter().max().copied().unwrap_or(0) as usize;
        let index = if turn.plan.n == 1 {
            // One element of an array may be a number that every thread knows.
            if let Some(name) = self.known.get(&(from.at + highest))
                && from.arena == Arena::Work
            {
                let name = name.clone();
                return self.assign(turn, to, &name);
            }
            format!("{highest}")
        } else {
            self.tables.index(0, positions, "i")
        };
        let text = self.element(from, highest + 1, &index, Access::Any);
        self.assign(turn, to, &text);
    }

    /// One row of a matrix times a vector; columns stand apart.
    fn matrix_row(&mut self, turn: &mut Turn<'_>, instr: &Instr, m: usize) {
        let m = turn.plan.matrices[m];
        let vector = instr.from[0].expect("has an operand");
        let to = instr.to.expect("has a result");
        let i = if turn.plan.n == 1 { "0" } else { "i" };
        let entry = format!("fixed[{} + c * {} + {i}]", m.at, m.stride);
        let x = self.element(vector, m.columns, "c", Access::Any);
        let (name, indent) = (self.name(), turn.indent);
        let _ = writeln!(turn.text, "{indent}double {name} = 0.0;");
        let _ = writeln!(
            turn.text,
            "{indent}for (int c = 0; c < {}; ++c)\n{indent}    {name} = fma({entry}, {x}, {name});",
            m.columns
        );
        self.store(turn, to, name);
    }

    /// The terms of a sum, where another thread can read them.
    pub(super) fn term(&mut self, turn: &mut Turn<'_>, loc: Loc) -> Term {
        let n = turn.plan.n;
        let (value, indent) = (turn.value(loc).cloned(), turn.indent);
        match (value, loc.motion) {
            (Some(value), Motion::Buffer) if n > 1 => {
                let at = self.arrays.reserve(n);
                let _ = writeln!(turn.text, "{indent}{} = {value};", subscript("w", at, "i"));
                turn.written.push((at, n));
                Term::Added(at)
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
    /// An array made for this sum, by place in `w`.
    Added(usize),
}
