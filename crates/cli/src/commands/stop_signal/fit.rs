//! `fitzroy stop-signal fit`.

use super::shared::{Likelihood, Reading, population_text, text};
use crate::args::{Common, Output};
use crate::commands::chains::{self, ChainFlags};
use crate::exit::Outcome;
use crate::face::command;
use crate::named::named;
use crate::requests::{Words, matches};
use crate::{interrupt, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::diagnose::Diagnosis;
use fitzroy::draws::{Trace, read_trace};
use fitzroy::model::Model;
use fitzroy::report::{TextOptions, diagnosis_text, verdict_line};
use fitzroy::run::{self, CoordinateChoice};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::chains::Ended;
use fitzroy_session::clock::Clock;
use fitzroy_session::stop_signal::{About, StudyFit, Write, adapt, correlations_text, report};
use fitzroy_session::{Fit, Session};
use fitzroy_stop_signal::combine::apart;
use fitzroy_stop_signal::covariates::{Asked, Covariates};
use fitzroy_stop_signal::data::{self, Options, Study};
use fitzroy_stop_signal::integration;
use fitzroy_stop_signal::model::{Kind, Pooling, Spec};
use fitzroy_stop_signal::priors;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy stop-signal fit`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal fit sim/data.csv --out fit\n  \
    fitzroy stop-signal fit study.csv --unit ms --priors priors.toml --draws 2000\n  \
    fitzroy stop-signal fit study.csv --model ex-gaussian --out race\n  \
    fitzroy stop-signal fit study.csv --only s017 --pooling none --out s017\n  \
    fitzroy stop-signal fit study.csv --device cuda:0,1\n  \
    fitzroy stop-signal fit sst.csv --profile abcd --min-accuracy 0.6 --max-omissions 0.25\n  \
    fitzroy stop-signal fit export.txt --columns layout.toml --premature drop\n  \
    fitzroy stop-signal fit study.xlsx --columns subject=ID,rt=Go.RT --unit ms\n  \
    fitzroy stop-signal fit study.csv --block 3/40 --out block-3\n  \
    fitzroy stop-signal fit study.csv --block 3/40 --interim block-1 --out part-3\n  \
    fitzroy stop-signal fit study.csv --correlated --out together\n  \
    fitzroy stop-signal fit study.csv --subjects children.csv --slope stop_mu=age,ptf=group\n  \
    fitzroy stop-signal fit study.csv --out study --resume\n\n\
    Columns: subject, stimulus (0, 1), response (0 none, 1, 2), rt, ssd (empty on go trials),\n\
    perhaps trial_type (go, stop); other columns and codes are said by --columns.\n\
    Writes trace.nc, run.zarr (the draws while they are made), run.state (to go on from),\n\
    summary.txt, .csv, .json, run.json, progress.json, subjects.csv, data_report.json, model.fz,\n\
    report.html and two PNG figures.")]
pub(crate) struct FitArgs {
    /// The trials: a table of text, or .xlsx
    data: PathBuf,
    /// Whether subjects come from one population
    #[arg(long, value_name = "POOLING", default_value = "partial", value_parser = named::<Pooling>())]
    pooling: Pooling,
    /// Priors, TOML or JSON: a table per parameter with m, s and h
    #[arg(long, value_name = "FILE")]
    priors: Option<PathBuf>,
    /// Subject parameters with centred coordinates [default: chosen in the warm-up]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    centred: Vec<String>,
    /// Subject parameters with non-centred coordinates
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    noncentred: Vec<String>,
    /// A table of subjects (column `subject`) with the columns of --slope
    #[arg(long, value_name = "FILE", requires = "slope")]
    subjects: Option<PathBuf>,
    /// The population's PARAMETER depends on COLUMN of --subjects: a slope on numbers (per standard
    /// deviation; two values are 0 and 1), a difference for each label but the first
    #[arg(
        long,
        value_name = "PARAMETER=COLUMN",
        value_delimiter = ',',
        requires = "subjects"
    )]
    slope: Vec<String>,
    /// Subjects' effects are correlated; their matrix is LKJ(ETA), 2 if nothing is given
    #[arg(long, value_name = "ETA", num_args = 0..=1, default_missing_value = "2", require_equals = true)]
    correlated: Option<f64>,
    /// Subjects apart, under the population of an earlier fit of some of them or of a combination, for
    /// `combine`
    #[arg(long, value_name = "FOLDER")]
    interim: Option<PathBuf>,
    /// Block K of N blocks of subjects, for jobs of an array
    #[arg(long, value_name = "K/N")]
    block: Option<String>,
    #[command(flatten)]
    chains: ChainFlags,
    #[command(flatten)]
    likelihood: Likelihood,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

impl FitArgs {
    /// The model, and the trials that `read` reads, by settings.
    pub(crate) fn asked(
        words: &Words,
        read: impl FnOnce(&Options) -> Result<Study>,
    ) -> Result<(Spec, Study)> {
        let parser = FitArgs::augment_args(clap::Command::new("fit"));
        // The trials come from elsewhere.
        let mut found = matches(parser, words, &["-"])?;
        refuse_flags_of_a_run(&found)?;
        let args = FitArgs::from_arg_matches_mut(&mut found);
        let args = args.expect("matches of the same flags");
        let spec = args.spec()?;
        let study = args.joined(read(&args.reading.options(&spec)?)?)?;
        Ok((spec, study))
    }

    fn spec(&self) -> Result<Spec> {
        let mut spec = self.likelihood.spec()?;
        spec.pooling = self.pooling;
        spec.correlated = self.correlated;
        spec.centred.clone_from(&self.centred);
        spec.noncentred.clone_from(&self.noncentred);
        if let Some(path) = &self.priors {
            spec.priors =
                priors::read(spec.kind, &text(path)?).map_err(|e| e.context(path.display()))?;
        }
        if let Some(found) = self.covariates()? {
            spec.slopes = found.slopes;
        }
        spec.check()?;
        match &self.interim {
            Some(folder) => {
                let (from, model) = (folder.display().to_string(), population_text(folder)?);
                apart(&spec, &from, &model, &read_trace(folder)?)
            }
            None => Ok(spec),
        }
    }

    /// The columns that the population depends on, if it does.
    fn covariates(&self) -> Result<Option<Covariates>> {
        let asked = Asked::new(self.likelihood.kind(), &self.slope)?;
        let path = self.subjects.as_ref().filter(|_| !asked.is_empty());
        path.map(|path| asked.read(path, &self.reading.tables()))
            .transpose()
    }

    fn study(&self, spec: &Spec) -> Result<Study> {
        self.joined(data::read(&self.data, &self.reading.options(spec)?)?)
    }

    /// The trials with what is known of their subjects; of one block of these, if that is asked for.
    fn joined(&self, mut study: Study) -> Result<Study> {
        if let Some(found) = self.covariates()? {
            found.join(&mut study)?;
        }
        let Some(block) = &self.block else {
            return Ok(study);
        };
        let parts = block.split_once('/');
        let parts = parts.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let chosen = parts.filter(|&(k, n): &(usize, usize)| 1 <= k && k <= n);
        let block = chosen.map(|(k, n)| study.block(k, n));
        block.filter(|b| !b.subjects.is_empty()).ok_or_else(|| {
            let message = format!(
                "--block is `{}`; give K/N with K from 1 to N, and no more blocks than subjects",
                self.block.as_deref().unwrap_or_default()
            );
            Error::new(ErrorKind::Usage, message)
        })
    }

    fn fit<'a>(&self, spec: &'a Spec, study: &'a Study) -> StudyFit<'a> {
        StudyFit {
            spec,
            study,
            n_chains: self.chains.chains,
            as_written: self.chains.centring == CoordinateChoice::AsWritten,
        }
    }
}

/// Refuses flags that say how chains run: a face has other names for these, or none.
fn refuse_flags_of_a_run(found: &clap::ArgMatches) -> Result<()> {
    let of_run = [
        ChainFlags::augment_args(clap::Command::new("")),
        Output::augment_args(clap::Command::new("")),
        Common::augment_args(clap::Command::new("")),
    ];
    let is_given = |name: &str| {
        let source = found.value_source(name);
        source == Some(clap::parser::ValueSource::CommandLine)
    };
    for argument in of_run.iter().flat_map(clap::Command::get_arguments) {
        if is_given(argument.get_id().as_str()) {
            let flag = argument.get_long().unwrap_or_default();
            return Err(Error::usage(format!(
                "--{flag} is of the program's runs, and nothing here has this name"
            )));
        }
    }
    Ok(())
}

/// The fit of a command line whose chains were drawn in several tasks.
pub(crate) struct Collected {
    args: FitArgs,
    command: String,
}

impl Collected {
    /// From `words` behind the program's name; none if they are no fit.
    ///
    /// # Errors
    /// The words mean nothing to this version of the program.
    pub(crate) fn new(words: &[&str]) -> Result<Option<Self>> {
        let ["stop-signal", flags @ ..] = words else {
            return Ok(None);
        };
        let parser = FitArgs::augment_args(clap::Command::new("fit"));
        let args = parser.try_get_matches_from(flags);
        let args = args.and_then(|matches| FitArgs::from_arg_matches(&matches));
        let args = args.map_err(|e| Error::new(ErrorKind::Usage, e.to_string()))?;
        let command = format!("fitzroy {}", words.join(" "));
        Ok(Some(Collected { args, command }))
    }

    /// Has the diagnosis say what that of a fit says.
    pub(crate) fn suit(&self, diagnosis: &mut Diagnosis, trace: &Trace) {
        adapt(diagnosis, trace);
    }

    /// Writes what a fit leaves beside its draws and their tables, its report too if `reports`.
    ///
    /// # Errors
    /// The data cannot be read any more; a file cannot be written.
    pub(crate) fn leave(
        &self,
        write: &mut Write<'_>,
        trace: &Trace,
        diagnosis: &Diagnosis,
        document: &Value,
        reports: bool,
    ) -> Result<()> {
        let spec = self.args.spec()?;
        let study = self.args.study(&spec)?;
        self.args.fit(&spec, &study).leave(write, trace)?;
        let about = About {
            spec: &spec,
            study: &study,
            seed: self.args.common.seed,
            command: self.command.clone(),
        };
        match reports {
            true => report(write, trace, diagnosis, document, &about),
            false => Ok(()),
        }
    }
}

/// Reads, samples, prints, saves.
pub(crate) fn run(args: &FitArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let (flags, common) = (&args.chains, &args.common);
    let machine = common.threads()?;
    let spec = args.spec()?;
    let study = args.study(&spec)?;
    let fit = args.fit(&spec, &study);
    let settings = fit.settings(flags.settings(common, machine)?);
    let chosen = common.request()?.choose()?;
    let model = Model::parse(&spec.text())?;
    let mut session = fitzroy_session::sample(&model, &spec.data(&study))
        .name("stop-signal")
        .settings(settings)
        .threads_after(machine.threads)
        .chosen(chosen)
        .destination(flags.destination(&args.output))
        .publish_every(flags.publish_every)
        .face(flags.face(common))
        .clock(clock)
        .bind()?;
    fit.place(&mut session);
    session.settle()?;
    if flags.dry_run {
        return chains::dry_run("stop-signal", &session.subject, &session.settings, common);
    }
    if !session.open()? {
        return Ok(Outcome::Done);
    }
    if !common.quiet {
        header(&study, &session);
    }
    let (outcome, _progress) = match fit.draw(&mut session, &*interrupt::catch()?)? {
        Ended::Drawn(outcome, progress) => (outcome, progress),
        Ended::Early => return Ok(Outcome::Interrupted),
        Ended::Unwritable(_) => return Ok(Outcome::NotPassed),
    };
    let mut sampled = session.examine(outcome, adapt)?;
    session.save(&sampled);
    let folder = session.folder().expect("a fit of the program has a folder");
    let leave = &mut |name: &str, bytes: &[u8]| {
        let written = folder.write_bytes(name, bytes);
        folder.attempted(written);
        Ok(())
    };
    fit.leave(leave, &sampled.trace)?;
    if common.json {
        json::print(&sampled.document);
    } else {
        show(&sampled, spec.kind, common.quiet);
    }
    let reported = flags.no_report || {
        let about = About {
            spec: &spec,
            study: &study,
            seed: common.seed,
            command: command(),
        };
        let write = &mut |name: &str, bytes: &[u8]| folder.write_bytes(name, bytes);
        let written = report(
            write,
            &sampled.trace,
            &sampled.diagnosis,
            &sampled.document,
            &about,
        );
        folder.attempted_page("report.html", written)
    };
    session.finish(&mut sampled)?;
    Ok(Outcome::of(&sampled, reported, flags.strict))
}

fn header(study: &Study, session: &Session) {
    let (joint, settings, device) = (&session.subject, &session.settings, &session.chosen.label);
    terminal::note(format_args!(
        "fitzroy {}  stop-signal  {} subjects, {} trials, {} parameters  {device}  f64  seed {}",
        env!("CARGO_PKG_VERSION"),
        study.subjects.len(),
        study.rows.len(),
        joint.n_params(),
        settings.sampler.seed,
    ));
    let need = run::estimate(joint.model(), joint.binding(), settings);
    terminal::note(format_args!("memory  about {:.0} MB", need.bytes / 1e6));
    let on_gpus = [session.chosen.shares_text(), session.chosen.memory_text()];
    on_gpus.into_iter().flatten().for_each(terminal::note);
    let remarks = study.remarks.iter();
    remarks.for_each(|r| terminal::note(format_args!("data: {r}")));
    study
        .warnings
        .iter()
        .for_each(|w| terminal::note(format_args!("warning: {w}")));
    let integrated = integration::sentence(study);
    integrated.into_iter().for_each(terminal::note);
}

fn show(fit: &Fit, kind: Kind, quiet: bool) {
    let (diagnosis, outcome) = (&fit.diagnosis, fit.outcome.as_deref());
    let Some(outcome) = outcome.filter(|_| !quiet) else {
        terminal::out(verdict_line(diagnosis));
        return;
    };
    let (run, timing) = (&outcome.run, &outcome.timing);
    terminal::note(format_args!(
        "all     {} draws  {:.2} s (compile {:.2}, warm-up {:.2}, sampling {:.2})  {:.1} gradients a draw",
        run.chains.len() * run.n_draws(),
        timing.compile + timing.warmup + timing.sampling,
        timing.compile,
        timing.warmup,
        timing.sampling,
        run.mean_steps(),
    ));
    let plates: Vec<String> = outcome
        .centring
        .iter()
        .map(|(n, c)| format!("{n} {c:.2}"))
        .collect();
    let metric = run.metrics.first().map_or("none", |m| m.name());
    terminal::note(format_args!(
        "centring  {}   metric {metric}",
        plates.join(", ")
    ));
    terminal::out(diagnosis_text(diagnosis, &TextOptions::default()));
    let together = correlations_text(&fit.trace, kind);
    together.into_iter().for_each(terminal::out);
    let folder = fit.folder.as_deref().unwrap_or(Path::new(""));
    terminal::out(format_args!("wrote {}", folder.display()));
}
