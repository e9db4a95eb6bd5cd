//! The compile gate: the kernels of all example models, of models that use every distribution and
//! every function, and of the checks of `fitzroy verify` compile for the architectures of real GPUs,
//! within the budget of registers, stack and instructions in `tests/golden/kernels/budget.txt`.
//!
//! The budget keeps a checksum of the text that each row was made from. A text that has not changed since is not compiled
//! again by the same compiler: what would come of it stands in its row. One in [`RECOMPILED`] rows is compiled all the same,
//! and must give the numbers of its row.
//!
//! `FITZROY_NVRTC` names the compiler (`libnvrtc.so.12` or its folder); with
//! `FITZROY_REQUIRE_NVRTC` a missing one fails. `FITZROY_BLESS` writes the budget anew. With
//! `FITZROY_ALL_ARCHS` every kernel is compiled for every architecture, which takes minutes; with
//! `FITZROY_KERNELS=FILE` one after the other, and what came of each is written to FILE
//! (`benches/kernels.py`). `FITZROY_NVRTC_13` names a compiler of CUDA 13, which is tried too.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "support/budget.rs"]
mod budget;
#[path = "support/nvrtc.rs"]
mod nvrtc;
mod support;

use budget::{BUDGET, Row};
use fitzroy::fit::sample::kernel;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Settings, kernel_source};
use fitzroy_device::Fnv;
use fitzroy_device::gpu::text::{Precision, for_device};
use fitzroy_device::gpu::{
    Compiler, Machine, Meanwhile, Places, Program, Take, Target, Usage, Words,
};
use fitzroy_device::gpu::{closeness, conformance, rates};
use fitzroy_graph::{Error, ErrorKind, Result};
use fitzroy_ptx::compiled;
use nvrtc::compiler;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use support::{EXAMPLES, language};

/// Registers above the budget that fail: 5 %.
const ROOM: f64 = 1.05;
/// Of so many rows whose text has not changed, one is compiled.
const RECOMPILED: usize = 16;

/// What a kernel computes.
#[derive(Clone)]
enum Work {
    /// Transitions of a model, with the rewrites that are left to it.
    Transitions(std::sync::Arc<Joint>, Rewrites),
    /// Every operation, as `fitzroy verify` compares them.
    Operations,
    /// The loops whose speed `fitzroy verify` measures.
    Rates,
}

/// A kernel for one architecture.
#[derive(Clone)]
struct Case {
    name: String,
    work: Work,
    team: usize,
    arch: u32,
    precision: Precision,
}

impl Case {
    fn key(&self) -> String {
        let (team, arch) = (self.team, self.arch);
        format!("{} {team} sm_{arch} {}", self.name, self.precision.name())
    }
}

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

/// Models whose kernels are the longest by far, since their functions are sums of many terms: they are compiled in f64 and in
/// mixed precision, and in f32 and as a warp only where everything is compiled.
const LONG: [&str; 2] = ["all-bessel-order", "all-hypergeometric"];

/// Architectures of GPUs on which there is f64 at all.
const ARCHS: [u32; 8] = [70, 75, 80, 86, 89, 90, 100, 120];

/// Sums in place of rows, and no effects integrated out: all parameters take steps.
const WHOLE: Rewrites = Rewrites {
    collapse: false,
    ..Rewrites::AUTO
};

/// All kernels apart from precision, team and architecture.
fn works() -> Vec<(String, Work)> {
    let mut works = Vec::new();
    let transitions = |joint: Joint, rewrites| Work::Transitions(joint.into(), rewrites);
    for (name, file, _) in EXAMPLES {
        if let Some(joint) = support::example_joint(name, file) {
            works.push((name.to_string(), transitions(joint, Rewrites::AUTO)));
        }
    }
    for (name, file) in [
        ("hierarchical", "hierarchical.csv"),
        ("artists", "artists.json"),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        works.push((format!("{name}-whole"), transitions(joint, WHOLE)));
    }
    for (name, joint) in language::joints() {
        works.push((format!("all-{name}"), transitions(joint, Rewrites::AUTO)));
    }
    works.push(("operations".into(), Work::Operations));
    works.push(("rates".into(), Work::Rates));
    works
}

/// Whether every kernel is compiled for every architecture.
fn everywhere() -> bool {
    std::env::var_os("FITZROY_ALL_ARCHS").is_some()
}

