//! Loops over rows: activation, normalisation, sums by index. One struct each, run by a level.

use super::number::{Kernel, Number};
use super::wide::Wide;
use crate::lanes::Level;

/// Under the square root of the normalisation.
const NORM_EPSILON: f64 = 1e-5;

/// Starts of the blocks of sixteen in a row.
macro_rules! columns {
    ($at:ident in $n:expr => $body:block) => {
        let mut $at = 0;
        while $at < $n {
            $body
            $at += 16;
        }
    };
}

/// s = 1 / (1 + exp(−x)).
#[inline(always)]
fn sigmoid<E: Number, W: Wide<E>>(x: W) -> W {
    let one = W::splat(E::from_f64(1.0));
    let e = W::splat(E::default()).sub(x).exp();
    one.div(one.add(e))
}

/// to = x·s(x).
pub(super) fn silu<E: Number>(level: Level, from: &[E], to: &mut [E]) {
    assert_eq!(from.len(), to.len());
    E::run(level, Silu { from, to });
}

struct Silu<'a, E> {
    from: &'a [E],
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for Silu<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        columns!(at in self.from.len() => {
            let x = W::read(&self.from[at..]);
            x.mul(sigmoid::<E, W>(x)).write(&mut self.to[at..]);
        });
    }
}

/// slope ← slope·SiLU'(x), SiLU' = s (1 + x (1 − s)).
pub(super) fn silu_backward<E: Number>(level: Level, x: &[E], slope: &mut [E]) {
    assert_eq!(x.len(), slope.len());
    E::run(level, SiluBackward { x, slope });
}

struct SiluBackward<'a, E> {
    x: &'a [E],
    slope: &'a mut [E],
}

impl<E: Number> Kernel<E> for SiluBackward<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let one = W::splat(E::from_f64(1.0));
        columns!(at in self.x.len() => {
            let x = W::read(&self.x[at..]);
            let s = sigmoid::<E, W>(x);
            let d = s.mul(one.add(x.mul(one.sub(s))));
            d.mul(W::read(&self.slope[at..])).write(&mut self.slope[at..]);
        });
    }
}

/// to ← to + from.
pub(super) fn add<E: Number>(level: Level, from: &[E], to: &mut [E]) {
    assert_eq!(from.len(), to.len());
    E::run(level, Add { from, to });
}

struct Add<'a, E> {
    from: &'a [E],
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for Add<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        columns!(at in self.from.len() => {
            let sum = W::read(&self.to[at..]).add(W::read(&self.from[at..]));
            sum.write(&mut self.to[at..]);
        });
    }
}

/// to ← a + b.
pub(super) fn sum_of<E: Number>(level: Level, a: &[E], b: &[E], to: &mut [E]) {
    assert!(a.len() == to.len() && b.len() == to.len());
    E::run(level, SumOf { a, b, to });
}

struct SumOf<'a, E> {
    a: &'a [E],
    b: &'a [E],
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for SumOf<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        columns!(at in self.a.len() => {
            let sum = W::read(&self.a[at..]).add(W::read(&self.b[at..]));
            sum.write(&mut self.to[at..]);
        });
    }
}

/// Row i of `to` ← + row `index[i]` of `table`.
pub(super) fn add_rows<E: Number>(
    level: Level,
    width: usize,
    table: &[E],
    index: &[u32],
    to: &mut [E],
) {
    assert_eq!(to.len(), index.len() * width);
    E::run(
        level,
        AddRows {
            width,
            table,
            index,
            to,
        },
    );
}

struct AddRows<'a, E> {
    width: usize,
    table: &'a [E],
    index: &'a [u32],
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for AddRows<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.width;
        for (row, &i) in self.to.chunks_exact_mut(n).zip(self.index) {
            let from = &self.table[i as usize * n..][..n];
            columns!(at in n => {
                let sum = W::read(&row[at..]).add(W::read(&from[at..]));
                sum.write(&mut row[at..]);
            });
        }
    }
}

/// Row `index[i]` − `first` of `to` ← + row i of `from`.
pub(super) fn add_to_rows<E: Number>(
    level: Level,
    width: usize,
    from: &[E],
    index: &[u32],
    first: usize,
    to: &mut [E],
) {
    assert_eq!(from.len(), index.len() * width);
    E::run(
        level,
        AddToRows {
            width,
            from,
            index,
            first,
            to,
        },
    );
}

struct AddToRows<'a, E> {
    width: usize,
    from: &'a [E],
    index: &'a [u32],
    first: usize,
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for AddToRows<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.width;
        for (row, &i) in self.from.chunks_exact(n).zip(self.index) {
            let to = &mut self.to[(i as usize - self.first) * n..][..n];
            columns!(at in n => {
                let sum = W::read(&to[at..]).add(W::read(&row[at..]));
                sum.write(&mut to[at..]);
            });
        }
    }
}

/// sums ← + Σ over rows.
pub(super) fn column_sums<E: Number>(level: Level, from: &[E], sums: &mut [E]) {
    E::run(level, ColumnSums { from, sums });
}

struct ColumnSums<'a, E> {
    from: &'a [E],
    sums: &'a mut [E],
}

impl<E: Number> Kernel<E> for ColumnSums<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.sums.len();
        columns!(at in n => {
            let mut sum = W::read(&self.sums[at..]);
            for row in self.from.chunks_exact(n) {
                sum = sum.add(W::read(&row[at..]));
            }
            sum.write(&mut self.sums[at..]);
        });
    }
}

