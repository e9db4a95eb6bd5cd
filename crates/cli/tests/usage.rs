//! Help, wrong usage, and the settings that every command takes.

mod program;

use program::{Scratch, fitzroy, program, run};

#[test]
fn help_and_version_are_no_errors() {
    for args in [
        &["--help"][..],
        &["help"],
        &["help", "verify"],
        &["verify", "--help"],
    ] {
        let said = fitzroy(args).ends_with(0);
        assert!(said.out.contains("fitzroy"), "{}", said.out);
        assert_eq!(said.err, "");
    }
    let said = fitzroy(&["--version"]).ends_with(0);
    assert_eq!(
        said.out.trim(),
        concat!("fitzroy ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_usage_ends_with_two() {
    fitzroy(&[]).ends_with(2);
    fitzroy(&["sampel"]).ends_with(2).complains(&["sampel"]);
    fitzroy(&["verify", "--gpu"])
        .ends_with(2)
        .complains(&["--gpu"]);
    fitzroy(&["verify", "--seed", "many"])
        .ends_with(2)
        .complains(&["--seed", "many"]);
    fitzroy(&["verify", "extra"])
        .ends_with(2)
        .complains(&["extra"]);
    fitzroy(&["models", "nine-schools"])
        .ends_with(2)
        .complains(&["nine-schools", "eight-schools"]);
    fitzroy(&["completions", "dos"])
        .ends_with(2)
        .complains(&["dos", "bash", "zsh", "fish"]);
}

#[test]
fn an_unknown_device_is_named_with_what_there_is() {
    let forms = "auto, cpu, cuda, cuda:N, cuda:0,1 or cuda:all";
    fitzroy(&["verify", "--device", "tpu"])
        .ends_with(2)
        .complains(&["--device", "tpu", forms]);
    let said = run(program(&std::env::temp_dir())
        .arg("verify")
        .env("FITZROY_DEVICE", "tpu"));
    said.ends_with(2)
        .complains(&["FITZROY_DEVICE", "tpu", forms]);
}

#[test]
fn a_gpu_that_was_asked_for_is_never_replaced_in_silence() {
    for device in ["cuda", "cuda:1"] {
        // The same with and without a GPU in this machine.
        run(program(&std::env::temp_dir())
            .args(["verify", "--device", device])
            .env("CUDA_VISIBLE_DEVICES", ""))
        .ends_with(2)
        .complains(&["--device cuda"]);
    }
    fitzroy(&["verify", "--precision", "f32"])
        .ends_with(2)
        .complains(&["--precision", "f64"]);
}

#[test]
fn a_flag_beats_the_environment() {
    let temporary = std::env::temp_dir();
    let quiet = ["verify", "--quiet"];
    let mut wrong = program(&temporary);
    run(wrong.args(quiet).env("FITZROY_THREADS", "none"))
        .ends_with(2)
        .complains(&["FITZROY_THREADS", "none"]);
    let mut beaten = program(&temporary);
    run(beaten
        .args(quiet)
        .args(["--threads", "1"])
        .env("FITZROY_THREADS", "none"))
    .ends_with(0);
    let mut beaten = program(&temporary);
    run(beaten
        .args(quiet)
        .args(["--device", "cpu"])
        .env("FITZROY_DEVICE", "cuda"))
    .ends_with(0);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let said = fitzroy(&["completions", shell]).ends_with(0);
        assert!(
            said.out.contains("verify") && said.out.contains("require-gpu"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::new("man");
    let said = scratch.fitzroy(&["man", "pages/man1"]).ends_with(0);
    let folder = scratch.0.join("pages/man1");
    let n = std::fs::read_dir(&folder).expect("it was made").count();
    said.says(&[&format!("{n} manual pages")]);
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a page");
    assert!(page("fitzroy.1").contains("fitzroy\\-curve\\-fit(1)"));
    for (name, flag) in [
        ("sample", "target"),
        ("weather-train", "checkpoint"),
        ("man", "DIR"),
    ] {
        assert!(page(&format!("fitzroy-{name}.1")).contains(flag), "{name}");
    }
    let sample = page("fitzroy-sample.1");
    let version = concat!("fitzroy ", env!("CARGO_PKG_VERSION"));
    assert!(sample.contains(version) && sample.contains(".SH EXAMPLES\n"));
    assert!(page("fitzroy.1").contains(".SH NOTES\n"));
    scratch.file("taken", "");
    let said = scratch.fitzroy(&["man", "taken"]).ends_with(2);
    said.complains(&["taken"]);
}

#[test]
fn models_are_listed_and_printed_as_they_are() {
    let list = fitzroy(&["models"]).ends_with(0);
    assert!(list.out.contains("hierarchical") && list.out.contains("eight-schools"));
    let model = fitzroy(&["models", "eight-schools"]).ends_with(0);
    let file = std::fs::read_to_string(program::repository("models/eight-schools.fz"));
    assert_eq!(model.out, file.expect("the model is in the repository"));
    let document = fitzroy(&["models", "--json"]).ends_with(0).json();
    assert!(document["models"].as_array().is_some_and(|m| m.len() > 10));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let scratch = Scratch::new("pipe");
    let mut child = program(&scratch.0)
        .args(["completions", "bash"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}
