//! Instructions of floating point numbers, against this language's arithmetic, and directed rounding against
//! whole numbers that hold everything.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy_ptx::run::dice::Dice;
use support::{check, doubles, made, plain, plain32, singles, whole};

const N: usize = 2048;
const D: fn(u64) -> f64 = f64::from_bits;

fn s(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

/// Compares numbers, whatever bits a NaN has.
fn check64(line: &str, of: usize, seed: u64, expected: impl Fn(&[f64]) -> f64) {
    let operands = doubles(N, of, seed);
    let results = made(line, "f64", &["f64", "f64", "f64"][..of], &operands);
    for (r, x) in results.iter().zip(&operands) {
        let x: Vec<f64> = x.iter().map(|x| D(*x)).collect();
        assert_eq!(
            plain(D(*r)),
            plain(expected(&x)),
            "{line} of {x:?}: {}",
            D(*r)
        );
    }
}

fn check32(line: &str, of: usize, seed: u64, expected: impl Fn(&[f32]) -> f32) {
    let operands = singles(N, of, seed);
    let results = made(line, "f32", &["f32", "f32", "f32"][..of], &operands);
    for (r, x) in results.iter().zip(&operands) {
        let x: Vec<f32> = x.iter().map(|x| s(*x)).collect();
        assert_eq!(
            plain32(s(*r)),
            plain32(expected(&x)),
            "{line} of {x:?}: {}",
            s(*r)
        );
    }
}

/// The smaller of two: a NaN gives way, -0 is below 0.
fn least(a: f64, b: f64) -> f64 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a.total_cmp(&b).is_lt() => a,
        () => b,
    }
}

#[test]
fn arithmetic_to_the_nearest_is_that_of_this_processor() {
    check64("add.rn.f64 %d, %a, %b;", 2, 1, |x| x[0] + x[1]);
    check64("sub.rn.f64 %d, %a, %b;", 2, 2, |x| x[0] - x[1]);
    check64("mul.rn.f64 %d, %a, %b;", 2, 3, |x| x[0] * x[1]);
    check64("div.rn.f64 %d, %a, %b;", 2, 4, |x| x[0] / x[1]);
    check64("fma.rn.f64 %d, %a, %b, %c;", 3, 5, |x| {
        x[0].mul_add(x[1], x[2])
    });
    check64("rcp.rn.f64 %d, %a;", 1, 6, |x| 1.0 / x[0]);
    check64("sqrt.rn.f64 %d, %a;", 1, 7, |x| x[0].sqrt());
    check64("neg.f64 %d, %a;", 1, 8, |x| -x[0]);
    check64("abs.f64 %d, %a;", 1, 9, |x| x[0].abs());
    check64("min.f64 %d, %a, %b;", 2, 10, |x| least(x[0], x[1]));
    check64("max.f64 %d, %a, %b;", 2, 11, |x| -least(-x[0], -x[1]));
    check64("copysign.f64 %d, %a, %b;", 2, 12, |x| x[1].copysign(x[0]));
    check32("add.rn.f32 %d, %a, %b;", 2, 13, |x| x[0] + x[1]);
    check32("mul.rn.f32 %d, %a, %b;", 2, 14, |x| x[0] * x[1]);
    check32("div.rn.f32 %d, %a, %b;", 2, 15, |x| x[0] / x[1]);
    check32("fma.rn.f32 %d, %a, %b, %c;", 3, 16, |x| {
        x[0].mul_add(x[1], x[2])
    });
    check32("sqrt.rn.f32 %d, %a;", 1, 17, |x| x[0].sqrt());
    check32("fma.rn.sat.f32 %d, %a, %b, %c;", 3, 18, |x| {
        let y = x[0].mul_add(x[1], x[2]);
        if y.is_nan() {
            0.0
        } else {
            y.clamp(0.0, 1.0) + 0.0
        }
    });
}

#[test]
fn small_numbers_are_flushed_where_it_is_said_and_nowhere_else() {
    let zero = |x: f32| {
        if x.is_subnormal() {
            0.0f32.copysign(x)
        } else {
            x
        }
    };
    let mut dice = Dice::new(19);
    let small = |dice: &mut Dice| u64::from(dice.bits() as u32 & 0x80ff_ffff);
    let operands: Vec<Vec<u64>> = (0..N)
        .map(|_| vec![small(&mut dice), small(&mut dice)])
        .collect();
    let of = ["f32", "f32"];
    check("add.rn.ftz.f32 %d, %a, %b;", "f32", &of, &operands, |x| {
        plain32(zero(zero(s(x[0])) + zero(s(x[1]))))
    });
    check("add.rn.f32 %d, %a, %b;", "f32", &of, &operands, |x| {
        plain32(s(x[0]) + s(x[1]))
    });
    check("setp.lt.ftz.f32 %d, %a, %b;", "pred", &of, &operands, |x| {
        u64::from(zero(s(x[0])) < zero(s(x[1])))
    });
    check("cvt.ftz.f64.f32 %d, %a;", "f64", &["f32"], &operands, |x| {
        f64::from(zero(s(x[0]))).to_bits()
    });
}

