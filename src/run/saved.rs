//! Coordinates as bytes, for checkpoints.

use crate::model::joint::{Chosen, Coordinates};
use crate::{Error, ErrorKind, Result};

/// One byte for each plate, with every c after it where they differ; then one for each of
/// `n_scales` scales, 1 where it has a sign.
pub(super) fn to_bytes(chosen: &Chosen, n_scales: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for plate in &chosen.plates {
        match plate {
            Coordinates::NonCentred => bytes.push(0),
            Coordinates::Centred => bytes.push(1),
            Coordinates::Partial(c) => {
                bytes.push(2);
                bytes.extend(c.iter().flat_map(|c| c.to_le_bytes()));
            }
        }
    }
    bytes.extend((0..n_scales).map(|k| u8::from(chosen.signed.contains(&k))));
    bytes
}

/// The coordinates of plates with `lengths` elements, and of `n_scales` scales.
///
/// # Errors
/// The bytes are not of such plates.
pub(super) fn from_bytes(mut bytes: &[u8], lengths: &[usize], n_scales: usize) -> Result<Chosen> {
    let other = || {
        let message = "the checkpoint is of another model or of other data; start the run again";
        Error::new(ErrorKind::Data, message)
    };
    let mut plates = Vec::new();
    for &len in lengths {
        let (kind, rest) = bytes.split_first().ok_or_else(other)?;
        bytes = rest;
        plates.push(match kind {
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
    if bytes.len() != n_scales || bytes.iter().any(|&b| b > 1) {
        return Err(other());
    }
    let signed = (0..n_scales).filter(|&k| bytes[k] == 1).collect();
    Ok(Chosen { plates, signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_come_back_and_those_of_other_plates_are_refused() {
        let plates = vec![
            Coordinates::Centred,
            Coordinates::Partial(vec![0.25, 0.5]),
            Coordinates::NonCentred,
        ];
        let signed = vec![1];
        let all = Chosen { plates, signed };
        let bytes = to_bytes(&all, 2);
        assert_eq!(from_bytes(&bytes, &[7, 2, 3], 2).unwrap(), all);
        for lengths in [&[7, 2][..], &[7, 3, 3], &[]] {
            let error = from_bytes(&bytes, lengths, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data);
        }
        for n_scales in [0, 1, 3] {
            let error = from_bytes(&bytes, &[7, 2, 3], n_scales).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Data);
        }
    }
}
