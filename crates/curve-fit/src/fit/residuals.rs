//! Sums over residuals, tile by tile, as many rows at once as registers hold.

use fitzroy_device::lanes::{Kernel, Lanes};

/// Number of sums.
pub(super) const SUMS: usize = 12;

/// Eight partial sums each of (f − y)², |f − y|, w², (y − c)w², ((y − c)w)², r, r², r³, r⁴, rows
/// above the curve, squared differences of neighbours, and changes of sign.
#[derive(Default)]
pub(super) struct Sums([[f64; 8]; SUMS]);

impl Sums {
    /// Each sum, its partial sums joined by halves.
    pub(super) fn joined(&self) -> [f64; SUMS] {
        self.0
            .map(|p| ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])))
    }
}

/// Adds the rows of a tile.
pub(super) struct Tile<'t> {
    /// Values of the curve, responses, and 1/σ where there are such.
    pub(super) f: &'t [f64],
    pub(super) y: &'t [f64],
    pub(super) weights: Option<&'t [f64]>,
    /// About which squares of y are summed.
    pub(super) centre: f64,
    /// In, first of all, the residual before these; out, after it, theirs.
    pub(super) residuals: &'t mut [f64],
    pub(super) sums: &'t mut Sums,
}

/// Eight numbers of an array, or as many as there are and zeros.
#[inline(always)]
fn eight(from: &[f64], at: usize) -> [f64; 8] {
    let mut out = [0.0; 8];
    match from[at..].first_chunk() {
        Some(all) => out = *all,
        None => out[..from.len() - at].copy_from_slice(&from[at..]),
    }
    out
}

impl Kernel for Tile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.f.len();
        let (zero, one, centre) = (L::splat(0.0), L::splat(1.0), L::splat(self.centre));
        let sign = |r: L| L::select(zero.lt(r), one, zero);
        for at in (0..8).step_by(L::N) {
            let mut sums = [zero; SUMS];
            for (sum, partials) in sums.iter_mut().zip(&self.sums.0) {
                *sum = L::from_block(partials, at);
            }
            let mut row = 0;
            while row < n {
                // Beyond the last row weights are 0, and so is all that is summed.
                let mut ones = [1.0; 8];
                if row + 8 > n {
                    ones[n - row..].fill(0.0);
                }
                let weights = self.weights.map_or(ones, |w| eight(w, row));
                let w = L::from_block(&weights, at);
                let y = L::from_block(&eight(self.y, row), at);
                let d = L::from_block(&eight(self.f, row), at).sub(y);
                let r = d.mul(w);
                let shift = y.sub(centre).mul(w);
                let square = r.mul(r);
                let terms = [
                    d.mul(d),
                    d.abs(),
                    w.mul(w),
                    shift.mul(w),
                    shift.mul(shift),
                    r,
                    square,
                    square.mul(r),
                    square.mul(square),
                    sign(r),
                ];
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum = sum.add(term);
                }
                let own = &mut self.residuals[row + 1..];
                if let Some(own) = own.first_chunk_mut() {
                    r.to_block(own, at);
                } else {
                    let mut all = [0.0; 8];
                    r.to_block(&mut all, at);
                    for (own, r) in own.iter_mut().zip(all).skip(at).take(L::N) {
                        *own = r;
                    }
                }
                row += 8;
            }
            for (partials, sum) in self.sums.0.iter_mut().zip(sums) {
                sum.to_block(partials, at);
            }
        }
        let (before, after) = (&self.residuals[..n], &self.residuals[1..]);
        for at in (0..8).step_by(L::N) {
            let [.., squares, changes] = &mut self.sums.0;
            let mut sums = [&*squares, &*changes].map(|partials| L::from_block(partials, at));
            for row in (0..n).step_by(8) {
                let a = L::from_block(&eight(before, row), at);
                let b = L::from_block(&eight(after, row), at);
                let d = b.sub(a);
                sums[0] = sums[0].add(d.mul(d));
                sums[1] = sums[1].add(sign(a).sub(sign(b)).abs());
            }
            sums[0].to_block(squares, at);
            sums[1].to_block(changes, at);
        }
    }
}
