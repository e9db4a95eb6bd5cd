//! Columns that stay in files: read piece by piece, in whole tiles, within a limit of memory.

use crate::pass::{Table, Visitor};
use fitzroy::data::{TableOptions, TableText};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::TILE_ROWS;
use fitzroy_device::large_pages::zeros;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A column of f64, little end first, in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileColumn {
    /// The file.
    pub path: PathBuf,
    /// Where its first number stands.
    pub offset: u64,
    /// How many numbers there are.
    pub n_rows: usize,
    /// True for a column of σ that is read as 1/σ.
    pub inverse: bool,
}

pub(super) fn broken(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Data, format!("{}: {message}", path.display()))
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_string(),
        std::io::ErrorKind::UnexpectedEof => "the file is cut short; fetch it again".to_string(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::Io, format!("{}: {message}", path.display()))
}

impl FileColumn {
    /// Where column `k` is decoded to in `folder`.
    pub(super) fn decoded(folder: &Path, k: usize) -> PathBuf {
        folder.join(format!("column-{k}.f64"))
    }

    /// The one-dimensional array of f64 in an NPY file; nothing but its header is read.
    ///
    /// # Errors
    /// Another shape or type, a damaged header, a file that is cut short.
    pub fn npy(path: &Path) -> Result<FileColumn> {
        let mut file = File::open(path).map_err(|e| unreadable(path, &e))?;
        let mut head = [0; 10];
        let cut = |_| broken(path, "the NPY header is cut short");
        file.read_exact(&mut head).map_err(cut)?;
        if &head[..6] != b"\x93NUMPY" {
            return Err(broken(
                path,
                "not an NPY file (it does not begin with \\x93NUMPY)",
            ));
        }
        let (length, start) = if head[6] == 1 {
            (u64::from(u16::from_le_bytes([head[8], head[9]])), 10)
        } else {
            let mut rest = [0; 2];
            file.read_exact(&mut rest).map_err(cut)?;
            (
                u64::from(u32::from_le_bytes([head[8], head[9], rest[0], rest[1]])),
                12,
            )
        };
        let mut text = vec![0; length as usize];
        file.read_exact(&mut text).map_err(cut)?;
        let text = String::from_utf8_lossy(&text);
        if !text.contains("'<f8'") {
            let message = "a file larger than memory must hold f64, little end first ('<f8')";
            return Err(broken(path, message));
        }
        let shape = text.split_once("'shape':").and_then(|(_, rest)| {
            let inside = rest.split_once('(')?.1.split_once(')')?.0;
            inside.trim().trim_end_matches(',').parse::<usize>().ok()
        });
        let Some(n_rows) = shape else {
            return Err(broken(
                path,
                "a column has one axis; this array has another shape",
            ));
        };
        let offset = start + length;
        let bytes = file.metadata().map_err(|e| unreadable(path, &e))?.len();
        let needed = offset + 8 * n_rows as u64;
        if bytes < needed {
            let message = format!(
                "{n_rows} rows need {needed} bytes, the file holds {bytes}; it is cut short"
            );
            return Err(broken(path, message));
        }
        Ok(FileColumn {
            path: path.into(),
            offset,
            n_rows,
            inverse: false,
        })
    }
}

/// Numbers that are read at a time: what stays in cache on its way to a column.
const READ_ROWS: usize = 8192;

impl FileColumn {
    /// All its numbers, without a copy of the file in between.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> Result<Vec<f64>> {
        let fail = |e: std::io::Error| unreadable(&self.path, &e);
        let mut file = File::open(&self.path).map_err(fail)?;
        file.seek(SeekFrom::Start(self.offset)).map_err(fail)?;
        // Touched for the first time, 4 KiB at a time, they take longer than to be read.
        let mut out = zeros(self.n_rows);
        let mut bytes = vec![0; 8 * READ_ROWS];
        for piece in out.chunks_mut(READ_ROWS) {
            let bytes = &mut bytes[..8 * piece.len()];
            file.read_exact(bytes).map_err(fail)?;
            let (eights, _) = bytes.as_chunks::<8>();
            for (x, eight) in piece.iter_mut().zip(eights) {
                *x = f64::from_le_bytes(*eight);
            }
        }
        Ok(out)
    }
}

