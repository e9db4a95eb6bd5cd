//! Every vector function at every level this machine has, against tables from mpmath, and every
//! level against every other.
//!
//! The tables (`maths/tables/*.txt`) are written by `maths/generate.py`: hexadecimal bits of the
//! arguments and of each correctly rounded result, followed by what the rounding lost in 1/254 of
//! a unit in the last place. Errors are thus measured against the exact result.

#[path = "maths/harness.rs"]
mod harness;

use fitzroy_device::lanes::{Lanes, Level};
use fitzroy_device::maths;
use harness::{Function, check, check_levels_agree, evaluate, ulp};

/// One test per function: its call, its number of arguments, the error allowed of each result as
/// a number of ulp or as an absolute error depending on (x, y, exact).
macro_rules! functions {
    ($($test:ident: $table:literal, |$x:ident, $y:ident| $body:expr, $n:literal, [$($allowed:expr),+];)*) => {
        $(
            #[test]
            fn $test() {
                #[derive(Clone, Copy)]
                struct This;
                impl Function for This {
                    #[inline(always)]
                    fn at<L: Lanes>(self, $x: L, $y: L) -> (L, L) {
                        $body
                    }
                }
                check($table, This, $n, &[$($allowed),+]);
            }
        )*
    };
}

/// `$n` units in the last place.
macro_rules! ulps {
    ($n:expr) => {
        |_, _, exact| $n * ulp(exact)
    };
}

/// For the gamma family: `4 ulp`, below 0 of the reflected value too, and 1e-15.
fn gamma_allowance(x: f64, exact: f64, reflected: f64) -> f64 {
    if x < 0.0 {
        1e-15 + 4.0 * ulp(exact).max(ulp(reflected))
    } else {
        4.0 * ulp(exact)
    }
}

functions! {
    exp_is_within_1_ulp: "exp", |x, _y| (maths::exp(x), x), 1, [ulps!(1.0)];
    expm1_is_within_2_ulp: "expm1", |x, _y| (maths::expm1(x), x), 1, [ulps!(2.0)];
    log_is_within_1_ulp: "log", |x, _y| (maths::log(x), x), 1, [ulps!(1.0)];
    log1p_is_within_2_ulp: "log1p", |x, _y| (maths::log1p(x), x), 1, [ulps!(2.0)];
    sqrt_is_correctly_rounded: "sqrt", |x, _y| (maths::sqrt(x), maths::floor(x)), 1, [ulps!(0.5)];
    sin_is_within_2_ulp: "sin", |x, _y| (maths::sin(x), maths::sincos(x).0), 1, [ulps!(2.0)];
    cos_is_within_2_ulp: "cos", |x, _y| (maths::cos(x), maths::sincos(x).1), 1, [ulps!(2.0)];
    tan_is_within_2_ulp: "tan", |x, _y| (maths::tan(x), x), 1, [ulps!(2.0)];
    asin_is_within_2_ulp: "asin", |x, _y| (maths::asin(x), x), 1, [ulps!(2.0)];
    acos_is_within_2_ulp: "acos", |x, _y| (maths::acos(x), x), 1, [ulps!(2.0)];
    atan_is_within_2_ulp: "atan", |x, _y| (maths::atan(x), x), 1, [ulps!(2.0)];
    sinh_is_within_4_ulp: "sinh", |x, _y| (maths::sinh(x), x), 1, [ulps!(4.0)];
    cosh_is_within_4_ulp: "cosh", |x, _y| (maths::cosh(x), x), 1, [ulps!(4.0)];
    tanh_is_within_4_ulp: "tanh", |x, _y| (maths::tanh(x), x), 1, [ulps!(4.0)];
    erf_is_within_2_ulp: "erf", |x, _y| (maths::erf(x), x), 1, [ulps!(2.0)];
    erfc_is_within_4_ulp: "erfc", |x, _y| (maths::erfc(x), x), 1, [ulps!(4.0)];
    erfcx_is_within_4_ulp: "erfcx", |x, _y| (maths::erfcx(x), x), 1, [ulps!(4.0)];
    log_ndtr_is_within_4_ulp_and_its_slope_within_8: "log_ndtr",
        |x, _y| maths::log_ndtr_with_slope(x), 1, [ulps!(4.0), ulps!(8.0)];
    log_ndtr_alone_is_within_4_ulp: "log_ndtr",
        |x, _y| (maths::log_ndtr(x), x), 1, [ulps!(4.0)];
    inv_logit_is_within_4_ulp: "inv_logit", |x, _y| (maths::inv_logit(x), x), 1, [ulps!(4.0)];
    softplus_is_within_4_ulp_and_its_slope_within_8: "softplus",
        |x, _y| maths::softplus_with_slope(x), 1, [ulps!(4.0), ulps!(8.0)];
    softplus_alone_is_within_4_ulp: "softplus", |x, _y| (maths::softplus(x), x), 1, [ulps!(4.0)];
    log_add_exp_is_within_4_ulp_and_its_weight_within_8: "log_add_exp",
        |x, y| maths::log_add_exp_with_weight(x, y), 2,
        [|x, y, exact| 4.0 * ulp(x).max(ulp(y)).max(ulp(exact)), ulps!(8.0)];
    log_add_exp_alone_is_within_4_ulp: "log_add_exp",
        |x, y| (maths::log_add_exp(x, y), x), 2,
        [|x, y, exact| 4.0 * ulp(x).max(ulp(y)).max(ulp(exact))];
    lgamma_is_within_4_ulp_of_its_value_or_of_the_reflected_one: "lgamma",
        |x, _y| maths::lgamma_with_digamma(x), 1,
        [|x, _, exact| gamma_allowance(x, exact, libm::lgamma(1.0 - x))];
    lgamma_alone_is_as_good: "lgamma", |x, _y| (maths::lgamma(x), x), 1,
        [|x, _, exact| gamma_allowance(x, exact, libm::lgamma(1.0 - x))];
    digamma_is_within_4_ulp_of_its_value_or_of_the_reflected_one: "digamma",
        |x, _y| (maths::digamma(x), maths::lgamma_with_digamma(x).1), 1,
        [|x, _, exact| gamma_allowance(x, exact, libm::log(2.0 - x))];
    trigamma_is_within_4_ulp: "trigamma", |x, _y| (maths::trigamma(x), x), 1, [ulps!(4.0)];
    log_i0_is_within_4_ulp: "log_i0", |x, _y| (maths::log_i0(x), x), 1, [ulps!(4.0)];
    i1_over_i0_is_within_4_ulp: "i1_over_i0", |x, _y| (maths::i1_over_i0(x), x), 1, [ulps!(4.0)];
    pow_is_within_4_ulp: "pow", |x, y| (maths::pow(x, y), x), 2, [ulps!(4.0)];
}

