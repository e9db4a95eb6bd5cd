//! `fitzroy weather train`.

use super::common::Taken;
use super::flags::TrainArgs;
use super::pages;
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use fitzroy::Result;
use fitzroy_session::clock::Clock;
use fitzroy_weather::train::{
    BesideStart, Caller, Ended, Event, Found, Plan, Settings, Target, find, resumed, train_on,
};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Trains.
pub(crate) fn run(args: &TrainArgs) -> Result<Outcome> {
    let gpu = args.machine.gpu()?;
    let threads = match gpu {
        Some(_) => args.machine.host_threads()?,
        None => args.machine.threads()?,
    };
    args.machine.warn();
    let clock = Clock::start();
    let (problem, contents) = args.problem()?;
    if args.machine.talks() {
        contents.lines().iter().for_each(terminal::note);
    } else {
        contents.warnings().iter().for_each(terminal::note);
    }
    let known = gpu.as_ref().map(|gpu| (gpu.math, gpu.free_bytes));
    let (settings, planned) = args.settings(&problem, threads, known)?;
    let place = place(gpu.as_ref(), threads);
    if args.dry_run {
        if args.machine.json {
            json::print(&plan_json(&planned, &settings, &place));
        } else {
            terminal::out(plan_text(&planned, &settings, &place));
        }
        return Ok(Outcome::Done);
    }
    let found = args.resume_from.as_deref().map(find).transpose()?;
    if let Some(found) = &found {
        for note in &found.notes {
            terminal::note(note);
        }
        if let Some(ended) = resumed(&problem, &settings, &found.checkpoint)? {
            return Ok(nothing_left(args, found, ended));
        }
        let step = found.checkpoint.progress.step;
        terminal::note(format_args!(
            "going on from {}, step {step}",
            found.path.display()
        ));
    }
    let (folder, _lock) = args.folder(found.as_ref().map(|f| f.path.as_path()))?;
    let data: Vec<String> = args.paths().map(|p| p.display().to_string()).collect();
    pages::begin(
        &folder,
        (&data, &contents),
        &problem.architecture,
        (&settings, &planned, &place),
    )?;
    if args.machine.talks() {
        terminal::note(plan_text(&planned, &settings, &place));
    }
    let stop = interrupt::catch_with("stopping: a checkpoint will be written")?;
    let talks = args.machine.talks();
    let observer = |event: &Event<'_>| {
        if talks {
            tell(event, args.machine.verbose);
        }
    };
    let caller = Caller {
        now: &|| clock.seconds(),
        wall_time: &|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.map_or(0.0, |d| d.as_secs_f64())
        },
        stop: &stop,
        observer: &observer,
        profile: args.profile.then(|| {
            let clock: fitzroy_device::nn::Clock = std::sync::Arc::new(move || clock.seconds());
            clock
        }),
    };
    let target = gpu.map_or(Target::Cpu, |gpu| {
        Target::Device(Box::new(gpu.work), gpu.math)
    });
    let outcome = train_on(
        target,
        &problem,
        &settings,
        found.map(|f| f.checkpoint),
        &folder,
        &caller,
    )?;
    let p = &outcome.progress;
    let document = json!({
        "out": folder.display().to_string(), "seed": settings.seed,
        "ended": format!("{:?}", outcome.ended).to_lowercase(), "steps": p.step,
        "epoch": p.epoch, "last_loss": json::number(outcome.last_loss),
        "best_validation_loss": p.best_loss.map_or(Value::Null, json::number),
        "skipped_updates": p.n_skipped, "data_wait": json::number(outcome.data_wait),
        "first_step_s": json::number(outcome.step_s.0),
        "median_step_s": json::number(outcome.step_s.1), "total_s": clock.seconds(),
        "parameters": planned.n_parameters,
        "beside_start": beside_json(&outcome.beside_start),
    });
    pages::end(&folder, &document)?;
    if let Some(found) = &outcome.profile {
        let table = pages::profile(&folder, found)?;
        if !args.machine.json && !args.machine.quiet {
            terminal::out(table.trim_end());
        }
    }
    if args.machine.json {
        json::print(&document);
    } else {
        let best = p
            .best_loss
            .map_or("none".to_string(), |loss| format!("{loss:.5}"));
        terminal::out(format_args!(
            "{} steps, last loss {:.5}, best validation loss {best}, {:.1} s; data wait {:.1} %",
            p.step,
            outcome.last_loss,
            clock.seconds(),
            100.0 * outcome.data_wait
        ));
        if !outcome.beside_start.is_empty() {
            terminal::out(beside_text(&outcome.beside_start).trim_end());
        }
        terminal::out(format_args!("wrote {}", folder.display()));
    }
    if outcome.data_wait > 0.1 {
        terminal::note(
            "more than a tenth of the time was spent waiting for data: raise \
             --prefetch-buffer-size, or train with fewer threads so that one is left for data",
        );
    }
    warn_behind(&outcome.beside_start);
    Ok(ended(outcome.ended))
}

