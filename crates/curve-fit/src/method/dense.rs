//! Small dense matrices, row by row: Cholesky, Householder QR, singular values.

use fitzroy_device::lanes::{Kernel, Lanes, Level};

/// Factors the symmetric `a` (n × n) as L Lᵀ in place of its lower triangle; false when it is not
/// positive definite.
pub fn cholesky(a: &mut [f64], n: usize) -> bool {
    for j in 0..n {
        let mut d = a[j * n + j];
        for k in 0..j {
            d -= a[j * n + k] * a[j * n + k];
        }
        // Also false for NaN.
        if !(d > 0.0 && d.is_finite()) {
            return false;
        }
        let d = d.sqrt();
        a[j * n + j] = d;
        for i in j + 1..n {
            let mut s = a[i * n + j];
            for k in 0..j {
                s -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = s / d;
        }
    }
    true
}

/// Solves L Lᵀ x = b in place.
pub fn cholesky_solve(l: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        for k in 0..i {
            b[i] -= l[i * n + k] * b[k];
        }
        b[i] /= l[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= l[k * n + i] * b[k];
        }
        b[i] /= l[i * n + i];
    }
}

/// The inverse of a symmetric positive definite matrix; `None` when it is not.
pub fn inverse(a: &[f64], n: usize) -> Option<Vec<f64>> {
    // In scaled variables, so that units do not enter.
    let d: Vec<f64> = (0..n).map(|k| a[k * n + k].sqrt()).collect();
    if d.iter().any(|&x| !(x > 0.0 && x.is_finite())) {
        return None;
    }
    let mut l: Vec<f64> = (0..n * n).map(|i| a[i] / d[i / n] / d[i % n]).collect();
    if !cholesky(&mut l, n) {
        return None;
    }
    let (mut out, mut e) = (vec![0.0; n * n], vec![0.0; n]);
    for k in 0..n {
        e.fill(0.0);
        e[k] = 1.0;
        cholesky_solve(&l, n, &mut e);
        for i in 0..n {
            out[i * n + k] = e[i] / d[i] / d[k];
        }
    }
    for i in 0..n {
        for k in 0..i {
            let mean = 0.5 * (out[i * n + k] + out[k * n + i]);
            (out[i * n + k], out[k * n + i]) = (mean, mean);
        }
    }
    Some(out)
}

/// A triangle R with RᵀR = ΣCᵀC over blocks of rows C: Householder QR, block by block.
///
/// Sums over a block go to 32 partials, row i to partial i mod 32, whatever the registers.
#[derive(Clone, Debug)]
pub struct Triangle {
    n: usize,
    /// R_ij at `i + j * n`; 0 below the diagonal.
    head: Vec<f64>,
    /// The rows of a block that are being added, in groups of [`PARTIALS`]; column k at
    /// `k * height`.
    work: Vec<Group>,
    height: usize,
    level: Level,
}

/// Rows of a block, as many as there are partial sums.
type Group = [[f64; 8]; PARTIALS / 8];

/// Partial sums of a column.
const PARTIALS: usize = 32;

impl Triangle {
    /// The triangle of no rows, for `n` columns in blocks of up to `block` rows.
    pub fn new(n: usize, block: usize) -> Self {
        let height = block.div_ceil(PARTIALS);
        Triangle {
            n,
            head: vec![0.0; n * n],
            work: vec![[[0.0; 8]; PARTIALS / 8]; n * height],
            height,
            level: Level::detect(),
        }
    }

    /// Back to no rows.
    pub fn clear(&mut self) {
        self.head.fill(0.0);
    }

    /// Adds a block of rows, given by columns of equal length.
    ///
    /// # Panics
    /// When the block has more rows than there is room for.
    #[track_caller]
    pub fn add(&mut self, columns: &[Vec<f64>]) {
        let groups = columns[0].len().div_ceil(PARTIALS);
        assert!(
            groups <= self.height,
            "a block of at most the size asked for"
        );
        for (column, work) in columns.iter().zip(self.work.chunks_mut(self.height)) {
            let flat = work[..groups].as_flattened_mut().as_flattened_mut();
            let (own, rest) = flat.split_at_mut(column.len());
            own.copy_from_slice(column);
            // Rows of zeros change nothing.
            rest.fill(0.0);
        }
        self.level.run(Reduce {
            n: self.n,
            head: &mut self.head,
            work: &mut self.work,
            height: self.height,
            groups,
        });
    }

    /// R_ij, 0 below the diagonal.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.head[i + j * self.n]
    }

    /// Number of columns.
    pub fn n(&self) -> usize {
        self.n
    }
}

