//! Sums as C, in the CPU's order: 32 partial sums for every 1,024 elements, joined by halves and
//! then tile by tile; sums by group in the order of their rows. Each sum has one owner.

use super::arrays::{Access, Place};
use super::loops::{Term, Turn};
use super::precision::Real;
use super::{Writer, array};
use crate::cpu::program::{
    Arena, Code, GroupSumPlan, Instr, Loc, MatrixPlan, PARTIALS, SHORT_RUN, Step, TILE,
};
use std::fmt::Write as _;

/// A sum over the elements of a loop, to be written after it.
pub(super) enum Reduction {
    /// Of one or of the product of two.
    Total { terms: Vec<Term>, total: usize },
    /// By group.
    Groups {
        term: Term,
        plan: usize,
        by_runs: bool,
    },
    /// Of the columns of a matrix, each times the term.
    Columns {
        term: Term,
        matrix: MatrixPlan,
        total: usize,
    },
}

/// A sum over all elements of a loop that nothing has asked for yet: it is written with others, so that
/// the team meets once for all of them.
pub(super) struct Total {
    /// One, or two whose products are added up.
    terms: Vec<Term>,
    n: usize,
    /// Where the CPU keeps it.
    to: usize,
}

/// Sums of long runs whose parts nothing has asked to be joined yet: they are joined with others, so that the
/// team meets once for all of them.
pub(super) struct Runs {
    /// Eight for each run.
    parts: Place,
    /// Where the CPU keeps the sums.
    to: usize,
    len: usize,
    /// The first row of run `g`, and the one behind its last.
    rows: [String; 2],
}

/// Terms of a sum whose loads may all be under way at once.
const MOST_AT_ONCE: usize = 16;

/// How often the body of a sum of up to `most` terms stands in the code, as the word before its loop.
pub(super) fn copies(most: usize) -> &'static str {
    match most {
        ..4 => "ROLLED ",
        4..=MOST_AT_ONCE => "FULL ",
        _ => "FOUR ",
    }
}

/// Adds the terms of partial sum number `lane` of a sum over `n` elements to `s`; `next` is the sum of `s`
/// and the term of element `j`. All lanes of a tile have as many turns but for the last few elements: with
/// a fixed number of turns and no branches the compiler has all loads under way at once, unless there are
/// many or registers are scarce.
fn lane_sum(
    lane: &str,
    n: usize,
    next: &str,
    (indent, real): (&str, Real),
    crowded: bool,
) -> String {
    let (text, l) = match lane {
        "k" => (String::new(), "k"),
        _ => (format!("{indent}const int l = {lane};\n"), "l"),
    };
    let turns = n.min(TILE).div_ceil(PARTIALS);
    let copies = copies(turns);
    if n > TILE {
        return text
            + &format!(
                "{indent}{copies}for (int j = {l} / {PARTIALS} * {TILE} + {l} % {PARTIALS}; \
                 j < LEAST({n}, ({l} / {PARTIALS} + 1) * {TILE}); j += {PARTIALS})\n{indent}    s = {next};\n"
            );
    }
    if crowded || turns > MOST_AT_ONCE {
        return text
            + &format!(
                "{indent}{copies}for (int j = {l}; j < {n}; j += {PARTIALS})\n{indent}    s = {next};\n"
            );
    }
    // In the last turn what there is none of becomes what there is, and is not added.
    let (last, real, whole) = (n - 1, real.name(), n - n % PARTIALS);
    text + &format!(
        "{indent}FULL for (int from = 0; from < {n}; from += {PARTIALS}) {{\n\
         {indent}    const int j = from < {whole} ? from + {l} : LEAST(from + {l}, {last});\n\
         {indent}    const {real} next = {next};\n\
         {indent}    s = from < {whole} || from + {l} < {n} ? next : s;\n{indent}}}\n"
    )
}

/// Sums that every warp joins for itself, at most.
const MOST_JOINED: usize = 8;

/// Where sums are whose partial sums have been joined.
enum Joined {
    /// Each in an expression.
    Values(Vec<String>),
    /// In `w`, from there on.
    At(usize),
}

/// Terms that may be added up in `float`.
const MOST_IN_FLOAT: usize = 64;

