//! The text of a table, opened: its dialect, and its rows one after the other.

use super::decimal::{self, DecimalMark};
use super::dialect::Dialect;
use super::encoding::Encoding;
use super::rows::{Lines, Separator, clean, line_of, needs_lines};
use super::{TableOptions, columns};
use crate::data::packed::{self, Packing};
use crate::data::{read, xlsx};
use crate::{Error, Result};
use csv::ByteRecord;
use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file by which its dialect is found, if they hold a few lines.
const HEAD_BYTES: usize = 1 << 16;
const HEAD_LINES: usize = 8;

/// A whole table in memory.
pub(super) struct Text<'t> {
    text: Cow<'t, [u8]>,
    pub(super) dialect: Dialect,
    /// Lines before those of `text`.
    lines_before: u64,
}

impl<'t> Text<'t> {
    pub(super) fn of(
        bytes: &'t [u8],
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<Text<'t>> {
        Self::encoded(bytes, Encoding::of(head_of(bytes)), usual, options)
    }

    pub(super) fn of_windows(
        bytes: &'t [u8],
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<Text<'t>> {
        Self::encoded(bytes, Encoding::Windows1252, usual, options)
    }

    fn encoded(
        bytes: &'t [u8],
        encoding: Encoding,
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<Text<'t>> {
        let text = with_line_feeds(encoding.decode(bytes));
        let mut dialect = Dialect::of(head_of(&text), usual, options)?;
        dialect
            .remarks
            .splice(0..0, encoding.remark().map(String::from));
        let from = line_start(&text, dialect.body);
        let text = match (text, needs_lines(dialect.separator, dialect.comment)) {
            (text, true) => Cow::Owned(clean(&text[from..], dialect.separator, dialect.comment)),
            (Cow::Borrowed(text), false) => Cow::Borrowed(&text[from..]),
            (Cow::Owned(mut text), false) => {
                text.drain(..from);
                Cow::Owned(text)
            }
        };
        Ok(Text {
            lines_before: dialect.body - 1,
            text,
            dialect,
        })
    }

    pub(super) fn is_not_utf8(&self) -> bool {
        std::str::from_utf8(&self.text).is_err()
    }

    /// Calls `take` with every row.
    pub(super) fn each(&self, mut take: impl FnMut(&ByteRecord) -> Result<()>) -> Result<()> {
        let mut reader = self.dialect.separator.records(&*self.text);
        let mut record = ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(broken)? {
            take(&record)?;
        }
        Ok(())
    }

    /// The line of the file at which a row begins.
    pub(super) fn line(&self, record: &ByteRecord) -> u64 {
        self.lines_before + line_of(&self.text, record)
    }
}

fn broken(error: csv::Error) -> Error {
    Error::data(error.to_string())
}

/// The error of a row that has more or fewer cells than there are names.
pub(super) fn uneven(line: u64, cells: usize, dialect: &Dialect) -> Error {
    let word = if cells == 1 { "cell" } else { "cells" };
    let other = if dialect.header.is_some() {
        "the header"
    } else {
        "the first row"
    };
    let n = dialect.names.len();
    Error::data(format!("line {line} has {cells} {word}, {other} has {n}"))
}

/// Text of old computers, whose lines end with a carriage return alone, with line feeds.
fn with_line_feeds(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let head = head_of(&text);
    match head.contains(&b'\r') && !head.contains(&b'\n') {
        true => Cow::Owned(
            text.iter()
                .map(|b| if *b == b'\r' { b'\n' } else { *b })
                .collect(),
        ),
        false => text,
    }
}

/// Whole lines at the beginning of a text.
fn head_of(text: &[u8]) -> &[u8] {
    if text.len() <= HEAD_BYTES {
        return text;
    }
    let ends = |range: &[u8]| range.iter().rposition(|b| *b == b'\n').map(|at| at + 1);
    let few = text
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .nth(HEAD_LINES);
    let least = few.map_or(text.len(), |(at, _)| at + 1);
    let end = ends(&text[..HEAD_BYTES]).unwrap_or(0).max(least);
    &text[..end]
}

/// Where line `line`, counted from 1, begins.
fn line_start(text: &[u8], line: u64) -> usize {
    if line <= 1 {
        return 0;
    }
    let ends = text.iter().enumerate().filter(|(_, b)| **b == b'\n');
    let before = usize::try_from(line - 2).unwrap_or(usize::MAX);
    ends.map(|(at, _)| at + 1).nth(before).unwrap_or(text.len())
}

/// Where the text of a table is.
enum Place {
    File(PathBuf, Packing),
    Memory(Vec<u8>),
}

/// A table of text whose rows are read one after the other, however many there are.
pub struct TableText {
    place: Place,
    dialect: Dialect,
    marks: Vec<DecimalMark>,
}

/// The cells of a row.
pub struct Cells<'r> {
    record: &'r ByteRecord,
    marks: &'r [DecimalMark],
}

impl Cells<'_> {
    /// Cell `k` without the spaces around it.
    pub fn text(&self, k: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(self.record[k].trim_ascii())
    }

    /// Cell `k` as a number; none where it is not one.
    pub fn number(&self, k: usize) -> Option<f64> {
        let cell = std::str::from_utf8(self.record[k].trim_ascii()).ok()?;
        match self.marks[k] {
            DecimalMark::Point => {
                let plain = cell.parse().ok();
                plain.or_else(|| decimal::parse(cell, DecimalMark::Point))
            }
            DecimalMark::Comma => decimal::parse(cell, DecimalMark::Comma),
        }
    }

    /// True if cell `k` says that there is no value.
    pub fn is_missing(&self, k: usize) -> bool {
        super::MISSING.contains(&self.record[k].trim_ascii())
    }
}

