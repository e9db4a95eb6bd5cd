//! Momenta: standard normal numbers, eight pairs at a time.
//!
//! The same numbers as [`crate::rng::Rng::normal`] gives one by one (same counters, same bits of
//! randomness), with branch-free polynomials for the logarithm and the sine and cosine, so that
//! the loops vectorise. The two agree to a few units in the last place.

use super::vector::Block;
use crate::rng::Purpose;
use fitzroy_device::lanes::{Kernel, Lanes, Level};

/// Which stream of normal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The user's seed.
    pub(crate) seed: u64,
    /// The replicate.
    pub(crate) stream: u32,
    /// The chain, counted over all machines.
    pub(crate) chain: u32,
}

/// Fills the first `dim` elements of `out` with standard normal numbers, the rest with zeros.
pub(crate) fn fill(out: &mut [Block], dim: usize, key: Stream, iteration: u32, purpose: Purpose) {
    let of = Of::new(key, purpose);
    Level::detect().run(Fill { out, iteration, of });
    out.as_flattened_mut()[dim..].fill(0.0);
}

/// [`fill`] without its tail, compiled for each level of vector instructions.
struct Fill<'a> {
    out: &'a mut [Block],
    iteration: u32,
    of: Of,
}

/// What all numbers of a stream for one purpose share.
#[derive(Clone, Copy)]
struct Of {
    /// The end of the counter: chain and purpose.
    counter: [u32; 2],
    key: [u32; 2],
}

impl Of {
    fn new(key: Stream, purpose: Purpose) -> Self {
        Of {
            counter: [key.chain, purpose as u32],
            key: [key.seed as u32, key.stream ^ (key.seed >> 32) as u32],
        }
    }
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (b, blocks) in self.out.chunks_mut(2).enumerate() {
            let mut at = [[self.iteration, 8 * b as u32]; 8];
            for l in 0..8 {
                at[l][1] += l as u32;
            }
            let pairs = eight_pairs(at, self.of);
            let blocks = blocks.as_flattened_mut();
            blocks.copy_from_slice(&pairs.as_flattened()[..blocks.len()]);
        }
    }
}

/// The numbers that [`fill`] gives to transitions which follow one another, made for several at a
/// time where each needs few.
#[derive(Clone, Debug)]
pub(crate) struct Momenta {
    /// What they are for, and the first transition.
    of: Option<(Stream, Purpose, u32)>,
    pairs: [[f64; 2]; 8],
}

impl Momenta {
    /// None yet.
    pub(crate) fn new() -> Self {
        let pairs = [[0.0; 2]; 8];
        Momenta { of: None, pairs }
    }

    /// [`fill`].
    pub(crate) fn fill(
        &mut self,
        out: &mut [Block],
        dim: usize,
        key: Stream,
        iteration: u32,
        purpose: Purpose,
    ) {
        let each = dim.div_ceil(2).max(1);
        if each > 4 {
            return fill(out, dim, key, iteration, purpose);
        }
        let ready = self.of.filter(|&(of, by, first)| {
            (of, by) == (key, purpose) && iteration.wrapping_sub(first) < (8 / each) as u32
        });
        let first = match ready {
            Some((.., first)) => first,
            None => {
                self.pairs = Level::detect().run(Several {
                    first: iteration,
                    each: each as u32,
                    of: Of::new(key, purpose),
                });
                self.of = Some((key, purpose, iteration));
                iteration
            }
        };
        let at = 2 * each * iteration.wrapping_sub(first) as usize;
        let (own, padding) = out.as_flattened_mut().split_at_mut(dim);
        own.copy_from_slice(&self.pairs.as_flattened()[at..at + dim]);
        padding.fill(0.0);
    }
}

/// `each` pairs for as many transitions as eight pairs are enough for.
struct Several {
    first: u32,
    each: u32,
    of: Of,
}

impl Kernel for Several {
    type Output = [[f64; 2]; 8];

    #[inline(always)]
    fn run<L: Lanes>(self) -> [[f64; 2]; 8] {
        let mut at = [[0; 2]; 8];
        for l in 0..8 {
            let k = l as u32;
            at[l] = [self.first.wrapping_add(k / self.each), k % self.each];
        }
        eight_pairs(at, self.of)
    }
}

