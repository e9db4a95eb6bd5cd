//! Eight problems side by side whose rows are the points of a grid, where curve and partials are sums
//! of products of a function of x and a function of y.
//!
//! With f = Σ n X(x) Y(y) the functions are computed once for every x and every y of the grid, sums of
//! products of partials are products of sums over x and sums over y, and only the residual is left to
//! be computed at every point. All of it is straight code, written for one number of points.

use super::emitted::{ROOM, StraightCode, Switch};
use super::execute::Run;
use super::operands::bind_scalars;
use super::{Bound, Code, Place, RowInstr, RowProgram, SLACK};
#[cfg(all(unix, target_arch = "x86_64"))]
use crate::cpu::engine::number;
use crate::cpu::{Aligned, Engine};
use crate::lanes::Level;
use fitzroy_graph::{Binary, DimId, Graph, NodeId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

type Eight = [f64; 8];

/// A number times a function of x times a function of y, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridTerm {
    /// Which number.
    pub number: usize,
    /// Which function of x.
    pub x: usize,
    /// Which function of y.
    pub y: usize,
}

/// A curve of two predictors and its partials as sums of products of a function of each.
#[derive(Clone, Debug)]
pub struct Separated {
    /// What the functions and numbers are nodes of; x and y are its first two columns.
    pub graph: Graph,
    /// The dim of its rows.
    pub rows: DimId,
    /// Free parameters: its first ones.
    pub n_free: usize,
    /// Functions of x, over rows.
    pub x: Vec<NodeId>,
    /// Functions of y, over rows.
    pub y: Vec<NodeId>,
    /// Numbers, which depend on parameters.
    pub numbers: Vec<NodeId>,
    /// The curve.
    pub curve: Vec<GridTerm>,
    /// Its partials.
    pub partials: Vec<Vec<GridTerm>>,
}

/// A curve over a grid with its partials, ready to run on the CPU; immutable.
pub struct GridProgram {
    level: Level,
    n_free: usize,
    /// Where x, y and z stand among the numbers.
    first_point: usize,
    shape: [usize; 2],
    /// What the numbers are at first.
    scalars: Vec<f64>,
    /// From parameters to functions, and from there to sums.
    stages: [Vec<RowInstr>; 2],
    sums: Vec<Place>,
    /// Which numbers the second stage reads, or are sums.
    kept: Vec<bool>,
    switch: Switch<StraightCode>,
}

/// Memory for running a grid program; one per thread.
pub struct GridWorkspace {
    scalars: Aligned,
    n_free: usize,
    points: Range<usize>,
    code: Vec<Bound>,
}

impl GridWorkspace {
    /// Some numbers.
    fn some(&mut self, which: Range<usize>) -> &mut [Eight] {
        let lines = &mut self.scalars.lines[which];
        let n = lines.len();
        // SAFETY: a line is eight numbers.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), n) }
    }

    /// Parameters of eight problems.
    pub fn params(&mut self) -> &mut [Eight] {
        self.some(0..self.n_free)
    }

    /// Every x, every y; then z of every x for the first y, for the next, ...
    pub fn points(&mut self) -> &mut [Eight] {
        self.some(self.points.clone())
    }
}

// SAFETY: the pointers among the bound instructions lead into the array this value owns, whose heap
// block does not move.
unsafe impl Send for GridWorkspace {}

/// Straight code for the points of a grid, as it is written.
struct Unroll<'s> {
    functions: &'s RowProgram,
    /// Numbers of the functions' program that are 1.
    ones: Vec<usize>,
    /// Numbers beyond those of the functions' program.
    n_scalars: usize,
    code: Vec<RowInstr>,
}

