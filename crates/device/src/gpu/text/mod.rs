//! The value and gradient of a graph as C: text that a GPU's compiler and a C++ compiler read.
//!
//! The text is written from the same steps that the CPU engine runs, so that in `f64` both give
//! the same bits: the same row order, the same fused operations, the same order of every sum.
//! A team of threads shares the work: each owns elements, none adds into another's memory, and
//! `SYNC()` stands where a thread reads what another wrote. In a lower precision loops over many
//! elements compute in `float`, and the numbers they share lie in a second memory.

mod arrays;
pub mod damping;
mod functions;
mod kernels;
mod loops;
mod odes;
mod order;
mod positions;
mod precision;
mod printer;
mod recurrences;
pub mod rows;
mod sums;

use crate::cpu::lower::Lower;
use crate::cpu::program::{Arena, Loc, Step};
use crate::cpu::rows::RowOrder;
use crate::gpu::Program;
use arrays::{Access, Arrays, Place};
use fitzroy_graph::{Bindings, Graph, NodeId, Result};
use positions::Tables;
pub use precision::Precision;
use precision::Real;
use std::collections::HashMap;
use std::fmt::Write as _;
use sums::{Runs, Total};

/// The text of a log density and its gradient, and the numbers that it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// `value_and_gradient(q, g, w, fixed, table)` and the functions that it calls.
    pub text: String,
    /// Words behind `fixed`: data, and what follows from data alone. In a lower precision pairs of
    /// `float` follow the numbers, two to a word.
    pub fixed: Vec<f64>,
    /// Whole numbers behind `table`: positions.
    pub table: Vec<u32>,
    /// Words behind `w`, the memory of one team.
    pub n_work: usize,
    /// Numbers behind `q` and `g`.
    pub dim: usize,
    /// What it computes in.
    pub precision: Precision,
}

/// What a whole text starts with on a GPU: the words it is written in.
pub const DEVICE_HEADER: &str = include_str!("device.c");
/// The same for a C++ compiler of this machine, on which the same text runs for tests.
pub const HOST_HEADER: &str = include_str!("host.c");
/// Functions that texts share; to follow the header.
pub const COMMON: &str = include_str!("common.c");

/// The whole text of a program for a GPU.
pub fn for_device(program: &Program) -> String {
    let Program { text, team } = program;
    format!("#define TEAM {team}\n{DEVICE_HEADER}\n{COMMON}\n{text}")
}

/// Writes `value` and its slopes in `f64`. `slopes` are nodes and where each starts in `g`, of
/// `dim` numbers.
///
/// # Errors
/// When `bindings` do not fit the graph.
pub fn emit(
    graph: &Graph,
    bindings: &Bindings,
    value: NodeId,
    slopes: &[(usize, NodeId)],
    dim: usize,
) -> Result<Source> {
    emit_in(graph, bindings, value, slopes, dim, Precision::F64)
}

/// As [`emit`], in any precision.
///
/// # Errors
/// When `bindings` do not fit the graph.
pub fn emit_in(
    graph: &Graph,
    bindings: &Bindings,
    value: NodeId,
    slopes: &[(usize, NodeId)],
    dim: usize,
    precision: Precision,
) -> Result<Source> {
    bindings.check(graph)?;
    let mut outputs = vec![value];
    outputs.extend(slopes.iter().map(|s| s.1));
    let plain = graph.without_slopes(&outputs);
    let (graph, outputs) = plain
        .as_ref()
        .map_or((graph, outputs), |p| (&p.0, p.1.clone()));
    let order = RowOrder::new(graph, bindings, &graph.needed(&outputs));
    let lower = Lower::new(graph, &order, &outputs);
    let mut writer = Writer::new(&lower, dim, precision);
    for step in &lower.steps {
        writer.sums_for(step);
        match step {
            Step::Loop(plan) if plan.n == 1 => writer.single(plan),
            Step::Loop(plan) => writer.many(plan),
            Step::Kernel(plan) => writer.kernel(plan),
            Step::Recurrence(plan) => writer.recurrence(plan),
            Step::Ode(plan) => writer.ode(plan),
        }
    }
    writer.write_sums();
    let starts: Vec<usize> = slopes.iter().map(|s| s.0).collect();
    writer.results(&lower, &order, &outputs, &starts, dim);
    Ok(writer.finish(dim))
}

