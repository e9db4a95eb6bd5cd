//! Which coordinates the draws of a warm-up ask for: how far each effect is centred, and which
//! scales have a sign.

use super::compiled::{Compiled, centring};
use crate::model::ast::Centring;
use crate::model::joint::{Chosen, Coordinates, Joint};

/// Pooled draws below which no choice is made.
const FEWEST_DRAWS: usize = 10;
/// Below this c is 0, and above 1 less this it is 1.
const NEARLY: f64 = 0.1;
/// The quantile of the scale at which c is taken.
const LOW_SCALE: f64 = 0.02;
/// A choice that moves no element by more than this is not worth a change.
const SMALLEST_CHANGE: f64 = 0.05;
/// A scale keeps its sign unless ln τ is better by this factor's logarithm: the two are estimated.
const SIGN_STAYS: f64 = 0.5;

/// Positions and the slopes there, one row after the other.
type Draws<'a> = (&'a [f64], &'a [f64]);

/// The coordinates to sample in from now on, if they are to change.
pub(super) fn wanted(
    joint: &Joint,
    asked: &[Centring],
    compiled: &Compiled,
    draws: Draws<'_>,
) -> Option<Chosen> {
    let present = &compiled.chosen;
    let plates = wanted_plates(asked, compiled, draws)?;
    let signed = wanted_signs(joint, compiled, draws, &plates);
    let moved = |k: usize| {
        let each = 0..compiled.places[k].len;
        each.map(|j| (centring(&plates[k], j) - centring(&present.plates[k], j)).abs())
            .fold(0.0, f64::max)
    };
    let largest = (0..plates.len()).map(moved).fold(0.0, f64::max);
    let plates = match largest > SMALLEST_CHANGE {
        true => plates,
        false => present.plates.clone(),
    };
    let wanted = Chosen { plates, signed };
    (wanted != *present).then_some(wanted)
}

/// The c of every element of the plates that are free, from draws and their slopes.
///
/// Let g = s^c ∂ℓ/∂w be the slope in the standardised coordinate (x − m)/s. For normal effects
/// seen with precision I, E\[g²\] = 1 + s² I, and the coupling with the location vanishes at
/// c = s² I/(1 + s² I) (Papaspiliopoulos, Roberts, Sköld 2007). That c depends on s. Too large
/// a c at a small s is a funnel, in which chains diverge or stick; too small a c at a large s
/// is a mere correlation. So I is taken from the means of g² and s², and c at a low quantile
/// of s: where the scale may be near 0, the coordinates stay standardised.
fn wanted_plates(
    asked: &[Centring],
    compiled: &Compiled,
    (positions, slopes): Draws<'_>,
) -> Option<Vec<Coordinates>> {
    let dim = compiled.dim;
    let mut frames = compiled.frames();
    let places = &compiled.places;
    let present = &compiled.chosen.plates;
    let free = |k: usize| places[k].sampled && asked[k] == Centring::Auto;
    let mut tallies: Vec<Vec<Tally>> = (0..places.len())
        .map(|k| vec![Tally::default(); if free(k) { places[k].len } else { 0 }])
        .collect();
    let mut n = 0;
    for (position, slope) in positions.chunks_exact(dim).zip(slopes.chunks_exact(dim)) {
        if !slope.iter().all(|g| g.is_finite()) {
            continue;
        }
        n += 1;
        frames.run(position);
        for k in (0..places.len()).filter(|k| free(*k)) {
            let scale = frames.of(k).1;
            for (j, tally) in tallies[k].iter_mut().enumerate() {
                let power = match centring(&present[k], j) {
                    0.0 => 1.0,
                    1.0 => scale[j],
                    c => libm::pow(scale[j], c),
                };
                tally.add(power * slope[places[k].offset + j], scale[j]);
            }
        }
    }
    let choose = |(k, tallies): (usize, &mut Vec<Tally>)| match free(k) {
        true => simplest(tallies.iter_mut().map(|t| rounded(t.centring())).collect()),
        false => present[k].clone(),
    };
    (n >= FEWEST_DRAWS).then(|| tallies.iter_mut().enumerate().map(choose).collect())
}

/// What the draws say about one element of a plate.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Σ g².
    slopes: f64,
    /// The scale at every draw.
    scales: Vec<f64>,
}

impl Tally {
    fn add(&mut self, slope: f64, scale: f64) {
        self.slopes += slope * slope;
        self.scales.push(scale);
    }

    /// c, see [`wanted_plates`].
    fn centring(&mut self) -> f64 {
        let n = self.scales.len();
        let mean_square = self.scales.iter().map(|s| s * s).sum::<f64>() / n as f64;
        let information = (self.slopes / n as f64 - 1.0) / mean_square;
        let at = (LOW_SCALE * n as f64) as usize;
        let (_, &mut low, _) = self
            .scales
            .select_nth_unstable_by(at.min(n - 1), f64::total_cmp);
        let ratio = low * low * information;
        ratio / (1.0 + ratio)
    }
}

/// c within [0, 1], with values near the ends moved there.
fn rounded(c: f64) -> f64 {
    if c > 1.0 - NEARLY {
        1.0
    } else if c >= NEARLY {
        c
    } else {
        0.0 // NaN as well: without any slope there is no reason to centre.
    }
}

