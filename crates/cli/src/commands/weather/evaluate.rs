//! `fitzroy weather evaluate`.

use super::common::{Data, Machine, Scratch, region};
use crate::exit::Outcome;
use crate::requests::{Words, matches};
use crate::{face, interrupt, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::Result;
use fitzroy_session::clock::Clock;
use fitzroy_session::face::Face;
use fitzroy_session::weather::{Scored, Scoring};
use fitzroy_weather::data::Forecasts;
use fitzroy_weather::evaluate::{Area, Evaluation, Options, table};
use fitzroy_weather::time::Time;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy weather evaluate`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather evaluate --data synthetic.nc --checkpoint \
    run/best.safetensors --leads 8 --strict\n\n\
    Scores the test split beside persistence, climatology, the start of training (the linear model\n\
    in the checkpoint, which the network corrects) and a linear model of the 3 x 3 neighbourhood\n\
    whose penalty the validation records choose for each lead. Where the data do not hold the\n\
    training records, the tuned model is left out, and climatology is the checkpoint's.\n\
    --strict ends with 1 unless the model is ahead of persistence, of its start and of the tuned\n\
    model at every lead to 48 hours: on every variable, and in the mean by more than chance."
)]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    scratch: Scratch,
    /// Checkpoint, or a folder of them; several, or a folder of members (train --members), are an
    /// ensemble
    #[arg(long, value_name = "FILE|DIR", required = true, num_args = 1..)]
    checkpoint: Vec<PathBuf>,
    /// First initial time
    #[arg(long, value_name = "DATE")]
    test_start_time: Option<String>,
    /// Last initial time
    #[arg(long, value_name = "DATE")]
    test_end_time: Option<String>,
    /// Steps ahead to score
    #[arg(long, value_name = "N", default_value_t = 8)]
    leads: usize,
    /// Initial times at most, evenly spread; 0: all
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_starts: usize,
    /// Forecasts of others as one more column: a file for each initial time, with the times that it is
    /// for and, as forecast_reference_time or attribute initial_time, when it was made; scored are the
    /// initial times that have one
    #[arg(long, value_name = "FILE", num_args = 1..)]
    forecast: Vec<PathBuf>,
    /// Score parts of the region by themselves, too, as alps=44,48,5,15: south, north, west and east
    #[arg(long, value_name = "NAME=S,N,W,E", num_args = 1.., value_parser = area, allow_hyphen_values = false)]
    subregion: Vec<Area>,
    /// Score the baselines too (the default)
    #[arg(long, hide = true, conflicts_with = "no_baselines")]
    baselines: bool,
    /// Score the model alone
    #[arg(long)]
    no_baselines: bool,
    /// Variables or channels to draw as maps, as TEM or "TEM 850", or all [default: the first
    /// six channels]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    channels: Vec<String>,
    /// Write the figures of the report as PNG and SVG, too
    #[arg(long)]
    visualizations: bool,
    /// Exit 1 unless the model beats its baselines beyond chance
    #[arg(long, conflicts_with = "no_baselines")]
    strict: bool,
    /// Folder for scores.json, scores.csv and report.html [default: a fresh evaluation-1, ...]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    machine: Machine,
}

/// A part of the region and its name.
fn area(text: &str) -> std::result::Result<Area, String> {
    let wrong = "needs a name and south, north, west and east in degrees, as alps=44,48,5,15";
    let (name, sides) = text.split_once('=').ok_or(wrong)?;
    Ok(Area {
        name: name.into(),
        region: region(sides).map_err(|_| wrong)?,
    })
}

impl EvaluateArgs {
    /// What is scored, and how.
    fn scoring(&self) -> Result<Scoring<'_>> {
        let date = |name: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(Time::parse).transpose();
            parsed.map_err(|error| error.context(name))
        };
        let options = Options {
            leads: self.leads,
            from: date("--test-start-time", &self.test_start_time)?,
            until: date("--test-end-time", &self.test_end_time)?,
            starts_max: self.max_starts,
            baselines: !self.no_baselines,
            forecasts: Forecasts::default(),
            areas: self.subregion.clone(),
        };
        Ok(Scoring {
            data: &self.data.data,
            reading: self.data.reading()?,
            scratch: self.scratch.scratch.as_deref(),
            checkpoints: &self.checkpoint,
            options,
            forecasts: &self.forecast,
            strict: self.strict,
            channels: &self.channels,
            pictures: self.visualizations,
            out: self.out.as_deref(),
            threads: self.machine.host_threads()?,
            gpu: self.machine.gpu_of_forecasts()?,
        })
    }
}

/// Scores by settings, see [`crate::requests::score`].
pub(crate) fn score(
    words: &Words,
    face: &Arc<dyn Face>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Scored>> {
    let parser = EvaluateArgs::augment_args(clap::Command::new("evaluate"));
    let mut found = matches(parser, words, &[])?;
    let args = EvaluateArgs::from_arg_matches_mut(&mut found);
    let args = args.expect("matches of the same flags");
    args.scoring()?.run(face, progress)
}

/// Scores a checkpoint.
pub(crate) fn run(args: &EvaluateArgs) -> Result<Outcome> {
    let scoring = args.scoring()?;
    args.machine.warn();
    let clock = Clock::start();
    let stop = interrupt::catch_with("stopping: nothing will be scored")?;
    let mut next_s = 10.0;
    let mut progress = |done: usize, all: usize| {
        if args.machine.talks() && clock.seconds() > next_s {
            next_s = clock.seconds() + 10.0;
            terminal::note(format_args!("forecast {done} of {all}"));
        }
        !stop.load(Ordering::Relaxed)
    };
    let Some(scored) = scoring.run(&face::notes(), &mut progress)? else {
        terminal::note("stopped early: nothing was scored");
        return Ok(Outcome::Interrupted);
    };
    let evaluation = &scored.evaluation;
    evaluation.notes.iter().for_each(terminal::note);
    if args.machine.json {
        json::print(&scored.document);
    } else {
        if !args.machine.quiet {
            terminal::out(table(evaluation).trim_end());
            terminal::out(format_args!("wrote {}", scored.folder.display()));
        }
        tell(evaluation, scored.is_forecast);
    }
    let behind = args.strict && !evaluation.passed();
    Ok(if behind {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// Where the model is not ahead, or that it is.
fn tell(scored: &Evaluation, is_forecast: bool) {
    let failures = scored.failures();
    for failure in failures.iter().take(8) {
        terminal::out(format_args!("not ahead: {failure}"));
    }
    if failures.len() > 8 {
        terminal::out(format_args!("... and {} more", failures.len() - 8));
    }
    if scored.passed() && is_forecast {
        terminal::out(ahead(scored));
    }
}

/// What a model that is ahead of its rivals is ahead of, in words.
fn ahead(scored: &Evaluation) -> String {
    let rivals: Vec<&str> = scored.methods[1..]
        .iter()
        .map(|m| m.method)
        .filter(|name| *name != "climatology")
        .collect();
    let (behind, places) = scored.behind_climatology();
    let usual = match behind {
        0 => String::new(),
        n => format!("; climatology is better in {n} of {places} places"),
    };
    format!(
        "ahead of {} at every lead to 48 h, by more than chance{usual}",
        rivals.join(", ")
    )
}
