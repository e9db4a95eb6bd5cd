//! Arithmetic of floating point numbers.

use super::integers::computed;
use super::modifiers::{Modifiers, Rounding};
use super::names::Names;
use super::rounded;
use super::scalar::{Word, compare, one, three, two};
use crate::Result;
use crate::code::{Compare, Compute, Kind, Value};
use crate::parse::Statement;

/// Floating point numbers of one width.
pub(super) trait Float: Word + PartialOrd {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn quotient(self, other: Self) -> Self;
    /// Product and sum, rounded once.
    fn fused(self, by: Self, plus: Self) -> Self;
    fn root(self) -> Self;
    fn is_nan(self) -> bool;
    /// Bits with the sign changed, cleared, or taken from another.
    fn negative(self) -> Self;
    fn magnitude(self) -> Self;
    fn with_sign_of(self, other: Self) -> Self;
    fn is_negative(self) -> bool;
    /// Numbers too small for an exponent of their own become zero.
    fn flushed(self) -> Self;
    fn nan() -> Self;
    /// Between 0 and 1; 0 for NaN.
    fn saturated(self) -> Self;
}

macro_rules! floats {
    ($($t:ident, $bits:ident: $nan:expr;)*) => {$(
        impl Float for $t {
            fn sum(self, other: Self) -> Self {
                self + other
            }
            fn product(self, other: Self) -> Self {
                self * other
            }
            fn quotient(self, other: Self) -> Self {
                self / other
            }
            fn fused(self, by: Self, plus: Self) -> Self {
                self.mul_add(by, plus)
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            fn negative(self) -> Self {
                -self
            }
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn with_sign_of(self, other: Self) -> Self {
                self.copysign(other)
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn flushed(self) -> Self {
                match self.abs() < $t::MIN_POSITIVE {
                    true => (0.0 as $t).copysign(self),
                    false => self,
                }
            }
            fn nan() -> Self {
                $t::from_bits($nan)
            }
            fn saturated(self) -> Self {
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }
        }
    )*};
}
// The NaN that a GPU gives.
floats! { f32, u32: 0x7fff_ffff; f64, u64: 0xfff8_0000_0000_0000; }

const NAMES: [&str; 18] = [
    "add", "sub", "mul", "fma", "div", "rcp", "sqrt", "rsqrt", "neg", "abs", "min", "max",
    "copysign", "ex2", "lg2", "sin", "cos", "tanh",
];

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    if !NAMES.contains(&m.name) {
        return Ok(None);
    }
    let kind = m.kind()?;
    if kind.kind != 'f' {
        return Err(m.refuse("not of this type"));
    }
    let operands = s.operands.iter().skip(1);
    let of = operands.map(|o| names.value(o, kind.bits, s.line));
    let of = of.collect::<Result<Vec<_>>>()?;
    let Some(to) = s.operands.first() else {
        return Err(m.refuse("no operands"));
    };
    let to = names.result(to, kind.bits, s.line)?;
    let compute = match (kind.bits, &of[..]) {
        (32, &[a]) => single(m, [a])?,
        (64, &[a]) => double(m, [a])?,
        (32, &[a, b]) => binary::<f32>(m, [a, b], rounded::F32)?,
        (64, &[a, b]) => binary::<f64>(m, [a, b], rounded::F64)?,
        (_, &[a, b, c]) if m.name == "fma" => fused(m, [a, b, c], kind.bits)?,
        _ => return Err(m.refuse("another number of operands")),
    };
    Ok(Some(computed(to, compute)))
}

/// Whether small numbers become zero; that `f64` keeps them nobody can change.
fn flushes<T: Float>(m: &mut Modifiers) -> Result<bool> {
    let ftz = m.take("ftz");
    match ftz && size_of::<T>() == 8 {
        true => Err(m.refuse("f64 is never flushed")),
        false => Ok(ftz),
    }
}

fn zeroed<T: Float>(x: T, ftz: bool) -> T {
    if ftz { x.flushed() } else { x }
}

fn limited<T: Float>(x: T, sat: bool) -> T {
    match sat {
        true => x.saturated(),
        false => x,
    }
}

/// Functions of two numbers.
fn binary<T: Float>(
    m: &mut Modifiers,
    of: [Value; 2],
    directed: rounded::Directed<T>,
) -> Result<Compute> {
    let (ftz, sat) = (flushes::<T>(m)?, m.take("sat"));
    let result = |f: fn(T, T) -> T| {
        two(of, move |a: T, b: T| {
            let r = f(zeroed(a, ftz), zeroed(b, ftz));
            limited(zeroed(r, ftz), sat)
        })
    };
    let name = m.name;
    match name {
        "min" => return Ok(result(|a, b| ordered(a, b, false))),
        "max" => return Ok(result(|a, b| ordered(a, b, true))),
        "copysign" => return Ok(two(of, |a: T, b: T| b.with_sign_of(a))),
        "div" if m.take("approx") || m.take("full") => return Ok(result(T::quotient)),
        _ => {}
    }
    let Some(rounding) = m.rounding() else {
        return Err(m.refuse("without a rounding it may become part of another instruction"));
    };
    Ok(match (m.name, rounding) {
        ("add", Rounding::Nearest) => result(T::sum),
        ("sub", Rounding::Nearest) => result(|a, b| a.sum(b.negative())),
        ("mul", Rounding::Nearest) => result(T::product),
        ("div", Rounding::Nearest) => result(T::quotient),
        ("add" | "mul" | "sub", _) if sat => return Err(m.refuse("both is not known here")),
        ("add", r) => two(of, move |a: T, b: T| {
            zeroed((directed.add)(zeroed(a, ftz), zeroed(b, ftz), r), ftz)
        }),
        ("sub", r) => two(of, move |a: T, b: T| {
            zeroed(
                (directed.add)(zeroed(a, ftz), zeroed(b, ftz).negative(), r),
                ftz,
            )
        }),
        ("mul", r) => two(of, move |a: T, b: T| {
            zeroed((directed.mul)(zeroed(a, ftz), zeroed(b, ftz), r), ftz)
        }),
        _ => return Err(m.refuse("this rounding is not known here")),
    })
}

/// The smaller or the larger; a NaN gives way to a number, and -0 is below 0.
fn ordered<T: Float>(a: T, b: T, larger: bool) -> T {
    let before = |a: T, b: T| a < b || (a == b && a.is_negative());
    match (a.is_nan(), b.is_nan()) {
        (true, true) => T::nan(),
        (true, false) => b,
        (false, true) => a,
        _ if before(a, b) != larger => a,
        _ => b,
    }
}

fn fused(m: &mut Modifiers, of: [Value; 3], bits: u32) -> Result<Compute> {
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let Some(rounding) = m.rounding() else {
        return Err(m.refuse("how is it rounded?"));
    };
    if bits == 64 {
        return match (rounding, ftz || sat) {
            (Rounding::Nearest, false) => Ok(three(of, f64::fused)),
            _ => Err(m.refuse("this rounding is not known here")),
        };
    }
    let flush = move |x: f32| zeroed(x, ftz);
    Ok(match rounding {
        Rounding::Nearest => three(of, move |a: f32, b: f32, c: f32| {
            limited(flush(flush(a).fused(flush(b), flush(c))), sat)
        }),
        r => three(of, move |a: f32, b: f32, c: f32| {
            let fused = rounded::fma_f32(flush(a), flush(b), flush(c), r);
            limited(flush(fused), sat)
        }),
    })
}

/// Functions of one number of 32 bits. What is approximate on a GPU is rounded here: kernels must not depend on its
/// last bits.
fn single(m: &mut Modifiers, of: [Value; 1]) -> Result<Compute> {
    let ftz = m.take("ftz");
    let result = |f: fn(f32) -> f32| one(of, move |a: f32| zeroed(f(zeroed(a, ftz)), ftz));
    let through = |f: fn(f64) -> f64| {
        one(of, move |a: f32| {
            zeroed(f(f64::from(zeroed(a, ftz))) as f32, ftz)
        })
    };
    let (name, approx) = (m.name, m.take("approx"));
    Ok(match name {
        "neg" => result(f32::negative),
        "abs" => result(f32::magnitude),
        "rcp" if approx || m.take("rn") => result(|x| 1.0 / x),
        "sqrt" if approx || m.take("rn") => result(f32::root),
        "rsqrt" if approx => through(|x| 1.0 / x.sqrt()),
        "ex2" if approx => through(f64::exp2),
        "lg2" if approx => through(f64::log2),
        "sin" if approx => through(f64::sin),
        "cos" if approx => through(f64::cos),
        "tanh" if approx => through(f64::tanh),
        _ => return Err(m.refuse("this rounding is not known here")),
    })
}

/// Functions of one number of 64 bits.
fn double(m: &mut Modifiers, of: [Value; 1]) -> Result<Compute> {
    let (name, approx) = (m.name, m.take("approx"));
    Ok(match name {
        "neg" => one(of, f64::negative),
        "abs" => one(of, f64::magnitude),
        "rcp" if approx && m.take("ftz") => one(of, |x| upper_half(1.0 / f64::flushed(x))),
        "rsqrt" if approx => {
            m.take("ftz");
            one(of, |x: f64| upper_half(1.0 / f64::flushed(x).sqrt()))
        }
        "rcp" if !approx && m.take("rn") => one(of, |x: f64| 1.0 / x),
        "sqrt" if !approx && m.take("rn") => one(of, f64::root),
        _ => return Err(m.refuse("this rounding is not known here")),
    })
}

/// A GPU approximates numbers of 64 bits with the upper 32.
fn upper_half(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000).flushed()
}

