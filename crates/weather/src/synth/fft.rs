//! Fourier transforms of square periodic fields, a whole block of columns at a time.
//!
//! Own code rather than a crate: a chaotic flow keeps its bits from machine to machine only if
//! every vector width does the same operations in the same order, which `Lanes` promise.

use fitzroy_device::lanes::{Kernel, Lanes, Level};

/// Eight neighbouring columns.
pub(super) type Block = [f64; 8];

/// A complex field of n × n numbers, row by row, real and imaginary parts apart.
#[derive(Clone)]
pub(super) struct Field {
    /// Real parts, n·n/8 blocks.
    pub(super) re: Vec<Block>,
    /// Imaginary parts.
    pub(super) im: Vec<Block>,
}

impl Field {
    /// Zeros.
    pub(super) fn zero(n: usize) -> Self {
        let blocks = vec![[0.0; 8]; n * n / 8];
        Field {
            re: blocks.clone(),
            im: blocks,
        }
    }
}

/// Plans of transforms of one size, with their scratch.
pub(super) struct Fft {
    n: usize,
    /// cos and sin of 2πk/n.
    circle: Vec<(f64, f64)>,
    scratch: Field,
    level: Level,
}

/// Which way.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Forward,
    Inverse,
}

impl Fft {
    /// A plan for n × n fields; n is a power of two from 16 on.
    pub(super) fn new(n: usize) -> Self {
        assert!(n.is_power_of_two() && n >= 16, "a power of two from 16 on");
        let angle = |k: usize| std::f64::consts::TAU * k as f64 / n as f64;
        Fft {
            n,
            circle: (0..n)
                .map(|k| (libm::cos(angle(k)), libm::sin(angle(k))))
                .collect(),
            scratch: Field::zero(n),
            level: Level::detect(),
        }
    }

    /// From `[y][x]` to the spectrum `[kx][ky]`, without a factor.
    pub(super) fn forward(&mut self, field: &mut Field) {
        self.both_axes(field, Way::Forward);
    }

    /// From the spectrum `[kx][ky]` to `[y][x]`, divided by n².
    pub(super) fn inverse(&mut self, field: &mut Field) {
        self.both_axes(field, Way::Inverse);
        let scale = 1.0 / (self.n * self.n) as f64;
        for part in [&mut field.re, &mut field.im] {
            part.as_flattened_mut().iter_mut().for_each(|x| *x *= scale);
        }
    }

    fn both_axes(&mut self, field: &mut Field, way: Way) {
        self.columns(field, way);
        for part in [&mut field.re, &mut field.im] {
            transpose(part.as_flattened_mut(), self.n);
        }
        self.columns(field, way);
    }

    /// Transforms every column.
    fn columns(&mut self, field: &mut Field, way: Way) {
        // An inverse transform is a forward one with real and imaginary parts exchanged.
        if way == Way::Inverse {
            std::mem::swap(&mut field.re, &mut field.im);
        }
        let (mut length, mut stride) = (self.n, 1);
        while length > 1 {
            let pass = Pass {
                from: &*field,
                to: &mut self.scratch,
                circle: &self.circle,
                n: self.n,
                length,
                stride,
            };
            self.level.run(pass);
            std::mem::swap(field, &mut self.scratch);
            let radix = if length == 2 { 2 } else { 4 };
            length /= radix;
            stride *= radix;
        }
        if way == Way::Inverse {
            std::mem::swap(&mut field.re, &mut field.im);
        }
    }
}

/// One stage of Stockham's transform (radix 4; 2 at the end where it must) over rows of blocks.
struct Pass<'a> {
    from: &'a Field,
    to: &'a mut Field,
    circle: &'a [(f64, f64)],
    n: usize,
    length: usize,
    stride: usize,
}

type Complex<L> = (L, L);

#[inline(always)]
fn load<L: Lanes>(field: &Field, block: usize, at: usize) -> Complex<L> {
    let re = L::from_block(&field.re[block], at);
    (re, L::from_block(&field.im[block], at))
}

#[inline(always)]
fn plus<L: Lanes>(a: Complex<L>, b: Complex<L>) -> Complex<L> {
    (a.0.add(b.0), a.1.add(b.1))
}

#[inline(always)]
fn minus<L: Lanes>(a: Complex<L>, b: Complex<L>) -> Complex<L> {
    (a.0.sub(b.0), a.1.sub(b.1))
}

