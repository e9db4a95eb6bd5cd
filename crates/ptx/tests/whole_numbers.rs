//! Instructions of whole numbers and bits, against this language's own arithmetic.
#![allow(clippy::unwrap_used)]

mod support;

use support::{check, whole};

const N: usize = 1024;

macro_rules! arithmetic {
    ($signed:literal, $t:ty, $wide:ty, $bits:literal) => {{
        let kind = concat!("b", $bits);
        let op = |name: &str| format!("{name}.{}{} %d, %a, %b;", $signed, $bits);
        let two = whole(N, &[$bits, $bits], 3);
        let t = |x: u64| x as $t;
        let out = |x: $t| x as u64 & (u64::MAX >> (64 - $bits));
        let f = |name: &str, f: &dyn Fn($t, $t) -> $t| {
            check(&op(name), kind, &[kind, kind], &two, |x| {
                out(f(t(x[0]), t(x[1])))
            });
        };
        f("add", &|a, b| a.wrapping_add(b));
        f("sub", &|a, b| a.wrapping_sub(b));
        f("mul.lo", &|a, b| a.wrapping_mul(b));
        f("mul.hi", &|a, b| {
            ((a as $wide).wrapping_mul(b as $wide) >> $bits) as $t
        });
        f("div", &|a, b| if b == 0 { !0 } else { a.wrapping_div(b) });
        f("rem", &|a, b| if b == 0 { a } else { a.wrapping_rem(b) });
        f("min", &|a, b| a.min(b));
        f("max", &|a, b| a.max(b));
        for (name, holds) in [
            ("eq", (|a, b| a == b) as fn($t, $t) -> bool),
            ("ne", |a, b| a != b),
            ("lt", |a, b| a < b),
            ("le", |a, b| a <= b),
            ("gt", |a, b| a > b),
            ("ge", |a, b| a >= b),
        ] {
            let line = format!("setp.{name}.{}{} %d, %a, %b;", $signed, $bits);
            let expected = |x: &[u64]| u64::from(holds(t(x[0]), t(x[1])));
            check(&line, "pred", &[kind, kind], &two, expected);
        }
        let shift = whole(N, &[$bits, 7], 4);
        let line = format!("shr.{}{} %d, %a, %b;", $signed, $bits);
        check(&line, kind, &[kind, "b32"], &shift, |x| {
            let (a, by) = (t(x[0]), x[1] as u32);
            let nothing = if a < (0 as $t) {
                (0 as $t).wrapping_sub(1)
            } else {
                0
            };
            out(a.checked_shr(by).unwrap_or(nothing))
        });
    }};
}

#[test]
fn arithmetic_and_comparisons_are_those_of_their_types() {
    arithmetic!("s", i16, i32, 16);
    arithmetic!("u", u16, u32, 16);
    arithmetic!("s", i32, i64, 32);
    arithmetic!("u", u32, u64, 32);
    arithmetic!("s", i64, i128, 64);
    arithmetic!("u", u64, u128, 64);
}

#[test]
fn products_and_sums_have_the_width_they_say() {
    let two = whole(N, &[32, 32], 5);
    let (half, full) = (["b32", "b32"], ["b32", "b32", "b64"]);
    check("mul.wide.u32 %d, %a, %b;", "b64", &half, &two, |x| {
        x[0] * x[1]
    });
    check("mul.wide.s32 %d, %a, %b;", "b64", &half, &two, |x| {
        (i64::from(x[0] as i32) * i64::from(x[1] as i32)) as u64
    });
    let narrow = whole(N, &[16, 16], 6);
    check(
        "mul.wide.u16 %d, %a, %b;",
        "b32",
        &["b16", "b16"],
        &narrow,
        |x| x[0] * x[1],
    );
    let three = whole(N, &[32, 32, 64], 7);
    check("mad.wide.s32 %d, %a, %b, %c;", "b64", &full, &three, |x| {
        let product = i64::from(x[0] as i32) * i64::from(x[1] as i32);
        product.wrapping_add(x[2] as i64) as u64
    });
    check(
        "mad.lo.s32 %d, %a, %b, %c;",
        "b32",
        &["b32", "b32", "b32"],
        &three,
        |x| {
            let product = (x[0] as u32).wrapping_mul(x[1] as u32);
            u64::from(product.wrapping_add(x[2] as u32))
        },
    );
    check(
        "mad.hi.u32 %d, %a, %b, %c;",
        "b32",
        &["b32", "b32", "b32"],
        &three,
        |x| u64::from(((x[0] * x[1]) >> 32) as u32).wrapping_add(x[2] as u32 as u64) & 0xffff_ffff,
    );
    let one = whole(N, &[32], 8);
    check("abs.s32 %d, %a;", "b32", &["b32"], &one, |x| {
        u64::from((x[0] as i32).unsigned_abs())
    });
    check("neg.s32 %d, %a;", "b32", &["b32"], &one, |x| {
        u64::from((x[0] as i32).wrapping_neg() as u32)
    });
}

