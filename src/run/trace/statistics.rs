//! The statistics of the sampler as variables of a trace.

use crate::draws::{Column, Variable};
use crate::fit::sample::Statistics;

/// One variable per statistic, `lp` replaced by the given.
pub(in crate::run) fn statistics_columns(
    chains: &[Statistics],
    n_draws: usize,
    lp: Vec<f64>,
) -> Vec<Variable> {
    fn all<T: Copy>(chains: &[Statistics], pick: impl Fn(&Statistics) -> &[T]) -> Vec<T> {
        chains.iter().map(pick).collect::<Vec<_>>().concat()
    }
    let real = |pick: fn(&Statistics) -> &[f64]| Column::Real(all(chains, pick));
    let whole = |pick: fn(&Statistics) -> &[i64]| Column::Integer(all(chains, pick));
    let flag = |pick: fn(&Statistics) -> &[bool]| Column::Flag(all(chains, pick));
    let columns = [
        ("lp", Column::Real(lp)),
        ("acceptance_rate", real(|s| &s.acceptance_rate)),
        ("diverging", flag(|s| &s.diverging)),
        ("energy", real(|s| &s.energy)),
        ("energy_error", real(|s| &s.energy_error)),
        ("max_energy_error", real(|s| &s.max_energy_error)),
        ("index_in_trajectory", whole(|s| &s.index_in_trajectory)),
        ("n_steps", whole(|s| &s.n_steps)),
        ("nonfinite", flag(|s| &s.nonfinite)),
        ("reached_max_treedepth", flag(|s| &s.reached_max_treedepth)),
        ("step_size", real(|s| &s.step_size)),
        ("step_size_bar", real(|s| &s.step_size_bar)),
        ("tree_depth", whole(|s| &s.tree_depth)),
    ];
    let variable = |(name, values): (&str, Column)| Variable {
        name: name.into(),
        dims: vec!["chain".into(), "draw".into()],
        shape: vec![chains.len(), n_draws],
        values,
    };
    columns.into_iter().map(variable).collect()
}
