//! Networks that a GPU trains.

use super::*;

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
