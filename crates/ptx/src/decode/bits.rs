//! Bits, comparisons, choices, predicates, copies.

use super::integers::{Whole, computed, for_whole, pair, shift};
use super::modifiers::{Modifiers, Type};
use super::names::{Names, exactly};
use super::scalar::{compare, four, one, three, two};
use crate::Result;
use crate::code::{Compare, Condition, Kind, Logic};
use crate::parse::{Operand, Statement};

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    let kind = match m.name {
        "and" | "or" | "xor" | "not" => logic(m, s, names)?,
        "shl" | "shr" => {
            let kind = m.kind()?;
            let of = pair(m, s, names, [kind.bits, 32])?;
            let to = names.result(&s.operands[0], kind.bits, s.line)?;
            computed(to, for_whole!(kind, m, shift(m.name, of, kind)))
        }
        "shf" => funnel(m, s, names)?,
        "popc" | "clz" | "brev" => count(m, s, names)?,
        "bfi" | "bfe" => field(m, s, names)?,
        "prmt" => {
            m.take("b32");
            let [d, a, b, c] = exactly(m, &s.operands)?;
            let of = [a, b, c].map(|o| names.value(o, 32, s.line));
            let [a, b, c] = of;
            let to = names.result(d, 32, s.line)?;
            computed(to, three([a?, b?, c?], permuted))
        }
        "lop3" => {
            m.take("b32");
            let [d, a, b, c, table] = exactly(m, &s.operands)?;
            let Operand::Integer(table) = *table else {
                return Err(m.refuse("its table is no number"));
            };
            let [a, b, c] = [a, b, c].map(|o| names.value(o, 32, s.line));
            let to = names.result(d, 32, s.line)?;
            let f = move |a: u32, b: u32, c: u32| by_table(a, b, c, table as u32);
            computed(to, three([a?, b?, c?], f))
        }
        "dp2a" | "dp4a" => dot_product(m, s, names)?,
        "setp" => set_predicate(m, s, names)?,
        "selp" => {
            let kind = m.kind()?;
            let [d, a, b, p] = exactly(m, &s.operands)?;
            let [a, b] = [a, b].map(|o| names.value(o, kind.bits, s.line));
            let condition = names.condition(p, s.line)?;
            let to = names.result(d, kind.bits, s.line)?;
            Kind::Select(to, [a?, b?], condition)
        }
        "mov" => copy(m, s, names)?,
        _ => return Ok(None),
    };
    Ok(Some(kind))
}

/// The sum of products of parts of two words, and of a third word: bytes with bytes, or the halves of the
/// first with two bytes of the second.
fn dot_product(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let n_parts = if m.name == "dp4a" { 4 } else { 2 };
    // Bytes of the second word before those that are used.
    let skipped = match n_parts {
        4 => 0,
        _ => {
            let half = m.one_of(&[("lo", 0), ("hi", 2)]);
            half.ok_or_else(|| m.refuse("which half?"))?
        }
    };
    let signed = [m.kind()?, m.kind()?].map(|kind| kind.kind == 's');
    let [d, a, b, c] = exactly(m, &s.operands)?;
    let [a, b, c] = [a, b, c].map(|o| names.value(o, 32, s.line));
    let to = names.result(d, 32, s.line)?;
    let part = |word: u32, bits: u32, k: u32, is_signed: bool| {
        let high = word << (32 - bits * (k + 1));
        match is_signed {
            true => high as i32 >> (32 - bits),
            false => (high >> (32 - bits)) as i32,
        }
    };
    // The last type is the second word's.
    let f = move |a: u32, b: u32, c: u32| {
        (0..n_parts).fold(c, |sum, k| {
            let x = part(a, 32 / n_parts, k, signed[1]);
            let y = part(b, 8, k + skipped, signed[0]);
            sum.wrapping_add(x.wrapping_mul(y) as u32)
        })
    };
    Ok(computed(to, three([a?, b?, c?], f)))
}

fn logic(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let Type { bits, .. } = kind;
    if kind.kind == 'p' {
        return predicate_logic(m, s, names);
    }
    if kind.kind != 'b' {
        return Err(m.refuse("not of this type"));
    }
    let to = s.operands.first().ok_or_else(|| m.refuse("no operands"))?;
    let to = names.result(to, bits, s.line)?;
    if m.name == "not" {
        let [_, a] = exactly(m, &s.operands)?;
        let of = [names.value(a, bits, s.line)?];
        let whole = u64::MAX >> (64 - bits);
        return Ok(computed(to, one(of, move |a: u64| !a & whole)));
    }
    let of = pair(m, s, names, [bits, bits])?;
    let whole = u64::MAX >> (64 - bits);
    let compute = match m.name {
        "and" => two(of, move |a: u64, b: u64| a & b & whole),
        "or" => two(of, move |a: u64, b: u64| (a | b) & whole),
        _ => two(of, move |a: u64, b: u64| (a ^ b) & whole),
    };
    Ok(computed(to, compute))
}

