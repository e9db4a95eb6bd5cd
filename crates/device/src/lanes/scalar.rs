//! One `f64` as [`Lanes`]: what every machine has, and what the others must equal bit for bit.

use super::Lanes;

impl Lanes for f64 {
    const N: usize = 1;
    type Mask = bool;
    type Bits = u64;

    #[inline(always)]
    fn splat(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> f64 {
        // SAFETY: the caller promises one readable number.
        unsafe { from.read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises one writable number.
        unsafe { to.write_unaligned(self) }
    }
    #[inline(always)]
    fn add(self, b: f64) -> f64 {
        self + b
    }
    #[inline(always)]
    fn sub(self, b: f64) -> f64 {
        self - b
    }
    #[inline(always)]
    fn mul(self, b: f64) -> f64 {
        self * b
    }
    #[inline(always)]
    fn div(self, b: f64) -> f64 {
        self / b
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn fma(self, b: f64, c: f64) -> f64 {
        f64::mul_add(self, b, c)
    }
    #[inline(always)]
    fn neg(self) -> f64 {
        -self
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn round(self) -> f64 {
        f64::round_ties_even(self)
    }
    #[inline(always)]
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    #[inline(always)]
    fn lt(self, b: f64) -> bool {
        self < b
    }
    #[inline(always)]
    fn le(self, b: f64) -> bool {
        self <= b
    }
    #[inline(always)]
    fn eq(self, b: f64) -> bool {
        self == b
    }
    #[inline(always)]
    fn and(a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn or(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn not(a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn any(a: bool) -> bool {
        a
    }
    #[inline(always)]
    fn select(mask: bool, yes: f64, no: f64) -> f64 {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn splat_bits(x: u64) -> u64 {
        x
    }
    #[inline(always)]
    fn add_bits(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn sub_bits(a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn and_bits(a: u64, b: u64) -> u64 {
        a & b
    }
    #[inline(always)]
    fn or_bits(a: u64, b: u64) -> u64 {
        a | b
    }
    #[inline(always)]
    fn xor_bits(a: u64, b: u64) -> u64 {
        a ^ b
    }
    #[inline(always)]
    fn shl_bits<const K: i32>(a: u64) -> u64 {
        a << K
    }
    #[inline(always)]
    fn shr_bits<const K: i32>(a: u64) -> u64 {
        a >> K
    }
}
