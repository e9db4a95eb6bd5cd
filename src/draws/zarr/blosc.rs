//! Containers of Blosc, the usual packing of stores of version 2, and blocks of LZ4.
//!
//! Formats: c-blosc's README_CHUNK_FORMAT.rst (version 2 of the format) and lz4_Block_format.md.

use super::array::{unpack, wrong};
use crate::Result;

fn short() -> crate::Error {
    wrong("it is damaged or cut short")
}

fn word(bytes: &[u8], at: usize) -> Result<usize> {
    let four = bytes.get(at..).and_then(|b| b.first_chunk::<4>());
    Ok(u32::from_le_bytes(*four.ok_or_else(short)?) as usize)
}

/// The bytes in a Blosc container.
///
/// A header of 16 bytes (format, flags, size of an element, bytes unpacked, bytes of a block), the
/// starts of the blocks, then each block as one stream or as one for each byte of an element.
pub(super) fn unpack_blosc(bytes: &[u8]) -> Result<Vec<u8>> {
    const HEADER: usize = 16;
    let (&flags, &element) = (
        bytes.get(2).ok_or_else(short)?,
        bytes.get(3).ok_or_else(short)?,
    );
    let (n, block) = (word(bytes, 4)?, word(bytes, 8)?);
    if flags & 2 != 0 {
        let plain = bytes.get(HEADER..).and_then(|b| b.get(..n));
        return Ok(plain.ok_or_else(short)?.to_vec());
    }
    let codec = match flags >> 5 {
        1 => "lz4",
        3 => "zlib",
        4 => "zstd",
        other => {
            let name = ["blosclz", "", "snappy"].get(usize::from(other));
            let name = name.copied().unwrap_or("another");
            return Err(wrong(format!(
                "Blosc with {name} is not read; with lz4, zlib and zstd it is"
            )));
        }
    };
    // Packed by the best of them, a byte holds a few hundred.
    if block == 0 || n / 4096 > bytes.len() {
        return Err(short());
    }
    let mut out = Vec::with_capacity(n);
    for (k, start) in (0..n).step_by(block).enumerate() {
        let size = block.min(n - start);
        let element = usize::from(element).max(1);
        let whole = size == block && flags & 16 == 0;
        let n_streams = if whole { element } else { 1 };
        let mut at = word(bytes, HEADER + 4 * k)?;
        let mut unpacked = Vec::with_capacity(size);
        for _ in 0..n_streams {
            let packed = word(bytes, at)?;
            let stream = bytes.get(at + 4..).and_then(|b| b.get(..packed));
            let stream = stream.ok_or_else(short)?;
            at += 4 + packed;
            let expected = size / n_streams;
            match codec {
                _ if packed == expected => unpacked.extend_from_slice(stream),
                "lz4" => unpack_lz4(stream, expected, &mut unpacked)?,
                other => unpacked.extend(unpack(other, stream.to_vec())?),
            }
        }
        if unpacked.len() != size {
            return Err(short());
        }
        if flags & 1 != 0 && element > 1 {
            let n_elements = size / element;
            for i in 0..n_elements {
                out.extend((0..element).map(|byte| unpacked[byte * n_elements + i]));
            }
            out.extend_from_slice(&unpacked[n_elements * element..]);
        } else if flags & 4 != 0 && (size / element).is_multiple_of(8) {
            put_bits_together(&unpacked, element, &mut out);
        } else {
            out.append(&mut unpacked);
        }
    }
    Ok(out)
}

/// All first bits of the elements, all second bits, ...: element by element again. Blocks whose
/// elements are not a multiple of eight are not shuffled.
fn put_bits_together(bytes: &[u8], element: usize, out: &mut Vec<u8>) {
    let n = bytes.len() / element;
    for i in 0..n {
        for byte in 0..element {
            let bit = |bit: usize| bytes[(8 * byte + bit) * (n / 8) + i / 8] >> (i % 8) & 1;
            out.push((0..8).fold(0, |all, k| all | bit(k) << k));
        }
    }
    out.extend_from_slice(&bytes[n * element..]);
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(n).ok_or_else(short)?;
    *bytes = tail;
    Ok(head)
}

/// A length of four bits, which goes on in further bytes when all are set.
fn length(bytes: &mut &[u8], four_bits: u8) -> Result<usize> {
    let mut length = usize::from(four_bits);
    let mut more = four_bits == 15;
    while more {
        let byte = take(bytes, 1)?[0];
        length += usize::from(byte);
        more = byte == 255;
    }
    Ok(length)
}

/// Appends the `n` bytes of a block of LZ4: runs of literals, each followed by a copy of what
/// already stands there.
pub(super) fn unpack_lz4(mut bytes: &[u8], n: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    loop {
        let token = take(&mut bytes, 1)?[0];
        let literals = length(&mut bytes, token >> 4)?;
        out.extend_from_slice(take(&mut bytes, literals)?);
        if out.len() - start >= n {
            break;
        }
        let offset = take(&mut bytes, 2)?;
        let offset = usize::from(offset[0]) | usize::from(offset[1]) << 8;
        let copied = 4 + length(&mut bytes, token & 15)?;
        let there = out.len() - start;
        if offset == 0 || offset > there || there + copied > n {
            return Err(short());
        }
        for _ in 0..copied {
            out.push(out[out.len() - offset]);
        }
    }
    match out.len() - start == n {
        true => Ok(()),
        false => Err(short()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the description of the format: "abcd", eight bytes from four back, "!".
    #[test]
    fn blocks_of_lz4_repeat_what_stands_before() {
        let block = [0x44, b'a', b'b', b'c', b'd', 4, 0, 0x10, b'!'];
        let mut out = Vec::new();
        unpack_lz4(&block, 13, &mut out).expect("a whole block");
        assert_eq!(out, b"abcdabcdabcd!");
        for n in 0..block.len() {
            assert!(unpack_lz4(&block[..n], 13, &mut Vec::new()).is_err());
        }
        let before_the_start = [0x14, b'a', 2, 0, 0x10, b'!'];
        assert!(unpack_lz4(&before_the_start, 10, &mut Vec::new()).is_err());
    }
}
