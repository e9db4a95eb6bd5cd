//! The first rows of a table, by which its dialect is found.

use super::TableOptions;
use super::decimal::{DecimalMark, Evidence, evidence};
use super::rows::{Row, Separator, is_comment};
use crate::{Error, Result};

/// Rows that are looked at.
const HEAD_ROWS: usize = 500;

/// Lines that may stand above a table.
const MOST_TITLES: usize = 100;

/// Signs at the beginning of a line that make it a comment.
const COMMENTS: [&str; 3] = ["#", "%", "//"];

/// The rows of the head, and how they were found.
pub(super) struct Head {
    pub(super) separator: Separator,
    pub(super) comment: Option<&'static str>,
    pub(super) rows: Vec<Row>,
    /// Cells of most rows.
    pub(super) width: usize,
    /// Share of cells that are numbers.
    numeric: f64,
}

/// What a column holds, by the head of the file.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Numbers,
    Text,
    Nothing,
}

pub(super) fn is_number(cell: &str) -> bool {
    evidence(cell) != Evidence::Text
}

pub(super) fn is_missing(cell: &str) -> bool {
    super::MISSING.contains(&cell.as_bytes())
}

pub(super) fn kinds(rows: &[Row], width: usize) -> Vec<Kind> {
    let kind = |k: usize| {
        let cells = rows.iter().filter_map(|r| r.cells.get(k));
        let cells: Vec<&String> = cells.filter(|c| !is_missing(c)).collect();
        let numbers = cells.iter().filter(|c| is_number(c)).count();
        match cells.len() {
            0 => Kind::Nothing,
            n if 2 * numbers >= n => Kind::Numbers,
            _ => Kind::Text,
        }
    };
    (0..width).map(kind).collect()
}

/// Names that a comment above the rows gives.
pub(super) struct NoteNames {
    pub(super) names: Vec<String>,
    pub(super) line: u64,
    /// Written as a row, without a space behind the sign of comments.
    pub(super) tight: bool,
}

