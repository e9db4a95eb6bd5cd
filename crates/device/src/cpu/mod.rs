//! The CPU engine: compiles a graph to loops over blocks and runs them with the widest registers
//! there are.
// Some of what the machine code is made from has no other reader.
#![cfg_attr(not(all(unix, target_arch = "x86_64")), allow(dead_code))]

mod blocks;
pub(crate) mod check;
pub(crate) mod contract;
mod dense;
mod elementwise;
mod emit;
mod engine;
pub(crate) mod lower;
mod maps;
#[cfg(all(unix, target_arch = "x86_64"))]
mod native;
mod ode;
mod operand;
mod products;
pub(crate) mod program;
mod recurrence;
pub(crate) mod rows;
mod rowwise;
mod run;
mod scalar;
mod schedule;
mod sums;

pub use check::self_check;
pub use engine::Engine;
pub use rowwise::{
    GridProgram, GridTerm, GridWorkspace, RowProgram, RowWorkspace, Separated, TILE_ROWS,
};
pub(crate) use rowwise::{Place, RowInstr};

use crate::lanes::{Kernel, Lanes, Level};
use fitzroy_graph::reference::kernel;
use fitzroy_graph::{Bindings, Graph, NodeId, Op, Result};
use lower::{Lower, Output};
use operand::{Arg, Bound};
use program::{Arena, KernelPlan, Loc, Motion, Step, base};
use rows::RowOrder;
use run::LoopRun;
use std::sync::Arc;

/// A graph made ready to run on the CPU: immutable, shared by any number of workspaces.
///
/// ```
/// use fitzroy_device::cpu::Function;
/// use fitzroy_graph::{Bindings, Real, Scope};
/// let scope = Scope::new();
/// let obs = scope.dim("obs", 3);
/// let y = scope.data("y", &[obs]);
/// let total = scope.node(((y - scope.param(0, &[])).exp()).sum_all());
/// let graph = scope.finish();
/// let bindings = Bindings { data: vec![vec![0.0, 1.0, 2.0]], indices: vec![] };
/// let function = Function::compile(&graph, &bindings, &[total])?;
/// let mut workspace = function.workspace();
/// function.run(&mut workspace, &[0.0]);
/// let sum: f64 = [0.0f64, 1.0, 2.0].iter().map(|x| x.exp()).sum();
/// assert!((function.output(&workspace, 0)[0] - sum).abs() < 1e-14);
/// # Ok::<(), fitzroy_graph::Error>(())
/// ```
pub struct Function {
    graph: Graph,
    steps: Vec<Step>,
    fixed: Arc<Aligned>,
    work_len: usize,
    n_params: usize,
    outputs: Vec<Output>,
    level: Level,
    engine: engine::Choice,
}

/// Numbers that start on a cache line.
struct Aligned {
    lines: Vec<Line>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f64; 8]);

impl Aligned {
    fn zeros(len: usize) -> Self {
        Aligned {
            lines: vec![Line([0.0; 8]); Self::lines_of(len)],
        }
    }

    /// Lines that so many numbers take.
    fn lines_of(len: usize) -> usize {
        len.div_ceil(8) + 1
    }

    fn of(values: &[f64]) -> Self {
        let mut out = Self::zeros(values.len());
        for (line, chunk) in out.lines.iter_mut().zip(values.chunks(8)) {
            line.0[..chunk.len()].copy_from_slice(chunk);
        }
        out
    }

    fn as_ptr(&self) -> *const f64 {
        self.lines.as_ptr().cast()
    }

    fn as_mut_ptr(&mut self) -> *mut f64 {
        self.lines.as_mut_ptr().cast()
    }

    fn slice(&self, at: usize, len: usize) -> &[f64] {
        assert!(at + len <= self.lines.len() * 8, "inside the arena");
        // SAFETY: the lines are contiguous arrays of eight f64, and the range was checked.
        unsafe { std::slice::from_raw_parts(self.as_ptr().add(at), len) }
    }
}

/// Memory for running a function; one per thread.
pub struct Workspace {
    work: Aligned,
    /// Instructions of each loop, with addresses into `work` and `fixed`.
    loops: Vec<Vec<Bound>>,
    /// Outputs in the user's order of rows, where that is not the order of the loops.
    outputs: Vec<Vec<f64>>,
    // Keeps the constants alive that `loops` points to.
    fixed: Arc<Aligned>,
}