/// A text being written.
struct Writer<'a> {
    body: String,
    /// Numbers known to every thread, by their address in the workspace: their names, and how many
    /// barriers stood before their step.
    known: HashMap<usize, (String, usize)>,
    /// Single numbers that the first thread writes before all meet: not one by one, for behind a write
    /// no read can begin early.
    stores: Vec<String>,
    /// Loops over elements, and how many of them stand before the last barrier.
    loops: Vec<LoopText>,
    n_loops_met: usize,
    /// Arrays that are a parameter with its sign turned, by their address: that of the parameter.
    turned: HashMap<usize, Loc>,
    /// Sums that wait until one of their kind is needed.
    totals: Vec<Total>,
    runs: Vec<Runs>,
    arrays: Arrays,
    /// Whether differential equations are solved.
    has_odes: bool,
    has_matrices: bool,
    tables: Tables,
    fixed: &'a [f64],
    graph: &'a Graph,
    n_names: usize,
    precision: Precision,
    /// The arithmetic of the step that is being written.
    real: Real,
    /// Whether the step that is being written is one of single numbers.
    is_single: bool,
    /// The parameters in `float`, where `q` is not.
    copied: Option<Place>,
    /// In a lower precision: what of `fixed` is read in `double`, and where it starts.
    doubles: Vec<f64>,
    places_of_doubles: HashMap<(usize, usize), usize>,
}

