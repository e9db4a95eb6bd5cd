//! A model whose parts are independent, from runs of its parts.

use super::attempt::{found_by_sampler, positions_of, prepare};
use super::integrated::Integrated;
use super::posterior::CoordinateChoice;
use super::records::{ModelRecords, Told, whole};
use super::{Caller, Outcome, Settings, Timing};
use crate::fit::sample::Run;
use crate::model::joint::{Joint, Rewrites};
use crate::{Error, Result};
use fitzroy_device::gpu::text::Precision;
use std::sync::Arc;

/// The outcome of `joint` from runs of its parts: models with the same text, of which each has some elements of the dim that
/// all parameters of `joint` have first, in the order of `parts`.
///
/// Chains of a whole that falls apart have to follow its worst part with every step; those of the parts have step sizes and
/// metrics of their own, and take a fraction of the gradients. What transitions of the whole say is in [`Run::beside`].
///
/// The parts were sampled with settings whose coordinates are as written and without rewrites, as `settings` are.
/// `timing` is that of all parts.
///
/// # Errors
/// The parts are not those of the model, or differ in chains or draws; settings that ask for other coordinates.
pub fn beside(
    joint: &Joint,
    parts: Vec<Run>,
    settings: &Settings,
    caller: &Caller<'_>,
    timing: Timing,
) -> Result<Outcome> {
    let as_written = settings.coordinates == CoordinateChoice::AsWritten
        && settings.rewrites == Rewrites::NONE
        && !settings.device.is_machine();
    if !as_written {
        let message = "parts are put beside each other in the coordinates of their model, without rewrites, on the processor";
        return Err(Error::usage(message));
    }
    let n_parts = parts.len();
    let lengths: Vec<usize> = joint
        .parameters()
        .iter()
        .map(|p| p.len / n_parts.max(1))
        .collect();
    let run = Run::beside(parts, &lengths).filter(|run| run.dim == joint.n_params());
    let Some(mut run) = run else {
        let message = "the parts are not those of this model, or differ in chains or draws";
        return Err(Error::usage(message));
    };
    let start = (caller.now)();
    let posterior =
        prepare(joint, settings)?.expect("nothing is refused where nothing is rewritten");
    let compiled = Arc::clone(posterior.compiled());
    let told = Told {
        settings,
        caller,
        timing,
        warmup_transitions: Some(run.warmup_transitions),
        precision: Precision::F64,
    };
    let records = ModelRecords::of(joint, &compiled);
    let (trace, first_draw) = whole(&records, &told, &mut run, None, None)?;
    let timing = Timing {
        collecting: timing.collecting + (caller.now)() - start,
        ..timing
    };
    Ok(Outcome {
        precision: Precision::F64,
        positions: positions_of(&mut run),
        first_transition: settings.sampler.tune,
        integrated: Integrated::new(&compiled, &settings.sampler),
        rewrites: Vec::new(),
        group: "posterior",
        trace,
        first_draw,
        n_draws: run.n_draws(),
        centring: Vec::new(),
        findings: found_by_sampler(&run),
        run,
        timing,
        compiled: Some(compiled),
        kept: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::model::Model;
    use crate::run::{bind, run};

    /// Groups with nothing in common, one by one and put together: their draws are those of the parts, their log density is
    /// that of the whole, and the posterior is known.
    #[test]
    fn parts_beside_each_other_are_the_whole() {
        let text = "data y[group]\n\
                    m[group] ~ Normal(0, 2)\n\
                    s[group] ~ HalfNormal(1)\n\
                    twice[group] = 2 * m\n\
                    y[group] ~ Normal(m, 1)";
        let model = Model::parse(text).unwrap();
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
        settings.sampler.draws = 800;
        let caller = Caller::silent();
        let y = [1.0, 2.5, -4.0];
        let part = |k: usize| {
            let mut settings = settings.clone();
            settings.sampler.seed = k as u64;
            let joint = bind(&model, &data(&[y[k]]), &settings).unwrap();
            run(&joint, &settings, &caller).unwrap()
        };
        let lp = |o: &Outcome| {
            o.trace
                .group("sample_stats")
                .unwrap()
                .variable("lp")
                .unwrap()
                .element(0)
        };
        let parts: Vec<Outcome> = (0..3).map(part).collect();
        let sums: Vec<f64> = (0..800)
            .map(|d| parts.iter().map(|p| lp(p)[2][d]).sum())
            .collect();
        let own = parts[1]
            .trace
            .group("posterior")
            .unwrap()
            .variable("twice")
            .unwrap()
            .element(0);
        let joint = bind(&model, &data(&y), &settings).unwrap();
        let runs: Vec<Run> = parts.into_iter().map(Outcome::into_run).collect();
        let timing = Timing::default();
        let whole = beside(&joint, runs.clone(), &settings, &caller, timing).unwrap();
        let posterior = whole.trace.group("posterior").unwrap();
        assert_eq!(posterior.variable("twice").unwrap().element(1), own);
        for (a, b) in lp(&whole)[2].iter().zip(&sums) {
            assert!((a - b).abs() < 1e-9 * b.abs(), "{a} {b}");
        }
        for k in 0..3 {
            let draws = posterior.variable("m").unwrap().element(k).concat();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let exact = 0.8 * y[k];
            assert!((mean - exact).abs() < 0.06, "{k}: {mean} {exact}");
        }
        // Other coordinates, and other parts, are refused.
        let auto = Settings::default();
        assert!(beside(&joint, runs.clone(), &auto, &caller, timing).is_err());
        assert!(beside(&joint, runs[1..].to_vec(), &settings, &caller, timing).is_err());
    }
}
