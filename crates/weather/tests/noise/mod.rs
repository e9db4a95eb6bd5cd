//! Whole numbers by chance, for tests of random problems.

/// Numbers below what is asked for, from a linear congruential generator.
pub(crate) fn noise(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |n| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    }
}
