//! Sums over residuals, tile by tile, as many rows at once as registers hold.

use fitzroy_device::lanes::{Kernel, Lanes, Level};

/// Number of sums, and of those over rows, before those over neighbours.
pub(super) const SUMS: usize = 12;
const TERMS: usize = 10;
/// Weights of rows without sigma.
const ONES: [f64; 8] = [1.0; 8];

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
        for at in (0..8).step_by(L::N) {
            let mut sums = [L::splat(0.0); TERMS];
            for (sum, partials) in sums.iter_mut().zip(&self.sums.0) {
                *sum = L::from_block(partials, at);
            }
            let (f, left) = self.f.as_chunks::<8>();
            let (y, _) = self.y.as_chunks::<8>();
            let (own, rest) = self.residuals[1..].as_chunks_mut::<8>();
            let whole = f.len();
            match self.weights.map(|w| w.as_chunks::<8>().0) {
                None => {
                    for ((f, y), r) in f.iter().zip(y).zip(own) {
                        terms::<L>([f, y, &ONES], self.centre, at, r, &mut sums);
                    }
                }
                Some(w) => {
                    for (((f, y), w), r) in f.iter().zip(y).zip(w).zip(own) {
                        terms::<L>([f, y, w], self.centre, at, r, &mut sums);
                    }
                }
            }
            if !left.is_empty() {
                // Beyond the last row weights are 0, and so is all that is summed.
                let mut ones = [0.0; 8];
                ones[..left.len()].fill(1.0);
                let row = 8 * whole;
                let w = self.weights.map_or(ones, |w| eight(w, row));
                let mut all = [0.0; 8];
                let rows = [&eight(self.f, row), &eight(self.y, row), &w];
                terms::<L>(rows, self.centre, at, &mut all, &mut sums);
                let written = rest.iter_mut().zip(all).skip(at).take(L::N);
                written.for_each(|(own, r)| *own = r);
            }
            for (partials, sum) in self.sums.0.iter_mut().zip(sums) {
                sum.to_block(partials, at);
            }
        }
        let pairs = Pairs {
            before: &self.residuals[..n],
            own: &self.residuals[1..],
        };
        pairs.add::<L, Differences, 2>(&mut self.sums.0[TERMS..]);
    }
}

/// 1 above 0, else 0.
#[inline(always)]
fn sign<L: Lanes>(r: L) -> L {
    let zero = L::splat(0.0);
    L::select(zero.lt(r), L::splat(1.0), zero)
}

/// Adds the terms of eight rows of f, y and w, and writes their residuals.
#[inline(always)]
fn terms<L: Lanes>(
    [f, y, w]: [&[f64; 8]; 3],
    centre: f64,
    at: usize,
    residuals: &mut [f64; 8],
    sums: &mut [L; TERMS],
) {
    let (f, y, w) = (
        L::from_block(f, at),
        L::from_block(y, at),
        L::from_block(w, at),
    );
    let d = f.sub(y);
    let r = d.mul(w);
    let shift = y.sub(L::splat(centre)).mul(w);
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
    for k in 0..TERMS {
        sums[k] = sums[k].add(terms[k]);
    }
    r.to_block(residuals, at);
}

/// What residuals share with others before them: sums over rows.
pub(super) struct Shared {
    /// Of products of each with what is before it, and of the squares of these.
    pub(super) products: f64,
    pub(super) squares: f64,
    /// Of its own squares.
    pub(super) own: f64,
    /// Residuals above 0, and those of another sign than what is before.
    pub(super) up: f64,
    pub(super) changes: f64,
}

impl Shared {
    /// Of `own` residuals, each with its number of `before`.
    pub(super) fn of(before: &[f64], own: &[f64]) -> Shared {
        let [products, squares, own, up, changes] = Level::detect().run(Pairs { before, own });
        Shared {
            products,
            squares,
            own,
            up,
            changes,
        }
    }
}

/// What is summed over pairs.
trait Terms<const K: usize> {
    fn of<L: Lanes>(before: L, own: L) -> [L; K];
}

/// Squares of differences, and changes of sign.
struct Differences;

impl Terms<2> for Differences {
    #[inline(always)]
    fn of<L: Lanes>(before: L, own: L) -> [L; 2] {
        let d = own.sub(before);
        [d.mul(d), sign(before).sub(sign(own)).abs()]
    }
}

/// What [`Shared`] has, in its order.
struct Products;

impl Terms<5> for Products {
    #[inline(always)]
    fn of<L: Lanes>(before: L, own: L) -> [L; 5] {
        let product = before.mul(own);
        let (above, changed) = (sign(own), sign(own).sub(sign(before)).abs());
        [product, product.mul(product), own.mul(own), above, changed]
    }
}

struct Pairs<'p> {
    before: &'p [f64],
    own: &'p [f64],
}

