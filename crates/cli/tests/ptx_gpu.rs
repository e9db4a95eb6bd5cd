//! The unmodified program on GPUs that execute its kernels' PTX on this processor: what the real NVRTC makes of
//! them, by way of the driver's own functions, with copies that come late.
//!
//! `FITZROY_NVRTC` names the compiler; with `FITZROY_REQUIRE_NVRTC` a missing one fails.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod program;

use program::{
    SMALL_NETWORK, SMALL_WEATHER, Said, Scratch, program, repository, run, weights_of_one_step,
};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A folder with the driver, and the real compiler.
struct Gpus {
    scratch: Scratch,
    compiler: PathBuf,
    settings: Vec<(&'static str, String)>,
}

/// The real compiler; none where it is missing.
fn compiler() -> Option<PathBuf> {
    let found = std::env::var_os("FITZROY_NVRTC").map(PathBuf::from);
    let file = found.map(|path| match path.is_dir() {
        true => path.join("libnvrtc.so.12"),
        false => path,
    });
    let file = file.filter(|f| f.exists());
    assert!(
        file.is_some() || std::env::var_os("FITZROY_REQUIRE_NVRTC").is_none(),
        "FITZROY_REQUIRE_NVRTC is set and FITZROY_NVRTC names no compiler"
    );
    if file.is_none() {
        eprintln!("skipped: FITZROY_NVRTC names no compiler");
    }
    file
}

impl Gpus {
    fn new(name: &str, gpus: &str) -> Option<Gpus> {
        let compiler = compiler()?;
        let scratch = Scratch::new(name);
        // Cargo puts it beside the tests that depend on it.
        let own = std::env::current_exe().unwrap();
        let driver = own.parent().unwrap().join("libfitzroy_ptx.so");
        assert!(driver.exists(), "{} was not built", driver.display());
        for library in ["libcuda.so.1", "libnvrtc.so.12"] {
            symlink(&driver, scratch.0.join(library)).unwrap();
        }
        Some(Gpus {
            scratch,
            compiler,
            settings: vec![("FITZROY_PTX_GPUS", gpus.into())],
        })
    }

    fn with(mut self, name: &'static str, value: &str) -> Gpus {
        self.settings.push((name, value.into()));
        self
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.0.join("log")).unwrap_or_default()
    }

    /// Runs the program with the library that asks for the PTX of any architecture, or with the real compiler.
    fn run(&self, arguments: &[&str], is_real: bool) -> Said {
        let folder = &self.scratch.0;
        let compiler = match is_real {
            true => &self.compiler,
            false => folder,
        };
        run(program(folder)
            .args(arguments)
            .arg("--nvrtc")
            .arg(compiler)
            .env("LD_LIBRARY_PATH", folder)
            .env("FITZROY_CACHE_DIR", folder.join("cache"))
            .env("FITZROY_PTX_NVRTC", &self.compiler)
            .env("FITZROY_PTX_LOG", folder.join("log"))
            .envs(self.settings.iter().map(|(k, v)| (k, v)))
            .env_remove("CUDA_VISIBLE_DEVICES"))
    }

    fn fitzroy(&self, arguments: &[&str]) -> Said {
        self.run(arguments, false)
    }

    /// A short run of an example.
    fn sample(&self, arguments: &[&str], is_real: bool) -> Said {
        self.sample_of(["30", "20", "3"], arguments, is_real)
    }

    /// The same with so many transitions of the warm-up, draws and chains.
    fn sample_of(&self, counts: [&str; 3], arguments: &[&str], is_real: bool) -> Said {
        let path = |file: &str| repository(&format!("models/{file}")).display().to_string();
        let (model, data) = (path("eight-schools.fz"), path("eight-schools.csv"));
        let [tune, draws, chains] = counts;
        let usual = [
            "sample",
            &model,
            "--data",
            &data,
            "--no-report",
            "--no-progress",
            "--tune",
            tune,
            "--draws",
            draws,
            "--chains",
            chains,
            "--json",
        ];
        self.run(&[&usual[..], arguments].concat(), is_real)
    }
}

