//! Parts of the stop-signal model: Wald racers, an ex-Gaussian stop time, and the nodes of the
//! integral over it. Each formula stands beside its slopes.
//!
//! The slopes are written out because the slopes of the formulas cancel where the formulas do not:
//! with σ much above τ by all digits. Sources: Weigard, Matzke, Tanis and Heathcote, Developmental
//! Cognitive Neuroscience 59 (2023) 101191; Tanis et al., "Racing diffusion ex-Gaussian".

use super::Real;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

const FRAC_1_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;
/// Where the integral over the stop time ends, in its variable u: 6 standard deviations, and 19 τ.
pub(crate) const U_END: f64 = 6.0;

fn lit<R: Real>(x: f64) -> R {
    R::lit(x)
}

/// (x > 0 ? x : 1, x > 0)
fn positive<R: Real>(x: R) -> (R, R) {
    let inside = lit::<R>(0.0).lt(x);
    (inside.select(x, lit(1.0)), inside)
}

/// One racer at a time t > 0 after it started: a Wiener process of unit noise from 0 to B with
/// drift v ≥ 0, finished at a Wald time of mean B/v and shape B².
///
/// With z₁ = (B − vt)/√t, z₂ = (B + vt)/√t and E = e^(−z₁²/2), S = 1 − ½E(erfcx(z₁/√2) +
/// erfcx(z₂/√2)) for z₁ ≥ 0 and ½E(erfcx(−z₁/√2) − erfcx(z₂/√2)) below: nothing overflows. z₂ is
/// never negative; that its size is taken tells those who write the code.
#[derive(Clone, Copy, Debug)]
pub struct Racer<R> {
    /// S(t), the probability that it is still running.
    pub survivor: R,
    /// f(t) = B e^(−z₁²/2) / √(2πt³).
    pub density: R,
    /// ∂S/∂v.
    pub by_drift: R,
    /// ∂S/∂B.
    pub by_threshold: R,
}

