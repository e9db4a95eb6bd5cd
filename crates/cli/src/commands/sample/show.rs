//! What `sample` says on the terminal.

use crate::args::Common;
use crate::terminal;
use fitzroy::model::joint::Joint;
use fitzroy::report::{TextOptions, diagnosis_text, verdict_line};
use fitzroy::run::{Outcome, n_observations};
use fitzroy_device::lanes::Level;
use fitzroy_device::probe::level_name;
use fitzroy_session::{Fit, Sampled, Session};
use std::path::Path;

/// One line before the work: what will run, and on what.
pub(super) fn header(model: &Path, session: &Session) {
    header_of(model, &observations(&session.subject), session);
}

/// The same, with what is said of the data.
pub(super) fn header_of<S: Sampled>(model: &Path, data: &str, session: &Session<S>) {
    let (settings, chosen) = (&session.settings, &session.chosen);
    let file = model
        .file_name()
        .unwrap_or(model.as_os_str())
        .to_string_lossy();
    let threads = settings.sampler.threads.min(settings.sampler.chains);
    terminal::note(format_args!(
        "fitzroy {}  {file}  {}, {}  cpu {}, {}  {}  seed {}",
        env!("CARGO_PKG_VERSION"),
        count(session.subject.subject().n_coordinates(), "parameter"),
        data,
        level_name(Level::detect()),
        count(threads, "thread"),
        settings.precision.name(),
        settings.sampler.seed,
    ));
    if chosen.is_news {
        terminal::note(format_args!(
            "device: {} ({}), {}",
            chosen.label, chosen.name, chosen.reason
        ));
    }
    let more = [chosen.shares_text(), chosen.memory_text()];
    more.into_iter().flatten().for_each(terminal::note);
}

/// How many values have a distribution; where none has, that the likelihood is in `target`.
fn observations(joint: &Joint) -> String {
    match (n_observations(joint), joint.n_potentials()) {
        (0, n) if n > 0 => "data in target alone".into(),
        (n, _) => count(n, "observation"),
    }
}

/// The files of a run. Very many draws are in the store alone, and some of these are not there.
const FILES: [&str; 5] = [
    "trace.nc",
    "summary.txt",
    "summary.csv",
    "summary.json",
    "run.json",
];

/// Verdict, findings, table, times and files.
pub(super) fn result(fit: &Fit, common: &Common) {
    let (diagnosis, outcome) = (&fit.diagnosis, fit.outcome.as_deref());
    let Some(outcome) = outcome.filter(|_| !common.quiet) else {
        terminal::out(verdict_line(diagnosis));
        return;
    };
    let (run, timing) = (&outcome.run, &outcome.timing);
    for rewrote in &outcome.rewrites {
        terminal::note(format_args!(
            "rewritten   {}: {}",
            rewrote.kind, rewrote.what
        ));
    }
    let draws = run.chains.len() * outcome.n_draws();
    if run.gradients > 0 {
        terminal::note(coordinates(outcome));
        terminal::note(format_args!(
            "all     {}  {:.2} s (compile {:.2}, warm-up {:.2}, sampling {:.2})  {:.1} gradients a draw",
            count(draws, "draw"),
            timing.compile + timing.warmup + timing.sampling,
            timing.compile,
            timing.warmup,
            timing.sampling,
            (run.gradients - run.warmup_gradients) as f64 / draws.max(1) as f64,
        ));
    } else {
        terminal::note(format_args!(
            "all     {}  {:.2} s  drawn independently, without a sampler",
            count(draws, "draw"),
            timing.compile + timing.sampling
        ));
    }
    if common.verbose > 0 {
        for (chain, step) in run.step_sizes.iter().enumerate() {
            terminal::note(format_args!("chain {chain}  step size {step:.3}"));
        }
    }
    if run.until_reached == Some(false) && !run.interrupted {
        terminal::note(format_args!(
            "not as good as asked after {} draws per chain: give more with --max-draws",
            run.n_draws()
        ));
    }
    if run.interrupted {
        terminal::note(format_args!(
            "stopped early: {} draws per chain were kept; --resume goes on",
            outcome.n_draws()
        ));
    }
    terminal::note("");
    if outcome.group == "prior" {
        terminal::out("these are draws from the prior, without the data");
    }
    terminal::out(diagnosis_text(diagnosis, &TextOptions::default()));
    let folder = fit.folder.as_deref().unwrap_or(Path::new(""));
    let there = FILES.iter().map(|name| folder.join(name));
    let there = there.filter(|path| path.exists());
    let there: Vec<String> = there.map(|path| path.display().to_string()).collect();
    terminal::out(format_args!("wrote {}", there.join("  ")));
}

/// `coordinates  mu_group centred (c 0.97)   metric dense`
fn coordinates(outcome: &Outcome) -> String {
    let word = |c: f64| match c {
        c if c > 0.9 => "centred",
        c if c < 0.1 => "non-centred",
        _ => "between",
    };
    let mut plates: Vec<String> = outcome
        .centring
        .iter()
        .map(|(name, c)| format!("{name} {} (c {c:.2})", word(*c)))
        .collect();
    if plates.is_empty() {
        plates.push("as written".into());
    }
    let metric = outcome.run.metrics.first().map_or("none", |m| m.name());
    let past_turn = match outcome.run.past_turn {
        true => "   trajectories past the turn",
        false => "",
    };
    let stricter = match outcome.run.stricter {
        Some(accept) => format!("   steps tuned to acceptance {accept}"),
        None => String::new(),
    };
    let integrator = match outcome.run.integrator() {
        "leapfrog" => String::new(),
        other => format!("   steps by {other}"),
    };
    format!(
        "coordinates  {}   metric {metric}{integrator}{stricter}{past_turn}",
        plates.join(", ")
    )
}

/// `1 thread`, `1,000 draws`.
fn count(n: usize, thing: &str) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{out} {thing}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_read_as_people_write_them() {
        assert_eq!(count(1, "thread"), "1 thread");
        assert_eq!(count(103, "parameter"), "103 parameters");
        assert_eq!(count(1_000, "draw"), "1,000 draws");
        assert_eq!(count(12_345_678, "draw"), "12,345,678 draws");
    }
}
