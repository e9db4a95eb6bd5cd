//! Least squares on the GPU: one fit of many rows, and many small ones, against the CPU's bits.

use crate::bits::{bits, same_bits};
use fitzroy::Result;
use fitzroy_curve_fit::batch::{Batch, Groups, fit_many, fit_many_on};
use fitzroy_curve_fit::fit::{Plan, fit_table};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Columns, OnMachine, Seat, Table};
use fitzroy_curve_fit::{Estimate, Formula, Options, values};
use fitzroy_device::gpu::{Gpu, Places};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Rows of y = a exp(-b x) + c with noise that is none, the parameters changing from `each` to `each`.
fn decays(n: usize, each: usize) -> Columns<'static> {
    let x = (0..n).map(|i| (i % each) as f64 * 5.0 / each as f64);
    let x: Vec<f64> = x.collect();
    let y = x.iter().enumerate().map(|(i, x)| {
        let k = (i / each % 101) as f64 / 101.0;
        let ripple = (i * 104_729 % 1009) as f64 / 1009.0 - 0.5;
        (2.0 + k) * (-(0.5 + k) * x).exp() + 0.3 + 0.1 * ripple
    });
    let y = y.collect();
    Columns::new(vec![Cow::Owned(x), Cow::Owned(y)])
}

fn plan() -> Result<(Plan, Options)> {
    let options = Options {
        p0: values([("a", 1.5), ("b", 0.8), ("c", 0.0)]),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-b*x)+c")?;
    let roles = formula.roles(&["x"], &[])?;
    Ok((Plan::new(&formula, roles, false, &options)?, options))
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed().as_secs_f64()))
}

/// One fit of `n` rows: on the CPU, on the GPU with the columns to be sent first, and once they are
/// there.
pub(crate) fn large(places: &Places, n: usize) -> Result<Value> {
    let rows = decays(n, n);
    let (plan, options) = plan()?;
    let fit =
        |table: &dyn Table| timed(|| fit_table(&plan, table, &options, &mut |_| Next::Continue));
    let (cpu, cpu_s) = fit(&rows)?;
    let gpu = Gpu::open(places, 0)?;
    let budget = gpu.free_bytes().unwrap_or(1 << 30) / 10 * 7;
    let on = OnMachine::new(&rows, Arc::new(Mutex::new(gpu)), budget);
    let (sent, sent_s) = fit(&on)?;
    let (there, there_s) = fit(&on)?;
    let all = |e: &Estimate| bits(e.popt.iter().chain(&e.pcov).chain([&e.cost]));
    same_bits("columns on their way", &all(&sent), &all(&cpu))?;
    same_bits("columns that are there", &all(&there), &all(&cpu))?;
    Ok(json!({
        "rows": n,
        "converged": cpu.converged(),
        "evaluations": cpu.evaluations,
        "cpu_s": cpu_s,
        "gpu_with_copies_s": sent_s,
        "gpu_s": there_s,
        "speed_up": cpu_s / there_s,
    }))
}

/// `n` fits of 16 rows each.
pub(crate) fn many(places: &Places, n: usize) -> Result<Value> {
    const EACH: usize = 16;
    let rows = decays(n * EACH, EACH);
    let groups = Groups::equal(n, EACH);
    let (plan, options) = plan()?;
    let never = AtomicBool::new(false);
    let (cpu, cpu_s) = timed(|| fit_many(&plan, &rows, &groups, &options, &never))?;
    let gpu = Arc::new(Mutex::new(Gpu::open(places, 0)?));
    let seats = [Seat::new("cuda:0", gpu, 1 << 30, 1.0)];
    let on_gpu = || timed(|| fit_many_on(&seats, &plan, &rows, &groups, &options, &never));
    let (_, first_s) = on_gpu()?;
    let (there, gpu_s) = on_gpu()?;
    let all = |b: &Batch| bits(b.theta.iter().chain(&b.se).chain(&b.cost));
    let compared = same_bits("fits", &all(&there), &all(&cpu))?;
    let good = there.n_converged();
    Ok(json!({
        "fits": n,
        "numbers_compared": compared,
        "converged": good,
        "alone": there.n_alone,
        "cpu_s": cpu_s,
        "gpu_with_compilation_s": first_s,
        "gpu_s": gpu_s,
        "fits_per_s": n as f64 / gpu_s,
        "speed_up": cpu_s / gpu_s,
    }))
}
