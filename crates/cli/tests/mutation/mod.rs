//! Random changes of files: bits, bytes, numbers, pieces.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part.

/// Random numbers by SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn range(&mut self, n: usize) -> std::ops::Range<usize> {
        let from = self.below(n + 1);
        // Short pieces more often than long ones.
        let most = (n - from).min(1 << self.below(12));
        from..from + self.below(most + 1)
    }
}

/// Bytes that mean something in texts and headers.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff\n\r\t \"'\\,;:.-+*/^~=<>()[]{}#%@_0123456789eENnaif";
/// Texts that mean something.
const WORDS: [&str; 16] = [
    "1e999",
    "-1",
    "nan",
    "inf",
    "1e-320",
    "99999999999999999999",
    "18446744073709551615",
    "((((((((",
    "[[[[[[[[",
    "-.",
    "\u{3b1}",
    "\u{feff}",
    "\r\n",
    ",,,,,,,,",
    "0x",
    "1_000",
];
/// Lengths that somebody might believe.
const SIZES: [u64; 8] = [
    0,
    1,
    255,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// A file like `seed` with one to eight changes; pieces may come from `other`.
pub fn mutated(numbers: &mut Numbers, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + numbers.below(8) {
        let at = numbers.below(bytes.len());
        match numbers.below(10) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
            1 if !bytes.is_empty() => bytes[at] = TELLING[numbers.below(TELLING.len())],
            2 => bytes.insert(at, TELLING[numbers.below(TELLING.len())]),
            3 => {
                let word = WORDS[numbers.below(WORDS.len())].bytes();
                bytes.splice(at..at, word);
            }
            4 => bytes.truncate(at),
            5 => {
                let piece = numbers.range(bytes.len());
                bytes.drain(piece);
            }
            6 => {
                let piece = bytes[numbers.range(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            7 => {
                let piece = other[numbers.range(other.len())].to_vec();
                let to = at..(at + piece.len()).min(bytes.len());
                bytes.splice(to, piece);
            }
            8 => {
                let size = SIZES[numbers.below(SIZES.len())].to_le_bytes();
                let wide = if numbers.below(2) == 0 { 4 } else { 8 };
                for (to, from) in bytes.iter_mut().skip(at).zip(&size[..wide]) {
                    *to = *from;
                }
            }
            _ => {
                // A digit, where numbers are text.
                let digits: Vec<usize> = (0..bytes.len())
                    .filter(|&i| bytes[i].is_ascii_digit())
                    .collect();
                if !digits.is_empty() {
                    bytes[digits[numbers.below(digits.len())]] = b'0' + numbers.below(10) as u8;
                }
            }
        }
    }
    bytes
}
