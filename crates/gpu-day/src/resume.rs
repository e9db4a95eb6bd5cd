//! A run on the GPU that is killed, and goes on in another process.

use crate::bits::same_bits;
use crate::models::M1;
use crate::runs::{draws, on_gpu, sampled, settings};
use crate::steps::failure;
use fitzroy::Result;
use fitzroy::run::{Caller, Convergence, Keeping, Live, Outcome, Settings, open, run_kept};
use fitzroy_device::gpu::Places;
use fitzroy_device::gpu::text::Precision;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CHAINS: usize = 4;
const TUNE: usize = 200;
/// Draws per chain: as many as are needed for a run of at least `LONG_S`, or the last of them.
const DRAWS: [usize; 4] = [4_000, 16_000, 64_000, 256_000];
/// Seconds that leave room to be killed.
const LONG_S: f64 = 1.0;
/// Seconds until which the other process must have published draws.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says on the standard output that draws are on the disk, and then is in nobody's way.
struct Says;

impl Live for Says {
    fn show(&self, _: &Convergence) {
        let mut out = std::io::stdout();
        // Nobody may listen any more.
        let _ = writeln!(out, "published").and_then(|()| out.flush());
    }
}

/// Sampling on the GPU into `folder`, from where the run in it stands; and the draws it began with.
fn kept(places: &Places, folder: &Path, n: usize) -> Result<(Outcome, usize)> {
    let mut settings: Settings = settings(on_gpu(places)?, Precision::F64, [CHAINS, TUNE, n]);
    settings.rewrites = M1.rewrites;
    let joint = M1.joint()?;
    let from = open(folder, &joint, &settings)?;
    let begun = from.as_ref().map_or(0, fitzroy::run::Saved::n_draws);
    let start = Instant::now();
    let caller = Caller {
        now: &|| start.elapsed().as_secs_f64(),
        ..Caller::silent()
    };
    let keeping = Keeping {
        folder,
        from,
        first_s: 0.0,
        every_s: 0.05,
        live: &Says,
    };
    Ok((run_kept(&joint, &settings, &caller, &keeping)?, begun))
}

/// The process that is killed: a kept run of `n` draws.
///
/// # Errors
/// Those of the run.
pub(crate) fn keep(places: &Places, folder: &Path, n: usize) -> Result<Value> {
    let (outcome, _) = kept(places, folder, n)?;
    Ok(json!({"draws": outcome.n_draws()}))
}

/// Starts such a process and kills it as soon as draws are on the disk.
fn kill_one(places: &Places, folder: &Path, n: usize) -> Result<()> {
    let io = |e: std::io::Error| failure(format!("the run to be killed: {e}"));
    let program = std::env::current_exe().map_err(io)?;
    let mut command = Command::new(program);
    command.args(["--step", "killed", "--draws", &n.to_string()]);
    command.arg("--keep").arg(folder);
    for (flag, path) in [("--nvrtc", &places.compiler), ("--cache", &places.cache)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(io)?;
    let (tell, told) = std::sync::mpsc::channel();
    let out = child.stdout.take();
    std::thread::spawn(move || {
        let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines());
        // The parent may have stopped listening.
        let _ = tell.send(lines.map_while(|line| line.ok()).next());
    });
    let said = told.recv_timeout(PATIENCE);
    let killed = child.kill();
    child.wait().map_err(io)?;
    match said {
        Ok(Some(line)) if line == "published" => killed.map_err(io),
        Ok(other) => Err(failure(format!("the run to be killed said {other:?}"))),
        Err(_) => Err(failure("the run to be killed published nothing")),
    }
}

/// A run that is killed without warning and goes on in this process: the draws of a run that was left
/// alone, bit for bit.
pub(crate) fn resume(places: &Places) -> Result<Value> {
    let name = format!("fitzroy-gpu-day-killed-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).map_err(|e| failure(format!("{}: {e}", folder.display())))?;
    let found = resumed(places, &folder);
    // What cannot be removed lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(folder);
    found
}

fn resumed(places: &Places, folder: &Path) -> Result<Value> {
    let (mut n, mut whole) = (0, None);
    for draws in DRAWS {
        let (outcome, _) = sampled(&M1, on_gpu(places)?, CHAINS, TUNE, draws)?;
        let is_long = outcome.timing.sampling >= LONG_S;
        (n, whole) = (draws, Some(outcome));
        if is_long {
            break;
        }
    }
    let whole = whole.ok_or_else(|| failure("there was no run"))?;
    kill_one(places, folder, n)?;
    let (outcome, begun) = kept(places, folder, n)?;
    if begun == 0 || begun >= n {
        return Err(failure(format!(
            "it was killed after {begun} of {n} draws, not between them"
        )));
    }
    let compared = same_bits("a run that was killed", &draws(&outcome), &draws(&whole))?;
    Ok(json!({
        "draws": n,
        "killed_after_draws": begun,
        "numbers_compared": compared,
    }))
}
