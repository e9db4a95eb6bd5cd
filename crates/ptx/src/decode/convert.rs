//! Conversions between types, and between windows of memory.

use super::floats::Float;
use super::integers::{Whole, computed, for_whole};
use super::modifiers::{Modifiers, Rounding, Type};
use super::names::{Names, exactly};
use super::rounded::to_f32;
use super::scalar::{Word, one};
use crate::Result;
use crate::code::{Compute, Kind, Space, Value};
use crate::parse::Statement;
use crate::run::memory::LOCAL_WINDOW;

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    match m.name {
        "cvta" => window(m, s, names).map(Some),
        "cvt" => convert(m, s, names).map(Some),
        _ => Ok(None),
    }
}

/// Addresses of a space as generic ones, and back.
fn window(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let is_back = m.take("to");
    let space = m.one_of(&[
        ("global", Space::Global),
        ("const", Space::Global),
        ("shared", Space::Shared),
        ("local", Space::Local),
        ("param", Space::Param),
    ]);
    let space = space.ok_or_else(|| m.refuse("of which memory?"))?;
    if !m.take("u64") {
        return Err(m.refuse("addresses have 64 bits"));
    }
    let [d, a] = exactly(m, &s.operands)?;
    let to = names.result(d, 64, s.line)?;
    let from = names.value(a, 64, s.line)?;
    // Shared memory is addressed by its window here in either way.
    let start = match space {
        Space::Local => LOCAL_WINDOW,
        _ => 0,
    };
    Ok(match (start, is_back) {
        (0, _) => Kind::Copy(to, from),
        (_, false) => computed(to, one([from], move |a: u64| a.wrapping_add(start))),
        (_, true) => computed(to, one([from], move |a: u64| a.wrapping_sub(start))),
    })
}

fn convert(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let from = m.kind()?;
    let to = m.kind()?;
    let whole = m.one_of(&[
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::Zero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ]);
    let rounding = m.rounding();
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let [d, a] = exactly(m, &s.operands)?;
    let of = [names.value(a, from.bits.max(16), s.line)?];
    let place = names.result(d, to.bits.min(16), s.line)?;
    let room = match d {
        crate::parse::Operand::Name(name) => names.register(name, s.line)?.bits,
        _ => to.bits,
    };
    let is_whole = |t: Type| t.kind != 'f';
    let compute = match (is_whole(from), is_whole(to)) {
        (true, true) if whole.is_none() && rounding.is_none() && !sat && !ftz => {
            between_whole(m, of, from, to, room)?
        }
        (false, true) => {
            let whole = whole.ok_or_else(|| m.refuse("how is it rounded?"))?;
            if sat || rounding.is_some() {
                return Err(m.refuse("both is not known here"));
            }
            match from.bits {
                32 => to_whole(
                    m,
                    of,
                    to,
                    whole,
                    move |x: f32| f64::from(flush(x, ftz)),
                    false,
                )?,
                _ => to_whole(m, of, to, whole, |x: f64| x, true)?,
            }
        }
        (true, false) if !sat && !ftz && whole.is_none() => {
            let r = rounding.ok_or_else(|| m.refuse("how is it rounded?"))?;
            from_whole(m, of, from, to, r)?
        }
        (false, false) => {
            between_floats(m, of, (from.bits, to.bits), (whole, rounding), (ftz, sat))?
        }
        _ => return Err(m.refuse("a modifier is not known here")),
    };
    Ok(computed(place, compute))
}

fn flush<T: Float>(x: T, ftz: bool) -> T {
    if ftz { x.flushed() } else { x }
}

/// Cut off, or extended with the sign of the source; a wide register is filled by the sign of the target.
fn between_whole(
    m: &Modifiers,
    of: [Value; 1],
    from: Type,
    to: Type,
    room: u32,
) -> Result<Compute> {
    if [from.kind, to.kind].contains(&'p') {
        return Err(m.refuse("not of this type"));
    }
    let extend = |bits: u32, is_signed: bool| {
        move |x: u64| {
            let spare = 64 - bits;
            match is_signed {
                true => ((x << spare) as i64 >> spare) as u64,
                false => x << spare >> spare,
            }
        }
    };
    let source = extend(from.bits, from.kind == 's');
    let target = extend(to.bits, to.kind == 's' && room > to.bits);
    let register = extend(room.max(to.bits), false);
    Ok(one(of, move |x: u64| register(target(source(x)))))
}

