//! Steps that run other programs: a peer on the same GPU, and NVIDIA's checkers.

use crate::models::M1_WHOLE;
use crate::sampler::speed;
use crate::steps::{Setup, failure};
use fitzroy::Result;
use fitzroy::run::Team;
use fitzroy_device::gpu::Places;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The script of the peer.
const PEER: &str = include_str!("../../../benches/peers/gpu_numpyro.py");

/// Seconds that it may take, about: compilation takes most of them.
const PEER_S: &str = "60";

/// What was measured of samplers on a CPU.
const ON_CPU: &str = include_str!("../../../benches/results/2026-11-23-sampling.json");

/// Seconds of PyMC on a CPU for M1, 4 chains of 1,000 and 1,000 draws, and whether it had ended by
/// then.
pub(crate) fn pymc_s() -> Result<(f64, bool)> {
    let document: Value = serde_json::from_str(ON_CPU).map_err(|e| failure(e.to_string()))?;
    let pymc = &document["problems"]["groups-100"]["pymc"];
    let (whole, stopped) = (&pymc["process_s"]["median"], &pymc["stopped_after_s"]);
    match (whole.as_f64(), stopped.as_f64()) {
        (Some(seconds), _) => Ok((seconds, true)),
        (None, Some(seconds)) => Ok((seconds, false)),
        (None, None) => Err(failure("PyMC was not measured")),
    }
}

/// NumPyro on M1 on the same GPU, and how many times slower it is.
fn peer(places: &Places, python: Option<&Path>, chains: usize, n: usize) -> Result<Value> {
    let Some(python) = python else {
        return Ok(json!({"skipped": "no Python was named with --peers"}));
    };
    let io = |e: std::io::Error| failure(format!("{}: {e}", python.display()));
    let folder = std::env::temp_dir().join(format!("fitzroy-gpu-day-peer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(io)?;
    let (script, data) = (folder.join("peer.py"), folder.join("data.csv"));
    std::fs::write(&script, PEER).map_err(io)?;
    std::fs::write(&data, M1_WHOLE.data()).map_err(io)?;
    let words = [chains, n, n].map(|n| n.to_string());
    let done = Command::new(python)
        .arg(&script)
        .arg(&data)
        .args([
            "--chains",
            &words[0],
            "--tune",
            &words[1],
            "--draws",
            &words[2],
            "--seconds",
            PEER_S,
        ])
        .output();
    // What cannot be removed lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(folder);
    let done = done.map_err(io)?;
    let text = String::from_utf8_lossy(&done.stdout);
    let last = text.lines().last().unwrap_or_default();
    let theirs: Value = serde_json::from_str(last).unwrap_or(Value::Null);
    if theirs["skipped"].is_string() {
        return Ok(theirs);
    }
    let Some(per_s) = theirs["best"]["leapfrogs_per_s"].as_f64() else {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(failure(
            said.lines().last().unwrap_or("it said nothing").to_string(),
        ));
    };
    let ours = speed(places, &M1_WHOLE, chains, n, Team::Auto)?;
    let ratio = |key: &str| ours[key].as_f64().unwrap_or(f64::NAN) / per_s;
    // Their draws stay on the GPU; a whole run of ours has brought its draws to the host, too.
    let (whole, alone) = (ratio("leapfrogs_per_s"), ratio("kernel_leapfrogs_per_s"));
    Ok(json!({"ratio": whole, "ratio_of_kernel": alone, "ours": ours, "theirs": theirs}))
}

/// The steps `peers` and `peers-1024`.
pub(crate) fn peers(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    peer(places, setup.peers, 4, setup.few(100))
}

pub(crate) fn peers_many(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    peer(places, setup.peers, 1024, setup.few(50))
}

/// NVIDIA's checkers of memory, races and barriers on a short run, where they are installed.
pub(crate) fn sanitizer(places: &Places) -> Result<Value> {
    let program = std::env::current_exe().map_err(|e| failure(e.to_string()))?;
    let mut found = serde_json::Map::new();
    for tool in ["memcheck", "racecheck", "synccheck"] {
        let mut command = Command::new("compute-sanitizer");
        command
            .args(["--tool", tool, "--error-exitcode", "9"])
            .arg(&program);
        command.args(["--step", "equal-schools"]);
        if let Some(path) = &places.compiler {
            command.arg("--nvrtc").arg(path);
        }
        let Ok(done) = command.output() else {
            return Ok(json!({"skipped": "there is no compute-sanitizer on PATH"}));
        };
        let said = String::from_utf8_lossy(&done.stdout);
        let summary = said
            .lines()
            .find(|l| l.contains("ERROR SUMMARY"))
            .unwrap_or_default();
        if done.status.code() == Some(9) {
            return Err(failure(format!("{tool}: {summary}")));
        }
        found.insert(tool.into(), json!(summary));
    }
    Ok(Value::Object(found))
}
