//! Loops over whole fields.

use fitzroy_device::lanes::{Kernel, Lanes};
use fitzroy_device::maths;

use super::fft::Field;

/// The numbers of a part of a field, in a row.
pub(super) fn flat(part: &[[f64; 8]]) -> &[f64] {
    part.as_flattened()
}

/// x ← (x + Σ w·tendency)·filter.
pub(super) fn advance(x: &mut [f64], tendency: [&[f64]; 3], filter: &[f64], weights: [f64; 3]) {
    let [now, before, earlier] = tendency;
    let inputs = now.iter().zip(before).zip(earlier).zip(filter);
    for (x, (((a, b), c), filter)) in x.iter_mut().zip(inputs) {
        *x = (*x + weights[0] * a + weights[1] * b + weights[2] * c) * filter;
    }
}

/// Takes the spectra of two real fields f and g apart from that of f + i g.
pub(super) fn unpack(pack: &Field, f: &mut Field, g: &mut Field, n: usize) {
    let (re, im) = (flat(&pack.re), flat(&pack.im));
    let (f_re, f_im) = (f.re.as_flattened_mut(), f.im.as_flattened_mut());
    let (g_re, g_im) = (g.re.as_flattened_mut(), g.im.as_flattened_mut());
    for kx in 0..n {
        let (row, mirror) = (kx * n, (n - kx) % n * n);
        let mut take = |at: usize, mirror: usize| {
            let (a, b, c, d) = (re[at], im[at], re[mirror], im[mirror]);
            f_re[at] = 0.5 * (a + c);
            f_im[at] = 0.5 * (b - d);
            g_re[at] = 0.5 * (b + d);
            g_im[at] = 0.5 * (c - a);
        };
        take(row, mirror);
        for ky in 1..n {
            take(row + ky, mirror + n - ky);
        }
    }
}

/// Multiplies a spectrum by what `rule` makes of the wave numbers x and y.
#[inline(always)]
pub(super) fn by_wave(
    wave: &[f64],
    from: &Field,
    to: &mut Field,
    rule: impl Fn(f64, f64, f64, f64) -> (f64, f64),
) {
    let n = wave.len();
    let given = flat(&from.re)
        .chunks_exact(n)
        .zip(flat(&from.im).chunks_exact(n));
    let made = to.re.as_flattened_mut().chunks_exact_mut(n);
    let made = made.zip(to.im.as_flattened_mut().chunks_exact_mut(n));
    for ((&x, (re, im)), (to_re, to_im)) in wave.iter().zip(given).zip(made) {
        let to = to_re.iter_mut().zip(to_im.iter_mut());
        for ((&y, (&re, &im)), (to_re, to_im)) in wave.iter().zip(re.iter().zip(im)).zip(to) {
            (*to_re, *to_im) = rule(x, y, re, im);
        }
    }
}

/// A loop over whole fields, compiled for the widest registers there are: the same bits as without.
pub(super) struct Wide<F>(pub(super) F);

impl<F: FnOnce()> Kernel for Wide<F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        (self.0)();
    }
}

/// qs at every point.
pub(super) struct Saturation<'a> {
    pub(super) difference: &'a [f64],
    pub(super) out: &'a mut [f64],
    pub(super) at_rest: f64,
}

impl Kernel for Saturation<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (from, _) = self.difference.as_chunks::<8>();
        let (to, _) = self.out.as_chunks_mut::<8>();
        for (from, to) in from.iter().zip(to) {
            let mut at = 0;
            while at < 8 {
                let x = L::from_block(from, at).mul(L::splat(1.0 / 2e7));
                let x = x.lesser(L::splat(1.5)).greater(L::splat(-1.5));
                let value = maths::exp(x).mul(L::splat(self.at_rest));
                value.to_block(to, at);
                at += L::N;
            }
        }
    }
}