impl Writer<'_> {
    /// Notes a sum; its terms are stored in the loop that computes them.
    pub(super) fn reduction(&mut self, turn: &mut Turn<'_>, instr: &Instr) {
        let operands = instr.from.iter().flatten();
        let mut terms: Vec<Term> = operands.map(|&loc| self.term(turn, loc)).collect();
        let plan = turn.plan;
        let reduction = match instr.code {
            Code::Sum(s) => Reduction::Total {
                terms,
                total: plan.sums[s].total,
            },
            Code::MatVecT(m) => Reduction::Columns {
                term: terms.remove(0),
                matrix: plan.matrices[m],
                total: plan.sums[plan.matrices[m].first_sum].total,
            },
            Code::SumRuns(g) | Code::SumRising(g) | Code::SumAt(g) => Reduction::Groups {
                term: terms.remove(0),
                plan: g,
                by_runs: matches!(instr.code, Code::SumRuns(_)),
            },
            other => unreachable!("{other:?} is no sum"),
        };
        if plan.n == 1 {
            self.sum_of_one(turn, reduction);
        } else {
            turn.reductions.push(reduction);
        }
    }

    /// Writes the sums of a loop.
    pub(super) fn reduce(&mut self, turn: Turn<'_>) {
        for reduction in turn.reductions {
            match reduction {
                Reduction::Total { terms, total } => {
                    let (n, to) = (turn.plan.n, total);
                    self.totals.push(Total { terms, n, to });
                }
                Reduction::Groups {
                    term,
                    plan,
                    by_runs,
                } => self.groups(&term, &turn.plan.groups[plan], by_runs),
                Reduction::Columns {
                    term,
                    matrix,
                    total,
                } => self.columns(&term, &matrix, turn.plan.n, total),
            }
        }
    }

    /// Element `j` of a term; `access` says which elements this thread reads.
    fn term_at(&mut self, term: &Term, n: usize, j: &str, access: Access) -> String {
        match term {
            Term::Same(value) => value.clone(),
            Term::Array(loc) => self.element(*loc, n, j, access),
            Term::Added(place) => {
                self.arrays.read_place(*place, n, access);
                array(*place, j)
            }
        }
    }

    /// Writes the sums that wait, where `step` reads one of them.
    pub(super) fn sums_for(&mut self, step: &Step) {
        let reads = |at: usize, len: usize| {
            let is = |loc: &Loc| loc.arena == Arena::Work && (at..at + len).contains(&loc.at);
            match step {
                Step::Loop(plan) => plan.code.iter().any(|c| c.from.iter().flatten().any(is)),
                Step::Kernel(plan) => plan.inputs.iter().any(|(loc, _)| is(loc)),
                Step::Recurrence(plan) => plan.inputs.iter().any(|(loc, _)| is(loc)),
                Step::Ode(plan) => plan.inputs.iter().any(|(loc, _)| is(loc)),
            }
        };
        if self.totals.iter().any(|total| reads(total.to, 1)) {
            self.write_totals();
        }
        if self.runs.iter().any(|runs| reads(runs.to, runs.len)) {
            self.write_runs();
        }
    }

    /// Writes all sums that wait.
    pub(super) fn write_sums(&mut self) {
        self.write_totals();
        self.write_runs();
    }

    /// Joins the parts of all sums of long runs that wait, each of which has one owner.
    fn write_runs(&mut self) {
        let all = std::mem::take(&mut self.runs);
        for runs in &all {
            self.arrays
                .read_place(runs.parts, 8 * runs.len, Access::Any);
        }
        self.step("");
        for Runs {
            parts,
            to,
            len,
            rows: [first, end],
        } in all
        {
            let (whole, real) = (format!("{end} - {first} < {SHORT_RUN}"), parts.real.name());
            let to = self.arrays.place(to);
            self.step(&format!(
                "    SHARE(g, {len}) {{\n        \
                 const {real} *p = {} + {} + 8 * g;\n        {} = {whole} ? p[0]\n            \
                 : ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));\n    }}\n",
                parts.real.memory(),
                parts.at,
                array(to, "g")
            ));
            self.arrays.wrote(to, len, Access::Along);
        }
    }

    /// Writes all sums that wait, Σ a or Σ a·b: partial sums, then what they come to, which every
    /// thread knows.
    pub(super) fn write_totals(&mut self) {
        let totals = std::mem::take(&mut self.totals);
        if totals.is_empty() {
            return;
        }
        let real = std::mem::replace(&mut self.real, self.precision.many());
        let partials = self.partials_of(&totals);
        let tiles = |total: &Total| total.n.div_ceil(TILE);
        let all: usize = totals.iter().map(tiles).sum();
        self.arrays
            .read_place(partials, all * PARTIALS, Access::Any);
        self.step("");
        // A few are joined by every warp for itself, others by eight threads each.
        let few = all == totals.len() && all <= MOST_JOINED;
        let joined = match few {
            true => self.join_few(partials, all),
            false => Joined::At(self.tile_sums(partials, all).at),
        };
        let mut before = 0;
        for total in &totals {
            let sum = match (&joined, tiles(total)) {
                (Joined::Values(values), _) => format!("0.0 + {}", values[before]),
                (Joined::At(at), 1) => format!("0.0 + w[{}]", at + before),
                (Joined::At(at), n) => format!("JOIN_TILES(w + {}, {n})", at + before),
            };
            before += tiles(total);
            let name = self.name();
            let place = self.arrays.place(total.to);
            let _ = writeln!(self.body, "    const double {name} = {sum};");
            self.store_once(place, &name);
            self.arrays.wrote(place, 1, Access::Along);
            self.know(total.to, name);
        }
        if self.is_crowded() {
            self.write_stores();
        }
        self.real = real;
    }

    /// Joins `n` times 32 partial sums, which has been met for; every thread has all sums.
    fn join_few(&mut self, partials: Place, n: usize) -> Joined {
        let mut values = Vec::with_capacity(n);
        for first in (0..n).step_by(4) {
            let (some, at) = ((n - first).min(4), partials.at + first * PARTIALS);
            let name = self.name();
            let join = match some {
                1 => format!("JOIN_ONE(w + {at})"),
                _ => format!("JOIN_FOUR(w + {at}, {some})"),
            };
            let _ = writeln!(self.body, "    const double {name} = {join};");
            match some {
                1 => values.push(name),
                _ => values.extend((0..some).map(|k| format!("JOINED({name}, w + {at}, {k})"))),
            }
        }
        Joined::Values(values)
    }

    /// 32 partial sums for each tile of each of `totals`; their place.
    fn partials_of(&mut self, totals: &[Total]) -> Place {
        let mut body = String::new();
        let mut end = 0;
        for (nth, total) in totals.iter().enumerate() {
            let n = total.n;
            let mut term = |t: &Term| self.term_at(t, n, "j", Access::Any);
            let x: Vec<String> = total.terms.iter().map(&mut term).collect();
            let add = match x.as_slice() {
                [a, b] => format!("fma{}({a}, {b}, s)", self.real.suffix()),
                _ => format!("s + {}", x[0]),
            };
            let start = end;
            end += n.div_ceil(TILE) * PARTIALS;
            // One warp or several to each sum: partial sums of one tile are those of a warp's threads.
            let _ = match (nth, nth + 1 == totals.len()) {
                (0, true) => Ok(()),
                (0, false) => writeln!(body, "        if (k < {end}) {{"),
                (_, false) => writeln!(body, "        }} else if (k < {end}) {{"),
                (_, true) => writeln!(body, "        }} else {{"),
            };
            let lane = match (start, n.div_ceil(TILE)) {
                (0, _) => "k".to_string(),
                (_, 1) => format!("k % {PARTIALS}"),
                _ => format!("k - {start}"),
            };
            let indent = if totals.len() > 1 { 12 } else { 8 };
            let shape = (" ".repeat(indent), self.real);
            body += &lane_sum(&lane, n, &add, (&shape.0, shape.1), self.is_crowded());
        }
        if totals.len() > 1 {
            body += "        }\n";
        }
        self.partials(end, &body)
    }

    /// `all` partial sums: number `k` is `s` after `body`. Each has at most 32 terms, so that it may
    /// be a `float` until it is joined to others.
    fn partials(&mut self, all: usize, body: &str) -> Place {
        let place = self.arrays.reserve(all, Real::Double);
        let (real, f, to) = (self.real.name(), self.real.suffix(), array(place, "k"));
        self.step(&format!(
            "    SHARE(k, {all}) {{\n        {real} s = 0.0{f};\n{body}        {to} = s;\n    }}\n"
        ));
        self.arrays.wrote(place, all, Access::Along);
        place
    }

    /// Joins the partial sums of each tile; where the sums of the tiles are.
    fn tile_sums(&mut self, partials: Place, tiles: usize) -> Place {
        let sums = self.arrays.reserve(tiles, Real::Double);
        self.step(&format!(
            "    SHARE(k, {}) {{\n        \
             const double s = JOIN_EIGHT(w + {} + k / 8 * {PARTIALS}, k % 8);\n        \
             if (k % 8 == 0)\n            w[{} + k / 8] = s;\n    }}\n",
            8 * tiles,
            partials.at,
            sums.at
        ));
        self.arrays.wrote(sums, tiles, Access::Any);
        self.arrays.read_place(sums, tiles, Access::Any);
        self.step("");
        sums
    }

    /// Σ over rows of each column times the term.
    fn columns(&mut self, term: &Term, matrix: &MatrixPlan, n: usize, total: usize) {
        let tiles = n.div_ceil(TILE);
        let x = self.term_at(term, n, "j", Access::Any);
        let per_column = tiles * PARTIALS;
        let entry = self.entry(matrix, n, "j");
        let add = format!("fma{}({entry}, {x}, s)", self.real.suffix());
        let lane = format!("k % {per_column}");
        let all = tiles * matrix.columns;
        let partials = self.arrays.reserve(all * PARTIALS, Real::Double);
        let (real, f, to) = (self.real.name(), self.real.suffix(), array(partials, "k"));
        let (indent, number) = ("            ", all * PARTIALS);
        let lanes = lane_sum(&lane, n, &add, (indent, self.real), self.is_crowded());
        let most = if self.is_crowded() { 1 } else { 4 };
        // A thread has several of these sums, up to four of them under way at once.
        self.step(&format!(
            "    for (int first = THREAD; first < {number}; first += {most} * TEAM) {{\n        \
             {real} sums[{most}];\n        \
             const int n = LEAST({most}, ({number} + TEAM - 1) / TEAM);\n        \
             for (int r = 0; r < n; ++r) {{\n            \
             const int k = LEAST(first + r * TEAM, {last});\n            \
             const int c = k / {per_column};\n            \
             {real} s = 0.0{f};\n{lanes}            sums[r] = s;\n        }}\n        \
             for (int r = 0; r < n; ++r) {{\n            \
             const int k = first + r * TEAM;\n            \
             if (k < {number})\n                {to} = sums[r];\n        }}\n    }}\n",
            last = number - 1
        ));
        self.arrays.wrote(partials, number, Access::Along);
        self.arrays
            .read_place(partials, all * PARTIALS, Access::Any);
        self.step("");
        let place = self.arrays.place(total);
        let columns = matrix.columns;
        if tiles == 1 {
            self.step(&format!(
                "    SHARE(k, {}) {{\n        \
                 const double s = JOIN_EIGHT(w + {} + k / 8 * {PARTIALS}, k % 8);\n        \
                 if (k % 8 == 0)\n            {} = 0.0 + s;\n    }}\n",
                8 * columns,
                partials.at,
                array(place, "k / 8")
            ));
            self.arrays.wrote(place, columns, Access::Any);
            return;
        }
        let sums = self.tile_sums(partials, all);
        self.step(&format!(
            "    SHARE(k, {}) {{\n        \
             const double s = JOIN_TILES(w + {} + k / 32 * {tiles}, {tiles});\n        \
             if (k % 32 == 0)\n            {} = s;\n    }}\n",
            32 * columns,
            sums.at,
            array(place, "k / 32")
        ));
        self.arrays.wrote(place, columns, Access::Any);
    }

    /// `s`, the sum of `x` over a loop with this head. Beyond 64 terms a sum in `float` is moved to
    /// one in `double` every 32 terms.
    pub(super) fn sum_of(&self, head: &str, x: &str, start: &str, most: usize) -> String {
        let (real, f, copies) = (self.real.name(), self.real.suffix(), copies(most));
        if self.real == Real::Double || most <= MOST_IN_FLOAT {
            return format!(
                "        {real} s = {start}{f};\n        {copies}{head}\n            s = s + {x};\n"
            );
        }
        format!(
            "        float s = {start}f;\n        double moved = 0.0;\n        int n = 0;\n        \
             {copies}{head} {{\n            s = s + {x};\n            if (++n % 32 == 0) {{\n                \
             moved = moved + (double)s;\n                s = 0.0f;\n            }}\n        }}\n        \
             s = (float)(moved + (double)s);\n"
        )
    }

    /// Sums by group: the owner of a group adds its rows in their order, long runs in eight parts.
    fn groups(&mut self, term: &Term, plan: &GroupSumPlan, by_runs: bool) {
        let (n, len) = (plan.positions.len(), plan.len);
        let rows = self.tables.rows_of(&plan.positions, len);
        let own = plan.positions.iter().zip(0..).all(|(&p, i)| p == i);
        let access = if own { Access::Along } else { Access::Any };
        let j = if own { "g" } else { &rows.row };
        let x = self.term_at(term, n, j, access);
        let place = self.arrays.place(plan.total);
        let to = array(place, "g");
        let mut counts = vec![0usize; len];
        plan.positions.iter().for_each(|&p| counts[p as usize] += 1);
        let most = counts.iter().max().copied().unwrap_or(0);
        let (first, end, step) = (&rows.first, &rows.end, rows.step);
        if by_runs && most >= SHORT_RUN {
            return self.long_runs(plan.total, len, [first, end], &x, most);
        }
        let (sum, body) = if own {
            let zero = format!("0.0{}", self.real.suffix());
            let of_row = format!("{zero} + {x}");
            // Groups past the last row are empty.
            let body = match n < len {
                true => format!("g < {n} ? {of_row} : {zero}"),
                false => of_row,
            };
            (String::new(), body)
        } else {
            let head = format!("for (int j = {first}; j < {end}; j += {step})");
            (self.sum_of(&head, &x, "0.0", most), "s".to_string())
        };
        self.step(&format!(
            "    SHARE(g, {len}) {{\n{sum}        \
             {to} = {body};\n    }}\n"
        ));
        self.arrays.wrote(place, len, Access::Along);
    }

    /// Sums of runs of up to `most` rows, the long ones in eight parts, which are joined with others. Rows of a
    /// run stand together, so the step is 1.
    fn long_runs(&mut self, total: usize, len: usize, rows: [&str; 2], x: &str, most: usize) {
        let [first, end] = rows;
        let parts = self.arrays.reserve(8 * len, self.real);
        let head = format!(
            "for (int j = {first} + (is_short ? 0 : k % 8); j < {end}; j += is_short ? 1 : 8)"
        );
        let sum = self.sum_of(&head, x, "0.0", most.div_ceil(8).max(SHORT_RUN));
        self.step(&format!(
            "    SHARE(k, {}) {{\n        const int g = k / 8;\n        \
             const bool is_short = {end} - {first} < {SHORT_RUN};\n{sum}        {} = s;\n    }}\n",
            8 * len,
            array(parts, "k")
        ));
        self.arrays.wrote(parts, 8 * len, Access::Along);
        self.runs.push(Runs {
            parts,
            to: total,
            len,
            rows: [first.into(), end.into()],
        });
    }

    /// The sums of a loop over one element, which every thread knows.
    fn sum_of_one(&mut self, turn: &mut Turn<'_>, reduction: Reduction) {
        let value = |term: &Term| match term {
            Term::Same(value) => value.clone(),
            other => unreachable!("{other:?} in a loop over one element"),
        };
        match reduction {
            Reduction::Total { terms, total } => {
                let text = match terms.as_slice() {
                    [a, b] => format!("fma({}, {}, 0.0)", value(a), value(b)),
                    terms => format!("0.0 + {}", value(&terms[0])),
                };
                let name = self.name();
                let place = self.arrays.place(total);
                let _ = writeln!(turn.text, "    const double {name} = {text};");
                self.store_in(turn, place, &name);
                turn.written.push((place, 1));
                self.know(total, name);
            }
            Reduction::Groups { term, plan, .. } => {
                let plan = &turn.plan.groups[plan];
                let (place, len) = (self.arrays.place(plan.total), plan.len);
                let (x, only) = (value(&term), plan.positions[0]);
                let _ = write!(
                    turn.text,
                    "    SHARE(g, {len})\n        \
                     {} = g == {only} ? 0.0 + {x} : 0.0;\n",
                    array(place, "g")
                );
                turn.written.push((place, len));
            }
            Reduction::Columns {
                term,
                matrix,
                total,
            } => {
                let (place, x) = (self.arrays.place(total), value(&term));
                let entry = self.entry(&matrix, 1, "0");
                let _ = write!(
                    turn.text,
                    "    SHARE(c, {})\n        \
                     {} = fma({entry}, {x}, 0.0);\n",
                    matrix.columns,
                    array(place, "c")
                );
                turn.written.push((place, matrix.columns));
            }
        }
    }
}
