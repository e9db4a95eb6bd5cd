//! The parts of an instruction's name, which are taken one by one until none is left.

use crate::{Fault, Result};

/// A type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// `u`, `s`, `b` or `f`; `p` for predicates.
    pub(super) kind: char,
    /// Width.
    pub(super) bits: u32,
}

impl Type {
    fn of(text: &str) -> Option<Type> {
        if text == "pred" {
            return Some(Type { kind: 'p', bits: 1 });
        }
        let kind = text.chars().next().filter(|k| "usbf".contains(*k))?;
        let bits = text[1..].parse().ok()?;
        let known = match kind {
            'f' => [32, 64].contains(&bits),
            _ => [8, 16, 32, 64].contains(&bits),
        };
        known.then_some(Type { kind, bits })
    }
}

/// How a result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Downwards.
    Down,
    /// Upwards.
    Up,
}

/// The parts of a name.
pub(super) struct Modifiers<'a> {
    whole: &'a str,
    line: u32,
    /// The first part.
    pub(super) name: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(opcode: &'a str, line: u32) -> Self {
        let mut parts = opcode.split('.').flat_map(|p| p.split("::"));
        let name = parts.next().unwrap_or("");
        Modifiers {
            whole: opcode,
            line,
            name,
            parts: parts.collect(),
        }
    }

    /// A fault of this instruction.
    pub(super) fn refuse(&self, why: &str) -> Fault {
        Fault::new(self.line, format!("`{}`: {why}", self.whole))
    }

    /// Whether a part is there; it is no more afterwards.
    pub(super) fn take(&mut self, part: &str) -> bool {
        let at = self.parts.iter().position(|p| *p == part);
        at.map(|k| self.parts.remove(k)).is_some()
    }

    /// Which of `parts` is there.
    pub(super) fn one_of<T: Copy>(&mut self, parts: &[(&str, T)]) -> Option<T> {
        let found = parts.iter().find(|(p, _)| self.parts.contains(p))?;
        self.take(found.0);
        Some(found.1)
    }

    /// The last part, as a type.
    pub(super) fn kind(&mut self) -> Result<Type> {
        let last = self.parts.last().and_then(|p| Type::of(p));
        let found = last.ok_or_else(|| self.refuse("it ends with no type that is known here"))?;
        self.parts.pop();
        Ok(found)
    }

    /// The rounding of arithmetic, where it says one.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.one_of(&[
            ("rn", Rounding::Nearest),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// What nobody took.
    pub(super) fn left(&self) -> &[&'a str] {
        &self.parts
    }
}
