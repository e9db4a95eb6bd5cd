//! When a row program runs as machine code, and whether that gives the interpreter's numbers.

#[cfg(not(all(unix, target_arch = "x86_64")))]
use super::RowProgram;
use crate::cpu::Engine;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(all(unix, target_arch = "x86_64"))]
pub(super) use crate::cpu::native::{ROOM, RowCode, StraightCode};

/// There is none on other machines.
#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(super) enum RowCode {}
#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(super) enum StraightCode {}
#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(super) const ROOM: usize = 0;

#[cfg(not(all(unix, target_arch = "x86_64")))]
impl StraightCode {
    pub(super) unsafe fn run(&self, _: *mut f64) {
        match *self {}
    }
}

#[cfg(not(all(unix, target_arch = "x86_64")))]
impl RowCode {
    pub(super) unsafe fn run(&self, _: *mut f64, _: *mut f64, _: &[*const f64], _: usize) {
        match *self {}
    }
    pub(super) unsafe fn add(&self, _: *mut f64, _: *mut f64, _: &[*const f64], _: usize) -> bool {
        match *self {}
    }
    pub(super) fn has_tiles(&self) -> bool {
        match *self {}
    }
    pub(super) unsafe fn add_tile(
        &self,
        _: *mut f64,
        _: *mut f64,
        _: &[*const f64],
        _: [usize; 2],
    ) -> bool {
        match *self {}
    }
}

/// Rows of one pass or of many after which machine code has earned what making it costs.
const WORTH_ROWS: usize = 1 << 18;

/// Which engine a program runs on, and its machine code.
pub(super) struct Switch<Code> {
    engine: Engine,
    /// Rows that were asked for so far.
    rows: AtomicUsize,
    made: OnceLock<Result<Code, String>>,
}

impl<Code> Switch<Code> {
    /// The switch for `engine`.
    pub(super) fn new(engine: Engine) -> Self {
        Switch {
            engine,
            rows: AtomicUsize::new(0),
            made: OnceLock::new(),
        }
    }

    /// The machine code for the next `n` rows, where it is wanted, pays and agrees with the
    /// interpreter, as `make` finds out.
    pub(super) fn code(
        &self,
        n: usize,
        make: impl FnOnce() -> Result<Code, String>,
    ) -> Option<&Code> {
        match self.engine {
            Engine::Interpreter => return None,
            Engine::Auto => {
                let before = self.rows.fetch_add(n, Ordering::Relaxed);
                if before.saturating_add(n) < WORTH_ROWS {
                    return None;
                }
            }
            Engine::Emitter => {}
        }
        self.made.get_or_init(make).as_ref().ok()
    }

    /// The engine that ran last, and why it is not the emitter where that was tried.
    pub(super) fn used(&self) -> (Engine, Option<&str>) {
        match self.made.get() {
            Some(Ok(_)) => (Engine::Emitter, None),
            Some(Err(note)) => (Engine::Interpreter, Some(note)),
            None => (Engine::Interpreter, None),
        }
    }
}

/// Machine code for `program`, where it agrees with the interpreter.
#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(super) fn make(_: &RowProgram) -> Result<RowCode, String> {
    Err("there is no machine code for this processor".into())
}
#[cfg(all(unix, target_arch = "x86_64"))]
pub(super) use x86_64::make;

#[cfg(all(unix, target_arch = "x86_64"))]
mod x86_64 {
    use super::super::execute::{Run, Sink};
    use super::super::{BLOCK, BUFFER, PARTIALS, Place, RowProgram, RowWorkspace};
    use super::RowCode;
    use crate::cpu::Line;
    use crate::cpu::engine::number;
    use crate::cpu::native::{Fault, RowFormula, compile_rows};

    /// Points at which machine code must agree with the interpreter, and rows of each: 31 of eight
    /// problems and 7 steps of a tile, so that four, two and one side by side all occur.
    const POINTS: u64 = 4;
    const ROWS: usize = 248;

    pub(in super::super) fn make(program: &RowProgram) -> Result<RowCode, String> {
        make_with(program, Fault::None)
    }

    /// As [`make`], with a fault to be found.
    pub(in super::super) fn make_with(
        program: &RowProgram,
        fault: Fault,
    ) -> Result<RowCode, String> {
        let ones = program.ones();
        let formula = RowFormula {
            code: &program.code,
            uniform: &program.uniform,
            fill: &program.fill,
            products: &program.products,
            alone: &program.alone,
            n_scalars: program.scalars.len(),
            ones: &ones,
            n_columns: program.n_columns,
        };
        let code = compile_rows(program.level, &formula, fault)?;
        match difference(program, &code) {
            None => Ok(code),
            Some(note) => Err(note),
        }
    }