/// Eight pairs of normal numbers, of the transition and the number among its pairs that `at` says.
#[inline(always)]
fn eight_pairs(at: [[u32; 2]; 8], of: Of) -> [[f64; 2]; 8] {
    let (mut radius, mut angle) = ([0.0; 8], [0.0; 8]);
    let words = philox_block(at, of);
    for l in 0..8 {
        radius[l] = unit(words[0][l], words[1][l]);
        angle[l] = unit(words[2][l], words[3][l]);
    }
    let log = logarithm(radius);
    let (sin, cos) = turn(angle);
    let mut pairs = [[0.0; 2]; 8];
    for l in 0..8 {
        let r = (-2.0 * log[l]).sqrt();
        pairs[l] = [r * cos[l], r * sin[l]];
    }
    pairs
}

/// Eight blocks of [`crate::rng::philox`] at once, whose counters begin with `at` and end as `of` says:
/// words by lane. Lanes are 64 bits wide, for the products.
#[inline(always)]
fn philox_block(at: [[u32; 2]; 8], of: Of) -> [[u64; 8]; 4] {
    const LOW: u64 = 0xFFFF_FFFF;
    let mut key = of.key;
    let mut c = [[0u64; 8]; 4];
    for l in 0..8 {
        c[0][l] = u64::from(at[l][0]);
        c[1][l] = u64::from(at[l][1]);
        c[2][l] = u64::from(of.counter[0]);
        c[3][l] = u64::from(of.counter[1]);
    }
    for round in 0..10 {
        if round > 0 {
            key[0] = key[0].wrapping_add(0x9E37_79B9);
            key[1] = key[1].wrapping_add(0xBB67_AE85);
        }
        let (k0, k1) = (u64::from(key[0]), u64::from(key[1]));
        let before = c;
        for l in 0..8 {
            let p0 = (before[0][l] & LOW) * 0xD251_1F53;
            let p1 = (before[2][l] & LOW) * 0xCD9E_8D57;
            c[0][l] = (p1 >> 32) ^ before[1][l] ^ k0;
            c[1][l] = p1 & LOW;
            c[2][l] = (p0 >> 32) ^ before[3][l] ^ k1;
            c[3][l] = p0 & LOW;
        }
    }
    c
}

/// 52 bits of two words as a number in the open interval (0, 1), exact in `f64` arithmetic.
#[inline(always)]
fn unit(lo: u64, hi: u64) -> f64 {
    let bits = (hi << 32 | lo) >> 12;
    // 1.m − (1 − 2⁻⁵³): the conversion of 64-bit integers has no vector form, this has.
    f64::from_bits(0x3FF0_0000_0000_0000 | bits) - (1.0 - 1.0 / (1u64 << 53) as f64)
}

/// ln x for positive normal numbers: x = 2ᵏ m with m in [√½, √2), ln m = 2 artanh((m−1)/(m+1)).
#[inline(always)]
fn logarithm(x: Block) -> Block {
    const LN_2_HI: f64 = 6.931_471_803_691_238_164_90e-01;
    const LN_2_LO: f64 = 1.908_214_929_270_587_700_02e-10;
    const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;
    let mut out = [0.0; 8];
    for l in 0..8 {
        // Shifting the exponent by that of √½ makes k the nearest power.
        let shifted = x[l]
            .to_bits()
            .wrapping_sub(SQRT_HALF_BITS)
            .wrapping_add(0x3FF0_0000_0000_0000);
        let m_bits = (shifted & 0x000F_FFFF_FFFF_FFFF).wrapping_add(SQRT_HALF_BITS);
        // k + 1023 as an f64 without an integer conversion: 2⁵² + n has n in its low bits.
        let k = f64::from_bits(0x4330_0000_0000_0000 | (shifted >> 52)) - 4_503_599_627_371_519.0;
        let m = f64::from_bits(m_bits);
        let f = m - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        // 2 artanh(s) = 2s + s z (2/3 + 2z/5 + 2z²/7 + ...), |s| ≤ 0.1716, so z ≤ 0.02944.
        let mut tail = 2.0 / 21.0;
        for n in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
            tail = tail * z + 2.0 / n;
        }
        // ln(1+f) = f − f s + s z tail/... written so that f is added last: f − s (f − z tail).
        let ln_m = f - s * (f - z * tail);
        out[l] = k * LN_2_HI + (ln_m + k * LN_2_LO);
    }
    out
}

/// Sine and cosine of an angle in (0, 2π), with the bits that a kernel gives.
pub(crate) fn sine_and_cosine(angle: f64) -> (f64, f64) {
    let (sin, cos) = turn([angle / std::f64::consts::TAU; 8]);
    (sin[0], cos[0])
}