// SAFETY: the pointers in `loops` lead into `work`, which this value owns and whose heap block does
// not move, and into `fixed`, which is never written after it was made.
unsafe impl Send for Workspace {}

impl Function {
    /// Compiles what `outputs` need for the block interpreter, with the widest registers of this
    /// machine. Machine code pays for what runs many times: see [`Function::compile_for`].
    ///
    /// # Errors
    /// When `bindings` do not fit the graph.
    pub fn compile(graph: &Graph, bindings: &Bindings, outputs: &[NodeId]) -> Result<Function> {
        Self::compile_for(
            Level::detect(),
            Engine::Interpreter,
            graph,
            bindings,
            outputs,
        )
    }

    /// As [`Function::compile`], for one level, which must be available, and one engine.
    ///
    /// # Errors
    /// When `bindings` do not fit the graph.
    pub fn compile_for(
        level: Level,
        engine: Engine,
        graph: &Graph,
        bindings: &Bindings,
        outputs: &[NodeId],
    ) -> Result<Function> {
        assert!(level.is_available(), "this machine has no {level:?}");
        bindings.check(graph)?;
        let plain = graph.without_slopes(outputs);
        let (graph, outputs) = plain
            .as_ref()
            .map_or((graph, outputs), |p| (&p.0, &p.1[..]));
        let needed = graph.needed(outputs);
        let ends = graph.node_ids().map(|id| match graph.node(id).op {
            Op::Param { offset } if needed[id.index()] => offset + graph.len(id),
            _ => 0,
        });
        let n_params = ends.max().unwrap_or(0);
        let order = RowOrder::new(graph, bindings, &needed);
        let lower = Lower::new(graph, &order, outputs);
        let function = Function {
            outputs: outputs.iter().map(|&o| lower.output(&order, o)).collect(),
            fixed: Arc::new(Aligned::of(&lower.fixed)),
            work_len: lower.work_len,
            n_params,
            steps: lower.steps,
            graph: graph.clone(),
            level,
            engine: engine::Choice::default(),
        };
        Ok(engine::choose(function, engine, lower.buffers))
    }

    /// The engine that runs it: [`Engine::Interpreter`] or [`Engine::Emitter`].
    pub fn engine(&self) -> Engine {
        self.engine.used()
    }

    /// Why the emitter is not used although it was to be, in words.
    pub fn engine_note(&self) -> Option<&str> {
        self.engine.note()
    }

    /// How many of the first parameters the outputs may depend on.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Bytes of one workspace.
    pub fn workspace_bytes(&self) -> usize {
        let reordered = self.outputs.iter().filter(|o| o.positions.is_some());
        8 * (self.work_len + reordered.map(|o| o.len).sum::<usize>())
    }

    /// A workspace for this function.
    pub fn workspace(&self) -> Workspace {
        let mut work = Aligned::zeros(self.work_len);
        let base = work.as_mut_ptr();
        let fixed = self.fixed.as_ptr().cast_mut();
        let arg = |loc: Option<Loc>| match loc {
            None => Arg {
                at: base,
                step: 0,
                scalar: false,
                eight: false,
            },
            Some(loc) => Arg {
                // SAFETY: plans only name places inside their arena. Nothing is written through
                // addresses in `fixed`: results always go to the workspace.
                at: unsafe {
                    if loc.arena == Arena::Work {
                        base.add(loc.at)
                    } else {
                        fixed.add(loc.at)
                    }
                },
                step: usize::from(loc.motion == Motion::Stream),
                scalar: loc.motion == Motion::Scalar,
                eight: false,
            },
        };
        let bind = |i: &program::Instr| Bound {
            code: i.code,
            to: arg(i.to),
            also_to: arg(i.also_to),
            from: i.from.map(arg),
            n_from: i.from.iter().flatten().count(),
        };
        let loops = self.steps.iter().map(|step| match step {
            Step::Loop(plan) => plan.code.iter().map(bind).collect(),
            Step::Kernel(_) | Step::Recurrence(_) | Step::Ode(_) => Vec::new(),
        });
        Workspace {
            loops: loops.collect(),
            outputs: self.outputs.iter().map(Output::in_order).collect(),
            fixed: Arc::clone(&self.fixed),
            work,
        }
    }

