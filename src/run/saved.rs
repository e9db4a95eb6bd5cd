//! Coordinates as bytes, for checkpoints.

use crate::model::joint::Coordinates;
use crate::{Error, ErrorKind, Result};

/// One byte for each plate, with every c after it where they differ.
pub(super) fn to_bytes(coordinates: &[Coordinates]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for plate in coordinates {
        match plate {
            Coordinates::NonCentred => bytes.push(0),
            Coordinates::Centred => bytes.push(1),
            Coordinates::Partial(c) => {
                bytes.push(2);
                bytes.extend(c.iter().flat_map(|c| c.to_le_bytes()));
            }
        }
    }
    bytes
}

/// The coordinates of plates with `lengths` elements.
///
/// # Errors
/// The bytes are not of such plates.
pub(super) fn from_bytes(mut bytes: &[u8], lengths: &[usize]) -> Result<Vec<Coordinates>> {
    let other = || {
        let message = "the checkpoint is of another model or of other data; start the run again";
        Error::new(ErrorKind::Data, message)
    };
    let mut all = Vec::new();
    for &len in lengths {
        let (kind, rest) = bytes.split_first().ok_or_else(other)?;
        bytes = rest;
        all.push(match kind {
            0 => Coordinates::NonCentred,
            1 => Coordinates::Centred,
            2 => {
                let (numbers, rest) = bytes.split_at_checked(8 * len).ok_or_else(other)?;
                bytes = rest;
                let (numbers, _) = numbers.as_chunks();
                Coordinates::Partial(numbers.iter().map(|b| f64::from_le_bytes(*b)).collect())
            }
            _ => return Err(other()),
        });
    }
    match bytes.is_empty() {
        true => Ok(all),
        false => Err(other()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_come_back_and_those_of_other_plates_are_refused() {
        let all = [
            Coordinates::Centred,
            Coordinates::Partial(vec![0.25, 0.5]),
            Coordinates::NonCentred,
        ];
        let bytes = to_bytes(&all);
        assert_eq!(from_bytes(&bytes, &[7, 2, 3]).unwrap(), all);
        for lengths in [&[7, 2][..], &[7, 3, 3], &[7, 2, 3, 1], &[]] {
            let error = from_bytes(&bytes, lengths).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data);
        }
    }
}
