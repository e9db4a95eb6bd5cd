//! One array of a store: how its chunks are named, packed and put together.

use super::super::Column;
use super::blosc::{unpack_blosc, unpack_lz4};
use super::shards::{Shards, shards};
use crate::data::unpack as limited;
use crate::{Error, ErrorKind, Result};
use serde_json::Value;
use std::ops::Range;

/// Elements of one array that are believed, at most.
const ELEMENTS_MAX: usize = 1 << 33;

pub(super) fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

/// What elements are stored as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stored {
    Float(usize),
    Signed(usize),
    Unsigned(usize),
    Flag,
    Text,
    /// UTF-32, bytes of one text.
    Wide(usize),
}

/// How to read an array.
pub(super) struct Plan {
    stored: Stored,
    pub(super) shape: Vec<usize>,
    pub(super) chunk: Vec<usize>,
    pub(super) dims: Vec<String>,
    separator: String,
    prefix: bool,
    pub(super) codecs: Vec<Value>,
    /// How its files are made where one holds many chunks.
    pub(super) shards: Option<Shards>,
    big_endian: bool,
    fill: Value,
}

/// Elements of a chunk or of a whole array.
pub(super) enum Elements {
    Numbers(Column),
    Texts(Vec<String>),
}

pub(super) fn unpack(codec: &str, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let damaged = |error: std::io::Error| wrong(format!("it is damaged or cut short ({error})"));
    let mut out = Vec::new();
    match codec {
        "bytes" | "vlen-utf8" => return Ok(bytes),
        "gzip" => {
            let decoder = flate2::read::GzDecoder::new(bytes.as_slice());
            out = limited(decoder, bytes.len()).map_err(damaged)?;
        }
        "zstd" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice());
            let decoder = decoder.map_err(|e| wrong(format!("it is damaged ({e})")))?;
            out = limited(decoder, bytes.len()).map_err(damaged)?;
        }
        "zlib" => {
            let decoder = flate2::read::ZlibDecoder::new(bytes.as_slice());
            out = limited(decoder, bytes.len()).map_err(damaged)?;
        }
        "blosc" => out = unpack_blosc(&bytes)?,
        // As numcodecs packs it: the length first.
        "lz4" if bytes.len() >= 4 => {
            let length = bytes[..4]
                .iter()
                .rev()
                .fold(0, |n, &b| n << 8 | usize::from(b));
            unpack_lz4(&bytes[4..], length, &mut out)?;
        }
        "crc32c" => {
            out = bytes;
            let end = out.len().checked_sub(4);
            let sum = end.map(|end| out.split_off(end));
            if sum.as_deref() != Some(&crc32c::crc32c(&out).to_le_bytes()) {
                return Err(wrong("it is damaged or cut short (its checksum differs)"));
            }
        }
        other => {
            return Err(wrong(format!(
                "codec `{other}` is not known; zstd, gzip, zlib, lz4, blosc and none are: save it \
                 anew, or as NetCDF"
            )));
        }
    }
    Ok(out)
}

pub(super) fn plan(node: &Value, name: &str, draws: bool) -> Result<Option<Plan>> {
    let numbers = |value: &Value| -> Option<Vec<usize>> {
        let list = value.as_array()?.iter();
        list.map(|n| n.as_u64().map(|n| n as usize)).collect()
    };
    let bad = |what: &str| wrong(format!("zarr.json has no valid {what}"));
    let shape = numbers(&node["shape"]).ok_or_else(|| bad("shape"))?;
    let chunk = numbers(&node["chunk_grid"]["configuration"]["chunk_shape"]);
    let chunk = chunk.filter(|c| c.len() == shape.len() && !c.contains(&0));
    let chunk = chunk.ok_or_else(|| bad("chunk_shape"))?;
    let Some(stored) = stored(&node["data_type"]) else {
        return Ok(None);
    };
    let mut codecs = node["codecs"].as_array().cloned().unwrap_or_default();
    let (mut chunk, mut split) = (chunk, None);
    if let [codec] = codecs.as_slice()
        && codec["name"] == "sharding_indexed"
    {
        let (found, inner, own) = shards(codec, &chunk)?;
        (chunk, codecs, split) = (inner, own, Some(found));
    }
    let big_endian = codecs.iter().any(|c| c["configuration"]["endian"] == "big");
    let named = node["dimension_names"].as_array();
    let dim = |axis: usize| {
        let name_of = named.and_then(|n| n.get(axis)).and_then(Value::as_str);
        name_of.map_or_else(|| guess(name, axis, draws), str::to_string)
    };
    let encoding = &node["chunk_key_encoding"];
    let default = encoding["name"] != "v2";
    let separator = encoding["configuration"]["separator"].as_str();
    Ok(Some(Plan {
        stored,
        dims: (0..shape.len()).map(dim).collect(),
        shape,
        chunk,
        separator: separator.unwrap_or(if default { "/" } else { "." }).into(),
        prefix: default,
        codecs,
        shards: split,
        big_endian,
        fill: node["fill_value"].clone(),
    }))
}