/// Catches: copies that nothing orders before a kernel, draws that are read before they are there.
#[test]
fn a_run_on_a_gpu_has_the_summary_of_the_cpu_however_late_its_copies_come() {
    let gpus = "capability=7.0,multiprocessors=12";
    let Some(mut all) = Gpus::new("ptx-sample", gpus) else {
        return;
    };
    let cpu = all
        .sample(&["--device", "cpu", "--out", "cpu"], false)
        .ends_with(0);
    let expected = cpu.json()["summary"].clone();
    for (k, (late, order)) in [("0", "lockstep"), ("1", "shuffled")]
        .into_iter()
        .enumerate()
    {
        all = all
            .with("FITZROY_PTX_LATE", late)
            .with("FITZROY_PTX_ORDER", order)
            .with("FITZROY_PTX_SEED", &k.to_string());
        for team in ["32", "128", "sharded"] {
            let out = format!("{team}-{k}");
            let flags = ["--device", "cuda", "--team", team, "--out", &out];
            let said = all.sample(&flags, false).ends_with(0).json();
            assert_eq!(
                said["summary"], expected,
                "teams {team}, late {late}, {order}"
            );
        }
    }
    let log = all.log();
    assert!(
        log.contains("target=70") && log.contains("together=true"),
        "{log}"
    );
}

/// A GPU that the compiler does not know is given PTX, without any help.
#[test]
fn a_gpu_newer_than_the_compiler_makes_the_draws_of_the_cpu() {
    let Some(gpus) = Gpus::new("ptx-newer", "capability=13.0,name=NVIDIA Tomorrow") else {
        return;
    };
    let cpu = gpus
        .sample(&["--device", "cpu", "--out", "cpu"], true)
        .ends_with(0);
    let said = gpus
        .sample(
            &["--device", "cuda", "--precision", "f64", "--out", "gpu"],
            true,
        )
        .ends_with(0);
    assert!(
        said.err.contains("device: cuda:0 (NVIDIA Tomorrow)"),
        "{}",
        said.err
    );
    assert_eq!(cpu.json()["summary"], said.json()["summary"]);
    assert!(gpus.log().contains("target=12"), "{}", gpus.log());
}

#[test]
fn curves_are_fitted_and_networks_trained_as_on_the_cpu() {
    let Some(gpus) = Gpus::new("ptx-work", "capability=9.0") else {
        return;
    };
    let mut text = "x,y\n".to_string();
    for i in 0..3000 {
        let x = f64::from(i) * 0.002;
        let ripple = f64::from((i * 37) % 11 - 5) * 0.03;
        text += &format!("{x},{}\n", 2.0 * (-0.5 * x).exp() + 0.3 + ripple);
    }
    gpus.scratch.file("decay.csv", &text);
    let fit = |device: &str| {
        let all = [&DECAY[..], &["--device", device]].concat();
        gpus.fitzroy(&all).ends_with(0).json()["parameters"].clone()
    };
    assert_eq!(fit("cpu"), fit("cuda"));
    assert!(gpus.log().contains("launch"), "the GPU did it");

    let synth = [&["weather", "synth", "--out", "a.nc"], &SMALL_WEATHER[..]].concat();
    run(program(&gpus.scratch.0).args(synth)).ends_with(0);
    let train = |out: &str, more: &[&str]| {
        let start = [
            "weather",
            "train",
            "--data",
            "a.nc",
            "--max-steps",
            "3",
            "--json",
            "--out",
            out,
        ];
        let all = [&start[..], &SMALL_NETWORK, more].concat();
        let said = gpus.fitzroy(&all).ends_with(0).json();
        said["last_loss"].as_f64().unwrap()
    };
    let cpu = train("cpu", &["--device", "cpu"]);
    for (precision, bound) in [("f32", 1e-6), ("bf16", 1e-3)] {
        let gpu = train(precision, &["--device", "cuda", "--precision", precision]);
        assert!((gpu - cpu).abs() < bound * cpu, "{precision}: {gpu}, {cpu}");
    }
    assert!(gpus.log().lines().filter(|l| l.contains("launch")).count() > 100);
}

/// A fit of `decay.csv`, which each test writes.
const DECAY: [&str; 7] = [
    "curve-fit",
    "--model",
    "a*exp(-b*x)+c",
    "decay.csv",
    "--p0",
    "a=1,b=1,c=0",
    "--json",
];

/// Three unequal GPUs.
const THREE: &str = "capability=9.0,multiprocessors=8;capability=7.0,multiprocessors=4;\
                     capability=8.0,multiprocessors=4,name=NVIDIA Other";

