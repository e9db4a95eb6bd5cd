//! Every elementwise operation as C: what is one expression stands in place, the others are
//! functions printed from the definitions in `maths`.

use super::precision::Real;
use super::printer::{Number, function};
use crate::maths;
use fitzroy_graph::{Binary, Unary};

/// The operation applied to the expression `a`, in the arithmetic of `real`.
pub(crate) fn unary(op: Unary, a: &str, real: Real) -> String {
    let (f, s) = (real.suffix(), real.functions());
    match op {
        Unary::Neg => format!("-{a}"),
        Unary::Recip => format!("1.0{f} / {a}"),
        Unary::Sqrt => format!("sqrt{f}({a})"),
        Unary::Abs => format!("fabs{f}({a})"),
        Unary::Floor => format!("floor{f}({a})"),
        op => format!("{s}{}({a})", format!("{op:?}").to_lowercase()),
    }
}

/// The operation applied to the expressions `a` and `b`, in the arithmetic of `real`.
pub(crate) fn binary(op: Binary, a: &str, b: &str, real: Real) -> String {
    let (f, s) = (real.suffix(), real.functions());
    match op {
        Binary::Add => format!("{a} + {b}"),
        Binary::Sub => format!("{a} - {b}"),
        Binary::Mul => format!("{a} * {b}"),
        Binary::Div => format!("{a} / {b}"),
        Binary::Lt => format!("{a} < {b} ? 1.0{f} : 0.0{f}"),
        Binary::Le => format!("{a} <= {b} ? 1.0{f} : 0.0{f}"),
        // A number equals what was kept of it in f32 only as far as f32 has digits: else a maximum of numbers
        // would be none of them.
        Binary::Eq if Real::is_widened(a) || Real::is_widened(b) => {
            format!("(float)({a}) == (float)({b}) ? 1.0{f} : 0.0{f}")
        }
        Binary::Eq => format!("{a} == {b} ? 1.0{f} : 0.0{f}"),
        Binary::MulZ => format!("{a} == 0.0{f} ? 0.0{f} : {a} * {b}"),
        op => format!("{s}{}({a}, {b})", format!("{op:?}").to_lowercase()),
    }
}

type Printed = fn() -> String;

/// Declares the table of functions: name in C, number of arguments, definition.
macro_rules! functions {
    ($($name:literal ($($x:ident),*) => $results:expr;)*) => {
        /// Names and texts of all functions.
        const FUNCTIONS: &[(&str, Printed)] = &[$(($name, || {
            let n_args = [$(stringify!($x)),*].len();
            function($name, n_args, |args| {
                let [$($x),*] = *args else { return vec![] };
                $results.to_vec()
            })
        }),)*];
    };
}

fn both((first, second): (Number, Number)) -> [Number; 2] {
    [first, second]
}

functions! {
    "m_exp"(x) => [maths::exp(x)];
    "m_log"(x) => [maths::log(x)];
    "m_log1p"(x) => [maths::log1p(x)];
    "m_expm1"(x) => [maths::expm1(x)];
    "m_sin"(x) => [maths::sin(x)];
    "m_cos"(x) => [maths::cos(x)];
    "m_tan"(x) => [maths::tan(x)];
    "m_asin"(x) => [maths::asin(x)];
    "m_acos"(x) => [maths::acos(x)];
    "m_atan"(x) => [maths::atan(x)];
    "m_sinh"(x) => [maths::sinh(x)];
    "m_cosh"(x) => [maths::cosh(x)];
    "m_tanh"(x) => [maths::tanh(x)];
    "m_erf"(x) => [maths::erf(x)];
    "m_erfc"(x) => [maths::erfc(x)];
    "m_erfcx"(x) => [maths::erfcx(x)];
    "m_logndtr"(x) => [maths::log_ndtr(x)];
    "m_ndtrslope"(x) => [maths::log_ndtr_with_slope(x).1];
    "m_lgamma"(x) => [maths::lgamma(x)];
    "m_digamma"(x) => [maths::digamma(x)];
    "m_trigamma"(x) => [maths::trigamma(x)];
    "m_logi0"(x) => [maths::log_i0(x)];
    "m_i1overi0"(x) => [maths::i1_over_i0(x)];
    "m_invlogit"(x) => [maths::inv_logit(x)];
    "m_softplus"(x) => [maths::softplus(x)];
    "m_pow"(x, y) => [maths::pow(x, y)];
    "m_min"(x, y) => [maths::min(x, y)];
    "m_max"(x, y) => [maths::max(x, y)];
    "m_logaddexp"(x, y) => [maths::log_add_exp(x, y)];
    "m_logndtr_pair"(x) => both(maths::log_ndtr_with_slope(x));
    "m_logaddexp_pair"(x, y) => both(maths::log_add_exp_with_weight(x, y));
    "m_softplus_pair"(x) => both(maths::softplus_with_slope(x));
    "m_lgamma_pair"(x) => both(maths::lgamma_with_digamma(x));
    "m_sincos_pair"(x) => both(maths::sincos(x));
}