impl Unroll<'_> {
    fn fresh(&mut self) -> Place {
        self.n_scalars += 1;
        Place::Scalar(self.n_scalars - 1)
    }

    fn push(&mut self, code: Code, from: [Option<Place>; 3]) -> Place {
        let to = self.fresh();
        self.code.push(RowInstr {
            code,
            to,
            also_to: None,
            from,
        });
        to
    }

    fn is_one(&self, place: Place) -> bool {
        matches!(place, Place::Scalar(k) if self.ones.contains(&k))
    }

    fn product(&mut self, a: Place, b: Place) -> Place {
        match (self.is_one(a), self.is_one(b)) {
            (_, true) => a,
            (true, _) => b,
            _ => self.push(Code::Binary(Binary::Mul), [Some(a), Some(b), None]),
        }
    }

    /// `sum`, where there is one yet, and a·b: with one rounding, but for a factor of 1.
    fn add(&mut self, sum: Option<Place>, a: Place, b: Place) -> Option<Place> {
        let Some(sum) = sum else {
            return Some(self.product(a, b));
        };
        let (code, from) = match (self.is_one(a), self.is_one(b)) {
            (_, true) => (Code::Binary(Binary::Add), [Some(sum), Some(a), None]),
            (true, _) => (Code::Binary(Binary::Add), [Some(sum), Some(b), None]),
            _ => (Code::MulAdd, [Some(a), Some(b), Some(sum)]),
        };
        Some(self.push(code, from))
    }

    /// Some outputs of the functions' program where columns are `at`.
    fn outputs(&mut self, buffers: &[usize], at: &[Place]) -> Vec<Place> {
        let mut now: HashMap<Place, Place> = HashMap::new();
        for fill in &self.functions.fill {
            now.extend(fill.from[0].map(|from| (fill.to, from)));
        }
        for (c, place) in at.iter().enumerate() {
            now.insert(Place::Column(c), *place);
        }
        for instr in self.functions.code_of(buffers) {
            let from = instr
                .from
                .map(|from| from.map(|from| now.get(&from).copied().unwrap_or(from)));
            let to = self.fresh();
            let also_to = instr.also_to.map(|_| self.fresh());
            now.insert(instr.to, to);
            now.extend(instr.also_to.zip(also_to));
            self.code.push(RowInstr {
                code: instr.code,
                to,
                also_to,
                from,
            });
        }
        buffers.iter().map(|&b| now[&Place::Buffer(b)]).collect()
    }

    /// Σ of the products of any two functions over their points: `table[point][function]`.
    fn dots(&mut self, table: &[Vec<Place>], n: usize) -> Vec<Vec<Place>> {
        let mut all: Vec<Vec<Place>> = Vec::new();
        for a in 0..n {
            let mut own: Vec<Place> = (0..a).map(|b| all[b][a]).collect();
            for b in a..n {
                let dot = table.iter().fold(None, |sum, f| self.add(sum, f[a], f[b]));
                own.push(dot.expect("some points"));
            }
            all.push(own);
        }
        all
    }

    /// From numbers and functions to the sums; `z` of every x for the first y, for the next, ...
    fn sums(
        &mut self,
        of: &Separated,
        numbers: &[Place],
        [x, y]: [&[Vec<Place>]; 2],
        z: &[Place],
    ) -> Vec<Place> {
        let pairs = of.pairs();
        let mut pulls: Vec<Option<Place>> = vec![None; pairs.len()];
        let mut cost = None;
        for (y, z) in y.iter().zip(z.chunks_exact(x.len())) {
            let mut h: Vec<Option<Place>> = vec![None; of.x.len()];
            for t in &of.curve {
                h[t.x] = self.add(h[t.x], numbers[t.number], y[t.y]);
            }
            let mut sums: Vec<Option<Place>> = vec![None; of.x.len()];
            for (x, z) in x.iter().zip(z) {
                let mut f = None;
                for (h, &x) in h.iter().zip(x) {
                    if let Some(h) = *h {
                        f = self.add(f, h, x);
                    }
                }
                let r = self.push(Code::Binary(Binary::Sub), [f, Some(*z), None]);
                cost = self.add(cost, r, r);
                for (sum, &x) in sums.iter_mut().zip(x) {
                    *sum = self.add(*sum, r, x);
                }
            }
            for (pull, &[a, b]) in pulls.iter_mut().zip(&pairs) {
                *pull = self.add(*pull, sums[a].expect("some points"), y[b]);
            }
        }
        let (x, y) = (self.dots(x, of.x.len()), self.dots(y, of.y.len()));
        let mut out = Vec::new();
        for (k, own) in of.partials.iter().enumerate() {
            for other in &of.partials[k..] {
                let mut sum = None;
                for (t, u) in own.iter().flat_map(|t| other.iter().map(move |u| (t, u))) {
                    let a = self.product(numbers[t.number], x[t.x][u.x]);
                    let b = self.product(numbers[u.number], y[t.y][u.y]);
                    sum = self.add(sum, a, b);
                }
                out.extend(sum);
            }
            let mut sum = None;
            for t in own {
                let pull = pairs.iter().position(|p| *p == [t.x, t.y]);
                let pull = pull.and_then(|k| pulls[k]).expect("a pair of a partial");
                sum = self.add(sum, numbers[t.number], pull);
            }
            out.extend(sum);
        }
        out.extend(cost);
        out
    }
}