/// Catches: chains that depend on who makes them, a share that nobody hears of.
#[test]
fn several_gpus_share_the_chains_and_make_the_draws_of_the_cpu() {
    let Some(gpus) = Gpus::new("ptx-several", THREE) else {
        return;
    };
    let gpus = gpus.with("FITZROY_PTX_LATE", "1");
    let cpu = gpus.sample(&["--device", "cpu", "--out", "cpu"], false);
    let expected = cpu.ends_with(0).json()["summary"].clone();
    for (device, label, team) in [
        ("cuda:all", "cuda:0,1,2", "32"),
        ("cuda:2,1", "cuda:1,2", "128"),
        ("cuda:0,1", "cuda:0,1", "sharded"),
    ] {
        let out = label.replace([':', ','], "-");
        let flags = ["--device", device, "--team", team, "--out", &out];
        let said = gpus.sample(&flags, false).ends_with(0);
        let header = format!("device: {label} (");
        let said = said.complains(&[&header, "chains: ", " on cuda:1", "memory: about "]);
        let said = said.json();
        assert_eq!(said["summary"], expected, "{device}");
        let shared = said["gpus"].as_array().unwrap();
        let sum = |key: &str| -> u64 { shared.iter().map(|g| g[key].as_u64().unwrap()).sum() };
        assert_eq!((sum("chains"), sum("transitions")), (3, 150), "{shared:?}");
        assert_eq!(said["device_memory"]["used_bytes"], sum("used_bytes"));
        assert!(shared.iter().all(|g| g["failed"].is_null()), "{shared:?}");
    }
    // A run goes on with another number of GPUs, or with none.
    let go = |device: &str, draws: &str, more: &[&str]| {
        let flags = [&["--device", device, "--out", "steps"], more].concat();
        let said = gpus.sample_of(["30", draws, "3"], &flags, false);
        said.ends_with(0).json()
    };
    go("cuda:0,1", "7", &["--publish-every", "0"]);
    go("cuda:all", "13", &["--resume"]);
    assert_eq!(go("cuda:1", "20", &["--resume"])["summary"], expected);
}

/// Catches: fits that depend on who made them.
#[test]
fn several_gpus_fit_curves_as_the_cpu_does() {
    let Some(gpus) = Gpus::new("ptx-curves", THREE) else {
        return;
    };
    let mut text = "g,x,y\n".to_string();
    for i in 0..12_000 {
        let x = f64::from(i % 20) * 0.3;
        let ripple = f64::from((i * 37) % 11 - 5) * 0.03;
        text += &format!("{},{x},{}\n", i / 20, 2.0 * (-0.5 * x).exp() + 0.3 + ripple);
    }
    gpus.scratch.file("decay.csv", &text);
    let fit = |device: &str, more: &[&str]| {
        let all = [&DECAY[..], &["--device", device], more].concat();
        gpus.fitzroy(&all).ends_with(0).json()
    };
    let found = fit("cuda:all", &[]);
    assert_eq!(found["parameters"], fit("cpu", &[])["parameters"]);
    assert_eq!(found["device"]["kind"], "cuda:0,1,2", "{}", found["device"]);
    let table =
        |out: &str| std::fs::read_to_string(gpus.scratch.0.join(out).join("fits.csv")).unwrap();
    for (device, out) in [("cpu", "on-cpu"), ("cuda:0,2", "on-gpus")] {
        fit(device, &["--batch-by", "g", "--out", out]);
    }
    assert_eq!(table("on-cpu"), table("on-gpus"));
    let bounded = ["--device", "cuda:0", "--batch-by", "g", "--bound", "a=0:9"];
    let said = gpus.fitzroy(&[&DECAY[..], &bounded].concat()).ends_with(0);
    let said = said.complains(&["--device cuda:0: many fits with bounds"]);
    assert_eq!(said.json()["device"]["kind"], "cpu");
    let log = gpus.log();
    assert!(
        (0..3).all(|k| log.contains(&format!("launch gpu={k}"))),
        "{log}"
    );
}

/// One GPU of three fails in its fourth launch: the others go on from what it had handed back.
#[test]
fn a_gpu_that_fails_costs_its_launch_and_its_chains_go_on_elsewhere() {
    let three = "multiprocessors=8,fails_at=4;multiprocessors=8;multiprocessors=8,fails_at=9";
    let Some(gpus) = Gpus::new("ptx-lost", three) else {
        return;
    };
    let cpu = gpus.sample(&["--device", "cpu", "--out", "cpu"], false);
    let flags = ["--device", "cuda:all", "--out", "gpu"];
    let said = gpus.sample(&flags, false).ends_with(0);
    let said = said.complains(&[
        "cuda:0 has failed and makes no more draws; its chains go on on the other GPUs",
        "cuda:2 has failed",
        "CUDA_ERROR_LAUNCH_FAILED",
    ]);
    let said = said.json();
    assert_eq!(cpu.ends_with(0).json()["summary"], said["summary"]);
    let failed: Vec<bool> = (0..3)
        .map(|k| said["gpus"][k]["failed"].is_string())
        .collect();
    assert_eq!(failed, [true, false, true], "{}", said["gpus"]);
    let findings = said["findings"].to_string();
    assert!(findings.contains("cuda:0 failed after"), "{findings}");
}

