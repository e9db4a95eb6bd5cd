//! Standard errors of fits that have ended, eight at a time.

use super::eights::{Eight, Eights};
use fitzroy_device::lanes::{Kernel, Lanes, Level};

/// A pivot of the scaled normal matrix below which parameters cannot be told apart.
const SINGULAR: f64 = 1e-15;

/// Fits whose errors are not known yet.
pub(super) struct Errors {
    p: usize,
    level: Level,
    /// Which fits, and s² of each.
    fits: Vec<usize>,
    s2: Eight,
    /// Their normal matrices: a ≤ b, row by row.
    normal: Eights,
    work: Eights,
    diagonal: Eights,
}

impl Errors {
    /// For fits of `p` parameters.
    pub(super) fn new(p: usize) -> Self {
        Errors {
            p,
            level: Level::detect(),
            fits: Vec::with_capacity(8),
            s2: [0.0; 8],
            normal: Eights::zeros(p * (p + 1) / 2),
            work: Eights::zeros(p * p + p),
            diagonal: Eights::zeros(p),
        }
    }

    /// Takes fit `fit` with entries A_ab, a ≤ b, of its normal matrix; √(s² (A⁻¹)_aa) of this fit
    /// and of others is written to `se` now or later.
    pub(super) fn take(
        &mut self,
        fit: usize,
        entry: impl Fn(usize, usize) -> f64,
        s2: f64,
        se: &mut [f64],
    ) {
        let (p, lane) = (self.p, self.fits.len());
        let mut at = 0;
        for a in 0..p {
            for b in a..p {
                self.normal[at][lane] = entry(a, b);
                at += 1;
            }
        }
        self.s2[lane] = s2;
        self.fits.push(fit);
        if self.fits.len() == 8 {
            self.give(se);
        }
    }

    /// Writes the errors of all fits that were taken; NaN where the matrix is singular.
    pub(super) fn give(&mut self, se: &mut [f64]) {
        self.level.run(Inverse {
            p: self.p,
            normal: &self.normal,
            work: &mut self.work,
            diagonal: &mut self.diagonal,
        });
        for (lane, &fit) in self.fits.iter().enumerate() {
            for (a, diagonal) in self.diagonal.iter().enumerate() {
                se[fit * self.p + a] = (diagonal[lane] * self.s2[lane]).sqrt();
            }
        }
        self.fits.clear();
    }
}

/// The diagonal of A⁻¹ in every lane, by Cholesky in scaled variables.
struct Inverse<'e> {
    p: usize,
    normal: &'e [Eight],
    /// L and, above its diagonal, columns of L⁻¹; then 1/√A_aa.
    work: &'e mut [Eight],
    /// NaN where A is not positive definite.
    diagonal: &'e mut [Eight],
}

impl Kernel for Inverse<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let p = self.p;
        let (l, scale) = self.work.split_at_mut(p * p);
        let pair = |a: usize, b: usize| a * p + b - a * (a + 1) / 2;
        for at in (0..8).step_by(L::N) {
            let one = L::splat(1.0);
            let mut sound = one;
            for k in 0..p {
                // Where A_aa stands among the entries a ≤ b of row a.
                let entry = L::from_block(&self.normal[pair(k, k)], at);
                one.div(entry.sqrt()).to_block(&mut scale[k], at);
            }
            for j in 0..p {
                for i in j..p {
                    let size = L::from_block(&scale[i], at).mul(L::from_block(&scale[j], at));
                    let mut s = L::from_block(&self.normal[pair(j, i)], at).mul(size);
                    for k in 0..j {
                        let a = L::from_block(&l[i * p + k], at);
                        s = s.sub(a.mul(L::from_block(&l[j * p + k], at)));
                    }
                    // The diagonal holds 1/L_jj.
                    let entry = if i == j {
                        let fine = L::splat(SINGULAR).lt(s);
                        sound = L::select(fine, sound, L::splat(f64::NAN));
                        one.div(s.sqrt())
                    } else {
                        s.mul(L::from_block(&l[j * p + j], at))
                    };
                    entry.to_block(&mut l[i * p + j], at);
                }
            }
            for k in 0..p {
                let first = L::from_block(&l[k * p + k], at);
                let mut sum = first.mul(first);
                // x solves L x = e_k; kept above the diagonal, row k.
                for i in k + 1..p {
                    let mut s = L::from_block(&l[i * p + k], at).neg().mul(first);
                    for j in k + 1..i {
                        let a = L::from_block(&l[i * p + j], at);
                        s = s.sub(a.mul(L::from_block(&l[k * p + j], at)));
                    }
                    let x = s.mul(L::from_block(&l[i * p + i], at));
                    x.to_block(&mut l[k * p + i], at);
                    sum = sum.add(x.mul(x));
                }
                let d = L::from_block(&scale[k], at);
                sum.mul(d)
                    .mul(d)
                    .mul(sound)
                    .to_block(&mut self.diagonal[k], at);
            }
        }
    }
}
