//! Row programs on a machine for kernels: passes over long columns, and many small fits.

use super::machine::{Machine, Program, idle, read_into};
use super::text::rows::{self, LANES};
use crate::cpu::{RowProgram, Separated, TILE_ROWS};
use bytemuck::cast_slice;
use fitzroy_graph::Result;
use std::ops::Range;

/// Teams of a pass, at most: enough for every GPU to be busy.
const MOST_TEAMS: usize = 8192;

/// How long a launch should last, in seconds: the watchdog of a display ends a kernel after two.
const LAUNCH_S: f64 = 0.1;
/// Tiles of the first launch of a pass, and rows of all fits of the first launch of many. Neither takes
/// long on any GPU, and how long they take says how many the next may have.
const FIRST_TILES: usize = 2048;
const FIRST_ROWS: usize = 1 << 22;

/// Launches neighbouring parts of `0..n`, first `first` of them, then as many as take [`LAUNCH_S`] if
/// the machine measures that.
fn in_launches(
    n: usize,
    first: usize,
    mut launch: impl FnMut(Range<usize>) -> Result<f64>,
) -> Result<()> {
    let (mut from, mut many) = (0, first.max(1));
    while from < n {
        let part = from..n.min(from + many);
        from = part.end;
        let n_made = part.len();
        let seconds = launch(part)?;
        if seconds > 0.0 {
            many = (n_made as f64 * (LAUNCH_S / seconds).clamp(0.25, 8.0)).max(1.0) as usize;
        }
    }
    Ok(())
}

/// Groups of 32 fits that are worth a thread that puts their rows side by side.
const GROUPS_OF_A_THREAD: usize = 64;

/// Memory by what it holds.
#[derive(Clone, Copy)]
enum Slot {
    Job,
    Columns,
    Scalars,
    Sums,
    Scratch,
    Starts,
    Offsets,
    Lengths,
    Results,
}

/// Columns on a machine: rows `0..n_rows` of each, one column after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uploaded {
    at: u64,
    n_rows: usize,
    stride: usize,
}

/// Copies columns to the machine, in place of those copied before.
///
/// # Errors
/// Not enough memory there.
pub fn upload(machine: &mut dyn Machine, columns: &[&[f64]], room: usize) -> Result<Uploaded> {
    let n_rows = columns.first().map_or(0, |c| c.len());
    let stride = room.max(n_rows).max(1);
    let at = machine.reserve(Slot::Columns as usize, stride * columns.len().max(1))?;
    for (c, column) in columns.iter().enumerate() {
        machine.write(at + 8 * (c * stride) as u64, cast_slice(column))?;
    }
    Ok(Uploaded { at, n_rows, stride })
}

/// Sums of `program` at `params` over uploaded rows; `tile` gets those of each tile in turn.
///
/// The sums have the bits of [`RowProgram::accumulate`].
///
/// # Errors
/// Those of the machine.
pub fn accumulate(
    machine: &mut dyn Machine,
    program: &RowProgram,
    text: &Program,
    params: &[f64],
    columns: &Uploaded,
    tile: &mut dyn FnMut(&[f64]),
) -> Result<()> {
    machine.load(text)?;
    let (n_tiles, n_sums) = (columns.n_rows.div_ceil(TILE_ROWS), program.n_sums());
    let scalars = program.scalars_at(params);
    let at = machine.reserve(Slot::Scalars as usize, scalars.len().max(1))?;
    machine.write(at, cast_slice(&scalars))?;
    let sums = machine.reserve(Slot::Sums as usize, (n_tiles * n_sums).max(1))?;
    let most_teams = n_tiles.clamp(1, MOST_TEAMS);
    let scratch = machine.reserve(Slot::Scratch as usize, most_teams * n_sums * LANES)?;
    let place = machine.reserve(Slot::Job as usize, 16)?;
    in_launches(n_tiles, FIRST_TILES, |tiles| {
        let first = tiles.start * TILE_ROWS;
        let n_teams = tiles.len().min(MOST_TEAMS);
        let job = [
            columns.at + 8 * first as u64,
            at,
            sums + 8 * (tiles.start * n_sums) as u64,
            scratch,
            (columns.n_rows - first).min(tiles.len() * TILE_ROWS) as u64,
            columns.stride as u64,
            n_teams as u64,
        ];
        machine.write(place, &job)?;
        machine.launch(place, n_teams, &mut idle)
    })?;
    let mut words = vec![0; n_tiles * n_sums];
    read_into(machine, sums, &mut words)?;
    let mut own = vec![0.0; n_sums];
    for words in words.chunks_exact(n_sums.max(1)) {
        for (own, word) in own.iter_mut().zip(words) {
            *own = f64::from_bits(*word);
        }
        tile(&own);
    }
    Ok(())
}

