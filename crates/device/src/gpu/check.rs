//! A machine checks itself: every elementwise operation, sums, lookups, a matrix product and a
//! recurrence as a kernel, against the CPU engine, bit for bit; and how fast it is.

use super::machine::{Machine, Program, idle, read_into};
use super::text::{Precision, emit_in};
use crate::cpu::Function;
use crate::cpu::check::{point, problem};
use fitzroy_graph::{Error, ErrorKind, Op, Result};

/// One evaluation by the first team.
const EVALUATE: &str = "
struct Job {
    const double *q;
    double *g, *w;
    const double *fixed;
    const unsigned *table;
    double *values;
};

ENTRY void advance(const Job *job)
{
    if (TEAM_INDEX > 0)
        return;
    job->values[THREAD]
        = value_and_gradient(job->q, job->g, job->w, job->fixed, job->table);
}
";

/// Runs the whole suite of operations on `machine` with a team of `team` threads; how many values
/// were compared.
///
/// # Errors
/// Those of the machine; the first value with other bits than the CPU's, in words.
pub fn conformance(machine: &mut dyn Machine, team: usize) -> Result<usize> {
    let mut compared = 0;
    compare(machine, team, Precision::F64, &mut |text, got, want| {
        compared += 1;
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        match same {
            true => Ok(()),
            false => Err(differs(text, got, want)),
        }
    })?;
    Ok(compared)
}

/// Largest error of an operation in f32, relative to 1 + |value|: a few units in the last place, and
/// more for sums of a thousand terms.
const SINGLE_BOUND: f64 = 2e-5;

/// The whole suite with its loops in f32; the largest error, relative to 1 + |value|.
///
/// # Errors
/// Those of the machine; the first value that is further off than 2e-5, in words.
pub fn closeness(machine: &mut dyn Machine, team: usize) -> Result<f64> {
    let mut largest = 0.0f64;
    compare(machine, team, Precision::Mixed, &mut |text, got, want| {
        let error = (got - want).abs() / (1.0 + want.abs());
        if got.is_nan() && want.is_nan() || got == want {
            return Ok(());
        }
        largest = largest.max(error);
        match error <= SINGLE_BOUND {
            true => Ok(()),
            false => Err(differs(text, got, want)),
        }
    })?;
    Ok(largest)
}

/// Is told an operation with its element, what the machine gives, and what the CPU.
type Judge<'a> = &'a mut dyn FnMut((&Op, usize), f64, f64) -> Result<()>;

fn compare(
    machine: &mut dyn Machine,
    team: usize,
    precision: Precision,
    judge: Judge<'_>,
) -> Result<()> {
    let (mut graph, bindings, outputs) = problem();
    let q = point();
    let mut starts = Vec::new();
    let mut dim = 0;
    for &output in &outputs {
        starts.push((dim, output));
        dim += graph.len(output);
    }
    let value = graph.sum_all(outputs[0]);
    // The parameters are read from q and everything else is written to g: room for both.
    let dim = dim.max(q.len());
    let source = emit_in(&graph, &bindings, value, &starts, dim, precision)?;
    let program = Program {
        text: format!("{}{EVALUATE}", source.text),
        team,
    };
    machine.load(&program)?;
    let mut padded = q.clone();
    padded.resize(dim, 0.0);
    let words = |numbers: &[f64]| -> Vec<u64> { numbers.iter().map(|x| x.to_bits()).collect() };
    let table: Vec<u64> = source
        .table
        .chunks(2)
        .map(|p| u64::from(p[0]) | u64::from(p.get(1).copied().unwrap_or(0)) << 32)
        .collect();
    let work = vec![f64::NAN.to_bits(); source.n_work];
    let nothing = vec![f64::NAN.to_bits(); dim];
    let values = vec![0u64; team];
    let parts = [
        words(&padded),
        nothing,
        work,
        words(&source.fixed),
        table,
        values,
    ];
    let job = launch(machine, &parts)?;
    let mut got = vec![0u64; dim];
    read_into(machine, job[1], &mut got)?;
    let mut all = outputs.clone();
    all.push(value);
    let function = Function::compile(&graph, &bindings, &all)?;
    let mut workspace = function.workspace();
    function.run(&mut workspace, &q);
    for (k, (start, node)) in starts.iter().enumerate() {
        for (i, want) in function.output(&workspace, k).iter().enumerate() {
            let got = f64::from_bits(got[start + i]);
            judge((&graph.node(*node).op, i), got, *want)?;
        }
    }
    let mut totals = vec![0u64; team];
    read_into(machine, job[5], &mut totals)?;
    for total in totals {
        let want = function.output(&workspace, outputs.len())[0];
        judge((&graph.node(value).op, 0), f64::from_bits(total), want)?;
    }
    Ok(())
}