/// Eliminates a block of rows below a triangle, column by column.
struct Reduce<'r> {
    n: usize,
    head: &'r mut [f64],
    work: &'r mut [Group],
    height: usize,
    groups: usize,
}

impl Kernel for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for k in 0..self.n {
            let (before, after) = self.work.split_at_mut((k + 1) * self.height);
            let v = &before[k * self.height..][..self.groups];
            let below = dot::<L>(v, v);
            if below == 0.0 {
                continue;
            }
            // Rows between the diagonal and the block are zero.
            let x = self.head[k + k * self.n];
            let norm = (x * x + below).sqrt();
            let pivot = if x > 0.0 { x + norm } else { x - norm };
            self.head[k + k * self.n] = if x > 0.0 { -norm } else { norm };
            let beta = 2.0 / (pivot * pivot + below);
            for (j, column) in after.chunks_mut(self.height).enumerate() {
                let w = &mut column[..self.groups];
                let head = &mut self.head[k + (k + 1 + j) * self.n];
                let t = beta * (pivot * *head + dot::<L>(v, w));
                *head -= t * pivot;
                subtract::<L>(w, t, v);
            }
        }
    }
}

/// Σ vw, partials joined by halves.
#[inline(always)]
fn dot<L: Lanes>(v: &[Group], w: &[Group]) -> f64 {
    let mut sums = [[0.0; 8]; PARTIALS / 8];
    for at in (0..8).step_by(L::N) {
        let mut sum = [L::splat(0.0); PARTIALS / 8];
        for (v, w) in v.iter().zip(w) {
            for (part, sum) in sum.iter_mut().enumerate() {
                *sum = L::from_block(&v[part], at).fma(L::from_block(&w[part], at), *sum);
            }
        }
        for (to, sum) in sums.iter_mut().zip(sum) {
            sum.to_block(to, at);
        }
    }
    let all = sums.as_flattened_mut();
    let mut half = PARTIALS / 2;
    while half > 0 {
        for j in 0..half {
            all[j] += all[j + half];
        }
        half /= 2;
    }
    all[0]
}

/// w − tv.
#[inline(always)]
fn subtract<L: Lanes>(w: &mut [Group], t: f64, v: &[Group]) {
    let t = L::splat(-t);
    for (w, v) in w.as_flattened_mut().iter_mut().zip(v.as_flattened()) {
        for at in (0..8).step_by(L::N) {
            let new = t.fma(L::from_block(v, at), L::from_block(w, at));
            new.to_block(w, at);
        }
    }
}

