//! Loads, stores and changes of memory.

use super::modifiers::Modifiers;
use super::names::{Names, exactly};
use super::scalar::one;
use crate::Result;
use crate::code::{Access, Address, Change, Kind, Number, Space, Strength, Value};
use crate::parse::{Operand, Statement};
use crate::run::memory::{LOCAL_WINDOW, PARAM_WINDOW};

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    match m.name {
        "ld" => load(m, s, names).map(Some),
        "st" => store(m, s, names).map(Some),
        "atom" | "red" => change(m, s, names).map(Some),
        _ => Ok(None),
    }
}

const SPACES: [(&str, Space); 5] = [
    ("global", Space::Global),
    ("const", Space::Global),
    ("shared", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Param),
];

/// What loads and stores have in common: space, bytes, how strong they are, how many elements.
fn access(m: &mut Modifiers) -> Result<(Access, usize)> {
    let kind = m.kind()?;
    let strength = match m.take("volatile") || m.take("relaxed") {
        true => Strength::Strong,
        false => Strength::Weak,
    };
    // Scopes of strong accesses: whoever takes part runs on one GPU here.
    if strength == Strength::Strong {
        let _ = m.take("gpu") || m.take("sys") || m.take("cta");
    }
    m.take("weak");
    let elements = m.one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let space = m.one_of(&SPACES).unwrap_or(Space::Generic);
    let access = Access {
        space,
        bytes: kind.bits / 8,
        signed: (kind.kind == 's').then_some(64),
        strength,
    };
    Ok((access, elements))
}

/// Registers or values of a vector, or one.
fn elements(operand: &Operand) -> Vec<&Operand> {
    match operand {
        Operand::Vector(all) => all.iter().collect(),
        other => vec![other],
    }
}

fn load(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let (mut access, n) = access(m)?;
    if m.take("nc") && access.space != Space::Global {
        return Err(m.refuse("only global memory is constant"));
    }
    let [d, a] = exactly(m, &s.operands)?;
    let to = elements(d);
    if to.len() != n {
        return Err(m.refuse("another number of registers"));
    }
    if let Some((name, offset)) = parameter(names, a, access.space) {
        let Operand::Name(target) = to[0] else {
            return parts(m, s, names, &to, (&name, offset), access.bytes);
        };
        let from = names.part((&name, offset), access.bytes, false, s.line)?;
        let register = names.register(target, s.line)?;
        let at = names.result(to[0], 8, s.line)?;
        if n > 1 || access.bytes * 8 == register.bits {
            return parts(m, s, names, &to, (&name, offset), access.bytes);
        }
        // A narrow part of a register.
        let (spare, room) = (64 - 8 * access.bytes, 64 - register.bits);
        let signed = access.signed.is_some();
        let f = move |x: u64| match signed {
            true => ((x << spare) as i64 >> spare) as u64 & (u64::MAX >> room),
            false => x << spare >> spare,
        };
        return Ok(Kind::Compute(at, one([Value::Register(from)], f)));
    }
    let mut places = Vec::new();
    for one in to {
        places.push(names.target(one, 8, s.line)?);
        if let (Some(room), Operand::Name(name)) = (&mut access.signed, one) {
            *room = names.register(name, s.line)?.bits;
        }
    }
    let address = address(m, names, a, access.space, s.line)?;
    Ok(Kind::Load(places, address, access))
}

/// Parts of a parameter to registers of the same width.
fn parts(
    m: &Modifiers,
    s: &Statement,
    names: &mut Names,
    to: &[&Operand],
    (name, offset): (&str, i64),
    bytes: u32,
) -> Result<Kind> {
    let mut pairs = Vec::new();
    for (k, one) in to.iter().enumerate() {
        let at = offset + k as i64 * i64::from(bytes);
        let from = names.part((name, at), bytes, false, s.line)?;
        pairs.push((names.target(one, 8 * bytes, s.line)?, Value::Register(from)));
    }
    copies(m, pairs)
}

/// Several copies at once.
fn copies(m: &Modifiers, pairs: Vec<(Option<u32>, Value)>) -> Result<Kind> {
    let mut pairs = pairs.into_iter().filter_map(|(to, from)| Some((to?, from)));
    let first = pairs.next().ok_or_else(|| m.refuse("nobody wants it"))?;
    let rest: Vec<(u32, Value)> = pairs.collect();
    Ok(match rest.is_empty() {
        true => Kind::Copy(first.0, first.1),
        false => Kind::Copies([vec![first], rest].concat()),
    })
}

