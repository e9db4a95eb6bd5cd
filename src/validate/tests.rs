//! The main job on a small data set, and with a model that is wrong for its data.

use super::*;

fn small() -> Settings {
    let mut settings = Settings {
        groups: 40,
        ..Settings::default()
    }
    .quick();
    settings.run.sampler.threads = 2;
    settings
}

#[test]
fn the_main_job_passes_with_its_default_seeds() {
    let found = validate(&Settings::default().quick(), &Caller::silent()).unwrap();
    assert!(found.passed(), "{}", report_text(&found));
    let names: Vec<&str> = found.checks.iter().map(|c| c.name).collect();
    let skipped: Vec<&str> = found
        .checks
        .iter()
        .filter(|c| c.verdict == Verdict::Skip)
        .map(|c| c.name)
        .collect();
    assert_eq!(skipped, ["gpu"]);
    for name in [
        "numerics",
        "r-hat",
        "ess",
        "mu_pop",
        "sigma_pop",
        "sigma_obs",
        "predicted groups",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
}

/// Over 20 data sets the three intervals hold 89 % of 60 truths: 53.4 expected, binomial standard
/// deviation 2.4. The lower bound is four of them below, which chance alone reaches for one choice
/// of seeds in 5000. Catches: a wrong prior scale, sigma taken for a variance.
#[test]
fn intervals_hold_the_truth_as_often_as_they_claim() {
    let mut held = 0;
    for seed in 0..20 {
        let settings = Settings {
            data_seed: seed,
            ..small()
        };
        let caller = Caller::silent();
        let (_, _, _, diagnosis) = sampled(&settings, &caller, &mut Clock::new(&caller)).unwrap();
        let checks = truth(&diagnosis);
        held += checks.iter().filter(|c| c.verdict == Verdict::Pass).count();
    }
    assert!(held >= 44, "{held} of 60");
}

#[test]
fn data_are_a_function_of_their_seed() {
    let y = |seed| generate(3, 2, seed).get("y").unwrap().clone();
    assert_eq!(y(1), y(1));
    assert_ne!(y(1), y(2));
    assert_eq!(
        generate(3, 2, 1).get("group").unwrap().values,
        crate::data::Values::Real(vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    );
}

#[test]
fn a_single_group_is_refused() {
    let settings = Settings {
        groups: 1,
        ..Settings::default()
    };
    let error = validate(&settings, &Caller::silent()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "1 groups of 10 observations; validation needs at least 2 of 2"
    );
}
