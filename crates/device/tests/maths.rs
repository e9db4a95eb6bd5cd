//! Every vector function at every level this machine has, against tables from mpmath, and every
//! level against every other.
//!
//! The tables (`maths/tables/*.txt`) are written by `maths/generate.py`: hexadecimal bits of the
//! arguments and of each correctly rounded result, followed by what the rounding lost in 1/254 of
//! a unit in the last place. Errors are thus measured against the exact result.

use fitzroy_device::lanes::{Kernel, Lanes, Level};
use fitzroy_device::maths;
use std::path::Path;

/// A function of up to two arguments with up to two results; a missing result repeats the first.
trait Function: Copy {
    fn at<L: Lanes>(self, x: L, y: L) -> (L, L);
}

/// A function and its slices, to be run at a level.
struct Map<'a, F> {
    function: F,
    x: &'a [f64],
    y: &'a [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.x.len();
        assert!(n % L::N == 0, "padded by `evaluate`");
        assert!([self.y.len(), self.first.len(), self.second.len()] == [n; 3]);
        for i in (0..n).step_by(L::N) {
            // SAFETY: i + L::N ≤ n, the length of all four slices.
            unsafe {
                let x = L::load(self.x.as_ptr().add(i));
                let y = L::load(self.y.as_ptr().add(i));
                let (first, second) = self.function.at(x, y);
                first.store(self.first.as_mut_ptr().add(i));
                second.store(self.second.as_mut_ptr().add(i));
            }
        }
    }
}

/// Both results of `function` at `level`.
fn evaluate<F: Function>(function: F, level: Level, x: &[f64], y: &[f64]) -> [Vec<f64>; 2] {
    let n = x.len().next_multiple_of(8);
    let pad = |v: &[f64]| [v, &vec![1.0; n - v.len()]].concat();
    let (x_padded, y_padded) = (pad(x), pad(y));
    let (mut first, mut second) = (vec![0.0; n], vec![0.0; n]);
    level.run(Map {
        function,
        x: &x_padded,
        y: &y_padded,
        first: &mut first,
        second: &mut second,
    });
    first.truncate(x.len());
    second.truncate(x.len());
    [first, second]
}

/// One line of a table.
struct Row {
    x: f64,
    y: f64,
    /// Correctly rounded results, and what was lost in units of the last place.
    exact: Vec<(f64, f64)>,
}

fn read_table(name: &str, n_arguments: usize) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maths/tables");
    let text = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("a table");
    let number = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).expect("bits"));
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let exact = words[n_arguments..]
                .chunks(2)
                .map(|pair| {
                    (
                        number(pair[0]),
                        pair[1].parse::<f64>().expect("a number") / 254.0,
                    )
                })
                .collect();
            Row {
                x: number(words[0]),
                y: number(words[n_arguments - 1]),
                exact,
            }
        })
        .collect()
}

/// The distance between neighbouring numbers around `x`.
fn ulp(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7FF).max(1);
    if exponent > 52 {
        f64::from_bits((exponent - 52) << 52)
    } else {
        f64::from_bits(1 << (exponent - 1))
    }
}

/// How far `got` is from the exact result, in units of the last place; infinite where one is NaN
/// or infinite and the other is not, or where the sign of a zero differs.
fn error_in_ulp(got: f64, (exact, lost): (f64, f64)) -> f64 {
    if got.to_bits() == exact.to_bits() {
        return lost.abs();
    }
    if exact.is_nan() && got.is_nan() {
        return 0.0;
    }
    if !exact.is_finite() || !got.is_finite() || (got == 0.0 && exact == 0.0) {
        return f64::INFINITY;
    }
    ((got - exact) / ulp(exact) - lost).abs()
}

/// The largest error allowed of a result at (x, y).
type Allowance = fn(x: f64, y: f64, exact: f64) -> f64;

fn check<F: Function>(name: &str, function: F, n_arguments: usize, allowed: &[Allowance]) {
    let rows = read_table(name, n_arguments);
    let x: Vec<f64> = rows.iter().map(|row| row.x).collect();
    let y: Vec<f64> = rows.iter().map(|row| row.y).collect();
    let mut failures = Vec::new();
    for level in Level::available() {
        let results = evaluate(function, level, &x, &y);
        for (k, allowed) in allowed.iter().enumerate() {
            let (mut worst, mut worst_at) = (0.0, 0.0);
            for (row, &got) in rows.iter().zip(&results[k]) {
                let error = error_in_ulp(got, row.exact[k]);
                let limit = allowed(row.x, row.y, row.exact[k].0) / ulp(row.exact[k].0);
                if error > worst {
                    (worst, worst_at) = (error, row.x);
                }
                if error > limit {
                    failures.push(format!(
                        "{name}[{k}]({:e}, {:e}) at {level:?}: got {got:e}, exact {:e}, {error:.2} ulp",
                        row.x, row.y, row.exact[k].0
                    ));
                }
            }
            println!("{name}[{k}] {level:?}: worst {worst:.2} ulp at {worst_at:e}");
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    check_levels_agree(name, function, &x, &y);
}

/// Table points and 20,000 random ones: half any bits, half of everyday size.
fn check_levels_agree<F: Function>(name: &str, function: F, x: &[f64], y: &[f64]) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |i: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state >> 32) ^ state;
        let unit = (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        match i % 4 {
            0 => unit * 4.0,
            1 => unit * 200.0,
            _ => f64::from_bits(mixed),
        }
    };
    let mut x = x.to_vec();
    let mut y = y.to_vec();
    for i in 0..20_000 {
        x.push(random(i));
        y.push(random(i));
    }
    let levels = Level::available();
    let base = evaluate(function, levels[0], &x, &y);
    for &level in &levels[1..] {
        let other = evaluate(function, level, &x, &y);
        for k in 0..2 {
            for i in 0..x.len() {
                let (a, b) = (base[k][i], other[k][i]);
                assert!(
                    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                    "{name}[{k}]({:e}, {:e}): {a:e} at {:?}, {b:e} at {level:?}",
                    x[i],
                    y[i],
                    levels[0]
                );
            }
        }
    }
}

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
fn the_detected_level_is_the_widest_available() {
    assert_eq!(Level::available().last(), Some(&Level::detect()));
}
