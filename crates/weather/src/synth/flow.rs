//! Two-layer quasi-geostrophic flow with moisture and rain: the atmosphere of the generator.
//!
//! Layer 1 is the upper one. With a = −(K² + F), F = 1/(2 Ld²):
//!
//! ```text
//! q1 = ∇²ψ1 − F(ψ1−ψ2)        q2 = ∇²ψ2 + F(ψ1−ψ2)
//! ∂t q1 = −u1 ∂x q1 − v1 (∂y q1 + Qy1) + F(ψ1−ψ2)/τ
//! ∂t q2 = −u2 ∂x(q2+H) − v2 (∂y(q2+H) + Qy2) − F(ψ1−ψ2)/τ − r ∇²ψ2
//! qs = q0 exp(clip((ψ1−ψ2)/2e7, ±1.5))
//! ∂t m = −u2·∇m − max(m−qs, 0)/7200 s + (1−0.7 land) max(0.8 qs − m, 0)/(2 d)
//! ```
//!
//! Third-order Adams–Bashforth steps and a spectral filter. Moisture is held as its spectrum;
//! where advection makes it negative it counts as zero, in rain, evaporation and output.
//! Source: Phillips, "Energy transformations and meridional circulations associated with simple
//! baroclinic waves in a two-level, quasi-geostrophic model", Tellus 6, 1954.

use super::fft::{Fft, Field};
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::lanes::{Kernel, Lanes, Level};
use fitzroy_device::maths;
use std::f64::consts::TAU;

/// Side of the periodic domain, m.
pub(super) const SIDE_M: f64 = 1.024e7;
const DAY: f64 = 86_400.0;

/// Constants of the flow; the defaults are those of the generator.
#[derive(Clone, Debug)]
pub struct Physics {
    /// Mean westerly of the upper and the lower layer, m/s.
    pub mean_wind: [f64; 2],
    /// Deformation radius Ld, m.
    pub deformation_m: f64,
    /// Gradient β of the Coriolis parameter, 1/(m s).
    pub beta: f64,
    /// Friction r of the lower layer, 1/s.
    pub friction: f64,
    /// Thermal relaxation 1/τ, 1/s.
    pub relaxation: f64,
    /// Saturation q0 at rest, mm.
    pub saturation_mm: f64,
    /// Height of the topography term H, 1/s.
    pub mountain: f64,
    /// Exponent of the filter at the largest wave number; 0 switches it off.
    pub filter: f64,
}

impl Default for Physics {
    fn default() -> Self {
        Physics {
            mean_wind: [12.0, -12.0],
            deformation_m: 8e5,
            beta: 1.6e-11,
            friction: 1.0 / (4.0 * DAY),
            relaxation: 1.0 / (15.0 * DAY),
            saturation_mm: 40.0,
            mountain: 1e-5,
            filter: 23.6,
        }
    }
}

/// What the flow looks like, `[y][x]`, n × n numbers each.
#[derive(Clone, Default)]
pub struct Look {
    /// Stream function of the anomaly, upper and lower, m²/s.
    pub psi: [Vec<f64>; 2],
    /// Winds with the mean, upper and lower, m/s.
    pub u: [Vec<f64>; 2],
    /// Northward winds, m/s.
    pub v: [Vec<f64>; 2],
    /// Moisture, mm; not negative.
    pub moisture: Vec<f64>,
    /// Saturation qs, mm.
    pub saturation: Vec<f64>,
}

/// The atmosphere and everything a step needs.
pub struct Flow {
    n: usize,
    dt: f64,
    physics: Physics,
    fft: Fft,
    level: Level,
    /// Spectra of q1, q2 and m.
    state: [Field; 3],
    /// Tendencies of this step and the two before.
    tendency: [[Field; 3]; 3],
    /// Steps taken; the first two are of lower order.
    n_steps: u64,
    psi: [Field; 2],
    /// Scratch: two real fields in one complex one, and the packs of a step.
    packs: Vec<Field>,
    wave: Vec<f64>,
    filter: Vec<f64>,
    slope: [Vec<f64>; 2],
    land: Vec<f64>,
    /// Rain since it was last taken, mm.
    rain: Vec<f64>,
    saturation: Vec<f64>,
}

fn flat(part: &[[f64; 8]]) -> &[f64] {
    part.as_flattened()
}