/// How a small fit on a machine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The steps became small.
    SmallStep,
    /// The expected reduction became small.
    SmallReduction,
    /// The curve goes through all points.
    ExactFit,
    /// Rounding hides any further reduction.
    Rounding,
    /// Steps became tiny while the cost should still fall.
    NoProgress,
    /// No step of any length reduced the cost.
    DampingLimit,
    /// The limit of evaluations was reached.
    EvaluationLimit,
    /// The formula had no finite value at the start.
    NonFinite,
}

const ENDS: [Ended; 8] = [
    Ended::SmallStep,
    Ended::SmallReduction,
    Ended::ExactFit,
    Ended::Rounding,
    Ended::NoProgress,
    Ended::DampingLimit,
    Ended::EvaluationLimit,
    Ended::NonFinite,
];

/// A small fit that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallFit<'w> {
    /// Its parameters.
    pub theta: &'w [f64],
    /// Where its sums are: its parameters, or those before a last step that was taken without an evaluation.
    pub evaluated: &'w [f64],
    /// Sums of products of `[J…, r]` there.
    pub sums: &'w [f64],
    /// Its cost.
    pub cost: f64,
    /// How it ended.
    pub ended: Ended,
    /// Evaluations of its residuals.
    pub evaluations: usize,
}

/// Small fits that have ended, as the machine has written them.
#[derive(Clone, Debug)]
pub struct Made {
    words: Vec<u64>,
    n_free: usize,
}

impl Made {
    /// Fit number `k`.
    pub fn fit(&self, k: usize) -> SmallFit<'_> {
        let (p, width) = (self.n_free, rows::result_words(self.n_free));
        let x: &[f64] = cast_slice(&self.words[k * width..(k + 1) * width]);
        let after = width - 3 - p;
        SmallFit {
            theta: &x[..p],
            evaluated: &x[after + 3..],
            sums: &x[p..after],
            cost: x[after],
            ended: ENDS[(x[after + 1] as usize).clamp(1, ENDS.len()) - 1],
            evaluations: x[after + 2] as usize,
        }
    }
}

/// Small fits: rows of each, and when to stop.
#[derive(Clone, Debug)]
pub struct SmallFits<'f> {
    /// Free parameters of a fit.
    pub n_free: usize,
    /// Starting values, fit after fit.
    pub starts: &'f [f64],
    /// Rows of each fit, by position in the columns.
    pub rows: &'f [&'f [u32]],
    /// Relative change of every parameter at which a fit has converged.
    pub xtol: f64,
    /// Expected reduction, relative to the cost.
    pub ftol: f64,
    /// Most evaluations of a fit.
    pub max_evaluations: usize,
    /// Where rows are the points of grids: the curve as products, and the points along x; rows then
    /// stand in the order of the grid.
    pub grids: Option<(&'f Separated, usize)>,
    /// Threads that put rows side by side.
    pub threads: usize,
}