/// Σ xᵢyᵢ in eight sums, which the processor adds side by side.
pub(crate) fn dot_product(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (left, right) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail = left.remainder().iter().zip(right.remainder());
    let tail: f64 = tail.map(|(x, y)| x * y).sum();
    for (x, y) in left.zip(right) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// Singular values of an m × n matrix given by columns, largest first, and the right singular
/// vectors: one-sided Jacobi rotations.
pub fn singular(columns: &mut [Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = columns.len();
    let unit = |k: usize| (0..n).map(|i| f64::from(u8::from(i == k))).collect();
    let mut v: Vec<Vec<f64>> = (0..n).map(unit).collect();
    // A product of so many terms is not known better.
    let rounding = f64::EPSILON * (columns.first().map_or(1, Vec::len) as f64).sqrt();
    for _ in 0..60 {
        let mut turned = false;
        // Lengths change with each turn by what it moves from one column to the other.
        let mut squares: Vec<f64> = columns.iter().map(|x| dot_product(x, x)).collect();
        for i in 0..n {
            for j in i + 1..n {
                let (a, b) = (squares[i], squares[j]);
                let c = dot_product(&columns[i], &columns[j]);
                if c.abs() <= rounding * (a * b).sqrt() || c == 0.0 {
                    continue;
                }
                turned = true;
                let zeta = (b - a) / (2.0 * c);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let t = if zeta == 0.0 { 1.0 } else { t };
                let cos = 1.0 / (1.0 + t * t).sqrt();
                for set in [&mut *columns, &mut v] {
                    let (left, right) = set.split_at_mut(j);
                    for (x, y) in left[i].iter_mut().zip(right[0].iter_mut()) {
                        (*x, *y) = (cos * (*x - t * *y), cos * (t * *x + *y));
                    }
                }
                // What cancels is summed anew.
                squares[i] = match a - t * c {
                    left if left > 0.1 * a => left,
                    _ => dot_product(&columns[i], &columns[i]),
                };
                squares[j] = match b + t * c {
                    left if left > 0.1 * b => left,
                    _ => dot_product(&columns[j], &columns[j]),
                };
            }
        }
        if !turned {
            break;
        }
    }
    let mut order: Vec<(f64, usize)> = (0..n)
        .map(|k| (dot_product(&columns[k], &columns[k]).sqrt(), k))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let values = order.iter().map(|o| o.0).collect();
    let vectors = order.iter().map(|o| v[o.1].clone()).collect();
    (values, vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy::rng::{Purpose, Rng};

    #[test]
    fn a_triangle_of_blocks_has_the_gram_matrix_of_all_rows() {
        let column = |k: usize| (0..50).map(move |i| ((i * (k + 3) * 17) % 29) as f64 - 14.0);
        let all: Vec<Vec<f64>> = (0..4).map(|k| column(k).collect()).collect();
        let mut r = Triangle::new(4, 16);
        for start in (0..50).step_by(16) {
            let end = (start + 16).min(50);
            let block: Vec<Vec<f64>> = all.iter().map(|c| c[start..end].to_vec()).collect();
            r.add(&block);
        }
        for i in 0..4 {
            for j in 0..4 {
                let want: f64 = all[i].iter().zip(&all[j]).map(|(a, b)| a * b).sum();
                let got: f64 = (0..4).map(|k| r.at(k, i) * r.at(k, j)).sum();
                assert!(
                    (got - want).abs() < 1e-10 * want.abs().max(1.0),
                    "{got} {want}"
                );
            }
        }
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let a = [4.0, 1.0, 1e-3, 1.0, 3.0, 2e-3, 1e-3, 2e-3, 1e-5];
        let b = inverse(&a, 3).expect("positive definite");
        for i in 0..3 {
            for j in 0..3 {
                let got: f64 = (0..3).map(|k| a[i * 3 + k] * b[k * 3 + j]).sum();
                let want = f64::from(u8::from(i == j));
                assert!((got - want).abs() < 1e-9, "{got}");
            }
        }
        assert!(inverse(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }

    #[test]
    fn singular_values_of_a_known_matrix() {
        // [[3, 0], [4, 5]] has 3√5 and √5.
        let (s, v) = singular(&mut [vec![3.0, 4.0], vec![0.0, 5.0]]);
        assert!((s[0] - 3.0 * 5f64.sqrt()).abs() < 1e-13 && (s[1] - 5f64.sqrt()).abs() < 1e-13);
        assert!((v[0][0].abs() - 0.5f64.sqrt()).abs() < 1e-13);
    }

    /// AᵀA v = s² v with orthonormal v, of random sizes and scales, and with columns that depend on others.
    #[test]
    fn singular_vectors_of_random_matrices_are_eigenvectors_of_their_squares() {
        let mut rng = Rng::new(5, 0, 0, 0, Purpose::Data);
        for n in [1, 2, 3, 7, 16, 41, 90] {
            let rows = n + n / 2;
            let mut columns: Vec<Vec<f64>> = (0..n)
                .map(|_| {
                    let scale = (4.0 * rng.normal()).exp();
                    (0..rows).map(|_| scale * rng.normal()).collect()
                })
                .collect();
            if n > 2 {
                columns[2] = columns[0].iter().map(|x| -3.0 * x).collect();
            }
            let given = columns.clone();
            let (values, vectors) = singular(&mut columns);
            assert!(values.is_sorted_by(|a, b| a >= b));
            let times = |v: &[f64]| -> Vec<f64> {
                let row = |i: usize| given.iter().zip(v).map(|(c, x)| c[i] * x).sum();
                (0..rows).map(row).collect()
            };
            let room = 1e-13 * values[0] * values[0] * n as f64;
            for (k, (s, v)) in values.iter().zip(&vectors).enumerate() {
                let image = times(v);
                for (j, column) in given.iter().enumerate() {
                    let back: f64 = column.iter().zip(&image).map(|(x, y)| x * y).sum();
                    assert!((back - s * s * v[j]).abs() < room, "{n} {k} {j}");
                }
                for (l, other) in vectors.iter().enumerate() {
                    let product: f64 = v.iter().zip(other).map(|(x, y)| x * y).sum();
                    let unit = f64::from(u8::from(k == l));
                    assert!((product - unit).abs() < 1e-12 * n as f64, "{n} {k} {l}");
                }
            }
            if n > 2 {
                assert!(values[n - 1] < 1e-14 * values[0] * n as f64, "{n}");
            }
        }
    }
}
