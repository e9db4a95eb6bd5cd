//! The whole program on a GPU that is none: a driver and a compiler made for the purpose, which run
//! kernels on this processor. What is printed, written and exited with is what a GPU would give.
#![allow(clippy::unwrap_used)]

mod program;

use fitzroy_device::gpu::host::{HostLibrary, LAUNCHER};
use fitzroy_device::gpu::host_work::launchers;
use fitzroy_device::gpu::text::HOST_HEADER;
use program::{SMALL_NETWORK, SMALL_WEATHER, Said, Scratch, program, repository, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder with a driver and a compiler; none without g++, which is said.
struct Fake(Scratch);

impl Fake {
    /// `defines` say what the driver answers.
    fn new(name: &str, defines: &[&str]) -> Option<Fake> {
        Fake::with(name, defines, LAUNCHER)
    }

    /// `launcher` makes the kernels callable.
    fn with(name: &str, defines: &[&str], launcher: &str) -> Option<Fake> {
        if !HostLibrary::has_compiler() {
            assert!(
                std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
                "FITZROY_REQUIRE_GXX is set and there is no g++"
            );
            return None;
        }
        let scratch = Scratch::new(name);
        let folder = &scratch.0;
        std::fs::write(folder.join("header.c"), HOST_HEADER).unwrap();
        std::fs::write(folder.join("launcher.c"), launcher).unwrap();
        let text = |name: &str, path: &Path| format!("-D{name}=\"{}\"", path.display());
        let flags = [
            text("HOST_HEADER", &folder.join("header.c")),
            text("LAUNCHER", &folder.join("launcher.c")),
            text("FOLDER", folder),
        ];
        let archs = defines.iter().any(|d| d.starts_with("ARCHS="));
        let usual = (!archs).then_some("-DARCHS=80,86,90");
        for (source, library) in [
            ("driver.cpp", "libcuda.so.1"),
            ("compiler.cpp", "libnvrtc.so.12"),
            ("sensors.cpp", "libnvidia-ml.so.1"),
        ] {
            let made = Command::new("g++")
                .args(["-std=c++17", "-O0", "-fPIC", "-shared", "-w", "-o"])
                .arg(folder.join(library))
                .args(&flags)
                .args(defines.iter().map(|d| format!("-D{d}")))
                .args(usual)
                .arg(repository("crates/device/tests/fake").join(source))
                .arg("-ldl")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{said}");
        }
        Some(Fake(scratch))
    }

    /// Runs the program where it finds the two libraries; the driver notes what happens.
    fn fitzroy(&self, arguments: &[&str]) -> Said {
        let folder = &self.0.0;
        run(program(folder)
            .args(arguments)
            .arg("--nvrtc")
            .arg(folder)
            .env("LD_LIBRARY_PATH", folder)
            .env("FITZROY_CACHE_DIR", folder.join("cache"))
            .env("FAKE_TIMELINE", self.timeline())
            .env_remove("CUDA_VISIBLE_DEVICES"))
    }

    /// What the driver noted.
    fn timeline(&self) -> PathBuf {
        self.0.0.join("timeline")
    }

    fn sample(&self, name: &str, arguments: &[&str]) -> Said {
        let model = repository(&format!("models/{name}.fz"))
            .display()
            .to_string();
        let data = repository(&format!("models/{name}.csv"))
            .display()
            .to_string();
        let mut all = vec![
            "sample",
            &model,
            "--data",
            &data,
            "--no-report",
            "--no-progress",
        ];
        all.extend(arguments);
        self.fitzroy(&all)
    }
}

#[test]
fn a_gpu_makes_the_draws_of_the_cpu_and_says_what_it_took() {
    let Some(fake) = Fake::new("gpu-sample", &["TEAM_NOW=1"]) else {
        return;
    };
    let counts = ["--tune", "40", "--draws", "20", "--chains", "2", "--json"];
    let on = |device: &str, out: &str| {
        let mut flags = vec!["--device", device, "--out", out];
        flags.extend(counts);
        fake.sample("eight-schools", &flags).ends_with(0)
    };
    let (cpu, gpu) = (on("cpu", "a").json(), on("cuda:0", "b"));
    assert!(
        gpu.err.contains("device: cuda:0 (NVIDIA H200)"),
        "{}",
        gpu.err
    );
    assert!(gpu.err.contains("memory: about "), "{}", gpu.err);
    let gpu = gpu.json();
    assert_eq!(
        cpu["summary"], gpu["summary"],
        "the same seed, the same bits"
    );
    assert_eq!(gpu["device"]["kind"], "cuda");
    assert_eq!(gpu["precision"], "f64", "its f64 is fast");
    assert_eq!(gpu["device_reason"], "asked for");
    let memory = &gpu["device_memory"];
    let bytes = |key: &str| memory[key].as_u64().unwrap();
    assert!(
        bytes("used_bytes") > 0 && bytes("used_bytes") <= bytes("expected_bytes"),
        "{memory}"
    );
    assert!(cpu["device_memory"].is_null());
    let flags = ["--device", "cuda", "--tune", "20", "--draws", "20"];
    let said = fake.sample("eight-schools", &flags).ends_with(0);
    said.complains(&["memory: about ", " MiB were taken on cuda:0"]);
}

/// What the fake driver noted: what happened, and a number.
fn timeline(path: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (what, number) = line.split_once(' ').unwrap();
        (what.to_string(), number.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// Two chains on two multiprocessors each make the CPU's draws; the next launch is under way before the
/// rows of the last one are read; and no more memory is taken than was said, nor much less.
#[test]
fn a_chain_that_is_spread_makes_the_draws_of_the_cpu_while_the_host_keeps_the_books() {
    let Some(fake) = Fake::new("gpu-sharded", &["TEAM_NOW=1", "PROCESSORS=4"]) else {
        return;
    };
    let on = |device: &str, more: &[&str]| {
        let counts = ["--tune", "100", "--draws", "60", "--chains", "2", "--json"];
        let flags = [&["--device", device], &counts[..], more].concat();
        fake.sample("hierarchical", &flags).ends_with(0).json()
    };
    let cpu = on("cpu", &["--out", "a"]);
    let gpu = on("cuda", &["--out", "b", "--team", "sharded"]);
    assert_eq!(cpu["summary"], gpu["summary"], "the same bits");
    let happened = timeline(&fake.timeline());
    // Of two launches in a row, the rows of the first are read when the second is under way.
    let words: Vec<&str> = happened.iter().map(|h| h.0.as_str()).collect();
    let overlapped = |w: &[&str]| w == ["waited", "launch", "read", "waited"];
    let stalled = |w: &[&str]| w == ["waited", "read", "launch", "waited"];
    let own: Vec<&str> = words.into_iter().filter(|w| *w != "allocated").collect();
    let n = own.windows(4).filter(|w| overlapped(w)).count();
    let ends = own.windows(4).filter(|w| stalled(w)).count();
    assert!(
        n >= 5 && n >= ends,
        "{n} launches did not wait, {ends} did: {own:?}"
    );
    let most = happened.iter().filter(|h| h.0 == "allocated").map(|h| h.1);
    let (most, memory) = (most.max().unwrap(), &gpu["device_memory"]);
    let expected = memory["expected_bytes"].as_u64().unwrap();
    assert!(most <= expected + 4096, "{most} bytes were taken: {memory}");
    assert!(4 * most >= expected, "{most} bytes were taken: {memory}");
}

/// Catches: a run on a GPU that goes on, or whose draws are lost.
#[test]
fn ctrl_c_ends_a_run_on_a_gpu_with_the_draws_that_were_made() {
    let Some(fake) = Fake::new("gpu-interrupt", &["TEAM_NOW=1"]) else {
        return;
    };
    let path = |name: &str| repository(&format!("models/eight-schools.{name}"));
    let mut command = program(&fake.0.0);
    command
        .arg("sample")
        .arg(path("fz"))
        .arg("--data")
        .arg(path("csv"))
        .args([
            "--device", "cuda", "--chains", "2", "--tune", "40", "--out", "cut",
        ])
        .args([
            "--draws",
            "40000000",
            "--no-report",
            "--no-progress",
            "--nvrtc",
        ])
        .arg(&fake.0.0)
        .env("LD_LIBRARY_PATH", &fake.0.0)
        .env("FITZROY_CACHE_DIR", fake.0.0.join("cache"))
        .env("FAKE_TIMELINE", fake.timeline())
        .env_remove("CUDA_VISIBLE_DEVICES")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let launches = || {
        let text = std::fs::read_to_string(fake.timeline()).unwrap_or_default();
        text.matches("launch ").count()
    };
    // Well into the drawing: the warm-up of 40 transitions takes fewer.
    let begun = Instant::now();
    while launches() < 60 && begun.elapsed() < Duration::from_secs(60) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let document = std::fs::read_to_string(fake.0.0.join("cut/run.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["device"]["kind"], "cuda");
    assert!(document["draws"].as_u64().unwrap() > 0, "{document:#}");
    // So many draws as were asked for would not fit into memory: they are in the store alone.
    assert!(fake.0.0.join("cut/run.zarr").exists());
}

/// From 256 chains on they form superchains, and the verdict is that of the nested R-hat.
#[test]
fn many_chains_on_a_gpu_are_judged_by_their_superchains() {
    let Some(fake) = Fake::new("gpu-nested", &["TEAM_NOW=1"]) else {
        return;
    };
    let on = |device: &str, out: &str| {
        let counts = [
            "--tune", "120", "--draws", "30", "--chains", "256", "--json",
        ];
        let flags = [&["--device", device, "--out", out], &counts[..]].concat();
        fake.sample("eight-schools", &flags).ends_with(0).json()
    };
    let (cpu, gpu) = (on("cpu", "a"), on("cuda", "b"));
    assert_eq!(cpu["summary"], gpu["summary"], "the same bits");
    let nested = gpu["max_rhat_nested"].as_f64().unwrap();
    assert!(nested > 0.99 && nested < 1.05, "{nested}");
}

#[test]
fn a_card_with_slow_f64_computes_in_mixed_unless_told_otherwise() {
    let Some(fake) = Fake::new("gpu-mixed", &["TEAM_NOW=1", "CAPABILITY=86"]) else {
        return;
    };
    for (flags, precision) in [
        (&["--device", "cuda"][..], "mixed"),
        (&["--device", "cuda", "--precision", "f64"], "f64"),
        (&["--precision", "f32"], "f32"),
    ] {
        let mut all = vec![
            "--tune", "60", "--draws", "20", "--json", "--out", precision,
        ];
        all.extend(flags);
        let said = fake.sample("eight-schools", &all).ends_with(0).json();
        assert_eq!(
            said["precision"], precision,
            "{flags:?}: {}",
            said["findings"]
        );
    }
    fake.sample(
        "eight-schools",
        &["--device", "cpu", "--precision", "mixed"],
    )
    .ends_with(2)
    .complains(&[
        "--precision mixed",
        "the CPU computes in f64",
        "--device cuda",
    ]);
}

#[test]
fn auto_keeps_a_short_run_on_the_cpu_and_says_why() {
    let Some(fake) = Fake::new("gpu-auto", &["TEAM_NOW=1"]) else {
        return;
    };
    let said = fake.sample("eight-schools", &["--tune", "40", "--draws", "20"]);
    said.ends_with(0).complains(&[
        "device: cpu",
        "auto: ",
        "µs a gradient",
        "cuda:0 would need an estimated",
        "Force with --device cuda",
    ]);
}

/// Catches: a look at the first GPU alone.
#[test]
fn auto_weighs_every_gpu_that_there_is() {
    let defines = ["TEAM_NOW=1", "COUNT=3", "PROCESSORS_0=1", "PROCESSORS=132"];
    let Some(fake) = Fake::new("gpu-several", &defines) else {
        return;
    };
    let flags = ["--tune", "40", "--draws", "20", "--chains", "1024"];
    let said = fake.sample("hierarchical", &flags).ends_with(0);
    said.complains(&["auto: ", "cuda:1 would need an estimated"]);
}

/// Catches: the first GPU where none was named, though another program has half of its memory; and a
/// number that is not obeyed.
#[test]
fn a_gpu_without_a_number_is_the_fastest_and_of_equal_ones_the_emptiest() {
    let usual = ["TEAM_NOW=1", "COUNT=3"];
    let counts = ["--tune", "20", "--draws", "10", "--chains", "2"];
    let taken = |fake: &Fake, flags: &[&str]| {
        let said = fake.sample("eight-schools", &[&counts[..], flags].concat());
        said.ends_with(0).err
    };
    let first = "asked for; of 3 GPUs it is the first by speed, then by free memory";
    let emptiest = [&usual[..], &["TAKEN_0=(1ull<<29)"]].concat();
    let Some(fake) = Fake::new("gpu-emptiest", &emptiest) else {
        return;
    };
    for flags in [&["--device", "cuda"], &["--precision", "mixed"]] {
        let _ = std::fs::remove_file(fake.timeline());
        let said = taken(&fake, flags);
        let device = format!("device: cuda:1 (NVIDIA H200), {first}");
        assert!(said.contains(&device), "{said}");
        // A context on every GPU would take seconds, and memory of others.
        let contexts = timeline(&fake.timeline());
        let contexts: Vec<_> = contexts
            .iter()
            .filter(|(what, _)| what == "retained")
            .collect();
        assert_eq!(contexts, [&("retained".to_string(), 1)]);
    }
    let said = taken(&fake, &["--device", "cuda:0"]);
    assert!(
        said.contains("device: cuda:0 (NVIDIA H200), asked for\n"),
        "{said}"
    );
    let line = fake.0.file("line.csv", "x,y\n0,1\n1,3.1\n2,4.9\n3,7\n");
    let line = line.display().to_string();
    let fit = ["curve-fit", "--model", "a*x+b", &line, "--p0", "a=1,b=1"];
    let said = fake.fitzroy(&[&fit[..], &["--device", "cuda"]].concat());
    said.ends_with(0)
        .complains(&[&format!("device: cuda:1 ({first})")]);
    for flags in [&["--device", "cuda"][..], &[]] {
        let small = ["validate", "--quick", "--groups", "8", "--no-progress"];
        let said = fake.fitzroy(&[&small[..], flags].concat());
        assert!(said.out.contains("cuda:1 (NVIDIA H200"), "{}", said.out);
    }
    let bench = ["bench", "sample", "--preset", "quick", "--strategies", "4"];
    let more = ["--repeats", "1", "--json", "--device", "cuda"];
    let found = fake.fitzroy(&[&bench[..], &more].concat()).ends_with(0);
    assert_eq!(found.json()["rows"][0]["device"], "cuda:1");

    // A slow GPU is not taken for its memory.
    let slow = ["PROCESSORS_0=1", "PROCESSORS=132"];
    let Some(fake) = Fake::new("gpu-fastest", &[&usual[..], &slow].concat()) else {
        return;
    };
    let said = taken(&fake, &["--device", "cuda"]);
    assert!(said.contains("device: cuda:1 (NVIDIA H200)"), "{said}");
}

/// `auto` has the CPU where a GPU is there and cannot be used, but never without a word.
#[test]
fn auto_says_what_is_wrong_with_a_driver_that_is_there() {
    for (define, parts) in [
        ("INIT=803", ["do not fit together", "restart the machine"]),
        ("COUNT=0", ["sees no GPU", "nvidia-smi -L"]),
    ] {
        let Some(fake) = Fake::new("gpu-broken", &[define]) else {
            return;
        };
        let said = fake.sample("eight-schools", &["--tune", "40", "--draws", "20"]);
        let said = said.ends_with(0);
        said.complains(&["device: cpu", "auto: "]).complains(&parts);
        // Whoever asks for a GPU gets none of the CPU's draws instead.
        fake.sample("eight-schools", &["--device", "cuda"])
            .ends_with(2)
            .complains(&parts);
        fake.0.file("line.csv", "x,y\n0,1\n1,3.1\n2,4.9\n3,7\n");
        let fit = [
            "curve-fit",
            "--model",
            "a*x+b",
            "line.csv",
            "--p0",
            "a=1,b=1",
        ];
        fake.fitzroy(&fit).ends_with(0).complains(&parts);
    }
}

#[test]
fn a_fit_says_why_it_stays_on_the_cpu_and_has_its_bits_on_a_gpu() {
    let Some(fake) = Fake::new("gpu-fit", &[]) else {
        return;
    };
    let mut text = "x,y\n".to_string();
    for i in 0..3000 {
        let x = f64::from(i) * 0.002;
        let ripple = f64::from((i * 37) % 11 - 5) * 0.03;
        text += &format!("{x},{}\n", 2.0 * (-0.5 * x).exp() + 0.3 + ripple);
    }
    fake.0.file("decay.csv", &text);
    let fit = |more: &[&str]| {
        let mut args = vec![
            "curve-fit",
            "--model",
            "a*exp(-b*x)+c",
            "decay.csv",
            "--p0",
            "a=1,b=1,c=0",
        ];
        args.extend(more);
        fake.fitzroy(&args).ends_with(0)
    };
    fit(&[]).complains(&[
        "device: cpu",
        "auto: ",
        "ns a row",
        "cuda:0 would need an estimated",
        "Force with --device cuda",
    ]);
    let cpu = fit(&["--json"]).json();
    let why = cpu["device"]["reason"].as_str().unwrap();
    assert!(why.contains("--device cuda"), "{why}");
    let gpu = fit(&["--json", "--device", "cuda"]).json();
    assert_eq!(gpu["device"]["kind"], "cuda:0");
    assert_eq!(gpu["parameters"], cpu["parameters"]);
    assert_eq!(gpu["covariance"], cpu["covariance"]);
}

#[test]
fn too_many_chains_are_refused_with_what_fits() {
    let Some(fake) = Fake::new("gpu-memory", &["TEAM_NOW=1", "MEMORY=200000000ull"]) else {
        return;
    };
    fake.sample(
        "hierarchical",
        &[
            "--device",
            "cuda",
            "--chains",
            "10000",
            "--tune",
            "10",
            "--draws",
            "10",
            "--rewrites",
            "off",
        ],
    )
    .ends_with(2)
    .complains(&[
        "cuda:0: 10000 chains need ",
        "9/10 of the 191 MiB that are free",
        "run fewer chains (--chains ",
        "try --precision f32 (",
        "--device cpu",
    ]);
}

#[test]
fn a_sampler_that_a_gpu_does_not_have_is_refused_before_the_run() {
    let Some(fake) = Fake::new("gpu-sampler", &["TEAM_NOW=1"]) else {
        return;
    };
    let arguments = ["--device", "cuda", "--sampler", "mams"];
    let said = fake.sample("eight-schools", &arguments).ends_with(2);
    let said = said.complains(&["NUTS only", "--device cpu", "--sampler nuts"]);
    assert!(!said.err.contains("warm-up"), "{}", said.err);
}

#[test]
fn verify_passes_a_gpu_that_works_and_recommends_its_settings() {
    let Some(fake) = Fake::new("gpu-verify", &["TEAM_NOW=1", "CAPABILITY=86"]) else {
        return;
    };
    let said = fake.fitzroy(&["verify", "--require-gpu"]).ends_with(0);
    for part in [
        "PASS  driver",
        "PASS  nvrtc",
        "8.6",
        "values have the bits of the CPU",
        "PASS  f32",
        "PASS  sensors   54 °C, 1755 MHz after the measurements",
        "--precision mixed",
        "result: PASS",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    std::fs::remove_file(fake.0.0.join("libnvidia-ml.so.1")).unwrap();
    let said = fake.fitzroy(&["verify", "--require-gpu"]).ends_with(0);
    let line = "SKIP  sensors   temperature and clocks cannot be read";
    assert!(said.out.contains(line), "{}", said.out);
}

/// Catches: a failure without a remedy, or under another's name; a GPU that fails and passes.
#[test]
fn verify_says_of_every_failure_what_it_is_and_what_to_do() {
    let name = "NAME=\"NVIDIA H100 80GB HBM3 MIG 1g.10gb\"";
    let restart = ["do not fit together", "restart the machine"];
    let module = ["does not start", "modprobe nvidia-uvm"];
    let none = ["sees no GPU", "nvidia-smi mig -lgi"];
    let old = ["serves CUDA 10.2", "525 or above"];
    let taken = ["another process has it to itself", "nvidia-smi -c DEFAULT"];
    let shared = ["MPS", "nvidia-cuda-mps-control"];
    let newer = ["the driver only takes CUDA 12", "nvidia-cuda-nvrtc-cu12"];
    let full = ["256 MiB were needed", "nvidia-smi"];
    let display = ["ran too long", "display"];
    let crashed = ["went wrong on the GPU", "--dump-cuda"];
    let damaged = ["memory error", "nvidia-smi -q -d ECC"];
    // A slice is named as one, whatever becomes of it.
    let slice = ["a MIG slice", "take another GPU"];
    for (defines, trouble, parts) in [
        (&["INIT=803"][..], "driver-mismatch", restart),
        (&["INIT=999"], "not-started", module),
        (&["COUNT=0"], "no-device", none),
        (&["VERSION=10020"], "old-driver", old),
        (&["RETAIN=46"], "busy", taken),
        (&["RETAIN=805"], "sharing", shared),
        (&["MAJOR=13"], "no-nvrtc", newer),
        (&["MEMORY=(1ull<<28)"], "out-of-memory", full),
        (&["LAUNCH=702"], "watchdog", display),
        (&["LAUNCH=700"], "crashed", crashed),
        (&["LAUNCH=214"], "uncorrectable", damaged),
        (&[name, "RETAIN=46"], "busy", slice),
    ] {
        let Some(fake) = Fake::new("gpu-verify-failure", defines) else {
            return;
        };
        // Where there is no GPU nothing has failed.
        let (code, word) = match trouble {
            "no-device" => (0, "SKIP"),
            _ => (1, "FAIL"),
        };
        let said = fake.fitzroy(&["verify"]).ends_with(code);
        for part in [word, parts[0], parts[1]] {
            let out = &said.out;
            assert!(out.contains(part), "{defines:?}: no `{part}` in:\n{out}");
        }
        let required = ["verify", "--json", "--require-gpu"];
        let document = fake.fitzroy(&required).ends_with(1).json();
        assert_eq!(document["gpu"]["troubles"][0], trouble, "{document:#}");
        assert_eq!(document["gpu"]["usable"], false);
        assert_eq!(document["passed"], false);
    }
    // Who hides GPUs knows it: nothing failed, unless one was required.
    let fake = Fake::new("gpu-verify-hidden", &["INIT=100"]).unwrap();
    let hidden = |more: &[&str]| {
        let folder = &fake.0.0;
        run(program(folder)
            .arg("verify")
            .args(more)
            .env("LD_LIBRARY_PATH", folder)
            .env("CUDA_VISIBLE_DEVICES", ""))
    };
    let said = hidden(&[]).ends_with(0);
    let line = "SKIP  gpu       CUDA_VISIBLE_DEVICES is ``, which hides every GPU; unset";
    assert!(said.out.contains(line), "{}", said.out);
    hidden(&["--require-gpu"]).ends_with(1);
}

/// The cards of the documentation: what follows for each, in words and in JSON.
#[test]
fn verify_recommends_precision_chains_and_memory_for_every_kind_of_card() {
    for (name, capability, short, precision) in [
        ("Tesla V100-SXM2-16GB", 70, "V100", "f64"),
        ("NVIDIA A100-SXM4-80GB", 80, "A100", "f64"),
        ("NVIDIA RTX A6000", 86, "A6000", "mixed"),
        ("NVIDIA GeForce RTX 4090", 89, "RTX 4090", "mixed"),
        ("NVIDIA H100 80GB HBM3", 90, "H100", "f64"),
        ("NVIDIA H200", 90, "H200", "f64"),
        ("NVIDIA GeForce RTX 5090", 120, "RTX 5090", "mixed"),
    ] {
        let defines = [
            format!("NAME=\"{name}\""),
            format!("CAPABILITY={capability}"),
            "ARCHS=70,80,86,89,90,120".into(),
            "PROCESSORS=16".into(),
            "TEAM_NOW=1".into(),
        ];
        let defines = defines.each_ref().map(String::as_str);
        let Some(fake) = Fake::new("gpu-cards", &defines) else {
            return;
        };
        let said = fake.fitzroy(&["verify"]).ends_with(0);
        let settings = format!("--device cuda:0 --precision {precision}, --chains 4");
        let card = format!("cuda:0 ({short}): ");
        for part in [card.as_str(), &settings, "up to 64 for small"] {
            let out = &said.out;
            assert!(out.contains(part), "{name}: no `{part}` in:\n{out}");
        }
        let document = fake.fitzroy(&["verify", "--json"]).ends_with(0).json();
        let gpu = &document["gpus"][0];
        assert_eq!(gpu["short_name"], short);
        assert_eq!(gpu["settings"]["precision"], precision);
        assert_eq!(gpu["settings"]["chains"], 64);
        // Nine tenths of the gibibyte that is free.
        let budget = gpu["settings"]["memory_budget_bytes"].as_u64().unwrap();
        assert_eq!(budget, (1 << 30) / 10 * 9);
    }
}

#[test]
fn validation_repeats_the_run_on_a_gpu_and_compares_the_two() {
    let Some(fake) = Fake::new("gpu-validate", &["TEAM_NOW=1"]) else {
        return;
    };
    let flags = ["validate", "--quick", "--groups", "8", "--out", "both"];
    let said = fake.fitzroy(&flags);
    for part in [
        "PASS  gpu = cpu        every draw of",
        "has the bits of the CPU's",
        "PASS  gpu, all         cuda:0 (NVIDIA H200, f64), 11 coordinates: R-hat",
        "PASS  gpu, all = cpu   every draw of",
        "cuda:0 (NVIDIA H200, f64), 2 coordinates: compile",
        "cuda:0 (NVIDIA H200, f64), 11 coordinates: compile",
        "times as fast as the CPU",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    let folder = fake.0.0.join("both");
    let document = std::fs::read_to_string(folder.join("validation.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["contenders"][1]["name"], "cuda:0");
    for (run, coordinates) in [("gpu", 2), ("gpu_all_parameters", 11)] {
        assert_eq!(document[run]["same_bits"], true);
        assert_eq!(document[run]["coordinates"], coordinates);
    }
    assert!(document["gpu"]["memory_bytes"].as_u64().unwrap() > 0);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for part in ["Agreement of CPU and cuda:0", "speed-up"] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
    let alone = fake.fitzroy(&["validate", "--quick", "--groups", "8", "--device", "cpu"]);
    let line =
        "SKIP  gpu              sampling on a GPU was not checked: --device cpu was asked for";
    assert!(alone.out.contains(line), "{}", alone.out);
}

/// Catches: a validation whose kernels have no sum in the precision that it names. The rewrites leave two
/// coordinates of its model, without a row; with all parameters the draws are not the CPU's to the bit.
#[test]
fn validation_sums_in_the_precision_that_it_names() {
    let card = [
        "TEAM_NOW=1",
        "CAPABILITY=86",
        "NAME=\"NVIDIA RTX A6000\"",
        "PROCESSORS=84",
    ];
    let Some(fake) = Fake::new("gpu-validate-mixed", &card) else {
        return;
    };
    let said = fake.fitzroy(&["validate", "--quick", "--groups", "8", "--out", "both"]);
    for part in [
        "PASS  gpu, all         cuda:0 (NVIDIA RTX A6000, mixed), 11 coordinates: R-hat",
        "PASS  gpu, all = cpu   11 numbers agree",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
}

#[test]
fn a_benchmark_puts_cpu_and_gpu_side_by_side() {
    let Some(fake) = Fake::new("gpu-bench", &["TEAM_NOW=1", "PROCESSORS=8"]) else {
        return;
    };
    let table = fake.0.0.join("devices.csv");
    let figure = fake.0.0.join("devices.svg");
    let said = fake.fitzroy(&[
        "bench",
        "sample",
        "--device",
        "all",
        "--preset",
        "quick",
        "--strategies",
        "4",
        "--repeats",
        "2",
        "--json",
        "--csv",
        table.to_str().unwrap(),
        "--figure",
        figure.to_str().unwrap(),
    ]);
    let found = said.ends_with(0).json();
    let rows = found["rows"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|r| r["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "cpu, 4 chains",
            "cuda:0, 4 chains, a warp each",
            "cuda:0, 4 chains, a block each",
            "cuda:0, 4 chains, sharded"
        ]
    );
    for row in rows {
        assert_eq!(row["same_draws_every_time"], true, "{row}");
        assert!(row["gradients_per_s"]["median"].as_f64().unwrap() > 0.0);
    }
    for row in &rows[1..] {
        assert!(row["speed_up"].as_f64().unwrap() > 0.0);
        // In f64 they are the same draws.
        assert_eq!(row["agreement"]["means_apart_mcse"], 0.0);
    }
    assert_eq!(std::fs::read_to_string(table).unwrap().lines().count(), 5);
    assert!(std::fs::read_to_string(figure).unwrap().contains("</svg>"));
}

#[test]
fn a_benchmark_of_a_gpu_runs_on_that_gpu_alone() {
    let Some(fake) = Fake::new("gpu-bench-alone", &["TEAM_NOW=1", "COUNT=2"]) else {
        return;
    };
    let bench = |device: &str| {
        let usual = ["bench", "sample", "--preset", "quick", "--strategies", "4"];
        let more = ["--repeats", "1", "--precision", "f64", "--json"];
        fake.fitzroy(&[&usual[..], &more, &["--device", device]].concat())
    };
    let found = bench("cuda:1").ends_with(0).json();
    let rows = found["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|r| r["strategy"].clone()).collect();
    let teams = ["a warp each", "a block each"];
    assert_eq!(names, teams.map(|team| format!("cuda:1, 4 chains, {team}")));
    assert!(rows.iter().all(|r| r["precision"] == "f64"), "{found}");
    assert_eq!(rows[1]["agreement"]["means_apart_mcse"], 0.0);
    bench("cuda:2")
        .ends_with(2)
        .complains(&["--device cuda:2", "there is no cuda:2"]);
}

/// Training on lists through a driver that puts off whatever it may, and a library of products that
/// counts by columns: the CPU's losses, and a checkpoint that the CPU goes on from.
#[test]
fn a_network_is_trained_on_a_gpu_and_on_the_cpu_alike() {
    let kernels = fitzroy_weather::train::kernel_names();
    let launcher = launchers(&kernels);
    let Some(fake) = Fake::with("gpu-weather", &["NARROW_ALONE"], &launcher) else {
        return;
    };
    let folder = &fake.0.0;
    // The same file under another name is the same library.
    let driver = folder.join("libcuda.so.1");
    std::fs::hard_link(&driver, folder.join("libcublasLt.so.12")).unwrap();
    let synth = [&["weather", "synth", "--out", "a.nc"], &SMALL_WEATHER[..]].concat();
    run(program(folder).args(synth)).ends_with(0);
    let train = |out: &str, more: &[&str]| {
        let usual = [
            "--rollout-steps",
            "2",
            "--ema",
            "0.9",
            "--log-every",
            "3",
            "--json",
            "--verbose",
            "--out",
            out,
        ];
        let start = ["weather", "train", "--data", "a.nc"];
        let all = [&start[..], &SMALL_NETWORK, &usual, more].concat();
        let counts = folder.join("counts");
        run(program(folder)
            .args(&all)
            .arg("--nvrtc")
            .arg(folder)
            .env("LD_LIBRARY_PATH", folder)
            .env("FITZROY_CACHE_DIR", folder.join("cache"))
            .env("FAKE_COUNTS", counts)
            .env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let number = |said: &serde_json::Value, key: &str| said[key].as_f64().unwrap();
    let cpu = train("cpu", &["--max-steps", "9"]).ends_with(0).json();
    let f32 = ["--device", "cuda", "--precision", "f32", "--max-steps", "9"];
    let said = train("gpu", &f32).ends_with(0);
    assert!(
        said.err.contains("cuda:0 (NVIDIA H200), f32"),
        "{}",
        said.err
    );
    assert!(said.err.contains("GPU memory 0.0"), "{}", said.err);
    let gpu = said.json();
    for key in ["last_loss", "best_validation_loss"] {
        let off = number(&gpu, key) / number(&cpu, key) - 1.0;
        assert!(off.abs() < 1e-4, "{key}: {off}");
    }
    // Products of the library, graphs noted and launched: the same list is noted once. There are
    // four: a step of training, validations of one and of two steps, and the swap of averages.
    let counts = std::fs::read_to_string(folder.join("counts")).unwrap();
    let counts: Vec<u64> = counts
        .split_whitespace()
        .map(|w| w.parse().unwrap())
        .collect();
    assert!(
        counts[0] > 100 && counts[2] > 8 && counts[1] <= 4,
        "{counts:?}"
    );
    let metrics = std::fs::read_to_string(folder.join("gpu/metrics.jsonl")).unwrap();
    assert!(metrics.contains("train/gpu_memory_bytes"), "{metrics}");
    // There and back: the CPU goes on where the GPU stopped.
    train(
        "both",
        &["--device", "cuda", "--precision", "f32", "--max-steps", "5"],
    )
    .ends_with(0);
    let more = ["--max-steps", "9", "--resume-from", "both"];
    let both = train("both", &more).ends_with(0).json();
    let off = number(&both, "last_loss") / number(&cpu, "last_loss") - 1.0;
    assert!(off.abs() < 1e-4, "{off}");
    // In bf16, the GPU's own choice, losses are near.
    let bf16 = train("bf16", &["--platform", "gpu", "--max-steps", "9"]).ends_with(0);
    assert!(bf16.err.contains("bf16"), "{}", bf16.err);
    let off = number(&bf16.json(), "last_loss") / number(&cpu, "last_loss") - 1.0;
    assert!(off.abs() < 2e-2, "{off}");
    let plan = train("plan", &["--device", "cuda", "--dry-run"])
        .ends_with(0)
        .json();
    assert_eq!(plan["device"], "cuda:0 (NVIDIA H200), bf16");
    assert!(plan["free_bytes"].as_u64().unwrap() < 1 << 30);
    let said = train("f64", &["--device", "cuda", "--precision", "f64"]);
    assert!(said.ends_with(2).err.contains("--precision f64"));
}

/// A GPU without cuBLASLt makes products by a kernel, and says so; one that is too old for bf16
/// takes f32, and refuses bf16.
#[test]
fn a_gpu_without_a_library_of_products_trains_and_says_so() {
    let kernels = fitzroy_weather::train::kernel_names();
    let defines = ["CAPABILITY=70", "ARCHS=70"];
    let Some(fake) = Fake::with("gpu-weather-70", &defines, &launchers(&kernels)) else {
        return;
    };
    let folder = &fake.0.0;
    let synth = [&["weather", "synth", "--out", "a.nc"], &SMALL_WEATHER[..]].concat();
    run(program(folder).args(synth)).ends_with(0);
    let train = |more: &[&str]| {
        let mut all = vec![
            "weather",
            "train",
            "--data",
            "a.nc",
            "--latent-size",
            "16",
            "--num-gnn-layers",
            "1",
            "--boundary-width",
            "1",
            "--max-steps",
            "2",
            "--device",
            "cuda",
        ];
        all.extend(more);
        fake.fitzroy(&all)
    };
    let said = train(&["--out", "a"]).ends_with(0);
    assert!(said.err.contains("kernel of our own"), "{}", said.err);
    assert!(
        said.err.contains("cuda:0 (NVIDIA H200), f32"),
        "{}",
        said.err
    );
    let said = train(&["--precision", "bf16"]).ends_with(2);
    assert!(
        said.err.contains("need compute capability 8.0"),
        "{}",
        said.err
    );
}
