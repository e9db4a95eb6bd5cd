//! `fitzroy stop-signal combine`.

use super::shared::text;
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use clap::Args;
use fitzroy::diagnose::Diagnosis;
use fitzroy::draws::{read_trace, write_netcdf};
use fitzroy::fit::sample::Settings;
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_report::report::RunFacts;
use fitzroy_session::chains::save;
use fitzroy_session::clock::Clock;
use fitzroy_session::folder::Folder;
use fitzroy_session::report::write_run;
use fitzroy_session::stop_signal::{Combined, Combining, combine};
use fitzroy_stop_signal::check::{self, Check, State};
use fitzroy_stop_signal::combine::{Block, Blocks, Proposal, join};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Flags of `fitzroy stop-signal combine`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal combine block-*/ --out study\n  \
    fitzroy stop-signal combine run/task-*/ --child-draws 500 --out study\n\n\
    Blocks are fits of disjoint children of one study, by `fit --block K/N`, of the same model with\n\
    the same priors; best with `--interim`. Exit 1 when the combination is not to be trusted. Writes trace.nc with the\n\
    draws of the population, summary.txt, .csv, .json, subjects.csv with every child given all\n\
    blocks, combine.json with the checks, model.fz and report.html.")]
pub(crate) struct CombineArgs {
    /// Folders of the blocks' fits
    #[arg(required = true, value_name = "BLOCK_FOLDER")]
    blocks: Vec<PathBuf>,
    /// Draws of every child that are used, of those that each block has [default: 500, or 2000 of
    /// children apart; half as many, or a quarter, if there are many children]
    #[arg(long, value_name = "N")]
    child_draws: Option<usize>,
    /// Chains
    #[arg(long, value_name = "N", default_value_t = 4)]
    chains: usize,
    /// Warm-up transitions per chain
    #[arg(long, value_name = "N", default_value_t = 300)]
    tune: usize,
    /// Draws of the population per chain
    #[arg(long, value_name = "N", default_value_t = 300)]
    draws: usize,
    /// No report.html
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Fewer draws of a child say nothing of their weights.
const FEWEST: usize = 20;
/// Draws of a child if nothing else is asked for: at least, at most, and of all children together, about,
/// in between.
const OF_BLOCKS: [usize; 3] = [250, 500, 100_000];
/// Likewise if all children are apart. Their weights depend little on the population, so that what is left
/// of the error is that of their number.
const APART: [usize; 3] = [500, 2000, 1_000_000];

/// Reads the blocks, combines, prints, writes.
pub(crate) fn run(args: &CombineArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let machine = args.common.machine()?;
    let child_draws = args.child_draws.unwrap_or(APART[1]);
    if child_draws < FEWEST || args.chains == 0 || args.draws == 0 {
        let message = format!(
            "--child-draws must be {FEWEST} or more, --chains and --draws above 0; got {child_draws}, {} \
             and {}",
            args.chains, args.draws
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let blocks = read(args, child_draws)?;
    if !args.common.quiet {
        terminal::note(format_args!(
            "{} blocks, {} subjects, {} draws of each",
            blocks.blocks.len(),
            blocks.n_subjects(),
            blocks.n_points
        ));
    }
    let mut folder = args
        .output
        .open("stop-signal-combine", &args.common.face(30.0))?;
    let stop = interrupt::catch()?;
    let how = Combining {
        sampler: Settings {
            chains: args.chains,
            tune: args.tune,
            draws: args.draws,
            threads: machine.threads,
            seed: args.common.seed,
            ..Settings::default()
        },
        face: args.common.face(30.0),
        stop: &stop,
        clock,
    };
    let Some(found) = combine(&blocks, how)? else {
        return Ok(Outcome::Interrupted);
    };
    let document = leave(args, &blocks, &found, &mut folder)?;
    if args.common.json {
        json::print(&document);
    } else {
        show(&found, args.common.quiet);
        terminal::out(format_args!("wrote {}", folder.path().display()));
    }
    folder.finish()?;
    Ok(match trusted(&found.checks) {
        true => Outcome::Done,
        false => Outcome::NotPassed,
    })
}

/// Writes the files; what `combine.json` holds.
fn leave(
    args: &CombineArgs,
    blocks: &Blocks,
    found: &Combined,
    folder: &mut Folder,
) -> Result<Value> {
    let Combined {
        fit,
        checks,
        subjects,
    } = found;
    write_netcdf(folder.path().join("trace.nc"), &fit.trace)?;
    save(folder, &fit.diagnosis, &fit.document);
    folder.write("subjects.csv", subjects)?;
    folder.write("model.fz", &blocks.text())?;
    folder.write("population.fz", &blocks.blocks[0].model)?;
    let document = document(blocks, checks, &fit.diagnosis);
    folder.write("combine.json", &format!("{document:#}\n"))?;
    if !args.no_report {
        let facts = RunFacts::from_document(&fit.document, "stop-signal-combine");
        write_run(folder, "report.html", &fit.trace, &fit.diagnosis, facts);
    }
    Ok(document)
}

fn trusted(checks: &[Check]) -> bool {
    checks.iter().all(|c| c.state != State::Fail)
}

fn read(args: &CombineArgs, child_draws: usize) -> Result<Blocks> {
    let one = |path: &PathBuf| block(path, child_draws);
    let mut blocks = join(args.blocks.iter().map(one).collect::<Result<_>>()?)?;
    if args.child_draws.is_none() {
        let apart = |b: &Block| matches!(b.proposal, Proposal::Interim(_));
        let [least, most, together] = match blocks.blocks.iter().all(apart) {
            true => APART,
            false => OF_BLOCKS,
        };
        blocks.thin((together / blocks.n_subjects().max(1)).clamp(least, most));
    }
    Ok(blocks)
}

fn block(path: &Path, n_points: usize) -> Result<Block> {
    let model = path.join("model.fz");
    if !model.exists() {
        let message = format!(
            "{}: this is not the folder of a finished stop-signal fit, as it has no model.fz",
            path.display()
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let trace = read_trace(path)?;
    let population = path.join("population.fz");
    let population = population.exists().then(|| text(&population)).transpose()?;
    Block::new(
        &path.display().to_string(),
        &text(&model)?,
        population.as_deref(),
        &trace,
        n_points,
    )
}

fn show(found: &Combined, quiet: bool) {
    if !quiet {
        let text = diagnosis_text(&found.fit.diagnosis, &TextOptions::default());
        terminal::out(text);
    }
    terminal::out(check::table(&found.checks).trim_end());
    if !trusted(&found.checks) {
        terminal::out(
            "The combination is not to be trusted: see what failed. More --child-draws, longer fits\n\
             of the blocks or larger blocks make it better; blocks that differ beyond chance are no\n\
             parts of one population.",
        );
    }
}

fn document(blocks: &Blocks, checks: &[Check], diagnosis: &Diagnosis) -> Value {
    let one = |c: &Check| json!({"check": c.name, "state": c.state.word(), "found": c.found, "needed": c.needed});
    let names = blocks.blocks.iter().map(
        |b| json!({"folder": b.name, "subjects": b.subjects.len(), "max_rhat": b.worst_r_hat}),
    );
    json!({
        "blocks": names.collect::<Vec<_>>(),
        "subjects": blocks.n_subjects(),
        "child_draws": blocks.n_points,
        "trusted": trusted(checks),
        "checks": checks.iter().map(one).collect::<Vec<_>>(),
        "population": Value::Object(diagnosis_json(diagnosis)),
    })
}
