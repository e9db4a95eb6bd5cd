//! Damped steps of eight problems at once, a problem in each lane.

use fitzroy_device::lanes::{Kernel, Lanes};

/// Numbers of eight problems.
pub(super) type Eight = [f64; 8];

/// 0 in the lanes whose sums are all finite, else NaN.
pub(super) struct Finite<'s> {
    pub(super) sums: &'s [Eight],
    pub(super) to: &'s mut Eight,
}

impl Kernel for Finite<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for at in (0..8).step_by(L::N) {
            let zero = L::splat(0.0);
            let mut found = zero;
            for sum in self.sums {
                found = L::from_block(sum, at).fma(zero, found);
            }
            found.to_block(self.to, at);
        }
    }
}

/// Takes over what was accepted, then solves (Â + λI) v = −ĝ in every lane.
pub(super) struct Step<'s> {
    /// Number of parameters.
    pub(super) p: usize,
    /// Sums of products of `[J…, r]` at the trial points.
    pub(super) there: &'s [Eight],
    /// The same at the best points.
    pub(super) here: &'s mut [Eight],
    /// Best points.
    pub(super) theta: &'s mut [Eight],
    /// Trial points: in, those just evaluated; out, the next.
    pub(super) trial: &'s mut [Eight],
    /// 1 in the lanes whose trial point was accepted, else 0.
    pub(super) accept: &'s Eight,
    /// Running maxima of √A_aa.
    pub(super) scale: &'s mut [Eight],
    /// Damping.
    pub(super) lambda: &'s Eight,
    /// Expected reduction of the cost; NaN where the matrix was not positive definite.
    pub(super) predicted: &'s mut Eight,
    /// Largest relative change of a parameter.
    pub(super) change: &'s mut Eight,
    /// Room for p(p+1)/2 + 2p numbers.
    pub(super) work: &'s mut [Eight],
}

/// Which sum the product of columns a ≤ b of q is.
fn pair(q: usize, a: usize, b: usize) -> usize {
    a * q + b - a * (a + 1) / 2
}

/// Where L_ij, j ≤ i, stands.
fn lower(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl Kernel for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (p, q) = (self.p, self.p + 1);
        let n_factor = p * (p + 1) / 2;
        for at in (0..8).step_by(L::N) {
            let zero = L::splat(0.0);
            let one = L::splat(1.0);
            let reject = L::from_block(self.accept, at).eq(zero);
            for (here, there) in self.here.iter_mut().zip(self.there) {
                let kept = L::select(reject, L::from_block(here, at), L::from_block(there, at));
                kept.to_block(here, at);
            }
            for (theta, trial) in self.theta.iter_mut().zip(self.trial.iter()) {
                let kept = L::select(reject, L::from_block(theta, at), L::from_block(trial, at));
                kept.to_block(theta, at);
            }
            // Scale: work[n_factor + k] = 1/d_k.
            for k in 0..p {
                let diagonal = L::from_block(&self.here[pair(q, k, k)], at).sqrt();
                let d = diagonal.greater(L::from_block(&self.scale[k], at));
                let d = L::select(zero.lt(d), d, one);
                d.to_block(&mut self.scale[k], at);
                one.div(d).to_block(&mut self.work[n_factor + k], at);
            }
            // Cholesky of Â + λI; a pivot that is not positive spoils its lane with NaN.
            let lambda = L::from_block(self.lambda, at);
            for j in 0..p {
                let dj = L::from_block(&self.work[n_factor + j], at);
                for i in j..p {
                    let di = L::from_block(&self.work[n_factor + i], at);
                    let mut s = L::from_block(&self.here[pair(q, j, i)], at).mul(di).mul(dj);
                    if i == j {
                        s = s.add(lambda);
                    }
                    for k in 0..j {
                        let a = L::from_block(&self.work[lower(i, k)], at);
                        let b = L::from_block(&self.work[lower(j, k)], at);
                        s = a.neg().fma(b, s);
                    }
                    // The diagonal holds 1/L_jj.
                    let entry = if i == j {
                        one.div(s.sqrt())
                    } else {
                        s.mul(L::from_block(&self.work[lower(j, j)], at))
                    };
                    entry.to_block(&mut self.work[lower(i, j)], at);
                }
            }
            // v, at work[n_factor + p ..].
            let v = n_factor + p;
            let mut gv = zero;
            for i in 0..p {
                let g = L::from_block(&self.here[pair(q, i, p)], at);
                let mut s = g.neg().mul(L::from_block(&self.work[n_factor + i], at));
                for k in 0..i {
                    let l = L::from_block(&self.work[lower(i, k)], at);
                    s = l.neg().fma(L::from_block(&self.work[v + k], at), s);
                }
                let s = s.mul(L::from_block(&self.work[lower(i, i)], at));
                s.to_block(&mut self.work[v + i], at);
            }
            let mut vv = zero;
            for i in (0..p).rev() {
                let mut s = L::from_block(&self.work[v + i], at);
                for k in i + 1..p {
                    let l = L::from_block(&self.work[lower(k, i)], at);
                    s = l.neg().fma(L::from_block(&self.work[v + k], at), s);
                }
                let s = s.mul(L::from_block(&self.work[lower(i, i)], at));
                s.to_block(&mut self.work[v + i], at);
                vv = s.fma(s, vv);
            }
            let mut change = zero;
            let tiny = L::splat(1e-300);
            for k in 0..p {
                let inverse = L::from_block(&self.work[n_factor + k], at);
                let step = L::from_block(&self.work[v + k], at).mul(inverse);
                let g = L::from_block(&self.here[pair(q, k, p)], at);
                gv = g.fma(step, gv);
                let theta = L::from_block(&self.theta[k], at);
                theta.add(step).to_block(&mut self.trial[k], at);
                change = step.abs().div(theta.abs().greater(tiny)).greater(change);
            }
            let predicted = lambda.fma(vv, gv.neg()).mul(L::splat(0.5));
            predicted.to_block(self.predicted, at);
            change.to_block(self.change, at);
        }
    }
}
