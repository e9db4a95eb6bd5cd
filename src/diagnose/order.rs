//! Sorting numbers together with their places, in time proportional to their count.

/// Bits sorted by in one pass, and passes.
const DIGIT_BITS: u32 = 11;
const PASSES: usize = 3;

/// Low bits of a word that hold the place; those above hold what is sorted by.
const PLACE_BITS: u32 = u64::BITS - DIGIT_BITS * PASSES as u32;

/// Values with their places in `x`, ascending; the order of equal values does not matter. Zeros
/// lose their sign, for they are equal. `x` must hold no NaN and fewer than 2³¹ numbers.
///
/// A radix sort on the leading 33 bits of the span of the numbers, with the place in the other 31,
/// leaves runs that differ in lower bits only; those are usually single numbers and are sorted by
/// comparison.
pub fn ascending(x: &[f64]) -> Vec<(f64, u32)> {
    if x.len() < 256 {
        let pairs = x.iter().zip(0u32..).map(|(&v, i)| (v + 0.0, i));
        let mut pairs: Vec<(f64, u32)> = pairs.collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        return pairs;
    }
    let mut words: Vec<u64> = x.iter().map(|&v| key(v + 0.0)).collect();
    let (least, most) = words
        .iter()
        .fold((u64::MAX, 0), |(low, high), &k| (low.min(k), high.max(k)));
    // After this shift the span fills the word from the top.
    let shift = (most - least).leading_zeros() % u64::BITS;
    for (word, place) in words.iter_mut().zip(0u64..) {
        *word = (*word - least) << shift >> PLACE_BITS << PLACE_BITS | place;
    }
    radix(&mut words);
    let place = |word: u64| (word & ((1 << PLACE_BITS) - 1)) as u32;
    let pair = |&word: &u64| (x[place(word) as usize] + 0.0, place(word));
    let mut pairs: Vec<(f64, u32)> = words.iter().map(pair).collect();
    let mut start = 0;
    while start < words.len() {
        let mut end = start + 1;
        while end < words.len() && words[end] >> PLACE_BITS == words[start] >> PLACE_BITS {
            end += 1;
        }
        if end - start > 1 {
            pairs[start..end].sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        start = end;
    }
    pairs
}

/// A number that is ordered as `v` is.
fn key(v: f64) -> u64 {
    let bits = v.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Sorts by the leading bits, the lowest digit first.
fn radix(words: &mut Vec<u64>) {
    const BUCKETS: usize = 1 << DIGIT_BITS;
    let digit = |word: u64, pass: usize| {
        (word >> (PLACE_BITS + DIGIT_BITS * pass as u32)) as usize % BUCKETS
    };
    let mut counts = vec![[0u32; BUCKETS]; PASSES];
    for &word in words.iter() {
        for (pass, count) in counts.iter_mut().enumerate() {
            count[digit(word, pass)] += 1;
        }
    }
    let mut other = vec![0; words.len()];
    for (pass, starts) in counts.iter_mut().enumerate() {
        let mut total = 0;
        for start in starts.iter_mut() {
            total += std::mem::replace(start, total);
        }
        for &word in words.iter() {
            let start = &mut starts[digit(word, pass)];
            other[*start as usize] = word;
            *start += 1;
        }
        std::mem::swap(words, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn check(x: &[f64]) {
        let got = ascending(x);
        let mut want: Vec<f64> = x.iter().map(|v| v + 0.0).collect();
        want.sort_by(f64::total_cmp);
        let values: Vec<f64> = got.iter().map(|p| p.0).collect();
        assert_eq!(values, want);
        let mut places: Vec<u32> = got.iter().map(|p| p.1).collect();
        assert!(got.iter().all(|&(v, i)| x[i as usize] == v));
        places.sort_unstable();
        assert!(places.into_iter().eq(0..x.len() as u32));
    }

    /// Catches: a digit read from the wrong place, runs left unsorted, lost ties.
    #[test]
    fn numbers_of_any_scale_come_out_in_order() {
        let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
        let normals: Vec<f64> = (0..3000).map(|_| rng.normal()).collect();
        check(&normals);
        check(&normals.iter().map(|v| v.round()).collect::<Vec<_>>());
        check(&normals.iter().map(|v| 1e8 + v).collect::<Vec<_>>());
        check(
            &normals
                .iter()
                .map(|v| (200.0 * v).exp())
                .collect::<Vec<_>>(),
        );
        check(&normals.iter().map(|v| v * 1e-310).collect::<Vec<_>>());
        check(&vec![0.5; 1000]);
        let mut mixed: Vec<f64> = normals.iter().map(|v| 1e8 + v).collect();
        mixed[..6].copy_from_slice(&[f64::INFINITY, -1.0, 0.0, -0.0, f64::NEG_INFINITY, 1e-300]);
        check(&mixed);
        check(&normals[..100]);
        check(&[]);
    }
}
