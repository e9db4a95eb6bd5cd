//! Positions as C: a formula where they follow one, else a table of whole numbers.

use std::collections::HashMap;

/// Where element i of an array finds its element of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Always the same.
    Same(u32),
    /// i + this.
    Shift(u32),
    /// i divided by this, rounded down.
    Divide(u32),
    /// The remainder of i divided by this.
    Remainder(u32),
    /// A table.
    Table,
}

impl Pattern {
    /// The simplest formula that gives `positions`.
    pub(crate) fn of(positions: &[u32]) -> Pattern {
        let first = positions.first().copied().unwrap_or(0);
        let fits = |f: &dyn Fn(u32) -> u32| (0u32..).zip(positions).all(|(i, &p)| f(i) == p);
        if fits(&|_| first) {
            return Pattern::Same(first);
        }
        if fits(&|i| i + first) {
            return Pattern::Shift(first);
        }
        let run = positions.iter().take_while(|&&p| p == 0).count() as u32;
        if run > 1 && fits(&|i| i / run) {
            return Pattern::Divide(run);
        }
        let top = positions.iter().max().copied().unwrap_or(0) + 1;
        if fits(&|i| i % top) {
            return Pattern::Remainder(top);
        }
        Pattern::Table
    }
}

/// Tables of whole numbers that a text reads, equal ones once.
#[derive(Default)]
pub(crate) struct Tables {
    /// All of them, one after the other.
    pub(crate) numbers: Vec<u32>,
    seen: HashMap<Vec<u32>, usize>,
}

impl Tables {
    /// Where `table` starts.
    pub(crate) fn add(&mut self, table: &[u32]) -> usize {
        if let Some(&at) = self.seen.get(table) {
            return at;
        }
        let at = self.numbers.len();
        self.numbers.extend_from_slice(table);
        self.seen.insert(table.to_vec(), at);
        at
    }

    /// `base` plus the position of element `i`, an expression.
    pub(crate) fn index(&mut self, base: usize, positions: &[u32], i: &str) -> String {
        let with = |base: usize, text: String| match base {
            0 => text,
            _ => format!("{base} + {text}"),
        };
        match Pattern::of(positions) {
            Pattern::Same(p) => format!("{}", base + p as usize),
            Pattern::Shift(p) => with(base + p as usize, i.to_string()),
            Pattern::Divide(n) => with(base, format!("{i} / {n}")),
            Pattern::Remainder(n) => with(base, format!("{i} % {n}")),
            Pattern::Table => {
                let at = self.add(positions);
                with(base, format!("table[{}]", with(at, i.to_string())))
            }
        }
    }

    /// The rows of group `g`, of `n_groups`, in their order: the head of a loop over `j`.
    pub(crate) fn rows_of(&mut self, positions: &[u32], n_groups: usize) -> Rows {
        let n = positions.len();
        match Pattern::of(positions) {
            Pattern::Shift(0) if n == n_groups => Rows::stretch("g".into(), "g + 1".into()),
            Pattern::Divide(m) if n == m as usize * n_groups => {
                Rows::stretch(format!("g * {m}"), format!("g * {m} + {m}"))
            }
            Pattern::Remainder(m) if n_groups == m as usize => Rows {
                first: "g".into(),
                end: format!("{n}"),
                step: m,
                row: "j".into(),
            },
            _ => self.listed(positions, n_groups),
        }
    }

    fn listed(&mut self, positions: &[u32], n_groups: usize) -> Rows {
        let mut starts = vec![0u32; n_groups + 1];
        positions.iter().for_each(|&p| starts[p as usize + 1] += 1);
        for g in 0..n_groups {
            starts[g + 1] += starts[g];
        }
        let at = self.add(&starts);
        let mut rows = Rows::stretch(format!("table[{at} + g]"), format!("table[{} + g]", at + 1));
        if !positions.is_sorted() {
            let mut order: Vec<u32> = (0..positions.len() as u32).collect();
            order.sort_by_key(|&row| positions[row as usize]); // stable
            rows.row = format!("table[{} + j]", self.add(&order));
        }
        rows
    }
}

/// A loop over the rows of a group.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// First value of `j`.
    pub(crate) first: String,
    /// Where `j` ends.
    pub(crate) end: String,
    /// From row to row.
    pub(crate) step: u32,
    /// The row that `j` stands for.
    pub(crate) row: String,
}

impl Rows {
    fn stretch(first: String, end: String) -> Rows {
        Rows {
            first,
            end,
            step: 1,
            row: "j".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_found_where_there_are_any() {
        assert_eq!(Pattern::of(&[3, 3, 3]), Pattern::Same(3));
        assert_eq!(Pattern::of(&[2, 3, 4]), Pattern::Shift(2));
        assert_eq!(Pattern::of(&[0, 0, 1, 1, 2]), Pattern::Divide(2));
        assert_eq!(Pattern::of(&[0, 1, 2, 0, 1]), Pattern::Remainder(3));
        assert_eq!(Pattern::of(&[0, 2, 1]), Pattern::Table);
    }

    #[test]
    fn unsorted_groups_are_listed_in_the_order_of_their_rows() {
        let mut tables = Tables::default();
        let rows = tables.rows_of(&[2, 0, 2, 0, 1, 0], 4);
        assert_eq!(tables.numbers[..5], [0, 3, 4, 6, 6]);
        assert_eq!(tables.numbers[5..], [1, 3, 5, 4, 0, 2]);
        assert_eq!(rows.row, "table[5 + j]");
    }
}
