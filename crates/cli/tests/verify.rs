//! `fitzroy verify`.

mod program;

use program::fitzroy;

#[test]
fn this_machine_passes_and_every_check_has_its_line() {
    let said = fitzroy(&["verify"]).ends_with(0);
    for part in [
        "PASS  cpu",
        "PASS  numerics",
        "SKIP  gpu",
        "GB/s",
        "GFLOP/s",
        "--chains 4",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    assert!(said.out.ends_with("result: PASS\n"), "{}", said.out);
}

#[test]
fn json_holds_the_same_and_nothing_else() {
    let said = fitzroy(&["verify", "--json"]).ends_with(0);
    let found = said.json();
    assert_eq!(found["passed"], true);
    assert!(found["cpu"]["threads"].as_u64().is_some_and(|n| n > 0));
    assert!(
        found["rates"]["memory_gb_per_s"]
            .as_f64()
            .is_some_and(|x| x > 0.0)
    );
    assert!(
        found["rates"]["arithmetic_gflop_per_s"]
            .as_f64()
            .is_some_and(|x| x > 0.0)
    );
    assert_eq!(found["gpus"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_required_gpu_that_is_not_usable_ends_with_one() {
    let said = fitzroy(&["verify", "--require-gpu"]).ends_with(1);
    assert!(
        said.out
            .contains("--require-gpu was given and no GPU passed"),
        "{}",
        said.out
    );
    let said = fitzroy(&["verify", "--require-gpu", "--json"]).ends_with(1);
    assert_eq!(said.json()["passed"], false);
}

#[test]
fn quiet_says_the_verdict_alone() {
    let said = fitzroy(&["verify", "--quiet"]).ends_with(0);
    assert_eq!(said.out, "result: PASS\n");
}
