//! The numbers a network may be computed in, and how their kernels meet the machine.

use super::wide::{Plain, Wide};
use crate::lanes::Level;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// `f32`, in the widest registers there are, or `f64`, one at a time, for tests.
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The nearest number of this kind.
    fn from_f64(x: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// Runs a kernel in registers of `level`, which this machine must have.
    fn run<K: Kernel<Self>>(level: Level, kernel: K);
}

/// Loops written once over [`Wide`].
///
/// Mark `run` `#[inline(always)]`, and put no closure between it and the lanes.
pub trait Kernel<E> {
    /// The loops.
    fn run<W: Wide<E>>(self);
}

impl Number for f32 {
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn run<K: Kernel<f32>>(level: Level, kernel: K) {
        debug_assert!(level.is_available());
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: levels are detected before they are used (`Pool::new`).
            Level::Avx512 => unsafe { run_avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { run_avx2(kernel) },
            _ => kernel.run::<Plain<f32>>(),
        }
    }
}

impl Number for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn run<K: Kernel<f64>>(_: Level, kernel: K) {
        kernel.run::<Plain<f64>>();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
fn run_avx512<K: Kernel<f32>>(kernel: K) {
    kernel.run::<super::x86::F32x16>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel<f32>>(kernel: K) {
    kernel.run::<super::x86::F32x8x2>();
}
