//! Flags of the commands that run chains.

use crate::args::{Common, Machine, Output};
use crate::named::named;
use crate::progress::Style;
use crate::task::Task;
use clap::Args;
use fitzroy::fit::sample::{Adapt, Integrator, MetricKind, PastTurn};
use fitzroy::run::{CoordinateChoice, Settings};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::Engine;
use fitzroy_session::chains::Destination;
use fitzroy_session::face::Face;
use fitzroy_session::memory_limit;
use fitzroy_session::traces::IN_MEMORY_BYTES;
use std::sync::Arc;

/// How many chains of how many draws, how they adapt, and what is kept of them.
#[derive(Args, Clone)]
pub(crate) struct ChainFlags {
    /// Chains
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) chains: usize,
    /// Warm-up transitions per chain
    #[arg(long, value_name = "N", default_value_t = 1000, alias = "warmup")]
    tune: usize,
    /// End the warm-up before --tune transitions once its chains agree and what they teach no longer
    /// changes
    #[arg(long)]
    end_warmup_early: bool,
    /// Draws per chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) draws: usize,
    /// Mean acceptance to tune the step size to, between 0 and 1; with `--metric auto` 0.99 or more if
    /// transitions diverge in the warm-up
    #[arg(long, value_name = "P", default_value_t = 0.8)]
    target_accept: f64,
    /// Family of the mass matrix
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = named::<MetricKind>())]
    metric: MetricKind,
    /// Coordinates of hierarchical parameters: chosen in the warm-up, or as the model writes them
    #[arg(long, value_name = "COORDINATES", default_value = "auto", value_parser = named::<CoordinateChoice>())]
    pub(crate) centring: CoordinateChoice,
    /// What evaluates the model over rows; all give the same numbers, and traces say which one did
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = named::<Engine>())]
    pub(crate) engine: Engine,
    /// Whose draws a chain adapts to: those of all chains, or its own
    #[arg(long, value_name = "SCOPE", default_value = "pooled", value_parser = named::<Adapt>())]
    adapt: Adapt,
    /// The chains of task I of N, I from 0, with the numbers and random streams they have in the whole run
    #[arg(long, value_name = "I/N")]
    pub(crate) task: Option<Task>,
    /// Say how much memory and time the run needs, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Largest number of doublings of a trajectory, 1 to 20
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_treedepth: u32,
    /// Double trajectories once more after they have turned: twice the gradients, and more than that
    /// for a few slow directions. Auto does where the warm-up shows such directions, and in
    /// hierarchical stop-signal fits
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = named::<PastTurn>())]
    past_turn: PastTurn,
    /// What a step of NUTS is: an exact rotation in the normal distribution that the warm-up fits, which
    /// takes a seventh to a half of the gradients where the posterior is near to one, or a leapfrog.
    /// Auto lets the draws of the warm-up decide
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = named::<Integrator>())]
    integrator: Integrator,
    /// Chains that run at once, at most [default: --threads]
    #[arg(long, value_name = "N")]
    cores: Option<usize>,
    /// Exit 1 unless the run converged
    #[arg(long)]
    pub(crate) strict: bool,
    /// Keep the draws of the warm-up
    #[arg(long)]
    keep_warmup: bool,
    /// Keep the log likelihood of every observation
    #[arg(long)]
    log_likelihood: bool,
    /// Go on with the run in --out: one that was stopped or killed, or a finished one with more
    /// --draws. The draws are those of a run that was never stopped
    #[arg(long, requires = "out", conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Draws that take more than this many MiB stay in run.zarr: memory does not grow with their
    /// number, and there is no trace.nc
    #[arg(long, value_name = "MIB", default_value_t = IN_MEMORY_BYTES >> 20)]
    in_memory: u64,
    /// Seconds between publications of the draws in run.zarr, at least
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, hide = true)]
    pub(crate) publish_every: f64,
    /// Seconds between progress lines in a log
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    progress_every: f64,
    /// No report.html
    #[arg(long)]
    pub(crate) no_report: bool,
}

impl ChainFlags {
    /// Settings as these flags say, all else as it is by default.
    ///
    /// # Errors
    /// A number is out of its range.
    pub(crate) fn settings(&self, common: &Common, machine: Machine) -> Result<Settings> {
        self.check()?;
        let mut settings = Settings {
            coordinates: self.centring,
            engine: self.engine,
            log_likelihood: self.log_likelihood,
            memory_limit_bytes: memory_limit(),
            in_memory_bytes: Some(self.in_memory << 20),
            ..Settings::default()
        };
        let sampler = &mut settings.sampler;
        sampler.chains = self.chains;
        sampler.tune = self.tune;
        sampler.end_warmup_early = self.end_warmup_early;
        sampler.draws = self.draws;
        sampler.target_accept = self.target_accept;
        sampler.max_treedepth = self.max_treedepth;
        sampler.past_turn = self.past_turn;
        sampler.integrator = self.integrator;
        sampler.metric = self.metric;
        sampler.adapt = self.adapt;
        sampler.threads = machine.threads.min(self.cores.unwrap_or(usize::MAX));
        sampler.seed = common.seed;
        sampler.keep_warmup = self.keep_warmup;
        if let Some(task) = self.task {
            let share = task.share(self.chains, "chains")?;
            sampler.first_chain = share.start as u32;
            sampler.chains = share.len();
        }
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        if self.progress_every.is_nan() || self.progress_every <= 0.0 {
            return usage(format!(
                "--progress-every is {}; it must be above 0",
                self.progress_every
            ));
        }
        if self.publish_every.is_nan() || self.publish_every < 0.0 {
            return usage("--publish-every must be 0 or above".into());
        }
        for (flag, zero) in [
            ("--chains", self.chains == 0),
            ("--draws", self.draws == 0),
            ("--cores", self.cores == Some(0)),
        ] {
            if zero {
                return usage(format!("{flag} is 0; use at least 1"));
            }
        }
        Ok(())
    }

    /// How progress is shown.
    pub(crate) fn style(&self, common: &Common) -> Style {
        common.progress(self.progress_every)
    }

    /// Who is told of a run.
    pub(crate) fn face(&self, common: &Common) -> Arc<dyn Face> {
        common.face(self.progress_every)
    }

    /// Where its results go.
    pub(crate) fn destination(&self, output: &Output) -> Destination {
        Destination {
            out: output.out.clone(),
            overwrite: output.overwrite,
            resume: self.resume,
        }
    }
}
