//! Trainings with every combination of some settings.

use super::program::{SMALL_NETWORK, Scratch};
use super::{parameters, synthetic};

/// Every combination is trained once, however often the command is given; the table has the best first.
#[test]
fn settings_are_tried_in_every_combination() {
    let scratch = Scratch::new("weather-tune");
    synthetic(&scratch, "a.nc", &[]);
    let tune = |more: &[&str]| {
        let sweeps = [
            "weather",
            "tune",
            "--sweep",
            "latent-size=8,16",
            "learning-rate=1e-3",
        ];
        let mut args = [&sweeps[..], more, &["--", "--data", "a.nc"]].concat();
        let mut shared = SMALL_NETWORK
            .chunks(2)
            .filter(|flag| flag[0] != "--latent-size");
        args.extend(
            shared
                .by_ref()
                .filter(|flag| flag[0] != "--learning-rate")
                .flatten(),
        );
        args.extend(["--max-steps", "4"]);
        scratch.fitzroy(&args)
    };
    tune(&["--trial", "3"])
        .ends_with(2)
        .complains(&["--trial 3: there are 2 trials"]);
    tune(&["--trial", "2"])
        .ends_with(0)
        .complains(&["trial 2 of 2: latent-size 16"]);
    assert!(!scratch.0.join("tune/tune.csv").exists());
    let before = parameters(&scratch.0.join("tune/trial-02/best.safetensors"));
    let said = tune(&[]).ends_with(0);
    assert!(said.err.contains("trial 1 of 2") && !said.err.contains("trial 2 of 2"));
    said.says(&["x the start's validation losses", "latent-size 8"]);
    assert!(before == parameters(&scratch.0.join("tune/trial-02/best.safetensors")));
    let table = std::fs::read_to_string(scratch.0.join("tune/tune.csv")).expect("a table");
    assert_eq!(table.lines().count(), 3);
    assert!(table.starts_with("trial,latent-size,learning-rate,beside_start,best_validation_loss"));
    let ratios = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(3).unwrap_or_default());
    let ratios: Vec<f64> = ratios.map(|x| x.parse().expect("a number")).collect();
    assert!(ratios[0] <= ratios[1] && ratios[0] > 0.0);
}
