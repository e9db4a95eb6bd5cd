//! What is recorded of every draw.

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

    /// Number of draws.
    pub fn len(&self) -> usize {
        self.statistics.lp.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the first `n` draws.
    pub(crate) fn truncate(&mut self, n: usize, dim: usize) {
        self.positions.truncate(n * dim);
        self.statistics.truncate(n);
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
