//! The power of a response at frequencies, for even and uneven rows: rows are put on a fine grid, whose
//! discrete Fourier transform tells all frequencies at once (as Press and Rybicki 1989).

use std::f64::consts::TAU;

/// Frequencies that are told, at least, and at most where they have nearly the same power: those that rows
/// at regular distances hardly tell apart.
const MOST: (usize, usize) = (6, 40);
const NEARLY: f64 = 0.7;
/// Cells of a grid, at most.
const MOST_CELLS: usize = 1 << 18;
/// Bins within one resolved frequency.
const OVERSAMPLED: usize = 4;

/// A grid over the range of a predictor.
pub(super) struct Grid {
    /// The cell of each row.
    cells: Vec<usize>,
    /// Number of cells, a power of two, those beyond the range included.
    n: usize,
    /// Angular frequency of the first bin.
    step: f64,
    /// Bins that rows can tell apart.
    bins: usize,
    /// Length of the range.
    pub(super) span: f64,
}

impl Grid {
    /// A grid for rows at `x`, whose usual distance is `gap`; none where all are at one place.
    pub(super) fn new(x: &[f64], gap: f64) -> Option<Grid> {
        let low = x.iter().copied().fold(f64::INFINITY, f64::min);
        let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = high - low;
        if !(span > 0.0 && gap > 0.0) {
            return None;
        }
        // Two cells for a row: frequencies up to half of one for two rows are then far below the grid's.
        let least = 2.0 * OVERSAMPLED as f64 * span / gap;
        let n = (least as usize).clamp(64, MOST_CELLS).next_power_of_two();
        let cell = (gap / 2.0).max(OVERSAMPLED as f64 * span / n as f64);
        let step = TAU / (n as f64 * cell);
        let highest = std::f64::consts::PI / gap;
        Some(Grid {
            cells: x
                .iter()
                .map(|x| ((x - low) / cell).round() as usize % n)
                .collect(),
            n,
            step,
            bins: ((highest / step).ceil() as usize).min(n / 2 - 1),
            span,
        })
    }

    /// Angular frequencies that are `allowed` at which `z` has most power, with that power, most first.
    pub(super) fn peaks(&self, z: &[f64], allowed: &dyn Fn(f64) -> bool) -> Vec<(f64, f64)> {
        let mut cells = vec![(0.0, 0.0); self.n];
        for (&cell, z) in self.cells.iter().zip(z) {
            cells[cell].0 += z;
        }
        transform(&mut cells);
        let power: Vec<f64> = cells[..=self.bins]
            .iter()
            .map(|(re, im)| re * re + im * im)
            .collect();
        let at = |k: usize| power.get(k).copied().unwrap_or(0.0);
        // The first bins are trends as much as waves; those are tried apart.
        let tops = (1..=self.bins).filter(|&k| at(k) >= at(k - 1) && at(k) > at(k + 1));
        let mut tops: Vec<(f64, f64)> = tops.map(|k| (k as f64 * self.step, at(k))).collect();
        tops.retain(|top| allowed(top.0));
        tops.sort_by(|a, b| b.1.total_cmp(&a.1));
        let least = NEARLY * tops.first().map_or(0.0, |top| top.1);
        let near = tops.iter().take_while(|top| top.1 > least).count();
        tops.truncate(near.clamp(MOST.0, MOST.1));
        tops
    }
}

/// The discrete Fourier transform, in place; as many numbers as a power of two.
fn transform(z: &mut [(f64, f64)]) {
    let n = z.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            z.swap(i, j);
        }
    }
    let turn = |k: usize| {
        let angle = -TAU * k as f64 / n as f64;
        (libm::cos(angle), libm::sin(angle))
    };
    let turns: Vec<(f64, f64)> = (0..n / 2).map(turn).collect();
    let mut half = 1;
    while half < n {
        let stride = n / (2 * half);
        for block in z.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let (c, s) = turns[k * stride];
                let t = (b.0 * c - b.1 * s, b.0 * s + b.1 * c);
                (*a, *b) = ((a.0 + t.0, a.1 + t.1), (a.0 - t.0, a.1 - t.1));
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transform against its definition.
    #[test]
    fn transforms_are_sums_of_turns() {
        let z: Vec<(f64, f64)> = (0..16)
            .map(|i| (f64::from(i * i % 7), f64::from(i % 3)))
            .collect();
        let mut found = z.clone();
        transform(&mut found);
        for (k, found) in found.iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, (a, b)) in z.iter().enumerate() {
                let angle = -TAU * (i * k) as f64 / 16.0;
                let (c, s) = (angle.cos(), angle.sin());
                (re, im) = (re + a * c - b * s, im + a * s + b * c);
            }
            assert!(
                (re - found.0).abs() < 1e-12 && (im - found.1).abs() < 1e-12,
                "{k}"
            );
        }
    }

    /// The frequency of a wave at uneven rows, beyond one cycle for three rows.
    #[test]
    fn a_wave_at_uneven_rows_has_its_peak() {
        let x: Vec<f64> = (0..300)
            .map(|i| f64::from(i) + 0.4 * f64::from(i * i % 11) / 11.0)
            .collect();
        for w in [0.05, 0.7, 2.2] {
            let z: Vec<f64> = x.iter().map(|x| (w * x + 1.0).sin()).collect();
            let grid = Grid::new(&x, 1.0).expect("a range");
            let off = (grid.peaks(&z, &|_| true)[0].0 - w).abs();
            assert!(off < TAU / grid.span / 4.0, "{w}: off by {off}");
        }
    }
}
