//! Counter-based random numbers: Philox4x32-10. The same key and counter give the same bits on
//! every machine, whatever ran before.
//!
//! Reference: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011.

/// What a stream of random numbers is used for; part of the counter, so no two uses overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Starting points.
    Init = 0,
    /// Momenta.
    Momentum = 1,
    /// Directions and acceptance in the tree.
    Tree = 2,
    /// Draws from the prior or the predictive distribution.
    Predictive = 3,
    /// Simulated data.
    Data = 4,
    /// Anything a test needs.
    Test = 5,
    /// Work of the warm-up.
    Adapt = 6,
    /// Exact draws of parameters that were integrated out.
    Integrated = 7,
    /// Independence proposals and their acceptance.
    Propose = 8,
    /// Exact draws from conjugate posteriors.
    Conjugate = 9,
}

/// One block of Philox4x32-10: four words from a counter and a key.
#[inline]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key[0] = key[0].wrapping_add(0x9E37_79B9);
            key[1] = key[1].wrapping_add(0xBB67_AE85);
        }
        let p0 = u64::from(counter[0]) * 0xD251_1F53;
        let p1 = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (p1 >> 32) as u32 ^ counter[1] ^ key[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ counter[3] ^ key[1],
            p0 as u32,
        ];
    }
    counter
}

/// A stream of numbers: key (seed, stream), counter (iteration, element, chain, purpose).
///
/// Making one is free, so a fresh one is made for every iteration and purpose; nothing has to be
/// saved to resume a run.
///
/// ```
/// use fitzroy::rng::{Purpose, Rng};
/// let mut a = Rng::new(42, 0, 3, 17, Purpose::Test);
/// let mut b = Rng::new(42, 0, 3, 17, Purpose::Test);
/// assert_eq!(a.normal(), b.normal());
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    key: [u32; 2],
    counter: [u32; 4],
    spare: Option<f64>,
}

impl Rng {
    /// The stream of `(seed, stream)` for one chain, iteration and purpose.
    pub fn new(seed: u64, stream: u32, chain: u32, iteration: u32, purpose: Purpose) -> Self {
        // The high half of the seed is folded into the stream word.
        let key = [seed as u32, stream ^ (seed >> 32) as u32];
        Rng {
            key,
            counter: [iteration, 0, chain, purpose as u32],
            spare: None,
        }
    }

    /// The next block of four words.
    #[inline]
    pub fn words(&mut self) -> [u32; 4] {
        let words = philox(self.counter, self.key);
        self.counter[1] = self.counter[1].wrapping_add(1);
        words
    }

    /// A number in the open interval (0, 1), with 52 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        let w = self.words();
        open_unit(w[0], w[1])
    }

    /// A standard normal number (Box and Muller; two to a block).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        let (a, b) = normal_pair(self.words());
        self.spare = Some(b);
        a
    }

    /// A fair coin.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.words()[0] & 1 == 1
    }

    /// A standard exponential number.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}

/// 52 bits of two words as a number in (0, 1), never 0 or 1.
#[inline]
fn open_unit(lo: u32, hi: u32) -> f64 {
    let bits = (u64::from(hi) << 32 | u64::from(lo)) >> 12;
    (bits as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// Two standard normal numbers from one block.
#[inline]
fn normal_pair(w: [u32; 4]) -> (f64, f64) {
    let radius = (-2.0 * libm::log(open_unit(w[0], w[1]))).sqrt();
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * open_unit(w[2], w[3]));
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 distribution.
    #[test]
    fn philox_gives_the_published_words() {
        let zero = philox([0; 4], [0; 2]);
        assert_eq!(zero, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn uniform_stays_inside_the_open_interval() {
        assert!(open_unit(0, 0) > 0.0);
        assert!(open_unit(u32::MAX, u32::MAX) < 1.0);
    }

    /// Bounds are five standard errors of 100,000 independent draws.
    #[test]
    fn normals_have_the_first_four_moments() {
        let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
        let n = 100_000;
        let mut sums = [0.0; 4];
        for _ in 0..n {
            let z = rng.normal();
            for (k, s) in sums.iter_mut().enumerate() {
                *s += z.powi(k as i32 + 1) / f64::from(n);
            }
        }
        let se = 5.0 / f64::from(n).sqrt();
        assert!(sums[0].abs() < se);
        assert!((sums[1] - 1.0).abs() < se * 2f64.sqrt());
        assert!(sums[2].abs() < se * 15f64.sqrt());
        assert!((sums[3] - 3.0).abs() < se * 96f64.sqrt());
    }
}
