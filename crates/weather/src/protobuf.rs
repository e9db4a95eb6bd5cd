//! Messages of protocol buffers: fields one after the other, each with its number and its kind.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    /// A field with a whole number.
    pub(crate) fn integer(&mut self, field: u32, x: i64) {
        self.varint(u64::from(field) << 3);
        self.varint(x as u64);
    }

    /// A field with an f32.
    pub(crate) fn real(&mut self, field: u32, x: f32) {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    /// A field with an f64.
    pub(crate) fn double(&mut self, field: u32, x: f64) {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    /// A field with bytes.
    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A field with a text.
    pub(crate) fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// A field with a message.
    pub(crate) fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the documentation of protocol buffers: field 1 with 150, field 2 with
    /// `testing`, field 3 with a message of field 1 with 150; −1 takes ten bytes.
    #[test]
    fn fields_are_written_as_the_documentation_has_them() {
        let mut inner = Message::default();
        inner.integer(1, 150);
        assert_eq!(inner.0, [0x08, 0x96, 0x01]);
        let mut all = Message::default();
        all.text(2, "testing");
        assert_eq!(all.0, [0x12, 7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let mut outer = Message::default();
        outer.message(3, &inner);
        outer.real(5, 1.0);
        assert_eq!(
            outer.0,
            [0x1a, 0x03, 0x08, 0x96, 0x01, 0x2d, 0, 0, 0x80, 0x3f]
        );
        let mut negative = Message::default();
        negative.integer(1, -1);
        assert_eq!(negative.0.len(), 11);
    }
}
