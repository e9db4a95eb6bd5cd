//! `bench sample --device all`: the same problem on the CPU and on the GPU, with few and with many
//! chains and with teams of every kind, the same seed over and over; `--device cuda` and `cuda:all`: GPUs alone.

use super::page::Shown;
use super::problems::Problem;
use super::runs::{Bench, spread};
use super::show::median;
use crate::commands::plot;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::{Driver, Places, Trouble};
use fitzroy_report::draw::Scene;
use fitzroy_report::figure::{Bar, Style, bar_figure};
use fitzroy_session::device::label;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A way of running chains.
#[derive(Clone, Copy)]
struct Strategy {
    chains: usize,
    on: On,
}

/// What takes part.
#[derive(Clone, PartialEq)]
pub(super) struct Devices {
    /// The GPUs, which share the chains.
    pub(super) gpus: Vec<usize>,
    /// Whether the CPU does, too, and the GPUs only if they are there.
    pub(super) with_cpu: bool,
}

impl Devices {
    /// Multiprocessors of all GPUs together; why there are none.
    fn multiprocessors(&self, places: &Places) -> std::result::Result<usize, Trouble> {
        let driver = Driver::open(places)?;
        let mut sum = 0;
        for &number in &self.gpus {
            sum += driver.describe(number)?.multiprocessors as usize;
        }
        Ok(sum)
    }
}

/// What a chain runs on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// A thread of the CPU.
    Thread,
    /// So many threads of the GPU: a warp or a block.
    Team(usize),
    /// As many multiprocessors of the GPU as there are for it.
    Shard,
}

/// Those that are compared.
const STRATEGIES: [Strategy; 11] = {
    const fn way(chains: usize, on: On) -> Strategy {
        Strategy { chains, on }
    }
    [
        way(4, On::Thread),
        way(64, On::Thread),
        way(1024, On::Thread),
        way(4, On::Team(32)),
        way(4, On::Team(128)),
        way(4, On::Shard),
        way(64, On::Team(32)),
        way(64, On::Team(128)),
        way(64, On::Shard),
        way(1024, On::Team(32)),
        way(1024, On::Team(128)),
    ]
};

impl Strategy {
    /// `cpu, 4 chains` or `cuda:0, 64 chains, a warp each`.
    fn name(self, gpus: &str) -> String {
        let Strategy { chains, on } = self;
        match on {
            On::Thread => format!("cpu, {chains} chains"),
            On::Team(32) => format!("{gpus}, {chains} chains, a warp each"),
            On::Team(_) => format!("{gpus}, {chains} chains, a block each"),
            On::Shard => format!("{gpus}, {chains} chains, sharded"),
        }
    }

    /// `cpu` or `cuda:0`.
    fn device(self, gpus: &str) -> String {
        match self.on {
            On::Thread => "cpu".into(),
            _ => gpus.into(),
        }
    }

    /// Its word for `--team`.
    fn team(self) -> Option<String> {
        match self.on {
            On::Thread => None,
            On::Team(n) => Some(n.to_string()),
            On::Shard => Some("sharded".into()),
        }
    }

    fn flags(self, gpus: &str) -> Vec<String> {
        let mut flags = vec!["--device".to_string(), self.device(gpus)];
        if let Some(team) = self.team() {
            flags.extend(["--team".into(), team]);
        }
        flags
    }

    /// Whether it is asked for, and GPUs of so many multiprocessors, 0 without one, can do it.
    fn is_possible(self, devices: &Devices, multiprocessors: usize) -> bool {
        match self.on {
            On::Thread => devices.with_cpu,
            On::Team(_) => multiprocessors > 0,
            On::Shard => multiprocessors >= 2 * self.chains,
        }
    }
}

/// Standard errors by which means of two runs of one posterior may differ.
const APART: f64 = 4.0;