fn guess(name: &str, axis: usize, draws: bool) -> String {
    match (axis, draws) {
        (0, true) => "chain".into(),
        (1, true) => "draw".into(),
        (axis, true) => format!("{name}_dim_{}", axis - 2),
        (axis, false) => format!("{name}_dim_{axis}"),
    }
}

fn stored(data_type: &Value) -> Option<Stored> {
    if data_type["name"] == "fixed_length_utf32" {
        let bytes = data_type["configuration"]["length_bytes"].as_u64()? as usize;
        return (bytes > 0 && bytes.is_multiple_of(4)).then_some(Stored::Wide(bytes));
    }
    Some(match data_type.as_str()? {
        "float64" => Stored::Float(8),
        "float32" => Stored::Float(4),
        "float16" => Stored::Float(2),
        "int64" => Stored::Signed(8),
        "int32" => Stored::Signed(4),
        "int16" => Stored::Signed(2),
        "int8" => Stored::Signed(1),
        "uint64" => Stored::Unsigned(8),
        "uint32" => Stored::Unsigned(4),
        "uint16" => Stored::Unsigned(2),
        "uint8" => Stored::Unsigned(1),
        "bool" => Stored::Flag,
        "string" => Stored::Text,
        _ => return None,
    })
}

impl Plan {
    /// Whether chunks are named as a run of ours names them. Who saves a store of ours anew keeps its
    /// attributes, but gives chunks other names, and may leave out those that hold nothing but the fill value.
    pub(super) fn is_ours(&self) -> bool {
        self.prefix && self.separator == "."
    }

    /// The name of a chunk.
    pub(super) fn key(&self, index: &[usize]) -> String {
        let mut key: Vec<String> = index.iter().map(usize::to_string).collect();
        if self.prefix {
            key.insert(0, "c".into());
        }
        match key.is_empty() {
            true => "0".into(), // A scalar of version 2 keys.
            false => key.join(&self.separator),
        }
    }

    /// Whether it holds numbers.
    pub(super) fn numeric(&self) -> bool {
        !matches!(self.stored, Stored::Text | Stored::Wide(_))
    }

    /// Bits of whole numbers, and whether they have a sign.
    pub(super) fn whole_kind(&self) -> Option<(u32, bool)> {
        match self.stored {
            Stored::Signed(size) => Some((8 * size as u32, true)),
            Stored::Unsigned(size) => Some((8 * size as u32, false)),
            _ => None,
        }
    }

    /// The whole array.
    pub(super) fn whole(&self) -> Vec<Range<usize>> {
        self.shape.iter().map(|&n| 0..n).collect()
    }

