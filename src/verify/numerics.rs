//! Known answers: a broken processor, compiler or emulator shows here first.

use super::{Check, Verdict};
use crate::rng::{Purpose, Rng, philox};
use fitzroy_graph::special;

/// A function, where, and its value.
type Known = (&'static str, fn(f64) -> f64, f64, f64);

/// Values to 16 digits or more from mpmath at 30 digits.
const KNOWN: &[Known] = &[
    ("exp", libm::exp, 2.0, 7.389_056_098_930_650),
    ("log", libm::log, 3.0, 1.098_612_288_668_109_7),
    ("log1p", libm::log1p, 1e-10, 9.999_999_999_5e-11),
    ("expm1", libm::expm1, 1e-10, 1.000_000_000_05e-10),
    ("tanh", libm::tanh, 0.5, 0.462_117_157_260_009_76),
    ("erf", libm::erf, 0.5, 0.520_499_877_813_046_54),
    ("erfc", libm::erfc, 3.0, 2.209_049_699_858_544_1e-5),
    ("lgamma", libm::lgamma, 10.5, 13.940_625_219_403_764),
    ("erfcx", special::erfcx, 10.0, 5.614_099_274_382_259e-2),
    (
        "log_ndtr",
        special::log_ndtr,
        -10.0,
        -53.231_285_150_512_471,
    ),
    ("digamma", special::digamma, 1.0, -0.577_215_664_901_532_86),
];

/// Largest relative error that passes: the functions themselves are accurate to a few units in
/// the last place, so anything above this is a fault and no rounding.
const BOUND: f64 = 1e-13;

/// Compares functions with known values, random words with the published ones, and a sum that
/// needs correct rounding with its exact value.
pub(super) fn check() -> Check {
    let wrong: Vec<String> = KNOWN
        .iter()
        .filter_map(|&(name, function, at, expected)| {
            let got = function(at);
            let off = ((got - expected) / expected).abs();
            // Not a number must fail too.
            (!matches!(off.partial_cmp(&BOUND), Some(std::cmp::Ordering::Less)))
                .then(|| format!("{name}({at}) gives {got:e} instead of {expected:e}"))
        })
        .chain(random_words())
        .chain(rounding())
        .collect();
    let n = KNOWN.len() + 2;
    let (verdict, detail) = if wrong.is_empty() {
        let detail = format!("{n} known answers agree (functions, random words, rounding)");
        (Verdict::Pass, detail)
    } else {
        let detail = format!(
            "{} of {n} known answers are wrong: {}; do not trust results of this machine",
            wrong.len(),
            wrong.join("; ")
        );
        (Verdict::Fail, detail)
    };
    Check {
        name: "numerics",
        verdict,
        detail,
    }
}

/// Compares the engine that runs models with the reference interpreter.
pub(super) fn engine() -> Check {
    let levels = fitzroy_device::lanes::Level::available().len();
    let (verdict, detail) = match fitzroy_device::cpu::self_check() {
        Ok(n) => {
            let detail = format!(
                "{n} values of every operation agree with the reference, at {levels} vector levels"
            );
            (Verdict::Pass, detail)
        }
        Err(wrong) => (
            Verdict::Fail,
            format!("{wrong}; do not trust results of this machine"),
        ),
    };
    Check {
        name: "engine",
        verdict,
        detail,
    }
}

/// The published answer of Philox4x32-10 for a zero counter and key, and two equal streams.
fn random_words() -> Option<String> {
    let words = philox([0; 4], [0; 2]);
    let stream = || Rng::new(42, 0, 1, 2, Purpose::Test).normal();
    let right = words == [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        && stream().to_bits() == stream().to_bits();
    (!right).then(|| format!("Philox gives {words:08x?}"))
}

/// (1 + ε) − 1 = ε, and a subnormal number is not flushed to zero.
fn rounding() -> Option<String> {
    let one = std::hint::black_box(1.0);
    let tiny = std::hint::black_box(f64::MIN_POSITIVE) / 2.0;
    let right = (one + f64::EPSILON) - one == f64::EPSILON && tiny > 0.0;
    (!right).then(|| "rounding is not that of IEEE 754".to_string())
}