/// `x * 2^scale`, where it is a whole number.
fn fixed(x: f64, scale: i32) -> Option<i128> {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = i128::from(bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52);
    let shift = exponent.max(1) - 1075 + scale;
    let value = match shift {
        0..75 => mantissa << shift,
        _ if mantissa == 0 => 0,
        -52..0 if mantissa.trailing_zeros() as i32 >= -shift => mantissa >> -shift,
        _ => return None,
    };
    Some(if x.is_sign_negative() { -value } else { value })
}

/// Whether `result` of `exact` is rounded as said, in units of `2^-scale`; neighbours may be nearer than that.
fn is_rounded(mode: &str, (result, next): (f64, [f64; 2]), scale: i32, exact: i128) -> bool {
    let result = fixed(result, scale).unwrap();
    let [below, above] = next.map(|x| fixed(x, scale));
    let (below, above) = (below.unwrap_or(result - 1), above.unwrap_or(result + 1));
    let down = result <= exact && exact < above;
    let up = result >= exact && exact > below;
    match mode {
        "rm" => down,
        "rp" => up,
        _ => {
            if exact >= 0 {
                down
            } else {
                up
            }
        }
    }
}

#[test]
fn directed_rounding_gives_the_neighbour_on_that_side() {
    let mut dice = Dice::new(23);
    let mut number = |bits: u32| {
        let mantissa = 1.0 + (dice.bits() >> (65 - bits)) as f64 * 2f64.powi(1 - bits as i32);
        let scaled = mantissa * 2f64.powi(dice.below(6) as i32 - 3);
        if dice.below(2) == 0 { scaled } else { -scaled }
    };
    let single: Vec<Vec<u64>> = (0..N)
        .map(|_| {
            (0..3)
                .map(|_| u64::from((number(24) as f32).to_bits()))
                .collect()
        })
        .collect();
    let double: Vec<Vec<u64>> = (0..N)
        .map(|_| (0..2).map(|_| number(53).to_bits()).collect())
        .collect();
    for mode in ["rz", "rm", "rp"] {
        for (op, of) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
            let last = if of == 3 { ", %c" } else { "" };
            let line = format!("{op}.{mode}.f32 %d, %a, %b{last};");
            let results = made(&line, "f32", &["f32"; 3], &single);
            for (r, x) in results.iter().zip(&single) {
                let [a, b, c] = [0, 1, 2].map(|k| f64::from(s(x[k])));
                let whole = |x: f64| fixed(x, 60).unwrap();
                let exact = match op {
                    "add" => whole(a) + whole(b),
                    "sub" => whole(a) - whole(b),
                    "mul" => whole(a * b),
                    _ => whole(a * b) + whole(c),
                };
                let r = s(*r);
                let near = (f64::from(r), [r.next_down(), r.next_up()].map(f64::from));
                assert!(is_rounded(mode, near, 60, exact), "{line} {a} {b} {c}: {r}");
            }
        }
        for op in ["add", "mul"] {
            let line = format!("{op}.{mode}.f64 %d, %a, %b;");
            let results = made(&line, "f64", &["f64"; 2], &double);
            for (r, x) in results.iter().zip(&double) {
                let (a, b, r) = (D(x[0]), D(x[1]), D(*r));
                let scale = if op == "add" { 56 } else { 112 };
                let whole = |x: f64| fixed(x, 56).unwrap();
                let exact = match op {
                    "add" => whole(a) + whole(b),
                    _ => whole(a) * whole(b),
                };
                let near = (r, [r.next_down(), r.next_up()]);
                assert!(is_rounded(mode, near, scale, exact), "{line} {a} {b}: {r}");
            }
        }
    }
}

