//! Kernels of curve fits: on this processor as C++, bit for bit what the CPU gives; and compiled for
//! the architectures of real GPUs.
//!
//! `FITZROY_NVRTC` names the compiler; with `FITZROY_REQUIRE_NVRTC` a missing one fails.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::batch::{Batch, Groups, fit_many, fit_many_on};
use fitzroy_curve_fit::fit::{Plan, fit_table};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Columns, OnMachine, Pieces, Seat, Shared, Table};
use fitzroy_curve_fit::{Formula, Loss, Options, values};
use fitzroy_device::gpu::host::{HostLibrary, HostMachine};
use fitzroy_device::gpu::text::{for_device, rows};
use fitzroy_device::gpu::{Compiler, Machine, Meanwhile, Places, Program, Take, Words};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

fn host(n_threads: usize) -> Option<HostMachine> {
    if HostLibrary::has_compiler() {
        return Some(HostMachine::new(n_threads, 5));
    }
    assert!(
        std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
        "FITZROY_REQUIRE_GXX is set and there is no g++"
    );
    eprintln!("skipped: there is no g++");
    None
}

fn damped(n: usize) -> Columns<'static> {
    let x: Vec<f64> = (0..n)
        .map(|i| (i * 7919 % n) as f64 * 10.0 / n as f64)
        .collect();
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (-0.3 * x).exp() * (3.0 * x + 0.5).sin() + 0.5 + 0.1 * ripple(i));
    let y = y.collect();
    Columns::new(vec![Cow::Owned(x), Cow::Owned(y)])
}

