//! Where to go on: branches, calls, ends.

use super::modifiers::Modifiers;
use super::names::{Names, exactly};
use crate::Result;
use crate::code::Kind;
use crate::parse::{Operand, Statement};

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    Ok(Some(match m.name {
        "bra" => {
            m.take("uni");
            let [Operand::Name(label)] = exactly(m, &s.operands)? else {
                return Err(m.refuse("where to?"));
            };
            Kind::Branch(names.place_of_label(label, s.line)?)
        }
        "call" => {
            m.take("uni");
            call(m, s, names)?
        }
        "ret" => {
            m.take("uni");
            Kind::Return
        }
        "exit" => Kind::Exit,
        "trap" => Kind::Trap,
        _ => return Ok(None),
    }))
}

/// `call (RESULTS), NAME, (ARGUMENTS)`, all of them parameters.
fn call(m: &Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let none = Vec::new();
    let (results, name, arguments) = match &s.operands[..] {
        [Operand::Name(name)] => (&none, name, &none),
        [Operand::Name(name), Operand::List(arguments)] => (&none, name, arguments),
        [Operand::List(results), Operand::Name(name)] => (results, name, &none),
        [
            Operand::List(results),
            Operand::Name(name),
            Operand::List(arguments),
        ] => (results, name, arguments),
        _ => return Err(m.refuse("what is called?")),
    };
    let (function, signature) = names.function(name, s.line)?;
    let arguments = names.joined(s.line, arguments, &signature.arguments, name, false)?;
    let results = names.joined(s.line, results, &signature.results, name, true)?;
    let results = results.into_iter().map(|(own, theirs)| (theirs, own));
    Ok(Kind::Call {
        function,
        arguments,
        results: results.collect(),
    })
}
