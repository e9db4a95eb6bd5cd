//! The command line: what may be said, with the help that explains it.

use crate::commands::{
    bench, compare, completions, curve_fit, data, diagnose, man, models, plot, predict, report,
    sample, slurm, stop_signal, validate, verify, weather,
};
use crate::progress::Style;
use crate::{face, invocation, terminal};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use fitzroy::run::Team;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_device::gpu::MOST_MEMBERS;
use fitzroy_device::gpu::text::Precision as Kernels;
use fitzroy_session::device::{Request, require_f64};
use fitzroy_session::face::Face;
use fitzroy_session::folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fits models to data, fast.
#[derive(Parser)]
#[command(
    name = "fitzroy",
    version,
    about = "Fits models to data, fast: from a model file and a data file to trusted draws",
    after_help = "Start here:\n  fitzroy validate    is everything right on this machine?\n  \
                  fitzroy models      the models that come along\n\n\
                  Exit codes: 0 done; 1 a check did not pass; 2 bad usage or input; \
                  130 stopped by Ctrl-C"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command whose runs may be shorter than it takes to build the flags of all commands.
#[derive(Subcommand)]
pub(crate) enum Sampling {
    /// Samples a model with NUTS
    Sample(Box<sample::SampleArgs>),
}

/// The commands, in the order of the help.
#[derive(Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Sampling(Sampling),
    /// Predicts for data that a model was not fitted to
    Predict(Box<predict::PredictArgs>),
    /// Fits a curve to data by least squares
    CurveFit(Box<curve_fit::CurveFitArgs>),
    /// Shows what is read from a data file
    Data(data::DataArgs),
    /// Says whether the draws of a trace can be trusted
    Diagnose(diagnose::DiagnoseArgs),
    /// Ranks models by how well they predict, or compares two runs of one model
    Compare(compare::CompareArgs),
    /// Draws one figure of a trace
    Plot(plot::PlotArgs),
    /// Writes the report of a run or of a trace as one HTML file
    Report(report::ReportArgs),
    /// Samples data with known truth and checks everything on the way
    Validate(validate::ValidateArgs),
    /// Checks and measures this machine and recommends settings
    Verify(verify::VerifyArgs),
    /// Simulates, fits and checks stop-signal tasks
    StopSignal(Box<stop_signal::StopSignalArgs>),
    /// Trains and scores regional weather forecasts
    Weather(Box<weather::WeatherArgs>),
    /// Runs a command as jobs on a Slurm cluster, and collects what they made
    Slurm(Box<slurm::SlurmArgs>),
    /// Measures this machine on standard problems
    Bench(bench::BenchArgs),
    /// Lists the models that come along, or prints one
    Models(models::ModelsArgs),
    /// Prints a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Writes manual pages for `man`
    Man(man::ManArgs),
}

/// Reads the command line.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub(crate) fn read() -> clap::error::Result<Command> {
    let args = invocation::args();
    if args.get(1).is_none_or(|name| name != "sample") {
        return Cli::try_parse_from(args).map(|cli| cli.command);
    }
    let alone = Sampling::augment_subcommands(clap::Command::new("fitzroy"));
    let found = Sampling::from_arg_matches_mut(&mut alone.try_get_matches_from(args)?);
    found.map(Command::Sampling)
}

/// Flags that every command takes.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Where to compute: auto, cpu, cuda, cuda:N, or on several GPUs cuda:0,1 or cuda:all [env:
    /// FITZROY_DEVICE] [default: auto]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Precision on a GPU: auto is f64, or mixed on cards whose f64 is slow; a CPU computes in f64
    #[arg(long, value_enum, value_name = "PRECISION", default_value = "auto")]
    precision: Precision,
    /// The most of a GPU's memory to plan with, of each of several: a share of all that it has, as 0.75, or a
    /// size, as 40GB or 512MiB [default: nine tenths of what is free]
    #[arg(long, value_name = "SHARE|SIZE")]
    device_memory: Option<String>,
    /// Threads to a chain on a GPU, to compare strategies: 32, a multiple of it up to 256, or `sharded`:
    /// the blocks of as many multiprocessors as there are for each chain
    #[arg(long, value_name = "N", hide = true)]
    team: Option<String>,
    /// Compiler for GPU kernels: libnvrtc.so.12 or its folder [env: FITZROY_NVRTC]
    #[arg(long = "nvrtc", value_name = "PATH")]
    pub(crate) compiler: Option<PathBuf>,
    /// Threads to use [env: FITZROY_THREADS] [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Seed of all random numbers: the same seed gives the same draws
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Errors and the verdict only
    #[arg(long)]
    pub(crate) quiet: bool,
    /// No progress bars and no progress lines
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Say more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Where results go.
#[derive(Args, Clone)]
pub(crate) struct Output {
    /// Folder for the results [default: a fresh NAME-1, NAME-2, ...]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier run in --out; a folder that holds anything else is never touched
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
}

impl Output {
    /// Opens the folder, or a fresh one whose name begins with `name`.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn open(&self, name: &str, face: &Arc<dyn Face>) -> Result<Folder> {
        let (here, out) = (Path::new(""), self.out.as_deref());
        Folder::open(here, out, name, self.overwrite, face)
    }
}

/// Precision of the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precision {
    Auto,
    F64,
    Mixed,
    F32,
}

/// What the common flags and the environment come to on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Threads to use.
    pub(crate) threads: usize,
}

