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
use crate::cpu::{GridProgram, GridTerm, Place, RowInstr, RowProgram, Separated};
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
    let evaluation = format!("{functions}{evaluation}");
    small_fits(n_free, &evaluation)
}

/// The fits whose sums are those of `sums_at`.
fn small_fits(n_free: usize, sums_at: &str) -> Program {
    let job = "struct Job {\n    const double *columns, *starts;\n    \
               const long long *offsets, *n_rows;\n    double *results;\n    \
               long long n_fits, stride, n_teams, most, width;\n    double xtol, ftol;\n};\n";
    let text = format!(
        "enum {{ P = {n_free}, Q = P + 1, SUMS = {n_sums} }};\n{}\n{job}\n{sums_at}\n{FIT}",
        damping::defines(),
        n_sums = (n_free + 1) * (n_free + 2) / 2,
    );
    Program { text, team: LANES }
}

/// Numbers that a small fit leaves: parameters, sums, cost, status, evaluations, where the sums are.
pub fn result_words(n_free: usize) -> usize {
    2 * n_free + (n_free + 1) * (n_free + 2) / 2 + 3
}

/// Many small fits on grids of one width, one to a thread; rows stand in the order of the grid.
///
/// The sums are those of the CPU: a product begins every one of them, and those after it are added
/// with one rounding. Where the CPU leaves out a factor of 1, nothing is rounded here.
pub fn fits_on_grids(separated: &Separated) -> Program {
    let functions = separated.functions();
    let n_free = separated.n_free;
    let source = |place: Place| match place {
        Place::Scalar(k) if k < n_free => format!("q[{k}]"),
        Place::Scalar(k) if k < functions.n_params => "0.0".to_string(),
        Place::Scalar(k) => literal(functions.scalars[k]),
        Place::Column(c) => format!("x{c}"),
        Place::Buffer(b) => unreachable!("buffer {b} is read before it is written"),
    };
    let mut uniform = Body::new();
    uniform.run(&functions.uniform, &source, "u", "    ");
    let known = |place: Place| uniform.value(place, &source);
    let mut numbers = Body::new();
    numbers.run(&functions.fill, &known, "f", "    ");
    let number = |k: usize| numbers.value(Place::Buffer(functions.alone[k]), &known);
    let (x, y) = functions.products.split_at(separated.x.len());
    let table = |name: &str, column: usize, buffers: &[usize], n: &str, step: &str| {
        let mut body = Body::new();
        body.values.clone_from(&numbers.values);
        body.run(&functions.code_of(buffers), &known, "t", "        ");
        let mut text = format!(
            "    for (long long i = 0; i < {n}; ++i) {{\n        \
             const double x{column} = columns[{column} * job->stride + {step} * 32];\n{}",
            body.text
        );
        for (k, &b) in buffers.iter().enumerate() {
            let value = body.value(Place::Buffer(b), &known);
            let _ = writeln!(text, "        {name}{k}[i] = {value};");
        }
        text + "    }\n"
    };
    let (at_x, at_y) = (
        table("fx", 0, x, "nx", "i"),
        table("fy", 1, y, "ny", "i * nx"),
    );
    let sums = grid_sums(separated, &number);
    let arrays = |name: &str, n: usize| -> String {
        let all = (0..n).map(|k| format!("{name}{k}[{MOST_POINTS}]"));
        all.collect::<Vec<_>>().join(", ")
    };
    let printed = format!("{}{}{at_x}{at_y}", uniform.text, numbers.text);
    let called = functions::called(&printed, functions::Code::Everywhere);
    let sums_at = format!(
        "{called}FUNCTION void sums_at(const Job *job, const double *columns, long long n, \
         const double *q, double *out)\n{{\n    \
         const long long nx = job->width, ny = n / nx;\n    double {}, {};\n{printed}{sums}}}\n",
        arrays("fx", x.len()),
        arrays("fy", y.len()),
    );
    small_fits(n_free, &sums_at)
}

/// Most points along a side of a grid that is fitted as one: a third of all of them.
const MOST_POINTS: usize = GridProgram::MOST_POINTS / 3 + 1;

/// From functions and numbers to the sums.
fn grid_sums(separated: &Separated, number: &dyn Fn(usize) -> String) -> String {
    let pairs = separated.pairs();
    let mut text = residual_sums(separated, &pairs, number);
    for (name, function, n, end) in [
        ("xx", "fx", separated.x.len(), "nx"),
        ("yy", "fy", separated.y.len(), "ny"),
    ] {
        text += &dots(name, function, n, end);
    }
    text + &given(separated, &pairs, number)
}