/// Runs the kernel on a job of these arrays, and gives their addresses.
fn launch(machine: &mut dyn Machine, parts: &[Vec<u64>]) -> Result<Vec<u64>> {
    let mut job = Vec::new();
    for (slot, part) in parts.iter().enumerate() {
        let at = machine.reserve(slot + 1, part.len().max(1))?;
        if !part.is_empty() {
            machine.write(at, part)?;
        }
        job.push(at);
    }
    let at = machine.reserve(0, job.len())?;
    machine.write(at, &job)?;
    machine.launch(at, 1, &mut idle)?;
    Ok(job)
}

fn differs((op, i): (&Op, usize), got: f64, want: f64) -> Error {
    let text = format!("{op:?}, element {i}: the machine gives {got:e}, the CPU {want:e}");
    Error::new(ErrorKind::Device, text)
}

/// How fast a machine is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Traffic of a copy in its memory, reads and writes, in 10⁹ bytes a second.
    pub copy_gb_per_s: f64,
    /// Multiply-adds in f64, each counting twice, in 10¹² operations a second.
    pub f64_tflop_per_s: f64,
    /// The same in f32.
    pub f32_tflop_per_s: f64,
}

const RATES: &str = "
struct Job {
    double *to;
    const double *from;
    wide_t n, n_threads, kind;
};

template <typename Real> FUNCTION Real multiply_adds(wide_t rounds, int thread)
{
    Real x[8];
    for (int k = 0; k < 8; ++k)
        x[k] = (Real)(thread + k);
    const Real a = (Real)0.999, b = (Real)0.001;
    for (wide_t round = 0; round < rounds; ++round)
        for (int k = 0; k < 8; ++k)
            x[k] = fma(x[k], a, b);
    Real s = 0;
    for (int k = 0; k < 8; ++k)
        s = s + x[k];
    return s;
}

ENTRY void advance(const Job *job)
{
    const int thread = TEAM_INDEX * TEAM + THREAD;
    if (job->kind == 0)
        for (wide_t i = thread; i < job->n; i += job->n_threads)
            job->to[i] = job->from[i];
    else if (job->kind == 1)
        job->to[thread] = multiply_adds<double>(job->n, thread);
    else
        job->to[thread] = multiply_adds<float>(job->n, thread);
}
";

/// Words of the copy: 256 MiB each way.
const COPIED: usize = 32 << 20;
/// Rounds of eight multiply-adds.
const ROUNDS: u64 = 20_000;
const TEAM: usize = 128;

/// Measures `machine`, of `multiprocessors`; each rate is the best of three runs.
///
/// # Errors
/// Those of the machine; one that does not measure time.
pub fn rates(machine: &mut dyn Machine, multiprocessors: usize) -> Result<Rates> {
    machine.load(&Program {
        text: RATES.into(),
        team: TEAM,
    })?;
    let n_teams = multiprocessors * 16;
    let n_threads = (n_teams * TEAM) as u64;
    let (to, from) = (machine.reserve(1, COPIED)?, machine.reserve(2, COPIED)?);
    let at = machine.reserve(0, 5)?;
    let mut fastest = |kind: u64, n: u64| -> Result<f64> {
        machine.write(at, &[to, from, n, n_threads, kind])?;
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            best = best.min(machine.launch(at, n_teams, &mut idle)?);
        }
        Ok(best)
    };
    let copy = fastest(0, COPIED as u64)?;
    let operations = (n_threads * ROUNDS * 16) as f64;
    Ok(Rates {
        copy_gb_per_s: 16.0 * COPIED as f64 / copy / 1e9,
        f64_tflop_per_s: operations / fastest(1, ROUNDS)? / 1e12,
        f32_tflop_per_s: operations / fastest(2, ROUNDS)? / 1e12,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::host::{HostLibrary, HostMachine};

    #[test]
    fn the_suite_runs_on_a_machine_and_gives_the_bits_of_the_cpu() {
        if !HostLibrary::has_compiler() {
            return;
        }
        for threads in [1, 32, 64] {
            let n = conformance(&mut HostMachine::new(threads, 3), threads);
            assert!(n.is_ok_and(|n| n > 40_000), "{threads} threads");
        }
        // Two blocks of as many threads as on a GPU.
        let n = conformance(&mut HostMachine::new(256, 3), 512);
        assert!(n.is_ok_and(|n| n > 40_000), "two blocks");
    }

    /// Catches a function in float that is wrong, and a text that computes in double after all.
    #[test]
    fn in_f32_the_suite_is_as_near_as_f32_can_be() {
        if !HostLibrary::has_compiler() {
            return;
        }
        for threads in [1, 32] {
            let error = closeness(&mut HostMachine::new(threads, 3), threads);
            let error = error.unwrap_or_else(|e| panic!("{threads} threads: {e}"));
            assert!(error > 1e-9, "nothing was computed in f32: {error:e}");
        }
    }
}
