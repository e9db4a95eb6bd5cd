//! What it takes to launch a kernel, and for the threads of a team to meet.

use fitzroy::Result;
use fitzroy_device::gpu::{Gpu, MOST_MEMBERS, Machine, Places, Program, idle};
use serde_json::{Value, json};
use std::time::Instant;

const TEXT: &str = "
struct Job {
    double *out;
    wide_t rounds;
};

ENTRY void advance(const Job *job)
{
    /* Warps come four to a block. */
    if (TEAM_INDEX > 0)
        return;
    for (wide_t round = 0; round < job->rounds; ++round)
        SYNC();
    if (THREAD == 0)
        job->out[0] = (double)job->rounds;
}
";

/// Meetings of a launch.
const ROUNDS: u64 = 2_000;

/// Seconds of a launch with so many meetings of one team, on the GPU and as the host sees them; the
/// best of three.
fn launched(gpu: &mut Gpu, rounds: u64) -> Result<[f64; 2]> {
    let out = gpu.reserve(1, 1)?;
    let at = gpu.reserve(0, 2)?;
    gpu.write(at, &[out, rounds])?;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..3 {
        let start = Instant::now();
        let there = gpu.launch(at, 1, &mut idle)?;
        let here = start.elapsed().as_secs_f64();
        best = [best[0].min(there), best[1].min(here)];
    }
    Ok(best)
}

/// Microseconds of a launch, and of a meeting of a warp, of blocks, and of blocks on all
/// multiprocessors.
pub(crate) fn times(places: &Places) -> Result<Value> {
    let mut gpu = Gpu::open(places, 0)?;
    let mut teams = vec![
        ("warp", 32),
        ("block_of_128", 128),
        ("block_of_256", MOST_MEMBERS),
    ];
    if gpu.meeting() >= 2 {
        teams.push(("all_multiprocessors", gpu.meeting() * MOST_MEMBERS));
    }
    let mut found = serde_json::Map::new();
    for (name, team) in teams {
        gpu.load(&Program {
            text: TEXT.into(),
            team,
        })?;
        let [_, empty] = launched(&mut gpu, 0)?;
        let [few, many] = [
            launched(&mut gpu, ROUNDS / 10)?[0],
            launched(&mut gpu, ROUNDS)?[0],
        ];
        let meeting = (many - few) / (ROUNDS - ROUNDS / 10) as f64;
        let microseconds = json!({"launch_us": 1e6 * empty, "meeting_us": 1e6 * meeting});
        found.insert(name.into(), microseconds);
    }
    Ok(Value::Object(found))
}
