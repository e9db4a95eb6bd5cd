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
use super::loops::{Saturation, Wide, advance, by_wave, flat, unpack};
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::lanes::Level;
use std::cmp::Ordering;
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
    /// kx² + ky² of every wave, and 1/(a² − F²), 0 for the mean.
    k2: Vec<f64>,
    inverse: Vec<f64>,
    filter: Vec<f64>,
    slope: [Vec<f64>; 2],
    land: Vec<f64>,
    /// Rain since it was last taken, mm.
    rain: Vec<f64>,
    saturation: Vec<f64>,
}

/// What multiplies each wave for a slope, but for i.
fn slopes_of_waves(n: usize) -> Vec<f64> {
    let slope = |k: usize| match k.cmp(&(n / 2)) {
        Ordering::Less => TAU / SIDE_M * k as f64,
        // The wave that two points cannot tell from its mirror image has no slope.
        Ordering::Equal => 0.0,
        Ordering::Greater => TAU / SIDE_M * (k as f64 - n as f64),
    };
    (0..n).map(slope).collect()
}

/// What is kept of every wave in a step: short ones are damped.
fn filter(n: usize, strength: f64) -> Vec<f64> {
    let k_max = TAU / 2.0 * n as f64 / SIDE_M;
    let length = |k: usize| TAU / SIDE_M * k.min(n - k) as f64;
    let kept = |kx: usize, ky: usize| {
        let k = libm::hypot(length(kx), length(ky)) / k_max;
        let beyond = (k - 0.65).max(0.0) / 0.35;
        libm::exp(-strength * beyond * beyond * beyond * beyond)
    };
    (0..n)
        .flat_map(|kx| (0..n).map(move |ky| kept(kx, ky)))
        .collect()
}