    /// Room for what lies in `wanted`, a range on every axis; its chunks, first and one past the
    /// last on every axis.
    ///
    /// # Errors
    /// It is larger than what can be believed, or than memory.
    pub(super) fn room(&self, wanted: &[Range<usize>]) -> Result<(Elements, Vec<Range<usize>>)> {
        let n = wanted
            .iter()
            .try_fold(1_usize, |n, r| n.checked_mul(r.len()));
        let Some(n) = n.filter(|&n| n <= ELEMENTS_MAX) else {
            return Err(wrong(format!("shape {:?} is too large", self.shape)));
        };
        let chunks = wanted.iter().zip(&self.chunk);
        let chunks = chunks.map(|(r, c)| match r.is_empty() {
            true => 0..0,
            false => r.start / c..r.end.div_ceil(*c),
        });
        Ok((self.empty(n)?, chunks.collect()))
    }

    /// `n` fill values.
    fn empty(&self, n: usize) -> Result<Elements> {
        fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
            let mut out = Vec::new();
            let room = out.try_reserve_exact(n);
            room.map_err(|_| wrong(format!("{n} elements do not fit into memory")))?;
            out.resize(n, value);
            Ok(out)
        }
        let real = self.fill.as_f64().unwrap_or(f64::NAN);
        Ok(match self.stored {
            Stored::Float(_) => Elements::Numbers(Column::Real(filled(n, real)?)),
            Stored::Signed(_) | Stored::Unsigned(_) => {
                let fill = self.fill.as_i64().unwrap_or(0);
                Elements::Numbers(Column::Integer(filled(n, fill)?))
            }
            Stored::Flag => {
                let fill = self.fill.as_bool().unwrap_or(false);
                Elements::Numbers(Column::Flag(filled(n, fill)?))
            }
            Stored::Text | Stored::Wide(_) => Elements::Texts(filled(n, String::new())?),
        })
    }

    /// Bytes of an element; 0 for texts, each of which has its own.
    pub(super) fn element_bytes(&self) -> usize {
        match self.stored {
            Stored::Float(s) | Stored::Signed(s) | Stored::Unsigned(s) | Stored::Wide(s) => s,
            Stored::Flag => 1,
            Stored::Text => 0,
        }
    }

    /// The elements of a chunk.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Elements> {
        let (n, size) = (self.chunk.iter().product::<usize>(), self.element_bytes());
        if size > 0 && bytes.len() != n * size {
            let message = format!("a chunk has {} bytes, {} are needed", bytes.len(), n * size);
            return Err(wrong(message));
        }
        let word = |b: &[u8]| -> u64 {
            let push = |n: u64, b: &u8| n << 8 | u64::from(*b);
            match self.big_endian {
                true => b.iter().fold(0, push),
                false => b.iter().rev().fold(0, push),
            }
        };
        let words = bytes.chunks_exact(size.max(1)).map(word);
        Ok(match self.stored {
            Stored::Float(8) => {
                Elements::Numbers(Column::Real(words.map(f64::from_bits).collect()))
            }
            Stored::Float(2) => {
                Elements::Numbers(Column::Real(words.map(|w| half(w as u16)).collect()))
            }
            Stored::Float(_) => {
                let single = |w: u64| f64::from(f32::from_bits(w as u32));
                Elements::Numbers(Column::Real(words.map(single).collect()))
            }
            Stored::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                let signed = |w: u64| ((w << unused) as i64) >> unused;
                Elements::Numbers(Column::Integer(words.map(signed).collect()))
            }
            Stored::Unsigned(_) => {
                Elements::Numbers(Column::Integer(words.map(|w| w as i64).collect()))
            }
            Stored::Flag => {
                Elements::Numbers(Column::Flag(bytes.iter().map(|&b| b != 0).collect()))
            }
            Stored::Text => Elements::Texts(texts(bytes, n)?),
            Stored::Wide(size) => {
                let text = |b: &[u8]| {
                    let points = b.chunks_exact(4).map(|c| word(c) as u32);
                    let points = points.take_while(|&c| c != 0);
                    points
                        .map(|c| char::from_u32(c).unwrap_or('\u{fffd}'))
                        .collect()
                };
                Elements::Texts(bytes.chunks_exact(size).map(text).collect())
            }
        })
    }

    /// Copies what of the chunk at `index` lies in `wanted` to its place there.
    pub(super) fn place(
        &self,
        (out, wanted): (&mut Elements, &[Range<usize>]),
        chunk: &Elements,
        index: &[usize],
    ) {
        match (out, chunk) {
            (Elements::Numbers(Column::Real(to)), Elements::Numbers(Column::Real(from))) => {
                self.copy(to, wanted, from, index);
            }
            (Elements::Numbers(Column::Integer(to)), Elements::Numbers(Column::Integer(from))) => {
                self.copy(to, wanted, from, index);
            }
            (Elements::Numbers(Column::Flag(to)), Elements::Numbers(Column::Flag(from))) => {
                self.copy(to, wanted, from, index);
            }
            (Elements::Texts(to), Elements::Texts(from)) => self.copy(to, wanted, from, index),
            _ => unreachable!("both come from one plan"),
        }
    }

    fn copy<T: Clone>(&self, to: &mut [T], wanted: &[Range<usize>], from: &[T], index: &[usize]) {
        let Some(last) = self.shape.len().checked_sub(1) else {
            to.clone_from_slice(&from[..1]);
            return;
        };
        // What chunk and `wanted` have in common: where it begins, and how far it goes.
        let begin = |a: usize| (index[a] * self.chunk[a]).max(wanted[a].start);
        let end = |a: usize| ((index[a] + 1) * self.chunk[a]).min(wanted[a].end);
        let inside: Vec<usize> = (0..=last).map(|a| end(a) - begin(a)).collect();
        let in_chunk: Vec<usize> = (0..=last)
            .map(|a| begin(a) - index[a] * self.chunk[a])
            .collect();
        let in_wanted: Vec<usize> = (0..=last).map(|a| begin(a) - wanted[a].start).collect();
        let mut row = vec![0; last];
        loop {
            let here = |a: usize| if a < last { row[a] } else { 0 };
            let (mut source, mut target) = (0, 0);
            for a in 0..=last {
                source = source * self.chunk[a] + in_chunk[a] + here(a);
                target = target * wanted[a].len() + in_wanted[a] + here(a);
            }
            let n = inside[last];
            to[target..target + n].clone_from_slice(&from[source..source + n]);
            if !advance(&mut row, &inside[..last]) {
                return;
            }
        }
    }
}