fn plan(loss: Loss) -> (Plan, Options) {
    let options = Options {
        p0: values([("a", 1.5), ("b", 0.2), ("w", 2.9), ("p", 0.3), ("c", 0.0)]),
        loss,
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-b*x)*sin(w*x+p)+c").unwrap();
    let roles = formula.roles(&["x"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    (plan, options)
}

fn fitted(table: &dyn Table, loss: Loss) -> Vec<u64> {
    let (plan, options) = plan(loss);
    let found = fit_table(&plan, table, &options, &mut |_| Next::Continue).unwrap();
    assert!(found.converged());
    let all = found.popt.iter().chain(&found.pcov).chain([&found.cost]);
    all.map(|x| x.to_bits()).collect()
}

#[test]
fn passes_as_kernels_have_the_bits_of_the_cpu_resident_or_in_pieces() {
    // Every other program is another text for g++, so few of them.
    for (n, loss, threads) in [(60_001, Loss::Linear, 1), (3000, Loss::Cauchy, 32)] {
        let rows = damped(n);
        let want = fitted(&rows, loss);
        let Some(machine) = host(threads) else { return };
        let shared: Shared = Arc::new(Mutex::new(machine));
        let pieces = Pieces {
            table: &rows,
            tiles: 3,
        };
        for (table, budget) in [(&rows as &dyn Table, 1 << 30), (&pieces, 40_000)] {
            let on = OnMachine::new(table, Arc::clone(&shared), budget);
            assert_eq!(fitted(&on, loss), want, "{n} rows, {budget} bytes");
        }
    }
}

/// The fault this catches: a barrier that is forgotten.
#[test]
fn a_pass_without_its_barriers_is_found_out() {
    let rows = damped(1500);
    let want = fitted(&rows, Loss::Linear);
    let Some(mut machine) = host(32) else { return };
    machine.leave_out(Some(0));
    let shared: Shared = Arc::new(Mutex::new(machine));
    let on = OnMachine::new(&rows, shared, 1 << 30);
    let (plan, options) = plan(Loss::Linear);
    let found = fit_table(&plan, &on, &options, &mut |_| Next::Continue);
    let same = found.is_ok_and(|e| {
        e.popt
            .iter()
            .map(|x| x.to_bits())
            .eq(want[..5].iter().copied())
    });
    assert!(!same, "32 threads that never meet cannot be right");
}

/// Spots on a 7 × 7 grid; fit k has 49 − k mod 5 rows, and one has a gap.
fn spots(n: u32) -> (Columns<'static>, Groups) {
    let (mut x, mut y, mut z, mut labels) = (vec![], vec![], vec![], vec![]);
    for k in 0..n {
        let mut rng = Rng::new(11, 0, 0, k, Purpose::Test);
        let (x0, y0) = (3.0 + 0.5 * rng.normal(), 3.0 + 0.5 * rng.normal());
        for i in 0..49 - k % 5 {
            let (u, v) = (f64::from(i % 7), f64::from(i / 7));
            let r2 = (u - x0).powi(2) + (v - y0).powi(2);
            x.push(u);
            y.push(v);
            let gap = if k == 7 && i == 3 { f64::NAN } else { 0.0 };
            z.push(10.0 * (-r2 / (2.0 * 1.2 * 1.2)).exp() + 2.0 + 0.2 * rng.normal() + gap);
            labels.push(f64::from(k));
        }
    }
    let groups = Groups::by_number(&labels);
    let columns = [x, y, z].into_iter().map(Cow::Owned).collect();
    (Columns::new(columns), groups)
}

fn spot_plan() -> (Plan, Options) {
    let options = Options {
        p0: values([("a", 8.0), ("x0", 3.0), ("y0", 3.0), ("s", 1.0), ("c", 1.0)]),
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-((x-x0)^2+(y-y0)^2)/(2*s^2))+c").unwrap();
    let roles = formula.roles(&["x", "y"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    (plan, options)
}

#[test]
fn small_fits_as_a_kernel_are_those_of_the_lanes() {
    let (table, groups) = spots(150);
    let (plan, options) = spot_plan();
    let stop = AtomicBool::new(false);
    let want = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
    for threads in [1, 32] {
        let Some(machine) = host(threads) else {
            return;
        };
        let seats = [Seat::new("a", Arc::new(Mutex::new(machine)), 1 << 30, 1.0)];
        let got: Batch = fit_many_on(&seats, &plan, &table, &groups, &options, &stop).unwrap();
        assert_eq!(got.status, want.status);
        assert_eq!(got.evaluations, want.evaluations);
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&got.theta), bits(&want.theta), "{threads} threads");
        assert_eq!(bits(&got.se), bits(&want.se));
    }
}

/// Terms of curves, and values near which their parameters `#` start.
const TERMS: [(&str, &[f64]); 9] = [
    ("#*exp(-#*x)", &[2.0, 0.6]),
    ("#/(1+((x-#)/#)^2)", &[2.0, 6.0, 0.7]),
    ("#*sin(#*x+#)", &[1.0, 2.2, 0.4]),
    ("#/(1+exp(-#*(x-#)))", &[2.0, 1.5, 5.0]),
    ("#*log(1+#*x)", &[1.1, 2.0]),
    ("#*x/(#+x)", &[4.0, 2.0]),
    ("#*atan(#*(x-#))", &[1.0, 1.0, 5.0]),
    ("#*sqrt(x+#)", &[1.0, 1.0]),
    ("#*x^#", &[0.5, 1.3]),
];

/// A curve of one to three terms, and groups of rows that it was not made for: steps of their fits lose their
/// way, become tiny, or end where hardly anything depends on a parameter.
fn any_curve(seed: u32, n_fits: u32) -> (Plan, Options, Columns<'static>, Groups) {
    let mut rng = Rng::new(77, 0, 0, seed, Purpose::Test);
    let mut below = |n: usize| (rng.uniform() * n as f64) as usize;
    let (first, n_terms) = (below(TERMS.len()), 1 + below(3));
    let (mut text, mut p0) = (String::new(), Vec::new());
    for k in 0..n_terms {
        let (term, starts) = TERMS[(first + 2 * k) % TERMS.len()];
        let mut term = term.to_string();
        for start in starts {
            let name = format!("p{}", p0.len());
            term = term.replacen('#', &name, 1);
            p0.push((name, start * (0.8 + 0.4 * rng.uniform())));
        }
        text += if k == 0 { "" } else { " + " };
        text += &term;
    }
    let (mut x, mut y, mut labels) = (vec![], vec![], vec![]);
    for k in 0..n_fits {
        let knots: Vec<f64> = (0..9).map(|_| 3.0 + rng.normal()).collect();
        for _ in 0..25 {
            let at = 0.05 + 7.9 * rng.uniform();
            let (i, part) = (at as usize, at.fract());
            x.push(at);
            y.push(knots[i] * (1.0 - part) + knots[i + 1] * part + 0.1 * rng.normal());
            labels.push(f64::from(k));
        }
    }
    let options = Options {
        p0: p0.into_iter().collect(),
        ..Options::default()
    };
    let formula = Formula::parse(&text).unwrap();
    let plan = Plan::new(
        &formula,
        formula.roles(&["x"], &[]).unwrap(),
        false,
        &options,
    )
    .unwrap();
    let columns = [x, y].into_iter().map(Cow::Owned).collect();
    (
        plan,
        options,
        Columns::new(columns),
        Groups::by_number(&labels),
    )
}

/// Catches: a fit that one of both calls converged, or does once more alone.
#[test]
fn fits_of_any_curve_as_a_kernel_are_those_of_the_lanes() {
    let stop = AtomicBool::new(false);
    for seed in 0..12 {
        let (plan, options, table, groups) = any_curve(seed, 60);
        let want = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
        let Some(machine) = host(32) else {
            return;
        };
        let seats = [Seat::new("a", Arc::new(Mutex::new(machine)), 1 << 30, 1.0)];
        let got = fit_many_on(&seats, &plan, &table, &groups, &options, &stop).unwrap();
        assert_eq!(got.status, want.status, "curve {seed}");
        assert_eq!(got.evaluations, want.evaluations, "curve {seed}");
        assert_eq!(got.n_alone, want.n_alone, "curve {seed}");
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&got.theta), bits(&want.theta), "curve {seed}");
        assert_eq!(bits(&got.se), bits(&want.se), "curve {seed}");
    }
}

