//! `fitzroy weather train`.

use super::flags::TrainArgs;
use crate::exit::Outcome;
use crate::requests::{Words, matches};
use crate::{face, interrupt, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::Result;
use fitzroy_session::clock::Clock;
use fitzroy_session::face::Face;
use fitzroy_session::weather::{Start, Trained, Training, ensemble_folder, member_name, pages};
use fitzroy_weather::train::{BesideStart, Ended, Event, Found, newest};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Trains.
pub(crate) fn run(args: &TrainArgs) -> Result<Outcome> {
    if args.members > 1 && !args.dry_run {
        return ensemble(args);
    }
    let gpu = args.machine.gpu()?;
    let threads = args.threads(gpu.is_some())?;
    args.machine.warn();
    let (clock, face) = (Clock::start(), face::notes());
    let training = Training::new(&args.request(threads)?, gpu, &*face)?;
    let talks = args.machine.talks();
    if let Some(carried) = training.carried.as_ref().filter(|_| talks) {
        carried.lines().iter().for_each(terminal::note);
    }
    match talks {
        true => training.contents.lines().iter().for_each(terminal::note),
        false => training.contents.warnings().iter().for_each(terminal::note),
    }
    if args.dry_run {
        match args.machine.json {
            true => json::print(&plan_json(&training)),
            false => terminal::out(plan_text(&training)),
        }
        return Ok(Outcome::Done);
    }
    if args.find_lr {
        return search(args, training, (clock, &face));
    }
    if let Some((found, ended)) = training.ended() {
        return Ok(nothing_left(args, found, ended));
    }
    let opened = training.open(args.out.as_deref(), &face)?;
    if talks {
        terminal::note(plan_text(&training));
    }
    let stop = interrupt::catch_with("stopping: a checkpoint will be written")?;
    let observer = |event: &Event<'_>| {
        if talks {
            tell(event, args.machine.verbose);
        }
    };
    let until = (&*stop, clock);
    let trained = training.run(&opened, until, &observer, args.profile, &*face)?;
    show(args, &trained, &opened.folder)?;
    trained.advice().iter().for_each(terminal::note);
    if !trained.outcome.unwritten.is_empty() {
        return Ok(Outcome::NotPassed);
    }
    Ok(match trained.outcome.ended {
        Ended::Finished | Ended::Early | Ended::Profiled => Outcome::Done,
        Ended::Interrupted => Outcome::Interrupted,
        Ended::Degenerate | Ended::Diverged => Outcome::NotPassed,
    })
}

