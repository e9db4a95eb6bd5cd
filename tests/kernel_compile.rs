//! The compile gate: the kernels of all example models compile for the architectures of real GPUs,
//! within the budget of registers and stack in `tests/golden/kernels/budget.txt` where there is one.
//!
//! `FITZROY_NVRTC` names the compiler (`libnvrtc.so.12` or its folder); with
//! `FITZROY_REQUIRE_NVRTC` a missing one fails. `FITZROY_BLESS` writes the budget anew.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::fit::sample::kernel::program;
use fitzroy::run::{Settings, kernel_source};
use fitzroy_device::gpu::text::for_device;
use fitzroy_device::gpu::{Compiler, Places, Usage};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use support::EXAMPLES;

const BUDGET: &str = "tests/golden/kernels/budget.txt";
/// Registers above the budget that fail: 5 %.
const ROOM: f64 = 1.05;

fn compiler() -> Option<Compiler> {
    let places = Places {
        compiler: std::env::var_os("FITZROY_NVRTC").map(Into::into),
        ..Places::default()
    };
    let found = Compiler::find(&places, (99, 0), 90);
    let required = std::env::var_os("FITZROY_REQUIRE_NVRTC").is_some();
    match found {
        Ok(compiler) => Some(compiler),
        Err(trouble) if required => panic!("FITZROY_REQUIRE_NVRTC is set: {trouble}"),
        Err(trouble) => {
            eprintln!("skipped: {trouble}");
            None
        }
    }
}

/// Model, data, team, architecture.
type Case = (&'static str, &'static str, usize, u32);

/// Every model as a block for sm_90 and as a warp for sm_70, a few for everything else.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file, _) in EXAMPLES {
        cases.push((name, file, 128, 90));
        cases.push((name, file, 32, 70));
    }
    for arch in [75, 80, 86, 89, 100, 120] {
        cases.push(("hierarchical", "hierarchical.csv", 128, arch));
        cases.push(("eight-schools", "eight-schools.csv", 32, arch));
    }
    cases
}

fn compile(compiler: &Compiler, (name, file, team, arch): Case) -> Option<Usage> {
    let joint = support::example_joint(name, file)?;
    let settings = Settings::default();
    let source = kernel_source(&joint, &settings).unwrap();
    let text = for_device(&program(&source, team, settings.sampler.max_treedepth));
    let made = compiler.compile_with_usage(&text, arch);
    let (cubin, usage) = made.unwrap_or_else(|e| panic!("{name} for sm_{arch}: {e}"));
    assert!(cubin.starts_with(b"\x7fELF"), "{name} for sm_{arch}");
    Some(usage)
}

#[test]
fn every_example_compiles_within_its_budget() {
    let Some(compiler) = compiler() else { return };
    let queue = Mutex::new(cases());
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let case = queue.lock().unwrap().pop();
                    let Some(case) = case else { return };
                    if let Some(usage) = compile(&compiler, case) {
                        let (name, _, team, arch) = case;
                        let key = format!("{name} {team} sm_{arch}");
                        found.lock().unwrap().insert(key, usage);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    for (key, usage) in found.iter().filter(|f| f.1.spill_bytes > 0) {
        eprintln!("{key} spills {} bytes", usage.spill_bytes);
    }
    if std::env::var_os("FITZROY_BLESS").is_some() {
        return bless(&compiler, &found);
    }
    if !support::repository(BUDGET).exists() {
        eprintln!("skipped: there is no budget yet; all of them compiled");
        return;
    }
    let text = support::text(BUDGET);
    let version = format!("nvrtc {}.{}", compiler.version.0, compiler.version.1);
    if !text.starts_with(&version) {
        eprintln!("skipped: the budget is not that of {version}");
        return;
    }
    for line in text.lines().skip(2) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, team, arch, registers, stack] = words[..] else {
            panic!("{BUDGET}: `{line}` has not five words");
        };
        let Some(usage) = found.get(&format!("{name} {team} {arch}")) else {
            panic!("{BUDGET}: nothing was compiled for `{line}`");
        };
        let registers = (registers.parse::<f64>().unwrap() * ROOM) as u32;
        assert!(usage.registers <= registers, "{line}: now {usage:?}");
        let stack = (stack.parse::<f64>().unwrap() * ROOM) as u32;
        assert!(usage.stack_bytes <= stack, "{line}: now {usage:?}");
    }
}

fn bless(compiler: &Compiler, found: &BTreeMap<String, Usage>) {
    let (major, minor) = compiler.version;
    let mut text = format!("nvrtc {major}.{minor}\nmodel team architecture registers stack\n");
    for (key, usage) in found {
        let _ = writeln!(text, "{key} {} {}", usage.registers, usage.stack_bytes);
    }
    let path = support::repository(BUDGET);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