/// Names that start at zero.
fn zeros(names: impl Iterator<Item = String>) -> String {
    let all = names.map(|name| format!("{name} = 0.0"));
    all.collect::<Vec<_>>().join(", ")
}

/// One pass over the grid: the cost, and the residuals times each product of functions.
fn residual_sums(
    separated: &Separated,
    pairs: &[[usize; 2]],
    number: &dyn Fn(usize) -> String,
) -> String {
    let mut text = String::new();
    let n_x = separated.x.len();
    let _ = writeln!(
        text,
        "    double cost = 0.0, {};",
        zeros((0..pairs.len()).map(|k| format!("pull{k}")))
    );
    let _ = writeln!(
        text,
        "    for (long long row = 0; row < ny; ++row) {{\n        double {};",
        zeros((0..n_x).map(|k| format!("s{k}")))
    );
    let mut used: Vec<usize> = Vec::new();
    for t in &separated.curve {
        let (n, y) = (number(t.number), format!("fy{}[row]", t.y));
        let _ = match used.contains(&t.x) {
            false => writeln!(text, "        double h{} = {n} * {y};", t.x),
            true => writeln!(text, "        h{0} = fma({n}, {y}, h{0});", t.x),
        };
        used.push(t.x);
    }
    used.sort_unstable();
    used.dedup();
    let _ = writeln!(text, "        for (long long i = 0; i < nx; ++i) {{");
    for (k, x) in used.iter().enumerate() {
        let _ = match k {
            0 => writeln!(text, "            double f = h{x} * fx{x}[i];"),
            _ => writeln!(text, "            f = fma(h{x}, fx{x}[i], f);"),
        };
    }
    let _ = writeln!(
        text,
        "            const double r = f - columns[2 * job->stride + (row * nx + i) * 32];\n            \
         cost = fma(r, r, cost);"
    );
    for k in 0..n_x {
        let _ = writeln!(text, "            s{k} = fma(r, fx{k}[i], s{k});");
    }
    let _ = writeln!(text, "        }}");
    for (k, [x, y]) in pairs.iter().enumerate() {
        let _ = writeln!(text, "        pull{k} = fma(s{x}, fy{y}[row], pull{k});");
    }
    let _ = writeln!(text, "    }}");
    text
}

/// Products of each two functions along one side, summed.
fn dots(name: &str, function: &str, n: usize, end: &str) -> String {
    let mut text = String::new();
    let both = |k: usize| (k..n).map(move |l| (k, l));
    let all: Vec<(usize, usize)> = (0..n).flat_map(both).collect();
    let _ = writeln!(
        text,
        "    double {};\n    for (long long i = 0; i < {end}; ++i) {{",
        zeros(all.iter().map(|(k, l)| format!("{name}{k}_{l}")))
    );
    for (k, l) in all {
        let dot = format!("{name}{k}_{l}");
        let _ = writeln!(
            text,
            "        {dot} = fma({function}{k}[i], {function}{l}[i], {dot});"
        );
    }
    let _ = writeln!(text, "    }}");
    text
}

/// The sums that are asked for, from those of the two sides.
fn given(separated: &Separated, pairs: &[[usize; 2]], number: &dyn Fn(usize) -> String) -> String {
    let mut text = String::new();
    let dot = |name: &str, a: usize, b: usize| format!("{name}{}_{}", a.min(b), a.max(b));
    let mut at = 0;
    let mut give = |terms: Vec<(String, String)>| {
        let mut terms = terms.into_iter();
        let first = terms
            .next()
            .map_or("0.0".to_string(), |(a, b)| format!("{a} * {b}"));
        let sum = terms.fold(first, |sum, (a, b)| format!("fma({a}, {b}, {sum})"));
        let _ = writeln!(text, "    out[{at}] = {sum};");
        at += 1;
    };
    for (k, own) in separated.partials.iter().enumerate() {
        for other in &separated.partials[k..] {
            let all = own.iter().flat_map(|t| other.iter().map(move |u| (t, u)));
            let term = |(t, u): (&GridTerm, &GridTerm)| {
                let a = format!("({} * {})", number(t.number), dot("xx", t.x, u.x));
                let b = format!("({} * {})", number(u.number), dot("yy", t.y, u.y));
                (a, b)
            };
            give(all.map(term).collect());
        }
        let term = |t: &GridTerm| {
            let pull = pairs.iter().position(|p| *p == [t.x, t.y]).unwrap_or(0);
            (number(t.number), format!("pull{pull}"))
        };
        give(own.iter().map(term).collect());
    }
    let _ = writeln!(text, "    out[{at}] = cost;");
    text
}