impl Flow {
    /// A flow at rest on an n × n grid (a power of two from 16 on) with steps of `dt` seconds.
    pub fn new(n: usize, dt: f64, physics: Physics) -> Self {
        let zero = Field::zero(n);
        let three = [zero.clone(), zero.clone(), zero.clone()];
        let wave = (0..n)
            .map(|k| {
                let signed = if k < n / 2 {
                    k as f64
                } else {
                    k as f64 - n as f64
                };
                // The wave that two points cannot tell from its mirror image has no slope.
                if k == n / 2 {
                    0.0
                } else {
                    TAU / SIDE_M * signed
                }
            })
            .collect::<Vec<_>>();
        let k_max = TAU / 2.0 * n as f64 / SIDE_M;
        let unsigned = |k: usize| TAU / SIDE_M * k.min(n - k) as f64;
        let mut filter = vec![1.0; n * n];
        for kx in 0..n {
            for ky in 0..n {
                let k = libm::hypot(unsigned(kx), unsigned(ky)) / k_max;
                let beyond = (k - 0.65).max(0.0) / 0.35;
                filter[kx * n + ky] =
                    libm::exp(-physics.filter * beyond * beyond * beyond * beyond);
            }
        }
        let mut flow = Flow {
            n,
            dt,
            fft: Fft::new(n),
            level: Level::detect(),
            state: three.clone(),
            tendency: [three.clone(), three.clone(), three],
            n_steps: 0,
            psi: [zero.clone(), zero.clone()],
            packs: vec![zero; 8],
            wave,
            filter,
            slope: [vec![0.0; n * n], vec![0.0; n * n]],
            land: vec![0.0; n * n],
            rain: vec![0.0; n * n],
            saturation: vec![0.0; n * n],
            physics,
        };
        for y in 0..n {
            for x in 0..n {
                let (east, north) = (flow.metres(x), flow.metres(y));
                let (_, slope) = mountain(&flow.physics, east, north);
                flow.slope[0][y * n + x] = slope[0];
                flow.slope[1][y * n + x] = slope[1];
                flow.land[y * n + x] = f64::from(land(east, north));
            }
        }
        flow
    }

