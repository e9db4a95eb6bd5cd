//! Tables: sorted by a click on a head, filtered by typing; long ones grow as one asks for more.

use super::block::State;
use crate::draw::escaped;
use serde_json::{Value, json};

/// Rows in the page itself; the rest is data, which a script shows.
const STATIC_ROWS: usize = 25;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// What it means, shown when the pointer rests on the head.
    pub meaning: String,
    /// Whether it holds numbers: they stand at the right and are sorted by value.
    pub numeric: bool,
}

impl Column {
    /// A column of text.
    pub fn text(head: &str) -> Self {
        Column {
            head: head.into(),
            meaning: String::new(),
            numeric: false,
        }
    }

    /// A column of numbers.
    pub fn number(head: &str, meaning: &str) -> Self {
        Column {
            head: head.into(),
            meaning: meaning.into(),
            numeric: true,
        }
    }
}

/// A cell: text as it is read, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The text. Numbers may have a true minus sign and commas between thousands.
    pub text: String,
    /// How good.
    pub state: State,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell {
            text,
            state: State::Plain,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl Cell {
    /// The same, judged.
    #[must_use]
    pub fn state(self, state: State) -> Self {
        Cell { state, ..self }
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, as many cells as columns.
    pub rows: Vec<Vec<Cell>>,
    /// By row, its place among the draws that the page holds, for the explorer; nothing without.
    pub series: Vec<Option<usize>>,
    /// What is said below the table.
    pub note: String,
}

impl Table {
    pub(super) fn write(&self, out: &mut String, tables: &mut Vec<Value>) {
        let id = tables.len();
        let searchable = self.rows.len() > 8;
        *out += &format!("<div class=\"table\" data-table=\"{id}\">");
        if searchable {
            *out += &format!(
                "<div class=\"tools\" hidden><input type=\"search\" placeholder=\"filter rows\" \
                 aria-label=\"filter rows\"><span class=\"count\">{} rows</span></div>",
                crate::figure::count(self.rows.len())
            );
        }
        *out += "<div class=\"scroll\"><table>";
        if !self.caption.is_empty() {
            *out += &format!("<caption>{}</caption>", escaped(&self.caption));
        }
        *out += "<thead><tr>";
        for column in &self.columns {
            let class = if column.numeric { " class=\"n\"" } else { "" };
            let (head, meaning) = (escaped(&column.head), escaped(&column.meaning));
            *out += &format!("<th{class} scope=\"col\" title=\"{meaning}\">{head}</th>");
        }
        *out += "</tr></thead><tbody>";
        for row in self.rows.iter().take(STATIC_ROWS) {
            self.write_row(row, out);
        }
        *out += "</tbody></table></div>";
        let hidden = self.rows.len().saturating_sub(STATIC_ROWS);
        let note = escaped(&self.note);
        if hidden > 0 {
            let n = crate::figure::count(hidden);
            *out += &format!("<p class=\"more\">{n} more rows are shown where scripts run.</p>");
        }
        if !note.is_empty() {
            *out += &format!("<p class=\"tablenote\">{note}</p>");
        }
        *out += "</div>";
        tables.push(self.json());
    }

    fn write_row(&self, row: &[Cell], out: &mut String) {
        *out += "<tr>";
        for (column, cell) in self.columns.iter().zip(row) {
            let numeric = if column.numeric { "n " } else { "" };
            let class = match cell.state {
                State::Plain => numeric.trim_end().to_string(),
                state => format!("{numeric}{}", state.class()),
            };
            if class.is_empty() {
                *out += "<td>";
            } else {
                *out += &format!("<td class=\"{class}\">");
            }
            out.push_str(&escaped(&cell.text));
            out.push_str("</td>");
        }
        *out += "</tr>";
    }

    /// Rows as lists of texts, with the places of judged cells and of the draws.
    fn json(&self) -> Value {
        let rows = self.rows.iter().enumerate().map(|(k, row)| {
            let texts: Vec<&str> = row.iter().map(|c| c.text.as_str()).collect();
            let judged = row
                .iter()
                .enumerate()
                .filter(|(_, c)| c.state != State::Plain);
            let judged: Vec<Value> = judged.map(|(i, c)| json!([i, c.state.class()])).collect();
            json!([texts, judged, self.series.get(k).copied().flatten()])
        });
        let numeric: Vec<bool> = self.columns.iter().map(|c| c.numeric).collect();
        json!({"numeric": numeric, "rows": rows.collect::<Vec<_>>()})
    }
}
