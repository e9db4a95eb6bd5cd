//! Statements become instructions: names become places, and every modifier has to be known.

mod bits;
mod control;
mod convert;
mod floats;
mod integers;
mod memory;
mod modifiers;
mod names;
mod rounded;
mod scalar;
mod special;
mod together;

use crate::code::{Code, Condition, Entry, Frame, Instruction, Kind};
use crate::parse::{Function, Item, Module, Place, Statement};
use crate::{Fault, Result};
use modifiers::Modifiers;
use names::Names;
use std::collections::HashMap;

/// Decodes a module whose global variables lie at the addresses that `place` gives them.
///
/// # Errors
/// What is not known, by name and line.
pub fn decode(module: &Module, addresses: &HashMap<String, u64>) -> Result<Code> {
    let mut code = Code::default();
    let mut names = Names::new(module, addresses)?;
    code.shared = names.shared_bytes;
    for (k, function) in module.functions.iter().enumerate() {
        names.enter(function)?;
        let start = code.instructions.len() as u32;
        one(function, &mut names, &mut code)?;
        code.frames.push(Frame {
            name: function.name.clone(),
            start,
            ..names.leave()?
        });
        if function.is_entry {
            let entry = Entry {
                function: k as u32,
                arguments: special::offsets(&function.arguments),
                most_threads: function.most_threads,
            };
            code.entries.insert(function.name.clone(), entry);
        }
    }
    names.check_calls()?;
    code.constants = names.constants();
    Ok(code)
}

/// Decodes one function.
fn one(function: &Function, names: &mut Names, code: &mut Code) -> Result<()> {
    let first = code.instructions.len() as u32;
    let mut at = first;
    for item in &function.items {
        match item {
            Item::Label(label) => names.label(label, at),
            Item::Statement(_) => at += 1,
            Item::Variable(..) => {}
        }
    }
    for item in &function.items {
        match item {
            Item::Label(_) => {}
            Item::Variable(Place::Local, variable) => names.local(variable),
            Item::Variable(Place::Param, variable) => names.parameter(variable),
            Item::Variable(..) => {
                let text = format!("{} has a variable of another kind", function.name);
                return Err(Fault::new(0, text));
            }
            Item::Statement(statement) => code.instructions.push(instruction(statement, names)?),
        }
    }
    // A function whose last lines are a loop without an end needs nothing behind it.
    code.instructions.push(Instruction {
        line: 0,
        guard: None,
        kind: Kind::Return,
    });
    Ok(())
}

/// A family of instructions: none for a name that is of another one.
type Family = fn(&mut Modifiers, &Statement, &mut Names) -> Result<Option<Kind>>;

const FAMILIES: [Family; 7] = [
    integers::decode,
    floats::decode,
    bits::decode,
    convert::decode,
    memory::decode,
    control::decode,
    together::decode,
];

fn instruction(statement: &Statement, names: &mut Names) -> Result<Instruction> {
    let refuse = |why: &str| {
        let text = format!("`{}` is not known here: {why}", statement.opcode);
        Fault::new(statement.line, text)
    };
    for family in FAMILIES {
        let mut modifiers = Modifiers::new(&statement.opcode, statement.line);
        if let Some(kind) = family(&mut modifiers, statement, names)? {
            let left = modifiers.left();
            if !left.is_empty() {
                return Err(refuse(&format!("what does .{} mean?", left.join("."))));
            }
            let guard = statement.guard.as_ref().map(|g| {
                let at = names.predicate(&g.name, statement.line)?;
                let is_not = g.is_not;
                Ok(Condition { at, is_not })
            });
            return Ok(Instruction {
                line: statement.line,
                guard: guard.transpose()?,
                kind,
            });
        }
    }
    Err(refuse("no such instruction"))
}