/// Sine and cosine of 2πu for u in (0, 1).
#[inline(always)]
fn turn(u: Block) -> (Block, Block) {
    // Adding and taking away 1.5·2⁵² rounds to a whole number and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let (mut sin, mut cos) = ([0.0; 8], [0.0; 8]);
    for l in 0..8 {
        let quarters = 4.0 * u[l];
        let rounded = quarters + ROUND;
        let quadrant = rounded.to_bits();
        let x = (quarters - (rounded - ROUND)) * std::f64::consts::FRAC_PI_2;
        let z = x * x;
        let (mut s, mut c) = (0.0, 0.0);
        for k in 0..9 {
            s = s * z + SIN[k];
            c = c * z + COS[k];
        }
        let s = x + x * (z * s);
        let c = 1.0 + z * c;
        let swap = quadrant & 1 != 0;
        let (a, b) = if swap { (c, s) } else { (s, c) };
        sin[l] = f64::from_bits(a.to_bits() ^ ((quadrant & 2) << 62));
        cos[l] = f64::from_bits(b.to_bits() ^ ((quadrant.wrapping_add(1) & 2) << 62));
    }
    (sin, cos)
}

/// (−1)ᵏ/(2k+1)! for k = 9 down to 1: the sine's series after x, far below rounding at π/4.
const SIN: [f64; 9] = [
    -1.0 / 121_645_100_408_832_000.0,
    1.0 / 355_687_428_096_000.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 39_916_800.0,
    1.0 / 362_880.0,
    -1.0 / 5_040.0,
    1.0 / 120.0,
    -1.0 / 6.0,
];

/// (−1)ᵏ/(2k)! for k = 9 down to 1: the cosine's series after 1.
const COS: [f64; 9] = [
    -1.0 / 6_402_373_705_728_000.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 479_001_600.0,
    -1.0 / 3_628_800.0,
    1.0 / 40_320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
    -1.0 / 2.0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Bound: 1e-13 absolute, against the scalar generator's library functions (worst seen 4e-15).
    #[test]
    fn momenta_are_the_numbers_of_the_scalar_generator() {
        let key = Stream {
            seed: 0x1234_5678_9ABC,
            stream: 7,
            chain: 3,
        };
        for dim in [1, 2, 7, 8, 9, 16, 103, 1000] {
            for iteration in 0..100 {
                let mut out = super::super::vector::zeros(dim);
                fill(&mut out, dim, key, iteration, Purpose::Momentum);
                let mut rng = Rng::new(key.seed, 7, 3, iteration, Purpose::Momentum);
                let flat = out.as_flattened();
                for z in &flat[..dim] {
                    assert!((z - rng.normal()).abs() < 1e-13);
                }
                assert!(flat[dim..].iter().all(|&z| z == 0.0));
            }
        }
    }

    /// In whatever order transitions and purposes come.
    #[test]
    fn momenta_made_ahead_are_those_made_alone() {
        let key = |chain| Stream {
            seed: 99,
            stream: 1,
            chain,
        };
        for dim in 0..20_usize {
            let mut ahead = Momenta::new();
            let iterations = [
                0,
                1,
                2,
                3,
                4,
                9,
                10,
                5,
                5,
                6,
                u32::MAX,
                0,
                1,
                12,
                19,
                20,
                27,
            ];
            for (k, iteration) in iterations.into_iter().enumerate() {
                let purpose = match k % 6 == 4 {
                    true => Purpose::Adapt,
                    false => Purpose::Momentum,
                };
                let key = key(u32::from(k > 11));
                let [mut one, mut other] = [1.0, 2.0].map(|x| vec![[x; 8]; dim.div_ceil(8)]);
                ahead.fill(&mut one, dim, key, iteration, purpose);
                fill(&mut other, dim, key, iteration, purpose);
                assert_eq!(one, other, "{dim} numbers of transition {iteration}");
            }
        }
    }

    /// The ends of the range of the uniform numbers and the quadrant borders.
    #[test]
    fn logarithm_and_angles_hold_at_the_edges() {
        let tiny = 1.0 / (1u64 << 53) as f64;
        let x = [
            tiny,
            1.0 - tiny,
            0.5,
            0.25,
            0.125,
            0.75,
            std::f64::consts::FRAC_1_SQRT_2,
            0.1,
        ];
        let log = logarithm(x);
        let (sin, cos) = turn(x);
        for l in 0..8 {
            let exact = x[l].ln();
            assert!((log[l] - exact).abs() <= 4e-16 * exact.abs(), "ln {}", x[l]);
            let (s, c) = (std::f64::consts::TAU * x[l]).sin_cos();
            assert!(
                (sin[l] - s).abs() < 1e-15 && (cos[l] - c).abs() < 1e-15,
                "turn {}",
                x[l]
            );
        }
    }
}
