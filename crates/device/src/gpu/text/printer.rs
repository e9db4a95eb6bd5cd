//! A register that writes down what is done to it: lane functions, run once over it, become C.

use crate::lanes::Lanes;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;

/// A number that will be known when the text runs.
#[derive(Clone, Copy)]
pub(crate) struct Number(u32);
/// A truth value that will be known when the text runs.
#[derive(Clone, Copy)]
pub(crate) struct Truth(u32);
/// A 64-bit integer that will be known when the text runs.
#[derive(Clone, Copy)]
pub(crate) struct Whole(u32);

/// What stands behind a value.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry {
    /// C type; empty for what needs no variable of its own.
    kind: &'static str,
    /// The expression, with `{}` for each value it reads.
    pattern: String,
    reads: Vec<u32>,
}

/// Everything that was written down, equal expressions once.
#[derive(Default)]
struct Tape {
    entries: Vec<Entry>,
    seen: HashMap<Entry, u32>,
}

thread_local! {
    // `Lanes` has no argument in which a tape could travel; it lives only while `function` runs.
    static TAPE: RefCell<Tape> = RefCell::default();
}

fn write_down(kind: &'static str, pattern: &str, reads: &[u32]) -> u32 {
    let entry = Entry {
        kind,
        pattern: pattern.into(),
        reads: reads.to_vec(),
    };
    TAPE.with_borrow_mut(|tape| {
        if let Some(&at) = tape.seen.get(&entry) {
            return at;
        }
        let at = tape.entries.len() as u32;
        tape.seen.insert(entry.clone(), at);
        tape.entries.push(entry);
        at
    })
}

fn number(pattern: &str, reads: &[u32]) -> Number {
    Number(write_down("double", pattern, reads))
}

fn whole(pattern: &str, reads: &[u32]) -> Whole {
    Whole(write_down("bits_t", pattern, reads))
}

fn truth(pattern: &str, reads: &[u32]) -> Truth {
    Truth(write_down("bool", pattern, reads))
}

/// `x` as C reads it back to the same bits.
pub(crate) fn literal(x: f64) -> String {
    if x.is_finite() {
        let text = format!("{x:?}");
        if text.starts_with('-') {
            format!("({text})")
        } else {
            text
        }
    } else if x.is_nan() {
        "FROM_BITS(0x7ff8000000000000ull)".into()
    } else if x > 0.0 {
        "FROM_BITS(0x7ff0000000000000ull)".into()
    } else {
        "FROM_BITS(0xfff0000000000000ull)".into()
    }
}

/// The C function `name` of `n_args` numbers that does what `body` does. The first result is
/// returned, a second is written to `*second`.
pub(crate) fn function(
    name: &str,
    n_args: usize,
    body: impl FnOnce(&[Number]) -> Vec<Number>,
) -> String {
    TAPE.with_borrow_mut(|tape| *tape = Tape::default());
    let names = ["x", "y"];
    let args: Vec<Number> = names[..n_args]
        .iter()
        .map(|name| Number(write_down("", name, &[])))
        .collect();
    let results = body(&args);
    let tape = TAPE.take();
    let mut live = vec![false; tape.entries.len()];
    results.iter().for_each(|r| live[r.0 as usize] = true);
    for at in (0..live.len()).rev() {
        if live[at] {
            let reads = &tape.entries[at].reads;
            reads.iter().for_each(|&r| live[r as usize] = true);
        }
    }
    let args: Vec<String> = names[..n_args]
        .iter()
        .map(|n| format!("double {n}"))
        .collect();
    let second = ["", ", double *second"][results.len() - 1];
    let mut text = format!("FUNCTION double {name}({}{second})\n{{\n", args.join(", "));
    let mut named: Vec<String> = Vec::with_capacity(live.len());
    let mut n_named = 0;
    for (entry, live) in tape.entries.iter().zip(live) {
        let mut expression = String::new();
        let mut parts = entry.pattern.split("{}");
        expression.push_str(parts.next().unwrap_or_default());
        for (part, &read) in parts.zip(&entry.reads) {
            expression.push_str(&named[read as usize]);
            expression.push_str(part);
        }
        if entry.kind.is_empty() || !live {
            named.push(expression);
            continue;
        }
        n_named += 1;
        let _ = writeln!(text, "    const {} t{n_named} = {expression};", entry.kind);
        named.push(format!("t{n_named}"));
    }
    if let Some(second) = results.get(1) {
        let _ = writeln!(text, "    *second = {};", named[second.0 as usize]);
    }
    let _ = writeln!(text, "    return {};\n}}", named[results[0].0 as usize]);
    text
}