#[test]
fn bits_are_moved_counted_and_chosen() {
    let two = whole(N, &[64, 64], 9);
    let wide = ["b64", "b64"];
    check("and.b64 %d, %a, %b;", "b64", &wide, &two, |x| x[0] & x[1]);
    check("or.b64 %d, %a, %b;", "b64", &wide, &two, |x| x[0] | x[1]);
    check("xor.b64 %d, %a, %b;", "b64", &wide, &two, |x| x[0] ^ x[1]);
    check("not.b64 %d, %a;", "b64", &["b64"], &two, |x| !x[0]);
    check("not.b16 %d, %a;", "b16", &["b16"], &two, |x| !x[0] & 0xffff);
    check("popc.b64 %d, %a;", "b32", &["b64"], &two, |x| {
        u64::from(x[0].count_ones())
    });
    check("clz.b64 %d, %a;", "b32", &["b64"], &two, |x| {
        u64::from(x[0].leading_zeros())
    });
    check("brev.b64 %d, %a;", "b64", &["b64"], &two, |x| {
        x[0].reverse_bits()
    });
    let shift = whole(N, &[64, 8], 10);
    check("shl.b64 %d, %a, %b;", "b64", &["b64", "b32"], &shift, |x| {
        x[0].checked_shl(x[1] as u32).unwrap_or(0)
    });
    check("shl.b32 %d, %a, %b;", "b32", &["b32", "b32"], &shift, |x| {
        u64::from((x[0] as u32).checked_shl(x[1] as u32).unwrap_or(0))
    });
    let three = whole(N, &[32, 32, 6], 11);
    let words = ["b32", "b32", "b32"];
    let both = |x: &[u64]| x[1] << 32 | x[0] & 0xffff_ffff;
    check(
        "shf.l.wrap.b32 %d, %a, %b, %c;",
        "b32",
        &words,
        &three,
        |x| (both(x) << (x[2] & 31)) >> 32,
    );
    check(
        "shf.r.clamp.b32 %d, %a, %b, %c;",
        "b32",
        &words,
        &three,
        |x| both(x) >> x[2].min(32) & 0xffff_ffff,
    );
    check(
        "lop3.b32 %d, %a, %b, %c, 150;",
        "b32",
        &words,
        &three,
        |x| x[0] ^ x[1] ^ x[2],
    );
    check(
        "lop3.b32 %d, %a, %b, %c, 232;",
        "b32",
        &words,
        &three,
        |x| (x[0] & x[1]) | (x[0] & x[2]) | (x[1] & x[2]),
    );
    check(
        "prmt.b32 %d, %a, %b, 0x3254;",
        "b32",
        &["b32", "b32"],
        &three,
        |x| {
            let all: Vec<u8> = (x[0] as u32)
                .to_le_bytes()
                .into_iter()
                .chain((x[1] as u32).to_le_bytes())
                .collect();
            u64::from(u32::from_le_bytes([all[4], all[5], all[2], all[3]]))
        },
    );
}

#[test]
fn products_of_the_parts_of_words_are_added_up() {
    let words = ["b32", "b32", "b32"];
    let three = whole(N, &[32, 32, 32], 12);
    let byte = |x: u64, k: u64| (x >> (8 * k)) & 0xff;
    let half = |x: u64, k: u64| (x >> (16 * k)) & 0xffff;
    let signed = |x: u64, bits: u32| ((x << (64 - bits)) as i64) >> (64 - bits);
    let low = |x: i64| x as u64 & 0xffff_ffff;
    check(
        "dp2a.lo.u32.u32 %d, %a, %b, %c;",
        "b32",
        &words,
        &three,
        |x| {
            let sum = x[2] + half(x[0], 0) * byte(x[1], 0) + half(x[0], 1) * byte(x[1], 1);
            sum & 0xffff_ffff
        },
    );
    check(
        "dp2a.hi.s32.u32 %d, %a, %b, %c;",
        "b32",
        &words,
        &three,
        |x| {
            let term = |k| signed(half(x[0], k), 16) * byte(x[1], k + 2) as i64;
            low(x[2] as i64 + term(0) + term(1))
        },
    );
    check("dp4a.u32.s32 %d, %a, %b, %c;", "b32", &words, &three, |x| {
        let term = |k| byte(x[0], k) as i64 * signed(byte(x[1], k), 8);
        low(x[2] as i64 + (0..4).map(term).sum::<i64>())
    });
}

