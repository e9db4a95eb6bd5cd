//! Groups that have nothing in common, sampled one by one and put beside each other: random problems, whose posterior is known.
#![allow(clippy::unwrap_used)]

use fitzroy::data::Dataset;
use fitzroy::fit::sample::Run;
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, CoordinateChoice, Outcome, Settings, Timing, beside, bind, run};

/// Catches: draws of one group under the name of another, and data of the whole that are not those of the parts.
#[test]
fn random_groups_beside_each_other_have_the_posterior_that_is_known() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Init);
        let (n, prior, noise) = (
            2 + seed as usize,
            0.5 + 2.0 * rng.uniform(),
            0.3 + rng.uniform(),
        );
        let y: Vec<f64> = (0..n).map(|_| 3.0 * rng.normal()).collect();
        let text = format!(
            "data y[group]\nm[group] ~ Normal(0, {prior})\ns[group] ~ Gamma(3, 2)\ny[group] ~ Normal(m, {noise})"
        );
        let model = Model::parse(&text).unwrap();
        let data = |y: &[f64]| {
            let mut data = Dataset::new();
            data.insert_real("y", &[y.len()], y.to_vec());
            data
        };
        let mut settings = Settings {
            coordinates: CoordinateChoice::AsWritten,
            rewrites: Rewrites::NONE,
            ..Settings::default()
        };
        let part = |k: usize| {
            let mut settings = settings.clone();
            settings.sampler.seed = 100 * seed + k as u64;
            let joint = bind(&model, &data(&y[k..=k]), &settings).unwrap();
            run(&joint, &settings, &Caller::silent()).unwrap()
        };
        let parts: Vec<Run> = (0..n).map(part).map(Outcome::into_run).collect();
        settings.sampler.seed = seed;
        let joint = bind(&model, &data(&y), &settings).unwrap();
        let whole = beside(
            &joint,
            parts,
            &settings,
            &Caller::silent(),
            Timing::default(),
        )
        .unwrap();
        let posterior = whole.trace.group("posterior").unwrap();
        let draws = |name: &str, k: usize| posterior.variable(name).unwrap().element(k).concat();
        let weight = prior.powi(2) / (prior.powi(2) + noise.powi(2));
        let sd = noise * weight.sqrt();
        for (k, y) in y.iter().enumerate() {
            // Five standard errors of an effective share of a fifth of 4,000 draws.
            for (name, mean, sd) in [("m", weight * y, sd), ("s", 1.5, 0.75_f64.sqrt())] {
                let found = draws(name, k);
                let found = found.iter().sum::<f64>() / found.len() as f64;
                assert!(
                    (found - mean).abs() < 5.0 * sd / 800.0_f64.sqrt(),
                    "{seed} {name} {k}: {found} {mean}"
                );
            }
        }
        let lp = whole
            .trace
            .group("sample_stats")
            .unwrap()
            .variable("lp")
            .unwrap()
            .element(0);
        assert!(lp.iter().flatten().all(|lp| lp.is_finite()));
    }
}