    /// Starts from small noise in q of the long waves and moisture at 80 % of saturation at rest.
    pub fn disturb(&mut self, seed: u64) {
        let n = self.n;
        let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Data);
        let mut pack = Field::zero(n);
        for part in [&mut pack.re, &mut pack.im] {
            part.as_flattened_mut()
                .iter_mut()
                .for_each(|x| *x = 1e-6 * rng.normal());
        }
        self.fft.forward(&mut pack);
        let k_longest = 16.0 * TAU / 2.0 / SIDE_M;
        for kx in 0..n {
            for ky in 0..n {
                let k = libm::hypot(self.wave[kx], self.wave[ky]);
                let keep = f64::from(k <= k_longest && kx + ky > 0 && kx != n / 2 && ky != n / 2);
                let at = kx * n + ky;
                pack.re.as_flattened_mut()[at] *= keep;
                pack.im.as_flattened_mut()[at] *= keep;
            }
        }
        let (first, rest) = self.state.split_at_mut(1);
        unpack(&pack, &mut first[0], &mut rest[0], n);
        rest[1] = Field::zero(n);
        rest[1].re[0][0] = 0.8 * self.physics.saturation_mm * (n * n) as f64;
        self.n_steps = 0;
        self.rain.fill(0.0);
    }

    /// Sets one wave of ψ1 and ψ2 with the given complex amplitudes, and nothing else.
    pub fn set_wave(&mut self, kx: usize, ky: usize, upper: (f64, f64), lower: (f64, f64)) {
        let n = self.n;
        for field in &mut self.state {
            *field = Field::zero(n);
        }
        let f = self.stretching();
        let k2 = self.wave[kx] * self.wave[kx] + self.wave[ky] * self.wave[ky];
        let scale = (n * n) as f64 / 2.0;
        let q = |a: f64, b: f64| (-k2 * a - f * (a - b)) * scale;
        let (at, mirror) = (kx * n + ky, (n - kx) % n * n + (n - ky) % n);
        for (layer, (own, other)) in [(upper, lower), (lower, upper)].into_iter().enumerate() {
            let (re, im) = (q(own.0, other.0), q(own.1, other.1));
            let field = &mut self.state[layer];
            field.re.as_flattened_mut()[at] = re;
            field.im.as_flattened_mut()[at] = im;
            field.re.as_flattened_mut()[mirror] = re;
            field.im.as_flattened_mut()[mirror] = -im;
        }
        self.n_steps = 0;
    }

    /// Multiplies the potential vorticity of both layers by `factor`.
    pub fn scale_vorticity(&mut self, factor: f64) {
        for field in &mut self.state[..2] {
            for part in [&mut field.re, &mut field.im] {
                part.as_flattened_mut()
                    .iter_mut()
                    .for_each(|x| *x *= factor);
            }
        }
    }

    fn stretching(&self) -> f64 {
        1.0 / (2.0 * self.physics.deformation_m * self.physics.deformation_m)
    }

    /// Position of a row or a column, m.
    pub fn metres(&self, index: usize) -> f64 {
        SIDE_M / self.n as f64 * index as f64
    }

    /// Stream functions from potential vorticities; the mean wave has none.
    pub fn invert(&mut self) {
        let (n, f) = (self.n, self.stretching());
        for kx in 0..n {
            for ky in 0..n {
                let at = kx * n + ky;
                let k2 = self.wave[kx] * self.wave[kx] + self.wave[ky] * self.wave[ky];
                let a = -(k2 + f);
                let factor = if k2 == 0.0 {
                    0.0
                } else {
                    1.0 / (a * a - f * f)
                };
                let solve =
                    |q1: f64, q2: f64| (factor * (a * q1 - f * q2), factor * (a * q2 - f * q1));
                let [q1, q2, _] = &self.state;
                let re = solve(flat(&q1.re)[at], flat(&q2.re)[at]);
                let im = solve(flat(&q1.im)[at], flat(&q2.im)[at]);
                let [p1, p2] = &mut self.psi;
                p1.re.as_flattened_mut()[at] = re.0;
                p1.im.as_flattened_mut()[at] = im.0;
                p2.re.as_flattened_mut()[at] = re.1;
                p2.im.as_flattened_mut()[at] = im.1;
            }
        }
    }

    /// Fills the packs u+iv of both layers, ∇q of both, ∇m, and (ψ1−ψ2) + i m, as fields.
    fn fields(&mut self) {
        self.invert();
        let n = self.n;
        for kx in 0..n {
            for ky in 0..n {
                let at = kx * n + ky;
                let (x, y) = (self.wave[kx], self.wave[ky]);
                let value = |field: &Field| (flat(&field.re)[at], flat(&field.im)[at]);
                let (p1, p2) = (value(&self.psi[0]), value(&self.psi[1]));
                // û + i v̂ = −(kx + i ky) ψ̂ and the gradient of a: (i kx − ky) â.
                let wind = |p: (f64, f64)| (-x * p.0 + y * p.1, -x * p.1 - y * p.0);
                let gradient = |a: (f64, f64)| (-y * a.0 - x * a.1, x * a.0 - y * a.1);
                let m = value(&self.state[2]);
                let values = [
                    wind(p1),
                    wind(p2),
                    gradient(value(&self.state[0])),
                    gradient(value(&self.state[1])),
                    gradient(m),
                    (p1.0 - p2.0 - m.1, p1.1 - p2.1 + m.0),
                ];
                for (pack, (re, im)) in self.packs.iter_mut().zip(values) {
                    pack.re.as_flattened_mut()[at] = re;
                    pack.im.as_flattened_mut()[at] = im;
                }
            }
        }
        for pack in &mut self.packs[..6] {
            self.fft.inverse(pack);
        }
        let saturation = Saturation {
            difference: flat(&self.packs[5].re),
            out: &mut self.saturation,
            at_rest: self.physics.saturation_mm,
        };
        self.level.run(saturation);
    }

    /// One step of `dt`; rain is added up.
    pub fn step(&mut self) {
        self.fields();
        self.products();
        let n = self.n;
        self.tendency.rotate_right(1);
        let (packs, now) = (&mut self.packs[6..], &mut self.tendency[0]);
        let (pair, single) = packs.split_at_mut(1);
        self.fft.forward(&mut pair[0]);
        self.fft.forward(&mut single[0]);
        let (first, rest) = now.split_at_mut(1);
        unpack(&pair[0], &mut first[0], &mut rest[0], n);
        std::mem::swap(&mut rest[1], &mut single[0]);
        self.linear_terms();
        let weights = match self.n_steps {
            0 => [1.0, 0.0, 0.0],
            1 => [1.5, -0.5, 0.0],
            _ => [23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0],
        };
        self.n_steps += 1;
        let weights = weights.map(|w| w * self.dt);
        let [now, before, earlier] = &self.tendency;
        for (k, state) in self.state.iter_mut().enumerate() {
            let (now, before, earlier) = (&now[k], &before[k], &earlier[k]);
            let re = [&now.re, &before.re, &earlier.re].map(|part| flat(part));
            advance(state.re.as_flattened_mut(), re, &self.filter, weights);
            let im = [&now.im, &before.im, &earlier.im].map(|part| flat(part));
            advance(state.im.as_flattened_mut(), im, &self.filter, weights);
        }
    }

    /// Advection, rain and evaporation at the grid points, into the last two packs.
    fn products(&mut self) {
        let f = self.stretching();
        let Physics {
            mean_wind, beta, ..
        } = self.physics;
        let planetary = [
            beta + f * (mean_wind[0] - mean_wind[1]),
            beta + f * (mean_wind[1] - mean_wind[0]),
        ];
        let (fields, out) = self.packs.split_at_mut(6);
        let [wind1, wind2, grad1, grad2, grad_m, rest] = fields else {
            unreachable_packs()
        };
        let (pair, single) = out.split_at_mut(1);
        let (t1, t2) = (pair[0].re.as_flattened_mut(), pair[0].im.as_flattened_mut());
        let (tm, zero) = (
            single[0].re.as_flattened_mut(),
            single[0].im.as_flattened_mut(),
        );
        zero.fill(0.0);
        for i in 0..self.n * self.n {
            let (u1, v1) = (flat(&wind1.re)[i] + mean_wind[0], flat(&wind1.im)[i]);
            let (u2, v2) = (flat(&wind2.re)[i] + mean_wind[1], flat(&wind2.im)[i]);
            t1[i] = -u1 * flat(&grad1.re)[i] - v1 * (flat(&grad1.im)[i] + planetary[0]);
            t2[i] = -u2 * (flat(&grad2.re)[i] + self.slope[0][i])
                - v2 * (flat(&grad2.im)[i] + self.slope[1][i] + planetary[1]);
            let m = flat(&rest.im)[i].max(0.0);
            let rain = (m - self.saturation[i]).max(0.0) / 7200.0;
            let dry = (0.8 * self.saturation[i] - m).max(0.0);
            let evaporation = (1.0 - 0.7 * self.land[i]) * dry / (2.0 * DAY);
            tm[i] = -u2 * flat(&grad_m.re)[i] - v2 * flat(&grad_m.im)[i] - rain + evaporation;
            self.rain[i] += rain * self.dt;
        }
    }

    /// Thermal relaxation and friction, added in the spectrum.
    fn linear_terms(&mut self) {
        let (n, f) = (self.n, self.stretching());
        let Physics {
            friction,
            relaxation,
            ..
        } = self.physics;
        for kx in 0..n {
            for ky in 0..n {
                let at = kx * n + ky;
                let k2 = self.wave[kx] * self.wave[kx] + self.wave[ky] * self.wave[ky];
                let [first, second, _] = &mut self.tendency[0];
                let add = |t1: &mut f64, t2: &mut f64, p1: f64, p2: f64| {
                    let heating = relaxation * f * (p1 - p2);
                    *t1 += heating;
                    *t2 += friction * k2 * p2 - heating;
                };
                add(
                    &mut first.re.as_flattened_mut()[at],
                    &mut second.re.as_flattened_mut()[at],
                    flat(&self.psi[0].re)[at],
                    flat(&self.psi[1].re)[at],
                );
                add(
                    &mut first.im.as_flattened_mut()[at],
                    &mut second.im.as_flattened_mut()[at],
                    flat(&self.psi[0].im)[at],
                    flat(&self.psi[1].im)[at],
                );
            }
        }
    }

    /// Largest wind times largest wave number times dt; steps blow up from 0.72 on.
    pub fn courant(&self) -> f64 {
        let [wind1, wind2] = &self.packs[..2] else {
            unreachable_packs()
        };
        let mut fastest = 0.0_f64;
        for (wind, mean) in [wind1, wind2].into_iter().zip(self.physics.mean_wind) {
            for (u, v) in flat(&wind.re).iter().zip(flat(&wind.im)) {
                let speed = libm::hypot(u + mean, *v);
                // `max` would lose a NaN.
                fastest = if speed > fastest || speed.is_nan() {
                    speed
                } else {
                    fastest
                };
            }
        }
        fastest * TAU / 2.0 * self.n as f64 / SIDE_M * self.dt
    }

    /// Rain since the last call, mm.
    pub fn take_rain(&mut self) -> Vec<f64> {
        let fresh = vec![0.0; self.n * self.n];
        std::mem::replace(&mut self.rain, fresh)
    }

    /// The flow as it is now.
    pub fn look(&mut self) -> Look {
        self.fields();
        let mut psi = self.psi[0].clone();
        for (x, p2) in psi
            .re
            .as_flattened_mut()
            .iter_mut()
            .zip(flat(&self.psi[1].im))
        {
            *x -= p2;
        }
        for (x, p2) in psi
            .im
            .as_flattened_mut()
            .iter_mut()
            .zip(flat(&self.psi[1].re))
        {
            *x += p2;
        }
        self.fft.inverse(&mut psi);
        let mean = self.physics.mean_wind;
        let plus = |part: &[[f64; 8]], c: f64| flat(part).iter().map(|x| x + c).collect::<Vec<_>>();
        let [wind1, wind2] = &self.packs[..2] else {
            unreachable_packs()
        };
        Look {
            psi: [plus(&psi.re, 0.0), plus(&psi.im, 0.0)],
            u: [plus(&wind1.re, mean[0]), plus(&wind2.re, mean[1])],
            v: [plus(&wind1.im, 0.0), plus(&wind2.im, 0.0)],
            moisture: flat(&self.packs[5].im).iter().map(|m| m.max(0.0)).collect(),
            saturation: self.saturation.clone(),
        }
    }

    /// Energy of the waves per area: Σ K²(|ψ1|² + |ψ2|²) + F |ψ1−ψ2|², over two, m²/s².
    pub fn energy(&mut self) -> f64 {
        self.invert();
        let (n, f) = (self.n, self.stretching());
        let mut sum = 0.0;
        for kx in 0..n {
            for ky in 0..n {
                let at = kx * n + ky;
                let k2 = self.wave[kx] * self.wave[kx] + self.wave[ky] * self.wave[ky];
                let [p1, p2] = &self.psi;
                for (a, b) in [(&p1.re, &p2.re), (&p1.im, &p2.im)] {
                    let (a, b) = (flat(a)[at], flat(b)[at]);
                    sum += k2 * (a * a + b * b) + f * (a - b) * (a - b);
                }
            }
        }
        sum / 2.0 / ((n * n) as f64 * (n * n) as f64)
    }

    /// The complex amplitude of a wave of ψ1 and ψ2.
    pub fn wave_of(&mut self, kx: usize, ky: usize) -> [(f64, f64); 2] {
        self.invert();
        let at = kx * self.n + ky;
        let scale = 2.0 / (self.n * self.n) as f64;
        [0, 1].map(|layer: usize| {
            let field = &self.psi[layer];
            (flat(&field.re)[at] * scale, flat(&field.im)[at] * scale)
        })
    }
}

