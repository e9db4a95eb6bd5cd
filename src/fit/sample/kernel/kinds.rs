//! Which metrics and steps the chains of a run may come to: a kernel has code for these alone, since what
//! is never run takes its time to compile.

use super::super::chain::Chain;
use super::super::estimate::AUTO_SMALL_DIM;
use super::super::metric::Metric;
use super::super::{Integrator, MetricKind, Settings};

/// Kinds of metrics, steps and launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    /// A bit for each kind of S, in the order of `transition.c`.
    pub(super) metrics: u32,
    /// Whether steps may be rotations.
    pub(super) rotates: bool,
    /// Whether launches have a deadline.
    pub(super) has_deadline: bool,
}

/// The bit of a kind.
const fn bit(kind: MetricKind) -> u32 {
    match kind {
        MetricKind::Diagonal => 1,
        MetricKind::Dense => 2,
        MetricKind::LowRank => 4,
        MetricKind::Blocks => 8,
        MetricKind::Auto => 1 | 2 | 4,
    }
}

impl Kinds {
    /// What a run of `settings` in `dim` coordinates comes to by itself. Every run begins with scales, and
    /// stays with them as long as there are too few draws for more.
    pub(super) fn of(settings: &Settings, dim: usize) -> Kinds {
        let wanted = match settings.metric {
            // Few coordinates ask for all directions or none.
            MetricKind::Auto if dim <= AUTO_SMALL_DIM => bit(MetricKind::Dense),
            kind => bit(kind),
        };
        let in_blocks = settings.metric == MetricKind::Blocks;
        Kinds {
            metrics: bit(MetricKind::Diagonal) | wanted,
            rotates: settings.integrator != Integrator::Leapfrog && !in_blocks,
            has_deadline: false,
        }
    }

    /// That, and what the chains have now: they may go on with a metric from elsewhere.
    pub(super) fn of_chains<T>(settings: &Settings, dim: usize, chains: &[Chain<T>]) -> Kinds {
        let expected = Kinds::of(settings, dim);
        let each = chains.iter().map(|c| Kinds::of_metric(&c.metric));
        each.fold(expected, |all, one| Kinds {
            metrics: all.metrics | one.metrics,
            rotates: all.rotates | one.rotates,
            ..all
        })
    }

    fn of_metric(metric: &Metric) -> Kinds {
        Kinds {
            metrics: bit(metric.kind()),
            rotates: metric.parts() > 0,
            has_deadline: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: MetricKind, integrator: Integrator, dim: usize) -> (u32, bool) {
        let settings = Settings {
            metric,
            integrator,
            ..Settings::default()
        };
        let Kinds {
            metrics, rotates, ..
        } = Kinds::of(&settings, dim);
        (metrics, rotates)
    }

    /// Catches: a kernel without the code for what its run asks for, or with all code there is.
    #[test]
    fn a_kernel_has_the_metrics_and_steps_that_its_run_may_come_to() {
        use MetricKind::{Auto, Blocks, Dense, Diagonal, LowRank};
        let auto = |metric, dim| of(metric, Integrator::Auto, dim);
        assert_eq!(auto(Auto, AUTO_SMALL_DIM), (0b0011, true));
        assert_eq!(auto(Auto, AUTO_SMALL_DIM + 1), (0b0111, true));
        assert_eq!(auto(Diagonal, 100), (0b0001, true));
        assert_eq!(auto(Dense, 100), (0b0011, true));
        assert_eq!(auto(LowRank, 100), (0b0101, true));
        assert_eq!(auto(Blocks, 100), (0b1001, false));
        let rotation = of(Diagonal, Integrator::Rotation, 100);
        assert_eq!(rotation, (0b0001, true));
        let leapfrog = of(Dense, Integrator::Leapfrog, 100);
        assert_eq!(leapfrog, (0b0011, false));
    }
}
