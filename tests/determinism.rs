//! The same seed gives the same bits, whatever the number of threads and the width of registers.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::draws::{Attribute, Column, Group};
use fitzroy::fit::sample::{Draws, Posterior, Settings as Sampler, Silent, Target, sample};
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy::run::{Caller, Settings, bind, run};
use fitzroy_device::cpu::Engine;
use fitzroy_device::lanes::Level;
use std::sync::atomic::AtomicBool;
use support::{Density, EXAMPLES, everywhere, example, example_joint};

/// Effects with partial coordinates, a running sum, a mixture.
const MODELS: [&str; 4] = ["radon", "random-walk", "mixture", "eight-schools"];

fn file(model: &str) -> &'static str {
    EXAMPLES.iter().find(|e| e.0 == model).unwrap().1
}

/// Every number of a group as bits.
fn bits(group: &Group) -> Vec<(String, Vec<u64>)> {
    let column = |values: &Column| -> Vec<u64> {
        match values {
            Column::Real(v) => v.iter().map(|x| x.to_bits()).collect(),
            Column::Integer(v) => v.iter().map(|&x| x as u64).collect(),
            Column::Flag(v) => v.iter().map(|&x| u64::from(x)).collect(),
        }
    };
    let variables = group.variables.iter();
    variables
        .map(|v| (v.name.clone(), column(&v.values)))
        .collect()
}

#[test]
fn any_number_of_threads_and_either_engine_give_the_same_trace() {
    let ways = [
        (1, Engine::Auto),
        (2, Engine::Interpreter),
        (7, Engine::Emitter),
    ];
    for name in MODELS {
        let traces = ways.map(|(threads, engine)| {
            let mut settings = Settings {
                engine,
                predictive: true,
                log_likelihood: true,
                ..Settings::default()
            };
            settings.sampler.seed = 11;
            settings.sampler.chains = 5;
            settings.sampler.tune = 200;
            settings.sampler.draws = 60;
            settings.sampler.keep_warmup = true;
            settings.sampler.threads = threads;
            let (model, data) = example(name, file(name));
            let joint = bind(&model, &data, &settings).unwrap();
            let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
            let groups = outcome.trace.groups.iter();
            let groups: Vec<_> = groups.map(|g| (g.name.clone(), bits(g))).collect();
            assert!(groups.len() >= 7, "{name}: {}", groups.len());
            let attributes = &outcome.trace.attributes;
            let used = attributes.iter().find(|a| a.0 == "fitzroy_engine").unwrap();
            let native =
                cfg!(all(unix, target_arch = "x86_64")) && Level::detect() != Level::Scalar;
            let wanted = match engine {
                Engine::Auto if native => "emitter",
                Engine::Auto => "interpreter",
                asked => asked.name(),
            };
            let wanted = Attribute::Text(wanted.into());
            assert!(!native || used.1 == wanted, "{name}: {:?}", used.1);
            groups
        });
        for other in &traces[1..] {
            for (one, two) in traces[0].iter().zip(other) {
                assert_eq!(one.0, two.0, "{name}");
                for (a, b) in one.1.iter().zip(&two.1) {
                    assert!(a == b, "{name}, {}: {} and {} differ", one.0, a.0, b.0);
                }
            }
            assert_eq!(traces[0].len(), other.len());
        }
    }
}

/// A model compiled for one level.
struct AtLevel<'a> {
    joint: &'a Joint,
    coordinates: Vec<Coordinates>,
    level: Level,
}

impl Target for Density {
    fn dim(&self) -> usize {
        self.dim
    }
    fn value_and_gradient(&mut self, position: &[f64], gradient: &mut [f64]) -> f64 {
        self.run_into(position, gradient)
    }
}

impl Posterior for AtLevel<'_> {
    type Target = Density;
    fn dim(&self) -> usize {
        self.joint.n_params()
    }
    fn target(&self) -> Density {
        Density::at(self.level, self.joint, &self.coordinates)
    }
}

#[test]
fn every_level_gives_the_same_draws() {
    for name in MODELS {
        let joint = example_joint(name, file(name)).unwrap();
        let n = |k: usize| joint.parameters()[joint.plates()[k].parameter].len;
        let partial = (0..joint.plates().len()).map(|k| Coordinates::Partial(vec![0.7; n(k)]));
        for coordinates in [
            everywhere(&joint, &Coordinates::NonCentred),
            partial.collect(),
        ] {
            let mut first: Option<Vec<Draws>> = None;
            for level in Level::available() {
                let mut posterior = AtLevel {
                    joint: &joint,
                    coordinates: coordinates.clone(),
                    level,
                };
                let settings = Sampler {
                    seed: 5,
                    chains: 3,
                    tune: 200,
                    draws: 50,
                    ..Sampler::default()
                };
                let stop = AtomicBool::new(false);
                let run = sample(&mut posterior, &settings, &Silent, &stop).unwrap();
                match &first {
                    None => first = Some(run.chains),
                    Some(first) => {
                        for (a, b) in first.iter().zip(&run.chains) {
                            let same = a.positions.iter().zip(&b.positions);
                            let same = same.filter(|(a, b)| a.to_bits() == b.to_bits()).count();
                            assert_eq!(same, a.positions.len(), "{name}, {level:?}");
                            assert_eq!(a.statistics.lp, b.statistics.lp, "{name}, {level:?}");
                        }
                    }
                }
            }
        }
    }
}
