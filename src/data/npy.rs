//! NumPy's own files: `.npy` (one array) and `.npz` (an archive of them).
//!
//! The format is NEP 1: a magic string, a version, and a header that is a Python dictionary with
//! `descr`, `fortran_order` and `shape`, then the elements.

use std::io::Cursor;

use super::{Array, Values, unpack};
use crate::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whole numbers up to here are exact as f64: 2⁵³.
const EXACT_MAX: u64 = 1 << 53;

/// One element type, as `descr` names it: byte order, kind, bytes per element.
struct Dtype {
    big_endian: bool,
    kind: u8,
    size: usize,
}

struct Header {
    dtype: Dtype,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// The array of an `.npy` file.
pub(super) fn read(bytes: &[u8], name: &str, source: &str) -> Result<Array> {
    let (header, data) = split(bytes)?;
    let header = parse_header(header)?;
    let Header {
        dtype,
        fortran_order,
        shape,
    } = header;
    let n_bytes = shape
        .iter()
        .try_fold(dtype.size, |product, &n| product.checked_mul(n))
        .ok_or_else(|| Error::data(format!("the shape {shape:?} is too large")))?;
    let Some(data) = data.get(..n_bytes) else {
        return Err(Error::data(format!(
            "shape {shape:?} needs {n_bytes} bytes, the file holds {}; it seems cut short",
            data.len()
        )));
    };
    let n: usize = shape.iter().product();
    if dtype.kind == b'f' && dtype.size == 8 && !dtype.big_endian && shape.len() == 1 {
        // What numbers mostly are: eight bytes at once, which many of them feel.
        let (eights, _) = data.as_chunks::<8>();
        let values = eights.iter().map(|b| f64::from_le_bytes(*b)).collect();
        return Ok(Array::real(name, &shape, values, source));
    }
    let order = (fortran_order && shape.len() > 1).then(|| fortran_positions(&shape));
    let element = |i: usize| {
        let position = order.as_ref().map_or(i, |order| order[i]);
        &data[position * dtype.size..][..dtype.size]
    };
    decode(
        &dtype,
        n,
        element,
        Array::real(name, &shape, Vec::new(), source),
    )
}

/// Every member of an `.npz` archive.
pub(super) fn read_archive(bytes: &[u8], source: &str) -> Result<Vec<Array>> {
    let damaged =
        |error: zip::result::ZipError| Error::data(format!("not a readable NPZ archive ({error})"));
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    let mut arrays = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let member = archive.by_index(i).map_err(damaged)?;
        let file = member.name().map_err(damaged)?.into_owned();
        let Some(name) = file.strip_suffix(".npy") else {
            continue;
        };
        let packed = usize::try_from(member.compressed_size()).unwrap_or(usize::MAX);
        let content = unpack(member, packed)
            .map_err(|error| Error::data(format!("member `{file}` is damaged ({error})")))?;
        arrays.push(read(&content, name, source).map_err(|e| e.context(format!("`{file}`")))?);
    }
    if arrays.is_empty() {
        return Err(Error::data("the archive holds no .npy member"));
    }
    Ok(arrays)
}

/// The header text and the bytes after it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let not_npy = || Error::data("not an NPY file (it does not begin with \\x93NUMPY)");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(not_npy)?;
    let cut = || Error::data("the NPY header is cut short");
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        other => {
            return Err(Error::data(format!(
                "NPY version {other} is not known (1 to 3 are)"
            )));
        }
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header =
        std::str::from_utf8(header).map_err(|_| Error::data("the NPY header is not UTF-8"))?;
    Ok((header, data))
}

/// The text after `'key':` in the header's dictionary.
fn field<'a>(header: &'a str, key: &str) -> Result<&'a str> {
    let found = header.split_once(&format!("'{key}':"));
    found
        .map(|(_, rest)| rest.trim_start())
        .ok_or_else(|| Error::data(format!("the NPY header has no `{key}`")))
}

fn parse_header(header: &str) -> Result<Header> {
    let descr = field(header, "descr")?;
    let text = descr
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''));
    let (text, _) = text.ok_or_else(|| {
        Error::data("records (structured arrays) are not read; save one array per field")
    })?;
    let dtype = parse_dtype(text)?;
    let fortran_order = field(header, "fortran_order")?.starts_with("True");
    let shape = field(header, "shape")?;
    let bad_shape = || Error::data("the NPY header has no readable shape");
    let inside = shape
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or_else(bad_shape)?;
    let sizes = inside.split(',').map(str::trim).filter(|s| !s.is_empty());
    let shape = sizes
        .map(|s| s.trim_end_matches('L').parse::<usize>())
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| bad_shape())?;
    Ok(Header {
        dtype,
        fortran_order,
        shape,
    })
}

