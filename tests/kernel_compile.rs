//! The compile gate: the kernels of all example models compile for the architectures of real GPUs,
//! within the budget of registers, stack and instructions in `tests/golden/kernels/budget.txt`.
//!
//! `FITZROY_NVRTC` names the compiler (`libnvrtc.so.12` or its folder); with
//! `FITZROY_REQUIRE_NVRTC` a missing one fails. `FITZROY_BLESS` writes the budget anew. With
//! `FITZROY_ALL_ARCHS` every model is compiled for every architecture, which takes minutes.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::fit::sample::kernel::program;
use fitzroy::run::{Settings, kernel_source};
use fitzroy_device::gpu::text::{Precision, for_device};
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

/// Model, data, team, architecture, precision.
type Case = (&'static str, &'static str, usize, u32, Precision);

/// Models that use what there is in a lower precision: look-ups and sums by group, matrices, gamma
/// functions, mixtures, running sums, factors.
const IN_LOWER_PRECISION: [&str; 6] = [
    "hierarchical",
    "artists",
    "negative-binomial",
    "mixture",
    "random-walk",
    "slopes",
];

/// Architectures of GPUs on which there is f64 at all.
const ARCHS: [u32; 8] = [70, 75, 80, 86, 89, 90, 100, 120];

/// Every model as a block for sm_90 and as a warp for sm_70, a few for everything else.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file, _) in EXAMPLES {
        cases.push((name, file, 128, 90, Precision::F64));
        cases.push((name, file, 32, 70, Precision::F64));
        // On these f64 is slow.
        if IN_LOWER_PRECISION.contains(&name) {
            cases.push((name, file, 128, 86, Precision::Mixed));
            cases.push((name, file, 32, 89, Precision::F32));
        }
    }
    for arch in [75, 80, 86, 89, 100, 120] {
        cases.push((
            "hierarchical",
            "hierarchical.csv",
            128,
            arch,
            Precision::F64,
        ));
        cases.push((
            "eight-schools",
            "eight-schools.csv",
            32,
            arch,
            Precision::F64,
        ));
    }
    if std::env::var_os("FITZROY_ALL_ARCHS").is_some() {
        for (name, file, _) in EXAMPLES {
            cases.extend(ARCHS.map(|arch| (name, file, 128, arch, Precision::F64)));
        }
    }
    // Chains that are spread over blocks of 256.
    for arch in ARCHS {
        let data = ("hierarchical", "hierarchical.csv");
        cases.push((data.0, data.1, 1024, arch, Precision::F64));
    }
    cases.push(("artists", "artists.json", 1024, 90, Precision::F64));
    cases.push(("artists", "artists.json", 1024, 86, Precision::Mixed));
    cases.push(("artists", "artists.json", 1024, 89, Precision::F32));
    cases
}

/// What one kernel takes, and its instructions.
type Made = (Usage, u32);

/// Instructions of a cubin: an ELF file, in whose sections `.text...` each takes 16 bytes.
fn instructions(cubin: &[u8]) -> u32 {
    let number = |at: usize, len: usize| {
        let bytes = cubin[at..at + len].iter().rev();
        bytes.fold(0usize, |x, &b| x << 8 | usize::from(b))
    };
    let (table, size, count, names) = (
        number(0x28, 8),
        number(0x3a, 2),
        number(0x3c, 2),
        number(0x3e, 2),
    );
    let section = |i: usize| {
        let at = table + i * size;
        // Name, place in the file, length.
        (number(at, 4), number(at + 0x18, 8), number(at + 0x20, 8))
    };
    let names = section(names).1;
    let code = (0..count)
        .map(section)
        .filter(|s| cubin[names + s.0..].starts_with(b".text"));
    (code.map(|s| s.2).sum::<usize>() / 16) as u32
}

fn compile(compiler: &Compiler, (name, file, team, arch, precision): Case) -> Option<Made> {
    let joint = support::example_joint(name, file)?;
    let settings = Settings {
        precision,
        ..Settings::default()
    };
    let source = kernel_source(&joint, &settings).unwrap();
    let text = for_device(&program(&source, team, settings.sampler.max_treedepth));
    let made = compiler.compile_with_usage(&text, arch);
    let what = format!("{name} for sm_{arch} in {}", precision.name());
    let (cubin, usage) = made.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(cubin.starts_with(b"\x7fELF"), "{what}");
    Some((usage, instructions(&cubin)))
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
                        let (name, _, team, arch, precision) = case;
                        let key = format!("{name} {team} sm_{arch} {}", precision.name());
                        found.lock().unwrap().insert(key, usage);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    for (key, made) in found.iter().filter(|f| f.1.0.spill_bytes > 0) {
        eprintln!("{key} spills {} bytes", made.0.spill_bytes);
    }
    if std::env::var_os("FITZROY_BLESS").is_some() {
        return bless(&compiler, &found);
    }
    let text = support::text(BUDGET);
    let version = format!("nvrtc {}.{}", compiler.version.0, compiler.version.1);
    if !text.starts_with(&version) {
        eprintln!("skipped: the budget is not that of {version}");
        return;
    }
    for line in text.lines().skip(2) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, team, arch, precision, registers, stack, spilled, code] = words[..] else {
            panic!("{BUDGET}: `{line}` has not eight words");
        };
        let Some((usage, n)) = found.get(&format!("{name} {team} {arch} {precision}")) else {
            panic!("{BUDGET}: nothing was compiled for `{line}`");
        };
        let room = |text: &str| (text.parse::<f64>().unwrap() * ROOM) as u32;
        assert!(usage.registers <= room(registers), "{line}: now {usage:?}");
        assert!(usage.stack_bytes <= room(stack), "{line}: now {usage:?}");
        assert!(usage.spill_bytes <= room(spilled), "{line}: now {usage:?}");
        assert!(*n <= room(code), "{line}: now {n} instructions");
    }
}

fn bless(compiler: &Compiler, found: &BTreeMap<String, Made>) {
    let (major, minor) = compiler.version;
    let mut text = format!(
        "nvrtc {major}.{minor}\nmodel team architecture precision registers stack spilled \
         instructions\n"
    );
    for (key, (usage, n)) in found {
        let Usage {
            registers,
            stack_bytes,
            spill_bytes,
        } = usage;
        let _ = writeln!(text, "{key} {registers} {stack_bytes} {spill_bytes} {n}");
    }
    let path = support::repository(BUDGET);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
