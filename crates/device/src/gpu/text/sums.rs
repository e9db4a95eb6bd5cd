//! Sums as C, in the CPU's order: 32 partial sums for every 1,024 elements, joined by halves and
//! then tile by tile; sums by group in the order of their rows. Each sum has one owner.

use super::arrays::{Access, Place};
use super::loops::{Term, Turn};
use super::precision::Real;
use super::{Writer, array};
use crate::cpu::program::{Code, GroupSumPlan, Instr, MatrixPlan, PARTIALS, SHORT_RUN, TILE};
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

/// How often the body of a sum of up to `most` terms stands in the code, as the word before its loop.
pub(super) fn copies(most: usize) -> &'static str {
    match most {
        ..4 => "ROLLED ",
        _ => "FOUR ",
    }
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
                Reduction::Total { terms, total } => self.total(&terms, turn.plan.n, total),
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

    /// Σ a or Σ a·b: partial sums, then their total, which every thread knows.
    fn total(&mut self, terms: &[Term], n: usize, total: usize) {
        let x: Vec<String> = terms
            .iter()
            .map(|t| self.term_at(t, n, "j", Access::Any))
            .collect();
        let add = match x.as_slice() {
            [a, b] => format!("s = fma{}({a}, {b}, s)", self.real.suffix()),
            _ => format!("s = s + {}", x[0]),
        };
        let tiles = n.div_ceil(TILE);
        let partials = self.partial_sums(n, 1, "", &add);
        self.arrays
            .read_place(partials, tiles * PARTIALS, Access::Any);
        self.step("");
        let name = self.name();
        let sum = if tiles == 1 {
            format!("0.0 + join_lanes(w + {})", partials.at)
        } else {
            let sums = self.tile_sums(partials, tiles);
            format!("join_tiles(w + {}, {tiles})", sums.at)
        };
        let place = self.arrays.place(total);
        let to = array(place, "");
        let _ = write!(
            self.body,
            "    const double {name} = {sum};\n    if (THREAD == 0) {to} = {name};\n"
        );
        self.arrays.wrote(place, 1, Access::Along);
        self.know(total, name);
    }

    /// 32 partial sums for each tile of each of `n_sums` sums; `c` counts these. Their place. Each
    /// has at most 32 terms, so that it may be a `float` until it is joined to others.
    fn partial_sums(&mut self, n: usize, n_sums: usize, head: &str, add: &str) -> Place {
        let per_sum = n.div_ceil(TILE) * PARTIALS;
        let all = per_sum * n_sums;
        let place = self.arrays.reserve(all, Real::Double);
        let (real, f, to) = (self.real.name(), self.real.suffix(), array(place, "k"));
        let count = if n_sums == 1 {
            ("k".to_string(), "")
        } else {
            (format!("k % {per_sum}"), head)
        };
        let (first, end) = if n <= TILE {
            (count.0, format!("{n}"))
        } else {
            let tile = format!("({}) / {PARTIALS}", count.0);
            (
                format!("{tile} * {TILE} + k % {PARTIALS}"),
                format!("LEAST({n}, ({tile} + 1) * {TILE})"),
            )
        };
        self.step(&format!(
            "    SHARE(k, {all}) {{\n{}        {real} s = 0.0{f};\n        \
             {}for (int j = {first}; j < {end}; j += {PARTIALS})\n            {add};\n        \
             {to} = s;\n    }}\n",
            count.1,
            copies(n.min(TILE).div_ceil(PARTIALS))
        ));
        self.arrays.wrote(place, all, Access::Along);
        place
    }

    /// Joins the partial sums of each tile; where the sums of the tiles are.
    fn tile_sums(&mut self, partials: Place, tiles: usize) -> Place {
        let sums = self.arrays.reserve(tiles, Real::Double);
        self.step(&format!(
            "    SHARE(k, {tiles})\n        \
             w[{} + k] = join_lanes(w + {} + k * {PARTIALS});\n",
            sums.at, partials.at
        ));
        self.arrays.wrote(sums, tiles, Access::Along);
        self.arrays.read_place(sums, tiles, Access::Any);
        self.step("");
        sums
    }

    /// Σ over rows of each column times the term.
    fn columns(&mut self, term: &Term, matrix: &MatrixPlan, n: usize, total: usize) {
        let tiles = n.div_ceil(TILE);
        let x = self.term_at(term, n, "j", Access::Any);
        let head = format!("        const int c = k / {};\n", tiles * PARTIALS);
        let entry = self.entry(matrix, n, "j");
        let add = format!("s = fma{}({entry}, {x}, s)", self.real.suffix());
        let partials = self.partial_sums(n, matrix.columns, &head, &add);
        let all = tiles * matrix.columns;
        self.arrays
            .read_place(partials, all * PARTIALS, Access::Any);
        self.step("");
        let sums = if tiles == 1 {
            format!("0.0 + join_lanes(w + {} + c * {PARTIALS})", partials.at)
        } else {
            let sums = self.tile_sums(partials, all);
            format!("join_tiles(w + {} + c * {tiles}, {tiles})", sums.at)
        };
        let place = self.arrays.place(total);
        self.step(&format!(
            "    SHARE(c, {})\n        {} = {sums};\n",
            matrix.columns,
            array(place, "c")
        ));
        self.arrays.wrote(place, matrix.columns, Access::Along);
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
            return self.long_runs(place, len, [first, end], &x, most);
        }
        let (sum, body) = if own {
            (String::new(), format!("0.0{} + {x}", self.real.suffix()))
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

    /// Sums of runs of up to `most` rows, the long ones in eight parts. Rows of a run stand
    /// together, so the step is 1.
    fn long_runs(&mut self, to: Place, len: usize, rows: [&str; 2], x: &str, most: usize) {
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
        self.arrays.read_place(parts, 8 * len, Access::Any);
        let (whole, real) = (format!("{end} - {first} < {SHORT_RUN}"), self.real.name());
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
                let to = array(place, "");
                let _ = write!(
                    turn.text,
                    "    const double {name} = {text};\n    if (THREAD == 0) {to} = {name};\n"
                );
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
