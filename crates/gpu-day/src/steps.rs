//! The steps: each finds out one thing and returns its numbers.

use crate::models::{M1, M1_WHOLE, M2, M2_WHOLE, SCHOOLS};
use crate::others::{peers, peers_many, sanitizer};
use crate::sampler::{
    compile, converge, equal, lower, memory, repeat, speed, speed_up, stop, too_many, verified,
};
use crate::{curves, meetings, resume, stop_signal, weather};
use fitzroy::run::Team;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::Places;
use fitzroy_device::gpu::text::Precision;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What all steps are given.
pub(crate) struct Setup<'a> {
    /// A Python for the peers.
    pub(crate) peers: Option<&'a Path>,
    /// Whether problems are small: no GPU is there, and it is tried whether all of it runs.
    pub(crate) small: bool,
}

impl Setup<'_> {
    /// `n`, or a tenth of it and at least 4.
    pub(crate) fn few(&self, n: usize) -> usize {
        match self.small {
            true => (n / 10).max(4),
            false => n,
        }
    }
}

type Run = fn(&Places, &Setup<'_>) -> Result<Value>;

/// A step.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Seconds after which it is ended.
    pub(crate) limit_s: u64,
    /// What it does.
    pub(crate) run: Run,
    /// Fields that must reach a number, or with `<` stay below it; true is 1.
    pub(crate) floors: &'static [(&'static str, char, f64)],
}

const fn step(
    name: &'static str,
    limit_s: u64,
    run: Run,
    floors: &'static [(&'static str, char, f64)],
) -> Step {
    Step {
        name,
        limit_s,
        run,
        floors,
    }
}

/// All steps, the most telling first; those at the end are left out where time runs short.
pub(crate) const STEPS: &[Step] = &[
    step("verify", 60, |p, _| verified(p), &[]),
    step(
        "compile",
        60,
        |p, _| compile(p),
        &[
            ("m1_cold_s", '<', 1.0),
            ("m1_whole_cold_s", '<', 1.0),
            ("m2_cold_s", '<', 1.0),
            ("m2_whole_cold_s", '<', 1.0),
            ("slowest_cached_s", '<', 0.005),
        ],
    ),
    step(
        "equal-schools",
        30,
        |p, setup| equal(p, &SCHOOLS, setup.few(200)),
        &[],
    ),
    step(
        "equal-m1",
        30,
        |p, setup| equal(p, &M1, setup.few(150)),
        &[],
    ),
    step(
        "equal-m1-whole",
        30,
        |p, setup| equal(p, &M1_WHOLE, setup.few(100)),
        &[],
    ),
    step(
        "equal-m2",
        45,
        |p, setup| equal(p, &M2, setup.few(100)),
        &[],
    ),
    step(
        "equal-m2-whole",
        45,
        |p, setup| equal(p, &M2_WHOLE, setup.few(60)),
        &[],
    ),
    // Leapfrogs of all parameters, as other programs make them; what `fitzroy sample` does comes below.
    // The whole run counts; what the kernel did alone stands beside it.
    step(
        "m1-4",
        30,
        |p, setup| speed(p, &M1_WHOLE, 4, setup.few(2000), Team::Auto),
        &[("leapfrogs_per_s_per_chain", '>', 1e6)],
    ),
    step(
        "m1-1024",
        45,
        |p, setup| speed(p, &M1_WHOLE, 1024, setup.few(200), Team::Auto),
        &[("leapfrogs_per_s", '>', 3e8)],
    ),
    step(
        "m2-4",
        30,
        |p, setup| speed(p, &M2_WHOLE, 4, setup.few(1000), Team::Auto),
        &[("leapfrogs_per_s_per_chain", '>', 5e5)],
    ),
    step(
        "m2-1024",
        60,
        |p, setup| speed(p, &M2_WHOLE, 1024, setup.few(100), Team::Auto),
        &[("leapfrogs_per_s", '>', 1e8)],
    ),
    step(
        "converge-m1",
        30,
        |p, _| converge(p),
        &[("seconds_after_compile", '<', 0.1)],
    ),
    step(
        "speed-up-m1",
        30,
        |p, _| speed_up(p),
        &[("speed_up_at_least", '>', 8.0)],
    ),
    step("memory", 45, |p, _| memory(p), &[]),
    step("meetings", 30, |p, _| meetings::times(p), &[]),
    step(
        "mixed-m1",
        30,
        |p, _| lower(p, &M1, Precision::Mixed),
        &[("kept", '>', 1.0)],
    ),
    step(
        "f32-m1",
        30,
        |p, _| lower(p, &M1, Precision::F32),
        &[("kept", '>', 1.0)],
    ),
    step(
        "mixed-m2",
        30,
        |p, _| lower(p, &M2_WHOLE, Precision::Mixed),
        &[("kept", '>', 1.0)],
    ),
    step(
        "f32-m2",
        30,
        |p, _| lower(p, &M2_WHOLE, Precision::F32),
        &[("kept", '>', 1.0)],
    ),
    step("repeat-m1", 45, repeat, &[("spread", '<', 0.1)]),
    step("stop", 20, |p, _| stop(p), &[("seconds_to_stop", '<', 1.0)]),
    step("kill-resume", 60, |p, _| resume::resume(p), &[]),
    step("too-many", 20, |p, _| too_many(p), &[]),
    step(
        "equal-stop-signal",
        60,
        |p, setup| stop_signal::equal(p, 6, setup.few(20)),
        &[],
    ),
    step(
        "stop-signal-100",
        60,
        stop_signal::speed,
        &[("cold_s", '<', 1.0)],
    ),
    step(
        "curve-rows",
        30,
        |p, setup| curves::large(p, setup.few(4_000_000)),
        &[],
    ),
    step(
        "curve-batch",
        30,
        |p, setup| curves::many(p, setup.few(100_000)),
        &[],
    ),
    step("weather", 60, weather::equal, &[]),
    step(
        "weather-speed",
        90,
        weather::speed,
        &[("bf16_ms", '<', 20.0), ("tf32_ms", '<', 45.0)],
    ),
    step("peers", 120, peers, &[("ratio", '>', 50.0)]),
    step("peers-1024", 120, peers_many, &[("ratio", '>', 100.0)]),
    step(
        "m1-64-warp",
        30,
        |p, setup| speed(p, &M1_WHOLE, 64, setup.few(300), Team::Threads(32)),
        &[],
    ),
    step(
        "m1-64-block",
        30,
        |p, setup| speed(p, &M1_WHOLE, 64, setup.few(300), Team::Threads(128)),
        &[],
    ),
    step(
        "m2-4-sharded",
        30,
        |p, setup| speed(p, &M2_WHOLE, 4, setup.few(300), Team::Sharded),
        &[],
    ),
    step(
        "m2-64-warp",
        30,
        |p, setup| speed(p, &M2_WHOLE, 64, setup.few(200), Team::Threads(32)),
        &[],
    ),
    step(
        "m2-64-block",
        30,
        |p, setup| speed(p, &M2_WHOLE, 64, setup.few(200), Team::Threads(128)),
        &[],
    ),
    step(
        "m1-4096",
        45,
        |p, setup| speed(p, &M1_WHOLE, 4096, setup.few(50), Team::Auto),
        &[],
    ),
    step(
        "m1-4-rewritten",
        30,
        |p, setup| speed(p, &M1, 4, setup.few(500), Team::Auto),
        &[],
    ),
    step(
        "m2-4-rewritten",
        30,
        |p, setup| speed(p, &M2, 4, setup.few(300), Team::Auto),
        &[],
    ),
    step("sanitizer", 60, |p, _| sanitizer(p), &[]),
];