/// Says at which leads the best checkpoint is behind its start.
fn warn_behind(found: &[BesideStart]) {
    let behind = found.iter().filter(|b| !(b.ratio < 1.0));
    let behind: Vec<String> = behind.map(|b| b.lead_hours.to_string()).collect();
    if !behind.is_empty() {
        terminal::note(format_args!(
            "behind its untrained start at {} h: train on longer forecasts (--rollout-steps), on \
             more data, or longer",
            behind.join(", ")
        ));
    }
}

/// The exit of a run, with a word where it did not succeed.
fn ended(ended: Ended) -> Outcome {
    match ended {
        Ended::Degenerate => {
            terminal::note(
                "the last loss is 0 or not finite: nothing can have been learnt. Look at the data: \
                 a channel that never changes, or a fill value that is taken for a number",
            );
            Outcome::NotPassed
        }
        Ended::Finished | Ended::Early => Outcome::Done,
        Ended::Interrupted => Outcome::Interrupted,
        Ended::Diverged => {
            terminal::note(
                "the gradient was not finite three times in a row; the last good checkpoint \
                 stands. Lower --learning-rate, or look at the data",
            );
            Outcome::NotPassed
        }
    }
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
        json::print(&json!({
            "out": found.path.parent().map(|p| p.display().to_string()),
            "ended": format!("{ended:?}").to_lowercase(), "steps": step,
            "epoch": found.checkpoint.progress.epoch, "nothing_to_do": true,
        }));
    }
    Outcome::Done
}

fn beside_json(found: &[BesideStart]) -> Value {
    let one = |b: &BesideStart| {
        json!({
            "lead_hours": b.lead_hours, "rmse_ratio": json::number(b.ratio),
            "variables_ahead": b.ahead.0, "variables": b.ahead.1,
        })
    };
    found.iter().map(one).collect()
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

/// Where the work is done, in words.
fn place(gpu: Option<&Taken>, threads: usize) -> String {
    match gpu {
        Some(gpu) => format!("{}, {}", gpu.label, gpu.math.name()),
        None => format!("{threads} threads"),
    }
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

fn plan_text(plan: &Plan, settings: &Settings, place: &str) -> String {
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

fn plan_json(plan: &Plan, settings: &Settings, place: &str) -> Value {
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
    json!({
        "sets": sets, "pruned": plan.n_pruned, "parameters": plan.n_parameters,
        "flops_per_step": plan.flops_per_step, "bytes": bytes,
        "total_bytes": plan.total_bytes(), "fits": true, "batch_size": settings.batch_size,
        "steps_per_epoch": plan.steps.0, "planned_steps": plan.steps.1,
        "training_windows": plan.windows.0, "records_lost": plan.windows.1, "device": place,
        "free_bytes": settings.memory_bytes,
    })
}
