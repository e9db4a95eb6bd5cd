//! Chance in the tree, and in what is accepted.

use super::normals::Stream;
use super::tree::{Direction, Oracle};
use crate::rng::{Purpose, Rng};

/// Chance from the counter-based generator.
pub(crate) struct Dice {
    rng: Rng,
    directions: u32,
    spare: Option<f64>,
}

impl Dice {
    /// That of one transition.
    pub(crate) fn new(stream: Stream, iteration: u32) -> Self {
        let mut rng = Rng::new(
            stream.seed,
            stream.stream,
            stream.chain,
            iteration,
            Purpose::Tree,
        );
        let directions = rng.words()[0];
        Dice {
            rng,
            directions,
            spare: None,
        }
    }

    /// A number in [0, 1), two to a block.
    #[inline]
    fn uniform(&mut self) -> f64 {
        if let Some(u) = self.spare.take() {
            return u;
        }
        let w = self.rng.words();
        let unit = |a: u32, b: u32| {
            ((u64::from(a) << 32 | u64::from(b)) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
        };
        self.spare = Some(unit(w[2], w[3]));
        unit(w[0], w[1])
    }
}

impl Oracle for Dice {
    #[inline]
    fn accept(&mut self, probability: f64) -> bool {
        probability >= 1.0 || self.uniform() < probability
    }
    #[inline]
    fn direction(&mut self) -> Direction {
        let bit = self.directions & 1;
        self.directions >>= 1;
        if bit == 1 {
            Direction::Forward
        } else {
            Direction::Backward
        }
    }
}
