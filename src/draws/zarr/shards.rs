//! Shards: files that hold many chunks, and where each begins.
//!
//! Source: Zarr version 3, codec `sharding_indexed` 1.0.

use super::array::wrong;
use super::files::{Files, Part};
use crate::Result;
use serde_json::Value;
use std::io;

/// Most chunks of a shard that are believed.
const CHUNKS_MAX: usize = 1 << 24;

/// How the shards of an array are made.
pub(super) struct Shards {
    /// Chunks of a shard on every axis.
    counts: Vec<usize>,
    /// The list of places stands at the beginning, not at the end.
    first: bool,
    /// Bytes of that list.
    index_bytes: usize,
    /// Whether its last four bytes are its CRC-32C.
    checked: bool,
}

/// The shards that a codec describes, and the sizes and codecs of the chunks in them.
pub(super) fn shards(codec: &Value, shape: &[usize]) -> Result<(Shards, Vec<usize>, Vec<Value>)> {
    let bad = |what: &str| wrong(format!("the codec sharding_indexed has no valid {what}"));
    let configuration = &codec["configuration"];
    let inner = configuration["chunk_shape"].as_array().map(|list| {
        let sizes = list.iter().map(|n| n.as_u64().map(|n| n as usize));
        sizes.collect::<Option<Vec<usize>>>()
    });
    let inner = inner.flatten().filter(|inner| inner.len() == shape.len());
    let inner = inner.ok_or_else(|| bad("chunk_shape"))?;
    let whole = |(outer, inner): (&usize, &usize)| *inner > 0 && outer % inner == 0;
    if !shape.iter().zip(&inner).all(whole) {
        return Err(bad("chunk_shape"));
    }
    let counts: Vec<usize> = shape.iter().zip(&inner).map(|(o, i)| o / i).collect();
    let n = counts.iter().try_fold(1_usize, |n, c| n.checked_mul(*c));
    let n = n
        .filter(|n| *n <= CHUNKS_MAX)
        .ok_or_else(|| bad("chunk_shape"))?;
    let (mut index_bytes, mut checked) = (16 * n, false);
    for codec in configuration["index_codecs"]
        .as_array()
        .into_iter()
        .flatten()
    {
        match codec["name"].as_str().unwrap_or("") {
            "bytes" if codec["configuration"]["endian"] != "big" => {}
            "crc32c" if !checked => {
                index_bytes += 4;
                checked = true;
            }
            _ => return Err(bad("index_codecs")),
        }
    }
    let codecs = configuration["codecs"].as_array().cloned();
    let shards = Shards {
        counts,
        first: configuration["index_location"] == "start",
        index_bytes,
        checked,
    };
    Ok((shards, inner, codecs.ok_or_else(|| bad("codecs"))?))
}

impl Shards {
    /// The shard that holds the chunk at `index`, and which chunk of it that is, row-major.
    pub(super) fn place(&self, index: &[usize]) -> (Vec<usize>, usize) {
        let shard = index.iter().zip(&self.counts).map(|(i, n)| i / n).collect();
        let pairs = index.iter().zip(&self.counts);
        (shard, pairs.fold(0, |flat, (i, n)| flat * n + i % n))
    }

    /// The packed bytes of a chunk of the shard in a file; none where it was never written.
    pub(super) fn chunk(
        &self,
        files: &Files,
        name: &str,
        which: usize,
    ) -> io::Result<Option<Vec<u8>>> {
        let n = self.index_bytes as u64;
        let part = if self.first {
            Part::From(0, n)
        } else {
            Part::Last(n)
        };
        let index = files.part(name, part)?;
        let (entries, sum) =
            index.split_at(index.len().saturating_sub(if self.checked { 4 } else { 0 }));
        if self.checked && sum != crc32c::crc32c(entries).to_le_bytes() {
            let message = "the list of its chunks is damaged (its checksum differs)";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let word = |at: usize| {
            let eight = index.get(at..).and_then(|b| b.first_chunk::<8>());
            eight.map(|b| u64::from_le_bytes(*b))
        };
        let entry = word(16 * which).zip(word(16 * which + 8));
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        match entry.ok_or_else(short)? {
            (u64::MAX, u64::MAX) => Ok(None),
            (start, n) => files.part(name, Part::From(start, n)).map(Some),
        }
    }
}