impl Head {
    pub(super) fn find(
        head: &[u8],
        mark: Option<&'static str>,
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<Head> {
        if let Some(separator) = options.separator {
            return Ok(Head::of(head, separator, mark));
        }
        let signs = [b',', b';', b'\t', b'|'].map(Separator::Sign);
        let mut all: Vec<Separator> = usual.into_iter().collect();
        all.extend(signs.into_iter().filter(|s| Some(*s) != usual));
        if options.decimal == Some(DecimalMark::Comma) {
            // Commas can do both only where quotes keep them apart.
            all.retain(|s| *s != Separator::Sign(b',') || head.contains(&b'"'));
        }
        all.push(Separator::Space);
        let mut best: Option<(Head, f64)> = None;
        for separator in all {
            let found = Head::of(head, separator, mark);
            let steady = found.steadiness();
            if found.width < 2 || steady < 0.5 {
                continue;
            }
            let better = match &best {
                None => true,
                // Words with spaces are no rows of cells, numbers with spaces between them are.
                Some((other, steadiness)) if separator == Separator::Space => {
                    let like = other.separator == Separator::Sign(b',')
                        && found.numeric == other.numeric
                        && usual.is_none();
                    found.numeric >= 0.5
                        && steady >= *steadiness
                        && (found.numeric > other.numeric || like && found.has_decimal_commas())
                }
                Some((other, steadiness)) => {
                    let by = (steady > 0.9, found.numeric)
                        .partial_cmp(&(*steadiness > 0.9, other.numeric));
                    by == Some(std::cmp::Ordering::Greater)
                }
            };
            if better {
                best = Some((found, steady));
            }
        }
        let Some((best, _)) = best else {
            // One column; its numbers may have commas if that is said.
            let usual = usual.filter(|_| options.decimal != Some(DecimalMark::Comma));
            let separator = usual.unwrap_or(Separator::Sign(b'\t'));
            return Ok(Head::of(head, separator, mark));
        };
        let alone = best.rows[0].cells.len() == 1 && best.start() == 1 && best.width == 2;
        if alone && best.separator == Separator::Sign(b',') && is_all_numbers(&best.rows[1]) {
            return Err(Error::data(
                "line 1 has no comma and the lines below have one: do commas separate cells, or digits? Say \
                 ⟨delimiter comma⟩ or ⟨decimal comma⟩",
            ));
        }
        Ok(best)
    }

    fn of(head: &[u8], separator: Separator, mark: Option<&'static str>) -> Head {
        let mut comment = mark;
        let mut rows = separator.rows(head, comment, HEAD_ROWS);
        let between = |m: &str| {
            rows.iter()
                .skip(1)
                .any(|r| is_comment(r.cells[0].as_bytes(), m))
        };
        if comment.is_none()
            && let Some(found) = COMMENTS.into_iter().find(|m| between(m))
        {
            let others = rows
                .iter()
                .skip(1)
                .filter(|r| !is_comment(r.cells[0].as_bytes(), found));
            let numbers = others.clone().filter(|r| is_number(&r.cells[0])).count();
            // Where labels stand, they may begin with any sign.
            if numbers > 0 && 2 * numbers >= others.count() {
                comment = Some(found);
                rows = separator.rows(head, comment, HEAD_ROWS);
            }
        }
        let width = most_common(rows.iter().map(|r| r.cells.len()));
        let words = |r: &&Row| !r.cells.iter().any(|c| is_number(c));
        let full = rows
            .iter()
            .filter(|r| r.cells.len() == width)
            .skip_while(words);
        let cells: Vec<&String> = full.flat_map(|r| &r.cells).collect();
        let numbers = cells
            .iter()
            .filter(|c| is_number(c) || is_missing(c))
            .count();
        Head {
            numeric: numbers as f64 / cells.len().max(1) as f64,
            separator,
            comment,
            rows,
            width,
        }
    }

    /// Whether all commas stand in numbers, from the first row on.
    fn has_decimal_commas(&self) -> bool {
        let full = self
            .rows
            .first()
            .is_some_and(|r| r.cells.len() == self.width);
        let mut commas = self.rows.iter().flat_map(|r| &r.cells);
        full && commas.all(|c| !c.contains(',') || is_number(c))
    }

    /// Share of rows that have as many cells as most, from the first such row on.
    fn steadiness(&self) -> f64 {
        let from = self.rows.iter().skip_while(|r| r.cells.len() != self.width);
        let full = from.clone().filter(|r| r.cells.len() == self.width).count();
        full as f64 / from.count().max(1) as f64
    }

    /// Where the table begins: behind lines that are none of its rows.
    pub(super) fn start(&self) -> usize {
        let words = |r: &Row| {
            r.cells
                .iter()
                .filter(|c| !c.is_empty())
                .all(|c| !is_number(c))
        };
        let lonely =
            |r: &Row| r.filled() == 0 || r.filled() == 1 && !r.cells[0].is_empty() && words(r);
        let apart = |i: usize| self.rows[i + 1].line > self.rows[i].line + 1;
        // A title may have as many words as the table has columns, but an empty line below it.
        let full = |r: &Row| r.cells.len() == self.width && r.filled() > 1;
        let names = |r: &Row| full(r) && words(r) && !r.cells.iter().any(|c| is_missing(c));
        let data = |r: &Row| 2 * r.cells.iter().filter(|c| is_number(c)).count() >= r.filled();
        let above_names =
            |i: &usize| apart(i - 1) && names(&self.rows[*i]) && !self.rows[..*i].iter().any(data);
        let most = self.rows.len().min(MOST_TITLES);
        if self.numeric > 0.0
            && let Some(at) = (1..most).find(above_names)
        {
            return at;
        }
        let padded = self.rows.iter().take_while(|r| lonely(r)).count();
        let next = self.rows.get(padded);
        if padded > 0 && self.width > 1 && next.is_some_and(|r| r.filled() > 1 && words(r)) {
            return padded;
        }
        let first = self.rows.iter().position(|r| r.cells.len() == self.width);
        let first = first.unwrap_or(0);
        let above = &self.rows[..first];
        let gap = first > 0 && apart(first - 1);
        let pairs = above.iter().all(|r| r.filled() <= 2 && !is_all_numbers(r)) && self.width > 2;
        let headed = first > 0 && words(&self.rows[first]);
        let titles = above.iter().all(lonely);
        match titles || gap && headed || pairs && headed {
            true => first,
            false => 0,
        }
    }

    /// Whether the first of `rows` has names.
    pub(super) fn has_header(&self, rows: &[Row], below_others: bool) -> Result<bool> {
        let first = &rows[0];
        let numbers = first.cells.iter().filter(|c| is_number(c)).count();
        if numbers == 0 {
            return Ok(true);
        }
        let line = first.line;
        let ask = |what: &str| {
            Err(Error::data(format!(
                "line {line} ({}) {what}; say ⟨header {line}⟩ if it has the names of the columns, or ⟨header \
                 none⟩ if it is data",
                first.cells.join(", ")
            )))
        };
        let counted = |cells: &[String]| {
            let mut each = cells.iter().enumerate();
            each.all(|(k, c)| c.parse::<usize>() == Ok(k))
        };
        if first.cells[0].is_empty() && first.cells.len() > 1 && counted(&first.cells[1..]) {
            return Ok(true);
        }
        if first.cells.iter().all(|c| is_number(c) || is_missing(c)) {
            return match counted(&first.cells) && first.cells.len() > 2 && !below_others {
                true => ask("counts the columns, or is a row"),
                false => Ok(false),
            };
        }
        let kinds = kinds(&rows[1..], first.cells.len());
        let unlike = first.cells.iter().zip(kinds);
        let named = unlike
            .into_iter()
            .any(|(c, kind)| kind == Kind::Numbers && !is_number(c) && !is_missing(c));
        match named || rows.len() == 1 {
            true => Ok(true),
            false => ask("may be a header or a row"),
        }
    }

    /// Names for all cells of a row: those of `header`, and none for numbers of rows beside them.
    pub(super) fn widened(&self, header: &Row, body: &[Row]) -> Vec<String> {
        let mut names = header.cells.clone();
        if body.is_empty() || names.len() + 1 != self.width {
            return names;
        }
        let full = || body.iter().filter(|r| r.cells.len() == self.width);
        if full().all(|r| r.cells[self.width - 1].is_empty()) {
            names.push(String::new());
        } else if self.separator == Separator::Space && names.len() > 1 {
            let counts = |from: usize| {
                full()
                    .enumerate()
                    .all(|(i, r)| r.cells[0] == (i + from).to_string())
            };
            let counted = counts(0) || counts(1);
            if counted || full().all(|r| !is_number(&r.cells[0])) {
                names.insert(0, String::new());
            }
        }
        names
    }

    /// Names in the last comment above the table, if it has one for each column.
    pub(super) fn names_in(&self, notes: &[(u64, String)]) -> Option<NoteNames> {
        let (line, text) = notes.last()?;
        let split = |separator: Separator| {
            let rows = separator.rows(text.as_bytes(), None, 1);
            let cells = rows.into_iter().next().map_or(Vec::new(), |r| r.cells);
            let names = cells.iter().all(|c| !c.is_empty() && !is_number(c));
            (cells.len() == self.width && names).then_some(cells)
        };
        let tight = !text.starts_with(char::is_whitespace) && self.width > 1;
        let exact = split(self.separator);
        let tight = tight && exact.is_some();
        let names = exact
            .or_else(|| split(Separator::Sign(b',')))
            .or_else(|| split(Separator::Space))?;
        let line = *line;
        Some(NoteNames { names, line, tight })
    }
}

fn is_all_numbers(row: &Row) -> bool {
    row.cells.iter().all(|c| is_number(c))
}

/// The most frequent of `sizes`, the largest of several.
fn most_common(sizes: impl Iterator<Item = usize>) -> usize {
    let mut counts = std::collections::BTreeMap::new();
    for n in sizes {
        *counts.entry(n).or_insert(0_usize) += 1;
    }
    let best = counts.into_iter().max_by_key(|&(n, count)| (count, n));
    best.map_or(1, |(n, _)| n)
}

/// The sign of comments at the beginning of a text, and those comments with their lines.
pub(super) fn leading_comments(head: &[u8]) -> (Option<&'static str>, Vec<(u64, String)>) {
    let mut mark = None;
    let mut notes = Vec::new();
    for (at, line) in head.split(|b| *b == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let found = COMMENTS.into_iter().find(|m| is_comment(line, m));
        let Some(found) = found.filter(|f| mark.is_none_or(|m| m == *f)) else {
            break;
        };
        mark = Some(found);
        let text = String::from_utf8_lossy(&line[found.len()..]).into_owned();
        notes.push((at as u64 + 1, text));
    }
    (mark, notes)
}