impl RowProgram {
    /// The instructions that some of its outputs need.
    pub(crate) fn code_of(&self, buffers: &[usize]) -> Vec<RowInstr> {
        let mut needed: HashSet<Place> = buffers.iter().map(|&b| Place::Buffer(b)).collect();
        let mut own = Vec::new();
        for instr in self.code.iter().rev() {
            // A buffer may be used for something else before.
            let first = needed.remove(&instr.to);
            let second = instr.also_to.is_some_and(|also| needed.remove(&also));
            if first || second {
                needed.extend(instr.from.iter().flatten());
                own.push(*instr);
            }
        }
        own.reverse();
        own
    }
}

impl Separated {
    /// Functions of x, functions of y, summed by products; and numbers, alone.
    pub(crate) fn functions(&self) -> RowProgram {
        let both = [&self.x[..], &self.y[..]].concat();
        RowProgram::compile(&self.graph, self.rows, &both, &self.numbers)
    }

    /// Functions of x and y whose products partials are made of, each once.
    pub(crate) fn pairs(&self) -> Vec<[usize; 2]> {
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        for t in self.partials.iter().flatten() {
            if !pairs.contains(&[t.x, t.y]) {
                pairs.push([t.x, t.y]);
            }
        }
        pairs
    }
}

impl GridProgram {
    /// Most points of a grid: their code lies in the first cache of instructions.
    pub const MOST_POINTS: usize = 256;

    /// The code for grids of `shape`: points along x and along y.
    pub fn new(separated: &Separated, shape: [usize; 2], engine: Engine) -> Self {
        let functions = separated.functions();
        let [nx, ny] = shape;
        let mut unroll = Unroll {
            functions: &functions,
            ones: functions.ones(),
            n_scalars: functions.scalars.len(),
            code: functions.uniform.clone(),
        };
        let mut points = |n: usize| -> Vec<Place> { (0..n).map(|_| unroll.fresh()).collect() };
        let (at_x, at_y, z) = (points(nx), points(ny), points(nx * ny));
        let (x, y) = functions.products.split_at(separated.x.len());
        let x: Vec<Vec<Place>> = at_x
            .iter()
            .map(|&at| unroll.outputs(x, &[at, at]))
            .collect();
        let y: Vec<Vec<Place>> = at_y
            .iter()
            .map(|&at| unroll.outputs(y, &[at, at]))
            .collect();
        let numbers = unroll.outputs(&functions.alone, &[]);
        let first = std::mem::take(&mut unroll.code);
        let sums = unroll.sums(separated, &numbers, [&x, &y], &z);
        let second = unroll.code;
        let mut scalars = functions.scalars.clone();
        scalars.resize(unroll.n_scalars, 0.0);
        let mut kept = vec![false; scalars.len()];
        let read = second.iter().flat_map(|i| i.from.iter().flatten());
        for place in read.chain(&sums) {
            if let Place::Scalar(k) = place {
                kept[*k] = true;
            }
        }
        // What the second stage gives and only itself reads stays in registers.
        for instr in &second {
            if let Place::Scalar(k) = instr.to {
                kept[k] = sums.contains(&instr.to);
            }
        }
        GridProgram {
            level: Level::detect(),
            n_free: separated.n_free,
            first_point: functions.scalars.len(),
            shape,
            scalars,
            stages: [first, second],
            sums,
            kept,
            switch: Switch::new(engine),
        }
    }

