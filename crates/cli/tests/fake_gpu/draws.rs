//! Draws made on a GPU.

use super::*;

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
