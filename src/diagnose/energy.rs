//! Whether momenta let the sampler reach all energies.

use super::chains::{Chains, sum, variance};

/// Energy Bayesian fraction of missing information of every chain:
/// mean((E_i − E_{i−1})²) / variance(E).
///
/// Dimensionless; below [`BFMI_LIMIT`](super::BFMI_LIMIT) the tails are explored slowly. NaN for
/// constant energies and for fewer than two draws.
/// Reference: Betancourt, "Diagnosing suboptimal cotangent disintegrations", arXiv:1604.00695.
pub fn bfmi(energy: Chains) -> Vec<f64> {
    let of_chain = |e: &[f64]| {
        let steps: Vec<f64> = e.windows(2).map(|pair| pair[1] - pair[0]).collect();
        sum(&steps, |d| d * d) / steps.len() as f64 / variance(e, 1)
    };
    energy.rows().into_iter().map(of_chain).collect()
}