/// x ← (x + Σ w·tendency)·filter.
fn advance(x: &mut [f64], tendency: [&[f64]; 3], filter: &[f64], weights: [f64; 3]) {
    let [now, before, earlier] = tendency;
    let inputs = now.iter().zip(before).zip(earlier).zip(filter);
    for (x, (((a, b), c), filter)) in x.iter_mut().zip(inputs) {
        *x = (*x + weights[0] * a + weights[1] * b + weights[2] * c) * filter;
    }
}

#[cold]
fn unreachable_packs() -> ! {
    panic!("a flow has eight packs")
}

/// Takes the spectra of two real fields f and g apart from that of f + i g.
fn unpack(pack: &Field, f: &mut Field, g: &mut Field, n: usize) {
    let (re, im) = (flat(&pack.re), flat(&pack.im));
    for kx in 0..n {
        for ky in 0..n {
            let (at, mirror) = (kx * n + ky, (n - kx) % n * n + (n - ky) % n);
            let (a, b, c, d) = (re[at], im[at], re[mirror], im[mirror]);
            f.re.as_flattened_mut()[at] = 0.5 * (a + c);
            f.im.as_flattened_mut()[at] = 0.5 * (b - d);
            g.re.as_flattened_mut()[at] = 0.5 * (b + d);
            g.im.as_flattened_mut()[at] = 0.5 * (c - a);
        }
    }
}

/// Height term H of the mountain and its slopes to the east and the north.
pub(super) fn mountain(physics: &Physics, east: f64, north: f64) -> (f64, [f64; 2]) {
    let (x, y) = ((east - 4.16e6) / 6.8e5, (north - 5.12e6) / 1.52e6);
    let height = physics.mountain * libm::exp(-x * x - y * y);
    (
        height,
        [-2.0 * x / 6.8e5 * height, -2.0 * y / 1.52e6 * height],
    )
}

/// True on the continent, an ellipse.
pub(super) fn land(east: f64, north: f64) -> bool {
    let (x, y) = ((east - 5.44e6) / 2.26e6, (north - 4.8e6) / 1.24e6);
    x * x + y * y <= 1.0
}

/// qs at every point.
struct Saturation<'a> {
    difference: &'a [f64],
    out: &'a mut [f64],
    at_rest: f64,
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