impl TableText {
    /// Opens a file: text, perhaps packed by gzip or zstd, or a sheet of a workbook.
    ///
    /// # Errors
    /// It cannot be read; its dialect has to be said by `options`.
    pub fn open(path: &Path, options: &TableOptions) -> Result<TableText> {
        Self::open_plainly(path, options).map_err(|e| e.context(path.display()))
    }

    fn open_plainly(path: &Path, options: &TableOptions) -> Result<TableText> {
        let (usual, is_workbook) = read::table_format(path)?;
        read::check_file(path)?;
        if is_workbook {
            let text = xlsx::as_text(&read::whole(path)?, options.sheet.as_deref())?;
            return Self::in_memory(text, Some(Separator::Sign(b',')), options);
        }
        let packing = Packing::of(path).1;
        let mut reader = packed::open(path, packing)?;
        let head = read_head(&mut reader).map_err(|e| packed::broken(packing, &e))?;
        let encoding = Encoding::of(&head);
        let lines = head.contains(&b'\n') || !head.contains(&b'\r');
        if encoding != Encoding::Utf8 || !lines {
            return Self::in_memory(packed::unpacked(path, packing)?, usual, options);
        }
        let head = encoding.decode(&head);
        let dialect = Dialect::of(head_of(&head), usual, options)?;
        let marks = columns::marks(&Text::of(&head, usual, options)?, options)?;
        Ok(TableText {
            place: Place::File(path.to_path_buf(), packing),
            dialect,
            marks,
        })
    }

    /// A table that is in memory already, as text or as a workbook.
    ///
    /// # Errors
    /// See [`TableText::open`].
    pub fn of_bytes(bytes: Vec<u8>, options: &TableOptions) -> Result<TableText> {
        let bytes = match bytes.starts_with(b"PK\x03\x04") {
            true => xlsx::as_text(&bytes, options.sheet.as_deref())?,
            false => bytes,
        };
        Self::in_memory(bytes, Some(Separator::Sign(b',')), options)
    }

    fn in_memory(
        bytes: Vec<u8>,
        usual: Option<Separator>,
        options: &TableOptions,
    ) -> Result<TableText> {
        let plain = std::str::from_utf8(&bytes).is_ok();
        let encoding = match Encoding::of(head_of(&bytes)) {
            Encoding::Utf8 if !plain => Encoding::Windows1252,
            found => found,
        };
        let text = Text::encoded(&bytes, encoding, usual, options)?;
        let marks = columns::marks(&text, options)?;
        let dialect = text.dialect;
        let text = with_line_feeds(encoding.decode(&bytes)).into_owned();
        Ok(TableText {
            place: Place::Memory(text),
            dialect,
            marks,
        })
    }

    /// The name of every cell of a row; empty for cells that have none.
    pub fn names(&self) -> &[String] {
        &self.dialect.names
    }

    /// What is to be told of how the table is read.
    pub fn remarks(&self) -> &[String] {
        &self.dialect.remarks
    }

    /// Calls `take` with every row, numbered from 1.
    ///
    /// # Errors
    /// The text cannot be read; a row has more or fewer cells than there are names; those of `take`.
    pub fn each(&self, take: &mut dyn FnMut(usize, &Cells<'_>) -> Result<()>) -> Result<()> {
        match &self.place {
            Place::Memory(text) => self.rows(&mut &text[..], take),
            Place::File(path, packing) => {
                let mut reader = packed::open(path, *packing)?;
                let mark = reader
                    .fill_buf()
                    .map_err(|e| packed::broken(*packing, &e))?;
                if mark.starts_with(b"\xef\xbb\xbf") {
                    reader.consume(3);
                }
                self.rows(&mut reader, take)
            }
        }
    }

    fn rows(
        &self,
        text: &mut dyn BufRead,
        take: &mut dyn FnMut(usize, &Cells<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut skipped = Vec::new();
        for _ in 1..self.dialect.body {
            skipped.clear();
            let read = text.read_until(b'\n', &mut skipped);
            read.map_err(|e| Error::data(e.to_string()))?;
        }
        let Dialect {
            separator, comment, ..
        } = self.dialect;
        match needs_lines(separator, comment) {
            true => self.records(Lines::new(text, separator, comment), take),
            false => self.records(text, take),
        }
    }

    fn records(
        &self,
        text: impl Read,
        take: &mut dyn FnMut(usize, &Cells<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.dialect.separator.records(text);
        let mut record = ByteRecord::new();
        let width = self.dialect.names.len();
        let mut row = 0;
        while reader.read_byte_record(&mut record).map_err(broken)? {
            if record.len() != width {
                let line = record.position().map_or(1, csv::Position::line);
                return Err(uneven(
                    self.dialect.body - 1 + line,
                    record.len(),
                    &self.dialect,
                ));
            }
            row += 1;
            let (record, marks) = (&record, &self.marks[..]);
            take(row, &Cells { record, marks })?;
        }
        Ok(())
    }
}

/// The beginning of a text, with enough lines to tell its dialect.
fn read_head(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = reader.take(HEAD_BYTES as u64);
    piece.read_to_end(&mut head)?;
    if head.len() < HEAD_BYTES {
        return Ok(head);
    }
    let mut lines = head.iter().filter(|b| **b == b'\n').count();
    let reader = piece.into_inner();
    while lines <= HEAD_LINES && reader.read_until(b'\n', &mut head)? > 0 {
        lines += 1;
    }
    // The last line is whole.
    reader.read_until(b'\n', &mut head)?;
    Ok(head)
}