/// Several GPUs are obeyed or refused.
#[test]
fn several_gpus_that_cannot_be_used_or_are_too_small_are_said() {
    let gpus = "memory_mib=64;memory_mib=64,taken_mib=40;memory_mib=1,taken_mib=1";
    let Some(gpus) = Gpus::new("ptx-small", gpus) else {
        return;
    };
    let refused = |chains: &str, device: &str, parts: &[&str]| {
        let said = gpus.sample_of(["2", "2", chains], &["--device", device], false);
        said.ends_with(2).complains(parts);
    };
    refused(
        "3",
        "cuda:0,3",
        &["--device cuda:0,3, cuda:3", "there is no cuda:3"],
    );
    refused("3", "cuda:1,1", &["stands there twice"]);
    let room = [
        "30000 chains",
        "room for ",
        " on cuda:0 (9/10 of the 64 MiB that are free may be used)",
        "--chains ",
    ];
    refused("30000", "cuda:all", &room);
    let flags = ["--device", "cuda:0,1", "--out", "a"];
    let said = gpus
        .sample_of(["2", "2", "40"], &flags, false)
        .ends_with(0)
        .json();
    let shares: Vec<u64> = (0..2)
        .map(|k| said["gpus"][k]["chains"].as_u64().unwrap())
        .collect();
    assert_eq!(shares, [20, 20]);
}

/// Catches: a cap that is read and not kept, or that nobody finds in the record.
#[test]
fn a_cap_of_device_memory_is_planned_with_and_recorded() {
    let Some(gpus) = Gpus::new("ptx-cap", "memory_mib=400;memory_mib=100") else {
        return;
    };
    let run = |device: &str, cap: &str, chains: &str, out: &str| {
        let flags = ["--device", device, "--device-memory", cap, "--out", out];
        gpus.sample_of(["2", "2", chains], &flags, false)
    };
    let few = run("cuda:0", "0.01", "1000", "a").ends_with(2);
    few.complains(&[
        "1000 chains need ",
        "--device-memory allows 4 of the 400 MiB",
        "--chains ",
    ]);
    // Equal GPUs, of which one has room for less.
    let said = run("cuda:all", "0.01", "120", "b").ends_with(0).json();
    let of = |key: &str| [0, 1].map(|k| said["gpus"][k][key].as_u64().unwrap());
    assert_eq!(of("cap_bytes"), [4 * 1_048_576, 1_048_576]);
    let [more, less] = of("chains");
    assert!(more + less == 120 && more > less, "{more} and {less}");
    let [taken, expected] = [of("used_bytes"), of("expected_bytes")];
    assert!(
        expected[1] <= 1_048_576 && taken[1] <= expected[1],
        "{}",
        said["gpus"]
    );
    assert_eq!(said["device_memory"]["cap_bytes"], 5 * 1_048_576);
    let wrong = run("cuda:0", "1.5", "3", "c").ends_with(2);
    wrong.complains(&["--device-memory", "1.5", "as 0.75"]);
}

/// Several GPUs, one of which is full and one goes wrong: what is said; and the last of them makes the draws of
/// the CPU, in memory of its own.
#[test]
fn gpus_that_are_full_or_go_wrong_are_said_and_others_work() {
    let gpus = "fails_at=3;memory_mib=1,taken_mib=1;capability=8.6,multiprocessors=2";
    let Some(gpus) = Gpus::new("ptx-wrong", gpus) else {
        return;
    };
    let said = gpus.sample(&["--device", "cuda:0", "--out", "a"], false);
    assert_ne!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("launch 3 goes wrong"), "{}", said.err);
    let said = gpus.sample(&["--device", "cuda:1", "--out", "b"], false);
    assert_ne!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("of the 0 MiB"), "{}", said.err);
    let gpus = gpus.with("FITZROY_PTX_RACES", "1");
    let last = ["--device", "cuda:2", "--precision", "f64", "--out", "c"];
    let gpu = gpus.sample(&last, false).ends_with(0);
    let cpu = gpus.sample(&["--device", "cpu", "--out", "d"], false);
    assert_eq!(gpu.json()["summary"], cpu.ends_with(0).json()["summary"]);
    let log = gpus.log();
    assert!(log.contains("launch gpu=2"), "{log}");
}