    /// Runs at `params`; results are read by [`Function::output`].
    ///
    /// # Panics
    /// When `workspace` belongs to another function or `params` is too short.
    #[track_caller]
    pub fn run(&self, workspace: &mut Workspace, params: &[f64]) {
        assert!(
            Arc::ptr_eq(&self.fixed, &workspace.fixed),
            "a workspace of this function"
        );
        let n = self.n_params;
        let work = workspace.work.as_mut_ptr();
        // SAFETY: the workspace starts with room for all parameters; the slice check is explicit.
        unsafe { std::ptr::copy_nonoverlapping(params[..n].as_ptr(), work, n) };
        let steps = Steps {
            function: self,
            loops: &workspace.loops,
            work,
        };
        // SAFETY: compiling for a level asserts that this machine has it.
        unsafe { self.level.run_found(steps) };
        for (output, to) in self.outputs.iter().zip(&mut workspace.outputs) {
            if let Some(at) = &output.positions {
                let from = self.stored(&workspace.work, output);
                to.iter_mut()
                    .zip(at)
                    .for_each(|(to, &p)| *to = from[p as usize]);
            }
        }
    }

    /// An output where the loops wrote it, in our order of rows.
    fn stored<'w>(&'w self, work: &'w Aligned, output: &Output) -> &'w [f64] {
        match output.loc.arena {
            Arena::Work => work.slice(output.loc.at, output.len),
            Arena::Fixed => self.fixed.slice(output.loc.at, output.len),
        }
    }

    #[inline(never)]
    fn run_kernel(&self, plan: &KernelPlan, work: *mut f64) {
        let input = |k: usize| {
            let (loc, len) = plan.inputs[k];
            // SAFETY: the plan's arrays lie inside their arenas; inputs and result do not overlap.
            unsafe { std::slice::from_raw_parts(base(loc, work, self.fixed.as_ptr()), len) }
        };
        // SAFETY: as above.
        let out = unsafe { std::slice::from_raw_parts_mut(work.add(plan.to), plan.len) };
        match plan.op {
            Op::MaxOver => {
                out.fill(f64::NEG_INFINITY);
                let mut rest = input(0);
                for alike in plan.positions.chunk_by(|p, q| p == q) {
                    let (own, after) = rest.split_at(alike.len());
                    let o = &mut out[alike[0] as usize];
                    *o = own.iter().fold(*o, |o, &x| fitzroy_graph::Real::max(o, x));
                    rest = after;
                }
            }
            _ => {
                let both = [0, plan.inputs.len() - 1];
                let dims = both.map(|k| plan.input_dims[k].as_slice());
                kernel(
                    &self.graph,
                    &plan.op,
                    dims,
                    &plan.dims,
                    both.map(input),
                    out,
                );
            }
        }
    }

    /// Output `k` of the last run, in the user's order of rows.
    pub fn output<'w>(&'w self, workspace: &'w Workspace, k: usize) -> &'w [f64] {
        let output = &self.outputs[k];
        match output.positions {
            Some(_) => &workspace.outputs[k],
            None => self.stored(&workspace.work, output),
        }
    }
}

/// All steps of a function, for one level.
struct Steps<'a> {
    function: &'a Function,
    loops: &'a [Vec<Bound>],
    work: *mut f64,
}

impl Kernel for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let fixed = self.function.fixed.as_ptr();
        for (step, code) in self.function.steps.iter().zip(self.loops) {
            match step {
                Step::Loop(plan) => LoopRun {
                    plan,
                    code,
                    work: self.work,
                    fixed,
                }
                .run::<L>(),
                // SAFETY: the plan's arrays lie inside these arenas, with room behind them.
                Step::Kernel(plan) => match &plan.contraction {
                    Some(of) => unsafe { contract::run::<L>(plan, of, self.work, fixed) },
                    None if plan.is_dense() => unsafe { dense::run::<L>(plan, self.work, fixed) },
                    None => self.function.run_kernel(plan, self.work),
                },
                // SAFETY: the plan's arrays lie inside these arenas.
                Step::Recurrence(plan) => unsafe { recurrence::run(plan, self.work, fixed) },
                // SAFETY: as above.
                Step::Ode(plan) => unsafe { ode::run(plan, self.work, fixed) },
            }
        }
    }
}