/// a·conj(w) with w = cos + i sin: the forward transform turns clockwise.
#[inline(always)]
fn turned<L: Lanes>(a: Complex<L>, w: (f64, f64)) -> Complex<L> {
    let (c, s) = (L::splat(w.0), L::splat(w.1));
    (a.0.mul(c).add(a.1.mul(s)), a.1.mul(c).sub(a.0.mul(s)))
}

impl Kernel for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let width = self.n / 8;
        let radix = if self.length == 2 { 2 } else { 4 };
        let quarter = self.length / radix;
        for p in 0..quarter {
            let w = |k: usize| self.circle[(k * p * self.stride) % self.n];
            let (w1, w2, w3) = (w(1), w(2), w(3));
            for q in 0..self.stride {
                for block in 0..width {
                    let source = |k: usize| (q + self.stride * (p + k * quarter)) * width + block;
                    let target = |k: usize| (q + self.stride * (radix * p + k)) * width + block;
                    let mut at = 0;
                    while at < 8 {
                        let a = load::<L>(self.from, source(0), at);
                        let b = load::<L>(self.from, source(1), at);
                        let out = if radix == 2 {
                            [plus(a, b), minus(a, b), a, b]
                        } else {
                            let c = load::<L>(self.from, source(2), at);
                            let d = load::<L>(self.from, source(3), at);
                            let (sum_ac, difference_ac) = (plus(a, c), minus(a, c));
                            let (sum_bd, bd) = (plus(b, d), minus(b, d));
                            let i_bd = (bd.1.neg(), bd.0);
                            [
                                plus(sum_ac, sum_bd),
                                turned(minus(difference_ac, i_bd), w1),
                                turned(minus(sum_ac, sum_bd), w2),
                                turned(plus(difference_ac, i_bd), w3),
                            ]
                        };
                        for (k, value) in out.iter().take(radix).enumerate() {
                            value.0.to_block(&mut self.to.re[target(k)], at);
                            value.1.to_block(&mut self.to.im[target(k)], at);
                        }
                        at += L::N;
                    }
                }
            }
        }
    }
}

/// Exchanges rows and columns, square by square.
fn transpose(values: &mut [f64], n: usize) {
    const SIDE: usize = 8;
    for row in (0..n).step_by(SIDE) {
        for column in (row..n).step_by(SIDE) {
            for i in row..row + SIDE {
                let first = if row == column { i + 1 } else { column };
                for j in first..column + SIDE {
                    values.swap(i * n + j, j * n + i);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize) -> Field {
        let mut field = Field::zero(n);
        for (k, (re, im)) in field
            .re
            .as_flattened_mut()
            .iter_mut()
            .zip(field.im.as_flattened_mut())
            .enumerate()
        {
            let t = (k * 7919 % 1009) as f64;
            (*re, *im) = (t / 500.0 - 1.0, (t * t) % 3.0 - 1.5);
        }
        field
    }

    /// The definition, summed one by one.
    #[test]
    fn the_transform_is_the_sum_it_stands_for() {
        for n in [16, 32] {
            let mut field = noise(n);
            let before = field.clone();
            Fft::new(n).forward(&mut field);
            for (kx, ky) in [(0, 0), (1, 0), (0, 1), (3, 5), (n / 2, n - 1), (n - 2, 7)] {
                let (mut re, mut im) = (0.0, 0.0);
                for y in 0..n {
                    for x in 0..n {
                        let turn =
                            -std::f64::consts::TAU * ((kx * x + ky * y) % n) as f64 / n as f64;
                        let (a, b) = (
                            before.re.as_flattened()[y * n + x],
                            before.im.as_flattened()[y * n + x],
                        );
                        re += a * turn.cos() - b * turn.sin();
                        im += a * turn.sin() + b * turn.cos();
                    }
                }
                let at = kx * n + ky;
                let error = (field.re.as_flattened()[at] - re)
                    .abs()
                    .max((field.im.as_flattened()[at] - im).abs());
                assert!(error < 1e-10 * (n * n) as f64, "{n} {kx} {ky}: {error}");
            }
        }
    }

    #[test]
    fn there_and_back_is_the_same_field() {
        for n in [16, 32, 64, 128] {
            let mut field = noise(n);
            let before = field.clone();
            let mut fft = Fft::new(n);
            fft.forward(&mut field);
            fft.inverse(&mut field);
            for (a, b) in field.re.iter().zip(&before.re) {
                for (x, y) in a.iter().zip(b) {
                    assert!((x - y).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn every_vector_width_gives_the_same_bits() {
        let mut results = Vec::new();
        for level in Level::available() {
            let mut fft = Fft::new(64);
            fft.level = level;
            let mut field = noise(64);
            fft.forward(&mut field);
            results.push(field.re);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
