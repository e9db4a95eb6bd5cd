//! Mirrors: coordinates that can change sign together without changing the density.
//!
//! Where a scale times its standardised effects is s z, (s, z) and (−s, −z) are the same. Chains
//! that lie on either side of s = 0 see opposite correlations of z with everything else, so that a
//! metric from all of them sees none. At the ends of the warm-up's windows all chains are therefore
//! brought to the same side. No transition is touched: after the warm-up a chain goes where it
//! likes, and what it draws is exact.

use super::chain::{Chain, Window};
use super::{Adapt, Posterior};

/// Sets of coordinates that can change sign together; the first of each says on which side a point
/// is.
pub type Mirrors = Vec<Vec<usize>>;

/// A mirror is used where fewer than one in this many moves of the window crossed it. Where chains
/// cross all the time, both sides are one place, and a metric of one side suits the other badly.
const CROSSES_SELDOM: usize = 20;

/// Brings the chains and what they remember to one side of the posterior's mirrors: all of them, or
/// each by its own moves. Whether any was brought anywhere.
pub(crate) fn bring_together<P: Posterior>(
    posterior: &mut P,
    chains: &mut [Chain<P::Target>],
    adapt: Adapt,
) -> bool {
    let dim = posterior.dim();
    let at = chains[0].space.candidate.position.as_flattened();
    let mirrors = posterior.mirrors(&at[..dim]);
    let together = match adapt {
        Adapt::Pooled => chains.len(),
        Adapt::PerChain => 1,
    };
    let mut folded = false;
    for chains in chains.chunks_mut(together) {
        folded |= fold_all(chains, dim, &mirrors);
    }
    folded
}

/// Brings the chains to the side above 0 of every mirror that they seldom cross. Whether there is one.
fn fold_all<T>(chains: &mut [Chain<T>], dim: usize, mirrors: &Mirrors) -> bool {
    let mut folded = false;
    for mirror in mirrors {
        let (mut moves, mut crossings) = (0, 0);
        for chain in chains.iter().filter(|chain| chain.stuck == 0) {
            let rows = chain.windows[0].positions.chunks_exact(dim);
            let mut sides = rows.map(|row| row[mirror[0]] < 0.0);
            let mut last = sides.next();
            for side in sides {
                moves += 1;
                crossings += usize::from(last.replace(side) != Some(side));
            }
        }
        if crossings * CROSSES_SELDOM < moves {
            chains.iter_mut().for_each(|chain| fold(chain, dim, mirror));
            folded = true;
        }
    }
    folded
}

/// Brings a chain and what it remembers to the side above 0.
fn fold<T>(chain: &mut Chain<T>, dim: usize, mirror: &[usize]) {
    let fold = |position: &mut [f64], gradient: &mut [f64]| {
        if position[mirror[0]] < 0.0 {
            for &i in mirror {
                position[i] = -position[i];
                gradient[i] = -gradient[i];
            }
        }
    };
    let point = &mut chain.space.candidate;
    fold(
        point.position.as_flattened_mut(),
        point.gradient.as_flattened_mut(),
    );
    for window in &mut chain.windows {
        let Window {
            positions,
            gradients,
            ..
        } = window;
        let rows = positions
            .chunks_exact_mut(dim)
            .zip(gradients.chunks_exact_mut(dim));
        rows.for_each(|(position, gradient)| fold(position, gradient));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::sample::targets::Known;
    use crate::fit::sample::{Settings, Stream};

    /// A chain at the last of some points; slopes are ten times the points.
    fn chain(rows: &[[f64; 3]]) -> Chain<Known> {
        let target = Known::Waves {
            dim: 3,
            count: 1,
            sd: 1.0,
        };
        let stream = Stream {
            seed: 0,
            stream: 0,
            chain: 0,
        };
        let mut chain = Chain::new(0, stream, target, &Settings::default());
        chain.windows[0].positions = rows.concat();
        chain.windows[0].gradients = rows.concat().iter().map(|x| 10.0 * x).collect();
        chain.windows[1] = chain.windows[0].clone();
        let last = rows[rows.len() - 1];
        let point = &mut chain.space.candidate;
        point.position.as_flattened_mut()[..3].copy_from_slice(&last);
        point.gradient.as_flattened_mut()[..3].copy_from_slice(&last.map(|x| 10.0 * x));
        chain
    }

    #[test]
    fn chains_on_either_side_are_brought_together_with_all_they_remember() {
        let below: Vec<[f64; 3]> = (1..30).map(|i| [-f64::from(i), 1.0, 2.0]).collect();
        let above: Vec<[f64; 3]> = (1..30).map(|i| [f64::from(i), -1.0, 2.0]).collect();
        let mut chains = [chain(&below), chain(&above)];
        assert!(fold_all(&mut chains, 3, &vec![vec![0, 1]]));
        let slopes: Vec<f64> = above.concat().iter().map(|x| 10.0 * x).collect();
        for chain in &chains {
            for window in &chain.windows {
                assert_eq!(window.positions, above.concat());
                assert_eq!(window.gradients, slopes);
            }
            let point = &chain.space.candidate;
            assert_eq!(point.position.as_flattened()[..3], [29.0, -1.0, 2.0]);
            assert_eq!(point.gradient.as_flattened()[..3], [290.0, -10.0, 20.0]);
        }
    }

    #[test]
    fn chains_that_cross_all_the_time_are_left_where_they_are() {
        let side = |i: i32| if i % 3 == 0 { -1.0 } else { 1.0 };
        let rows: Vec<[f64; 3]> = (0..60).map(|i| [side(i), 1.0, 2.0]).collect();
        let mut chains = [chain(&rows)];
        assert!(!fold_all(&mut chains, 3, &vec![vec![0, 1]]));
        assert_eq!(chains[0].windows[0].positions, rows.concat());
    }
}
