//! Data with known truth: a population, its groups, and the observations of each group.

use crate::data::Dataset;
use crate::rng::{Purpose, Rng};

/// What the data are made with.
pub struct Truth;

impl Truth {
    /// Mean of the population.
    pub const MU_POP: f64 = 50.0;
    /// Standard deviation between groups.
    pub const SIGMA_POP: f64 = 10.0;
    /// Standard deviation within a group.
    pub const SIGMA_OBS: f64 = 2.0;
}

/// `y` and `group` of `groups` × `per_group` observations, group after group: group means from
/// Normal(50, 10), observations from Normal(group mean, 2). Groups are numbered from 0.
pub fn generate(groups: usize, per_group: usize, seed: u64) -> Dataset {
    let (mut y, mut group) = (Vec::new(), Vec::new());
    for j in 0..groups {
        let mut rng = Rng::new(seed, 0, 0, j as u32, Purpose::Data);
        let mean = Truth::MU_POP + Truth::SIGMA_POP * rng.normal();
        for _ in 0..per_group {
            y.push(mean + Truth::SIGMA_OBS * rng.normal());
            group.push(j as f64);
        }
    }
    let mut data = Dataset::new();
    let n = y.len();
    data.insert_real("y", &[n], y);
    data.insert_real("group", &[n], group);
    data
}
