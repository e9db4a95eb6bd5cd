//! Two loops whose speed says what the processor can do: memory traffic and arithmetic.
//! They only work; who calls them holds the clock.

use crate::lanes::{Kernel, Lanes, Level};

/// Three long arrays for a triad, a_i = b_i + s c_i: three numbers move per element (McCalpin,
/// STREAM). Larger than any cache when made with some 4 million elements.
pub struct Streams {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Streams {
    /// Arrays of `n` elements.
    pub fn new(n: usize) -> Self {
        Streams {
            a: vec![0.0; n],
            b: vec![1.0; n],
            c: vec![2.0; n],
        }
    }

    /// Bytes that one pass reads and writes.
    pub fn bytes_per_pass(&self) -> usize {
        3 * size_of::<f64>() * self.a.len()
    }

    /// One pass with `s = 3`. Returns the last element, which is 7 (0 without elements).
    pub fn pass(&mut self) -> f64 {
        for ((a, b), c) in self.a.iter_mut().zip(&self.b).zip(&self.c) {
            *a = b + 3.0 * c;
        }
        self.a.last().copied().unwrap_or(0.0)
    }
}

/// Multiply-adds in one round of [`multiply_adds`].
pub const MULTIPLY_ADDS_PER_ROUND: usize = 64;

/// Runs `n` rounds of 64 independent multiply-adds (128 `n` operations) on one thread, in the
/// widest registers there are, and returns their sum, so that none can be left out.
///
/// Every lane tends to 2 as `n` grows: x <- x/2 + 1.
pub fn multiply_adds(n: usize) -> f64 {
    Level::detect().run(MultiplyAdds(n))
}

struct MultiplyAdds(usize);

impl Kernel for MultiplyAdds {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self) -> f64 {
        // Eight registers at a time hide the latency of a multiply-add.
        let mut sum = 0.0;
        let (half, one) = (L::splat(0.5), L::splat(1.0));
        for _ in 0..MULTIPLY_ADDS_PER_ROUND / (8 * L::N) {
            let mut x = [one; 8];
            for _ in 0..self.0 {
                for register in &mut x {
                    *register = register.fma(half, one);
                }
            }
            for register in x {
                let mut lanes = [0.0; 8];
                assert!(L::N <= lanes.len());
                // SAFETY: there is room for N numbers, as was just seen.
                unsafe { register.store(lanes.as_mut_ptr()) };
                sum += lanes[..L::N].iter().sum::<f64>();
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triad_moves_three_numbers_per_element() {
        let mut streams = Streams::new(10);
        assert_eq!(streams.pass(), 7.0);
        assert_eq!(streams.bytes_per_pass(), 240);
        assert_eq!(Streams::new(0).pass(), 0.0);
    }

    #[test]
    fn the_multiply_adds_tend_to_two() {
        assert_eq!(multiply_adds(0), 64.0);
        assert_eq!(multiply_adds(1), 96.0);
        assert_eq!(multiply_adds(100), 128.0);
    }
}
