//! Sheets of Excel workbooks (`.xlsx`, ECMA-376) as text: a packed folder of XML files.

use super::unpack;
use super::xml::{Event, Events, unescaped};
use crate::{Error, Result};
use std::io::Cursor;

/// Most rows and columns of a sheet, as Excel has them.
const MOST_ROWS: usize = 1 << 20;
const MOST_COLUMNS: usize = 1 << 14;

/// Most empty cells that a sheet may stand for.
const MOST_CELLS: usize = 1 << 27;

type Archive<'b> = zip::ZipArchive<Cursor<&'b [u8]>>;

/// The cells of a sheet as CSV: `sheet` by its name or number from 1, or the only one that holds cells.
///
/// Values are those that were saved, of formulas their results; dates are days since 1900. Errors such
/// as `#N/A` stay, and are missing values.
///
/// # Errors
/// No workbook; a sheet that is not there, or several and none named.
pub(super) fn as_text(bytes: &[u8], sheet: Option<&str>) -> Result<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
        Error::data(format!(
            "not a readable .xlsx workbook ({e}); save it as .xlsx again, or as CSV"
        ))
    })?;
    let sheets = sheets(&mut archive)?;
    let strings = match archive.index_for_name("xl/sharedStrings.xml") {
        Some(_) => strings(&member(&mut archive, "xl/sharedStrings.xml")?)?,
        None => Vec::new(),
    };
    let names: Vec<&str> = sheets.iter().map(|(name, _)| name.as_str()).collect();
    let all = names.join(", ");
    let chosen = match sheet {
        Some(asked) => {
            let numbered = asked.parse::<usize>().ok().filter(|n| *n >= 1);
            let at = names.iter().position(|name| *name == asked);
            let at = at
                .or(numbered.map(|n| n - 1))
                .filter(|at| *at < names.len());
            let at = at.ok_or_else(|| {
                Error::data(format!(
                    "⟨sheet {asked}⟩: there is no such sheet; the workbook has {all}"
                ))
            })?;
            Grid::read(&member(&mut archive, &sheets[at].1)?, &strings)?
        }
        None => {
            let mut filled = Vec::new();
            for (name, file) in &sheets {
                let grid = Grid::read(&member(&mut archive, file)?, &strings)?;
                if grid.n_rows() > 1 {
                    filled.push((name, grid));
                }
            }
            match filled.len() {
                0 => return Err(Error::data(format!("no sheet holds a table ({all})"))),
                1 => filled.remove(0).1,
                _ => {
                    let held: Vec<&str> = filled.iter().map(|f| f.0.as_str()).collect();
                    return Err(Error::data(format!(
                        "which sheet? Name one with ⟨sheet⟩: {}",
                        held.join(", ")
                    )));
                }
            }
        }
    };
    Ok(chosen.as_csv())
}

fn damaged(what: &str) -> Error {
    Error::data(format!(
        "the workbook is damaged or of another kind ({what}); save it as .xlsx again, or as CSV"
    ))
}

/// A file of the archive, unpacked within the limit for its size.
fn member(archive: &mut Archive<'_>, name: &str) -> Result<String> {
    let file = archive
        .by_name(name)
        .map_err(|_| damaged(&format!("no {name}")))?;
    let packed = usize::try_from(file.compressed_size()).unwrap_or(usize::MAX);
    let bytes = unpack(file, packed).map_err(|e| damaged(&format!("{name}: {e}")))?;
    String::from_utf8(bytes).map_err(|_| damaged(&format!("{name} is not UTF-8")))
}

/// Names of the sheets in their order, and their files.
fn sheets(archive: &mut Archive<'_>) -> Result<Vec<(String, String)>> {
    let mut targets = Vec::new();
    for event in Events::of(&member(archive, "xl/_rels/workbook.xml.rels")?) {
        if let Event::Open(tag) = event
            && tag.name() == "Relationship"
            && let (Some(id), Some(target)) = (tag.attribute("Id"), tag.attribute("Target"))
        {
            targets.push((id, target));
        }
    }
    let mut out = Vec::new();
    for event in Events::of(&member(archive, "xl/workbook.xml")?) {
        if let Event::Open(tag) = event
            && tag.name() == "sheet"
            && let (Some(name), Some(id)) = (tag.attribute("name"), tag.attribute("id"))
            && let Some((_, target)) = targets.iter().find(|(known, _)| *known == id)
        {
            let file = match target.strip_prefix('/') {
                Some(whole) => whole.to_string(),
                None => format!("xl/{target}"),
            };
            // Charts have sheets of their own.
            if file.contains("worksheets/") {
                out.push((name, file));
            }
        }
    }
    match out.is_empty() {
        true => Err(damaged("no sheet")),
        false => Ok(out),
    }
}