impl Flow {
    /// A flow at rest on an n × n grid (a power of two from 16 on) with steps of `dt` seconds.
    pub fn new(n: usize, dt: f64, physics: Physics) -> Self {
        let zero = Field::zero(n);
        let three = [zero.clone(), zero.clone(), zero.clone()];
        let wave = slopes_of_waves(n);
        let squares = wave
            .iter()
            .flat_map(|kx| wave.iter().map(move |ky| kx * kx + ky * ky));
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
            k2: squares.collect(),
            inverse: Vec::new(),
            filter: filter(n, physics.filter),
            slope: [vec![0.0; n * n], vec![0.0; n * n]],
            land: vec![0.0; n * n],
            rain: vec![0.0; n * n],
            saturation: vec![0.0; n * n],
            wave,
            physics,
        };
        let f = flow.stretching();
        let inverse = |k2: &f64| {
            let a = -(k2 + f);
            if *k2 == 0.0 {
                0.0
            } else {
                1.0 / (a * a - f * f)
            }
        };
        flow.inverse = flow.k2.iter().map(inverse).collect();
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
        let (f, level) = (self.stretching(), self.level);
        let ([q1, q2, _], [p1, p2]) = (&self.state, &mut self.psi);
        for (q1, q2, p1, p2) in [
            (&q1.re, &q2.re, &mut p1.re, &mut p2.re),
            (&q1.im, &q2.im, &mut p1.im, &mut p2.im),
        ] {
            let given = flat(q1).iter().zip(flat(q2));
            let found = p1.as_flattened_mut().iter_mut().zip(p2.as_flattened_mut());
            let waves = self.k2.iter().zip(&self.inverse);
            level.run(Wide(|| {
                for (((q1, q2), (p1, p2)), (k2, inverse)) in given.zip(found).zip(waves) {
                    let a = -(k2 + f);
                    *p1 = inverse * (a * q1 - f * q2);
                    *p2 = inverse * (a * q2 - f * q1);
                }
            }));
        }
    }

    /// Fills the packs u+iv of both layers, ∇q of both, ∇m, and (ψ1−ψ2) + i m, as fields.
    fn fields(&mut self) {
        self.invert();
        let (wave, level) = (&self.wave, self.level);
        // û + i v̂ = −(kx + i ky) ψ̂ and the gradient of a: (i kx − ky) â.
        let wind = |x: f64, y: f64, re: f64, im: f64| (-x * re + y * im, -x * im - y * re);
        let gradient = |x: f64, y: f64, re: f64, im: f64| (-y * re - x * im, x * re - y * im);
        let [wind1, wind2, grad1, grad2, grad_m, rest, ..] = &mut self.packs[..] else {
            unreachable_packs()
        };
        let ([q1, q2, m], [p1, p2]) = (&self.state, &self.psi);
        for (from, to) in [(p1, wind1), (p2, wind2)] {
            level.run(Wide(|| by_wave(wave, from, to, wind)));
        }
        for (from, to) in [(q1, grad1), (q2, grad2), (m, grad_m)] {
            level.run(Wide(|| by_wave(wave, from, to, gradient)));
        }
        let sheared = flat(&p1.re).iter().zip(flat(&p2.re));
        let sheared = sheared.zip(flat(&p1.im).iter().zip(flat(&p2.im)));
        let moist = flat(&m.re).iter().zip(flat(&m.im));
        let both = rest.re.as_flattened_mut().iter_mut();
        let both = both.zip(rest.im.as_flattened_mut());
        level.run(Wide(|| {
            for (((re, im), (a, b)), (m_re, m_im)) in both.zip(sheared).zip(moist) {
                *re = a.0 - a.1 - m_im;
                *im = b.0 - b.1 + m_re;
            }
        }));
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
            let im = [&now.im, &before.im, &earlier.im].map(|part| flat(part));
            let parts = [(&mut state.re, re), (&mut state.im, im)];
            for (part, tendency) in parts {
                let x = part.as_flattened_mut();
                let filter = &self.filter;
                let advance = Wide(|| advance(x, tendency, filter, weights));
                self.level.run(advance);
            }
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
        single[0].im.as_flattened_mut().fill(0.0);
        let (n2, level, dt) = (self.n * self.n, self.level, self.dt);
        let part = |part| &flat(part)[..n2];
        let (u1, v1, u2, v2) = (
            part(&wind1.re),
            part(&wind1.im),
            part(&wind2.re),
            part(&wind2.im),
        );
        let (q1_x, q1_y) = (part(&grad1.re), part(&grad1.im));
        let (q2_x, q2_y) = (part(&grad2.re), part(&grad2.im));
        let (m_x, m_y, moisture) = (part(&grad_m.re), part(&grad_m.im), part(&rest.im));
        let (saturation, land) = (&self.saturation[..n2], &self.land[..n2]);
        let (east, north) = (&self.slope[0][..n2], &self.slope[1][..n2]);
        let (t1, t2) = (pair[0].re.as_flattened_mut(), pair[0].im.as_flattened_mut());
        let (t1, t2) = (&mut t1[..n2], &mut t2[..n2]);
        let (tm, fallen) = (single[0].re.as_flattened_mut(), &mut self.rain[..n2]);
        let tm = &mut tm[..n2];
        level.run(Wide(|| {
            for i in 0..n2 {
                let (u1, v1) = (u1[i] + mean_wind[0], v1[i]);
                let (u2, v2) = (u2[i] + mean_wind[1], v2[i]);
                t1[i] = -u1 * q1_x[i] - v1 * (q1_y[i] + planetary[0]);
                t2[i] = -u2 * (q2_x[i] + east[i]) - v2 * (q2_y[i] + north[i] + planetary[1]);
                let m = moisture[i].max(0.0);
                let rain = (m - saturation[i]).max(0.0) / 7200.0;
                let dry = (0.8 * saturation[i] - m).max(0.0);
                let evaporation = (1.0 - 0.7 * land[i]) * dry / (2.0 * DAY);
                tm[i] = -u2 * m_x[i] - v2 * m_y[i] - rain + evaporation;
                fallen[i] += rain * dt;
            }
        }));
    }

    /// Thermal relaxation and friction, added in the spectrum.
    fn linear_terms(&mut self) {
        let f = self.stretching();
        let Physics {
            friction,
            relaxation,
            ..
        } = self.physics;
        let ([first, second, _], [p1, p2]) = (&mut self.tendency[0], &self.psi);
        for (t1, t2, p1, p2) in [
            (&mut first.re, &mut second.re, &p1.re, &p2.re),
            (&mut first.im, &mut second.im, &p1.im, &p2.im),
        ] {
            let both = t1.as_flattened_mut().iter_mut().zip(t2.as_flattened_mut());
            let psi = flat(p1).iter().zip(flat(p2)).zip(&self.k2);
            self.level.run(Wide(|| {
                for ((t1, t2), ((p1, p2), k2)) in both.zip(psi) {
                    let heating = relaxation * f * (p1 - p2);
                    *t1 += heating;
                    *t2 += friction * k2 * p2 - heating;
                }
            }));
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

#[cold]
fn unreachable_packs() -> ! {
    panic!("a flow has eight packs")
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
