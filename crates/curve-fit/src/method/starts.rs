//! Points that fill a box: scrambled Sobol and Latin hypercubes.

use fitzroy::Named;
use fitzroy::rng::{Purpose, Rng};

/// How starts fill the box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Design {
    /// A digital sequence with every projection even, shifted by chance.
    #[default]
    Sobol,
    /// One start in each of N slices of every parameter.
    LatinHypercube,
}

impl Named for Design {
    const NAMES: &'static [(&'static str, Self)] =
        &[("sobol", Design::Sobol), ("lhs", Design::LatinHypercube)];
}

/// Primitive polynomials and first direction numbers of Joe and Kuo (2008), dimensions 2 to 10.
const DIRECTIONS: [(u32, u32, &[u32]); 9] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
];

/// `n` points of the unit cube of `p` dimensions, a function of the seed.
pub fn points(design: Design, n: usize, p: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Init);
    match design {
        Design::Sobol => {
            let shift: Vec<f64> = (0..p).map(|_| rng.uniform()).collect();
            let point = |i: usize| {
                let at = |k: usize| (coordinate(i as u32, k) + shift[k]).fract();
                (0..p).map(at).collect()
            };
            (0..n).map(point).collect()
        }
        Design::LatinHypercube => {
            let mut out = vec![vec![0.0; p]; n];
            for k in 0..p {
                let mut order: Vec<usize> = (0..n).collect();
                for i in (1..n).rev() {
                    let j = (rng.uniform() * (i + 1) as f64) as usize;
                    order.swap(i, j.min(i));
                }
                for (i, &slice) in order.iter().enumerate() {
                    out[i][k] = (slice as f64 + rng.uniform().min(0.999_999)) / n as f64;
                }
            }
            out
        }
    }
}

/// Coordinate k of Sobol point i; beyond ten dimensions a Weyl sequence of square roots.
fn coordinate(i: u32, k: usize) -> f64 {
    let gray = i ^ (i >> 1);
    if k == 0 {
        return f64::from(gray.reverse_bits()) / 4_294_967_296.0;
    }
    let Some(&(degree, a, first)) = DIRECTIONS.get(k - 1) else {
        let prime = [31, 37, 41, 43, 47, 53, 59, 61, 67, 71][k % 10];
        let step = f64::from(prime + (k as i32 / 20) * 76).sqrt().fract();
        return (f64::from(i) * step).fract();
    };
    let s = degree as usize;
    let mut v = [0u32; 32];
    for (j, &m) in first.iter().enumerate() {
        v[j] = m << (31 - j);
    }
    for j in s..32 {
        v[j] = v[j - s] ^ (v[j - s] >> s);
        for b in 1..s {
            if a >> (s - 1 - b) & 1 == 1 {
                v[j] ^= v[j - b];
            }
        }
    }
    let x = (0..32)
        .filter(|b| gray >> b & 1 == 1)
        .fold(0, |x, b| x ^ v[b]);
    f64::from(x) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_points_meet_every_sixteenth_once_in_every_dimension() {
        for design in [Design::Sobol, Design::LatinHypercube] {
            let all = points(design, 16, 10, 7);
            for k in 0..10 {
                let first = all[0][k];
                let mut cells: Vec<usize> = all
                    .iter()
                    .map(|p| ((p[k] - first).rem_euclid(1.0) * 16.0 + 0.5) as usize % 16)
                    .collect();
                cells.sort_unstable();
                cells.dedup();
                let least = if design == Design::Sobol { 16 } else { 8 };
                assert!(cells.len() >= least, "{design:?}, dimension {k}: {cells:?}");
            }
        }
    }
}
