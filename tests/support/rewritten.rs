//! Values of a density at points, and short runs, for tests of rewrites.

use fitzroy::model::joint::{Graphs, Joint, Rewrites};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Outcome, Settings, run};
use fitzroy_graph::{NodeId, evaluate};

/// Relative: sums over rows cancel a few digits of the 16.
pub(crate) const BOUND: f64 = 1e-9;

pub(crate) fn values(graphs: &Graphs, x: &[f64], nodes: &[NodeId]) -> Vec<Vec<f64>> {
    let mut all = x.to_vec();
    all.resize(graphs.n_extended.max(x.len()), 0.3);
    evaluate(&graphs.graph, &graphs.bindings, &all, nodes)
}

/// Sampled coordinates within ±1, standard normal numbers after them.
pub(crate) fn point(joint: &Joint, number: u32) -> Vec<f64> {
    let mut rng = Rng::new(11, 0, 0, number, Purpose::Test);
    let sampled = joint.n_sampled();
    let one = |k: usize| match k < sampled {
        true => 2.0 * rng.uniform() - 1.0,
        false => rng.normal(),
    };
    (0..joint.n_params()).map(one).collect()
}

pub(crate) fn sampled(joint: &Joint, rewrites: Rewrites) -> Outcome {
    let mut settings = Settings {
        rewrites,
        ..Settings::default()
    };
    settings.sampler.tune = 300;
    settings.sampler.draws = 100;
    settings.sampler.keep_warmup = true;
    run(joint, &settings, &Caller::silent()).unwrap()
}
