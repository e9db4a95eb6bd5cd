//! Row programs as C: a pass over long columns, a team of 32 to a tile; and many small fits, one
//! to a thread.
//!
//! The statements are the instructions that the CPU runs, and sums have its order: in a tile row
//! i goes to partial i mod 32, which is lane i mod 32 here, and partials join by halves.

use super::damping;
use super::functions;
use super::loops::{Statement, statement};
use super::precision::Real;
use super::printer::literal;
use crate::cpu::{Place, RowInstr, RowProgram};
use crate::gpu::Program;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The minimisation of one small fit.
const FIT: &str = include_str!("fit.c");

/// Threads that share a tile, or fits of a team.
pub const LANES: usize = 32;

/// Statements of one row.
struct Body {
    text: String,
    /// What stands in buffers and scalars now.
    values: HashMap<Place, String>,
    n: usize,
}

/// A place as an expression where nothing has been computed into it.
type Source<'s> = dyn Fn(Place) -> String + 's;

impl Body {
    fn new() -> Body {
        Body {
            text: String::new(),
            values: HashMap::new(),
            n: 0,
        }
    }

    fn value(&self, place: Place, source: &Source<'_>) -> String {
        let known = self.values.get(&place);
        known.map_or_else(|| source(place), Clone::clone)
    }

    fn run(&mut self, code: &[RowInstr], source: &Source<'_>, prefix: &str, indent: &str) {
        for instr in code {
            let from = instr.from.iter().flatten();
            let x: Vec<String> = from.map(|&p| self.value(p, source)).collect();
            let name = format!("{prefix}{}", self.n);
            self.n += 1;
            match statement(instr.code, &x, Real::Double).expect("rows are elementwise") {
                Statement::Value(text) => {
                    let _ = writeln!(self.text, "{indent}const double {name} = {text};");
                }
                Statement::Pair(call) => {
                    let second = format!("{name}_also");
                    let _ = writeln!(
                        self.text,
                        "{indent}double {second};\n\
                         {indent}const double {name} = {call}, &{second});"
                    );
                    if let Some(also) = instr.also_to {
                        self.values.insert(also, second);
                    }
                }
            }
            self.values.insert(instr.to, name);
        }
    }
}

/// `s = fma(a, b, s)` for every sum of products, `s = s + a` for those alone.
fn additions(program: &RowProgram, outputs: &[String], indent: &str) -> String {
    let mut text = String::new();
    let q = program.products.len();
    let mut k = 0;
    for a in 0..q {
        for b in a..q {
            let (x, y) = (&outputs[a], &outputs[b]);
            let _ = writeln!(text, "{indent}s{k} = fma({x}, {y}, s{k});");
            k += 1;
        }
    }
    for x in &outputs[q..] {
        let _ = writeln!(text, "{indent}s{k} = s{k} + {x};");
        k += 1;
    }
    text
}

/// The statements of one row and its additions; columns are `x0`, `x1`, ...; scalars as `source`
/// has them.
fn row(program: &RowProgram, source: &Source<'_>, indent: &str) -> String {
    let mut body = Body::new();
    body.run(&program.fill, source, "f", indent);
    body.run(&program.code, source, "t", indent);
    let outputs = program.products.iter().chain(&program.alone);
    let outputs: Vec<String> = outputs
        .map(|&b| body.value(Place::Buffer(b), source))
        .collect();
    body.text + &additions(program, &outputs, indent)
}

/// `x0 = ...` for the columns that are read; `at` is the index of the row.
fn loads(program: &RowProgram, base: &str, at: &str, indent: &str) -> String {
    let reads = |c: &usize| {
        let all = program.fill.iter().chain(&program.code);
        let mut from = all.flat_map(|i| i.from.iter().flatten());
        from.any(|p| *p == Place::Column(*c))
    };
    let all = (0..program.n_columns).filter(reads);
    all.map(|c| format!("{indent}const double x{c} = {base}[{c} * job->stride + {at}];\n"))
        .collect()
}

fn sums(program: &RowProgram, indent: &str) -> String {
    let names: Vec<String> = (0..program.n_sums())
        .map(|k| format!("s{k} = 0.0"))
        .collect();
    format!("{indent}double {};\n", names.join(", "))
}

