//! Time of each vector function on a block of 256 numbers, at every level this machine has.
//!
//! `cargo run --release -p fitzroy-device --example maths_speed`; the fastest of 31 rounds, in
//! nanoseconds per element.

#![allow(clippy::print_stdout)]

use fitzroy_device::lanes::{Kernel, Lanes, Level};
use fitzroy_device::maths;
use std::hint::black_box;
use std::time::Instant;

const BLOCK: usize = 256;
const REPEATS: usize = 2000;

trait Function: Copy {
    fn at<L: Lanes>(self, x: L, y: L) -> (L, L);
}

struct Blocks<'a, F> {
    function: F,
    x: &'a [f64; BLOCK],
    y: &'a [f64; BLOCK],
    out: &'a mut [[f64; BLOCK]; 2],
    repeats: usize,
}

impl<F: Function> Kernel for Blocks<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self) {
        for _ in 0..self.repeats {
            let (x, y) = (black_box(self.x), black_box(self.y));
            for i in (0..BLOCK).step_by(L::N) {
                // SAFETY: every level's lane count divides BLOCK, the length of all arrays.
                unsafe {
                    let (x, y) = (L::load(x.as_ptr().add(i)), L::load(y.as_ptr().add(i)));
                    let (first, second) = self.function.at(x, y);
                    first.store(self.out[0].as_mut_ptr().add(i));
                    second.store(self.out[1].as_mut_ptr().add(i));
                }
            }
            black_box(&mut *self.out);
        }
    }
}

fn time<F: Function>(name: &str, function: F, low: f64, high: f64) {
    let at = |i: usize, step: f64| low + (high - low) * (i as f64 * step).fract();
    let x: [f64; BLOCK] = std::array::from_fn(|i| at(i, 0.618_034));
    let y: [f64; BLOCK] = std::array::from_fn(|i| at(i, 0.414_214));
    let mut out = [[0.0; BLOCK]; 2];
    print!("{name:24}");
    for level in Level::available() {
        let repeats = REPEATS * level.lanes() / 8;
        let mut rounds: Vec<f64> = (0..31)
            .map(|_| {
                let start = Instant::now();
                level.run(Blocks {
                    function,
                    x: &x,
                    y: &y,
                    out: &mut out,
                    repeats,
                });
                start.elapsed().as_secs_f64() * 1e9 / (repeats * BLOCK) as f64
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        print!("  {level:?} {:6.3}", rounds[0]);
    }
    println!();
}

macro_rules! time {
    ($name:literal, $low:literal, $high:literal, |$x:ident, $y:ident| $body:expr) => {{
        #[derive(Clone, Copy)]
        struct This;
        impl Function for This {
            #[inline(always)]
            fn at<L: Lanes>(self, $x: L, $y: L) -> (L, L) {
                $body
            }
        }
        time($name, This, $low, $high);
    }};
}

fn main() {
    println!("nanoseconds per element");
    time!("add", -3.0, 3.0, |x, y| (x.add(y), x));
    time!("div", -3.0, 3.0, |x, y| (x.div(y), x));
    time!("exp", -30.0, 30.0, |x, _y| (maths::exp(x), x));
    time!("expm1", -3.0, 3.0, |x, _y| (maths::expm1(x), x));
    time!("log", 0.1, 30.0, |x, _y| (maths::log(x), x));
    time!("log1p", -0.5, 3.0, |x, _y| (maths::log1p(x), x));
    time!("log_ndtr_with_slope", -8.0, 8.0, |x, _y| {
        maths::log_ndtr_with_slope(x)
    });
    time!("log_ndtr", -8.0, 8.0, |x, _y| (maths::log_ndtr(x), x));
    time!("log_add_exp_with_weight", -8.0, 8.0, |x, y| {
        maths::log_add_exp_with_weight(x, y)
    });
    time!("log_add_exp", -8.0, 8.0, |x, y| (
        maths::log_add_exp(x, y),
        x
    ));
    time!("softplus_with_slope", -8.0, 8.0, |x, _y| {
        maths::softplus_with_slope(x)
    });
    time!("inv_logit", -8.0, 8.0, |x, _y| (maths::inv_logit(x), x));
    time!("tanh", -3.0, 3.0, |x, _y| (maths::tanh(x), x));
    time!("sinh", -3.0, 3.0, |x, _y| (maths::sinh(x), x));
    time!("cosh", -3.0, 3.0, |x, _y| (maths::cosh(x), x));
    time!("sincos", -30.0, 30.0, |x, _y| maths::sincos(x));
    time!("tan", -30.0, 30.0, |x, _y| (maths::tan(x), x));
    time!("asin", -1.0, 1.0, |x, _y| (maths::asin(x), x));
    time!("acos", -1.0, 1.0, |x, _y| (maths::acos(x), x));
    time!("atan", -3.0, 3.0, |x, _y| (maths::atan(x), x));
    time!("erf", -3.0, 3.0, |x, _y| (maths::erf(x), x));
    time!("erfc", -3.0, 6.0, |x, _y| (maths::erfc(x), x));
    time!("erfcx", -3.0, 6.0, |x, _y| (maths::erfcx(x), x));
    time!("lgamma", 0.1, 30.0, |x, _y| (maths::lgamma(x), x));
    time!("digamma", 0.1, 30.0, |x, _y| (maths::digamma(x), x));
    time!("lgamma_with_digamma", 0.1, 30.0, |x, _y| {
        maths::lgamma_with_digamma(x)
    });
    time!("trigamma", 0.1, 30.0, |x, _y| (maths::trigamma(x), x));
    time!("log_i0", 0.1, 30.0, |x, _y| (maths::log_i0(x), x));
    time!("i1_over_i0", 0.1, 30.0, |x, _y| (maths::i1_over_i0(x), x));
    time!("pow", 0.1, 3.0, |x, y| (maths::pow(x, y), x));
}