/// Measures every strategy with as many `chains` that this machine has a device for; `tell` is
/// given each row.
///
/// # Errors
/// A GPU was asked for and cannot be used; or a run failed.
pub(super) fn measure(
    bench: &Bench,
    problem: &Problem,
    places: &Places,
    (devices, chains): (&Devices, &[usize]),
    tell: &dyn Fn(&str),
) -> Result<Vec<Value>> {
    if let Some(other) = chains
        .iter()
        .find(|c| STRATEGIES.iter().all(|s| s.chains != **c))
    {
        let message = format!("--strategies: {other} chains are not compared; use 4, 64 or 1024");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let gpus = label(&devices.gpus);
    let found = devices.multiprocessors(places);
    let multiprocessors = *found.as_ref().unwrap_or(&0);
    if let Err(trouble) = found {
        if !devices.with_cpu {
            return Err(Error::from(trouble).context(format!("--device {gpus}")));
        }
        tell(&format!(
            "no GPU takes part: {trouble}; {}. The rows of the CPU stand alone",
            trouble.remedy()
        ));
    }
    let mut rows: Vec<Value> = Vec::new();
    let mut reference = Value::Null;
    for strategy in STRATEGIES {
        if !strategy.is_possible(devices, multiprocessors) || !chains.contains(&strategy.chains) {
            continue;
        }
        let (mut row, said) = repeated(bench, problem, strategy, &gpus)?;
        // The first stands for what the others have to agree with.
        match reference.is_null() {
            true => reference = said,
            false => row["agreement"] = agreement(&reference["summary"], &said["summary"]),
        }
        let same = |other: &&Value| {
            other["device"] == "cpu" && other["chains"].as_u64() == Some(strategy.chains as u64)
        };
        if let (false, Some(cpu)) = (strategy.on == On::Thread, rows.iter().find(same)) {
            row["speed_up"] = json!(median(cpu, "chains_s") / median(&row, "chains_s"));
        }
        tell(&line(&row));
        rows.push(row);
    }
    Ok(rows)
}

/// All repeats of one strategy with one seed, and what the last of them said.
fn repeated(
    bench: &Bench,
    problem: &Problem,
    strategy: Strategy,
    gpus: &str,
) -> Result<(Value, Value)> {
    // The total counts: many chains need few draws each.
    let [tune, draws, _] = match strategy.chains >= 1024 {
        true => [200.min(problem.counts[0]), 100.min(problem.counts[1]), 0],
        false => problem.counts,
    };
    let counted = Problem {
        counts: [tune, draws, strategy.chains],
        name: problem.name.clone(),
        data: problem.data.clone(),
        ..*problem
    };
    let mut flags = strategy.flags(gpus);
    if let (true, Some(name)) = (strategy.on != On::Thread, bench.precision()) {
        flags.extend(["--precision".into(), name.into()]);
    }
    let (mut runs, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeats() {
        let (mut run, said) = bench.once(&counted, &flags, bench.seed())?;
        let number = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
        let chains_s = number("warmup_s") + number("sampling_s");
        let per_s = number("gradients") / chains_s;
        run["chains_s"] = json!(chains_s);
        run["gradients_per_s"] = json!(per_s);
        runs.push(run);
        answers.push(said);
    }
    let last = answers.last().cloned().unwrap_or(Value::Null);
    let of = |key: &str| spread(runs.iter().map(|r| r[key].as_f64()));
    let repeatable = answers.iter().all(|a| a["summary"] == last["summary"]);
    let mut row = json!({
        "problem": problem.name,
        "strategy": strategy.name(gpus),
        "device": strategy.device(gpus),
        "name": last["device"]["name"],
        "precision": last["precision"],
        "chains": strategy.chains,
        "team": strategy.team(),
        "tune": tune,
        "draws": draws,
        "max_rhat": last["max_rhat"],
        "max_rhat_nested": last["max_rhat_nested"],
        "converged": last["converged"],
        "same_draws_every_time": repeatable,
    });
    for key in KEYS {
        row[key] = of(key);
    }
    let times = &row["chains_s"];
    let end = |key: &str| times[key].as_f64().unwrap_or(f64::NAN);
    row["time_spread"] = json!((end("max") - end("min")) / end("median"));
    row["runs"] = Value::Array(runs);
    Ok((row, last))
}

/// What is said with median and spread.
const KEYS: [&str; 11] = [
    "compile_s",
    "warmup_s",
    "sampling_s",
    "chains_s",
    "written_s",
    "process_s",
    "gradients",
    "gradients_per_s",
    "min_ess_bulk",
    "ess_bulk_per_chains_s",
    "ess_bulk_per_written_s",
];

/// How far two posteriors are apart: the largest difference of means in standard errors of their
/// difference, and the largest ratio of standard deviations.
fn agreement(one: &Value, other: &Value) -> Value {
    let rows = |summary: &Value| summary.as_array().cloned().unwrap_or_default();
    let (mut z, mut ratio) = (0.0f64, 1.0f64);
    for (a, b) in rows(one).iter().zip(&rows(other)) {
        let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        let error = number(a, "mcse_mean").hypot(number(b, "mcse_mean"));
        let apart = (number(a, "mean") - number(b, "mean")).abs() / error;
        let wide = number(a, "sd") / number(b, "sd");
        // What never changes has no error and no width.
        if apart.is_finite() && wide.is_finite() {
            z = z.max(apart);
            ratio = ratio.max(wide.max(1.0 / wide));
        }
    }
    json!({"means_apart_mcse": z, "sd_ratio": ratio, "agree": z <= APART && ratio <= 1.1})
}

/// One line for people.
fn line(row: &Value) -> String {
    let word = |key: &str| row[key].as_str().unwrap_or_default();
    let mut out = format!(
        "{:<34} {:<5} {:>8.1} ms (compile {:.1}, warm-up {:.1}, sampling {:.1}), spread {:.0} %  \
         {:.2e} gradients/s  {:.0} ESS/s  R-hat {:.4}",
        word("strategy"),
        word("precision"),
        1e3 * median(row, "chains_s"),
        1e3 * median(row, "compile_s"),
        1e3 * median(row, "warmup_s"),
        1e3 * median(row, "sampling_s"),
        100.0 * row["time_spread"].as_f64().unwrap_or(f64::NAN),
        median(row, "gradients_per_s"),
        median(row, "ess_bulk_per_chains_s"),
        row["max_rhat"].as_f64().unwrap_or(f64::NAN),
    );
    // Writing to a string cannot fail.
    if let Some(speed_up) = row["speed_up"].as_f64() {
        let _ = write!(out, "  {speed_up:.1} times the CPU");
    }
    if row["same_draws_every_time"] != true {
        out += "  DRAWS DIFFER FROM RUN TO RUN";
    }
    if row["agreement"]["agree"] == false {
        out += "  POSTERIOR DIFFERS";
    }
    out
}

/// Medians, a row each.
pub(super) fn csv(rows: &[Value]) -> String {
    let mut out = format!("strategy,precision,chains,converged,{}\n", KEYS.join(","));
    for row in rows {
        let cells: Vec<String> = KEYS.iter().map(|k| median(row, k).to_string()).collect();
        let _ = writeln!(
            out,
            "\"{}\",{},{},{},{}",
            row["strategy"].as_str().unwrap_or_default(),
            row["precision"].as_str().unwrap_or_default(),
            row["chains"],
            row["converged"] == true,
            cells.join(",")
        );
    }
    out
}

/// Gradients a second, bars for CPU and GPU in two colours.
pub(super) fn figure(path: &Path, rows: &[Value]) -> Result<()> {
    plot::write_scene(path, "--figure", &scene(rows))
}

fn scene(rows: &[Value]) -> Scene {
    let bar = |row: &Value| {
        let end = |key: &str| row["gradients_per_s"][key].as_f64();
        let name = row["strategy"].as_str().unwrap_or_default();
        let mut bar = Bar::new(name, median(row, "gradients_per_s"));
        bar.spread = end("min").zip(end("max")).map(|(low, high)| [low, high]);
        bar.series = usize::from(row["device"] != "cpu");
        bar
    };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    let title = "Gradients a second of all chains, warm-up and sampling";
    bar_figure(&bars, title, "gradients per second", &Style::default())
}

/// The page of a comparison, as HTML.
pub(super) fn page(document: &Value, rows: &[Value]) -> String {
    let shown = Shown {
        document,
        kind: "CPU beside GPU",
        names: &["strategy", "precision", "chains"],
        columns: &KEYS,
        rate: "gradients_per_s",
        scene: scene(rows),
        csv: csv(rows),
    };
    shown.html()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(mean: f64, sd: f64) -> Value {
        json!([{"mean": mean, "sd": sd, "mcse_mean": 0.01},
               {"mean": 1.0, "sd": 0.0, "mcse_mean": 0.0}])
    }

    #[test]
    fn posteriors_agree_within_their_errors_and_widths() {
        let agree = |mean, sd| agreement(&summary(0.0, 1.0), &summary(mean, sd))["agree"].clone();
        assert_eq!(agree(0.03, 1.05), true);
        assert_eq!(agree(0.1, 1.0), false);
        assert_eq!(agree(0.0, 1.2), false);
    }

    #[test]
    fn chains_are_spread_where_there_are_multiprocessors_for_them() {
        let possible = |with_cpu, n| {
            let devices = &Devices {
                gpus: vec![1],
                with_cpu,
            };
            let possible = STRATEGIES.iter().filter(|s| s.is_possible(devices, n));
            possible.count()
        };
        let all = [0, 1, 8, 132].map(|n| possible(true, n));
        assert_eq!(all, [3, 9, 10, 11]);
        // The CPU does not take part where a GPU was asked for.
        assert_eq!(possible(false, 132), 8);
    }

    #[test]
    fn strategies_have_names_of_their_own() {
        let mut names: Vec<String> = STRATEGIES.iter().map(|s| s.name("cuda:0")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), STRATEGIES.len());
    }
}
