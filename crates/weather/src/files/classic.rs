//! The classic NetCDF formats: version 3 (CDF-1), with 64-bit offsets (CDF-2), with 64-bit data
//! (CDF-5).
//!
//! Source: "The NetCDF Classic Format Specification", Unidata; "CDF-5", PnetCDF.

use fitzroy::draws::Attribute;
use fitzroy::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;

/// Largest header that is believed, in bytes.
const HEADER_BYTES: u64 = 64 << 20;
/// Most axes of a variable that are believed.
const RANK: usize = 64;

/// An open file.
pub(super) struct Classic {
    file: Mutex<File>,
    bytes: u64,
    record_bytes: u64,
    /// Its variables, in their order.
    pub(super) variables: Vec<Variable>,
}

/// A variable of a file.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) dims: Vec<String>,
    pub(super) shape: Vec<usize>,
    pub(super) attributes: Vec<(String, Attribute)>,
    kind: Kind,
    begin: u64,
    /// Whether its first axis is that of the records, which lie between those of others.
    by_record: bool,
}

/// What numbers are stored as, big-endian.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Signed(usize),
    Unsigned(usize),
    Real(usize),
    Text,
}

impl Kind {
    fn of(code: u64) -> Result<Self> {
        Ok(match code {
            1 => Kind::Signed(1),
            2 => Kind::Text,
            3 => Kind::Signed(2),
            4 => Kind::Signed(4),
            5 => Kind::Real(4),
            6 => Kind::Real(8),
            7 => Kind::Unsigned(1),
            8 => Kind::Unsigned(2),
            9 => Kind::Unsigned(4),
            10 => Kind::Signed(8),
            11 => Kind::Unsigned(8),
            _ => return Err(damaged(&format!("it has numbers of type {code}"))),
        })
    }

    fn size(self) -> usize {
        match self {
            Kind::Signed(n) | Kind::Unsigned(n) | Kind::Real(n) => n,
            Kind::Text => 1,
        }
    }

    fn number(self, bytes: &[u8]) -> f64 {
        let word = big(bytes);
        match self {
            Kind::Signed(n) => {
                let unused = 64 - 8 * n as u32;
                (((word << unused) as i64) >> unused) as f64
            }
            Kind::Real(4) => f64::from(f32::from_bits(word as u32)),
            Kind::Real(_) => f64::from_bits(word),
            Kind::Unsigned(_) | Kind::Text => word as f64,
        }
    }
}

fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn damaged(what: &str) -> Error {
    Error::data(format!("the file is damaged or cut short ({what})"))
}