/// The texts that cells point at.
fn strings(xml: &str) -> Result<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let (mut inside, mut spoken) = (false, 0);
    for event in Events::of(xml) {
        match event {
            Event::Open(tag) => match tag.name() {
                "si" => out.push(String::new()),
                "t" => inside = !tag.is_empty(),
                // How a text is pronounced is no part of it.
                "rPh" => spoken += 1,
                _ => {}
            },
            Event::Close("t") => inside = false,
            Event::Close("rPh") => spoken -= 1,
            Event::Text(text) if inside && spoken == 0 => {
                let last = out
                    .last_mut()
                    .ok_or_else(|| damaged("text outside of strings"))?;
                *last += &unescaped(text);
            }
            _ => {}
        }
    }
    Ok(out)
}

/// The cells of a sheet that are not empty, row by row.
#[derive(Default)]
struct Grid {
    rows: Vec<Vec<String>>,
    width: usize,
}

impl Grid {
    fn read(xml: &str, strings: &[String]) -> Result<Grid> {
        let mut grid = Grid::default();
        let (mut row, mut column) = (0, 0);
        let (mut kind, mut value, mut inside) = (String::new(), String::new(), false);
        for event in Events::of(xml) {
            match event {
                Event::Open(tag) => match tag.name() {
                    "row" => {
                        let asked = tag.attribute("r").and_then(|r| r.parse::<usize>().ok());
                        row = asked.unwrap_or(row + 1);
                        column = 0;
                    }
                    "c" => {
                        let place = tag.attribute("r").and_then(|r| place(&r));
                        column = place.map_or(column + 1, |(c, _)| c);
                        row = place.map_or(row, |(_, r)| r);
                        kind = tag.attribute("t").unwrap_or_default();
                        value.clear();
                    }
                    "v" | "t" => inside = !tag.is_empty(),
                    _ => {}
                },
                Event::Text(text) if inside => value += &unescaped(text),
                Event::Close("v" | "t") => inside = false,
                Event::Close("c") if !value.is_empty() => {
                    let cell = match kind.as_str() {
                        "s" => {
                            let at = value.parse::<usize>().ok();
                            let text = at.and_then(|at| strings.get(at));
                            text.ok_or_else(|| damaged("a text that is not there"))?
                                .clone()
                        }
                        "b" if value == "1" => "TRUE".into(),
                        "b" => "FALSE".into(),
                        _ => std::mem::take(&mut value),
                    };
                    grid.put(row, column, cell)?;
                }
                _ => {}
            }
        }
        Ok(grid)
    }

    fn put(&mut self, row: usize, column: usize, cell: String) -> Result<()> {
        let fits = (1..=MOST_ROWS).contains(&row) && (1..=MOST_COLUMNS).contains(&column);
        self.width = self.width.max(column);
        if !fits || row.saturating_mul(self.width) > MOST_CELLS {
            return Err(damaged(&format!("a cell in row {row}, column {column}")));
        }
        if self.rows.len() < row {
            self.rows.resize(row, Vec::new());
        }
        let cells = &mut self.rows[row - 1];
        if cells.len() < column {
            cells.resize(column, String::new());
        }
        cells[column - 1] = cell;
        Ok(())
    }

    /// Rows that hold something.
    fn n_rows(&self) -> usize {
        self.rows.iter().filter(|r| !r.is_empty()).count()
    }

    /// The grid as CSV; an empty row is an empty line.
    fn as_csv(&self) -> Vec<u8> {
        let mut out = String::new();
        for row in &self.rows {
            let n = if row.is_empty() { 0 } else { self.width };
            for k in 0..n {
                let cell = row.get(k).map_or("", String::as_str);
                out += if k > 0 { "," } else { "" };
                // A line break in a cell would shift the lines of messages.
                let cell = cell.replace(['\n', '\r'], " ");
                match cell.contains([',', '"']) {
                    true => out += &format!("\"{}\"", cell.replace('"', "\"\"")),
                    false => out += &cell,
                }
            }
            out.push('\n');
        }
        out.into_bytes()
    }
}

/// Column and row, from 1, of a place such as `AB12`.
fn place(text: &str) -> Option<(usize, usize)> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let digit = |n: usize, b: u8| Some(n.checked_mul(26)? + usize::from(b - b'A') + 1);
    let column = text.bytes().take(letters).try_fold(0, digit)?;
    Some((column, text.get(letters..)?.parse().ok()?)).filter(|_| letters > 0 && letters < 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_columns_and_rows() {
        assert_eq!(place("A1"), Some((1, 1)));
        assert_eq!(place("AB12"), Some((28, 12)));
        assert_eq!(place("XFD1048576"), Some((16_384, 1_048_576)));
        assert_eq!(place("12"), None);
        assert_eq!(place("ABCDEFGHIJKLMNOPQRST1"), None);
    }
}