/// The same functions in `float`, written by hand, with a blank line between them.
const SINGLE: &str = include_str!("single.c");

/// Whether `text` calls the function `name`.
fn calls(text: &str, name: &str) -> bool {
    text.contains(&format!("{name}("))
}

/// Where the code of functions stands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Code {
    /// Wherever they are called: for loops in which a jump would be felt.
    Everywhere,
    /// Once, if they are called from many places, for each copy takes its time to compile.
    Once,
}

/// Calls from which on a function stands in the code once.
const MANY: usize = 4;

/// The function `name` of this `text` as `caller` is to have it. What a second result is written to
/// would have to lie in memory if the function stood apart.
fn placed(name: &str, text: &str, caller: &str, code: Code) -> String {
    let is_long = !["_min", "_max", "_pair"]
        .iter()
        .any(|end| name.ends_with(end));
    let n_calls = caller.matches(&format!("{name}(")).count();
    match code == Code::Once && is_long && n_calls >= MANY {
        true => text.replacen("FUNCTION", "APART", 1),
        false => text.into(),
    }
}

/// The functions that `text` calls, as C.
pub(crate) fn called(text: &str, code: Code) -> String {
    let printed = FUNCTIONS.iter().filter(|(name, _)| calls(text, name));
    let printed: String = printed
        .map(|(name, print)| placed(name, &print(), text, code) + "\n")
        .collect();
    printed + &called_single(text, code)
}

/// Those of `float` that `text` calls, and those that these call in turn.
fn called_single(text: &str, code: Code) -> String {
    let mut wanted = Vec::new();
    let mut callers = text.to_string();
    // A function calls earlier ones only.
    for block in SINGLE
        .trim_end()
        .split("\n\n")
        .collect::<Vec<_>>()
        .iter()
        .rev()
    {
        let Some((_, rest)) = block.split_once("FUNCTION float ") else {
            continue;
        };
        let name = rest.split('(').next().unwrap_or_default();
        if calls(&callers, name) {
            wanted.push(placed(name, block, &callers, code) + "\n\n");
            callers += block;
        }
    }
    wanted.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_expression_or_its_function() {
        let known = |text: String| match text.split_once('(') {
            Some((name, _)) if name.starts_with("m_") => {
                assert!(FUNCTIONS.iter().any(|(n, _)| *n == name), "{name}");
            }
            _ => {}
        };
        let double = Real::Double;
        Unary::ALL
            .iter()
            .for_each(|&op| known(unary(op, "a", double)));
        Binary::ALL
            .iter()
            .for_each(|&op| known(binary(op, "a", "b", double)));
    }

    #[test]
    fn every_function_stands_in_float_too() {
        for (name, _) in FUNCTIONS {
            let single = name.replacen("m_", "s_", 1);
            let text = called(&format!("{single}(x)"), Code::Once);
            assert!(
                text.contains(&format!("FUNCTION float {single}(")),
                "{single}"
            );
        }
    }

    #[test]
    fn what_a_function_calls_comes_before_it() {
        let text = called("s_lgamma_pair(x, &y)", Code::Once);
        let at = |name: &str| text.find(&format!("FUNCTION float {name}(")).unwrap();
        assert!(at("s_digamma") < at("s_lgamma_pair"));
        assert!(!text.contains("s_trigamma"));
    }

    #[test]
    fn what_is_called_from_many_places_stands_apart() {
        let text = |name: &str, calls| format!("{name}(x) + ").repeat(calls);
        let apart = |calls: &str, code| called(calls, code).contains("APART");
        for name in ["m_exp", "s_erfcx"] {
            assert!(apart(&text(name, MANY), Code::Once), "{name}");
            assert!(!apart(&text(name, MANY - 1), Code::Once), "{name}");
            assert!(!apart(&text(name, MANY), Code::Everywhere), "{name}");
        }
        assert!(!apart(&text("m_softplus_pair", MANY), Code::Once));
    }

    #[test]
    fn only_what_is_called_is_printed() {
        let text = called("y = m_exp(x) + m_logaddexp_pair(a, b, &c);", Code::Once);
        assert!(text.contains("double m_exp(double x)"));
        assert!(text.contains("double m_logaddexp_pair(double x, double y, double *second)"));
        assert!(!text.contains("m_logaddexp(double"));
    }
}
