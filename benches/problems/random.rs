//! The generator and the checksum of the benchmark data, which any language can repeat.

/// Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators".
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// A number in (0, 1), half a step from either end.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53) + 2f64.powi(-54)
    }

    /// By Box and Muller, the cosine branch.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}

/// FNV-1a over little-endian 64-bit integers.
pub(crate) fn checksum(ticks: &[u64]) -> u64 {
    let bytes = ticks.iter().flat_map(|t| t.to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3)
    })
}
