//! What a run is said to take of a machine's memory is what it takes, whatever the metric and however
//! chains are shared out.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::Result;
use fitzroy::fit::sample::{Adapt, Integrator, MetricKind};
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Caller, CoordinateChoice, Device, KernelMemory, Settings, Team, run};
use fitzroy_device::gpu::host::{HostLibrary, HostMachine};
use fitzroy_device::gpu::{Machine, Meanwhile, Program, Take, Words};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The most words of each memory.
type Taken = Arc<Mutex<BTreeMap<usize, usize>>>;

/// This processor, counting.
struct Counting(HostMachine, Taken);

impl Machine for Counting {
    fn load(&mut self, program: &Program) -> Result<()> {
        self.0.load(program)
    }
    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        let mut taken = self.1.lock().unwrap();
        let most = taken.entry(slot).or_default();
        *most = words.max(*most);
        self.0.reserve(slot, words)
    }
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.0.write(at, words)
    }
    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        self.0.read(words, take)
    }
    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        self.0.launch(job, n_teams, meanwhile)
    }
}

/// Memories of rows: how long launches last decides how many there are.
const ROWS: [usize; 2] = [7, 8];

/// Words that a run took without its rows, words said beforehand without those of the longest
/// launches, those of directions that need not have been chosen, and whether rows stayed below theirs.
fn taken(joint: &Joint, settings: &Settings, team: Team) -> (usize, usize, usize, bool) {
    let counted = Taken::default();
    let machine = Counting(HostMachine::new(1, 1), Arc::clone(&counted));
    let settings = Settings {
        device: Device::machine(machine).with_team(team),
        ..settings.clone()
    };
    let memory = KernelMemory::new(joint, &settings).unwrap();
    let sampler = &settings.sampler;
    let outcome = run(joint, &settings, &Caller::silent()).unwrap();
    let kinds = &outcome.run.metrics;
    assert!(kinds.contains(&sampler.metric), "{kinds:?}");
    let counted = counted.lock().unwrap();
    let (rows, rest): (Vec<_>, Vec<_>) = counted.iter().partition(|t| ROWS.contains(t.0));
    let sum = |part: &[(&usize, &usize)]| part.iter().map(|t| *t.1).sum::<usize>();
    let dim = outcome.run.dim;
    let longest = 2 * sampler.tune.max(sampler.draws) * sampler.chains * (11 + 2 * dim);
    let said = memory.bytes(sampler.chains) as usize / 8;
    // Sixteen directions, twice, and their weights, for each of the chains.
    let spare = match sampler.metric {
        MetricKind::Blocks | MetricKind::LowRank => sampler.chains * 16 * (1 + 2 * dim),
        _ => 0,
    };
    let rows_fit = sum(&rows) <= longest;
    (sum(&rest), said - longest, spare, rows_fit)
}

/// Never below what is taken, and a tenth above it at most, but for directions of a metric that could
/// have been chosen. Catches: a dense metric that is assumed for all, blocks without their places, one
/// copy of the vectors for all blocks of a chain.
#[test]
fn what_is_said_beforehand_is_what_is_taken() {
    if !HostLibrary::has_compiler() {
        assert!(std::env::var_os("FITZROY_REQUIRE_GXX").is_none());
        eprintln!("skipped: there is no g++");
        return;
    }
    for (name, file, metric, adapt, team) in [
        (
            "rats",
            "rats.csv",
            MetricKind::Diagonal,
            Adapt::Pooled,
            Team::Auto,
        ),
        (
            "rats",
            "rats.csv",
            MetricKind::Blocks,
            Adapt::PerChain,
            Team::Auto,
        ),
        (
            "hierarchical-noncentred",
            "hierarchical.csv",
            MetricKind::LowRank,
            Adapt::PerChain,
            Team::Auto,
        ),
        (
            "eight-schools",
            "eight-schools.csv",
            MetricKind::Dense,
            Adapt::PerChain,
            Team::Auto,
        ),
        (
            "rats",
            "rats.csv",
            MetricKind::Diagonal,
            Adapt::Pooled,
            Team::Threads(5 * 256),
        ),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        let mut settings = Settings {
            rewrites: Rewrites::NONE,
            coordinates: CoordinateChoice::AsWritten,
            ..Settings::default()
        };
        let sampler = &mut settings.sampler;
        (sampler.chains, sampler.tune, sampler.draws) = (2, 60, 4);
        (sampler.metric, sampler.adapt, sampler.max_treedepth) = (metric, adapt, 5);
        sampler.integrator = Integrator::Rotation;
        let (took, said, spare, rows_fit) = taken(&joint, &settings, team);
        let what = format!("{name}, {}, {team:?}: {took}, {said}", metric.name());
        let most = took + took / 10 + spare;
        assert!(took <= said && said <= most && rows_fit, "{what}");
    }
}
