//! Blocks of subjects that were fitted apart, combined into one population.
//!
//! Given the population φ, subjects know nothing of each other. In the fit of a block draws (φˢ, θᵢˢ)
//! come from p(φ, θ | block), under which the mean of p(θᵢ | φ') / p(θᵢ | φ) over both is, up to a
//! constant, the marginal likelihood Lᵢ(φ') of subject i, whatever the other subjects of the block
//! are: the density of the subject's trials cancels, and so does the prior of the population. The
//! population of all blocks is then sampled under its prior, once, times the product of all Lᵢ
//! (Lunn, Barrett, Sweeting, Thompson, Applied Statistics 62, 2013, whose second stage draws θᵢ as
//! well; here they are summed out, so that there are as many parameters as one population has).
//!
//! Subjects may as well have been fitted apart, under an interim population that is the same for all: then
//! Lᵢ(φ') is the mean of p(θᵢ | φ') over the interim density. That one is near the population of all if it
//! comes from a fit of some subjects, or from an earlier combination, and never has spreads near 0, as
//! populations of small blocks have; so a draw has a weight that depends little on φ'.
//!
//! Lᵢ is a mean of S draws, and the logarithm of a mean is too low by half of its squared relative
//! error: populations that few draws know are less likely than they should be, and none is more. (To add
//! what the draws say of that error makes them attractive, as it saturates at ½ a subject.) The error
//! of the sum grows with √N and not with the N of subjects, as the curvature of the log density grows
//! with N: relative to the posterior it does not depend on the number of subjects.

mod block;
mod checks;
mod interim;
mod weights;

pub use block::{Block, Level, Proposal, join, levels};
pub use checks::{checks, populations};
pub use interim::apart;
pub use weights::{Children, Population, children_csv};

use fitzroy::data::Dataset;
use std::fmt::Write;

/// Blocks that are parts of one study.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Each, with as many draws of every subject.
    pub blocks: Vec<Block>,
    /// How subjects hang on the population.
    pub levels: Vec<Level>,
    /// The population's statements of the model, and what each subject expects of them.
    pub population: String,
    /// Draws of every subject.
    pub n_points: usize,
}

impl Blocks {
    /// Subjects of all blocks.
    pub fn n_subjects(&self) -> usize {
        self.blocks.iter().map(|b| b.subjects.len()).sum()
    }

    /// Keeps at most `n` draws of every subject.
    pub fn thin(&mut self, n: usize) {
        let n = n.min(self.n_points);
        self.blocks.iter_mut().for_each(|b| b.thin(n));
        self.n_points = n;
    }

    /// Where every coordinate of the population is expected: means of the blocks, weighted by their
    /// precision.
    pub fn centre(&self, name: &str) -> Option<f64> {
        let (mut sum, mut total) = (0.0, 0.0);
        for block in &self.blocks {
            let (mean, sd) = block.moments(name)?;
            let precision = 1.0 / (sd * sd);
            sum += mean * precision;
            total += precision;
        }
        Some(sum / total)
    }

    /// The model of the population alone.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "# The population of blocks of subjects: draws of every subject, weighed\ndata ",
        );
        for level in &self.levels {
            let _ = write!(out, "_{}[subject, point], ", level.subject);
        }
        out += "_weight[subject, point]\n\n";
        out += &self.population;
        out += "\nlet w = exp(_weight";
        for Level {
            subject,
            expected,
            spread,
            ..
        } in &self.levels
        {
            let _ = write!(
                out,
                "\n    - log({spread}) - 0.5 * ((_{subject} - {expected}) / {spread})^2"
            );
        }
        out += ")\ntarget += log(sum(w, axis=point))\n";
        out
    }

    /// The data of [`Blocks::text`]. Weights are such that they sum to 1 for every subject at
    /// [`Blocks::centre`].
    pub fn data(&self, children: &Children) -> Dataset {
        let shape = [self.n_subjects(), self.n_points];
        let mut data = Dataset::new();
        for (k, level) in self.levels.iter().enumerate() {
            let all = self.blocks.iter().flat_map(|b| b.values[k].iter().copied());
            data.insert_real(&format!("_{}", level.subject), &shape, all.collect());
        }
        data.insert_real("_weight", &shape, children.offsets());
        for name in &self.blocks[0].covariates {
            let all = self
                .blocks
                .iter()
                .flat_map(|b| b.covariate(name).iter().copied());
            data.insert_real(name, &[shape[0]], all.collect());
        }
        data
    }
}