fn io(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

/// The header, read from its start.
struct Header {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of a count.
    count: usize,
    /// Bytes of a position.
    offset: usize,
}

impl Header {
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(n);
        let bytes = end.and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or_else(|| damaged("its header ends too early"))?;
        self.at += n;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u64> {
        Ok(big(self.take(4)?))
    }

    fn count(&mut self) -> Result<usize> {
        let n = self.count;
        let value = big(self.take(n)?);
        usize::try_from(value).map_err(|_| damaged("it has a count without sense"))
    }

    fn padded(&mut self, n: usize) -> Result<Vec<u8>> {
        let bytes = self.take(n)?.to_vec();
        self.take(n.next_multiple_of(4) - n)?;
        Ok(bytes)
    }

    fn name(&mut self) -> Result<String> {
        let n = self.count()?;
        Ok(String::from_utf8_lossy(&self.padded(n)?).into_owned())
    }

    /// Entries of a list that begins with `tag`, or of one that is absent.
    fn entries(&mut self, tag: u64) -> Result<usize> {
        let found = self.word()?;
        let n = self.count()?;
        if found != tag && (found, n) != (0, 0) {
            return Err(damaged("its header has a list of an unknown kind"));
        }
        // An entry takes eight bytes at least.
        if n > self.bytes.len() / 8 {
            return Err(damaged("its header has more entries than bytes"));
        }
        Ok(n)
    }

    fn attributes(&mut self) -> Result<Vec<(String, Attribute)>> {
        let mut found = Vec::new();
        for _ in 0..self.entries(12)? {
            let name = self.name()?;
            let kind = Kind::of(self.word()?)?;
            let n = self.count()?;
            let bytes = n.checked_mul(kind.size());
            let bytes = self.padded(bytes.ok_or_else(|| damaged("an attribute is too long"))?)?;
            let value = match kind {
                Kind::Text => {
                    let text = String::from_utf8_lossy(&bytes);
                    Attribute::Text(text.trim_end_matches('\0').to_string())
                }
                _ => match bytes.get(..kind.size()) {
                    Some(first) => Attribute::Real(kind.number(first)),
                    None => continue, // A list without numbers.
                },
            };
            found.push((name, value));
        }
        Ok(found)
    }
}

impl Classic {
    /// Reads the header.
    ///
    /// # Errors
    /// The file cannot be read, or its header is damaged.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        let mut start = Vec::new();
        (&mut file)
            .take(HEADER_BYTES)
            .read_to_end(&mut start)
            .map_err(io)?;
        let (count, offset) = match start.get(..4) {
            Some(b"CDF\x01") => (4, 4),
            Some(b"CDF\x02") => (4, 8),
            Some(b"CDF\x05") => (8, 8),
            _ => return Err(damaged("its first bytes are not those of NetCDF")),
        };
        let mut header = Header {
            bytes: start,
            at: 4,
            count,
            offset,
        };
        let n_records = header.count()?;
        let mut dims = Vec::new();
        for _ in 0..header.entries(10)? {
            dims.push((header.name()?, header.count()?));
        }
        header.attributes()?;
        let mut variables = Vec::new();
        for _ in 0..header.entries(11)? {
            variables.push(variable(&mut header, &dims)?);
        }
        let record_bytes = record_bytes(&variables)?;
        // While records are still added their number stands for itself: all ones.
        let streaming = n_records as u64 == u64::MAX >> (64 - 8 * count as u32);
        let first = variables.iter().filter(|v| v.by_record).map(|v| v.begin);
        let held = first.min().map_or(0, |at| bytes.saturating_sub(at));
        let n_records = match streaming {
            true => (held / record_bytes.max(1)) as usize,
            false => n_records,
        };
        for variable in variables.iter_mut().filter(|v| v.by_record) {
            variable.shape[0] = n_records;
        }
        Ok(Classic {
            file: Mutex::new(file),
            bytes,
            record_bytes,
            variables,
        })
    }

    /// Numbers as they are stored: `counts` on every axis from `starts`.
    ///
    /// # Errors
    /// The file is cut short.
    pub(super) fn slice(
        &self,
        variable: &Variable,
        starts: &[usize],
        counts: &[usize],
    ) -> Result<Vec<f64>> {
        let short = || damaged(&format!("`{}` ends too early", variable.name));
        let inside = starts.iter().zip(counts).zip(&variable.shape);
        if starts.len() != counts.len()
            || counts.len() != variable.shape.len()
            || !inside.into_iter().all(|((s, n), all)| s + n <= *all)
        {
            return Err(short());
        }
        let size = variable.kind.size();
        // Axes behind `cut` are read whole, and so are one run of bytes with that at `cut`.
        let least = usize::from(variable.by_record);
        let mut cut = counts.len();
        while cut > least && (cut == counts.len() || counts[cut] == variable.shape[cut]) {
            cut -= 1;
        }
        let run: usize = counts[cut.min(counts.len())..].iter().product();
        let outer = &counts[..cut.min(counts.len())];
        let n_runs: usize = outer.iter().product();
        let needed = (n_runs as u64).checked_mul((run * size) as u64);
        if needed.is_none_or(|needed| needed > self.bytes) {
            return Err(short());
        }
        let mut file = self.file.lock().unwrap_or_else(|held| held.into_inner());
        let (mut out, mut buffer) = (Vec::with_capacity(n_runs * run), vec![0; run * size]);
        let mut at = vec![0; outer.len()];
        for _ in 0..n_runs {
            let place = |axis: usize| starts[axis] + at.get(axis).copied().unwrap_or(0);
            let begin = self.position(variable, &place).ok_or_else(short)?;
            if begin
                .checked_add((run * size) as u64)
                .is_none_or(|end| end > self.bytes)
            {
                return Err(short());
            }
            file.seek(SeekFrom::Start(begin)).map_err(io)?;
            file.read_exact(&mut buffer).map_err(|_| short())?;
            let numbers = buffer.chunks_exact(size);
            out.extend(numbers.map(|bytes| variable.kind.number(bytes)));
            for (i, &n) in at.iter_mut().zip(outer).rev() {
                *i += 1;
                if *i < n {
                    break;
                }
                *i = 0;
            }
        }
        Ok(out)
    }

    /// Where the element at a place begins.
    fn position(&self, variable: &Variable, place: &dyn Fn(usize) -> usize) -> Option<u64> {
        let mut flat = 0_u64;
        let first = usize::from(variable.by_record);
        for axis in first..variable.shape.len() {
            flat = flat.checked_mul(variable.shape[axis] as u64)?;
            flat = flat.checked_add(place(axis) as u64)?;
        }
        let records = match variable.by_record {
            true => (place(0) as u64).checked_mul(self.record_bytes)?,
            false => 0,
        };
        let inside = flat.checked_mul(variable.kind.size() as u64)?;
        variable.begin.checked_add(records)?.checked_add(inside)
    }
}

