//! AVX-512 and AVX2 registers as sixteen lanes of `f32`.
//!
//! As with the `f64` lanes, values of these types exist only inside functions entered by a
//! level that was detected, which makes the intrinsics safe to call.

use super::wide::{EXP, EXP_RANGE, LN_2, Wide};
use std::arch::x86_64::*;

/// One AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct F32x16(__m512);

/// Two AVX2 registers.
#[derive(Clone, Copy)]
pub(crate) struct F32x8x2(__m256, __m256);

/// The first `n` lanes.
#[inline(always)]
fn mask(n: usize) -> __mmask16 {
    ((1_u32 << n) - 1) as __mmask16
}

impl Wide<f32> for F32x16 {
    const COLUMNS: usize = 4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: lanes exist only where the level was detected (module doc).
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises sixteen readable numbers; the load is unaligned.
        Self(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        // SAFETY: masked lanes are not touched; the caller promises the others.
        Self(unsafe { _mm512_maskz_loadu_ps(mask(n), from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises sixteen writable numbers; the store is unaligned.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        // SAFETY: masked lanes are not touched; the caller promises the others.
        unsafe { _mm512_mask_storeu_ps(to, mask(n), self.0) }
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_sub_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_div_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: as in `splat`.
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn exp(self) -> Self {
        // SAFETY: as in `splat`. `min` and `max` return their second operand for a NaN.
        unsafe {
            let x = _mm512_min_ps(_mm512_set1_ps(EXP_RANGE.1), self.0);
            let x = _mm512_max_ps(_mm512_set1_ps(EXP_RANGE.0), x);
            let k = _mm512_mul_ps(x, _mm512_set1_ps(std::f32::consts::LOG2_E));
            let k = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(k);
            let r = _mm512_fmadd_ps(k, _mm512_set1_ps(-LN_2.0), x);
            let r = _mm512_fmadd_ps(k, _mm512_set1_ps(-LN_2.1), r);
            let mut y = _mm512_set1_ps(EXP[0]);
            for c in &EXP[1..] {
                y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(*c));
            }
            let y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(1.0));
            Self(_mm512_scalef_ps(y, k))
        }
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as in `splat`.
        unsafe {
            let low = _mm512_castps512_ps256(self.0);
            let high = _mm512_extractf32x8_ps::<1>(self.0);
            sum_8(_mm256_add_ps(low, high))
        }
    }
}

/// Eight lanes by halves.
#[inline(always)]
fn sum_8(x: __m256) -> f32 {
    // SAFETY: lanes exist only where the level was detected (module doc).
    unsafe {
        let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
        let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
        _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps::<1>(x, x)))
    }
}

/// All bits set in the first `n` of eight lanes.
#[inline(always)]
fn mask_8(n: usize) -> __m256i {
    const ROW: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let from = &ROW[8 - n.min(8)..][..8];
    // SAFETY: the slice has eight numbers; the level as in `sum_8`.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// One AVX2 half of the exponential.
#[inline(always)]
fn exp_8(x: __m256) -> __m256 {
    // SAFETY: as in `sum_8`. `min` and `max` return their second operand for a NaN.
    unsafe {
        let x = _mm256_min_ps(_mm256_set1_ps(EXP_RANGE.1), x);
        let x = _mm256_max_ps(_mm256_set1_ps(EXP_RANGE.0), x);
        let k = _mm256_mul_ps(x, _mm256_set1_ps(std::f32::consts::LOG2_E));
        let k = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(k);
        let r = _mm256_fmadd_ps(k, _mm256_set1_ps(-LN_2.0), x);
        let r = _mm256_fmadd_ps(k, _mm256_set1_ps(-LN_2.1), r);
        let mut y = _mm256_set1_ps(EXP[0]);
        for c in &EXP[1..] {
            y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(*c));
        }
        let y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.0));
        let biased = _mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127));
        _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
    }
}

/// A function of both halves.
macro_rules! both {
    ($name:ident($($arg:ident),*) = $f:ident) => {
        #[inline(always)]
        fn $name(self $(, $arg: Self)*) -> Self {
            // SAFETY: lanes exist only where the level was detected (module doc).
            unsafe { Self($f(self.0 $(, $arg.0)*), $f(self.1 $(, $arg.1)*)) }
        }
    };
}

impl Wide<f32> for F32x8x2 {
    const COLUMNS: usize = 1;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: lanes exist only where the level was detected (module doc).
        let x = unsafe { _mm256_set1_ps(x) };
        Self(x, x)
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises sixteen readable numbers; the loads are unaligned.
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        let second = n.saturating_sub(8);
        // SAFETY: masked lanes are not touched, and a half without lanes has a valid address.
        unsafe {
            let low = _mm256_maskload_ps(from, mask_8(n));
            let high = _mm256_maskload_ps(from.wrapping_add(8), mask_8(second));
            Self(low, high)
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises sixteen writable numbers; the stores are unaligned.
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        let second = n.saturating_sub(8);
        // SAFETY: masked lanes are not touched; the caller promises the others.
        unsafe {
            _mm256_maskstore_ps(to, mask_8(n), self.0);
            _mm256_maskstore_ps(to.wrapping_add(8), mask_8(second), self.1);
        }
    }
    both!(add(b) = _mm256_add_ps);
    both!(sub(b) = _mm256_sub_ps);
    both!(mul(b) = _mm256_mul_ps);
    both!(div(b) = _mm256_div_ps);
    both!(fma(b, c) = _mm256_fmadd_ps);
    both!(sqrt() = _mm256_sqrt_ps);

    #[inline(always)]
    fn exp(self) -> Self {
        Self(exp_8(self.0), exp_8(self.1))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: lanes exist only where the level was detected (module doc).
        sum_8(unsafe { _mm256_add_ps(self.0, self.1) })
    }
}
