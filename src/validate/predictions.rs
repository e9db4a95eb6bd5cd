//! Posterior predictive checks: could the model have made data like these?

use super::{Settings, verdict};
use crate::Result;
use crate::data::{Array, Values};
use crate::run::{Key, Outcome};
use crate::verify::Check;

/// Replicated data sets, at most.
const REPLICATES: usize = 1000;
/// The smallest and largest p-value that pass.
const P_VALUES: [f64; 2] = [0.01, 0.99];

/// What is compared: mean, standard deviation, and standard deviation of the group means.
type Statistics = [f64; 3];

/// One check per statistic T, with the Bayesian p-value P(T(replicate) ≥ T(observed) | data).
///
/// Reference: Gelman, Meng, Stern, "Posterior predictive assessment of model fitness", Statistica
/// Sinica 6 (1996).
pub(super) fn checks(
    outcome: &Outcome,
    observed: &Array,
    settings: &Settings,
) -> Result<Vec<Check>> {
    let Values::Real(observed) = &observed.values else {
        unreachable!("validation makes numbers");
    };
    let replicator = outcome.replicator()?;
    let mut workspace = replicator.workspace();
    let seen = statistics(observed, settings.per_group);
    let (n_chains, n_draws) = (outcome.run.chains.len(), outcome.run.n_draws());
    let step = (n_chains * n_draws).div_ceil(REPLICATES).max(1);
    let mut replicate = vec![0.0; observed.len()];
    let (mut n, mut sums, mut above) = (0.0, [0.0; 3], [0.0; 3]);
    for k in (0..n_chains * n_draws).step_by(step) {
        let (chain, draw) = (k / n_draws, k % n_draws);
        let key = Key {
            seed: settings.run.sampler.seed,
            stream: settings.run.sampler.stream,
            chain: chain as u32,
            draw: draw as u32,
        };
        let position = outcome.position(chain, draw);
        replicator.draw(&mut workspace, &position, key, &mut [&mut replicate]);
        n += 1.0;
        let made = statistics(&replicate, settings.per_group);
        for i in 0..3 {
            sums[i] += made[i];
            above[i] += f64::from(u8::from(made[i] >= seen[i]));
        }
    }
    let names = [
        ("predicted mean", "mean"),
        ("predicted sd", "sd"),
        ("predicted groups", "sd of the group means"),
    ];
    let check = |i: usize| {
        let p = above[i] / n;
        let (name, what) = names[i];
        Check {
            name,
            verdict: verdict((P_VALUES[0]..=P_VALUES[1]).contains(&p)),
            detail: format!(
                "{what} {:.3}, in {n} replicates {:.3} on average, p = {p:.3}; {} to {} is needed",
                seen[i],
                sums[i] / n,
                P_VALUES[0],
                P_VALUES[1]
            ),
        }
    };
    Ok((0..3).map(check).collect())
}

fn statistics(y: &[f64], per_group: usize) -> Statistics {
    let means: Vec<f64> = y
        .chunks_exact(per_group)
        .map(crate::diagnose::mean)
        .collect();
    [
        crate::diagnose::mean(y),
        crate::diagnose::sd(y),
        crate::diagnose::sd(&means),
    ]
}