impl Variable {
    /// True for numbers.
    pub(super) fn numeric(&self) -> bool {
        self.kind != Kind::Text
    }

    /// Bits and signedness of whole numbers.
    pub(super) fn whole_kind(&self) -> Option<(u32, bool)> {
        match self.kind {
            Kind::Signed(n) => Some((8 * n as u32, true)),
            Kind::Unsigned(n) => Some((8 * n as u32, false)),
            Kind::Real(_) | Kind::Text => None,
        }
    }

    /// Bytes of the variable, or of one of its records.
    fn own_bytes(&self) -> Option<u64> {
        let inner = self.shape.iter().skip(usize::from(self.by_record));
        let mut sizes = inner.map(|&size| size as u64);
        sizes.try_fold(self.kind.size() as u64, |n, size| n.checked_mul(size))
    }
}

fn variable(header: &mut Header, dims: &[(String, usize)]) -> Result<Variable> {
    let name = header.name()?;
    let rank = header.count()?;
    if rank > RANK {
        return Err(damaged(&format!("`{name}` has {rank} axes")));
    }
    let (mut own, mut shape) = (Vec::new(), Vec::new());
    let mut by_record = false;
    for axis in 0..rank {
        let found = dims.get(header.count()?);
        let (dim, size) = found.ok_or_else(|| damaged("a variable has an unknown axis"))?;
        by_record |= axis == 0 && *size == 0;
        own.push(dim.clone());
        shape.push(*size);
    }
    let attributes = header.attributes()?;
    let kind = Kind::of(header.word()?)?;
    header.count()?; // Its bytes, which follow from its shape.
    let offset = header.offset;
    let begin = big(header.take(offset)?);
    Ok(Variable {
        name,
        dims: own,
        shape,
        attributes,
        kind,
        begin,
        by_record,
    })
}

/// Bytes of a record of all variables. Each is filled up to four bytes, but not where it is alone.
fn record_bytes(variables: &[Variable]) -> Result<u64> {
    let all: Vec<Option<u64>> = variables
        .iter()
        .filter(|v| v.by_record)
        .map(Variable::own_bytes)
        .collect();
    let alone = all.len() == 1;
    let sum = all.into_iter().try_fold(0_u64, |sum, own| {
        let own = own?;
        let padded = own.checked_add(3)? / 4 * 4;
        sum.checked_add(if alone { own } else { padded })
    });
    sum.ok_or_else(|| damaged("a record is too large"))
}
