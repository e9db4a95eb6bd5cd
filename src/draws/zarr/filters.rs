//! What is done to the numbers of a chunk before it is packed, undone.
//!
//! Sources: numcodecs (`shuffle`, `delta`, `fixedscaleoffset`); Zarr version 3 (`transpose`).

use super::array::wrong;
use crate::Result;
use serde_json::Value;

/// Undoes a codec of this name that is no packing, on the bytes of a chunk of `shape` whose elements have `size`
/// bytes; none where it is another.
pub(super) fn undo(
    (name, codec): (&str, &Value),
    bytes: &[u8],
    shape: &[usize],
    size: usize,
) -> Result<Option<Vec<u8>>> {
    let setting = |name: &str| match &codec["configuration"][name] {
        Value::Null => codec[name].clone(),
        found => found.clone(),
    };
    let text = |name: &str| setting(name).as_str().map(str::to_string);
    Ok(Some(match name {
        "bitround" => bytes.to_vec(), // Numbers with fewer digits are numbers.
        "shuffle" => unshuffle(bytes, setting("elementsize").as_u64().unwrap_or(4) as usize),
        "delta" => {
            let stored = text("astype").or_else(|| text("dtype"));
            let (from, to) = (kind(stored)?, kind(text("dtype"))?);
            let mut sum = 0.0;
            let steps = from.numbers(bytes);
            to.bytes(steps.map(|step| {
                sum += step;
                sum
            }))
        }
        "fixedscaleoffset" => {
            let (from, to) = (kind(text("astype"))?, kind(text("dtype"))?);
            let number = |name: &str| setting(name).as_f64();
            let (Some(scale), Some(offset)) = (number("scale"), number("offset")) else {
                return Err(wrong(
                    "the filter fixedscaleoffset has no scale or no offset",
                ));
            };
            to.bytes(from.numbers(bytes).map(|x| x / scale + offset))
        }
        "transpose" => {
            let order = setting("order");
            let order: Vec<usize> = match order.as_array() {
                Some(list) => list
                    .iter()
                    .flat_map(Value::as_u64)
                    .map(|n| n as usize)
                    .collect(),
                None if order == "F" => (0..shape.len()).rev().collect(),
                None => (0..shape.len()).collect(),
            };
            transposed(bytes, shape, &order, size)?
        }
        _ => return Ok(None),
    }))
}

/// All first bytes, all second bytes, ...: element by element again.
fn unshuffle(bytes: &[u8], size: usize) -> Vec<u8> {
    let size = size.max(1);
    let n = bytes.len() / size;
    let mut out = bytes.to_vec();
    for k in 0..n {
        for byte in 0..size {
            out[k * size + byte] = bytes[byte * n + k];
        }
    }
    out
}

/// Elements that lie in the order of axes `order` of `shape`, in the order of `shape`.
fn transposed(bytes: &[u8], shape: &[usize], order: &[usize], size: usize) -> Result<Vec<u8>> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let n: usize = shape.iter().product();
    if sorted != (0..shape.len()).collect::<Vec<_>>() || bytes.len() != n * size {
        return Err(wrong(format!(
            "axes in the order {order:?} do not fit {shape:?}"
        )));
    }
    // How far apart in the bytes neighbours along each axis of `shape` lie.
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for &axis in order.iter().rev() {
        strides[axis] = stride;
        stride *= shape[axis];
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = vec![0; shape.len()];
    for _ in 0..n {
        let place: usize = at.iter().zip(&strides).map(|(i, s)| i * s).sum();
        out.extend_from_slice(&bytes[place * size..(place + 1) * size]);
        for (i, &end) in at.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < end {
                break;
            }
            *i = 0;
        }
    }
    Ok(out)
}

/// A type of NumPy: `<i4`.
struct Kind {
    letter: char,
    size: usize,
    big_endian: bool,
}

fn kind(text: Option<String>) -> Result<Kind> {
    let text = text.unwrap_or_default();
    let unknown = || wrong(format!("numbers of the type `{text}` are not known"));
    let start = text.trim_start_matches(['<', '>', '|', '=']);
    let letter = start.chars().next().filter(|c| "fiu".contains(*c));
    let letter = letter.ok_or_else(unknown)?;
    let size = start[1..].parse().ok();
    let fits = |n: &usize| match letter {
        'f' => matches!(n, 4 | 8),
        _ => matches!(n, 1 | 2 | 4 | 8),
    };
    Ok(Kind {
        letter,
        size: size.filter(fits).ok_or_else(unknown)?,
        big_endian: text.starts_with('>'),
    })
}

impl Kind {
    fn numbers(&self, bytes: &[u8]) -> impl Iterator<Item = f64> {
        bytes.chunks_exact(self.size).map(|b| {
            let push = |n: u64, b: &u8| n << 8 | u64::from(*b);
            let word = match self.big_endian {
                true => b.iter().fold(0, push),
                false => b.iter().rev().fold(0, push),
            };
            let unused = 64 - 8 * self.size as u32;
            match (self.letter, self.size) {
                ('f', 4) => f64::from(f32::from_bits(word as u32)),
                ('f', _) => f64::from_bits(word),
                ('i', _) => (((word << unused) as i64) >> unused) as f64,
                _ => word as f64,
            }
        })
    }

    fn bytes(&self, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
        let mut out = Vec::new();
        for x in numbers {
            let word = match (self.letter, self.size) {
                ('f', 4) => u64::from((x as f32).to_bits()),
                ('f', _) => x.to_bits(),
                ('i', _) => x as i64 as u64,
                _ => x as u64,
            };
            let all = word.to_le_bytes();
            match self.big_endian {
                true => out.extend(all[..self.size].iter().rev()),
                false => out.extend(&all[..self.size]),
            }
        }
        out
    }
}