/// Name and offset of a parameter that lies in registers.
fn parameter(names: &Names, address: &Operand, space: Space) -> Option<(String, i64)> {
    let Operand::Address(name, offset) = address else {
        return None;
    };
    let own = space == Space::Param && !name.starts_with('%');
    (own && names.kernel_argument(name).is_none()).then(|| (name.clone(), *offset))
}

fn store(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let (access, n) = access(m)?;
    let [a, d] = exactly(m, &s.operands)?;
    let from = elements(d);
    if from.len() != n {
        return Err(m.refuse("another number of values"));
    }
    let bits = 8 * access.bytes;
    let values = from.iter().map(|o| names.value(o, bits.max(16), s.line));
    let values = values.collect::<Result<Vec<_>>>()?;
    if let Some((name, offset)) = parameter(names, a, access.space) {
        let mut pairs = Vec::new();
        for (k, value) in values.into_iter().enumerate() {
            let at = offset + k as i64 * i64::from(access.bytes);
            let to = names.part((&name, at), access.bytes, true, s.line)?;
            pairs.push((Some(to), value));
        }
        return copies(m, pairs);
    }
    if access.space == Space::Param {
        return Err(m.refuse("arguments of a kernel are read only"));
    }
    let address = address(m, names, a, access.space, s.line)?;
    Ok(Kind::Store(values, address, access))
}

/// An address in memory.
fn address(
    m: &Modifiers,
    names: &mut Names,
    operand: &Operand,
    space: Space,
    line: u32,
) -> Result<Address> {
    let Operand::Address(name, offset) = operand else {
        return Err(m.refuse("its memory has no address"));
    };
    let mut offset = *offset;
    let base = if let Some(at) = names.local_offset(name) {
        if space != Space::Local {
            return Err(m.refuse("a variable of local memory"));
        }
        offset += i64::from(at);
        None
    } else if let Some(at) = names.kernel_argument(name) {
        let at = PARAM_WINDOW + u64::from(at);
        Some(names.constant(at))
    } else {
        let base = names.value(&Operand::Name(name.clone()), 64, line)?;
        // Local addresses in registers count from the start of the thread's memory.
        if space == Space::Local {
            offset = offset.wrapping_add(LOCAL_WINDOW as i64);
        }
        Some(base)
    };
    Ok(Address { base, offset })
}

fn change(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let space = m.one_of(&SPACES).unwrap_or(Space::Generic);
    m.take("relaxed");
    let _ = m.take("gpu") || m.take("sys") || m.take("cta");
    let change = m.one_of(&[
        ("add", Change::Add),
        ("min", Change::Min),
        ("max", Change::Max),
        ("and", Change::And),
        ("or", Change::Or),
        ("xor", Change::Xor),
        ("exch", Change::Exchange),
        ("cas", Change::CompareAndSwap),
    ]);
    let change = change.ok_or_else(|| m.refuse("which change?"))?;
    if kind.bits < 32 || kind.kind == 'f' {
        return Err(m.refuse("not of this type"));
    }
    let (to, rest) = match (m.name, &s.operands[..]) {
        ("atom", [d, rest @ ..]) => (names.target(d, kind.bits, s.line)?, rest),
        (_, rest) => (None, rest),
    };
    let n = if change == Change::CompareAndSwap {
        2
    } else {
        1
    };
    let [a, values @ ..] = rest else {
        return Err(m.refuse("no address"));
    };
    if values.len() != n {
        return Err(m.refuse("another number of values"));
    }
    let values = values.iter().map(|o| names.value(o, kind.bits, s.line));
    let values = values.collect::<Result<Vec<_>>>()?;
    let access = Access {
        space,
        bytes: kind.bits / 8,
        signed: None,
        strength: Strength::Strong,
    };
    let number = match kind.kind {
        's' => Number::Signed,
        _ => Number::Unsigned,
    };
    let address = address(m, names, a, space, s.line)?;
    Ok(Kind::Atomic(to, change, number, address, access, values))
}