fn predicate_logic(m: &Modifiers, s: &Statement, names: &Names) -> Result<Kind> {
    let name = |operand: &Operand| match operand {
        Operand::Name(name) => names.predicate(name, s.line),
        _ => Err(m.refuse("no predicate to write to")),
    };
    if m.name == "not" {
        let [d, a] = exactly(m, &s.operands)?;
        let Condition { at, is_not } = names.condition(a, s.line)?;
        let is_not = !is_not;
        let from = Some(Condition { at, is_not });
        return Ok(Kind::SetPredicate(name(d)?, from, false));
    }
    let [d, a, b] = exactly(m, &s.operands)?;
    let logic = match m.name {
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    };
    let of = [names.condition(a, s.line)?, names.condition(b, s.line)?];
    Ok(Kind::Logic(name(d)?, logic, of))
}

/// 64 bits of two registers, shifted.
fn funnel(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let is_left = m.one_of(&[("l", true), ("r", false)]);
    let is_left = is_left.ok_or_else(|| m.refuse("to which side?"))?;
    let wraps = m.one_of(&[("wrap", true), ("clamp", false)]);
    let wraps = wraps.ok_or_else(|| m.refuse("what do large shifts do?"))?;
    m.take("b32");
    let [d, low, high, by] = exactly(m, &s.operands)?;
    let [low, high, by] = [low, high, by].map(|o| names.value(o, 32, s.line));
    let to = names.result(d, 32, s.line)?;
    let f = move |low: u32, high: u32, by: u32| {
        let both = u64::from(high) << 32 | u64::from(low);
        let by = if wraps { by & 31 } else { by.min(32) };
        match is_left {
            true => ((both << by) >> 32) as u32,
            false => (both >> by) as u32,
        }
    };
    Ok(computed(to, three([low?, high?, by?], f)))
}

fn count(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let [d, a] = exactly(m, &s.operands)?;
    if kind.kind != 'b' || kind.bits < 32 {
        return Err(m.refuse("not of this type"));
    }
    let of = [names.value(a, kind.bits, s.line)?];
    let bits = if m.name == "brev" { kind.bits } else { 32 };
    let to = names.result(d, bits, s.line)?;
    let compute = match (m.name, kind.bits) {
        ("popc", 32) => one(of, u32::count_ones),
        ("popc", _) => one(of, u64::count_ones),
        ("clz", 32) => one(of, u32::leading_zeros),
        ("clz", _) => one(of, u64::leading_zeros),
        (_, 32) => one(of, u32::reverse_bits),
        _ => one(of, u64::reverse_bits),
    };
    Ok(computed(to, compute))
}

/// A field of bits, put in or taken out.
fn field(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let bits = kind.bits;
    if bits < 32 {
        return Err(m.refuse("not of this type"));
    }
    if m.name == "bfi" {
        let [d, a, b, from, n] = exactly(m, &s.operands)?;
        let [a, b] = [a, b].map(|o| names.value(o, bits, s.line));
        let [from, n] = [from, n].map(|o| names.value(o, 32, s.line));
        let to = names.result(d, bits, s.line)?;
        let f = move |a: u64, b: u64, from: u32, n: u32| {
            let mask = mask(from & 255, n & 255, bits);
            let moved = a.checked_shl(from & 255).unwrap_or(0);
            (b & !mask) | (moved & mask)
        };
        return Ok(computed(to, four([a?, b?, from?, n?], f)));
    }
    let [d, a, from, n] = exactly(m, &s.operands)?;
    let a = names.value(a, bits, s.line);
    let [from, n] = [from, n].map(|o| names.value(o, 32, s.line));
    let to = names.result(d, bits, s.line)?;
    let is_signed = kind.kind == 's';
    let f = move |a: u64, from: u32, n: u32| {
        let (from, n) = (from & 255, n & 255);
        let mask = mask(from, n, bits);
        let low = (a & mask).checked_shr(from).unwrap_or(0);
        let top = a >> from.saturating_add(n).saturating_sub(1).min(bits - 1) & 1;
        let above = match is_signed && n > 0 && top == 1 {
            true => (u64::MAX >> (64 - bits)) & !mask.checked_shr(from).unwrap_or(0),
            false => 0,
        };
        low | above
    };
    Ok(computed(to, three([a?, from?, n?], f)))
}

/// `n` ones from bit `from` on, of `bits` bits.
fn mask(from: u32, n: u32, bits: u32) -> u64 {
    let ones = match n {
        0 => 0,
        n => u64::MAX >> (64 - n.min(64)),
    };
    ones.checked_shl(from).unwrap_or(0) & (u64::MAX >> (64 - bits))
}