/// A number of 16 bits: a sign, five bits of the exponent, ten behind the point.
fn half(bits: u16) -> f64 {
    let (exponent, digits) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => digits * f64::exp2(-24.0),
        31 if digits == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + digits) * f64::exp2(f64::from(exponent - 25)),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The next index, last axis fastest; false after the last.
fn advance(index: &mut [usize], counts: &[usize]) -> bool {
    for (i, &count) in index.iter_mut().zip(counts).rev() {
        *i += 1;
        if *i < count {
            return true;
        }
        *i = 0;
    }
    false
}

/// Every index of the box `ranges`, last axis fastest; none where it is empty.
pub(super) fn indices(ranges: &[Range<usize>]) -> Vec<Vec<usize>> {
    if ranges.iter().any(Range::is_empty) {
        return Vec::new();
    }
    let counts: Vec<usize> = ranges.iter().map(Range::len).collect();
    let mut at = vec![0; counts.len()];
    let mut out = Vec::new();
    loop {
        out.push(at.iter().zip(ranges).map(|(i, r)| r.start + i).collect());
        if !advance(&mut at, &counts) {
            return out;
        }
    }
}

/// Texts as `vlen-utf8` writes them: a count, then length and bytes of each.
fn texts(bytes: &[u8], n: usize) -> Result<Vec<String>> {
    let short = || wrong("a chunk of texts is cut short");
    let mut rest = bytes;
    let mut take = |n: usize| -> Result<&[u8]> {
        let (head, tail) = rest.split_at_checked(n).ok_or_else(short)?;
        rest = tail;
        Ok(head)
    };
    let length = |b: &[u8]| b.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
    let count = length(take(4)?);
    let mut out = Vec::new();
    for _ in 0..count.min(n) {
        let size = length(take(4)?);
        out.push(String::from_utf8_lossy(take(size)?).into_owned());
    }
    out.resize(n, String::new());
    Ok(out)
}
