//! Short runs on any device, and all that they drew as bits.

use fitzroy::draws::Column;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Caller, Device, Outcome, Settings, run};

/// Three chains of so many transitions, those of the warm-up kept.
pub(crate) fn settings(tune: usize, draws: usize) -> Settings {
    let mut settings = Settings::default();
    settings.sampler.chains = 3;
    settings.sampler.tune = tune;
    settings.sampler.draws = draws;
    settings.sampler.seed = 11;
    settings.sampler.keep_warmup = true;
    settings
}

/// What a device draws.
pub(crate) fn sampled(
    joint: &Joint,
    settings: &Settings,
    device: Device,
) -> fitzroy::Result<Outcome> {
    let settings = Settings {
        device,
        ..settings.clone()
    };
    run(joint, &settings, &Caller::silent())
}

/// Names and bits.
pub(crate) type Bits = Vec<(String, Vec<u64>)>;

/// Every number of every group but the facts about the run, by name, as bits.
pub(crate) fn bits(outcome: &Outcome) -> Bits {
    let mut all = Vec::new();
    for group in &outcome.trace.groups {
        for variable in &group.variables {
            let name = format!("{}/{}", group.name, variable.name);
            let bits = match &variable.values {
                Column::Real(x) => x.iter().map(|x| x.to_bits()).collect(),
                Column::Integer(x) => x.iter().map(|&x| x as u64).collect(),
                Column::Flag(x) => x.iter().map(|&x| u64::from(x)).collect(),
            };
            all.push((name, bits));
        }
    }
    all
}