/// Columns of a table of text, written once as numbers into `folder`, row by row, so that
/// passes need not parse them again.
///
/// # Errors
/// A cell of a wanted column that is no finite number, by row; rows of different lengths.
pub fn decode_table(
    path: &Path,
    options: &TableOptions,
    wanted: &[String],
    folder: &Path,
) -> Result<Vec<FileColumn>> {
    let table = TableText::open(path, options)?;
    let mut places = Vec::new();
    for name in wanted {
        let Some(at) = table.names().iter().position(|h| h == name) else {
            let all = table.names().join(", ");
            return Err(broken(
                path,
                format!("there is no column `{name}`; the columns are {all}"),
            ));
        };
        places.push(at);
    }
    let file = |k: usize| FileColumn::decoded(folder, k);
    let mut files = Vec::new();
    for k in 0..wanted.len() {
        let to = File::create(file(k)).map_err(|e| unreadable(&file(k), &e))?;
        files.push(BufWriter::with_capacity(1 << 16, to));
    }
    let mut n_rows = 0;
    let read = table.each(&mut |row, cells| {
        for (k, &at) in places.iter().enumerate() {
            let value = cells.number(at).unwrap_or(f64::NAN);
            if !value.is_finite() {
                let cell = cells.text(at);
                let message = format!(
                    "row {row}, column {}: `{cell}` is no finite number; remove the row",
                    wanted[k]
                );
                return Err(Error::new(ErrorKind::Data, message));
            }
            let written = files[k].write_all(&value.to_le_bytes());
            written.map_err(|e| unreadable(&file(k), &e))?;
        }
        n_rows = row;
        Ok(())
    });
    read.map_err(|e| match e.kind() {
        ErrorKind::Data => e.context(path.display()),
        _ => e,
    })?;
    for (k, to) in files.iter_mut().enumerate() {
        to.flush().map_err(|e| unreadable(&file(k), &e))?;
    }
    let column = |k: usize| FileColumn {
        path: file(k),
        offset: 0,
        n_rows,
        inverse: false,
    };
    Ok((0..wanted.len()).map(column).collect())
}

/// A table whose columns are read from files whenever they are needed.
#[derive(Clone, Debug)]
pub struct FileTable {
    columns: Vec<FileColumn>,
    n_rows: usize,
    /// Rows of a piece: whole tiles.
    chunk_rows: usize,
}

/// Rows of a piece beyond which nothing is gained.
const LARGE_PIECE: usize = 64 * TILE_ROWS;

/// Bytes that reading pieces of `chunk_rows` rows takes.
pub fn memory_needed(n_columns: usize, chunk_rows: usize, threads: usize) -> usize {
    // Every thread decodes one column at a time from bytes to numbers.
    8 * chunk_rows * (n_columns + 1) * threads
}

impl FileTable {
    /// The columns, in the order of the programs, read with `threads` threads in at most
    /// `memory_limit_bytes`.
    ///
    /// # Errors
    /// Columns of different lengths; a limit too small for one tile per thread.
    pub fn new(
        columns: Vec<FileColumn>,
        memory_limit_bytes: usize,
        threads: usize,
    ) -> Result<FileTable> {
        let n_rows = columns.first().map_or(0, |c| c.n_rows);
        if let Some(other) = columns.iter().find(|c| c.n_rows != n_rows) {
            let message = format!("{} rows, the first column has {n_rows}", other.n_rows);
            return Err(broken(&other.path, message));
        }
        let tile = memory_needed(columns.len(), TILE_ROWS, threads);
        let tiles = memory_limit_bytes / tile;
        if tiles == 0 {
            let message = format!(
                "⟨memory_limit⟩: needs {tile} bytes at least for tiles and sums, the limit is \
                 {memory_limit_bytes}"
            );
            return Err(Error::new(ErrorKind::Device, message));
        }
        Ok(FileTable {
            columns,
            n_rows,
            chunk_rows: (tiles * TILE_ROWS).min(LARGE_PIECE),
        })
    }

    /// The same in pieces of about `rows` rows, where the limit leaves room for as many: the
    /// answer keeps its bits.
    #[must_use]
    pub fn in_pieces(mut self, rows: usize) -> FileTable {
        let whole = rows.div_ceil(TILE_ROWS).max(1) * TILE_ROWS;
        self.chunk_rows = self.chunk_rows.min(whole);
        self
    }
}

impl Table for FileTable {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        let mut files = Vec::new();
        for column in &self.columns {
            let fail = |e: std::io::Error| unreadable(&column.path, &e);
            let mut file = File::open(&column.path).map_err(fail)?;
            let at = column.offset + 8 * range.start as u64;
            file.seek(SeekFrom::Start(at)).map_err(fail)?;
            files.push(file);
        }
        let size = self.chunk_rows.min(range.len());
        let mut bytes = vec![0u8; 8 * size];
        let mut numbers = vec![vec![0.0; size]; files.len()];
        for start in range.clone().step_by(self.chunk_rows) {
            let n = self.chunk_rows.min(range.end - start);
            for ((file, column), numbers) in files.iter_mut().zip(&self.columns).zip(&mut numbers) {
                let bytes = &mut bytes[..8 * n];
                file.read_exact(bytes)
                    .map_err(|e| unreadable(&column.path, &e))?;
                for (x, b) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
                    *x = f64::from_le_bytes(b.try_into().expect("eight bytes"));
                }
                if column.inverse {
                    for (i, x) in numbers[..n].iter_mut().enumerate() {
                        if x.is_nan() || *x <= 0.0 {
                            let row = start + i + 1;
                            let message = format!("row {row}, sigma: {x} is not positive");
                            // A decoded column lies where nobody knows it.
                            let decoded = column.path.extension().is_some_and(|e| e == "f64");
                            return Err(match decoded {
                                true => Error::new(ErrorKind::Data, message),
                                false => broken(&column.path, message),
                            });
                        }
                        *x = 1.0 / *x;
                    }
                }
            }
            let views: Vec<&[f64]> = numbers.iter().map(|c| &c[..n]).collect();
            visit(start, &views)?;
        }
        Ok(())
    }
}