/// Comparisons, those that hold for NaN among them.
pub(super) fn comparison<T: Float>(m: &mut Modifiers, ftz: bool) -> Result<Compare> {
    const NAMES: [(&str, u8); 14] = [
        ("eq", 0),
        ("ne", 1),
        ("lt", 2),
        ("le", 3),
        ("gt", 4),
        ("ge", 5),
        ("equ", 6),
        ("neu", 7),
        ("ltu", 8),
        ("leu", 9),
        ("gtu", 10),
        ("geu", 11),
        ("num", 12),
        ("nan", 13),
    ];
    let which = m
        .one_of(&NAMES)
        .ok_or_else(|| m.refuse("which comparison?"))?;
    let f: fn(T, T) -> bool = match which {
        0 => |a, b| a == b,
        1 => |a, b| a != b && !a.is_nan() && !b.is_nan(),
        2 => |a, b| a < b,
        3 => |a, b| a <= b,
        4 => |a, b| a > b,
        5 => |a, b| a >= b,
        6 => |a, b| a == b || a.is_nan() || b.is_nan(),
        7 => |a, b| a != b,
        8 => |a, b| !(a >= b),
        9 => |a, b| !(a > b),
        10 => |a, b| !(a <= b),
        11 => |a, b| !(a < b),
        12 => |a, b| !a.is_nan() && !b.is_nan(),
        _ => |a, b| a.is_nan() || b.is_nan(),
    };
    Ok(compare(move |a: T, b: T| f(zeroed(a, ftz), zeroed(b, ftz))))
}