#[test]
fn conversions_round_as_they_say_and_stay_within_their_type() {
    check64("cvt.rmi.f64.f64 %d, %a;", 1, 31, |x| x[0].floor());
    check64("cvt.rpi.f64.f64 %d, %a;", 1, 32, |x| x[0].ceil());
    check64("cvt.rzi.f64.f64 %d, %a;", 1, 33, |x| x[0].trunc());
    check64("cvt.rni.f64.f64 %d, %a;", 1, 34, |x| x[0].round_ties_even());
    check32("cvt.sat.f32.f32 %d, %a;", 1, 35, |x| {
        if x[0].is_nan() {
            0.0
        } else {
            x[0].clamp(0.0, 1.0) + 0.0
        }
    });
    let d = doubles(N, 1, 36);
    let none = |x: f64| x.is_nan();
    check("cvt.rzi.s32.f64 %d, %a;", "b32", &["f64"], &d, |x| {
        let x = D(x[0]);
        u64::from(if none(x) {
            1 << 31
        } else {
            x.trunc().clamp(-2147483648.0, 2147483647.0) as i64 as u32
        })
    });
    check("cvt.rni.u64.f64 %d, %a;", "b64", &["f64"], &d, |x| {
        let x = D(x[0]);
        if none(x) {
            1 << 63
        } else {
            x.round_ties_even() as u64
        }
    });
    check("cvt.rmi.s64.f64 %d, %a;", "b64", &["f64"], &d, |x| {
        let x = D(x[0]);
        if none(x) {
            1 << 63
        } else {
            x.floor() as i64 as u64
        }
    });
    check(
        "cvt.rzi.s32.f32 %d, %a;",
        "b32",
        &["f32"],
        &singles(N, 1, 37),
        |x| u64::from(s(x[0]) as i32 as u32),
    );
    check("cvt.rn.f32.f64 %d, %a;", "f32", &["f64"], &d, |x| {
        u64::from((D(x[0]) as f32).to_bits())
    });
    let i = whole(N, &[64], 38);
    check("cvt.rn.f64.s64 %d, %a;", "f64", &["b64"], &i, |x| {
        (x[0] as i64 as f64).to_bits()
    });
    check("cvt.rn.f64.u64 %d, %a;", "f64", &["b64"], &i, |x| {
        (x[0] as f64).to_bits()
    });
    check("cvt.rn.f64.s32 %d, %a;", "f64", &["b32"], &i, |x| {
        f64::from(x[0] as i32).to_bits()
    });
    check("cvt.rn.f32.s64 %d, %a;", "f32", &["b64"], &i, |x| {
        u64::from((x[0] as i64 as f32).to_bits())
    });
    check("cvt.rn.f32.u32 %d, %a;", "f32", &["b32"], &i, |x| {
        u64::from((x[0] as u32 as f32).to_bits())
    });
}

#[test]
fn comparisons_know_numbers_that_are_none() {
    let two = doubles(N, 2, 41);
    let cases: [(&str, fn(f64, f64) -> bool); 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b && !a.is_nan() && !b.is_nan()),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| a < b || a.is_nan() || b.is_nan()),
        ("leu", |a, b| a <= b || a.is_nan() || b.is_nan()),
        ("gtu", |a, b| a > b || a.is_nan() || b.is_nan()),
        ("geu", |a, b| a >= b || a.is_nan() || b.is_nan()),
        ("num", |a, b| !(a.is_nan() || b.is_nan())),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    for (name, holds) in cases {
        let line = format!("setp.{name}.f64 %d, %a, %b;");
        check(&line, "pred", &["f64", "f64"], &two, |x| {
            u64::from(holds(D(x[0]), D(x[1])))
        });
    }
}

/// What a GPU only approximates is near, and no more is promised.
#[test]
fn approximations_are_near() {
    let near = |line: &str, f: fn(f64) -> f64, bound: f64| {
        let mut dice = Dice::new(43);
        let operands: Vec<Vec<u64>> = (0..N)
            .map(|_| {
                vec![u64::from(
                    (dice.below(4000) as f32 / 1000.0 + 0.001).to_bits(),
                )]
            })
            .collect();
        let results = made(line, "f32", &["f32"], &operands);
        for (r, x) in results.iter().zip(&operands) {
            let (exact, r) = (f(f64::from(s(x[0]))), f64::from(s(*r)));
            assert!(
                (r - exact).abs() <= bound * exact.abs().max(1e-3),
                "{line}: {r}, {exact}"
            );
        }
    };
    near("ex2.approx.ftz.f32 %d, %a;", f64::exp2, 2e-7);
    near("lg2.approx.ftz.f32 %d, %a;", f64::log2, 2e-7);
    near("rcp.approx.ftz.f32 %d, %a;", |x| 1.0 / x, 2e-7);
    near("rsqrt.approx.ftz.f32 %d, %a;", |x| 1.0 / x.sqrt(), 2e-7);
    near("tanh.approx.f32 %d, %a;", f64::tanh, 2e-7);
    check(
        "rcp.approx.ftz.f64 %d, %a;",
        "f64",
        &["f64"],
        &[vec![3f64.to_bits()]],
        |_| (1f64 / 3.0).to_bits() & 0xffff_ffff_0000_0000,
    );
}