fn parse_dtype(text: &str) -> Result<Dtype> {
    let unread = |what: &str| {
        Error::data(format!(
            "elements of type `{text}`{what} are not read; save them as numbers, booleans or text"
        ))
    };
    let big_endian = text.starts_with('>');
    let rest = text.trim_start_matches(['<', '>', '|', '=']);
    let kind = *rest.as_bytes().first().ok_or_else(|| unread(""))?;
    let size: usize = rest.get(1..).and_then(|s| s.parse().ok()).unwrap_or(0);
    let size = match (kind, size) {
        (b'b', 1) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'f', 2 | 4 | 8) => size,
        (b'U', n) if n > 0 => n.checked_mul(4).ok_or_else(|| unread(""))?,
        (b'S', n) if n > 0 => n,
        (b'O', _) => return Err(unread(" (Python objects)")),
        (b'M' | b'm', _) => return Err(unread(" (dates or durations)")),
        (b'c', _) => return Err(unread(" (complex numbers)")),
        (b'f', _) => return Err(unread(" (extended precision)")),
        _ => return Err(unread("")),
    };
    Ok(Dtype {
        big_endian,
        kind,
        size,
    })
}

/// Where each row-major element stands in a file that runs along the first axis fastest.
fn fortran_positions(shape: &[usize]) -> Vec<usize> {
    let n: usize = shape.iter().product();
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &size in shape {
        strides.push(stride);
        stride *= size;
    }
    let mut at = vec![0; shape.len()];
    let mut positions = Vec::with_capacity(n);
    let mut position = 0;
    for _ in 0..n {
        positions.push(position);
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            position += strides[axis];
            if at[axis] < shape[axis] {
                break;
            }
            position -= strides[axis] * shape[axis];
            at[axis] = 0;
        }
    }
    positions
}

/// Fills `array` from `n` elements.
fn decode<'a>(
    dtype: &Dtype,
    n: usize,
    element: impl Fn(usize) -> &'a [u8],
    mut array: Array,
) -> Result<Array> {
    let bits = |i: usize| {
        let mut bits = 0_u64;
        let bytes = element(i);
        for k in 0..bytes.len() {
            let byte = if dtype.big_endian {
                bytes[k]
            } else {
                bytes[bytes.len() - 1 - k]
            };
            bits = bits << 8 | u64::from(byte);
        }
        bits
    };
    let signed = |i: usize| {
        let unused = 64 - 8 * dtype.size as u32;
        ((bits(i) << unused) as i64) >> unused
    };
    array.whole = matches!(dtype.kind, b'i' | b'u' | b'b');
    let values: Vec<f64> = match (dtype.kind, dtype.size) {
        (b'U', _) => return text(dtype, n, element, array),
        (b'S', _) => return text(dtype, n, element, array),
        (b'f', 8) => (0..n).map(|i| f64::from_bits(bits(i))).collect(),
        (b'f', 4) => (0..n)
            .map(|i| f64::from(f32::from_bits(bits(i) as u32)))
            .collect(),
        (b'f', _) => (0..n).map(|i| half(bits(i) as u16)).collect(),
        (b'i', _) => {
            let exact = (0..n).all(|i| signed(i).unsigned_abs() <= EXACT_MAX);
            if !exact {
                let labels = (0..n).map(|i| signed(i).to_string()).collect();
                return Ok(identifiers(array, labels));
            }
            (0..n).map(|i| signed(i) as f64).collect()
        }
        _ => {
            let exact = (0..n).all(|i| bits(i) <= EXACT_MAX);
            if !exact {
                let labels = (0..n).map(|i| bits(i).to_string()).collect();
                return Ok(identifiers(array, labels));
            }
            (0..n).map(|i| bits(i) as f64).collect()
        }
    };
    array.values = Values::Real(values);
    Ok(array)
}

/// Whole numbers too large to be exact stay labels.
fn identifiers(mut array: Array, labels: Vec<String>) -> Array {
    let large = |s: &&String| {
        s.trim_start_matches('-')
            .parse()
            .is_ok_and(|v: u64| v > EXACT_MAX)
    };
    array.note = labels
        .iter()
        .find(large)
        .map(|s| format!("`{s}` is beyond 2^53"));
    array.whole = false;
    array.values = Values::Text(labels);
    array
}

fn text<'a>(
    dtype: &Dtype,
    n: usize,
    element: impl Fn(usize) -> &'a [u8],
    mut array: Array,
) -> Result<Array> {
    let one = |i: usize| -> Option<String> {
        let bytes = element(i);
        if dtype.kind == b'S' {
            let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |k| k + 1);
            return String::from_utf8(bytes[..end].to_vec()).ok();
        }
        let points = bytes.chunks_exact(4).map(|c| {
            let quad = [c[0], c[1], c[2], c[3]];
            if dtype.big_endian {
                u32::from_be_bytes(quad)
            } else {
                u32::from_le_bytes(quad)
            }
        });
        let decoded: String = points.map(char::from_u32).collect::<Option<String>>()?;
        Some(decoded.trim_end_matches('\0').to_string())
    };
    let labels: Option<Vec<String>> = (0..n).map(one).collect();
    array.values = Values::Text(
        labels.ok_or_else(|| Error::data("the text holds bytes that are not Unicode"))?,
    );
    Ok(array)
}

/// IEEE 754 binary16 as f64, exactly.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    match (bits >> 10) & 0x1f {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => sign * (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
    }
}