/// Bytes of two registers, each chosen by four bits.
fn permuted(a: u32, b: u32, choice: u32) -> u32 {
    let all = u64::from(b) << 32 | u64::from(a);
    let byte = |k: u32| {
        let chosen = choice >> (4 * k) & 15;
        let byte = (all >> (8 * (chosen & 7))) as u8;
        let is_sign = chosen & 8 != 0;
        if is_sign {
            (byte as i8 >> 7) as u8
        } else {
            byte
        }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

/// A bit for every choice of three.
fn by_table(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let pick = |k: u32| {
        let side = |x: u32, bit: u32| if k & bit != 0 { x } else { !x };
        side(a, 4) & side(b, 2) & side(c, 1)
    };
    (0..8)
        .filter(|k| table >> k & 1 == 1)
        .fold(0, |d, k| d | pick(k))
}

fn set_predicate(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let with = m.one_of(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
    let ftz = m.take("ftz");
    let compare = match (kind.kind, kind.bits) {
        ('f', 32) => super::floats::comparison::<f32>(m, ftz)?,
        ('f', 64) if !ftz => super::floats::comparison::<f64>(m, ftz)?,
        ('u' | 's' | 'b', _) => for_whole!(kind, m, comparison(m))?,
        _ => return Err(m.refuse("not of this type")),
    };
    let (d, a, b, with) = match (&s.operands[..], with) {
        ([d, a, b], None) => (d, a, b, None),
        ([d, a, b, p], Some(logic)) => (d, a, b, Some((logic, names.condition(p, s.line)?))),
        _ => return Err(m.refuse("another number of operands")),
    };
    let place = |name: &str| match name {
        "_" => Ok(None),
        name => names.predicate(name, s.line).map(Some),
    };
    let to = match d {
        Operand::Name(p) => [place(p)?, None],
        Operand::Pair(p, q) => [place(p)?, place(q)?],
        _ => return Err(m.refuse("no predicate to write to")),
    };
    let of = [a, b].map(|o| names.value(o, kind.bits, s.line));
    let [a, b] = of;
    let of = [a?, b?];
    Ok(Kind::Compare {
        compare,
        of,
        with,
        to,
    })
}

fn comparison<T: Whole>(m: &mut Modifiers) -> Result<Compare> {
    const NAMES: [(&str, u8); 10] = [
        ("eq", 0),
        ("ne", 1),
        ("lt", 2),
        ("lo", 2),
        ("le", 3),
        ("ls", 3),
        ("gt", 4),
        ("hi", 4),
        ("ge", 5),
        ("hs", 5),
    ];
    let which = m
        .one_of(&NAMES)
        .ok_or_else(|| m.refuse("which comparison?"))?;
    Ok(match which {
        0 => compare(|a: T, b: T| a == b),
        1 => compare(|a: T, b: T| a != b),
        2 => compare(|a: T, b: T| a < b),
        3 => compare(|a: T, b: T| a <= b),
        4 => compare(|a: T, b: T| a > b),
        _ => compare(|a: T, b: T| a >= b),
    })
}

fn copy(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let kind = m.kind()?;
    let bits = kind.bits;
    let [d, a] = exactly(m, &s.operands)?;
    if kind.kind == 'p' {
        let Operand::Name(name) = d else {
            return Err(m.refuse("no predicate to write to"));
        };
        let to = names.predicate(name, s.line)?;
        return Ok(match a {
            Operand::Integer(v) => Kind::SetPredicate(to, None, *v != 0),
            other => Kind::SetPredicate(to, Some(names.condition(other, s.line)?), false),
        });
    }
    match (d, a) {
        (Operand::Vector(parts), a) => {
            let part = bits / parts.len() as u32;
            let from = names.value(a, bits, s.line)?;
            let to = parts.iter().map(|p| names.target(p, part, s.line));
            Ok(Kind::Split(to.collect::<Result<Vec<_>>>()?, from, part))
        }
        (d, Operand::Vector(parts)) => {
            let part = bits / parts.len() as u32;
            let from = parts.iter().map(|p| names.value(p, part, s.line));
            let from = from.collect::<Result<Vec<_>>>()?;
            let to = names.result(d, bits, s.line)?;
            Ok(Kind::Join(to, from, part))
        }
        (d, a) => {
            let to = names.result(d, bits, s.line)?;
            let name = match a {
                Operand::Name(name) => name.as_str(),
                _ => "",
            };
            if let Some(at) = names.local_offset(name) {
                return Ok(Kind::LocalAddress(to, at));
            }
            if ["%globaltimer", "%clock64"].contains(&name) {
                return Ok(Kind::Clock(to));
            }
            if let Some(at) = names.kernel_argument(name) {
                let at = crate::run::memory::PARAM_WINDOW + u64::from(at);
                return Ok(Kind::Copy(to, names.constant(at)));
            }
            Ok(Kind::Copy(to, names.value(a, bits, s.line)?))
        }
    }
}
