//! One instruction set for every SIMD level: a register of `f64` lanes and the operations the
//! vector maths and the block interpreter are written in.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{F64x4, F64x8};

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

    /// Lanes of a block of eight numbers, from number `at` on.
    ///
    /// # Panics
    /// If the block ends before the lanes do.
    #[inline(always)]
    fn from_block(block: &[f64; 8], at: usize) -> Self {
        let part = &block[at..at + Self::N];
        // SAFETY: the slice has `N` numbers.
        unsafe { Self::load(part.as_ptr()) }
    }
    /// Writes the lanes into a block of eight numbers, from number `at` on.
    ///
    /// # Panics
    /// If the block ends before the lanes do.
    #[inline(always)]
    fn to_block(self, block: &mut [f64; 8], at: usize) {
        let part = &mut block[at..at + Self::N];
        // SAFETY: the slice has `N` numbers.
        unsafe { self.store(part.as_mut_ptr()) }
    }

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

    /// `a < b ? a : b`: the second where either is NaN, and where they are equal.
    #[inline(always)]
    fn lesser(self, b: Self) -> Self {
        Self::select(self.lt(b), self, b)
    }
    /// `a > b ? a : b`: the second where either is NaN, and where they are equal.
    #[inline(always)]
    fn greater(self, b: Self) -> Self {
        Self::select(b.lt(self), self, b)
    }
    /// a·2ᵏ with one rounding, also into the subnormal range or to infinity.
    ///
    /// For whole |k| ≤ 2000, as long as a·2^(k/2) is neither subnormal nor infinite (or a is 0 or
    /// NaN).
    #[inline(always)]
    fn scale(self, k: Self) -> Self {
        // Two factors, so that neither overflows; the first product is exact.
        let half = k.mul(Self::splat(0.5)).floor();
        self.mul(power_of_two(half)).mul(power_of_two(k.sub(half)))
    }
    /// The whole k with 2ᵏ ≤ a < 2ᵏ⁺¹, for a normal a > 0.
    #[inline(always)]
    fn exponent(self) -> Self {
        let biased = Self::shr_bits::<52>(self.to_bits());
        let number = Self::from_bits(Self::or_bits(biased, Self::splat_bits(TWO_52.to_bits())));
        number.sub(Self::splat(TWO_52 + 1023.0))
    }
    /// (m, k) with a = m·2ᵏ and ¾ ≤ m < 1½, for finite a > 0, subnormal or not.
    ///
    /// Elsewhere both are some number or NaN.
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let subnormal = self.lt(Self::splat(f64::MIN_POSITIVE));
        let normal = Self::select(subnormal, self.mul(Self::splat(TWO_54)), self);
        // ¾ = 1.5·2⁻¹: counting from it makes every m in [¾, 1½) have the same offset.
        let three_quarters = Self::splat_bits(0.75f64.to_bits());
        let offset = Self::sub_bits(normal.to_bits(), three_quarters);
        let exponent = Self::and_bits(offset, Self::splat_bits(0xFFF0_0000_0000_0000));
        let m = Self::from_bits(Self::sub_bits(normal.to_bits(), exponent));
        // The exponent, biased to be positive, in the low bits of 2⁵²; then as a number.
        let biased = Self::shr_bits::<52>(Self::add_bits(exponent, Self::splat_bits(1 << 62)));
        let number = Self::from_bits(Self::or_bits(biased, Self::splat_bits(TWO_52.to_bits())));
        let bias = Self::select(subnormal, Self::splat(1078.0), Self::splat(1024.0));
        (m, number.sub(Self::splat(TWO_52)).sub(bias))
    }

    /// Runs `kernel` over these lanes in a function of its own, which is never inlined.
    ///
    /// For what stands inside a loop over many kinds of work: otherwise the constants of all kinds
    /// are put into registers, and from there on the stack, before the loop.
    #[inline(never)]
    fn apart<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Self>()
    }

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
    /// Whether the mask may hold somewhere. What is left out where it does not must change no bit.
    #[inline(always)]
    fn any(_: Self::Mask) -> bool {
        true
    }
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

const TWO_52: f64 = 4_503_599_627_370_496.0;
const TWO_54: f64 = 18_014_398_509_481_984.0;

/// 2ᵏ for whole −1022 ≤ k ≤ 1023.
#[inline(always)]
pub(crate) fn power_of_two<L: Lanes>(k: L) -> L {
    // k + 1023 lands in the low bits of 2⁵²; shifted up it is the exponent field.
    let bits = k.add(L::splat(TWO_52 + 1023.0)).to_bits();
    L::from_bits(L::shl_bits::<52>(bits))
}

/// How wide the machine's registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One number at a time; always there.
    Scalar,
    /// x86-64 with AVX2 and FMA: four numbers.
    Avx2,
    /// x86-64 with AVX-512 F, DQ, VL and BW: eight numbers.
    Avx512,
}

/// Code written once over [`Lanes`], to be run at a [`Level`].
///
/// Mark `run` `#[inline(always)]`, and put no closure between it and the lane operations: only
/// what is inlined into the entry of the level is compiled for that level.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// The code.
    fn run<L: Lanes>(self) -> Self::Output;
}

impl Level {
    /// The widest level this machine has.
    #[inline]
    pub fn detect() -> Level {
        // Asked for in every loop of the sampler: one load instead of ten.
        static WIDEST: OnceLock<Level> = OnceLock::new();
        *WIDEST.get_or_init(Level::widest)
    }

    fn widest() -> Level {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            return if wide { Level::Avx512 } else { Level::Avx2 };
        }
        Level::Scalar
    }

    /// Every level this machine has, narrowest first.
    pub fn available() -> Vec<Level> {
        let mut levels = vec![Level::Scalar, Level::Avx2, Level::Avx512];
        levels.retain(|level| level.is_available());
        levels
    }

    /// Whether this machine has it.
    #[inline]
    pub fn is_available(self) -> bool {
        self <= Level::detect()
    }

    /// Number of `f64` lanes.
    pub fn lanes(self) -> usize {
        match self {
            Level::Scalar => 1,
            Level::Avx2 => 4,
            Level::Avx512 => 8,
        }
    }

    /// Runs `kernel` in registers of this level.
    ///
    /// # Panics
    /// If this machine does not have the level.
    #[inline]
    #[track_caller]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        assert!(self.is_available(), "this machine has no {self:?}");
        // SAFETY: the level was just found.
        unsafe { self.run_found(kernel) }
    }

    /// As [`Level::run`], for a level that was found before.
    ///
    /// # Safety
    /// [`Level::is_available`] must have said yes on this machine.
    #[inline]
    pub(crate) unsafe fn run_found<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller has found the features.
            Level::Avx512 => unsafe { run_avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller has found the features.
            Level::Avx2 => unsafe { run_avx2(kernel) },
            _ => kernel.run::<f64>(),
        }
    }
}

/// Asks for the line of memory around `at`, which need not be anybody's.
#[inline(always)]
pub fn prefetch(at: *const f64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F64x8>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
#[inline(never)]
fn apart_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F64x8>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn apart_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F64x4>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<F64x4>()
}