/// Thousands of fits, so that several threads put rows side by side and take in what was made: of unlike
/// length, which go to the machine in another order, and of the same, which are taken in where they belong.
/// Catches: a thread that begins at another's rows, results that go to a neighbour.
#[test]
fn threads_share_what_goes_to_a_machine_and_what_comes_back() {
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0)]),
        threads: 3,
        ..Options::default()
    };
    let formula = Formula::parse("a*x/(b+x)").unwrap();
    let roles = formula.roles(&["x"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    let stop = AtomicBool::new(false);
    for shorter in [0, 3] {
        let mut rng = Rng::new(12, 0, 0, 0, Purpose::Test);
        let (mut x, mut y, mut labels) = (vec![], vec![], vec![]);
        for k in 0..4500 {
            let (a, b) = (1.0 + rng.uniform(), 0.5 + rng.uniform());
            for i in 0..9 - k % (shorter + 1) {
                x.push(f64::from(i + 1));
                y.push(a * x[x.len() - 1] / (b + x[x.len() - 1]) + 0.02 * rng.normal());
                labels.push(f64::from(k));
            }
        }
        let groups = Groups::by_number(&labels);
        let table = Columns::new([x, y].into_iter().map(Cow::Owned).collect());
        let want = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
        let Some(machine) = host(1) else { return };
        let seats = [Seat::new("a", Arc::new(Mutex::new(machine)), 1 << 30, 1.0)];
        let got = fit_many_on(&seats, &plan, &table, &groups, &options, &stop).unwrap();
        assert_eq!(got.status, want.status);
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&got.theta), bits(&want.theta), "{shorter}");
        assert_eq!(bits(&got.se), bits(&want.se), "{shorter}");
    }
}

/// A machine whose launches fail from number `fails_at` on.
struct Fragile {
    own: HostMachine,
    launches: usize,
    fails_at: usize,
}

impl Machine for Fragile {
    fn load(&mut self, program: &Program) -> fitzroy::Result<()> {
        self.own.load(program)
    }

    fn reserve(&mut self, slot: usize, words: usize) -> fitzroy::Result<u64> {
        self.own.reserve(slot, words)
    }

    fn write(&mut self, at: u64, words: &[u64]) -> fitzroy::Result<()> {
        self.own.write(at, words)
    }

    fn read(&mut self, words: Words, take: Take<'_>) -> fitzroy::Result<()> {
        self.own.read(words, take)
    }

    fn launch(
        &mut self,
        job: u64,
        n_teams: usize,
        meanwhile: Meanwhile<'_>,
    ) -> fitzroy::Result<f64> {
        self.launches += 1;
        match self.launches < self.fails_at {
            true => self.own.launch(job, n_teams, meanwhile),
            false => Err(fitzroy::Error::device("it fell off the bus")),
        }
    }
}

/// Machines of different speeds, of which some fail.
fn seats(fail_at: &[usize]) -> Option<Vec<Seat>> {
    let seat = |(k, &fails_at): (usize, &usize)| {
        let machine = Fragile {
            own: host(1)?,
            launches: 0,
            fails_at,
        };
        let speed = [1.0, 0.4, 0.7][k % 3];
        let machine = Arc::new(Mutex::new(machine));
        Some(Seat::new(format!("cuda:{k}"), machine, 1 << 30, speed))
    };
    fail_at.iter().enumerate().map(seat).collect()
}

