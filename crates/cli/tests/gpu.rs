//! What `sample` says of GPUs, on a machine that shows none.

mod program;

use program::{fitzroy, program, repository, run};

fn sample(arguments: &[&str]) -> Vec<String> {
    let path = |name: &str| repository(name).display().to_string();
    let mut all = vec!["sample".into(), path("models/eight-schools.fz")];
    all.extend(["--data".into(), path("models/eight-schools.csv")]);
    all.extend(arguments.iter().map(|a| a.to_string()));
    all
}

#[test]
fn a_run_on_a_gpu_that_is_not_there_is_refused_with_a_remedy() {
    run(program(&std::env::temp_dir())
        .args(sample(&["--device", "cuda"]))
        .env("CUDA_VISIBLE_DEVICES", ""))
    .ends_with(2)
    .complains(&["--device cuda: ", "; "]);
}

#[test]
fn the_kernel_of_a_model_is_printed_without_a_gpu() {
    let arguments = sample(&["--dump-cuda", "-"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = fitzroy(&arguments).ends_with(0);
    for part in [
        "#define TEAM 128",
        "value_and_gradient(",
        "ENTRY void IN_HASTE advance(",
        "m_exp(",
    ] {
        assert!(said.out.contains(part), "no `{part}`");
    }
}

/// Catches: a kernel with another team or another arithmetic than was asked for.
#[test]
fn the_kernel_that_is_printed_has_the_team_and_the_precision_that_were_asked_for() {
    for (flags, parts) in [
        (
            &["--team", "32"][..],
            ["#define TEAM 32\n", "typedef double vector_t"],
        ),
        (
            &["--team", "sharded", "--chains", "2"],
            ["#define TEAM 16896\n", "blocks_meet()"],
        ),
        (
            &["--precision", "f32"],
            ["#define TEAM 128\n", "typedef float vector_t"],
        ),
        (
            &["--chains", "64"],
            ["#define TEAM 32\n", "typedef double vector_t"],
        ),
    ] {
        let mut arguments = sample(&["--dump-cuda", "-"]);
        arguments.extend(flags.iter().map(|f| f.to_string()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = fitzroy(&arguments).ends_with(0);
        for part in parts {
            assert!(said.out.contains(part), "{flags:?}: no `{part}`");
        }
    }
    let arguments = sample(&["--dump-cuda", "-", "--team", "33"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    fitzroy(&arguments)
        .ends_with(2)
        .complains(&["--team is 33"]);
}

#[test]
fn a_compiler_that_is_named_and_not_there_changes_nothing_without_a_gpu() {
    run(program(&std::env::temp_dir())
        .args(["verify", "--nvrtc", "/nowhere/libnvrtc.so.12", "--quiet"])
        .env("CUDA_VISIBLE_DEVICES", ""))
    .ends_with(0);
}

/// Where jobs are submitted there is no GPU, but the compiler can be looked at.
#[test]
fn verify_without_a_gpu_says_whether_the_compiler_that_was_named_is_there() {
    let verify = |path: &str| {
        run(program(&std::env::temp_dir())
            .args(["verify", "--nvrtc", path])
            .env("CUDA_VISIBLE_DEVICES", ""))
        .ends_with(0)
    };
    let said = verify("/nowhere/libnvrtc.so.12");
    let missing = "SKIP  nvrtc     no usable NVRTC";
    assert!(said.out.contains(missing), "{}", said.out);
    let Ok(path) = std::env::var("FITZROY_NVRTC") else {
        return;
    };
    let said = verify(&path);
    assert!(said.out.contains("PASS  nvrtc     1"), "{}", said.out);
}
