//! `verify` and `validate` with a GPU.

use super::*;

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