    /// Where the two first differ, in words: at zero and at three points of (−2, 2), over rows from
    /// there, with other parameters in every lane.
    fn difference(program: &RowProgram, code: &RowCode) -> Option<String> {
        let mut workspace = program.workspace();
        let mut columns = vec![vec![0.0; ROWS]; program.n_columns];
        let n_outputs = ROWS * program.n_outputs();
        for point in 0..POINTS {
            let mut k = 0;
            let mut next = || {
                k += 1;
                number(point, k)
            };
            let params = (0..program.n_params).map(|_| match point {
                0 => [0.0; 8],
                _ => std::array::from_fn(|_| next()),
            });
            let params: Vec<[f64; 8]> = params.collect();
            columns.iter_mut().flatten().for_each(|x| *x = next());
            let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            program.set_scalars(&mut workspace, params.iter().copied());
            program.bind_eight(&mut workspace, &views, false);
            program.level.run(Run {
                fill: &workspace.fill,
                fill_len: BLOCK,
                code: &workspace.code,
                tail_code: &workspace.code,
                n: ROWS,
                ahead: &[],
                native: None,
                sink: Sink::Nothing,
            });
            let wanted = results(program, &mut workspace);
            let at: Vec<*const f64> = views.iter().map(|c| c.as_ptr()).collect();
            let (scalars, buffers) = (
                workspace.scalars.as_mut_ptr(),
                workspace.buffers.as_mut_ptr(),
            );
            // SAFETY: the workspace is this program's, and the columns have this many rows.
            unsafe { code.run(scalars, buffers, &at, ROWS) };
            let got = results(program, &mut workspace);
            let mut sums = vec![0.0; 8 * program.n_sums()];
            forget(program, &mut workspace);
            // SAFETY: as above, and there is a place for every sum.
            if !unsafe { code.add(scalars, sums.as_mut_ptr(), &at, ROWS) } {
                sums.copy_from_slice(&got[n_outputs..]);
            }
            let (tiles, added) = tiles(program, &mut workspace, code, &at);
            let wanted = wanted.iter().chain(&tiles);
            let got = got[..n_outputs].iter().chain(&sums).chain(&added);
            for (k, (x, y)) in wanted.zip(got).enumerate() {
                if x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()) {
                    return Some(format!(
                        "machine code gave {y:e} where the interpreter gives {x:e} (number {k}); \
                         the interpreter is used"
                    ));
                }
            }
        }
        None
    }

    /// The partial sums of a tile of whole steps, by the outputs in the buffers and by the code, if
    /// it has any for that.
    fn tiles(
        program: &RowProgram,
        workspace: &mut RowWorkspace,
        code: &RowCode,
        columns: &[*const f64],
    ) -> (Vec<f64>, Vec<f64>) {
        const WHOLE: usize = ROWS / PARTIALS * PARTIALS;
        let output = |k: &usize| workspace.buffers.slice(k * BUFFER, WHOLE);
        let products: Vec<&[f64]> = program.products.iter().map(output).collect();
        let mut wanted = Vec::new();
        for (k, a) in products.iter().enumerate() {
            for b in &products[k..] {
                let mut sums = [0.0; PARTIALS];
                for i in 0..WHOLE {
                    sums[i % PARTIALS] = f64::mul_add(a[i], b[i], sums[i % PARTIALS]);
                }
                wanted.extend(sums);
            }
        }
        for a in program.alone.iter().map(output) {
            let mut sums = [0.0; PARTIALS];
            (0..WHOLE).for_each(|i| sums[i % PARTIALS] += a[i]);
            wanted.extend(sums);
        }
        let mut got = vec![0.0; wanted.len()];
        let scalars = workspace.scalars.as_mut_ptr();
        for first in (0..PARTIALS).step_by(8) {
            let at: Vec<*const f64> = columns.iter().map(|c| c.wrapping_add(first)).collect();
            let to = got.as_mut_ptr().wrapping_add(first);
            // SAFETY: the workspace is this program's, the columns have this many rows, and there
            // is a place for every partial sum.
            if !unsafe { code.add_tile(scalars, to, &at, [WHOLE, 0]) } {
                return (Vec::new(), Vec::new());
            }
        }
        (wanted, got)
    }

    /// Spoils what followed from the parameters.
    fn forget(program: &RowProgram, workspace: &mut RowWorkspace) {
        for instr in &program.uniform {
            for place in [Some(instr.to), instr.also_to].into_iter().flatten() {
                if let Place::Scalar(k) = place {
                    workspace.scalars.lines[k] = Line([f64::NAN; 8]);
                }
            }
        }
    }

    /// All outputs of the first rows, then their sums for eight problems.
    fn results(program: &RowProgram, workspace: &mut RowWorkspace) -> Vec<f64> {
        let buffers = &workspace.buffers;
        let rows = program
            .outputs_of()
            .map(|b| buffers.slice(b * BUFFER, ROWS));
        let mut all: Vec<f64> = rows.flatten().copied().collect();
        workspace.partials.lines.fill(Line([0.0; 8]));
        program.level.run(Run {
            fill: &[],
            fill_len: 0,
            code: &[],
            tail_code: &[],
            n: ROWS,
            ahead: &[],
            native: None,
            sink: Sink::Eight {
                outputs: program.outputs(workspace.buffers.as_mut_ptr()),
                partials: workspace.partials.as_mut_ptr(),
                n_rows: &[ROWS / 8; 8],
            },
        });
        let lines = workspace.partials.lines.iter().step_by(PARTIALS / 8);
        all.extend(lines.take(program.n_sums()).flat_map(|line| line.0));
        all
    }
}
#[cfg(all(unix, target_arch = "x86_64", test))]
pub(super) use x86_64::make_with;