#[derive(Clone, Copy)]
struct MinMax;
impl Function for MinMax {
    #[inline(always)]
    fn at<L: Lanes>(self, x: L, y: L) -> (L, L) {
        (maths::min(x, y), maths::max(x, y))
    }
}

#[test]
fn min_and_max_are_nan_if_either_is() {
    let values = [
        0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
    ];
    let pairs: Vec<(f64, f64)> = values
        .iter()
        .flat_map(|&x| values.iter().map(move |&y| (x, y)))
        .collect();
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    for level in Level::available() {
        let [min, max] = evaluate(MinMax, level, &x, &y);
        for i in 0..x.len() {
            if x[i].is_nan() || y[i].is_nan() {
                assert!(min[i].is_nan() && max[i].is_nan());
            } else {
                assert_eq!((min[i], max[i]), (x[i].min(y[i]), x[i].max(y[i])));
            }
        }
    }
    check_levels_agree("min, max", MinMax, &x, &y);
}

#[derive(Clone, Copy)]
struct Floor;
impl Function for Floor {
    #[inline(always)]
    fn at<L: Lanes>(self, x: L, _: L) -> (L, L) {
        (maths::floor(x), x.round())
    }
}

#[test]
fn floor_and_round_are_those_of_the_standard_library() {
    let x = [
        0.0,
        -0.0,
        0.5,
        1.5,
        -0.5,
        -1.5,
        2.5,
        1e300,
        -1e-300,
        4503599627370495.5,
        -7.9,
    ];
    for level in Level::available() {
        let [floor, round] = evaluate(Floor, level, &x, &x);
        for i in 0..x.len() {
            assert_eq!(floor[i].to_bits(), x[i].floor().to_bits());
            assert_eq!(round[i].to_bits(), x[i].round_ties_even().to_bits());
        }
    }
    check_levels_agree("floor, round", Floor, &x, &x);
}

#[test]
fn sine_and_cosine_of_enormous_numbers_are_those_of_zero() {
    #[derive(Clone, Copy)]
    struct SinCos;
    impl Function for SinCos {
        #[inline(always)]
        fn at<L: Lanes>(self, x: L, _: L) -> (L, L) {
            maths::sincos(x)
        }
    }
    let x = [2f64.powi(51), -1e300, f64::MAX];
    for level in Level::available() {
        let [sin, cos] = evaluate(SinCos, level, &x, &x);
        assert_eq!((sin, cos), (vec![0.0; 3], vec![1.0; 3]));
    }
}

#[test]
fn splitting_and_scaling_are_inverse_and_the_same_at_every_level() {
    #[derive(Clone, Copy)]
    struct Split;
    impl Function for Split {
        #[inline(always)]
        fn at<L: Lanes>(self, x: L, _: L) -> (L, L) {
            x.split()
        }
    }
    #[derive(Clone, Copy)]
    struct Scale;
    impl Function for Scale {
        #[inline(always)]
        fn at<L: Lanes>(self, x: L, k: L) -> (L, L) {
            (x.scale(k), x.exponent())
        }
    }
    let x = [
        1.0,
        0.75,
        1.5,
        1.4999,
        0.7499,
        3e-308,
        5e-324,
        2e-310,
        f64::MAX,
        1e-200,
        1234.5,
    ];
    for level in Level::available() {
        let [m, k] = evaluate(Split, level, &x, &x);
        assert!(m.iter().all(|m| (0.75..1.5).contains(m)), "{m:?}");
        let [joined, exponents] = evaluate(Scale, level, &m, &k);
        assert_eq!(joined, x);
        let expected: Vec<f64> = m
            .iter()
            .map(|&m| if m < 1.0 { -1.0 } else { 0.0 })
            .collect();
        assert_eq!(exponents, expected);
    }
}

#[test]
fn the_detected_level_is_the_widest_available() {
    assert_eq!(Level::available().last(), Some(&Level::detect()));
}
