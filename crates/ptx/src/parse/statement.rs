//! One instruction as its name and its operands, and declarations of variables.

use super::{Place, Variable};
use crate::{Fault, Result};

/// An operand, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register, a variable, a function or a label.
    Name(String),
    /// The opposite of a predicate.
    Not(String),
    /// A whole number.
    Integer(i128),
    /// `0f...`, as its bits.
    Single(u32),
    /// `0d...`, as its bits.
    Double(u64),
    /// Several registers in braces.
    Vector(Vec<Operand>),
    /// Two results: `%r1|%p2`.
    Pair(String, String),
    /// `[NAME+OFFSET]`.
    Address(String, i64),
    /// Arguments in parentheses.
    List(Vec<String>),
    /// `_`: nobody wants it.
    Nothing,
}

/// The predicate that decides whether a lane takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its register.
    pub name: String,
    /// Whether it must not hold.
    pub is_not: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its line.
    pub line: u32,
    /// Who takes part.
    pub guard: Option<Guard>,
    /// Its name with all that is joined to it by points.
    pub opcode: String,
    /// Operands.
    pub operands: Vec<Operand>,
}

impl Statement {
    /// Parses what stands before a semicolon.
    ///
    /// # Errors
    /// An operand that is not understood.
    pub fn parse(line: u32, text: &str) -> Result<Statement> {
        let (guard, rest) = match text.strip_prefix('@') {
            Some(rest) => {
                let (name, rest) = rest
                    .split_once(' ')
                    .ok_or_else(|| Fault::new(line, format!("`{text}` guards nothing")))?;
                let is_not = name.starts_with('!');
                let name = name.trim_start_matches('!').to_string();
                (Some(Guard { name, is_not }), rest.trim_start())
            }
            None => (None, text),
        };
        let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let parts = parts(operands);
        let operands = parts.iter().map(|p| operand(line, p));
        Ok(Statement {
            line,
            guard,
            opcode: opcode.into(),
            operands: operands.collect::<Result<Vec<_>>>()?,
        })
    }
}

/// Operands between commas that are not inside braces.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        match (c, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one at first").push(c),
        }
    }
    let parts = parts.iter().map(|p| p.trim().to_string());
    parts.filter(|p| !p.is_empty()).collect()
}

fn operand(line: u32, text: &str) -> Result<Operand> {
    let bad = || Fault::new(line, format!("the operand `{text}` is not understood"));
    let inside = |open: char, close: char| {
        let rest = text.strip_prefix(open)?;
        rest.strip_suffix(close)
    };
    if let Some(list) = inside('{', '}') {
        let all = list.split(',').map(|p| operand(line, p.trim()));
        return Ok(Operand::Vector(all.collect::<Result<Vec<_>>>()?));
    }
    if let Some(list) = inside('(', ')') {
        let names = list.split(',').map(|p| p.trim().to_string());
        return Ok(Operand::List(names.filter(|n| !n.is_empty()).collect()));
    }
    if let Some(address) = inside('[', ']') {
        return match address.split_once('+') {
            Some((name, offset)) => {
                let offset = offset.trim().parse().map_err(|_| bad())?;
                Ok(Operand::Address(name.trim().into(), offset))
            }
            None => Ok(Operand::Address(address.trim().into(), 0)),
        };
    }
    if let Some((a, b)) = text.split_once('|') {
        return Ok(Operand::Pair(a.trim().into(), b.trim().into()));
    }
    if let Some(name) = text.strip_prefix('!') {
        return Ok(Operand::Not(name.trim().into()));
    }
    if text == "_" {
        return Ok(Operand::Nothing);
    }
    match text.chars().next() {
        Some(c) if c.is_ascii_digit() || c == '-' => number(text).ok_or_else(bad),
        Some(c) if c.is_ascii_alphabetic() || "_$%".contains(c) => Ok(Operand::Name(text.into())),
        _ => Err(bad()),
    }
}

/// A constant.
fn number(text: &str) -> Option<Operand> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0d").filter(|d| d.len() == 16) {
        return u64::from_str_radix(digits, 16).ok().map(Operand::Double);
    }
    if let Some(digits) = lower.strip_prefix("0f").filter(|d| d.len() == 8) {
        return u32::from_str_radix(digits, 16).ok().map(Operand::Single);
    }
    let (sign, digits) = match lower.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, lower.as_str()),
    };
    let digits = digits.trim_end_matches('u');
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    value.ok().map(|v| Operand::Integer(sign * v))
}

/// Bytes of a type such as `.b64`.
pub(super) fn bytes_of(kind: &str) -> Option<u32> {
    let digits: String = kind.chars().filter(char::is_ascii_digit).collect();
    let bits: u32 = digits.parse().ok()?;
    (bits.is_multiple_of(8) && bits <= 128).then_some(bits / 8)
}

/// `.local .align 16 .b8 NAME[368]`.
pub(super) fn declaration(line: u32, text: &str) -> Result<(Place, Variable)> {
    let bad = || Fault::new(line, format!("`{text}` declares no variable"));
    let mut words = text.split_whitespace().peekable();
    let place = match words.next().ok_or_else(bad)? {
        ".global" => Place::Global,
        ".const" => Place::Const,
        ".shared" => Place::Shared,
        ".local" => Place::Local,
        ".param" => Place::Param,
        _ => return Err(bad()),
    };
    let (mut align, mut element) = (None, None);
    let mut name = String::new();
    while let Some(word) = words.next() {
        match word {
            ".align" => {
                let n: u32 = words.next().and_then(|n| n.parse().ok()).ok_or_else(bad)?;
                // After `.ptr` it is what the argument points to that lies so.
                align = align.or(Some(n));
            }
            ".ptr" => align = align.or(Some(8)),
            ".global" | ".const" | ".shared" | ".local" if element.is_some() => {}
            _ if element.is_none() && word.starts_with('.') => {
                element = Some(bytes_of(word).ok_or_else(bad)?);
            }
            _ => name.push_str(word),
        }
    }
    let element = element.ok_or_else(bad)?;
    let (name, dimensions) = name
        .split_once('[')
        .map_or((name.as_str(), ""), |(n, d)| (n, d));
    let lengths = dimensions.split(['[', ']']).filter(|d| !d.is_empty());
    let mut bytes = element;
    for length in lengths {
        bytes *= length.parse::<u32>().map_err(|_| bad())?;
    }
    let align = align.unwrap_or(element);
    if name.is_empty() || dimensions.starts_with(']') || !align.is_power_of_two() {
        return Err(bad());
    }
    let name = name.into();
    Ok((
        place,
        Variable {
            name,
            bytes,
            align,
            element,
        },
    ))
}

/// `{1, 2, 3}`, or one value, as bytes.
pub(super) fn array(line: u32, text: &str, element: u32) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let plain: String = text.chars().filter(|c| !"{}".contains(*c)).collect();
    for part in plain.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let bits = match number(part) {
            Some(Operand::Integer(v)) => v as u64,
            Some(Operand::Single(v)) => u64::from(v),
            Some(Operand::Double(v)) => v,
            _ => return Err(Fault::new(line, format!("`{part}` is no initial value"))),
        };
        bytes.extend(&bits.to_le_bytes()[..element.min(8) as usize]);
    }
    Ok(bytes)
}
