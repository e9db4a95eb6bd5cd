//! A short fingerprint of a model and its data, to tell runs apart. Not for security.

use crate::model::Content;
use crate::model::joint::Joint;
use fitzroy_device::Fnv;

/// A fingerprint in the making.
#[derive(Default)]
struct Fingerprint(Fnv);

impl Fingerprint {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.bytes(bytes);
    }

    fn number(&mut self, n: u64) {
        self.bytes(&n.to_le_bytes());
    }

    fn digits(&self) -> String {
        format!("{:016x}", self.0.0)
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
    let mut hash = Fingerprint::default();
    hash.bytes(joint.model().to_string().as_bytes());
    hash.data(joint);
    hash.digits()
}

/// The same of the statements alone.
pub(super) fn model_fingerprint(joint: &Joint) -> String {
    let mut hash = Fingerprint::default();
    hash.bytes(joint.model().to_string().as_bytes());
    hash.digits()
}

/// The same of the data alone.
pub(super) fn data_fingerprint(joint: &Joint) -> String {
    let mut hash = Fingerprint::default();
    hash.data(joint);
    hash.digits()
}
