//! Benchmarks of a GPU.

use super::*;

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
