//! One instruction set for every SIMD level: a register of `f64` lanes and the operations the
//! vector maths and the block interpreter are written in.

/// A register of `f64` lanes.
///
/// Wide on purpose: it is an instruction set. Every operation is exact IEEE arithmetic, so a
/// straight-line function of them gives the same bits at every level. Functions written over it
/// must be branch-free: `select` instead of `if`, so that the same text can also be recorded or
/// printed for another machine.
pub trait Lanes: Copy {
    /// Number of lanes.
    const N: usize;
    /// The result of a comparison, one truth value per lane.
    type Mask: Copy;
    /// The same number of 64-bit integer lanes.
    type Bits: Copy;

    /// All lanes equal to `x`.
    fn splat(x: f64) -> Self;
    /// Loads `N` numbers.
    ///
    /// # Safety
    /// `from` must be readable for `N` numbers. No alignment is required.
    unsafe fn load(from: *const f64) -> Self;
    /// Stores `N` numbers.
    ///
    /// # Safety
    /// `to` must be writable for `N` numbers. No alignment is required.
    unsafe fn store(self, to: *mut f64);

    /// a + b.
    fn add(self, b: Self) -> Self;
    /// a − b.
    fn sub(self, b: Self) -> Self;
    /// a · b.
    fn mul(self, b: Self) -> Self;
    /// a / b, correctly rounded.
    fn div(self, b: Self) -> Self;
    /// √a, correctly rounded.
    fn sqrt(self) -> Self;
    /// a·b + c with one rounding.
    fn fma(self, b: Self, c: Self) -> Self;
    /// −a, the sign bit flipped.
    fn neg(self) -> Self;
    /// |a|, the sign bit cleared.
    fn abs(self) -> Self;
    /// The nearest whole number, halves to even.
    fn round(self) -> Self;
    /// The largest whole number not above a.
    fn floor(self) -> Self;

    /// a < b (false when either is NaN).
    fn lt(self, b: Self) -> Self::Mask;
    /// a ≤ b (false when either is NaN).
    fn le(self, b: Self) -> Self::Mask;
    /// a = b (false when either is NaN).
    fn eq(self, b: Self) -> Self::Mask;
    /// Both.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Not.
    fn not(a: Self::Mask) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The bits of each lane.
    fn to_bits(self) -> Self::Bits;
    /// Lanes from bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// All integer lanes equal to `x`.
    fn splat_bits(x: u64) -> Self::Bits;
    /// Integer addition, wrapping.
    fn add_bits(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Integer subtraction, wrapping.
    fn sub_bits(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn and_bits(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn or_bits(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn xor_bits(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Shift left by a constant.
    fn shl_bits<const K: i32>(a: Self::Bits) -> Self::Bits;
    /// Logical shift right by a constant.
    fn shr_bits<const K: i32>(a: Self::Bits) -> Self::Bits;
}

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