/// Trains by settings, see [`crate::requests::train`].
pub(crate) fn train(
    words: &Words,
    stop: &AtomicBool,
    observer: &(dyn Fn(&Event<'_>) + Sync),
    face: &Arc<dyn Face>,
) -> Result<Value> {
    train_with(&[], words, stop, observer, face)
}

/// The same with flags before the settings.
pub(super) fn train_with(
    flags: &[&str],
    words: &Words,
    stop: &AtomicBool,
    observer: &(dyn Fn(&Event<'_>) + Sync),
    face: &Arc<dyn Face>,
) -> Result<Value> {
    let parser = TrainArgs::augment_args(clap::Command::new("train"));
    let mut found = matches(parser, words, flags)?;
    let args = TrainArgs::from_arg_matches_mut(&mut found);
    let args = args.expect("matches of the same flags");
    if args.members > 1 && !args.dry_run {
        let done = members(&args, stop, observer, face, &|_, _| {})?;
        return Ok(members_json(&done));
    }
    let (clock, gpu) = (Clock::start(), args.machine.gpu()?);
    let threads = args.threads(gpu.is_some())?;
    let training = Training::new(&args.request(threads)?, gpu, &**face)?;
    if args.dry_run {
        return Ok(plan_json(&training));
    }
    if args.find_lr {
        let found = training.find_rate(args.out.as_deref(), (stop, clock), face)?;
        return Ok(found.map_or(json!({"ended": "interrupted"}), |found| found.document));
    }
    if let Some((found, ended)) = training.ended() {
        return Ok(nothing_left_json(found, ended));
    }
    let opened = training.open(args.out.as_deref(), face)?;
    let until = (stop, clock);
    let trained = training.run(&opened, until, observer, args.profile, &**face)?;
    let mut document = trained.document.clone();
    document["advice"] = json!(trained.advice());
    Ok(document)
}

/// Members that were trained, and the folder of all of them.
struct Members {
    folder: PathBuf,
    documents: Vec<Value>,
    /// How the last one ended.
    ended: Ended,
}

/// Trains members one after the other, until all have ended or one does not end well. `begins` is
/// told of each.
fn members(
    args: &TrainArgs,
    stop: &AtomicBool,
    observer: &(dyn Fn(&Event<'_>) + Sync),
    face: &Arc<dyn Face>,
    begins: &dyn Fn(usize, &Training),
) -> Result<Members> {
    let folder = ensemble_folder(args.out.as_deref().or(args.resume_from.as_deref()), face)?;
    let (mut documents, mut last) = (Vec::new(), Ended::Finished);
    for number in 1..=args.members {
        let (clock, gpu) = (Clock::start(), args.machine.gpu()?);
        let mut request = args.request(args.threads(gpu.is_some())?)?;
        request.settings.seed += number as u64 - 1;
        let own = folder.join(member_name(number));
        let begun = args.resume_from.is_some() && !newest(&own).is_empty();
        request.start = match (begun, args.start()) {
            (true, _) => Start::Resume(own.clone()),
            (false, Start::Resume(_)) => args.fresh(),
            (false, start) => start,
        };
        let training = Training::new(&request, gpu, &**face)?;
        begins(number, &training);
        if let Some((found, ended)) = training.ended() {
            documents.push(nothing_left_json(found, ended));
            continue;
        }
        let opened = training.open(Some(&own), face)?;
        let trained = training.run(&opened, (stop, clock), observer, args.profile, &**face)?;
        let mut document = trained.document.clone();
        document["advice"] = json!(trained.advice());
        documents.push(document);
        last = trained.outcome.ended;
        if !matches!(last, Ended::Finished | Ended::Early | Ended::Profiled) {
            break;
        }
    }
    Ok(Members {
        folder,
        documents,
        ended: last,
    })
}

fn members_json(done: &Members) -> Value {
    json!({
        "out": done.folder.display().to_string(),
        "ended": format!("{:?}", done.ended).to_lowercase(), "members": done.documents,
    })
}

/// Trains an ensemble and says so.
fn ensemble(args: &TrainArgs) -> Result<Outcome> {
    args.machine.warn();
    let (face, talks) = (face::notes(), args.machine.talks());
    let stop = interrupt::catch_with("stopping: a checkpoint will be written")?;
    let observer = |event: &Event<'_>| {
        if talks {
            tell(event, args.machine.verbose);
        }
    };
    let begins = |number: usize, training: &Training| {
        if talks {
            let seed = training.settings.seed;
            terminal::note(format_args!(
                "member {number} of {}, seed {seed}",
                args.members
            ));
        }
    };
    let done = members(args, &stop, &observer, &face, &begins)?;
    if args.machine.json {
        json::print(&members_json(&done));
    } else {
        for (k, member) in done.documents.iter().enumerate() {
            terminal::out(format_args!(
                "{}: {}, {} steps, best validation loss {}",
                member_name(k + 1),
                member["ended"].as_str().unwrap_or_default(),
                member["steps"],
                member["best_validation_loss"]
                    .as_f64()
                    .map_or("–".into(), |x| format!("{x:.5}")),
            ));
        }
        terminal::out(format_args!("wrote {}", done.folder.display()));
    }
    let unwritten = |m: &Value| m["unwritten"].as_array().is_some_and(|all| !all.is_empty());
    Ok(match done.ended {
        Ended::Interrupted => Outcome::Interrupted,
        Ended::Degenerate | Ended::Diverged => Outcome::NotPassed,
        _ if done.documents.iter().any(unwritten) => Outcome::NotPassed,
        _ => Outcome::Done,
    })
}

/// Finds a learning rate.
fn search(
    args: &TrainArgs,
    training: Training,
    (clock, face): (Clock, &Arc<dyn Face>),
) -> Result<Outcome> {
    let stop = interrupt::catch_with("stopping: no rate will be suggested")?;
    let found = training.find_rate(args.out.as_deref(), (&*stop, clock), face)?;
    let Some(found) = found else {
        terminal::note("stopped early: no rate is suggested");
        return Ok(Outcome::Interrupted);
    };
    if args.machine.json {
        json::print(&found.document);
    } else {
        match found.rates.suggested {
            Some(rate) => terminal::out(format_args!("suggested: --learning-rate {rate:e}")),
            None => terminal::out("the loss fell at no rate: nothing is suggested"),
        }
        terminal::out(format_args!("wrote {}", found.folder.display()));
    }
    Ok(match found.rates.suggested {
        Some(_) => Outcome::Done,
        None => Outcome::NotPassed,
    })
}

/// Losses, what they are beside the start's, and files.
fn show(args: &TrainArgs, trained: &Trained, folder: &Path) -> Result<()> {
    let outcome = &trained.outcome;
    if let Some(found) = &outcome.profile {
        let table = pages::profile(folder, found, &*face::notes())?;
        if !args.machine.json && !args.machine.quiet {
            terminal::out(table.trim_end());
        }
    }
    if args.machine.json {
        json::print(&trained.document);
        return Ok(());
    }
    let best = outcome.progress.best_loss;
    let best = best.map_or("none".to_string(), |loss| format!("{loss:.5}"));
    terminal::out(format_args!(
        "{} steps, last loss {:.5}, best validation loss {best}, {:.1} s; data wait {:.1} %",
        outcome.progress.step,
        outcome.last_loss,
        trained.total_s,
        100.0 * outcome.data_wait
    ));
    if !outcome.beside_start.is_empty() {
        terminal::out(beside_text(&outcome.beside_start).trim_end());
    }
    terminal::out(format_args!("wrote {}", folder.display()));
    Ok(())
}

/// Says that a run has ended before, and touches nothing.
fn nothing_left(args: &TrainArgs, found: &Found, ended: Ended) -> Outcome {
    let step = found.checkpoint.progress.step;
    let more = match ended {
        Ended::Early => "validation had not improved for long; a larger --early-stopping-patience",
        _ => "all its steps are done; a larger --num-epochs or --max-steps",
    };
    terminal::note(format_args!(
        "{}: nothing is left to do at step {step}: {more} goes on",
        found.path.display()
    ));
    if args.machine.json {
        json::print(&nothing_left_json(found, ended));
    }
    Outcome::Done
}

fn nothing_left_json(found: &Found, ended: Ended) -> Value {
    let progress = &found.checkpoint.progress;
    json!({
        "out": found.path.parent().map(|p| p.display().to_string()),
        "ended": format!("{ended:?}").to_lowercase(), "steps": progress.step,
        "epoch": progress.epoch, "nothing_to_do": true,
    })
}

/// Whether training has made forecasts better, lead by lead.
fn beside_text(found: &[BesideStart]) -> String {
    let lines = found.iter().map(|b| {
        format!(
            "{:>8} h  RMSE x {:.3}  ahead on {} of {}{}\n",
            b.lead_hours,
            b.ratio,
            b.ahead.0,
            b.ahead.1,
            if b.ratio < 1.0 { "" } else { "  behind" }
        )
    });
    format!(
        "best checkpoint beside the untrained start, on validation forecasts:\n{}",
        lines.collect::<String>()
    )
}

fn tell(event: &Event<'_>, verbose: bool) {
    match event {
        Event::Step {
            step,
            planned,
            epoch,
            loss,
            rate,
            norm,
            samples_per_s,
            gflops,
            data_wait,
            eta_s,
            device_bytes,
        } => {
            let memory = device_bytes.map_or(String::new(), |bytes| {
                format!("GPU memory {:.2} GiB  ", bytes as f64 / f64::from(1 << 30))
            });
            terminal::note(format_args!(
                "step {step}/{planned}  epoch {epoch}  loss {loss:.5}  rate {rate:.2e}  \
                 norm {norm:.3}  {samples_per_s:.1} samples/s  {gflops:.1} GFLOP/s  \
                 {memory}wait {:.1} %  ETA {eta_s:.0} s",
                100.0 * data_wait
            ));
        }
        Event::Validation {
            step,
            loss,
            ratio,
            best,
        } => {
            let mark = if *best { "  best so far" } else { "" };
            terminal::note(format_args!(
                "step {step}  validation loss {loss:.5}  near and far {ratio:.3} of the start's\
                 {mark}"
            ));
        }
        Event::Saved(path) if verbose => {
            terminal::note(format_args!("saved {}", path.display()));
        }
        Event::Saved(_) => {}
        Event::Note(text) => terminal::note(text),
    }
}

fn plan_text(training: &Training) -> String {
    let (plan, settings, place) = (&training.plan, &training.settings, &training.place);
    let sets: Vec<String> = plan
        .sets
        .iter()
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
    let parts: Vec<String> = plan
        .bytes
        .iter()
        .map(|(name, bytes)| format!("{name} {}", mib(*bytes)))
        .collect();
    format!(
        "{}; {} nodes pruned\n{} parameters; {:.2} GFLOP a step of {} x {} windows\n\
         memory {}: {}\n{} training windows ({} records lost to gaps and borders); {} steps an \
         epoch, {} planned; seed {}, {place}",
        sets.join(", "),
        plan.n_pruned,
        plan.n_parameters,
        plan.flops_per_step as f64 / 1e9,
        settings.accumulate,
        settings.batch_size,
        mib(plan.total_bytes()),
        parts.join(", "),
        plan.windows.0,
        plan.windows.1,
        plan.steps.0,
        plan.steps.1,
        settings.seed,
    )
}

fn plan_json(training: &Training) -> Value {
    let (plan, settings, place) = (&training.plan, &training.settings, &training.place);
    let bytes: serde_json::Map<String, Value> = plan
        .bytes
        .iter()
        .map(|(name, bytes)| (name.to_string(), (*bytes).into()))
        .collect();
    let sets: serde_json::Map<String, Value> = plan
        .sets
        .iter()
        .map(|(name, n)| (name.clone(), (*n).into()))
        .collect();
    let data = &training.problem.archive.values;
    let in_file = if data.in_file() { 4 * data.len() } else { 0 };
    json!({
        "sets": sets, "pruned": plan.n_pruned, "data_in_file_bytes": in_file, "parameters": plan.n_parameters,
        "flops_per_step": plan.flops_per_step, "bytes": bytes,
        "total_bytes": plan.total_bytes(), "fits": true, "batch_size": settings.batch_size,
        "steps_per_epoch": plan.steps.0, "planned_steps": plan.steps.1,
        "training_windows": plan.windows.0, "records_lost": plan.windows.1, "device": place,
        "free_bytes": settings.memory_bytes, "init_from": training.problem.provenance.origin,
    })
}