/// Catches: a forecast among others that gets the numbers of its neighbour, a member with the parameters of another, a
/// precision or a device that nobody is told of.
#[test]
fn forecasts_and_scores_on_a_gpu_are_those_of_the_cpu() {
    let Some(gpus) = Gpus::new("ptx-weather", "capability=9.0") else {
        return;
    };
    weights_of_one_step(&gpus.scratch, &SMALL_NETWORK);
    let more = ["--seed", "7", "--max-steps", "2", "--out", "other"];
    let train = ["weather", "train", "--data", "a.nc"];
    run(program(&gpus.scratch.0).args([&train[..], &SMALL_NETWORK, &more].concat())).ends_with(0);
    let scores = |out: &str, more: &[&str]| {
        let asked = ["weather", "evaluate", "--data", "a.nc", "--max-starts", "5"];
        let usual = [
            "--leads",
            "2",
            "--json",
            "--checkpoint",
            "w",
            "other",
            "--out",
            out,
        ];
        gpus.fitzroy(&[&asked[..], &usual, more].concat())
            .ends_with(0)
    };
    let rmse = |said: &serde_json::Value| -> Vec<f64> {
        let all = said["scores"].as_array().unwrap().iter();
        all.map(|s| s["rmse"].as_f64().unwrap()).collect()
    };
    let cpu = scores("cpu", &["--device", "cpu"]).json();
    assert_eq!(cpu["device"], "cpu");
    for (precision, bound) in [("auto", 1e-4), ("tf32", 1e-2), ("bf16", 3e-2)] {
        let said = scores(precision, &["--device", "cuda:0", "--precision", precision]);
        let words = if precision == "auto" {
            "f32"
        } else {
            precision
        };
        let said = said.json();
        let device = said["device"].as_str().unwrap();
        assert!(
            device.starts_with("cuda:0 (") && device.ends_with(words),
            "{device}"
        );
        for (a, b) in rmse(&cpu).iter().zip(rmse(&said)) {
            assert!((a / b - 1.0).abs() < bound, "{precision}: {a} and {b}");
        }
    }
    // A forecast as a file, scored as that of others beside the CPU's own.
    let start = [
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--initial-time",
        "2000-01-11T12",
    ];
    let rest = [
        "--checkpoint",
        "w",
        "--num-steps",
        "3",
        "--output",
        "f.nc",
        "--json",
    ];
    let predict = [&start[..], &rest, &["--device", "cuda"]].concat();
    let made = gpus.fitzroy(&predict).ends_with(0).json();
    assert!(
        made["device"].as_str().unwrap().ends_with(", f32"),
        "{made}"
    );
    let asked = [
        "weather", "evaluate", "--data", "a.nc", "--leads", "2", "--json",
    ];
    let theirs = ["--checkpoint", "w", "--forecast", "f.nc", "--out", "theirs"];
    let said = gpus
        .fitzroy(&[&asked[..], &theirs].concat())
        .ends_with(0)
        .json();
    let of = |method: &str| -> Vec<f64> {
        let own = said["scores"].as_array().unwrap().iter();
        let own = own.filter(|s| s["method"] == method);
        own.map(|s| s["rmse"].as_f64().unwrap()).collect()
    };
    assert!(of("model").len() > 10);
    // Files hold f32 in units of the variables, 280 K to 2e-5 K, so that small errors are those of rounding, too.
    for (a, b) in of("model").iter().zip(of("forecast")) {
        assert!((a - b).abs() < 1e-4 * b + 1e-5, "{a} and {b}");
    }
    let cap = ["--device", "cuda", "--device-memory", "0.1MB"];
    let small = [&start[..], &rest, &cap].concat();
    std::fs::remove_file(gpus.scratch.0.join("f.nc")).unwrap();
    gpus.fitzroy(&small).ends_with(2).complains(&[
        "a forecast of 3 steps needs",
        "of the GPU's memory",
        "--device cpu",
    ]);
    assert!(gpus.log().lines().filter(|l| l.contains("launch")).count() > 100);
}
