//! Unpacking with a limit, so that a small file cannot take all memory.

use std::io::{self, Read};

/// Bytes that may be unpacked from anything, and how many times its size from more: numbers that
/// people measure shrink to a tenth at best, files made to fill memory to a thousandth.
const LEAST_BYTES: u64 = 1 << 30;
const RATIO: u64 = 100;

/// All that `reader` unpacks from `packed` bytes.
///
/// # Errors
/// Those of `reader`; more comes than a file of that size may hold.
pub(crate) fn unpack(reader: impl Read, packed: usize) -> io::Result<Vec<u8>> {
    let most = (packed as u64).saturating_mul(RATIO).max(LEAST_BYTES);
    within(reader, most)
}

fn within(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(most + 1).read_to_end(&mut out)?;
    match out.len() as u64 > most {
        false => Ok(out),
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "it unpacks to more than {:.1} GiB and {RATIO} times its size, which only files do that \
             are made to fill memory; store it unpacked if it is right",
                most as f64 / f64::from(1 << 30)
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_the_limit_comes_whole_and_the_rest_is_refused() {
        assert_eq!(within(io::repeat(7).take(10), 10).unwrap(), [7; 10]);
        let error = within(io::repeat(7), 1 << 20).unwrap_err().to_string();
        assert!(error.contains("100 times its size"), "{error}");
        assert_eq!(unpack(&b"abc"[..], 1).unwrap(), b"abc");
    }
}
