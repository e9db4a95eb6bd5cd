//! Whole processes of this program on one problem, and what they say of themselves.

use super::problems::Problem;
use crate::args::Common;
use crate::invocation;
use clap::ValueEnum;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::probe;
use fitzroy_session::clock::unix_seconds;
use serde_json::{Map, Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Which rewrites are measured.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Rewrites {
    /// With them and without
    Both,
    /// With them
    Auto,
    /// Without
    Off,
}

impl Rewrites {
    /// What `--rewrites` of `sample` is given, in turn.
    pub(super) fn each(self) -> Vec<&'static str> {
        match self {
            Rewrites::Both => vec!["auto", "off"],
            Rewrites::Auto => vec!["auto"],
            Rewrites::Off => vec!["off"],
        }
    }
}

/// Standard deviations of the posterior by which a mean may miss the truth.
const NEAR: f64 = 5.0;

/// Writes NAME.fz and NAME.json of every problem.
pub(super) fn write_problems(folder: &Path, problems: &[Problem]) -> Result<()> {
    let refused = |error| {
        let message = format!("{} cannot be written: {error}", folder.display());
        Error::new(ErrorKind::Io, message)
    };
    fs::create_dir_all(folder).map_err(refused)?;
    for problem in problems {
        let [model, data] = files(folder, problem);
        fs::write(model, problem.model).map_err(refused)?;
        fs::write(data, problem.data.to_string()).map_err(refused)?;
    }
    Ok(())
}

fn files(folder: &Path, problem: &Problem) -> [PathBuf; 2] {
    ["fz", "json"].map(|ending| folder.join(format!("{}.{ending}", problem.name)))
}

/// A folder that goes when it is done with.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the system's temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What all measurements share.
pub(super) struct Bench {
    program: PathBuf,
    /// The compiler for GPU kernels that was asked for.
    compiler: Option<PathBuf>,
    /// What kernels are to compute in, where that was asked for.
    precision: Option<&'static str>,
    scratch: Scratch,
    threads: usize,
    repeats: usize,
    seed: u64,
}

impl Bench {
    /// With a folder of its own for files.
    pub(super) fn new(common: &Common, threads: usize, repeats: usize) -> Result<Self> {
        let program = invocation::program().map_err(|error| {
            let message = format!("the program cannot find its own file: {error}");
            Error::new(ErrorKind::Io, message)
        })?;
        let scratch = env::temp_dir().join(format!("fitzroy-bench-{}", std::process::id()));
        Ok(Bench {
            program,
            compiler: common.compiler.clone(),
            precision: common.asked_precision().map(|p| p.name()),
            scratch: Scratch(scratch),
            threads,
            repeats,
            seed: common.seed,
        })
    }

    /// Runs `problem` with `--rewrites HOW --sampler NAME`, once for every seed.
    pub(super) fn measure(&self, problem: &Problem, how: &str, sampler: &str) -> Result<Value> {
        let flags = ["--rewrites", how, "--sampler", sampler, "--device", "cpu"].map(String::from);
        let once = |k| {
            self.once(problem, &flags, self.seed + k as u64)
                .map(|run| run.0)
        };
        let runs = (0..self.repeats)
            .map(once)
            .collect::<Result<Vec<Value>>>()?;
        let mut row = Map::new();
        row.insert("problem".into(), json!(problem.name));
        row.insert("rewrites".into(), json!(how));
        row.insert("sampler".into(), json!(sampler));
        let [tune, draws, chains] = problem.counts;
        let configuration = json!({
            "tune": tune, "draws": draws, "chains": chains, "target_accept": problem.target_accept,
        });
        row.insert("configuration".into(), configuration);
        for key in MEASURES {
            row.insert(key.into(), spread(runs.iter().map(|r| r[key].as_f64())));
        }
        let all_converged = runs.iter().all(|r| r["converged"] == true);
        row.insert("converged".into(), json!(all_converged));
        row.insert("runs".into(), Value::Array(runs));
        Ok(Value::Object(row))
    }

    /// What kernels are to compute in; none where the GPU decides.
    pub(super) fn precision(&self) -> Option<&'static str> {
        self.precision
    }

    /// Runs of each.
    pub(super) fn repeats(&self) -> usize {
        self.repeats
    }

    /// The seed of the first.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// One process, and its answers looked at: what was measured, and all that it said.
    pub(super) fn once(
        &self,
        problem: &Problem,
        flags: &[String],
        seed: u64,
    ) -> Result<(Value, Value)> {
        let folder = &self.scratch.0;
        write_problems(folder, std::slice::from_ref(problem))?;
        let [model, data] = files(folder, problem);
        let [tune, draws, chains] = problem.counts.map(|n| n.to_string());
        let mut command = Command::new(&self.program);
        command.arg("sample").arg(model).arg("--data").arg(data);
        command.args(["--tune", &tune, "--draws", &draws, "--chains", &chains]);
        command.args(["--target-accept", &problem.target_accept.to_string()]);
        command.args(["--seed", &seed.to_string()]).args(flags);
        command.args(["--threads", &self.threads.to_string()]);
        if let Some(path) = &self.compiler {
            command.arg("--nvrtc").arg(path);
        }
        command.args(["--json", "--quiet", "--no-progress", "--no-report"]);
        // Results of an earlier run in the same place would have to be cleared away.
        let out = folder.join("run");
        let _ = fs::remove_dir_all(&out);
        command.arg("--out").arg(out);
        let (start, started) = (Instant::now(), unix_seconds());
        let done = command
            .output()
            .map_err(|error| failed(problem, &error.to_string()))?;
        let process_s = start.elapsed().as_secs_f64();
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(failed(problem, &format!("{} {}", done.status, said.trim())));
        }
        let said: Value = serde_json::from_slice(&done.stdout)
            .map_err(|error| failed(problem, &error.to_string()))?;
        check(problem, &said)?;
        Ok((measures(&said, started, process_s, seed), said))
    }

    /// Everything that was measured.
    pub(super) fn document(&self, name: &str, rows: &[Value]) -> Value {
        let cpu = probe::cpu();
        json!({
            "bench": name,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": commit(&self.program),
            "device": {
                "kind": "cpu", "name": cpu.model, "simd": probe::level_name(cpu.simd),
            },
            "threads": self.threads,
            "seed": self.seed,
            "repeats": self.repeats,
            "rows": rows,
        })
    }
}

