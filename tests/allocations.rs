//! Memory is taken before the work: neither a log density nor a transition allocates.
#![allow(clippy::unwrap_used)]

#[path = "../crates/device/tests/counting/mod.rs"]
mod counting;
mod support;

use counting::{Counting, calls};
use fitzroy::data::Dataset;
use fitzroy::fit::sample::{Event, Observer, Phase, Sampler};
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy::run::{Caller, Settings, bind, run};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use support::{Density, EXAMPLES, everywhere, example, example_joint, joint};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Operations on whole arrays: matrices, their factors, running sums and slices.
const WHOLE_ARRAYS: &str = "data y[obs, items], x[obs]
    chol[items, items] ~ LKJCholeskyCov(2, HalfNormal(1))
    mu[items]          ~ Normal(0, 1)
    own[items, items]  = chol @ chol
    s                  ~ HalfNormal(1)
    step[obs]          ~ Normal(0, 1)
    y[obs, items]      ~ MvNormal(mu, chol=chol)
    let level = cumsum(step)
    x[1:]              ~ Normal(level[1:] - level[:-1], s)
";

fn whole_arrays() -> Joint {
    let mut data = Dataset::new();
    let y = [0.3, -0.5, 1.2, 0.1, 0.4, -1.0, 0.7, 0.2];
    data.insert_real("y", &[4, 2], y.to_vec());
    data.insert_real("x", &[4], y[..4].to_vec());
    joint(WHOLE_ARRAYS, &data)
}

#[test]
fn a_log_density_allocates_nothing_after_its_workspace_was_made() {
    let examples = EXAMPLES
        .iter()
        .filter_map(|e| Some((e.0, example_joint(e.0, e.1)?)));
    for (name, joint) in examples.chain([("whole arrays", whole_arrays())]) {
        let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::NonCentred));
        let x = vec![0.1; density.dim];
        let mut gradient = vec![0.0; density.dim];
        let before = calls();
        density.run_into(&x, &mut gradient);
        density.run_into(&x, &mut gradient);
        assert_eq!(calls() - before, 0, "{name}");
    }
}

/// Notes how many allocations there were at the end of each transition after the warm-up.
struct Notes(Mutex<Vec<(usize, u64)>>);

impl Observer for Notes {
    fn event(&self, event: &Event<'_>) {
        if event.phase == Phase::Sampling {
            self.0.lock().unwrap().push((event.chain, calls()));
        }
    }
}

#[test]
fn a_transition_allocates_nothing_after_the_warmup() {
    let nuts = ["eight-schools", "hierarchical", "random-walk", "mixture"];
    let nuts = nuts.map(|name| (name, Sampler::Nuts));
    let others = [
        Sampler::Walnuts,
        Sampler::Mams,
        Sampler::Chees,
        Sampler::Independence,
    ];
    for (name, sampler) in nuts.into_iter().chain(others.map(|s| ("hierarchical", s))) {
        let file = EXAMPLES.iter().find(|e| e.0 == name).unwrap().1;
        let (model, data) = example(name, file);
        let mut settings = Settings::default();
        settings.sampler.sampler = sampler;
        settings.sampler.tune = 300;
        settings.sampler.draws = 200;
        let joint = bind(&model, &data, &settings).unwrap();
        let notes = Notes(Mutex::new(Vec::with_capacity(4 * 200)));
        let caller = Caller {
            observer: &notes,
            stop: &AtomicBool::new(false),
            now: &|| 0.0,
            created_at: "",
        };
        run(&joint, &settings, &caller).unwrap();
        let notes = notes.0.into_inner().unwrap();
        assert_eq!(notes.len(), 4 * 200);
        for pair in notes.windows(2).filter(|p| p[0].0 == p[1].0) {
            assert_eq!(pair[0].1, pair[1].1, "{name} {sampler:?}");
        }
    }
}
