//! Bytes of a checkpoint: little-endian numbers, lists with their length in front, a sum at the end.

use crate::{Error, ErrorKind, Result};
use fitzroy_device::Fnv;

/// What a checkpoint starts with; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"FITZCHK\x03";

/// Writes numbers one after the other.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// An empty checkpoint.
    pub(crate) fn new() -> Self {
        Writer(MAGIC.to_vec())
    }

    /// A whole number.
    pub(crate) fn word(&mut self, x: u64) {
        self.0.extend(x.to_le_bytes());
    }

    /// A number.
    pub(crate) fn real(&mut self, x: f64) {
        self.word(x.to_bits());
    }

    /// A list of numbers.
    pub(crate) fn reals(&mut self, list: &[f64]) {
        self.word(list.len() as u64);
        list.iter().for_each(|x| self.real(*x));
    }

    /// A list of bytes.
    pub(crate) fn bytes(&mut self, list: &[u8]) {
        self.word(list.len() as u64);
        self.0.extend(list);
    }

    /// The bytes, with their sum at the end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = Fnv::of(&self.0);
        self.word(sum);
        self.0
    }
}

/// Reads what a [`Writer`] wrote; never beyond the end.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Checks the start and the sum.
    ///
    /// # Errors
    /// Not a checkpoint, one of another version, or a damaged one.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        let (kind, version) = (&MAGIC[..7], MAGIC[7]);
        if !bytes.starts_with(kind) || bytes.len() < 16 {
            return Err(wrong("it is not a checkpoint of a run"));
        }
        if bytes[7] != version {
            return Err(wrong(&format!(
                "its format is version {}, this program reads version {version}",
                bytes[7]
            )));
        }
        let (body, end) = bytes.split_at(bytes.len() - 8);
        if end != Fnv::of(body).to_le_bytes() {
            return Err(wrong("its bytes do not add up, so it is damaged"));
        }
        Ok(Reader(&body[8..]))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.0.split_at_checked(n) else {
            return Err(wrong("it ends too early"));
        };
        self.0 = rest;
        Ok(head)
    }

    /// A whole number.
    pub(crate) fn word(&mut self) -> Result<u64> {
        let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
        Ok(u64::from_le_bytes(bytes))
    }

    /// A number.
    pub(crate) fn real(&mut self) -> Result<f64> {
        Ok(f64::from_bits(self.word()?))
    }

    /// A length, of things of at least `size` bytes each.
    pub(crate) fn length(&mut self, size: usize) -> Result<usize> {
        let n = self.word()?;
        match usize::try_from(n) {
            Ok(n) if n.saturating_mul(size) <= self.0.len() => Ok(n),
            _ => Err(wrong("it ends too early")),
        }
    }

    /// A list of numbers.
    pub(crate) fn reals(&mut self) -> Result<Vec<f64>> {
        (0..self.length(8)?).map(|_| self.real()).collect()
    }

    /// A list of bytes.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>> {
        let n = self.length(1)?;
        Ok(self.take(n)?.to_vec())
    }

    /// Nothing may be left.
    pub(crate) fn finish(self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(wrong("it goes on after its end")),
        }
    }
}

/// The error of a checkpoint that cannot be read.
pub(crate) fn wrong(why: &str) -> Error {
    let message = format!("the checkpoint cannot be used: {why}; start the run again");
    Error::new(ErrorKind::Data, message)
}