fn simplest(c: Vec<f64>) -> Coordinates {
    if c.iter().all(|&c| c == 1.0) {
        Coordinates::Centred
    } else if c.iter().all(|&c| c == 0.0) {
        Coordinates::NonCentred
    } else {
        Coordinates::Partial(c)
    }
}

/// Which scales should have a sign, where the plates are to be in `plates`.
///
/// The variance of a coordinate times that of its slope is 1 for a normal distribution, and
/// larger for any other or where other coordinates move along with it. So the coordinate is
/// taken, ln τ or s = ±τ, whose product is the smaller. Heavy tails of τ speak for ln τ, as does
/// a τ that stays away from 0: s would then have two separate modes.
///
/// Only where all plates of the scale are non-centred: elsewhere s cannot cross 0.
fn wanted_signs(
    joint: &Joint,
    compiled: &Compiled,
    (positions, slopes): Draws<'_>,
    plates: &[Coordinates],
) -> Vec<usize> {
    if !joint.rewrites().signed {
        return Vec::new();
    }
    let (dim, present) = (compiled.dim, &compiled.chosen);
    let is_free = |k: &usize| {
        let own = joint.plates().iter().enumerate();
        let mut own = own.filter(|(_, plate)| plate.scales.contains(&joint.scales()[*k]));
        let standard = |c: &Coordinates| *c == Coordinates::NonCentred;
        own.all(|(at, _)| standard(&plates[at]) && standard(&present.plates[at]))
    };
    let is_better = |k: &usize| {
        let has_sign = present.signed.contains(k);
        let excess = |i: usize| {
            let rows = positions.chunks_exact(dim).zip(slopes.chunks_exact(dim));
            let rows = rows.filter(|(_, slope)| slope.iter().all(|g| g.is_finite()));
            excess_of_log(rows.map(|(x, slope)| (x[i], slope[i])), has_sign)
        };
        let sum: f64 = compiled.scales[*k].clone().map(excess).sum();
        sum > if has_sign { -SIGN_STAYS } else { 0.0 }
    };
    let scales = 0..compiled.scales.len();
    scales.filter(|k| is_free(k) && is_better(k)).collect()
}

/// ln of (variance of ln τ times that of its slope) less the same of s = ±τ, from pairs of a
/// coordinate and its slope: s where it `has_sign`, else ln τ. With g the slope of the log density
/// in ln τ, that in s is (g − 1)/s.
fn excess_of_log(pairs: impl Iterator<Item = (f64, f64)>, has_sign: bool) -> f64 {
    // n; Σ and Σ² of ln τ and of its slope; Σ² of s and of its slope, whose means are 0.
    let mut sums = [0.0; 7];
    for (x, slope) in pairs {
        let (u, of_u, s, of_s) = match has_sign {
            true => (libm::log(x.abs()), x * slope + 1.0, x, slope),
            false => {
                let s = libm::exp(x);
                (x, slope, s, (slope - 1.0) / s)
            }
        };
        let terms = [1.0, u, u * u, of_u, of_u * of_u, s * s, of_s * of_s];
        sums.iter_mut().zip(terms).for_each(|(sum, x)| *sum += x);
    }
    let [n, u, uu, g, gg, ss, of_ss] = sums;
    let variance = |sum: f64, squares: f64| squares / n - (sum / n) * (sum / n);
    let of_log = variance(u, uu) * variance(g, gg);
    libm::log(of_log) - libm::log(ss / n * (of_ss / n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// Positions and slopes of ln τ for draws of τ, whose slope of the log density is `slope`.
    fn of_log(draws: &[f64], slope: impl Fn(f64) -> f64) -> f64 {
        let pairs = draws.iter().map(|&t| (libm::log(t), 1.0 + t * slope(t)));
        let from_log = excess_of_log(pairs, false);
        let signed = draws.iter().enumerate().map(|(i, &t)| {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            (sign * t, sign * slope(t))
        });
        let from_signed = excess_of_log(signed, true);
        assert!(
            (from_log - from_signed).abs() < 1e-9,
            "{from_log} {from_signed}"
        );
        from_log
    }

    /// A half-normal τ has π²/8 · 2 in ln τ and 1 in s: ln 2.47 = 0.90. From 4,000 draws; the bound
    /// 0.15 is about four standard errors. A τ of 5 ± 1 has 25 in s; one with a Cauchy's tail has
    /// no variance in s.
    #[test]
    fn a_scale_gets_a_sign_where_it_may_be_near_0_and_has_light_tails() {
        let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
        let half_normal: Vec<f64> = (0..4000).map(|_| rng.normal().abs()).collect();
        let excess = of_log(&half_normal, |t| -t);
        assert!((excess - 0.904).abs() < 0.15, "{excess}");
        let away: Vec<f64> = (0..4000).map(|_| 5.0 + rng.normal()).collect();
        assert!(of_log(&away, |t| 5.0 - t) < -1.0);
        let heavy: Vec<f64> = (0..4000)
            .map(|_| (rng.normal() / rng.normal()).abs())
            .collect();
        assert!(of_log(&heavy, |t| -2.0 * t / (1.0 + t * t)) < -1.0);
    }
}