/// The goals of a step, what was got of each, and whether that reaches it.
pub(crate) fn goals(step: &Step, values: &Value) -> Vec<Value> {
    let judged = |(field, kind, goal): &(&str, char, f64)| {
        let yes = values[*field].as_bool().map(f64::from);
        let got = values[*field].as_f64().or(yes);
        let reached = got.is_some_and(|got| match kind {
            '<' => got <= *goal,
            _ => got >= *goal,
        });
        json!({
            "field": field,
            "must_be": if *kind == '<' { "at most" } else { "at least" },
            "goal": goal,
            "got": got,
            "reached": reached,
        })
    };
    step.floors.iter().map(judged).collect()
}

/// The goals that are not reached, in words.
pub(crate) fn missed(goals: &[Value]) -> String {
    let missed = goals.iter().filter(|g| g["reached"] != true);
    let words = missed.map(|g| {
        let got = g["got"].as_f64().unwrap_or(f64::NAN);
        let goal = g["goal"].as_f64().unwrap_or(f64::NAN);
        let (field, must_be) = (&g["field"], &g["must_be"]);
        let name = |v: &Value| v.as_str().unwrap_or_default().to_string();
        format!(
            "{} is {got:.4e}, the goal is {} {goal:.1e}",
            name(field),
            name(must_be)
        )
    });
    words.collect::<Vec<String>>().join("; ")
}

/// Where the libraries may lie, and where compiled kernels are kept from step to step.
pub(crate) fn places(compiler: Option<PathBuf>, cache: Option<PathBuf>) -> Places {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    // Libraries may have been copied beside the program.
    let program = std::env::current_exe().ok();
    let beside = program.and_then(|p| p.parent().map(PathBuf::from));
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(named);
    Places {
        compiler,
        folders: beside
            .into_iter()
            .chain(homes.map(|h| h.join("lib64")))
            .collect(),
        python: ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(named)
            .collect(),
        cache,
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        ..Places::default()
    }
}

pub(crate) fn failure(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Device, text)
}
