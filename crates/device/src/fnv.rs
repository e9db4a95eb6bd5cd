//! A number that is another for other bytes, the same on every machine and in every version. Not for security.

/// The hash of Fowler, Noll and Vo: FNV-1a, 64 bits.
///
/// ```
/// use fitzroy_device::Fnv;
/// assert_eq!(Fnv::of(b"foobar"), 0x8594_4171_f739_67e8);
/// let mut parts = Fnv::default();
/// parts.bytes(b"foo");
/// parts.bytes(b"bar");
/// assert_eq!(parts.0, Fnv::of(b"foobar"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// That of `bytes`.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut hash = Fnv::default();
        hash.bytes(bytes);
        hash.0
    }

    /// Goes on with `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv;

    /// From the authors' list of test vectors.
    #[test]
    fn fnv_gives_the_published_values() {
        for (text, want) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8_u64),
        ] {
            let mut hash = Fnv::default();
            hash.bytes(text.as_bytes());
            assert_eq!(hash.0, want, "{text}");
        }
    }
}
