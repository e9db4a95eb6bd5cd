//! How a table is written: what separates its cells, where its header stands, what is no data.

use super::head::{Head, Kind, is_missing, is_number, kinds, leading_comments};
use super::rows::{Row, Separator};
use super::units::is_unit;
use super::{HeaderAt, TableOptions};
use crate::{Error, Result};

/// How a table is written.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub(super) separator: Separator,
    /// What begins comments between rows, if there are any.
    pub(super) comment: Option<&'static str>,
    /// A name for every cell of a row; empty for columns that are left out.
    pub(super) names: Vec<String>,
    /// Line of the names; none if the table has none.
    pub(super) header: Option<u64>,
    /// The line behind the header, or the first row of a table without one.
    pub(super) body: u64,
    /// What is told of it, because it could have been meant otherwise.
    pub(super) remarks: Vec<String>,
}

impl Dialect {
    /// The dialect of a text that begins with `head`; `usual` separates cells in files of its name.
    ///
    /// # Errors
    /// The header names no column; what has to be said by the options.
    pub(super) fn of(
        head: &[u8],
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<Dialect> {
        if head.windows(LOG_FRAME.len()).any(|w| w == LOG_FRAME) {
            return Err(Error::data(
                "this is a log of E-Prime and no table; export the trials as text from E-DataAid or E-Merge, \
                 or convert it with a program that reads such logs",
            ));
        }
        let (mark, notes) = leading_comments(head);
        let found = Head::find(head, mark, usual, options)?;
        let mut dialect = Dialect {
            separator: found.separator,
            comment: found.comment,
            names: Vec::new(),
            header: None,
            body: 1,
            remarks: Vec::new(),
        };
        if options.separator.is_none() && Some(found.separator) != usual && found.width > 1 {
            let sign = found.separator.words();
            dialect
                .remarks
                .push(format!("cells are separated by {sign}"));
        }
        dialect.place_header(&found, &notes, options)?;
        if let Some(mark) = dialect.comment {
            dialect
                .remarks
                .push(format!("lines that begin with `{mark}` are left out"));
        }
        Ok(dialect)
    }

    fn place_header(
        &mut self,
        found: &Head,
        notes: &[(u64, String)],
        options: &TableOptions,
    ) -> Result<()> {
        let rows = &found.rows;
        let none = || Error::data("line 1: the header names no column");
        if rows.is_empty() && notes.is_empty() {
            return Err(none());
        }
        let start = match options.header {
            Some(HeaderAt::Line(line)) => {
                let at = rows.iter().position(|r| r.line == line);
                at.ok_or_else(|| {
                    Error::data(format!("⟨header {line}⟩: line {line} holds no cells"))
                })?
            }
            _ => found.start(),
        };
        if start > 0 {
            let (first, last) = (rows[0].line, rows[start - 1].line);
            self.remarks.push(match first == last {
                true => format!("line {first} stands above the table and is left out"),
                false => format!("lines {first} to {last} stand above the table and are left out"),
            });
        }
        let rows = &rows[start..];
        let from_note = || found.names_in(notes);
        let has_header = match (options.header, rows.first()) {
            (_, None) => false,
            (Some(HeaderAt::None), _) => false,
            (Some(HeaderAt::Line(_)), _) => true,
            (None, Some(_)) => match found.has_header(rows, start > 0) {
                // A comment that names the columns answers the question.
                Err(_) if from_note().is_some() => false,
                has => has?,
            },
        };
        if has_header && (options.header.is_some() || from_note().is_none_or(|n| !n.tight)) {
            self.names = found.widened(&rows[0], &rows[1..]);
            self.header = Some(rows[0].line);
            self.body = rows.get(1).map_or(rows[0].line + 1, |r| r.line);
            self.skip_units(&rows[1..]);
        } else if let Some(note) = from_note().filter(|_| options.header.is_none()) {
            self.names = note.names;
            self.header = Some(note.line);
            self.body = rows.first().map_or(note.line + 1, |r| r.line);
            self.remarks
                .push(format!("names come from the comment in line {}", note.line));
        } else {
            self.body = rows.first().map_or(1, |r| r.line);
            self.name_columns(found.width);
        }
        match self.names.iter().all(String::is_empty) {
            true => Err(none()),
            false => Ok(()),
        }
    }

    /// Gives names to `n` columns that have none.
    fn name_columns(&mut self, n: usize) {
        self.names = match n {
            2 => vec!["x".into(), "y".into()],
            n => (1..=n).map(|k| format!("col{k}")).collect(),
        };
        let names = match &self.names[..] {
            [first, .., last] if n > 3 => format!("{first} to {last}"),
            names => names.join(", "),
        };
        let called = match n {
            1 => "the column is",
            _ => "columns are",
        };
        self.remarks.push(format!(
            "there is no header: {called} called {names} (⟨header 1⟩ if line 1 is one)"
        ));
    }

    /// Words where numbers follow: the names may stand further down.
    fn hint_at_names(&mut self, row: &Row, kinds: &[Kind]) {
        let beside = |(cell, kind): (&String, &Kind)| *kind == Kind::Numbers && !cell.is_empty();
        let words = !row.cells.iter().any(|c| is_number(c) || is_missing(c));
        if words && row.cells.iter().zip(kinds).any(beside) {
            let (line, shown) = (row.line, row.cells.join(", "));
            self.remarks.push(format!(
                "line {line} ({shown}) holds words where numbers follow: say ⟨header {line}⟩ if those are the names"
            ));
        }
    }

    /// A line of units below the names is no data.
    fn skip_units(&mut self, rows: &[Row]) {
        let [units, rest @ ..] = rows else { return };
        if rest.is_empty() || units.cells.len() != self.names.len() {
            return;
        }
        let kinds = kinds(rest, units.cells.len());
        let mut any = false;
        let fits = units
            .cells
            .iter()
            .zip(&kinds)
            .all(|(cell, kind)| match kind {
                Kind::Numbers => {
                    let unit = is_unit(cell);
                    any |= unit;
                    unit || matches!(cell.as_str(), "" | "-" | "–" | "1")
                }
                _ => matches!(cell.as_str(), "" | "-" | "–") || is_unit(cell),
            });
        if !fits {
            self.hint_at_names(units, &kinds);
        }
        if fits && any {
            let shown: Vec<&str> = units.cells.iter().map(String::as_str).collect();
            self.remarks.push(format!(
                "line {} is taken for units: {}",
                units.line,
                shown.join(", ")
            ));
            self.body = rest[0].line;
        }
    }
}

/// What E-Prime writes into its logs.
const LOG_FRAME: &[u8] = b"*** Header Start ***";