/// Every kernel as a block for sm_90, or for every architecture, models as a warp for sm_70 and some in lower precision where
/// f64 is slow, and a few for everything else.
fn cases(everywhere: bool) -> Vec<Case> {
    use Precision::{F32, F64, Mixed};
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |(name, work): &(String, Work), team, arch, precision| {
        let (name, work) = (name.clone(), work.clone());
        let case = Case {
            name,
            work,
            team,
            arch,
            precision,
        };
        // Some are asked for twice.
        if cases.iter().all(|c| c.key() != case.key()) {
            cases.push(case);
        }
    };
    for one in &works() {
        let name = one.0.as_str();
        add(one, 128, 90, F64);
        if everywhere || ["operations", "rates"].contains(&name) {
            for arch in ARCHS {
                add(one, 128, arch, F64);
            }
        }
        let is_whole = name.ends_with("-whole");
        let is_short = everywhere || !LONG.contains(&name);
        if IN_LOWER_PRECISION.contains(&name) || name.starts_with("all-") || is_whole {
            add(one, 128, 86, Mixed);
            if is_short {
                add(one, 32, 89, F32);
            }
        }
        match name {
            // The check has a team of every size, and one that is spread over blocks.
            "operations" => {
                for team in [32, 64, 256, 1024] {
                    add(one, team, 90, F64);
                }
                for arch in ARCHS {
                    add(one, 32, arch, Mixed);
                }
            }
            "rates" => {}
            _ if is_short => add(one, 32, 70, F64),
            _ => {}
        }
        match name {
            "hierarchical" => {
                for arch in ARCHS {
                    add(one, 128, arch, F64);
                    // Chains that are spread over blocks of 256.
                    add(one, 1024, arch, F64);
                }
            }
            "eight-schools" => {
                for arch in ARCHS {
                    add(one, 32, arch, F64);
                }
            }
            "artists" | "artists-whole" => {
                add(one, 1024, 90, F64);
                add(one, 1024, 86, Mixed);
                add(one, 1024, 89, F32);
            }
            _ => {}
        }
    }
    cases
}

/// A machine that keeps the text it is given and runs nothing.
struct Recorder(Option<Program>);

impl Recorder {
    /// What `work` has a machine load.
    fn of<T>(work: impl Fn(&mut dyn Machine) -> Result<T>) -> Program {
        let mut recorder = Recorder(None);
        assert!(work(&mut recorder).is_err(), "it runs nothing");
        recorder.0.unwrap()
    }
}

impl Machine for Recorder {
    fn load(&mut self, program: &Program) -> Result<()> {
        self.0 = Some(program.clone());
        Ok(())
    }
    fn reserve(&mut self, _: usize, _: usize) -> Result<u64> {
        Err(Error::new(ErrorKind::Device, "nothing runs here"))
    }
    fn write(&mut self, _: u64, _: &[u64]) -> Result<()> {
        Ok(())
    }
    fn read(&mut self, _: Words, _: Take<'_>) -> Result<()> {
        Ok(())
    }
    fn launch(&mut self, _: u64, _: usize, _: Meanwhile<'_>) -> Result<f64> {
        Ok(0.0)
    }
}

fn program(case: &Case) -> Program {
    let (team, precision) = (case.team, case.precision);
    match (&case.work, precision) {
        (Work::Transitions(joint, rewrites), _) => {
            let settings = Settings {
                precision,
                rewrites: *rewrites,
                ..Settings::default()
            };
            let source = kernel_source(joint, &settings).unwrap();
            kernel::program(&source, team, &settings.sampler)
        }
        (Work::Operations, Precision::F64) => Recorder::of(|m| conformance(m, team)),
        (Work::Operations, _) => Recorder::of(|m| closeness(m, team)),
        (Work::Rates, _) => Recorder::of(|m| rates(m, 1)),
    }
}

/// What one kernel takes, its instructions, and the seconds it took to compile.
type Made = (Usage, u32, f64);

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

fn compile(compiler: &Compiler, case: &Case) -> Made {
    let text = for_device(&program(case));
    let start = Instant::now();
    // Seconds that are written down are those of the compiler.
    let made = match std::env::var_os("FITZROY_KERNELS") {
        Some(_) => compiler.compile_with_usage(&text, case.arch),
        None => compiled::compile(compiler, &text, Target::Cubin(case.arch)),
    };
    let seconds = start.elapsed().as_secs_f64();
    let (cubin, usage) = made.unwrap_or_else(|e| panic!("{}: {e}", case.key()));
    assert!(cubin.starts_with(b"\x7fELF"), "{}", case.key());
    (usage, instructions(&cubin), seconds)
}