    /// A workspace for this program.
    pub fn workspace(&self) -> GridWorkspace {
        let mut scalars = Aligned::zeros(self.numbers());
        for (line, x) in scalars.lines.iter_mut().zip(&self.scalars) {
            line.0 = [*x; 8];
        }
        let base = scalars.as_mut_ptr();
        let all: Vec<RowInstr> = self.stages.concat();
        let mut code = Vec::new();
        bind_scalars(&mut code, &all, base);
        let [nx, ny] = self.shape;
        GridWorkspace {
            scalars,
            n_free: self.n_free,
            points: self.first_point..self.first_point + nx + ny + nx * ny,
            code,
        }
    }

    /// Numbers of a workspace.
    fn numbers(&self) -> usize {
        8 * self.scalars.len() + ROOM.max(SLACK)
    }

    /// Sums of products of `[partials…, f − z]`, a ≤ b, row by row, at the parameters and points of
    /// the workspace.
    ///
    /// # Panics
    /// When the workspace is that of another program.
    #[track_caller]
    pub fn accumulate(&self, workspace: &mut GridWorkspace, out: &mut [Eight]) {
        let numbers = Aligned::lines_of(self.numbers());
        assert_eq!(workspace.scalars.lines.len(), numbers, "its own workspace");
        let [nx, ny] = self.shape;
        let base = workspace.scalars.as_mut_ptr();
        match self.switch.code(8 * nx * ny, || self.made()) {
            // SAFETY: the workspace has the numbers of the program, and the room behind them.
            Some(code) => unsafe { code.run(base) },
            None => self.interpret(workspace),
        }
        for (out, place) in out.iter_mut().zip(&self.sums) {
            if let Place::Scalar(k) = place {
                *out = workspace.scalars.lines[*k].0;
            }
        }
    }

    fn interpret(&self, workspace: &GridWorkspace) {
        self.level.run(Run::among_scalars(&workspace.code));
    }

    #[cfg(not(all(unix, target_arch = "x86_64")))]
    fn made(&self) -> Result<StraightCode, String> {
        Err("there is no machine code for this processor".into())
    }

    #[cfg(all(unix, target_arch = "x86_64"))]
    fn made(&self) -> Result<StraightCode, String> {
        self.made_with(crate::cpu::native::Fault::None)
    }

    /// The code, where it agrees with the interpreter at a few points.
    #[cfg(all(unix, target_arch = "x86_64"))]
    fn made_with(&self, fault: crate::cpu::native::Fault) -> Result<StraightCode, String> {
        use crate::cpu::native::compile_straight;
        let code = compile_straight(self.level, &self.stages, &self.kept, fault)?;
        let mut workspace = self.workspace();
        let mut next = (1..).map(|k| number(1, k));
        for _ in 0..POINTS {
            let points = workspace.points.clone();
            for k in (0..self.n_free).chain(points) {
                let line = &mut workspace.scalars.lines[k];
                line.0.fill_with(|| next.next().unwrap_or(0.5));
            }
            self.interpret(&workspace);
            let wanted = self.results(&mut workspace);
            // SAFETY: the workspace is that of the program.
            unsafe { code.run(workspace.scalars.as_mut_ptr()) };
            for (want, got) in wanted.iter().zip(self.results(&mut workspace)) {
                if want.to_bits() != got.to_bits() && !(want.is_nan() && got.is_nan()) {
                    return Err(format!(
                        "machine code gave {got:e} where the interpreter gives {want:e}; the \
                         interpreter is used"
                    ));
                }
            }
        }
        Ok(code)
    }

    /// The sums, and forgets them.
    #[cfg(all(unix, target_arch = "x86_64"))]
    fn results(&self, workspace: &mut GridWorkspace) -> Vec<f64> {
        let mut all = Vec::new();
        for place in &self.sums {
            if let Place::Scalar(k) = place {
                all.extend(workspace.scalars.lines[*k].0);
                workspace.scalars.lines[*k].0 = [f64::NAN; 8];
            }
        }
        all
    }
}

/// Points at which machine code must agree with the interpreter.
#[cfg(all(unix, target_arch = "x86_64"))]
const POINTS: usize = 3;

#[cfg(test)]
mod tests;