impl<'a> Writer<'a> {
    fn new(lower: &'a Lower<'_>, dim: usize, precision: Precision) -> Self {
        let mut writer = Writer {
            body: String::new(),
            known: HashMap::new(),
            stores: Vec::new(),
            loops: Vec::new(),
            n_loops_met: 0,
            turned: HashMap::new(),
            totals: Vec::new(),
            runs: Vec::new(),
            arrays: Arrays::new(lower, precision),
            has_odes: false,
            has_matrices: false,
            tables: Tables::default(),
            fixed: &lower.fixed,
            graph: lower.graph,
            n_names: 0,
            precision,
            real: Real::Double,
            is_single: false,
            copied: None,
            doubles: Vec::new(),
            places_of_doubles: HashMap::new(),
        };
        if precision == Precision::Mixed {
            let place = writer.arrays.reserve(dim, Real::Single);
            let to = array(place, "i");
            let text = format!("    SHARE(i, {dim})\n        {to} = (float)q[i];\n");
            writer.step(&text);
            writer.arrays.wrote(place, dim, Access::Along);
            writer.copied = Some(place);
        }
        writer
    }

    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("t{}", self.n_names)
    }

    /// Adds a step: a barrier first, if it reads what other threads wrote.
    fn step(&mut self, text: &str) {
        self.meet();
        self.body.push_str(text);
    }

    /// A barrier, if what comes reads what other threads wrote; whether it is one.
    fn meet(&mut self) -> bool {
        let meets = self.arrays.take_barrier();
        if meets {
            self.write_stores();
            self.body.push_str("    SYNC();\n");
            self.n_loops_met = self.loops.len();
        }
        meets
    }

    /// The first thread will have written the number `name` to `place` when all meet next.
    fn store_once(&mut self, place: Place, name: &str) {
        self.stores.push(format!("{} = {name};", array(place, "")));
    }

    fn write_stores(&mut self) {
        let lines = std::mem::take(&mut self.stores);
        match lines.as_slice() {
            [] => {}
            [one] => {
                let _ = writeln!(self.body, "    if (THREAD == 0)\n        {one}");
            }
            all => {
                let all = all.join("\n        ");
                let _ = writeln!(self.body, "    if (THREAD == 0) {{\n        {all}\n    }}");
            }
        }
    }

    /// Adds a loop over `n` elements, `text` for each, to the loop before it if that is over as many
    /// and needs no barrier in between.
    fn elements(&mut self, n: usize, text: &str) {
        self.meet();
        let end = self.body.len();
        match self.loops[self.n_loops_met..].last() {
            Some(last) if last.n == n && last.end == end && !self.is_crowded() => {}
            _ => {
                let _ = writeln!(self.body, "    SHARE(i, {n}) {{");
                let start = self.body.len();
                self.body.push_str(END_OF_LOOP);
                let end = self.body.len();
                self.loops.push(LoopText { n, start, end });
            }
        }
        self.add_to_loop(self.loops.len() - 1, text);
    }

    /// Adds to a loop that stands in the text.
    fn add_to_loop(&mut self, which: usize, text: &str) {
        let LoopText { start, end, .. } = self.loops[which];
        let range = start..end - END_OF_LOOP.len();
        let mut body = self.body[range.clone()].to_string() + text;
        if !self.is_crowded() {
            body = order::stores_last(&body);
        }
        self.body.replace_range(range.clone(), &body);
        let moved = |at: usize| at + body.len() - range.len();
        self.loops[which].end = moved(end);
        for after in &mut self.loops[which + 1..] {
            (after.start, after.end) = (moved(after.start), moved(after.end));
        }
    }

    /// Puts statements of single numbers to where all that they need is known.
    fn as_early_as_known(&mut self, text: &str) {
        let at = order::known_from(&self.body, text);
        self.body.insert_str(at, text);
        for after in self.loops.iter_mut().filter(|l| l.start >= at) {
            (after.start, after.end) = (after.start + text.len(), after.end + text.len());
        }
    }

    /// The last loop over `n` elements before this text in which `turn` may stand as well: it only reads
    /// what the thread itself has stored in that turn, and what was known before that loop.
    fn earlier_loop(&self, n: usize, turn: &str) -> Option<usize> {
        let suits = |l: &LoopText| {
            l.n == n && order::may_join(&self.body[..l.start], &self.body[l.start..l.end], turn)
        };
        (!self.is_crowded()).then(|| self.loops.iter().rposition(suits))?
    }

    /// The loop over `n` elements in which the number `of` of every turn was stored.
    fn loop_that_stores(&self, n: usize, of: &str) -> Option<usize> {
        let store = format!("        {of} = ");
        let stores = |l: &LoopText| l.n == n && self.body[l.start..l.end].contains(&store);
        self.loops.iter().position(stores)
    }

    /// Element `index` of the array at `loc`, in the arithmetic of the step; `access` says which
    /// elements this thread reads.
    fn element(&mut self, loc: Loc, len: usize, index: &str, access: Access) -> String {
        let (text, real) = match loc.arena {
            Arena::Fixed => return self.constant(loc.at, len, index),
            Arena::Work if self.arrays.is_parameter(loc.at) => {
                self.parameter(loc, len, index, access)
            }
            Arena::Work => {
                self.arrays.read(loc.at, len, access);
                let place = self.arrays.place(loc.at);
                (array(place, index), place.real)
            }
        };
        self.real.cast(text, real)
    }

    /// Element `index` of the `len` constants from `at` on.
    fn constant(&mut self, at: usize, len: usize, index: &str) -> String {
        match (self.precision, self.real) {
            (Precision::F64, _) => subscript("fixed", at, index),
            (_, Real::Single) => subscript("single", at, index),
            (_, Real::Double) => {
                let end = self.doubles.len();
                let place = *self.places_of_doubles.entry((at, len)).or_insert(end);
                if place == end {
                    self.doubles.extend_from_slice(&self.fixed[at..at + len]);
                }
                subscript("fixed", place, index)
            }
        }
    }

    fn parameter(&mut self, loc: Loc, len: usize, index: &str, access: Access) -> (String, Real) {
        let own = subscript("q", loc.at, index);
        match (self.precision, self.real, self.copied) {
            (Precision::Mixed, Real::Single, Some(copied)) => {
                // A copy belongs to the thread that made it only where it starts alike.
                let access = if loc.at == 0 { access } else { Access::Any };
                let place = Place {
                    at: copied.at + loc.at,
                    ..copied
                };
                self.arrays.read_place(place, len, access);
                (array(place, index), Real::Single)
            }
            (Precision::F32, ..) => (own, Real::Single),
            _ => (own, Real::Double),
        }
    }

    /// The one number at `loc`.
    fn scalar(&mut self, loc: Loc) -> String {
        if loc.arena == Arena::Fixed {
            let value = self.fixed[loc.at];
            return match printer::literal(value).len() <= LONGEST_LITERAL {
                true => self.real.literal(value),
                false => self.constant(loc.at, 1, ""),
            };
        }
        match self.recall(loc.at) {
            Some(name) => self.real.cast(name, Real::Double),
            None => self.element(loc, 1, "", Access::Any),
        }
    }

    /// Every thread knows the number at address `at` of the workspace by `name`.
    fn know(&mut self, at: usize, name: String) {
        self.known.insert(at, (name, self.arrays.n_barriers));
    }

    /// Whether there are more single numbers than registers for them. Then it pays to meet often, for
    /// behind a barrier they need not be kept, and to have short loops.
    fn is_crowded(&self) -> bool {
        self.arrays.n_single() > MOST_KNOWN
    }

    /// The name by which every thread knows the number at address `at` of the workspace. Where there
    /// are many such numbers they would fill the registers from their step to the end of the text, so
    /// that older ones are read again from memory, which costs no more than a register that is
    /// spilled. It is the same number, and a barrier stands after its step.
    fn recall(&mut self, at: usize) -> Option<String> {
        let (name, before) = self.known.get(&at)?.clone();
        let place = self.arrays.place(at);
        // A step is written after its own barrier, which may be counted already.
        let is_old = before + 1 < self.arrays.n_barriers && place.real == Real::Double;
        if !is_old || !self.is_crowded() {
            return Some(name);
        }
        let from = array(place, "");
        // A long step of single numbers reads each where it is used: all at its start would fill the
        // registers again. A loop reads them once, before its first turn.
        if self.is_single {
            return Some(from);
        }
        let again = self.name();
        let _ = writeln!(self.body, "    const double {again} = {from};");
        self.know(at, again.clone());
        Some(again)
    }

    /// Gradient and value leave.
    fn results(
        &mut self,
        lower: &Lower<'_>,
        order: &RowOrder,
        outputs: &[NodeId],
        starts: &[usize],
        dim: usize,
    ) {
        let parts: Vec<_> = outputs.iter().map(|&o| lower.output(order, o)).collect();
        let mut covered: Vec<(usize, usize)> = starts
            .iter()
            .zip(&parts[1..])
            .map(|(&s, p)| (s, s + p.len))
            .collect();
        covered.sort_unstable();
        let end = covered
            .iter()
            .try_fold(0, |at, &(from, to)| (from == at).then_some(to));
        let complete = end == Some(dim);
        if !complete {
            self.step(&format!("    SHARE(i, {dim})\n        g[i] = 0.0;\n"));
        }
        for (&start, part) in starts.iter().zip(&parts[1..]) {
            // An element that is added to belongs to the thread that cleared it.
            let (n, at, to, assign) = if complete {
                let to = subscript("g", start, "i");
                (part.len, "i".to_string(), to, "=")
            } else {
                let end = start + part.len;
                let at = format!("(i - {start})");
                (end, at, format!("if (i >= {start}) g[i]"), "+=")
            };
            let from = if part.len == 1 {
                self.scalar(part.loc)
            } else {
                let access = match (&part.positions, complete) {
                    (None, true) => Access::Along,
                    _ => Access::Any,
                };
                let index = match &part.positions {
                    Some(positions) => self.tables.index(0, positions, &at),
                    None => at,
                };
                self.element(part.loc, part.len, &index, access)
            };
            let text = format!("        {to} {assign} {from};\n");
            // A slope leaves where it was made, if nobody has met since.
            match self.loop_that_stores(n, &from) {
                Some(which) if complete && !self.is_crowded() => self.add_to_loop(which, &text),
                _ => self.elements(n, &text),
            }
        }
        let value = self.scalar(parts[0].loc);
        self.step("");
        // Numbers that nobody has met to read are not written.
        let _ = writeln!(self.body, "    return {value};");
    }

    fn finish(self, dim: usize) -> Source {
        let [doubles, singles] = [Real::Double, Real::Single].map(|r| self.arrays.n_numbers(r));
        let lower = self.precision != Precision::F64;
        let memories = match lower {
            false => String::new(),
            true => format!(
                "    float *v = (float *)(w + {doubles});\n    \
                 const float *single = (const float *)(fixed + {});\n",
                self.doubles.len()
            ),
        };
        let vector = self.precision.vector();
        let own = match self.is_crowded() {
            true => self.body,
            false => order::loads_first(&self.body, vector),
        };
        let body = format!(
            "/* The log density at q, which every thread returns, and its slopes into g. */\n\
             APART double value_and_gradient(const {vector} *q, {vector} *g, double *w,\n    \
             const double *fixed, const unsigned *table)\n{{\n{memories}{own}}}\n"
        );
        let called = functions::called(&body, functions::Code::Once);
        let odes = if self.has_odes { odes::COURSE } else { "" };
        let matrices = match self.has_matrices {
            true => kernels::MATRICES,
            false => "",
        };
        let mut fixed = self.doubles;
        match lower {
            false => fixed.extend_from_slice(self.fixed),
            true => fixed.extend(self.fixed.chunks(2).map(pair)),
        }
        Source {
            text: format!("{called}{odes}{matrices}{body}"),
            fixed,
            table: self.tables.numbers,
            n_work: doubles + singles.div_ceil(2),
            dim,
            precision: self.precision,
        }
    }
}

/// One or two numbers as a word that holds two `float`.
fn pair(numbers: &[f64]) -> f64 {
    let bits = |k: usize| {
        numbers
            .get(k)
            .map_or(0, |&x| u64::from((x as f32).to_bits()))
    };
    f64::from_bits(bits(0) | bits(1) << 32)
}

/// A loop over elements that stands in a text.
struct LoopText {
    n: usize,
    /// Where its body starts, and where it ends.
    start: usize,
    end: usize,
}

/// What a loop ends with.
const END_OF_LOOP: &str = "    }\n";

/// Element `index` of the array at `place`.
fn array(place: Place, index: &str) -> String {
    subscript(place.real.memory(), place.at, index)
}

/// Single numbers that a text may keep in the registers of every thread, two registers to each.
const MOST_KNOWN: usize = 32;

/// Constants longer than this stay in `fixed`, so that other data need no other text.
const LONGEST_LITERAL: usize = 6;

/// `name[at + index]`, either part left out where it adds nothing.
fn subscript(name: &str, at: usize, index: &str) -> String {
    match (at, index) {
        (_, "") => format!("{name}[{at}]"),
        (0, _) => format!("{name}[{index}]"),
        _ => format!("{name}[{at} + {index}]"),
    }
}
