//! Sixteen numbers at once: the registers that networks compute in.

/// Sixteen lanes, whatever the machine's registers are: one AVX-512 register, two of AVX2, or
/// plain numbers. Every operation is exactly rounded, so all levels give the same bits.
///
/// Wide on purpose: it is an instruction set.
pub trait Wide<E>: Copy {
    /// Columns of sixteen that a product keeps in registers at once.
    const COLUMNS: usize;

    /// All lanes equal to `x`.
    fn splat(x: E) -> Self;
    /// Loads sixteen numbers.
    ///
    /// # Safety
    /// `from` must be readable for sixteen numbers.
    unsafe fn load(from: *const E) -> Self;
    /// Loads `n` < 16 numbers; the other lanes are 0.
    ///
    /// # Safety
    /// `from` must be readable for `n` numbers.
    unsafe fn load_part(from: *const E, n: usize) -> Self;
    /// Stores sixteen numbers.
    ///
    /// # Safety
    /// `to` must be writable for sixteen numbers.
    unsafe fn store(self, to: *mut E);
    /// Stores the first `n` < 16 lanes.
    ///
    /// # Safety
    /// `to` must be writable for `n` numbers.
    unsafe fn store_part(self, to: *mut E, n: usize);
    /// a + b.
    fn add(self, b: Self) -> Self;
    /// a − b.
    fn sub(self, b: Self) -> Self;
    /// a · b.
    fn mul(self, b: Self) -> Self;
    /// a / b.
    fn div(self, b: Self) -> Self;
    /// a·b + c with one rounding.
    fn fma(self, b: Self, c: Self) -> Self;
    /// √a.
    fn sqrt(self) -> Self;
    /// exp(a), to 2 units in the last place for −87 ≤ a ≤ 88; clamped beyond.
    fn exp(self) -> Self;
    /// The sum of all lanes, by halves: 8, 4, 2, 1.
    fn sum(self) -> E;

    /// The first sixteen numbers of a slice, or all of a shorter one with 0 behind.
    #[inline(always)]
    fn read(from: &[E]) -> Self {
        if from.len() >= 16 {
            // SAFETY: the slice has sixteen numbers.
            unsafe { Self::load(from.as_ptr()) }
        } else {
            // SAFETY: the slice has as many.
            unsafe { Self::load_part(from.as_ptr(), from.len()) }
        }
    }
    /// Writes sixteen lanes to a slice, or as many as it has.
    #[inline(always)]
    fn write(self, to: &mut [E]) {
        if to.len() >= 16 {
            // SAFETY: the slice has sixteen numbers.
            unsafe { self.store(to.as_mut_ptr()) }
        } else {
            // SAFETY: the slice has as many.
            unsafe { self.store_part(to.as_mut_ptr(), to.len()) }
        }
    }
}

/// Coefficients of exp on |r| ≤ ln 2 / 2: Taylor's, which at this degree are within half a unit
/// of the last place of the best.
pub(crate) const EXP: [f32; 7] = [
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
];
/// ln 2 in two parts, the first exact in products with small whole numbers.
pub(crate) const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
/// Where exp is clamped.
pub(crate) const EXP_RANGE: (f32, f32) = (-87.3, 88.3);

/// Sixteen plain numbers.
#[derive(Clone, Copy)]
pub(super) struct Plain<E>([E; 16]);

/// The methods of [`Plain`] that differ in nothing but the type.
macro_rules! plain {
    ($e:ty, $exp:expr) => {
        impl Wide<$e> for Plain<$e> {
            const COLUMNS: usize = 1;

            #[inline(always)]
            fn splat(x: $e) -> Self {
                Plain([x; 16])
            }
            #[inline(always)]
            unsafe fn load(from: *const $e) -> Self {
                // SAFETY: the caller promises sixteen readable numbers.
                Plain(unsafe { from.cast::<[$e; 16]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_part(from: *const $e, n: usize) -> Self {
                let mut lanes = [0.0; 16];
                for (k, lane) in lanes.iter_mut().enumerate().take(n) {
                    // SAFETY: the caller promises `n` readable numbers.
                    *lane = unsafe { from.add(k).read() };
                }
                Plain(lanes)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $e) {
                // SAFETY: the caller promises sixteen writable numbers.
                unsafe { to.cast::<[$e; 16]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_part(self, to: *mut $e, n: usize) {
                for (k, lane) in self.0.iter().enumerate().take(n) {
                    // SAFETY: the caller promises `n` writable numbers.
                    unsafe { to.add(k).write(*lane) }
                }
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Plain(std::array::from_fn(|k| self.0[k] + b.0[k]))
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Plain(std::array::from_fn(|k| self.0[k] - b.0[k]))
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                Plain(std::array::from_fn(|k| self.0[k] * b.0[k]))
            }
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                Plain(std::array::from_fn(|k| self.0[k] / b.0[k]))
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                Plain(std::array::from_fn(|k| self.0[k].mul_add(b.0[k], c.0[k])))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Plain(self.0.map(|x| x.sqrt()))
            }
            #[inline(always)]
            fn exp(self) -> Self {
                Plain(self.0.map($exp))
            }
            #[inline(always)]
            fn sum(self) -> $e {
                let mut lanes = self.0;
                for half in [8, 4, 2, 1] {
                    for k in 0..half {
                        lanes[k] += lanes[k + half];
                    }
                }
                lanes[0]
            }
        }
    };
}

plain!(f32, exp_f32);
plain!(f64, libm::exp);

/// One lane of the f32 exponential, in the operations of the wide ones.
fn exp_f32(x: f32) -> f32 {
    // The comparisons keep a NaN.
    let x = if EXP_RANGE.1 < x { EXP_RANGE.1 } else { x };
    let x = if EXP_RANGE.0 > x { EXP_RANGE.0 } else { x };
    let k = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = k.mul_add(-LN_2.1, k.mul_add(-LN_2.0, x));
    let mut y = EXP[0];
    for c in &EXP[1..] {
        y = y.mul_add(r, *c);
    }
    let y = y.mul_add(r, 1.0);
    y * f32::from_bits(((k as i32).wrapping_add(127) as u32) << 23)
}
