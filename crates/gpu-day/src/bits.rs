//! Numbers compared bit by bit.

use crate::steps::failure;
use fitzroy::Result;

/// Numbers as bits.
pub(crate) fn bits<'n>(numbers: impl IntoIterator<Item = &'n f64>) -> Vec<u64> {
    numbers.into_iter().map(|x| x.to_bits()).collect()
}

/// That `one` and `other`, two results of `what`, have the same bits; how many numbers were compared.
pub(crate) fn same_bits(what: &str, one: &[u64], other: &[u64]) -> Result<usize> {
    let differs = one.iter().zip(other).position(|(x, y)| x != y);
    let at = match differs {
        None if one.len() == other.len() => return Ok(one.len()),
        differs => differs.unwrap_or(one.len().min(other.len())),
    };
    let text = |bits: &[u64]| {
        bits.get(at)
            .map_or("missing".into(), |x| format!("{:e}", f64::from_bits(*x)))
    };
    Err(failure(format!(
        "{what}: of {} numbers the first that differs is number {at}: {} and {}",
        one.len(),
        text(one),
        text(other)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_bit_and_a_missing_number_are_seen() {
        let numbers = bits(&[1.0, 2.0, f64::NAN]);
        assert_eq!(same_bits("x", &numbers, &numbers).unwrap(), 3);
        let mut other = numbers.clone();
        other[1] += 1;
        let said = same_bits("x", &numbers, &other).unwrap_err().to_string();
        assert!(
            said.contains("number 1: 2e0 and 2.0000000000000004e0"),
            "{said}"
        );
        let said = same_bits("x", &numbers, &numbers[..2])
            .unwrap_err()
            .to_string();
        assert!(said.contains("number 2: NaN and missing"), "{said}");
    }
}
