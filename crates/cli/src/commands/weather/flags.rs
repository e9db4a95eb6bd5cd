//! The flags of `fitzroy weather train`, and the problem and settings they describe.

use super::boxes::BoxArgs;
use super::common::{Data, Machine, Scratch};
use crate::named::named;
use clap::{Args, ValueEnum};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::Recompute;
use fitzroy_session::weather::{Request, Start};
use fitzroy_weather::data::SplitBy;
use fitzroy_weather::time::Time;
use fitzroy_weather::train::{
    Baseline, GraphKind, LossKind, Monitor, Settings, Task, Wanted, Weighting,
};
use std::path::PathBuf;

/// Flags of `fitzroy weather train`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather train --data synthetic.nc --latent-size 64 \
    --num-gnn-layers 4 --num-epochs 20 --learning-rate 1e-3 --out run\n  \
    fitzroy weather train --data synthetic.nc --dry-run\n  \
    fitzroy weather train --data synthetic.nc --resume-from run ...the same settings...\n  \
    fitzroy weather train --data more.nc --init-from run --learning-rate 1e-4 --rollout-steps 4 \
    --out tuned\n\n\
    Checkpoints, best.safetensors, metrics.jsonl and TensorBoard's events lie in --out. Ctrl-C\n\
    writes a checkpoint and ends with 130; --resume-from goes on from it bit for bit."
)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    scratch: Scratch,
    /// Folder for the results [default: a fresh weather-1, weather-2, ...]
    #[arg(long, visible_alias = "output-dir", value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Variables to use [default: those known, else all; with --init-from the checkpoint's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    variables: Vec<String>,
    /// Levels to use, hPa [default: all; with --init-from the checkpoint's]
    #[arg(long, value_name = "HPA", value_delimiter = ',')]
    levels: Vec<f64>,
    /// Variables that are read and not forecast: every state has their truth, as of another model
    /// [default: none; with --init-from the checkpoint's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    forcing: Vec<String>,
    /// What to learn
    #[arg(long, value_enum, value_name = "TASK", default_value = "forecast")]
    task: TaskName,
    /// Which graph: neighbours on the grid, or a mesh over it [default: mesh for forecast, flat
    /// for precip]
    #[arg(long, value_name = "GRAPH", value_parser = named::<GraphKind>())]
    graph: Option<GraphKind>,
    /// What a forecast goes on from, and the network adds to: a linear model of the
    /// neighbourhood, or the last change [default: linear]
    #[arg(long, value_name = "BASELINE", value_parser = named::<Baseline>())]
    baseline: Option<Baseline>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    boxes: BoxArgs,
    #[command(flatten)]
    split: SplitArgs,
    #[command(flatten)]
    loop_: LoopArgs,
    /// Outer cells that are forced with the truth (forecast) [default: 3]
    #[arg(long, value_name = "CELLS")]
    boundary_width: Option<usize>,
    /// Go on from a checkpoint, or from the newest of a folder
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) resume_from: Option<PathBuf>,
    /// Start from the weights of another run: a checkpoint, or the best of a folder. Loss, rates
    /// and data may be others, variables may be added; network, names, region and missing values
    /// are the checkpoint's where nothing is said. With --resume-from, that goes on
    #[arg(long, value_name = "FILE|DIR")]
    init_from: Option<PathBuf>,
    /// Train an ensemble: so many networks one after the other, with seeds from --seed on, in the
    /// folders member-01, member-02, ... of --out
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) members: usize,
    /// Say where the time of 20 steps goes, and stop: profile.txt, and profile.json for
    /// chrome://tracing
    #[arg(long)]
    pub(super) profile: bool,
    /// Find a learning rate, and stop: the loss over 120 steps at growing rates, as a figure, and the
    /// rate that it suggests
    #[arg(long, conflicts_with_all = ["profile", "dry_run", "resume_from", "members"])]
    pub(super) find_lr: bool,
    /// Say what would be trained, and whether it fits, and stop
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) machine: Machine,
}

