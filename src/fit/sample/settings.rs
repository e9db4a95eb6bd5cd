//! Settings of a run.

use super::{Integrator, MetricKind, PastTurn, Until};
use crate::{Error, ErrorKind, Named, Result};

/// Which transitions a chain makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// The No-U-Turn sampler.
    Nuts,
    /// NUTS whose steps are cut into halves where a whole one misses the energy; for posteriors
    /// with necks that no single step size follows (Bou-Rabee, Carpenter, Kleppe, Liu 2025).
    Walnuts,
    /// Microcanonical trajectories of a learned length, whose end is accepted or not (Robnik,
    /// Cohn-Gordon, Seljak 2025). The first third of the warm-up is that of NUTS.
    Mams,
    /// Hamiltonian trajectories of a learned length (Hoffman, Radul, Sountsov 2021). The first
    /// third of the warm-up is that of NUTS.
    Chees,
    /// After a warm-up of NUTS, proposals from a normal distribution with a heavy-tailed part,
    /// fitted to the warm-up, and every sixteenth transition one of NUTS; NUTS alone where the
    /// proposals do not cover the posterior, see [`super::Independence`].
    Independence,
}

impl Named for Sampler {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("nuts", Sampler::Nuts),
        ("walnuts", Sampler::Walnuts),
        ("mams", Sampler::Mams),
        ("chees", Sampler::Chees),
        ("independence", Sampler::Independence),
    ];

    fn meaning(self) -> &'static str {
        match self {
            Sampler::Nuts => "The No-U-Turn sampler",
            Sampler::Walnuts => {
                "NUTS whose steps shrink where one size is too long: for divergences that stay"
            }
            Sampler::Mams => "Microcanonical trajectories of a learned length",
            Sampler::Chees => "Hamiltonian trajectories of a learned length",
            Sampler::Independence => {
                "Independent proposals where they cover the posterior, NUTS elsewhere"
            }
        }
    }
}

impl Sampler {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        self.setting()
    }
}

/// Whose draws a chain adapts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapt {
    /// Metric and step size come from all chains together. Better, and the default.
    Pooled,
    /// Every chain adapts alone, and so draws the same whatever other chains there are.
    PerChain,
}

impl Named for Adapt {
    const NAMES: &'static [(&'static str, Self)] =
        &[("pooled", Adapt::Pooled), ("per-chain", Adapt::PerChain)];
}

impl Adapt {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        self.setting()
    }
}

/// Where chains start.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// The first of up to 100 points within ±1 of the posterior's centre in each coordinate whose log
    /// density and slope are finite.
    Jitter,
    /// From there along a path to the mode, and by draws from the best normal approximation on the
    /// way: the paths of all chains are pooled and resampled by importance (Zhang et al. 2022).
    /// Under [`Adapt::PerChain`] every chain has its own path.
    Pathfinder,
    /// One point per chain, unconstrained, in the coordinates in force at the start.
    Points(Vec<Vec<f64>>),
}

impl Init {
    /// Its name in settings and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Init::Jitter => "jitter",
            Init::Pathfinder => "pathfinder",
            Init::Points(_) => "points",
        }
    }
}

/// Settings of [`super::sample`].
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of chains. Default 4.
    pub chains: usize,
    /// Warm-up transitions per chain. Default 1000. With 0 only the step size is searched.
    pub tune: usize,
    /// Draws per chain; with [`Settings::until`] at most so many. Default 1000.
    pub draws: usize,
    /// Which transitions are made. Default [`Sampler::Nuts`].
    pub sampler: Sampler,
    /// Mean acceptance the step size is tuned to, in (0, 1). Default 0.8.
    pub target_accept: f64,
    /// Largest number of doublings, 1 to 20; a trajectory has at most 2^this − 1 steps.
    /// Default 10.
    pub max_treedepth: u32,
    /// The same in the first windows of the warm-up, up to 8 % of it, if that is smaller: there
    /// metric and coordinates are guesses, and long trajectories teach little. Default 10.
    pub early_treedepth: u32,
    /// Whether a trajectory of the draws is doubled once more after it has turned. It costs twice
    /// the gradients; where a few directions are so slow that they hardly move before all others
    /// have turned, they gain more than that. Default [`PastTurn::Auto`].
    pub past_turn: PastTurn,
    /// What a step is. Default [`Integrator::Auto`].
    pub integrator: Integrator,
    /// Family of metrics. Default [`MetricKind::Auto`].
    pub metric: MetricKind,
    /// Threads to use, at least 1; more than `chains` are not used. Never changes a draw.
    /// Default 1.
    pub threads: usize,
    /// Seed of all random numbers. Default 0.
    pub seed: u64,
    /// Replicate: another value gives independent numbers for the same seed. Default 0.
    pub stream: u32,
    /// Number of the first chain among all machines that share a seed. Default 0.
    pub first_chain: u32,
    /// Whether the warm-up's draws are returned too. Default false.
    pub keep_warmup: bool,
    /// Whose draws a chain adapts to. Default [`Adapt::Pooled`].
    pub adapt: Adapt,
    /// Where chains start. Default [`Init::Jitter`].
    pub init: Init,
    /// When the draws are good enough to end before all are made. Default never.
    pub until: Option<Until>,
    /// Whether the warm-up may end before `tune` transitions, once the draws of its chains agree and
    /// what they teach no longer changes, see [`Run::warmup_transitions`](super::Run::warmup_transitions).
    /// For NUTS and WALNUTS of chains that adapt together. Default false.
    pub end_warmup_early: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            chains: 4,
            tune: 1000,
            draws: 1000,
            sampler: Sampler::Nuts,
            target_accept: 0.8,
            max_treedepth: 10,
            early_treedepth: 10,
            past_turn: PastTurn::Auto,
            integrator: Integrator::Auto,
            metric: MetricKind::Auto,
            threads: 1,
            seed: 0,
            stream: 0,
            first_chain: 0,
            keep_warmup: false,
            adapt: Adapt::Pooled,
            init: Init::Jitter,
            until: None,
            end_warmup_early: false,
        }
    }
}