/// What came of all `cases`, by their keys, `workers` at once.
fn compile_all(
    compiler: &Compiler,
    cases: Vec<Case>,
    workers: usize,
) -> BTreeMap<String, (Case, Made)> {
    // The compiler does one kernel at a time in each process.
    let queue = Mutex::new(cases);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for k in 0..workers {
            let (queue, found) = (&queue, &found);
            scope.spawn(move || {
                let mut other = (k > 0).then(|| Worker::start(compiler));
                loop {
                    let case = queue.lock().unwrap().pop();
                    let Some(case) = case else { return };
                    let made = match &mut other {
                        Some(worker) => worker.compile(&case),
                        None => compile(compiler, &case),
                    };
                    found.lock().unwrap().insert(case.key(), (case, made));
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Names the compiler of a [`Worker`].
const WORKER: &str = "FITZROY_KERNEL_WORKER";

/// Another process of this program, which compiles the kernels whose keys it is given.
struct Worker {
    process: Child,
    keys: ChildStdin,
    made: BufReader<ChildStdout>,
}

impl Worker {
    fn start(compiler: &Compiler) -> Worker {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "compiles_what_another_process_asks_for",
                "--nocapture",
            ])
            .env(WORKER, &compiler.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, made) = (process.stdin.take(), process.stdout.take());
        Worker {
            process,
            keys: keys.unwrap(),
            made: BufReader::new(made.unwrap()),
        }
    }

    fn compile(&mut self, case: &Case) -> Made {
        writeln!(self.keys, "{}", case.key()).unwrap();
        let mut line = String::new();
        // The lines of the test harness come before.
        while !line.starts_with(ANSWER) {
            line.clear();
            let n = self.made.read_line(&mut line).unwrap();
            assert!(n > 0, "{}: the process that compiles it ended", case.key());
        }
        let words: Vec<&str> = line[ANSWER.len()..].split_whitespace().collect();
        let number = |k: usize| words[k].parse().unwrap();
        let usage = Usage {
            registers: number(0),
            stack_bytes: number(1),
            spill_bytes: number(2),
        };
        (usage, number(3), words[4].parse().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Begins the line that says what a kernel takes.
const ANSWER: &str = "made: ";

/// The process of a [`Worker`]; as a test of its own it does nothing.
#[test]
fn compiles_what_another_process_asks_for() {
    let Some(path) = std::env::var_os(WORKER) else {
        return;
    };
    let places = Places {
        compiler: Some(path.into()),
        ..Places::default()
    };
    let compiler = Compiler::find(&places, (99, 0), 90).unwrap_or_else(|e| panic!("{e}"));
    let cases: BTreeMap<String, Case> = cases(true).into_iter().map(|c| (c.key(), c)).collect();
    for key in std::io::stdin().lines().map_while(|line| line.ok()) {
        let (usage, n, seconds) = compile(&compiler, &cases[&key]);
        let Usage {
            registers,
            stack_bytes,
            spill_bytes,
        } = usage;
        println!("{ANSWER}{registers} {stack_bytes} {spill_bytes} {n} {seconds}");
    }
}

/// Changes when the compiler is another one, or is given something else.
fn checksum(compiler: &Compiler, case: &Case) -> String {
    let key = compiled::key(
        compiler,
        &for_device(&program(case)),
        Target::Cubin(case.arch),
    );
    format!("{:016x}", Fnv::of(key.as_bytes()))
}

/// Takes those of `cases` out whose text has not changed since their rows were written, but for every [`RECOMPILED`]th,
/// whose keys it returns.
fn without_known(
    compiler: &Compiler,
    cases: &mut Vec<Case>,
    rows: &BTreeMap<String, Row>,
) -> BTreeSet<String> {
    let keys = rows.keys().enumerate();
    let again: BTreeSet<&String> = keys
        .filter(|k| k.0 % RECOMPILED == 0)
        .map(|k| k.1)
        .collect();
    let mut same = BTreeSet::new();
    cases.retain(|case| {
        let key = case.key();
        let known = rows
            .get(&key)
            .is_some_and(|row| row.checksum == checksum(compiler, case));
        let kept = !known || again.contains(&key);
        if known && kept {
            same.insert(key);
        }
        kept
    });
    same
}

/// The rows of the kernels that are compiled every time.
fn rows(compiler: &Compiler, found: &BTreeMap<String, (Case, Made)>) -> BTreeMap<String, Row> {
    let usual: BTreeSet<String> = cases(false).iter().map(Case::key).collect();
    let rows = found.iter().filter(|f| usual.contains(f.0));
    let row = |(key, (case, (usage, n, _))): (&String, &(Case, Made))| {
        let row = Row {
            made: (*usage, *n),
            checksum: checksum(compiler, case),
        };
        (key.clone(), row)
    };
    rows.map(row).collect()
}

#[test]
fn every_kernel_compiles_within_its_budget() {
    let Some(compiler) = compiler() else { return };
    let result = std::env::var_os("FITZROY_KERNELS");
    let mut cases = cases(everywhere());
    let keys: BTreeSet<String> = cases.iter().map(Case::key).collect();
    let (blessed, mut same) = (std::env::var_os("FITZROY_BLESS"), BTreeSet::new());
    let mut budget = None;
    if blessed.is_none() {
        budget = budget::read(&compiler);
    }
    if let Some(rows) = budget
        .as_ref()
        .filter(|_| result.is_none() && !everywhere())
    {
        same = without_known(&compiler, &mut cases, rows);
    }
    // One at a time where seconds are written down.
    let workers = if result.is_some() { 1 } else { 2 };
    let found = compile_all(&compiler, cases, workers);
    for (key, (_, made)) in found.iter().filter(|f| f.1.1.0.spill_bytes > 0) {
        eprintln!("{key} spills {} bytes", made.0.spill_bytes);
    }
    if let Some(path) = result {
        std::fs::write(path, document(&compiler, &found)).unwrap();
    }
    if blessed.is_some() {
        return budget::write(&compiler, &rows(&compiler, &found));
    }
    for (key, Row { made, .. }) in budget.into_iter().flatten() {
        assert!(keys.contains(&key), "{BUDGET}: there is no kernel {key}");
        let Some((_, (usage, n, _))) = found.get(&key) else {
            continue;
        };
        if same.contains(&key) {
            assert_eq!((*usage, *n), made, "{key}: its text has not changed");
        }
        let within = |now: u32, room: u32| now <= (f64::from(room) * ROOM) as u32;
        let (most, most_code) = made;
        let fits = within(usage.registers, most.registers)
            && within(usage.stack_bytes, most.stack_bytes)
            && within(usage.spill_bytes, most.spill_bytes)
            && within(*n, most_code);
        assert!(fits, "{key}: {made:?}, now {usage:?}, {n} instructions");
    }
}

/// Kernels of GPUs whose watchdog ends long ones look at the clock; as a rule kernels have no code for that.
#[test]
fn kernels_with_a_deadline_compile() {
    let Some(compiler) = compiler() else { return };
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    for arch in [70, 86, 90, 120] {
        for team in [32, 128, 2 * 256] {
            let case = Case {
                name: "eight-schools with a deadline".into(),
                work: Work::Transitions(joint.clone().into(), WHOLE),
                team,
                arch,
                precision: Precision::F64,
            };
            let text = for_device(&program(&case));
            let late = text.replace("#define DEADLINE 0", "#define DEADLINE 1");
            assert_ne!(text, late);
            let made = compiled::compile(&compiler, &late, Target::Cubin(arch));
            let (cubin, usage) = made.unwrap_or_else(|e| panic!("{}: {e}", case.key()));
            assert!(cubin.starts_with(b"\x7fELF") && usage.registers <= 255);
        }
    }
}

/// A driver of CUDA 13 may come with a compiler of its own version. It has dropped sm_70.
#[test]
fn a_compiler_of_cuda_13_takes_the_kernels() {
    let Some(path) = std::env::var_os("FITZROY_NVRTC_13") else {
        eprintln!("skipped: FITZROY_NVRTC_13 names no compiler");
        return;
    };
    let places = Places {
        compiler: Some(path.into()),
        ..Places::default()
    };
    let compiler = Compiler::find(&places, (13, 0), 90).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compiler.version.0, 13);
    let taken = |case: &Case| {
        let few = ["hierarchical", "all-vectors", "operations"].contains(&case.name.as_str());
        compiler.arch_for(case.arch) == Some(case.arch) && (few || everywhere())
    };
    let all = cases(everywhere());
    let cases: Vec<Case> = all.into_iter().filter(taken).collect();
    assert!(cases.len() > 20, "{}", cases.len());
    let found = compile_all(&compiler, cases, 1);
    for (key, (_, made)) in &found {
        assert!(made.0.registers <= 255 && made.1 > 100, "{key}: {made:?}");
    }
}

/// All that was made, as JSON.
fn document(compiler: &Compiler, found: &BTreeMap<String, (Case, Made)>) -> String {
    let rows = found.values().map(|(case, (usage, n, seconds))| {
        serde_json::json!({
            "kernel": case.name,
            "team": case.team,
            "arch": case.arch,
            "precision": case.precision.name(),
            "registers": usage.registers,
            "stack_bytes": usage.stack_bytes,
            "spill_bytes": usage.spill_bytes,
            "instructions": n,
            "compile_s": seconds,
        })
    });
    let rows: Vec<serde_json::Value> = rows.collect();
    let (major, minor) = compiler.version;
    format!(
        "{:#}\n",
        serde_json::json!({"nvrtc": format!("{major}.{minor}"), "kernels": rows})
    )
}