impl SmallFits<'_> {
    /// Where the rows of each 32 fits begin, and the end, in rows of 32.
    fn offsets(&self) -> Vec<u64> {
        let mut offsets = vec![0];
        for group in self.rows.chunks(LANES) {
            let longest = group.iter().map(|r| r.len()).max().unwrap_or(0);
            offsets.push(offsets[offsets.len() - 1] + longest as u64);
        }
        offsets
    }

    /// A column with row i of each 32 fits side by side.
    fn side_by_side(&self, column: &[f64], offsets: &[u64], wide: &mut [f64]) {
        let n_groups = offsets.len() - 1;
        let threads = self.threads.clamp(1, n_groups.div_ceil(GROUPS_OF_A_THREAD));
        let each = n_groups.div_ceil(threads);
        let place = |groups: Range<usize>, wide: &mut [f64]| {
            for group in groups.clone() {
                let first = (offsets[group] - offsets[groups.start]) as usize * LANES;
                let fits = self.rows[group * LANES..].iter().take(LANES);
                for (lane, rows) in fits.enumerate() {
                    let places = wide[first + lane..].iter_mut().step_by(LANES);
                    for (x, &row) in places.zip(rows.iter()) {
                        *x = column[row as usize];
                    }
                }
            }
        };
        if threads == 1 {
            return place(0..n_groups, wide);
        }
        std::thread::scope(|scope| {
            let (place, mut rest) = (&place, wide);
            for start in (0..n_groups).step_by(each) {
                let groups = start..n_groups.min(start + each);
                let len = (offsets[groups.end] - offsets[groups.start]) as usize * LANES;
                let (own, others) = rest.split_at_mut(len);
                scope.spawn(move || place(groups, own));
                rest = others;
            }
        });
    }
}

/// Fits of many small problems, one to a thread, 32 side by side; neighbours should be of like
/// length. The steps are those of the CPU.
///
/// # Errors
/// Those of the machine.
pub fn fit_small(
    machine: &mut dyn Machine,
    program: &RowProgram,
    columns: &[&[f64]],
    fits: &SmallFits<'_>,
) -> Result<Made> {
    let (n, p) = (fits.rows.len(), fits.n_free);
    let text = match fits.grids {
        Some((separated, _)) => rows::fits_on_grids(separated),
        None => rows::fits(program, p),
    };
    machine.load(&text)?;
    let offsets = fits.offsets();
    let stride = offsets[offsets.len() - 1] as usize * LANES;
    let at = machine.reserve(Slot::Columns as usize, (stride * columns.len()).max(1))?;
    let mut wide = vec![0.0; stride];
    for (c, column) in columns.iter().enumerate() {
        fits.side_by_side(column, &offsets, &mut wide);
        machine.write(at + 8 * (c * stride) as u64, cast_slice(&wide))?;
    }
    let mut put = |slot: Slot, words: &[u64]| -> Result<u64> {
        let at = machine.reserve(slot as usize, words.len().max(1))?;
        machine.write(at, words)?;
        Ok(at)
    };
    let starts = put(Slot::Starts, cast_slice(fits.starts))?;
    let offsets = put(Slot::Offsets, &offsets)?;
    let lengths: Vec<u64> = fits.rows.iter().map(|r| r.len() as u64).collect();
    let lengths = put(Slot::Lengths, &lengths)?;
    let width = rows::result_words(p);
    let results = machine.reserve(Slot::Results as usize, (n * width).max(1))?;
    let place = machine.reserve(Slot::Job as usize, 16)?;
    let longest = fits.rows.iter().map(|r| r.len()).max().unwrap_or(0);
    let first = FIRST_ROWS / (LANES * longest.max(1));
    in_launches(n.div_ceil(LANES), first, |groups| {
        let first = groups.start * LANES;
        let job = [
            at,
            starts + 8 * (first * p) as u64,
            offsets + 8 * groups.start as u64,
            lengths + 8 * first as u64,
            results + 8 * (first * width) as u64,
            (n - first).min(groups.len() * LANES) as u64,
            stride as u64,
            groups.len() as u64,
            fits.max_evaluations as u64,
            fits.grids.map_or(0, |(_, width)| width) as u64,
            fits.xtol.to_bits(),
            fits.ftol.to_bits(),
        ];
        machine.write(place, &job)?;
        machine.launch(place, groups.len(), &mut idle)
    })?;
    let mut words = vec![0; n * width];
    read_into(machine, results, &mut words)?;
    Ok(Made { words, n_free: p })
}