impl Settings {
    /// Says which setting cannot be used, for a posterior of `dim` coordinates.
    pub(crate) fn check(&self, dim: usize) -> Result<()> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        if dim == 0 {
            return usage("nothing to sample: the model has no parameters".into());
        }
        if self.chains == 0 {
            return usage("chains is 0; use at least 1".into());
        }
        if self.threads == 0 {
            return usage("threads is 0; use at least 1".into());
        }
        if !(self.target_accept > 0.0 && self.target_accept < 1.0) {
            return usage(format!(
                "target acceptance is {}; it must lie between 0 and 1, and 0.8 to 0.99 is usual",
                self.target_accept
            ));
        }
        if !(1..=20).contains(&self.max_treedepth) {
            return usage(format!(
                "maximum tree depth is {}; use 1 to 20 (10 is usual)",
                self.max_treedepth
            ));
        }
        if self.early_treedepth == 0 {
            return usage("maximum tree depth early in the warm-up is 0; use at least 1".into());
        }
        // Iterations are one word of the random counter.
        if self.tune.saturating_add(self.draws) > u32::MAX as usize {
            return usage("tune + draws is above 4294967295; use fewer".into());
        }
        if let Some(until) = self.until {
            check_until(until, self.chains)?;
        }
        if self.end_warmup_early {
            check_early_end(self)?;
        }
        if let Init::Points(points) = &self.init {
            if points.len() != self.chains {
                return usage(format!(
                    "{} starting points for {} chains; give one per chain",
                    points.len(),
                    self.chains
                ));
            }
            if let Some(i) = points.iter().position(|p| p.len() != dim) {
                return usage(format!(
                    "starting point {i} has {} coordinates; the model has {dim}",
                    points[i].len()
                ));
            }
        }
        Ok(())
    }
}

/// A bound that no run can reach, or that every run reaches, is a mistake.
fn check_until(until: Until, chains: usize) -> Result<()> {
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
    if let Some(ess) = until.ess.filter(|e| !(*e > 0.0 && e.is_finite())) {
        return usage(format!(
            "the ESS to reach is {ess}; it must be above 0, and 400 or more is usual"
        ));
    }
    if let Some(rhat) = until.rhat.filter(|r| !(*r > 1.0 && r.is_finite())) {
        return usage(format!(
            "the R-hat to reach is {rhat}; it must be above 1, and 1.01 is usual"
        ));
    }
    if until.rhat.is_some() && chains < 2 {
        return usage("one chain has no R-hat; use at least 2 chains".into());
    }
    Ok(())
}

/// Whether there is a warm-up that can be seen to have ended.
fn check_early_end(settings: &Settings) -> Result<()> {
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
    if settings.adapt == Adapt::PerChain {
        return usage(
            "an early end of the warm-up is decided from all chains, and chains that adapt alone know \
             nothing of each other; let them adapt together, or warm up for all of tune"
                .into(),
        );
    }
    if !matches!(settings.sampler, Sampler::Nuts | Sampler::Walnuts) {
        return usage(format!(
            "the warm-up of {} does not end early: it learns until its last transition; use nuts or \
             walnuts",
            settings.sampler.name()
        ));
    }
    Ok(())
}
