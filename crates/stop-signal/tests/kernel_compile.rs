//! The compile gate: kernels of the hierarchical stop-signal model compile for the architectures of
//! real GPUs, and spill no registers.
//!
//! `FITZROY_NVRTC` names the compiler; with `FITZROY_REQUIRE_NVRTC` a missing one fails.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "../../../tests/support/nvrtc.rs"]
mod nvrtc;

use fitzroy::fit::sample::kernel::program;
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{Settings, bind, kernel_source};
use fitzroy_device::gpu::Target;
use fitzroy_device::gpu::text::{Precision, for_device};
use fitzroy_ptx::compiled;
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::data::{Options, parse};
use fitzroy_stop_signal::model::Kind;
use fitzroy_stop_signal::simulate::simulate;
use fitzroy_stop_signal::start::suit;
use nvrtc::compiler;

/// Architecture, precision and threads to a chain.
type Case = (u32, Precision, usize);

static CASES: [Case; 6] = [
    (70, Precision::F64, 128),
    (86, Precision::Mixed, 128),
    (89, Precision::F32, 1024),
    (90, Precision::F64, 128),
    (90, Precision::F64, 1024),
    (120, Precision::Mixed, 128),
];

#[test]
fn kernels_of_the_hierarchy_compile_within_their_budget() {
    assert_no_spills(Kind::Rdex, &CASES);
}

/// Half of the cases: the go process is all that differs.
#[test]
fn kernels_of_the_ex_gaussian_race_do_so_too() {
    assert_no_spills(Kind::ExGaussian, &CASES[2..5]);
}

fn assert_no_spills(kind: Kind, cases: &'static [Case]) {
    let Some(compiler) = compiler() else { return };
    let config = Config::parse(default_of(kind)).unwrap();
    let csv = simulate(&config, 20, 4).csv();
    let study = parse(csv.as_bytes(), "simulated", &Options::default()).unwrap();
    let spec = config.spec();
    let model = Model::parse(&spec.text()).unwrap();
    let spilled = |&(arch, precision, team): &Case| {
        let mut settings = Settings {
            rewrites: Rewrites::NONE,
            precision,
            ..Settings::default()
        };
        suit(&spec, &mut settings.sampler);
        let joint = bind(&model, &spec.data(&study), &settings).unwrap();
        let source = kernel_source(&joint, &settings).unwrap();
        let program = program(&source, team, &settings.sampler);
        let made = compiled::compile(&compiler, &for_device(&program), Target::Cubin(arch));
        let what = format!("sm_{arch}, {}, {team} threads", precision.name());
        let (cubin, usage) = made.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(cubin.starts_with(b"\x7fELF"), "{what}");
        (usage.spill_bytes > 0).then(|| format!("{what}: {usage:?}"))
    };
    let each = |half: &'static [Case]| half.iter().filter_map(&spilled).collect::<Vec<_>>();
    let each = &each;
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let halves = cases.chunks(cases.len().div_ceil(2));
        let threads: Vec<_> = halves.map(|half| scope.spawn(move || each(half))).collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