impl Common {
    /// The device that was asked for: the flag, else the environment, else `auto`.
    ///
    /// # Errors
    /// There is no such device name.
    pub(crate) fn device(&self) -> Result<Choice> {
        let (from, text) = match (&self.device, environment("FITZROY_DEVICE")) {
            (Some(text), _) => ("--device", text.clone()),
            (None, Some(text)) => ("FITZROY_DEVICE", text),
            (None, None) => return Ok(Choice::Auto),
        };
        text.parse().map_err(|error: Error| error.context(from))
    }

    /// How progress is shown: bars on a terminal, lines in a log, or not at all.
    pub(crate) fn progress(&self, every_s: f64) -> Style {
        if self.quiet || self.no_progress {
            Style::Hidden
        } else if terminal::is_interactive() {
            Style::Bars
        } else {
            Style::Lines { every_s }
        }
    }

    /// Who is told of what happens, with progress lines in a log every `every_s` seconds.
    pub(crate) fn face(&self, every_s: f64) -> Arc<dyn Face> {
        face::terminal(self.quiet, self.progress(every_s))
    }

    /// What is asked of the device.
    ///
    /// # Errors
    /// There is no such device, or no such team of threads.
    pub(crate) fn request(&self) -> Result<Request> {
        Ok(Request {
            choice: self.device()?,
            precision: self.asked_precision(),
            team: self.team()?,
            memory: self.device_memory()?,
            places: self.places(),
            verbose: self.verbose > 0,
        })
    }

    /// The most of a GPU's memory to plan with, if it was said.
    ///
    /// # Errors
    /// It is neither a share nor a size.
    fn device_memory(&self) -> Result<Option<MemoryCap>> {
        let cap = self.device_memory.as_deref().map(str::parse).transpose();
        cap.map_err(|error: Error| error.context("--device-memory"))
    }

    /// Device, precision and threads of a command that computes on the CPU alone.
    ///
    /// # Errors
    /// A value is wrong, or the device that was asked for cannot be used.
    pub(crate) fn machine(&self) -> Result<Machine> {
        self.device()?.require_cpu()?;
        self.check_precision()?;
        self.threads()
    }

    /// Where the libraries of a GPU may lie.
    pub(crate) fn places(&self) -> fitzroy_device::gpu::Places {
        fitzroy_session::device::places(self.compiler.clone())
    }

    /// Refuses what a command that computes on the CPU alone does not compute in.
    pub(crate) fn check_precision(&self) -> Result<()> {
        require_f64(self.asked_precision(), "the CPU computes in f64")
    }

    /// The precision that was asked for; none where it is left to the device.
    pub(crate) fn asked_precision(&self) -> Option<Kernels> {
        match self.precision {
            Precision::Auto => None,
            Precision::F64 => Some(Kernels::F64),
            Precision::Mixed => Some(Kernels::Mixed),
            Precision::F32 => Some(Kernels::F32),
        }
    }

    /// Threads to a chain on a GPU, where somebody wants to say.
    ///
    /// # Errors
    /// No kernel has as many.
    pub(crate) fn team(&self) -> Result<Team> {
        let Some(text) = self.team.as_deref() else {
            return Ok(Team::Auto);
        };
        match (text, text.parse::<usize>()) {
            ("sharded", _) => Ok(Team::Sharded),
            // A thread may need 255 registers, and a multiprocessor has 65,536.
            (_, Ok(n)) if n > 0 && n % 32 == 0 && n <= MOST_MEMBERS => Ok(Team::Threads(n)),
            _ => {
                let message = format!(
                    "--team is {text}; it must be a multiple of 32 up to {MOST_MEMBERS}, or `sharded`"
                );
                Err(Error::new(ErrorKind::Usage, message))
            }
        }
    }

    /// Whether `--device all` was given, which only benchmarks know.
    pub(crate) fn wants_all_devices(&self) -> bool {
        self.device.as_deref() == Some("all")
    }

    /// Threads to use.
    ///
    /// # Errors
    /// The number is wrong.
    pub(crate) fn threads(&self) -> Result<Machine> {
        let threads = match (&self.threads, environment("FITZROY_THREADS")) {
            (Some(text), _) => count("--threads", text)?,
            (None, Some(text)) => count("FITZROY_THREADS", &text)?,
            (None, None) => std::thread::available_parallelism().map_or(1, usize::from),
        };
        Ok(Machine { threads })
    }
}

/// An environment variable that is set and not empty.
pub(crate) fn environment(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// A whole number from 1 to 4096.
pub(crate) fn count(from: &str, text: &str) -> Result<usize> {
    match text.parse() {
        Ok(n @ 1..=4096) => Ok(n),
        _ => {
            let message = format!("{from}: needs a whole number from 1 to 4096, not `{text}`");
            Err(Error::new(ErrorKind::Usage, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let name = command.get_name();
            let example = format!("fitzroy {name}");
            assert!(help.is_some_and(|h| h.contains(&example)), "{name}");
        }
    }

    #[test]
    fn counts_are_whole_and_above_zero() {
        assert_eq!(count("--threads", "3").unwrap(), 3);
        for text in ["0", "-1", "two", "", "1.5", "99999999999999999999"] {
            let message = count("--threads", text).unwrap_err().to_string();
            assert!(
                message.contains("--threads") && message.contains(text),
                "{message}"
            );
        }
    }
}