// Methods that write one entry down. They are never inlined: every function of lanes is made of
// them.
macro_rules! methods {
    ($out:ty, $write:ident: $($name:ident($($arg:ident),*) = $pattern:literal;)*) => {
        $(#[inline(never)]
        fn $name(self $(, $arg: Self)*) -> $out {
            $write($pattern, &[self.0 $(, $arg.0)*])
        })*
    };
}
macro_rules! functions {
    ($of:ty, $write:ident: $($name:ident($($arg:ident),*) = $pattern:literal;)*) => {
        $(#[inline(never)]
        fn $name($($arg: $of),*) -> $of {
            $write($pattern, &[$($arg.0),*])
        })*
    };
}

impl Lanes for Number {
    const N: usize = 1;
    type Mask = Truth;
    type Bits = Whole;

    #[inline(never)]
    fn splat(x: f64) -> Self {
        Number(write_down("", &literal(x), &[]))
    }
    unsafe fn load(_: *const f64) -> Self {
        panic!("what is printed reads no memory")
    }
    unsafe fn store(self, _: *mut f64) {
        panic!("what is printed writes no memory")
    }
    methods! { Self, number:
        add(b) = "{} + {}";
        sub(b) = "{} - {}";
        mul(b) = "{} * {}";
        div(b) = "{} / {}";
        sqrt() = "sqrt({})";
        fma(b, c) = "fma({}, {}, {})";
        neg() = "-{}";
        abs() = "fabs({})";
        round() = "rint({})";
        floor() = "floor({})";
    }
    methods! { Truth, truth:
        lt(b) = "{} < {}";
        le(b) = "{} <= {}";
        eq(b) = "{} == {}";
    }
    functions! { Truth, truth:
        and(a, b) = "{} && {}";
        or(a, b) = "{} || {}";
        not(a) = "!{}";
    }
    functions! { Whole, whole:
        add_bits(a, b) = "{} + {}";
        sub_bits(a, b) = "{} - {}";
        and_bits(a, b) = "{} & {}";
        or_bits(a, b) = "{} | {}";
        xor_bits(a, b) = "{} ^ {}";
    }
    #[inline(never)]
    fn select(mask: Truth, yes: Self, no: Self) -> Self {
        number("{} ? {} : {}", &[mask.0, yes.0, no.0])
    }
    #[inline(never)]
    fn to_bits(self) -> Whole {
        whole("TO_BITS({})", &[self.0])
    }
    #[inline(never)]
    fn from_bits(bits: Whole) -> Self {
        number("FROM_BITS({})", &[bits.0])
    }
    #[inline(never)]
    fn splat_bits(x: u64) -> Whole {
        Whole(write_down("", &format!("0x{x:x}ull"), &[]))
    }
    fn shl_bits<const K: i32>(a: Whole) -> Whole {
        whole(&format!("{{}} << {K}"), &[a.0])
    }
    fn shr_bits<const K: i32>(a: Whole) -> Whole {
        whole(&format!("{{}} >> {K}"), &[a.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_written_as_straight_lines() {
        let text = function("f", 2, |a| {
            let s = a[0].add(a[1]);
            let _unused = s.mul(s);
            let both = s.fma(s, Number::splat(-0.5));
            let same = a[0].add(a[1]);
            vec![Number::select(same.lt(both), same, both), both]
        });
        let expected = "FUNCTION double f(double x, double y, double *second)\n{\n    \
                        const double t1 = x + y;\n    \
                        const double t2 = fma(t1, t1, (-0.5));\n    \
                        const bool t3 = t1 < t2;\n    \
                        const double t4 = t3 ? t1 : t2;\n    \
                        *second = t2;\n    return t4;\n}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn literals_read_back_to_their_bits() {
        assert_eq!(literal(-1e300), "(-1e300)");
        assert_eq!(literal(0.1 + 0.2), "0.30000000000000004");
        assert!(literal(f64::INFINITY).contains("7ff0"));
        assert!(literal(f64::NAN).contains("7ff8"));
    }
}