/// To the nearest whole number the type has; NaN becomes 0, or the largest power of two.
fn to_whole<A: Word>(
    m: &Modifiers,
    of: [Value; 1],
    to: Type,
    rounding: Rounding,
    wide: impl Fn(A) -> f64 + Send + Sync + Copy + 'static,
    is_double: bool,
) -> Result<Compute> {
    let round: fn(f64) -> f64 = match rounding {
        Rounding::Nearest => f64::round_ties_even,
        Rounding::Zero => f64::trunc,
        Rounding::Down => f64::floor,
        Rounding::Up => f64::ceil,
    };
    let power = 1u64 << (to.bits - 1);
    let nan = if is_double || to.bits == 64 { power } else { 0 };
    macro_rules! cast {
        ($t:ty) => {
            one(of, move |x: A| {
                let x = round(wide(x));
                if x.is_nan() { nan } else { (x as $t).bits() }
            })
        };
    }
    Ok(match (to.kind, to.bits) {
        ('s', 16) => cast!(i16),
        ('s', 32) => cast!(i32),
        ('s', 64) => cast!(i64),
        ('u', 16) => cast!(u16),
        ('u', 32) => cast!(u32),
        ('u', 64) => cast!(u64),
        _ => return Err(m.refuse("not of this type")),
    })
}

fn from_whole(m: &Modifiers, of: [Value; 1], from: Type, to: Type, r: Rounding) -> Result<Compute> {
    fn cast<T: Whole>(of: [Value; 1], bits: u32) -> Compute {
        // A product with 1 is the number itself, which 128 bits hold whatever its type.
        let wide = |x: T| x.wide(T::of(1));
        match bits {
            32 => one(of, move |x: T| wide(x) as f32),
            _ => one(of, move |x: T| wide(x) as f64),
        }
    }
    // Numbers of 32 bits are numbers of f64.
    if r != Rounding::Nearest && (from.bits > 32 || to.bits == 32) {
        return Err(m.refuse("this rounding is not known here"));
    }
    Ok(for_whole!(from, m, cast(of, to.bits)))
}

fn between_floats(
    m: &Modifiers,
    of: [Value; 1],
    bits: (u32, u32),
    (whole, rounding): (Option<Rounding>, Option<Rounding>),
    (ftz, sat): (bool, bool),
) -> Result<Compute> {
    let limit = move |x: f32| if sat { x.saturated() } else { x };
    match (bits, whole, rounding) {
        ((32, 64), None, None) if !sat => Ok(one(of, move |x: f32| f64::from(flush(x, ftz)))),
        ((64, 32), None, Some(r)) => {
            Ok(one(of, move |x: f64| limit(flush(to_f32(x, 0.0, r), ftz))))
        }
        ((32, 32), None, None) => Ok(one(of, move |x: f32| limit(flush(x, ftz)))),
        ((32, 32), Some(r), None) => {
            let f: fn(f32) -> f32 = match r {
                Rounding::Nearest => f32::round_ties_even,
                Rounding::Zero => f32::trunc,
                Rounding::Down => f32::floor,
                Rounding::Up => f32::ceil,
            };
            Ok(one(of, move |x: f32| limit(f(flush(x, ftz)))))
        }
        ((64, 64), Some(r), None) if !sat && !ftz => Ok(match r {
            Rounding::Nearest => one(of, f64::round_ties_even),
            Rounding::Zero => one(of, f64::trunc),
            Rounding::Down => one(of, f64::floor),
            Rounding::Up => one(of, f64::ceil),
        }),
        _ => Err(m.refuse("this conversion is not known here")),
    }
}
