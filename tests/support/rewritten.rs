//! Values of a density at points, and short runs, for tests of rewrites.

use fitzroy::data::Dataset;
use fitzroy::model::joint::{Coordinates, Graphs, Joint, Rewrites};
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

/// Coordinates in which nothing is chosen yet.
pub(crate) fn at_start(joint: &Joint) -> Vec<Coordinates> {
    vec![Coordinates::NonCentred; joint.plates().len()]
}

/// A point of the density as rewritten, the same in the coordinates of the model as written, and the density
/// of what is sampled plus that of what is integrated out given it.
pub(crate) fn drawn_at(rewritten: &Joint, new: &Graphs, number: u32) -> (Vec<f64>, Vec<f64>, f64) {
    let u = point(rewritten, number);
    let mut nodes = vec![new.density];
    nodes.extend(new.conditional);
    let total: f64 = values(new, &u, &nodes).concat().iter().sum();
    let mut x = u.clone();
    for &(k, node) in &new.restored {
        let parameter = &rewritten.parameters()[k];
        let own = values(new, &u, &[node]).remove(0);
        x[parameter.offset..parameter.offset + parameter.len].copy_from_slice(&own);
    }
    (u, x, total)
}

/// The identity, and that everything recorded is what the model as written records.
#[track_caller]
pub(crate) fn check_identity(rewritten: &Joint, what: &str) {
    let coordinates = at_start(rewritten);
    let (new, plain) = (
        rewritten.graphs(&coordinates),
        rewritten.plain_graphs(&coordinates),
    );
    let mut compared = 0;
    for number in 0..4 {
        let (u, x, total) = drawn_at(rewritten, &new, number);
        let written = values(&plain, &x, &[plain.density])[0][0];
        if !written.is_finite() {
            continue;
        }
        compared += 1;
        assert!(
            (total - written).abs() <= BOUND * (1.0 + written.abs()),
            "{what}: {total} rewritten, {written} as written"
        );
        for (a, b) in new.recorded.iter().zip(&plain.recorded) {
            let got = values(&new, &u, &[a.node]).remove(0);
            let want = values(&plain, &x, &[b.node]).remove(0);
            for (got, want) in got.iter().zip(&want) {
                let same = got == want || (got - want).abs() <= BOUND * (1.0 + want.abs());
                assert!(same, "{what}, {}: {got} and {want}", a.name);
            }
        }
    }
    assert!(compared > 0, "{what}: nothing could be compared");
}

pub(crate) fn integrated(joint: &Joint) -> Vec<&str> {
    let all = joint.parameters().iter().enumerate();
    let gone = all.filter(|(k, _)| joint.is_integrated(*k));
    gone.map(|(_, p)| p.name.as_str()).collect()
}

/// Twelve rows in four groups, the last without any.
pub(crate) fn data() -> Dataset {
    let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
    let mut data = Dataset::new();
    let y: Vec<f64> = (0..12).map(|_| 2.0 + rng.normal()).collect();
    data.insert_real("y", &[12], y);
    data.insert_real("x", &[12], (0..12).map(|_| rng.normal()).collect());
    data.insert_real("w", &[12], (0..12).map(|_| 0.5 + rng.uniform()).collect());
    data.insert_real("more", &[4], (0..4).map(|_| rng.normal()).collect());
    data.insert_real("g", &[12], (0..12).map(|i| f64::from(i % 3)).collect());
    data
}

pub(crate) const HEAD: &str = "data y[obs], x[obs], w[obs], more[groups], g[obs] in groups\n\
                    m ~ Normal(1, 3)\n";