impl TrainArgs {
    /// Threads of this processor, of which a training on it alone needs that nothing else was asked
    /// for.
    ///
    /// # Errors
    /// Something that is not here was asked for.
    pub(super) fn threads(&self, on_gpu: bool) -> Result<usize> {
        match on_gpu {
            true => self.machine.host_threads(),
            false => self.machine.threads(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TaskName {
    Forecast,
    Precip,
}

/// Sizes of the network.
#[derive(Args)]
struct NetworkArgs {
    /// Width of node and edge states [default: 256]
    #[arg(long, value_name = "N")]
    latent_size: Option<usize>,
    /// Message layers [default: 12]
    #[arg(long, value_name = "N")]
    num_gnn_layers: Option<usize>,
    /// Width of hidden layers [default: 256, or the latent size where that is smaller]
    #[arg(long, value_name = "N")]
    mlp_hidden_size: Option<usize>,
    /// Hidden layers of every perceptron [default: 2]
    #[arg(long, value_name = "N")]
    mlp_num_hidden_layers: Option<usize>,
}

/// Which records train, validate and test.
#[derive(Args)]
struct SplitArgs {
    /// Last year that trains
    #[arg(long, value_name = "YEAR", requires = "val_end_year")]
    train_end_year: Option<i64>,
    /// Last year that validates; later years test
    #[arg(long, value_name = "YEAR", requires = "train_end_year")]
    val_end_year: Option<i64>,
    /// Records from this date on test
    #[arg(long, value_name = "DATE", conflicts_with = "train_end_year")]
    test_start_date: Option<String>,
    /// Share that trains
    #[arg(long, value_name = "SHARE", default_value_t = 0.7)]
    train_ratio: f64,
    /// Share that validates [default: 0.15; 0.3 with a date]
    #[arg(long, value_name = "SHARE")]
    val_ratio: Option<f64>,
}

/// The training loop.
#[derive(Args)]
struct LoopArgs {
    /// Windows of a batch, or auto: the largest power of two that fits 80 % of the free memory
    #[arg(long, value_name = "N|auto", default_value = "4")]
    batch_size: String,
    /// Passes over the data
    #[arg(long, value_name = "N", default_value_t = 100)]
    num_epochs: u64,
    /// Optimiser steps at most
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Batches whose gradients are summed for a step
    #[arg(long, value_name = "N", default_value_t = 1)]
    accumulate: usize,
    /// Highest learning rate
    #[arg(long, value_name = "RATE", default_value_t = 1e-4)]
    learning_rate: f64,
    /// Steps of warm-up [default: a tenth of the decay, at most 1000]
    #[arg(long, value_name = "N")]
    warmup_steps: Option<u64>,
    /// Step at which a tenth of the rate is left [default: the last]
    #[arg(long, value_name = "N")]
    decay_steps: Option<u64>,
    /// Longest gradient
    #[arg(long, value_name = "NORM", default_value_t = 1.0)]
    gradient_clip_norm: f64,
    /// Weight decay
    #[arg(long, value_name = "X", default_value_t = 1e-5)]
    weight_decay: f64,
    /// Average parameters with this weight of the past, and validate with the average
    #[arg(long, value_name = "BETA")]
    ema: Option<f64>,
    /// Lengths of forecasts in training, as 1,2,4 or with epochs as 1:20,2:5
    #[arg(long, value_name = "STEPS", default_value = "1")]
    rollout_steps: String,
    /// Penalty of errors
    #[arg(long, value_name = "LOSS", default_value = "mse", value_parser = named::<LossKind>())]
    loss: LossKind,
    /// Weights of variables and levels, as TEM=1,"TEM 850"=2,precipitation=0.5
    #[arg(long, value_name = "NAME=X", value_delimiter = ',')]
    loss_weights: Vec<String>,
    /// What the backward pass computes again to save memory
    #[arg(long, value_name = "PART", default_value = "none", value_parser = named::<Recompute>())]
    recompute: Recompute,
    /// Steps between validations
    #[arg(long, value_name = "N", default_value_t = 500)]
    validation_frequency: u64,
    /// Steps ahead of the longest validation forecasts: with the loss one step ahead theirs
    /// chooses the best checkpoint
    #[arg(long, value_name = "N", default_value_t = 8)]
    validation_leads: usize,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value_t = 1000)]
    checkpoint_frequency: u64,
    /// Validations without improvement that end the run
    #[arg(long, value_name = "N", default_value_t = 10)]
    early_stopping_patience: u64,
    /// What of a validation chooses the best checkpoint and ends the run, beside the start's: the
    /// losses one step and many steps ahead, or the RMSE of all variables at the longest lead
    #[arg(long, value_name = "SCORE", default_value = "losses", value_parser = named::<Monitor>())]
    monitor: Monitor,
    /// Checkpoints kept beside the best
    #[arg(long, value_name = "N", default_value_t = 3)]
    keep: usize,
    /// Steps between log lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    log_every: u64,
    /// Make batches on a thread of their own (the default)
    #[arg(long, conflicts_with = "no_prefetch")]
    use_prefetch: bool,
    /// Make batches between steps
    #[arg(long)]
    no_prefetch: bool,
    /// Batches made ahead
    #[arg(long, value_name = "N", default_value_t = 4)]
    prefetch_buffer_size: usize,
    /// Threads that make batches ahead
    #[arg(long, value_name = "N", default_value_t = 1)]
    readers: usize,
    /// An event file for TensorBoard (the default)
    #[arg(long, hide = true, conflicts_with = "no_tensorboard")]
    tensorboard: bool,
    /// No event file for TensorBoard
    #[arg(long)]
    no_tensorboard: bool,
}

impl SplitArgs {
    fn split(&self) -> Result<SplitBy> {
        let years = self.train_end_year.zip(self.val_end_year);
        Ok(match (&self.test_start_date, years) {
            (Some(text), _) => SplitBy::TestFrom {
                start: Time::parse(text).map_err(|e| e.context("--test-start-date"))?,
                train: self.train_ratio,
                validation: self.val_ratio.unwrap_or(0.3),
            },
            (None, Some((train_end, validation_end))) => SplitBy::Years {
                train_end,
                validation_end,
            },
            (None, None) => SplitBy::Ratios {
                train: self.train_ratio,
                validation: self.val_ratio.unwrap_or(0.15),
            },
        })
    }
}

impl LoopArgs {
    /// The training loop, but for device and memory.
    fn settings(&self, batch_size: usize, seed: u64, threads: usize) -> Settings {
        Settings {
            batch_size,
            n_epochs: self.num_epochs,
            max_steps: self.max_steps,
            accumulate: self.accumulate,
            rollout_steps: self.rollout_steps.clone(),
            learning_rate: self.learning_rate,
            warmup_steps: self.warmup_steps,
            decay_steps: self.decay_steps,
            clip_norm: self.gradient_clip_norm,
            weight_decay: self.weight_decay,
            average: self.ema,
            recompute: self.recompute,
            patience: self.early_stopping_patience,
            monitor: self.monitor,
            validation_frequency: self.validation_frequency,
            validation_leads: self.validation_leads,
            checkpoint_frequency: self.checkpoint_frequency,
            keep: self.keep,
            log_every: self.log_every,
            prefetch: if self.no_prefetch {
                0
            } else {
                self.prefetch_buffer_size
            },
            readers: self.readers,
            seed,
            threads,
            device: None,
            memory_bytes: None,
            tensorboard: !self.no_tensorboard,
        }
    }
}

impl TrainArgs {
    fn wanted(&self) -> Wanted {
        let n = &self.network;
        Wanted {
            graph: self.graph,
            baseline: self.baseline,
            latent: n.latent_size,
            n_layers: n.num_gnn_layers,
            hidden: n.mlp_hidden_size,
            n_hidden: n.mlp_num_hidden_layers,
            boundary_width: self.boundary_width,
        }
    }

    pub(super) fn start(&self) -> Start {
        match &self.resume_from {
            Some(path) => Start::Resume(path.clone()),
            None => self.fresh(),
        }
    }

    /// Where a training starts that has no checkpoint to go on from.
    pub(super) fn fresh(&self) -> Start {
        let from = self.init_from.clone();
        from.map_or(Start::Fresh, Start::Weights)
    }

    fn weighting(&self) -> Result<Weighting> {
        let mut variables = Vec::new();
        for text in &self.loop_.loss_weights {
            let wrong = || {
                let message = format!("--loss-weights {text}: write NAME=WEIGHT");
                Error::new(ErrorKind::Usage, message)
            };
            let (name, weight) = text.split_once('=').ok_or_else(wrong)?;
            variables.push((name.to_string(), weight.parse().map_err(|_| wrong())?));
        }
        Ok(Weighting {
            loss: self.loop_.loss,
            variables,
            forcing: self.forcing.clone(),
            heavy: self.boxes.heavy(),
        })
    }

    /// What is asked for, on `threads` threads.
    ///
    /// # Errors
    /// A value cannot be read.
    pub(super) fn request(&self, threads: usize) -> Result<Request> {
        let auto_batch = self.loop_.batch_size == "auto";
        let batch_size = match self.loop_.batch_size.parse() {
            Ok(n) => n,
            Err(_) if auto_batch => 1,
            Err(_) => {
                let message = format!(
                    "--batch-size {}: needs a whole number or auto",
                    self.loop_.batch_size
                );
                return Err(Error::new(ErrorKind::Usage, message));
            }
        };
        Ok(Request {
            data: self.data.data.clone(),
            variables: self.variables.clone(),
            levels: self.levels.clone(),
            reading: self.data.reading()?,
            scratch: self.scratch.scratch.clone(),
            split: self.split.split()?,
            task: match self.task {
                // The width is settled with the checkpoint, where there is one.
                TaskName::Forecast => Task::Forecast { boundary_width: 0 },
                TaskName::Precip => Task::Precip(self.boxes.boxes()),
            },
            wanted: self.wanted(),
            start: self.start(),
            weighting: self.weighting()?,
            settings: self.loop_.settings(batch_size, self.machine.seed, threads),
            auto_batch,
        })
    }
}
