//! What is recorded of every draw.

use super::checkpoint::{Reader, Writer};
use crate::Result;

/// The draws of one chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// Unconstrained positions, row-major `[draw][dim]`, in the final coordinates.
    pub positions: Vec<f64>,
    /// One row per draw.
    pub statistics: Statistics,
}

impl Draws {
    /// Room for `n` draws of `dim` numbers.
    pub(crate) fn with_capacity(n: usize, dim: usize) -> Self {
        Draws {
            positions: Vec::with_capacity(n.saturating_mul(dim)),
            statistics: Statistics::with_capacity(n),
        }
    }

    /// Makes room for `n` more draws of `dim` numbers.
    pub(crate) fn reserve(&mut self, n: usize, dim: usize) {
        self.positions.reserve(n.saturating_mul(dim));
        self.statistics.reserve(n);
    }

    /// Number of draws.
    pub fn len(&self) -> usize {
        self.statistics.lp.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the draws that another run made after these.
    pub fn extend(&mut self, later: &Draws) {
        self.positions.extend_from_slice(&later.positions);
        self.statistics.extend(&later.statistics);
    }

    /// Some of the draws, copied.
    pub(crate) fn range(&self, range: std::ops::Range<usize>) -> Draws {
        let dim = self.positions.len() / self.len().max(1);
        Draws {
            positions: self.positions[range.start * dim..range.end * dim].to_vec(),
            statistics: self.statistics.range(range),
        }
    }

    /// Keeps the first `n` draws.
    pub(crate) fn truncate(&mut self, n: usize, dim: usize) {
        self.positions.truncate(n * dim);
        self.statistics.truncate(n);
    }
}

/// A number as 64 bits.
trait Bits {
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
    fn of_bits(bits: u64) -> Self {
        bits as i64
    }
}

impl Bits for bool {
    fn bits(self) -> u64 {
        u64::from(self)
    }
    fn of_bits(bits: u64) -> Self {
        bits != 0
    }
}

/// Declares the columns once: the struct, its row, and what is done to all columns.
macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Statistics of draws, one element per draw, under the names ArviZ uses.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Statistics {
            $($(#[$doc])* pub $name: Vec<$type>,)*
        }

        /// The statistics of one transition.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Row {
            $(pub(crate) $name: $type,)*
        }

        impl Statistics {
            fn with_capacity(n: usize) -> Self {
                Statistics { $($name: Vec::with_capacity(n),)* }
            }
            fn reserve(&mut self, n: usize) {
                $(self.$name.reserve(n);)*
            }
            /// Writes all columns.
            pub(crate) fn write(&self, to: &mut Writer) {
                to.word(self.lp.len() as u64);
                $(self.$name.iter().for_each(|x| to.word(x.bits()));)*
            }
            /// Reads what was written.
            pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
                let n = from.length(8)?;
                let mut all = Statistics::with_capacity(n);
                $(for _ in 0..n {
                    all.$name.push(<$type>::of_bits(from.word()?));
                })*
                Ok(all)
            }
            /// Adds the rows of another.
            pub(crate) fn extend(&mut self, rows: &Statistics) {
                $(self.$name.extend_from_slice(&rows.$name);)*
            }
            fn range(&self, range: std::ops::Range<usize>) -> Self {
                Statistics { $($name: self.$name[range.clone()].to_vec(),)* }
            }
            fn truncate(&mut self, n: usize) {
                $(self.$name.truncate(n);)*
            }
            pub(crate) fn push(&mut self, row: Row) {
                $(self.$name.push(row.$name);)*
            }
        }
    };
}

statistics! {
    /// The trajectory met an energy error above 1000 or not finite.
    diverging: bool,
    /// The trajectory was cut at the largest depth.
    reached_max_treedepth: bool,
    /// Doublings of the trajectory.
    tree_depth: i64,
    /// Leapfrog steps, one gradient each.
    n_steps: i64,
    /// Energy H = −lp + kinetic energy of the draw, with its momentum.
    energy: f64,
    /// H of the draw minus H at the start of the trajectory.
    energy_error: f64,
    /// The energy error of largest size in the trajectory, sign kept.
    max_energy_error: f64,
    /// Mean of min(1, exp(H₀ − H)) over the trajectory.
    acceptance_rate: f64,
    /// Step size used.
    step_size: f64,
    /// The averaged step size, which is used after warm-up.
    step_size_bar: f64,
    /// Log density of the draw, in the coordinates sampled in at the time.
    lp: f64,
    /// Steps from the start of the trajectory to the draw, negative when back in time.
    index_in_trajectory: i64,
    /// The trajectory ended where the energy was not finite.
    nonfinite: bool,
}
