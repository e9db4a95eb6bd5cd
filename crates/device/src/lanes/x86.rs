//! AVX-512 and AVX2 registers as [`Lanes`].
//!
//! The methods are plain always-inlined functions, so that they melt into the one
//! `#[target_feature]` function per level that `Level::run` enters. They are crate-private: no
//! value of these types exists outside such a function, which is what makes the intrinsics safe
//! to call.

use super::{Kernel, Lanes, apart_avx2, apart_avx512};
use std::arch::x86_64::*;

/// Eight `f64` in an AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct F64x8(__m512d);

/// Four `f64` in an AVX2 register.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(__m256d);

/// Methods that are one expression over registers: unwraps the arguments, wraps the result.
macro_rules! lane_methods {
    ($wrap:ident: $($name:ident($($arg:ident),*) = $body:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $arg: Self)*) -> Self {
                let a = self.0;
                $(let $arg = $arg.0;)*
                // SAFETY: lanes exist only where the level was detected (module doc).
                $wrap(unsafe { $body(a $(, $arg)*) })
            }
        )*
    };
}

/// Comparisons of two registers.
macro_rules! compare_methods {
    ($mask:ty: $($name:ident = $body:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(self, b: Self) -> $mask {
                // SAFETY: lanes exist only where the level was detected (module doc).
                unsafe { $body(self.0, b.0) }
            }
        )*
    };
}

/// Functions of two integer registers.
macro_rules! bit_methods {
    ($bits:ty: $($name:ident = $body:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(a: $bits, b: $bits) -> $bits {
                // SAFETY: lanes exist only where the level was detected (module doc).
                unsafe { $body(a, b) }
            }
        )*
    };
}

impl Lanes for F64x8 {
    const N: usize = 8;
    type Mask = __mmask8;
    type Bits = __m512i;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: lanes exist only where the level was detected (module doc).
        Self(unsafe { _mm512_set1_pd(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises eight readable numbers; the load is unaligned.
        Self(unsafe { _mm512_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises eight writable numbers; the store is unaligned.
        unsafe { _mm512_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    fn apart<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: lanes exist only where the level was detected (module doc).
        unsafe { apart_avx512(kernel) }
    }

    lane_methods! { Self:
        add(b) = _mm512_add_pd;
        sub(b) = _mm512_sub_pd;
        mul(b) = _mm512_mul_pd;
        div(b) = _mm512_div_pd;
        sqrt() = _mm512_sqrt_pd;
        fma(b, c) = _mm512_fmadd_pd;
        neg() = |a| _mm512_xor_pd(a, _mm512_set1_pd(-0.0));
        abs() = _mm512_abs_pd;
        round() = _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
        floor() = _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>;
        lesser(b) = _mm512_min_pd;
        greater(b) = _mm512_max_pd;
        scale(k) = _mm512_scalef_pd;
        exponent() = _mm512_getexp_pd;
    }
    compare_methods! { __mmask8:
        lt = _mm512_cmp_pd_mask::<_CMP_LT_OQ>;
        le = _mm512_cmp_pd_mask::<_CMP_LE_OQ>;
        eq = _mm512_cmp_pd_mask::<_CMP_EQ_OQ>;
    }
    bit_methods! { __m512i:
        add_bits = _mm512_add_epi64;
        sub_bits = _mm512_sub_epi64;
        and_bits = _mm512_and_si512;
        or_bits = _mm512_or_si512;
        xor_bits = _mm512_xor_si512;
    }

    #[inline(always)]
    fn split(self) -> (Self, Self) {
        // SAFETY: lanes exist only where the level was detected (module doc).
        unsafe {
            let m = _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_SRC>(self.0);
            // getexp(m) is −1 where m < 1, for which m was halved once more than getexp says.
            let k = _mm512_sub_pd(_mm512_getexp_pd(self.0), _mm512_getexp_pd(m));
            (Self(m), Self(k))
        }
    }
    #[inline(always)]
    fn and(a: __mmask8, b: __mmask8) -> __mmask8 {
        a & b
    }
    #[inline(always)]
    fn or(a: __mmask8, b: __mmask8) -> __mmask8 {
        a | b
    }
    #[inline(always)]
    fn not(a: __mmask8) -> __mmask8 {
        !a
    }
    #[inline(always)]
    fn any(a: __mmask8) -> bool {
        a != 0
    }
    #[inline(always)]
    fn select(mask: __mmask8, yes: Self, no: Self) -> Self {
        // SAFETY: lanes exist only where the level was detected (module doc).
        Self(unsafe { _mm512_mask_blend_pd(mask, no.0, yes.0) })
    }
    #[inline(always)]
    fn to_bits(self) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_castpd_si512(self.0) }
    }
    #[inline(always)]
    fn from_bits(bits: __m512i) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_castsi512_pd(bits) })
    }
    #[inline(always)]
    fn splat_bits(x: u64) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi64(x.cast_signed()) }
    }
    #[inline(always)]
    fn shl_bits<const K: i32>(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_sll_epi64(a, _mm_cvtsi32_si128(K)) }
    }
    #[inline(always)]
    fn shr_bits<const K: i32>(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_srl_epi64(a, _mm_cvtsi32_si128(K)) }
    }
}

