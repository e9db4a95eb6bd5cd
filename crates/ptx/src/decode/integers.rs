//! Arithmetic of whole numbers.

use super::modifiers::{Modifiers, Type};
use super::names::{Names, exactly};
use super::scalar::{Word, one, three, two};
use crate::Result;
use crate::code::{Compute, Kind, Value};
use crate::parse::Statement;

/// Whole numbers of one width.
pub(super) trait Whole: Word + PartialOrd {
    /// The lower half of a product, the sum, the difference: what does not fit is cut off.
    fn sum(self, other: Self) -> Self;
    fn difference(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    /// The whole product.
    fn wide(self, other: Self) -> i128;
    fn quotient(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn magnitude(self) -> Self;
}

macro_rules! whole {
    ($($t:ty: $magnitude:expr;)*) => {$(
        impl Whole for $t {
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn difference(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn wide(self, other: Self) -> i128 {
                (self as i128).wrapping_mul(other as i128)
            }
            // What a division by zero gives, nobody says; GPUs give all ones, and the number itself.
            fn quotient(self, other: Self) -> Self {
                match other {
                    0 => !0,
                    _ => self.wrapping_div(other),
                }
            }
            fn remainder(self, other: Self) -> Self {
                match other {
                    0 => self,
                    _ => self.wrapping_rem(other),
                }
            }
            fn magnitude(self) -> Self {
                $magnitude(self)
            }
        }
    )*};
}
whole! {
    u16: |x| x; u32: |x| x; u64: |x| x;
    i16: i16::wrapping_abs; i32: i32::wrapping_abs; i64: i64::wrapping_abs;
}

/// Calls a generic function for a type.
macro_rules! for_whole {
    ($kind:expr, $m:expr, $call:ident($($argument:expr),*)) => {
        match ($kind.kind, $kind.bits) {
            ('s', 16) => $call::<i16>($($argument),*),
            ('s', 32) => $call::<i32>($($argument),*),
            ('s', 64) => $call::<i64>($($argument),*),
            ('u' | 'b', 16) => $call::<u16>($($argument),*),
            ('u' | 'b', 32) => $call::<u32>($($argument),*),
            ('u' | 'b', 64) => $call::<u64>($($argument),*),
            _ => return Err($m.refuse("not of this type")),
        }
    };
}
pub(super) use for_whole;

const NAMES: [&str; 10] = [
    "add", "sub", "mul", "mad", "div", "rem", "abs", "neg", "min", "max",
];

pub(super) fn decode(
    m: &mut Modifiers,
    statement: &Statement,
    names: &mut Names,
) -> Result<Option<Kind>> {
    let line = statement.line;
    if !NAMES.contains(&m.name) || statement.opcode.contains(".f") {
        return Ok(None);
    }
    let kind = m.kind()?;
    let mut value = |k: usize, bits: u32| {
        let operand = statement.operands.get(k);
        let operand = operand.ok_or_else(|| m.refuse("too few operands"))?;
        names.value(operand, bits, line)
    };
    let n_operands = match m.name {
        "abs" | "neg" => 2,
        "mad" => 4,
        _ => 3,
    };
    if statement.operands.len() != n_operands {
        return Err(m.refuse(&format!("it has {n_operands} operands")));
    }
    let a = value(1, kind.bits)?;
    if n_operands == 2 {
        let compute = for_whole!(kind, m, unary(m.name, [a]));
        let to = names.result(&statement.operands[0], kind.bits, line)?;
        return Ok(Some(computed(to, compute)));
    }
    let b = value(2, kind.bits)?;
    if !["mul", "mad"].contains(&m.name) {
        let compute = for_whole!(kind, m, binary(m.name, [a, b]));
        let to = names.result(&statement.operands[0], kind.bits, line)?;
        return Ok(Some(computed(to, compute)));
    }
    let part = m.one_of(&[("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)]);
    let part = part.ok_or_else(|| m.refuse("which part of the product?"))?;
    let bits = match part {
        Part::Wide if kind.bits < 64 => 2 * kind.bits,
        Part::Wide => return Err(m.refuse("not of this type")),
        _ => kind.bits,
    };
    let compute = match m.name {
        "mul" => for_whole!(kind, m, product([a, b], part)),
        _ => {
            let c = names.value(&statement.operands[3], bits, line)?;
            for_whole!(kind, m, product_and_sum([a, b, c], part, bits))
        }
    };
    let to = names.result(&statement.operands[0], bits, line)?;
    Ok(Some(computed(to, compute)))
}

/// A computed result.
pub(super) fn computed(to: u32, compute: Compute) -> Kind {
    Kind::Compute(to, compute)
}

fn unary<T: Whole>(name: &str, of: [Value; 1]) -> Compute {
    match name {
        "abs" => one(of, T::magnitude),
        _ => one(of, |x: T| T::of(0).difference(x)),
    }
}

fn binary<T: Whole>(name: &str, of: [Value; 2]) -> Compute {
    match name {
        "add" => two(of, T::sum),
        "sub" => two(of, T::difference),
        "div" => two(of, T::quotient),
        "rem" => two(of, T::remainder),
        "min" => two(of, |a: T, b: T| if b < a { b } else { a }),
        _ => two(of, |a: T, b: T| if b > a { b } else { a }),
    }
}

/// Which part of a product.
#[derive(Clone, Copy)]
enum Part {
    Low,
    High,
    Wide,
}

fn product<T: Whole>(of: [Value; 2], part: Part) -> Compute {
    match part {
        Part::Low => two(of, T::product),
        Part::High => two(of, high::<T>),
        Part::Wide => two(of, |a: T, b: T| cut(a.wide(b) as u64, 2 * width::<T>())),
    }
}

fn product_and_sum<T: Whole>(of: [Value; 3], part: Part, bits: u32) -> Compute {
    match part {
        Part::Low => three(of, |a: T, b: T, c: T| a.product(b).sum(c)),
        Part::High => three(of, |a: T, b: T, c: T| high(a, b).sum(c)),
        Part::Wide => three(of, move |a: T, b: T, c: u64| {
            cut((a.wide(b) as u64).wrapping_add(c), bits)
        }),
    }
}

fn width<T>() -> u32 {
    8 * size_of::<T>() as u32
}

/// The lowest bits.
fn cut(value: u64, bits: u32) -> u64 {
    match bits {
        64 => value,
        _ => value & ((1 << bits) - 1),
    }
}

/// The upper half of a product. That of two large numbers of 64 bits wraps in 128, where it has the right bits.
fn high<T: Whole>(a: T, b: T) -> T {
    T::of((a.wide(b) >> width::<T>()) as u64)
}

/// A shift by as many bits as the type has, or more, leaves nothing but the sign.
pub(super) fn shift<T: Whole>(name: &str, of: [Value; 2], kind: Type) -> Compute {
    let bits = kind.bits;
    match (name, kind.kind) {
        ("shl", _) => two(of, move |a: u64, by: u32| match by {
            by if by >= bits => 0,
            by => cut(a << by, bits),
        }),
        (_, 's') => two(of, move |a: u64, by: u32| {
            let spare = 64 - bits;
            let signed = (a << spare) as i64 >> spare;
            cut((signed >> by.min(bits - 1)) as u64, bits)
        }),
        _ => two(of, move |a: u64, by: u32| match by {
            by if by >= bits => 0u64,
            by => cut(a, bits) >> by,
        }),
    }
}

/// Exactly two operands, results apart.
pub(super) fn pair(
    m: &Modifiers,
    statement: &Statement,
    names: &mut Names,
    bits: [u32; 2],
) -> Result<[Value; 2]> {
    let [_, a, b] = exactly(m, &statement.operands)?;
    Ok([
        names.value(a, bits[0], statement.line)?,
        names.value(b, bits[1], statement.line)?,
    ])
}
