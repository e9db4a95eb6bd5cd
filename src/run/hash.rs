//! A short fingerprint of a model and its data, to tell runs apart. Not for security.

use crate::model::Content;
use crate::model::joint::Joint;

/// FNV-1a, 64 bit (Fowler, Noll, Vo).
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, n: u64) {
        self.bytes(&n.to_le_bytes());
    }

    /// Every dim and every bound array.
    fn data(&mut self, joint: &Joint) {
        let binding = joint.binding();
        for dim in &binding.dims {
            self.bytes(dim.name.as_bytes());
            self.number(dim.size as u64);
        }
        for array in &binding.arrays {
            self.bytes(array.name.as_bytes());
            match &array.content {
                Content::Real(values) => values.iter().for_each(|v| self.number(v.to_bits())),
                Content::Positions { at, .. } => {
                    at.iter().for_each(|&i| self.number(u64::from(i)));
                }
            }
        }
    }
}

/// 16 hexadecimal digits from the statements of the model and every bound array; spaces and
/// comments of the model do not matter.
pub(super) fn fingerprint(joint: &Joint) -> String {
    let mut hash = Fnv::new();
    hash.bytes(joint.model().to_string().as_bytes());
    hash.data(joint);
    format!("{:016x}", hash.0)
}

/// The same of the statements alone.
pub(super) fn model_fingerprint(joint: &Joint) -> String {
    let mut hash = Fnv::new();
    hash.bytes(joint.model().to_string().as_bytes());
    format!("{:016x}", hash.0)
}

/// The same of the data alone.
pub(super) fn data_fingerprint(joint: &Joint) -> String {
    let mut hash = Fnv::new();
    hash.data(joint);
    format!("{:016x}", hash.0)
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
            let mut hash = Fnv::new();
            hash.bytes(text.as_bytes());
            assert_eq!(hash.0, want, "{text}");
        }
    }
}