impl Lanes for F64x4 {
    const N: usize = 4;
    type Mask = __m256d;
    type Bits = __m256i;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: lanes exist only where the level was detected (module doc).
        Self(unsafe { _mm256_set1_pd(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises four readable numbers; the load is unaligned.
        Self(unsafe { _mm256_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises four writable numbers; the store is unaligned.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    fn apart<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: lanes exist only where the level was detected (module doc).
        unsafe { apart_avx2(kernel) }
    }

    lane_methods! { Self:
        add(b) = _mm256_add_pd;
        sub(b) = _mm256_sub_pd;
        mul(b) = _mm256_mul_pd;
        div(b) = _mm256_div_pd;
        sqrt() = _mm256_sqrt_pd;
        fma(b, c) = _mm256_fmadd_pd;
        neg() = |a| _mm256_xor_pd(a, _mm256_set1_pd(-0.0));
        abs() = |a| _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
        round() = _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
        floor() = _mm256_round_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>;
        lesser(b) = _mm256_min_pd;
        greater(b) = _mm256_max_pd;
    }
    compare_methods! { __m256d:
        lt = _mm256_cmp_pd::<_CMP_LT_OQ>;
        le = _mm256_cmp_pd::<_CMP_LE_OQ>;
        eq = _mm256_cmp_pd::<_CMP_EQ_OQ>;
    }
    bit_methods! { __m256i:
        add_bits = _mm256_add_epi64;
        sub_bits = _mm256_sub_epi64;
        and_bits = _mm256_and_si256;
        or_bits = _mm256_or_si256;
        xor_bits = _mm256_xor_si256;
    }

    #[inline(always)]
    fn and(a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: lanes exist only where the level was detected (module doc).
        unsafe { _mm256_and_pd(a, b) }
    }
    #[inline(always)]
    fn or(a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_or_pd(a, b) }
    }
    #[inline(always)]
    fn not(a: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1))) }
    }
    #[inline(always)]
    fn any(a: __m256d) -> bool {
        // SAFETY: as above.
        unsafe { _mm256_movemask_pd(a) != 0 }
    }
    #[inline(always)]
    fn select(mask: __m256d, yes: Self, no: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_blendv_pd(no.0, yes.0, mask) })
    }
    #[inline(always)]
    fn to_bits(self) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_castpd_si256(self.0) }
    }
    #[inline(always)]
    fn from_bits(bits: __m256i) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_castsi256_pd(bits) })
    }
    #[inline(always)]
    fn splat_bits(x: u64) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_set1_epi64x(x.cast_signed()) }
    }
    #[inline(always)]
    fn shl_bits<const K: i32>(a: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_slli_epi64::<K>(a) }
    }
    #[inline(always)]
    fn shr_bits<const K: i32>(a: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_srli_epi64::<K>(a) }
    }
}