const NEVER: usize = usize::MAX;

/// Catches: tiles that are joined in the order of machines or of time, rows that are lost with a machine or
/// summed twice, columns that are taken to be where they are not any more.
#[test]
fn passes_on_several_machines_have_the_bits_of_the_cpu_whichever_fail() {
    let rows = damped(20_001);
    let want = fitted(&rows, Loss::Linear);
    let pieces = Pieces {
        table: &rows,
        tiles: 3,
    };
    for fail_at in [
        &[NEVER, NEVER][..],
        &[NEVER; 3],
        &[3, NEVER],
        &[NEVER, 1, 5],
    ] {
        for (table, budget) in [(&rows as &dyn Table, 1 << 30), (&pieces, 40_000)] {
            let Some(mut seats) = seats(fail_at) else {
                return;
            };
            seats.iter_mut().for_each(|seat| seat.budget_bytes = budget);
            let on = OnMachine::several(table, &seats);
            assert_eq!(
                fitted(&on, Loss::Linear),
                want,
                "{fail_at:?}, {budget} bytes"
            );
            let failed = seats.iter().filter(|seat| seat.failed().is_some()).count();
            assert_eq!(failed, fail_at.iter().filter(|n| **n != NEVER).count());
        }
    }
    let Some(seats) = seats(&[2, 2]) else { return };
    let on = OnMachine::several(&rows, &seats);
    let (plan, options) = plan(Loss::Linear);
    let found = fit_table(&plan, &on, &options, &mut |_| Next::Continue);
    let said = found.err().unwrap().to_string();
    assert!(
        said.contains("all GPUs have failed: cuda:0: it fell"),
        "{said}"
    );
}

#[test]
fn small_fits_on_several_machines_are_those_of_the_lanes_whichever_fail() {
    let (table, groups) = spots(150);
    let (plan, options) = spot_plan();
    let stop = AtomicBool::new(false);
    let want = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
    let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    for fail_at in [
        &[NEVER, NEVER][..],
        &[NEVER; 3],
        &[1, NEVER],
        &[2, 1, NEVER],
    ] {
        let Some(seats) = seats(fail_at) else { return };
        let got = fit_many_on(&seats, &plan, &table, &groups, &options, &stop).unwrap();
        assert_eq!(got.status, want.status, "{fail_at:?}");
        assert_eq!(got.evaluations, want.evaluations, "{fail_at:?}");
        assert_eq!(bits(&got.theta), bits(&want.theta), "{fail_at:?}");
        assert_eq!(bits(&got.se), bits(&want.se), "{fail_at:?}");
    }
    let Some(seats) = seats(&[1, 1]) else { return };
    let failed = fit_many_on(&seats, &plan, &table, &groups, &options, &stop);
    assert!(
        failed
            .err()
            .unwrap()
            .to_string()
            .contains("all GPUs have failed")
    );
}

#[test]
fn kernels_compile_for_every_architecture() {
    let places = Places {
        compiler: std::env::var_os("FITZROY_NVRTC").map(Into::into),
        ..Places::default()
    };
    let compiler = match Compiler::find(&places, (99, 0), 90) {
        Ok(compiler) => compiler,
        Err(trouble) if std::env::var_os("FITZROY_REQUIRE_NVRTC").is_some() => {
            panic!("FITZROY_REQUIRE_NVRTC is set: {trouble}")
        }
        Err(trouble) => return eprintln!("skipped: {trouble}"),
    };
    let mut programs = Vec::new();
    for loss in [Loss::Linear, Loss::Huber, Loss::Poisson] {
        let (plan, _) = plan(loss);
        programs.push(rows::pass(&plan.programs.pass));
        programs.push(rows::pass(plan.programs.second()));
    }
    let (plan, _) = spot_plan();
    programs.push(rows::fits(&plan.programs.pass, plan.free.len()));
    let separated = plan.programs.separated().unwrap();
    programs.push(rows::fits_on_grids(separated));
    for arch in [70, 75, 80, 86, 89, 90, 100, 120] {
        let Some(arch) = compiler.arch_for(arch) else {
            continue;
        };
        for program in &programs {
            let compiled = compiler.compile(&for_device(program), arch);
            assert!(compiled.is_ok(), "sm_{arch}: {:?}", compiled.err());
        }
    }
}