impl<R: Real> Racer<R> {
    /// At time `t`.
    pub fn at(t: R, drift: R, threshold: R) -> Self {
        let inverse_root = lit::<R>(1.0) / t.sqrt();
        let (start, way) = (threshold * inverse_root, drift * (t * inverse_root));
        let (z1, z2) = (start - way, start + way);
        let bell = (lit::<R>(-0.5) * (z1 * z1)).exp();
        let a = (z1.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let b = (z2.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let half_bell = lit::<R>(0.5) * bell;
        let ahead = lit::<R>(0.0).le(z1);
        let sign = ahead.select(lit(1.0), lit(-1.0));
        let survivor = ahead.select(lit(1.0), lit(0.0)) - half_bell * (sign * a + b);
        let g = half_bell * b;
        let phi = bell * lit(FRAC_1_SQRT_TWO_PI) * inverse_root;
        Racer {
            survivor,
            density: start * inverse_root * phi,
            by_drift: lit::<R>(-2.0) * (threshold * g),
            by_threshold: lit::<R>(2.0) * (phi - drift * g),
        }
    }
}

/// The race of two racers with one threshold, won at time t: ln f(t; winner) + ln S(t; loser), and
/// its slopes. −∞ for t ≤ 0, where both vanish with all their derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Race<R> {
    /// ln f + ln S.
    pub log_density: R,
    /// Slope in t.
    pub by_time: R,
    /// Slope in the common threshold B.
    pub by_threshold: R,
    /// Slope in the drift of the winner.
    pub by_winner: R,
    /// Slope in the drift of the loser.
    pub by_loser: R,
}

impl<R: Real> Race<R> {
    /// At time `t`.
    pub fn at(t: R, winner: R, loser: R, threshold: R) -> Self {
        let (t, inside) = positive(t);
        let inverse = lit::<R>(1.0) / t;
        let inverse_root = inverse.sqrt();
        let (start, root) = (threshold * inverse_root, t * inverse_root);
        let (w, z1, z2) = (
            start - winner * root,
            start - loser * root,
            start + loser * root,
        );
        let a = (z1.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let b = (z2.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        // S = D·e^(−z₁²/2) with the factor taken out where S is small.
        let square = z1 * z1;
        let ahead = lit::<R>(0.0).le(z1);
        let half_bell = lit::<R>(0.5) * ahead.select((lit::<R>(-0.5) * square).exp(), lit(1.0));
        let sign = ahead.select(lit(1.0), lit(-1.0));
        let rest = ahead.select(lit(1.0), lit(0.0)) - half_bell * (sign * a + b);
        let taken_out = ahead.select(lit(0.0), square);
        let log = (threshold * inverse * inverse_root * rest).ln();
        let log_density = log - lit::<R>(0.5) * (w * w + taken_out) - lit(HALF_LN_TWO_PI);
        let share = half_bell / rest;
        let g = share * b;
        let phi = share * inverse_root * lit(2.0 * FRAC_1_SQRT_TWO_PI);
        let v = threshold * inverse;
        let by_winner = threshold - winner * t;
        let half = lit::<R>(0.5);
        Race {
            log_density: inside.select(log_density, lit(f64::NEG_INFINITY)),
            by_time: half * (v * v - winner * winner) - (lit::<R>(1.5) + threshold * phi) * inverse,
            by_threshold: lit::<R>(1.0) / threshold - by_winner * inverse
                + lit::<R>(2.0) * (phi - loser * g),
            by_winner,
            by_loser: lit::<R>(-2.0) * (threshold * g),
        }
    }
}

/// The time the stop process takes, Normal(μ, σ) + Exponential(mean τ), at x: density f, survivor
/// S, and their slopes in (μ, σ, τ).
///
/// With r = σ/τ, z = (x − μ)/σ, q = r − z and n = φ(z)/σ: f = rA and S = Φ(−z) + σA, where A =
/// n√(π/2)·erfcx(q/√2) for q ≥ 0 and e^(r²/2 − rz)/σ − n√(π/2)·erfcx(−q/√2) below, K = n − qA;
/// ∂f = ((zA − K)/τ, (z²A − (r + z)K)/τ, (r²K − f)/τ) and ∂S = (f, r(zA − K), r²K).
#[derive(Clone, Copy, Debug)]
pub struct StopTime<R> {
    /// f(x).
    pub density: R,
    /// ∂f/∂(μ, σ, τ).
    pub density_by: [R; 3],
    /// ∂S/∂(μ, σ, τ); S itself is [`StopTime::survivor`].
    pub survivor_by: [R; 3],
    z: R,
    sigma_a: R,
}

impl<R: Real> StopTime<R> {
    /// At `x`.
    pub fn at(x: R, [mu, sigma, tau]: [R; 3]) -> Self {
        Self::standardised((x - mu) / sigma, [sigma, tau])
    }

    /// At z = (x − μ)/σ.
    pub fn standardised(z: R, [sigma, tau]: [R; 2]) -> Self {
        let r = sigma / tau;
        let q = r - z;
        let bell = (lit::<R>(-0.5) * (z * z)).exp();
        let tail = (q.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let below = q.lt(lit(0.0));
        // r²/2 − rz = (q² − z²)/2 is positive without bound where it is not used.
        let exponent = below.select(lit::<R>(0.5) * (r * (q - z)), lit(0.0));
        let half = lit::<R>(0.5) * bell * tail;
        let sigma_a = below.select(exponent.exp() - half, half);
        let sigma_k = bell * lit(FRAC_1_SQRT_TWO_PI) - q * sigma_a;
        let inverse = lit::<R>(1.0) / tau;
        let density = sigma_a * inverse;
        let scale = inverse / sigma;
        let drop = z * sigma_a - sigma_k;
        let rate = r * inverse;
        let gain = rate * sigma_k;
        StopTime {
            density,
            density_by: [
                drop * scale,
                (z * drop - r * sigma_k) * scale,
                gain * inverse - density * inverse,
            ],
            survivor_by: [density, drop * inverse, gain],
            z,
            sigma_a,
        }
    }

    /// S(x).
    pub fn survivor(&self) -> R {
        lit::<R>(0.5) * (self.z * lit(FRAC_1_SQRT_2)).erfc() + self.sigma_a
    }
}

/// Where the integral over the stop time runs, in u: x(u) = μ + σu + τρ(u), with ρ = ½s² and
/// s = (u + √(u² + 4))/2, from u₀ to u₁, which are at x(−6) and x(6) or at the ends that were given.
///
/// x follows the quantiles of the ex-Gaussian closely enough that its integrand is smooth in u for
/// any σ/τ.
#[derive(Clone, Copy, Debug)]
pub struct StopWindow<R> {
    /// u₀.
    pub start: R,
    /// u₁ − u₀ ≥ 0.
    pub width: R,
}

impl<R: Real> StopWindow<R> {
    /// Between x = `from` and x = `to`, each where it lies inside.
    pub fn new(from: R, to: Option<R>, stop: [R; 3]) -> Self {
        let start = Self::root(from, stop);
        let end = to.map_or(lit(U_END), |to| Self::root(to, stop));
        let (gap, open) = positive(end - start);
        StopWindow {
            start,
            width: open.select(gap, lit(0.0)),
        }
    }

    /// The u with x(u) = `target`, kept to −6 .. 6.
    ///
    /// x rises and is convex, so Newton's steps from above fall to the root; eight steps reach it
    /// from wherever they start.
    fn root(target: R, [mu, sigma, tau]: [R; 3]) -> R {
        let goal = (target - mu) / sigma;
        let ratio = tau / sigma;
        let mut u = goal.min(lit(U_END)).max(lit(-2.0 * U_END));
        for _ in 0..8 {
            let (rho, slope) = rho(u);
            u = (u - (u + ratio * rho - goal) / (lit::<R>(1.0) + ratio * slope)).min(lit(U_END));
        }
        u.max(lit(-U_END))
    }

    /// The ends, the middle, and where x is each of `marks` as far as that lies inside, in order.
    pub fn edges(&self, marks: &[R], stop: [R; 3]) -> Vec<R> {
        let end = self.start + self.width;
        let mut inner = vec![self.start + lit::<R>(0.5) * self.width];
        for mark in marks {
            // Sorted in: the larger of each pair goes on.
            let mut carried = Self::root(*mark, stop).max(self.start).min(end);
            for place in &mut inner {
                (*place, carried) = (place.min(carried), place.max(carried));
            }
            inner.push(carried);
        }
        let ends = [vec![self.start], inner, vec![end]];
        ends.concat()
    }

    /// At the share `c` of the way: (z, dx/dc) with z = (x − μ)/σ.
    pub fn node(&self, c: R, scales: [R; 2]) -> (R, R) {
        let (z, slope) = Self::map(self.start + self.width * c, scales);
        (z, self.width * slope)
    }

    /// At u: (z, dx/du) with z = (x − μ)/σ.
    pub fn map(u: R, [sigma, tau]: [R; 2]) -> (R, R) {
        let (rho, slope) = rho(u);
        (u + (tau / sigma) * rho, sigma + tau * slope)
    }
}

/// ρ(u) and its slope.
fn rho<R: Real>(u: R) -> (R, R) {
    let root = (u * u + lit(4.0)).sqrt();
    let s = lit::<R>(0.5) * (u + root);
    let square = s * s;
    (lit::<R>(0.5) * square, square / root)
}

/// The rate of a racer on a stop trial: it starts at `v0` and moves to `drift`, its value on go
/// trials, at speed g as the stop signal is delayed: v0 + clamp(v − v0, ±g·SSD).
pub fn rate_after<R: Real>(ssd: R, drift: R, v0: R, g: R) -> R {
    let reach = g * ssd;
    v0 + (drift - v0).max(-reach).min(reach)
}

/// Nodes and weights of the Gauss–Legendre rule with `n` nodes on two halves of (0, 1): 2n pairs.
pub fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let one = |k: usize| {
        let mut x = libm::cos(PI * (k as f64 + 0.75) / (n as f64 + 0.5));
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut last, mut p) = (1.0, x);
            for j in 2..=n {
                let j = j as f64;
                (last, p) = (p, ((2.0 * j - 1.0) * x * p - (j - 1.0) * last) / j);
            }
            slope = n as f64 * (x * p - last) / (x * x - 1.0);
            let step = p / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    };
    let rule: Vec<(f64, f64)> = (0..n).rev().map(one).collect();
    let half = |shift: f64| {
        let place = move |&(x, w): &(f64, f64)| (shift + 0.25 * (x + 1.0), 0.25 * w);
        rule.iter().map(place)
    };
    half(0.0).chain(half(0.5)).collect()
}

/// The outcomes of the trials of a stop-signal task: 0 no response, 1 the right one, 2 the wrong
/// one, at rt seconds.
///
/// With probability pgf nothing is pressed. Otherwise two Wiener processes of unit noise race
/// from 0 to B, with drifts v_plus for the right and v_minus for the wrong response; the first
/// gives the response at t0 + its time. `ssd` = inf says that there was no stop signal. With
/// one, a drift v is v0 + clamp(v − v0, ±g·ssd), and with probability 1 − ptf a stop process
/// ends at ssd + X, X ~ Normal(stop_mu, stop_sigma) + Exponential(mean stop_tau) given X >
/// stop_lb; if it is first there is no response.
///
/// With f and S the density and survivor of a racer at rt − t0 and S_T the survivor of X,
/// p(response) = (1 − pgf)·f(winner)·S(loser), on stop trials times ptf + (1 − ptf)·S_T(rt − ssd);
/// p(none) = pgf, on stop trials pgf + (1 − pgf)(1 − ptf)·∫ f_T(x)·S·S dx, by Gauss–Legendre nodes
/// on two halves, `nodes` on each. With a `deadline` later responses count as none. −∞ for rt ≤
/// t0; NaN where a parameter is not valid.
///
/// Observed only, over one dim of trials; `rt`, `ssd`, `stop_lb`, `deadline` and `nodes` are data.
/// Source: Weigard, Matzke, Tanis and Heathcote, Developmental Cognitive Neuroscience 59 (2023)
/// 101191.
pub fn stop_signal(outcome: u8, rt: f64, ssd: f64, p: &[f64; 11], stop_lb: f64) -> f64 {
    let [
        t0,
        threshold,
        v_plus,
        v_minus,
        v0,
        g,
        mu,
        sigma,
        tau,
        pgf,
        ptf,
    ] = *p;
    let stop = [mu, sigma, tau];
    let is_stop = ssd.is_finite();
    let [plus, minus] = [v_plus, v_minus].map(|v| match is_stop {
        true => rate_after(ssd, v, v0, g),
        false => v,
    });
    let survivor = |x: f64| StopTime::at(x, stop).survivor();
    let kept = if stop_lb.is_finite() {
        survivor(stop_lb)
    } else {
        1.0
    };
    if outcome > 0 {
        let (winner, loser) = if outcome == 1 {
            (plus, minus)
        } else {
            (minus, plus)
        };
        let raced = Race::at(rt - t0, winner, loser, threshold).log_density;
        let x = rt - ssd;
        let later = if x > stop_lb { survivor(x) / kept } else { 1.0 };
        let late = if is_stop {
            ptf + (1.0 - ptf) * later
        } else {
            1.0
        };
        return raced + libm::log(late) + libm::log1p(-pgf);
    }
    if !is_stop {
        return libm::log(pgf);
    }
    let start = (t0 - ssd).max(stop_lb);
    let window = StopWindow::new(start, None, stop);
    let mut first = if start > stop_lb {
        kept - survivor(start)
    } else {
        0.0
    };
    for (c, w) in gauss_legendre(24) {
        let (z, dx) = window.node(c, [sigma, tau]);
        let t = (mu + sigma * z + ssd - t0).max(1e-9);
        let both = Racer::at(t, plus, threshold).survivor * Racer::at(t, minus, threshold).survivor;
        first += w * dx * StopTime::standardised(z, [sigma, tau]).density * both;
    }
    libm::log(pgf + (1.0 - pgf) * (1.0 - ptf) * first / kept)
}

/// Who wins a race of two Wiener processes of unit noise from 0 to B, and when: 1 the one of drift
/// v_plus, 2 that of v_minus, at rt seconds.
///
/// ln p = ln f(rt − t0; winner) + ln S(rt − t0; loser), both of Wald times with mean B/v and shape
/// B². −∞ for rt ≤ t0. Observed only, over one dim of trials; `rt` is data. Source: Tillman, Van
/// Zandt and Logan, Psychonomic Bulletin and Review 27 (2020) 911–936.
pub fn wald_race(outcome: u8, rt: f64, [t0, threshold, v_plus, v_minus]: [f64; 4]) -> f64 {
    let (winner, loser) = match outcome {
        1 => (v_plus, v_minus),
        _ => (v_minus, v_plus),
    };
    Race::at(rt - t0, winner, loser, threshold).log_density
}