/// What is said of every run, with its median and spread over the repeats.
const MEASURES: [&str; 19] = [
    "compile_s",
    "warmup_s",
    "sampling_s",
    "collecting_s",
    "written_s",
    "process_s",
    "min_ess_bulk",
    "min_ess_tail",
    "max_rhat",
    "divergences",
    "gradients",
    "ess_bulk_per_gradient",
    "peak_memory_mib",
    "ess_bulk_per_sampling_s",
    "ess_bulk_per_chains_s",
    "ess_bulk_per_written_s",
    "ess_tail_per_sampling_s",
    "ess_tail_per_chains_s",
    "ess_tail_per_written_s",
];

/// The numbers of one run whose process was started at `started`, from where `written_s` counts.
fn measures(said: &Value, started: f64, process_s: f64, seed: u64) -> Value {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let time = |key: &str| number(&said["timing_s"][key]);
    let written_s = (time("started") - started).max(0.0) + time("written");
    let chains_s = time("warmup") + time("sampling");
    let [bulk, tail] = ["min_ess_bulk", "min_ess_tail"].map(|key| number(&said[key]));
    json!({
        "seed": seed,
        "compile_s": time("compile"), "warmup_s": time("warmup"), "sampling_s": time("sampling"),
        "collecting_s": time("collecting"), "written_s": written_s, "process_s": process_s,
        "min_ess_bulk": bulk, "min_ess_tail": tail, "max_rhat": said["max_rhat"],
        "divergences": said["divergences"], "gradients": said["gradients"],
        "peak_memory_mib": number(&said["peak_memory_bytes"]) / f64::from(1 << 20),
        "ess_bulk_per_gradient": bulk / number(&said["gradients"]),
        "ess_bulk_per_sampling_s": bulk / time("sampling"),
        "ess_bulk_per_chains_s": bulk / chains_s,
        "ess_bulk_per_written_s": bulk / written_s,
        "ess_tail_per_sampling_s": tail / time("sampling"),
        "ess_tail_per_chains_s": tail / chains_s,
        "ess_tail_per_written_s": tail / written_s,
        "converged": said["converged"],
    })
}

/// Refuses to time a wrong answer.
fn check(problem: &Problem, said: &Value) -> Result<()> {
    let rows = said["summary"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, truth) in problem.truth {
        let row = rows.iter().find(|row| row["name"] == *name);
        let number = |key: &str| row.and_then(|row| row[key].as_f64()).unwrap_or(f64::NAN);
        let (mean, sd) = (number("mean"), number("sd"));
        // A NaN is not near either.
        if !((mean - truth).abs() < NEAR * sd) {
            let message =
                format!("{name} is {mean:.3} with sd {sd:.3}, and should be near {truth}");
            return Err(failed(problem, &message));
        }
    }
    Ok(())
}

fn failed(problem: &Problem, why: &str) -> Error {
    let message = format!("{}: {}; no time is reported", problem.name, why.trim());
    Error::new(ErrorKind::Numerics, message)
}

/// Median, least and greatest; null where nothing was said.
pub(super) fn spread(values: impl Iterator<Item = Option<f64>>) -> Value {
    let mut values: Vec<f64> = values.flatten().collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return Value::Null;
    }
    let median = 0.5 * (values[(n - 1) / 2] + values[n / 2]);
    json!({"median": median, "min": values[0], "max": values[n - 1]})
}

/// The commit of the working tree in which the program stands, where there is one and git is there.
fn commit(program: &Path) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(program.parent()?);
    let done = command.args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    (done.status.success()).then(|| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_between_the_least_and_the_greatest() {
        let found = spread([3.0, 1.0, 2.0, 10.0].map(Some).into_iter());
        assert_eq!(found, json!({"median": 2.5, "min": 1.0, "max": 10.0}));
        assert_eq!(spread([None].into_iter()), Value::Null);
    }

    #[test]
    fn a_wrong_answer_is_not_timed() {
        let problem = super::super::problems::eight_schools();
        let said = |mu: f64| {
            json!({"summary": [{"name": "mu", "mean": mu, "sd": 3.3},
                               {"name": "tau", "mean": 3.6, "sd": 3.2}]})
        };
        assert!(check(&problem, &said(4.0)).is_ok());
        let message = check(&problem, &said(40.0)).unwrap_err().to_string();
        assert!(message.contains("mu is 40.000"), "{message}");
        assert!(check(&problem, &json!({})).is_err());
    }
}
