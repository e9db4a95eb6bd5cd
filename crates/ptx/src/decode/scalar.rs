//! Functions of one lane, and how they become functions of a warp.

use crate::code::{Compare, Compute, Lanes, Value};
use std::array::from_fn;

/// A type that a register can hold.
pub(super) trait Word: Copy + Send + Sync + 'static {
    /// From the lowest bits.
    fn of(bits: u64) -> Self;
    /// With zeros above.
    fn bits(self) -> u64;
}

macro_rules! words {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl Word for $unsigned {
            fn of(bits: u64) -> Self {
                bits as $unsigned
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
        impl Word for $signed {
            fn of(bits: u64) -> Self {
                bits as $signed
            }
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
        }
    )*};
}
words! { i8, u8; i16, u16; i32, u32; i64, u64; }

impl Word for f32 {
    fn of(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Word for f64 {
    fn of(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A function of one value.
pub(super) fn one<A: Word, D: Word>(
    of: [Value; 1],
    f: impl Fn(A) -> D + Send + Sync + 'static,
) -> Compute {
    let wide = move |[a]: [&Lanes; 1]| from_fn(|k| f(A::of(a[k])).bits());
    Compute::One(Box::new(wide), of)
}

/// A function of two values.
pub(super) fn two<A: Word, B: Word, D: Word>(
    of: [Value; 2],
    f: impl Fn(A, B) -> D + Send + Sync + 'static,
) -> Compute {
    let wide = move |[a, b]: [&Lanes; 2]| from_fn(|k| f(A::of(a[k]), B::of(b[k])).bits());
    Compute::Two(Box::new(wide), of)
}

/// A function of three values.
pub(super) fn three<A: Word, B: Word, C: Word, D: Word>(
    of: [Value; 3],
    f: impl Fn(A, B, C) -> D + Send + Sync + 'static,
) -> Compute {
    let wide =
        move |[a, b, c]: [&Lanes; 3]| from_fn(|k| f(A::of(a[k]), B::of(b[k]), C::of(c[k])).bits());
    Compute::Three(Box::new(wide), of)
}

/// A function of four values.
pub(super) fn four<A: Word, B: Word, C: Word, E: Word, D: Word>(
    of: [Value; 4],
    f: impl Fn(A, B, C, E) -> D + Send + Sync + 'static,
) -> Compute {
    let wide = move |[a, b, c, e]: [&Lanes; 4]| {
        from_fn(|k| f(A::of(a[k]), B::of(b[k]), C::of(c[k]), E::of(e[k])).bits())
    };
    Compute::Four(Box::new(wide), of)
}

/// A comparison of two values.
pub(super) fn compare<A: Word>(f: impl Fn(A, A) -> bool + Send + Sync + 'static) -> Compare {
    Box::new(move |a, b| {
        let holds: [bool; 32] = from_fn(|k| f(A::of(a[k]), A::of(b[k])));
        let bits = holds.iter().enumerate();
        bits.fold(0, |all, (k, &one)| all | u32::from(one) << k)
    })
}