#[test]
fn fields_are_put_in_and_taken_out_bit_by_bit() {
    let operands = whole(N, &[32, 32, 6, 6], 12);
    check(
        "bfi.b32 %d, %a, %b, %c, %e;",
        "b32",
        &["b32"; 4],
        &operands,
        |x| {
            let (from, n) = (x[2], x[3]);
            let bit = |k: u64| match k >= from && k < from + n {
                true => x[0] >> (k - from) & 1,
                false => x[1] >> k & 1,
            };
            (0..32).fold(0, |d, k| d | bit(k) << k)
        },
    );
    let take = |x: &[u64], bits: u64, signed: bool| {
        let (from, n) = (x[1], x[2]);
        let top = (from + n).saturating_sub(1).min(bits - 1);
        let sign = if signed && n > 0 { x[0] >> top & 1 } else { 0 };
        let bit = |k: u64| match k < n && from + k < bits {
            true => x[0] >> (from + k) & 1,
            false => sign,
        };
        (0..bits).fold(0, |d, k| d | bit(k) << k)
    };
    let operands = whole(N, &[64, 7, 7], 13);
    let of = ["b64", "b32", "b32"];
    check("bfe.u64 %d, %a, %b, %c;", "b64", &of, &operands, |x| {
        take(x, 64, false)
    });
    check("bfe.s64 %d, %a, %b, %c;", "b64", &of, &operands, |x| {
        take(x, 64, true)
    });
    let operands = whole(N, &[32, 6, 6], 14);
    check(
        "bfe.s32 %d, %a, %b, %c;",
        "b32",
        &["b32"; 3],
        &operands,
        |x| take(x, 32, true),
    );
}

#[test]
fn conversions_between_whole_numbers_cut_and_extend() {
    let one = whole(N, &[64], 15);
    check("cvt.u32.u64 %d, %a;", "b32", &["b64"], &one, |x| {
        x[0] & 0xffff_ffff
    });
    check("cvt.s64.s32 %d, %a;", "b64", &["b32"], &one, |x| {
        x[0] as i32 as i64 as u64
    });
    check("cvt.u64.u32 %d, %a;", "b64", &["b32"], &one, |x| {
        x[0] & 0xffff_ffff
    });
    check("cvt.s32.s8 %d, %a;", "b32", &["b32"], &one, |x| {
        u64::from(x[0] as i8 as i32 as u32)
    });
    check("cvt.s16.s8 %d, %a;", "b16", &["b16"], &one, |x| {
        u64::from(x[0] as i8 as i16 as u16)
    });
    check("cvt.u16.u32 %d, %a;", "b16", &["b32"], &one, |x| {
        x[0] & 0xffff
    });
    // A register that is wider than its type.
    check("cvt.s8.s32 %d, %a;", "b32", &["b32"], &one, |x| {
        u64::from(x[0] as i8 as i32 as u32)
    });
    check("cvt.u8.u32 %d, %a;", "b32", &["b32"], &one, |x| x[0] & 0xff);
}

#[test]
fn predicates_are_logic_and_guard_and_choose() {
    let two = whole(N, &[32, 32], 16);
    let of = ["b32", "b32"];
    check(
        "setp.lt.s32 %p, %a, %b;\nnot.pred %d, %p;",
        "pred",
        &of,
        &two,
        |x| u64::from(x[0] as i32 >= x[1] as i32),
    );
    check(
        "setp.lt.s32 %p, %a, 0;\nsetp.lt.s32 %q, %b, 0;\nxor.pred %d, %p, %q;",
        "pred",
        &of,
        &two,
        |x| u64::from(((x[0] as i32) < 0) != ((x[1] as i32) < 0)),
    );
    check(
        "setp.lt.s32 %p, %a, 0;\nsetp.eq.and.u32 %q|%d, %b, 2, %p;",
        "pred",
        &of,
        &two,
        |x| u64::from(x[1] != 2 && (x[0] as i32) < 0),
    );
    check(
        "setp.gt.u32 %p, %a, %b;\nmov.b32 %d, %b;\n@%p mov.b32 %d, %a;\n@!%p add.u32 %d, %d, 1;",
        "b32",
        &of,
        &two,
        |x| {
            if x[0] > x[1] {
                x[0]
            } else {
                (x[1] + 1) & 0xffff_ffff
            }
        },
    );
    check(
        "setp.gt.u32 %p, %a, %b;\nselp.b32 %d, %a, %b, !%p;",
        "b32",
        &of,
        &two,
        |x| x[0].min(x[1]),
    );
    check("mov.b64 %d, {%a, %b};", "b64", &of, &two, |x| {
        x[1] << 32 | x[0]
    });
    check(
        "mov.b64 {_, %d}, %a;",
        "b32",
        &["b64"],
        &whole(N, &[64], 17),
        |x| x[0] >> 32,
    );
}