impl Pairs<'_> {
    /// Adds `terms` of all pairs to eight partial sums of each.
    #[inline(always)]
    fn add<L: Lanes, T: Terms<K>, const K: usize>(&self, partial: &mut [[f64; 8]]) {
        let (before, _) = self.before.as_chunks::<8>();
        let (own, left) = self.own.as_chunks::<8>();
        for at in (0..8).step_by(L::N) {
            let mut sums = [L::splat(0.0); K];
            for (sum, partial) in sums.iter_mut().zip(&*partial) {
                *sum = L::from_block(partial, at);
            }
            for (before, own) in before.iter().zip(own) {
                let terms = T::of(L::from_block(before, at), L::from_block(own, at));
                for k in 0..K {
                    sums[k] = sums[k].add(terms[k]);
                }
            }
            // Beyond the last row both are 0, and so is all that is summed.
            if !left.is_empty() {
                let row = 8 * own.len();
                let before = L::from_block(&eight(self.before, row), at);
                let terms = T::of(before, L::from_block(&eight(self.own, row), at));
                for k in 0..K {
                    sums[k] = sums[k].add(terms[k]);
                }
            }
            for (partial, sum) in partial.iter_mut().zip(sums) {
                sum.to_block(partial, at);
            }
        }
    }
}

impl Kernel for Pairs<'_> {
    type Output = [f64; 5];

    #[inline(always)]
    fn run<L: Lanes>(self) -> [f64; 5] {
        let mut partial = [[0.0; 8]; 5];
        self.add::<L, Products, 5>(&mut partial);
        partial.map(|sums| sums.iter().sum())
    }
}

/// Adds to each number the one `width` before it, as it was.
pub(super) fn widen(sums: &mut [f64], width: usize) {
    Level::detect().run(Widen { sums, width });
}

struct Widen<'w> {
    sums: &'w mut [f64],
    width: usize,
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Widen { sums, width } = self;
        let mut end = sums.len();
        // From the end, where nothing that is still to be read was written.
        while end >= width + 8 {
            let at = end - 8;
            let earlier = eight(sums, at - width);
            if let Some(own) = sums[at..].first_chunk_mut::<8>() {
                for at in (0..8).step_by(L::N) {
                    let sum = L::from_block(own, at).add(L::from_block(&earlier, at));
                    sum.to_block(own, at);
                }
            }
            end = at;
        }
        for at in (width..end).rev() {
            sums[at] += sums[at - width];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy::rng::{Purpose, Rng};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + b.abs())
    }

    /// Sums are those of plain loops, whatever the number of rows.
    #[test]
    fn sums_are_those_of_plain_loops() {
        let mut rng = Rng::new(7, 0, 0, 0, Purpose::Test);
        for n in (1..40).chain([63, 64, 65, 1000]) {
            let mut draw = || (0..n).map(|_| rng.normal()).collect::<Vec<f64>>();
            let (f, y, w) = (draw(), draw(), draw());
            for weights in [None, Some(&w[..])] {
                let weigh = |i: usize| weights.map_or(1.0, |w| w[i]);
                let r: Vec<f64> = (0..n).map(|i| (f[i] - y[i]) * weigh(i)).collect();
                let mut residuals = vec![0.3; n + 1];
                let mut sums = Sums::default();
                Level::detect().run(Tile {
                    f: &f,
                    y: &y,
                    weights,
                    centre: 0.25,
                    residuals: &mut residuals,
                    sums: &mut sums,
                });
                assert_eq!(residuals[1..], r);
                let mut want = [0.0; SUMS];
                for (i, &own) in r.iter().enumerate() {
                    let (d, w) = (f[i] - y[i], weigh(i));
                    let shift = (y[i] - 0.25) * w;
                    let above = |r: f64| f64::from(u8::from(r > 0.0));
                    let last = residuals[i];
                    let terms = [
                        d * d,
                        d.abs(),
                        w * w,
                        shift * w,
                        shift * shift,
                        own,
                        own * own,
                        own.powi(3),
                        own.powi(4),
                        above(own),
                        (own - last).powi(2),
                        (above(own) - above(last)).abs(),
                    ];
                    want.iter_mut().zip(terms).for_each(|(sum, x)| *sum += x);
                }
                for (got, want) in sums.joined().into_iter().zip(want) {
                    assert!(near(got, want), "{n} rows: {got} {want}");
                }
            }
            let shared = Shared::of(&f, &y);
            let products: f64 = f.iter().zip(&y).map(|(a, b)| a * b).sum();
            let squares: f64 = f.iter().zip(&y).map(|(a, b)| (a * b).powi(2)).sum();
            let own: f64 = y.iter().map(|b| b * b).sum();
            let changes = f.iter().zip(&y).filter(|(a, b)| (**a > 0.0) != (**b > 0.0));
            assert!(near(shared.products, products) && near(shared.squares, squares));
            assert!(near(shared.own, own) && shared.changes == changes.count() as f64);
            assert_eq!(shared.up, y.iter().filter(|b| **b > 0.0).count() as f64);
            for width in [1, 2, 4, 8] {
                let mut wide = f.clone();
                widen(&mut wide, width);
                let want = (0..n).map(|i| if i < width { f[i] } else { f[i] + f[i - width] });
                assert_eq!(wide, want.collect::<Vec<f64>>(), "{n} rows, {width}");
            }
        }
    }
}
