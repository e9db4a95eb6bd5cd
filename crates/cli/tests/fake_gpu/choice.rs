//! Which GPU is taken, and when none is.

use super::*;

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