/// LayerNorm of rows: x̂ = (z − mean)/√(variance + ε), y = γ x̂ + β. `z` becomes x̂.
pub(super) struct Norm<'a, E> {
    /// Rows; replaced by x̂.
    pub(super) z: &'a mut [E],
    /// 1/√(variance + ε) of each row.
    pub(super) rstd: &'a mut [E],
    /// Scale.
    pub(super) gamma: &'a [E],
    /// Shift.
    pub(super) beta: &'a [E],
    /// Result.
    pub(super) y: &'a mut [E],
}

impl<E: Number> Kernel<E> for Norm<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.gamma.len();
        let share = E::from_f64(1.0 / n as f64);
        let rows = self.z.chunks_exact_mut(n).zip(self.y.chunks_exact_mut(n));
        for ((z, y), rstd) in rows.zip(self.rstd) {
            let mut sum = W::splat(E::default());
            columns!(at in n => { sum = sum.add(W::read(&z[at..])); });
            let mean = W::splat(sum.sum() * share);
            let mut square = W::splat(E::default());
            columns!(at in n => {
                let mut d = W::read(&z[at..]).sub(mean);
                if n - at < 16 {
                    // Lanes beyond the row must count as 0.
                    let mut part = [E::default(); 16];
                    d.write(&mut part[..n - at]);
                    d = W::read(&part);
                }
                square = d.fma(d, square);
            });
            let variance = square.sum() * share + E::from_f64(NORM_EPSILON);
            let one = W::splat(E::from_f64(1.0));
            let scale = one.div(W::splat(variance).sqrt());
            let mut first = [E::default(); 1];
            scale.write(&mut first);
            *rstd = first[0];
            columns!(at in n => {
                let x = W::read(&z[at..]).sub(mean).mul(scale);
                x.write(&mut z[at..]);
                let shifted = x.fma(W::read(&self.gamma[at..]), W::read(&self.beta[at..]));
                shifted.write(&mut y[at..]);
            });
        }
    }
}

/// Backward through LayerNorm: with g̃ = γ g, dz = rstd (g̃ − mean g̃ − x̂ mean(g̃ x̂)).
pub(super) struct NormBackward<'a, E> {
    /// Slope by the result; replaced by the slope by z.
    pub(super) slope: &'a mut [E],
    /// x̂ as saved.
    pub(super) x: &'a [E],
    /// 1/√(variance + ε) as saved.
    pub(super) rstd: &'a [E],
    /// Scale.
    pub(super) gamma: &'a [E],
    /// Slope by γ, added to.
    pub(super) d_gamma: &'a mut [E],
    /// Slope by β, added to.
    pub(super) d_beta: &'a mut [E],
}

impl<E: Number> Kernel<E> for NormBackward<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.gamma.len();
        let share = E::from_f64(1.0 / n as f64);
        let rows = self.slope.chunks_exact_mut(n).zip(self.x.chunks_exact(n));
        for ((slope, x), rstd) in rows.zip(self.rstd) {
            let (mut mean, mut along) = (W::splat(E::default()), W::splat(E::default()));
            columns!(at in n => {
                let (g, x) = (W::read(&slope[at..]), W::read(&x[at..]));
                let d_gamma = g.fma(x, W::read(&self.d_gamma[at..]));
                d_gamma.write(&mut self.d_gamma[at..]);
                let d_beta = W::read(&self.d_beta[at..]).add(g);
                d_beta.write(&mut self.d_beta[at..]);
                let g = g.mul(W::read(&self.gamma[at..]));
                mean = mean.add(g);
                along = g.fma(x, along);
            });
            let mean = W::splat(mean.sum() * share);
            let along = W::splat(along.sum() * share);
            let rstd = W::splat(*rstd);
            columns!(at in n => {
                let g = W::read(&slope[at..]).mul(W::read(&self.gamma[at..]));
                let d = g.sub(mean).sub(W::read(&x[at..]).mul(along));
                d.mul(rstd).write(&mut slope[at..]);
            });
        }
    }
}

/// to row i = Σ of the rows of `from` that `ids[starts[i]..starts[i+1]]` name.
pub(super) fn sum_rows<E: Number>(
    level: Level,
    width: usize,
    from: &[E],
    starts: &[u32],
    ids: &[u32],
    to: &mut [E],
) {
    assert_eq!(to.len() + width, starts.len() * width);
    E::run(
        level,
        SumRows {
            width,
            from,
            starts,
            ids,
            to,
        },
    );
}

struct SumRows<'a, E> {
    width: usize,
    from: &'a [E],
    starts: &'a [u32],
    ids: &'a [u32],
    to: &'a mut [E],
}

impl<E: Number> Kernel<E> for SumRows<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let n = self.width;
        for (row, ends) in self.to.chunks_exact_mut(n).zip(self.starts.windows(2)) {
            let ids = &self.ids[ends[0] as usize..ends[1] as usize];
            columns!(at in n => {
                let mut sum = W::read(&row[at..]);
                for &id in ids {
                    sum = sum.add(W::read(&self.from[id as usize * n + at..][..n - at]));
                }
                sum.write(&mut row[at..]);
            });
        }
    }
}

/// Zeros, a whole register at a time.
pub(super) fn zero<E: Number>(to: &mut [E]) {
    to.fill(E::default());
}