fn stores(program: &RowProgram, to: impl Fn(usize) -> String, indent: &str) -> String {
    let all = 0..program.n_sums();
    all.map(|k| format!("{indent}{} = s{k};\n", to(k)))
        .collect()
}

/// A pass: sums of every tile of long columns.
pub fn pass(program: &RowProgram) -> Program {
    let source = |place: Place| match place {
        Place::Scalar(k) => format!("scalars[{k}]"),
        Place::Column(c) => format!("x{c}"),
        Place::Buffer(b) => unreachable!("buffer {b} is read before it is written"),
    };
    let n_sums = program.n_sums();
    let row = row(program, &source, "                ");
    let text = format!(
        "struct Job {{\n    const double *columns, *scalars;\n    double *sums, *scratch;\n    \
         long long n_rows, stride, n_teams;\n}};\n\n{functions}\
         ENTRY void advance(const Job *job)\n{{\n    const long long team = TEAM_INDEX;\n    \
         if (team >= job->n_teams)\n        return;\n    \
         const double *const scalars = job->scalars;\n    \
         double *const scratch = job->scratch + team * {scratch};\n    \
         const long long n_tiles = (job->n_rows + 1023) / 1024;\n    \
         for (long long tile = team; tile < n_tiles; tile += job->n_teams) {{\n        \
         const long long first = tile * 1024, end = LEAST(job->n_rows, first + 1024);\n        \
         for (int lane = THREAD; lane < 32; lane += TEAM) {{\n{declared}            \
         for (long long i = first + lane; i < end; i += 32) {{\n{loads}{row}            }}\n{stored}\
         \x20       }}\n        SYNC();\n        \
         for (int k = THREAD; k < {n_sums}; k += TEAM)\n            \
         job->sums[tile * {n_sums} + k] = join_lanes(scratch + k * 32);\n        SYNC();\n    \
         }}\n}}\n",
        functions = functions::called(&row, functions::Code::Everywhere),
        scratch = n_sums * LANES,
        declared = sums(program, "            "),
        loads = loads(program, "job->columns", "i", "                "),
        stored = stores(
            program,
            |k| format!("scratch[{} + lane]", k * LANES),
            "            "
        ),
    );
    Program { text, team: LANES }
}

/// Many small fits of `n_free` parameters, one to a thread: damped steps as on the CPU.
pub fn fits(program: &RowProgram, n_free: usize) -> Program {
    let scalar = |k: usize| {
        if k < n_free {
            format!("q[{k}]")
        } else if k < program.n_params {
            "0.0".to_string()
        } else {
            literal(program.scalars[k])
        }
    };
    let source = |place: Place| match place {
        Place::Scalar(k) => scalar(k),
        Place::Column(c) => format!("x{c}"),
        Place::Buffer(b) => unreachable!("buffer {b} is read before it is written"),
    };
    let mut uniform = Body::new();
    uniform.run(&program.uniform, &source, "u", "    ");
    let known = |place: Place| uniform.value(place, &source);
    let row = row(program, &known, "        ");
    let functions = functions::called(
        &format!("{}{row}", uniform.text),
        functions::Code::Everywhere,
    );
    let evaluation = format!(
        "FUNCTION void sums_at(const Job *job, const double *columns, long long n, const double *q, \
         double *out)\n{{\n{uniform}{declared}    \
         for (long long i = 0; i < n; ++i) {{\n{loads}{row}    }}\n{stored}}}\n",
        uniform = uniform.text,
        declared = sums(program, "    "),
        loads = loads(program, "columns", "i * 32", "        "),
        stored = stores(program, |k| format!("out[{k}]"), "    "),
    );
    let n_sums = program.n_sums();
    let job = "struct Job {\n    const double *columns, *starts;\n    \
               const long long *offsets, *n_rows;\n    double *results;\n    \
               long long n_fits, stride, n_teams, most;\n    double xtol, ftol;\n};\n";
    let text = format!(
        "enum {{ P = {n_free}, Q = P + 1, SUMS = {n_sums} }};\n{}\n{job}\n{functions}{evaluation}\n\
         {FIT}",
        damping::defines()
    );
    Program { text, team: LANES }
}

/// Numbers that a small fit leaves: parameters, sums, cost, status, evaluations.
pub fn result_words(program: &RowProgram, n_free: usize) -> usize {
    n_free + program.n_sums() + 3
}
