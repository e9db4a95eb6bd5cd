//! Waves: frequencies from the power of what is left, phases from pairs of sine and cosine.

use super::basis::{Basis, Gain};
use super::periodogram::Grid;
use super::rows::Rows;
use super::trials::{Trials, Values};
use crate::formula::Waves;
use crate::method::Bounds;
use fitzroy::Result;
use std::f64::consts::{PI, TAU};

/// Frequencies that are looked at closely, at least, and at most where they have nearly the same power.
const CLOSELY: (usize, usize) = (8, 40);
const NEARLY: f64 = 0.8;
/// Low frequencies that are always looked at, in eighths of a cycle over the range.
const LOW: usize = 12;
/// Envelopes for which they are.
const FEW: usize = 8;
/// Peaks of what is left that tell the frequency of a wave in an envelope, and values of what else an envelope has.
const PEAKS: usize = 6;
const MODULATED: usize = 3;
/// Times that a frequency is refined.
const REFINED: usize = 5;

/// Frequencies of a term as a power of its parameter.
struct Scale {
    /// Of each column, the frequency where the parameter is 1.
    unit: Vec<f64>,
    exponent: f64,
}

impl Scale {
    fn parameter(&self, column: usize, frequency: f64) -> f64 {
        (frequency / self.unit[column]).powf(1.0 / self.exponent)
    }

    fn frequency(&self, column: usize, parameter: f64) -> f64 {
        self.unit[column] * parameter.powf(self.exponent)
    }
}

/// A search for one term of waves.
pub(super) struct Search<'s> {
    pub(super) waves: &'s Waves,
    pub(super) rows: &'s Rows,
    pub(super) bounds: &'s Bounds,
    /// How what is neither frequency nor phase is tried.
    pub(super) trials: Trials,
    /// Parameters with given values.
    pub(super) given: &'s [bool],
}

impl Search<'_> {
    /// The values that explain most of what is left by `basis`, and how much; `theta` has what is given.
    pub(super) fn best(&self, basis: &Basis, theta: &[f64]) -> Result<Option<(f64, Values)>> {
        let (Some(scale), Some(grid)) = (self.scale(theta)?, self.grid()) else {
            return Ok(None);
        };
        let frequency = self.waves.frequency;
        let mut tried: Vec<(f64, Vec<f64>, Values)> = Vec::new();
        for values in self.candidates(&scale, &grid, basis, theta)? {
            let mut at = theta.to_vec();
            put(&mut at, &values);
            let fall = self.gain(basis, &at)?.0.fall;
            if fall.is_finite() {
                tried.push((fall, at, values));
            }
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        let least = NEARLY * tried.first().map_or(0.0, |t| t.0);
        let near = tried.iter().take_while(|t| t.0 > least).count();
        tried.truncate(near.max(1));
        if !self.given[frequency] {
            for (fall, at, _) in &mut tried {
                *fall = self.refine(basis, &scale, grid.span, at)?;
            }
        }
        let best = tried.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, mut at, values)) = best else {
            return Ok(None);
        };
        let fall = self.phases(basis, &mut at)?;
        let phases = self.waves.columns.iter().filter_map(|c| c.1);
        let named = values.iter().map(|v| v.0).chain(phases).chain([frequency]);
        let mut named: Vec<usize> = named.collect();
        named.sort_unstable();
        named.dedup();
        Ok(Some((
            fall,
            named.into_iter().map(|k| (k, at[k])).collect(),
        )))
    }

    /// Frequencies at which what is left has most power, with every envelope, and low ones.
    fn candidates(
        &self,
        scale: &Scale,
        grid: &Grid,
        basis: &Basis,
        theta: &[f64],
    ) -> Result<Vec<Values>> {
        let frequency = self.waves.frequency;
        let mut found: Vec<(f64, Values)> = Vec::new();
        let mut low: Vec<(f64, Values)> = Vec::new();
        let add = |to: &mut Vec<(f64, Values)>, power: f64, w: f64, values: &Values| {
            for column in 0..scale.unit.len() {
                let parameter = scale.parameter(column, w);
                if parameter == self.bounds.clip(frequency, parameter)
                    && (column == 0 || scale.unit[column] != scale.unit[0])
                {
                    let mut values = values.clone();
                    values.push((frequency, parameter));
                    to.push((power, values));
                }
            }
        };
        let envelopes = self.envelopes(grid, basis);
        for values in &envelopes {
            let mut at = theta.to_vec();
            put(&mut at, values);
            if self.given[frequency] {
                found.push((0.0, values.clone()));
                continue;
            }
            at[frequency] = scale.parameter(0, TAU / grid.span);
            let [_, _, envelope] = &self.rows.waves(self.waves, &at)?[0];
            let size: f64 = envelope.iter().map(|e| e * e).sum();
            let z = envelope.iter().zip(&basis.rest).map(|(e, r)| e * r);
            let z: Vec<f64> = z.collect();
            for (w, power) in grid.peaks(&z, &|w| {
                let parameter = scale.parameter(0, w);
                parameter == self.bounds.clip(frequency, parameter)
            }) {
                add(&mut found, power / size, w, values);
            }
            if envelopes.len() <= FEW {
                let eighths = (1..=LOW).map(|k| TAU / grid.span * k as f64 / 8.0);
                eighths.for_each(|w| add(&mut low, 0.0, w, values));
            }
        }
        found.retain(|f| f.0.is_finite());
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        if !self.given[frequency] {
            let least = NEARLY * found.first().map_or(0.0, |f| f.0);
            let near = found.iter().take_while(|f| f.0 > least).count();
            found.truncate(near.clamp(CLOSELY.0, CLOSELY.1));
        }
        Ok(found.into_iter().chain(low).map(|f| f.1).collect())
    }

    /// Values of what is neither frequency nor phase; of a wave in the envelope frequencies that the peaks of what is
    /// left tell, since a product of waves is a sum of those of the sum and the difference of their frequencies.
    fn envelopes(&self, grid: &Grid, basis: &Basis) -> Vec<Values> {
        let few = self.trials.few(self.rows);
        let Some(inner) = self.waves.inner.filter(|i| !self.given[i.frequency]) else {
            return few;
        };
        let peaks = grid.peaks(&basis.rest, &|_| true);
        let peaks: Vec<f64> = peaks.into_iter().map(|p| p.0).take(PEAKS).collect();
        let cycle = TAU / grid.span;
        let mut all: Vec<f64> = (1..=LOW).map(|k| cycle * k as f64 / 4.0).collect();
        for (i, a) in peaks.iter().enumerate() {
            for b in &peaks[..i] {
                let (sum, difference) = (a + b, (a - b).abs());
                match inner.is_factor {
                    true => all.extend([0.5 * sum, 0.5 * difference]),
                    false => all.push(difference),
                }
            }
        }
        all.sort_by(f64::total_cmp);
        all.dedup_by(|b, a| *b - *a < 0.1 * cycle);
        let (turns, turn) = match (inner.phase.filter(|&p| !self.given[p]), inner.is_factor) {
            (None, _) => (1, 0.0),
            // Half a turn is a change of sign.
            (Some(_), true) => (4, PI / 4.0),
            (Some(_), false) => (8, PI / 4.0),
        };
        let mut out = Vec::new();
        for values in few.iter().step_by(few.len().div_ceil(MODULATED).max(1)) {
            for w in &all {
                for k in 0..turns {
                    let mut values = values.clone();
                    let v = self.bounds.clip(inner.frequency, w / inner.unit.abs());
                    values.push((inner.frequency, v));
                    if let Some(p) = inner.phase.filter(|_| turns > 1) {
                        values.push((p, self.bounds.clip(p, k as f64 * turn)));
                    }
                    out.push(values);
                }
            }
        }
        out
    }

    fn grid(&self) -> Option<Grid> {
        let k = self.waves.predictor;
        Grid::new(self.rows.x(k), self.rows.gaps[k])
    }

    /// Whether the phase of column `k` is searched for, and by which parameter.
    fn phase(&self, k: usize) -> Option<usize> {
        self.waves.columns[k].1.filter(|&p| !self.given[p])
    }

    fn scale(&self, theta: &[f64]) -> Result<Option<Scale>> {
        let rates = |parameter: f64| -> Result<Vec<f64>> {
            let mut at = theta.to_vec();
            at[self.waves.frequency] = parameter;
            let all = self.rows.waves(self.waves, &at)?;
            Ok(all
                .iter()
                .map(|[_, rate, _]| rate.first().map_or(0.0, |r| r.abs()))
                .collect())
        };
        let (one, two, three) = (rates(1.0)?, rates(2.0)?, rates(3.0)?);
        let exponent = (two[0] / one[0]).log2();
        let power = |k: usize| {
            let off = |rate: f64, by: f64| (rate / (one[k] * by.powf(exponent)) - 1.0).abs() < 1e-9;
            off(two[k], 2.0) && off(three[k], 3.0)
        };
        let usable = exponent.abs() > 0.1 && (0..one.len()).all(power);
        Ok(usable.then_some(Scale {
            unit: one,
            exponent,
        }))
    }

    /// What the waves at `theta` explain, at any phase where those are free, and their arguments.
    fn gain(&self, basis: &Basis, theta: &[f64]) -> Result<(Gain, Vec<Vec<f64>>)> {
        let mut at = theta.to_vec();
        for k in 0..self.waves.columns.len() {
            if let Some(p) = self.phase(k) {
                at[p] = 0.0;
            }
        }
        let all = self.rows.waves(self.waves, &at)?;
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (k, [argument, _, envelope]) in all.iter().enumerate() {
            let both = argument.iter().zip(envelope);
            let (sine, cosine): (Vec<f64>, Vec<f64>) = both
                .map(|(u, e)| (e * libm::sin(*u), e * libm::cos(*u)))
                .unzip();
            match (self.phase(k), self.waves.columns[k].0) {
                (Some(_), _) => columns.extend([sine, cosine]),
                (None, true) => columns.push(cosine),
                (None, false) => columns.push(sine),
            }
        }
        let borrowed: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let arguments = all.into_iter().map(|[argument, ..]| argument).collect();
        Ok((basis.gain(&borrowed), arguments))
    }

    /// Moves the frequency to where most is explained, and tells how much: steps of a parabola, shorter each
    /// time.
    fn refine(&self, basis: &Basis, scale: &Scale, span: f64, theta: &mut [f64]) -> Result<f64> {
        let frequency = self.waves.frequency;
        let mut w = scale.frequency(0, theta[frequency]);
        let mut step = TAU / span / 8.0;
        let fall = |w: f64, theta: &mut [f64]| -> Result<f64> {
            theta[frequency] = self.bounds.clip(frequency, scale.parameter(0, w));
            Ok(self.gain(basis, theta)?.0.fall)
        };
        let mut here = fall(w, theta)?;
        for _ in 0..REFINED {
            let (below, above) = (
                fall((w - step).max(0.1 * w), theta)?,
                fall(w + step, theta)?,
            );
            let bend = below - 2.0 * here + above;
            let by = match bend < 0.0 {
                true => (0.5 * (below - above) / bend).clamp(-1.0, 1.0),
                false => {
                    if above > below {
                        1.0
                    } else {
                        -1.0
                    }
                }
            };
            let next = (w + by * step).max(0.1 * w);
            let there = fall(next, theta)?;
            if there > here {
                (w, here) = (next, there);
            }
            step /= 3.0;
        }
        fall(w, theta)
    }

    /// Puts phases where the factors of sines and cosines have them; what is explained there.
    fn phases(&self, basis: &Basis, theta: &mut [f64]) -> Result<f64> {
        let (gain, arguments) = self.gain(basis, theta)?;
        let mut factors = gain.factors.iter();
        for k in 0..self.waves.columns.len() {
            let Some(p) = self.phase(k) else {
                factors.next();
                continue;
            };
            let (sine, cosine) = (
                factors.next().unwrap_or(&0.0),
                factors.next().unwrap_or(&0.0),
            );
            let phase = match self.waves.columns[k].0 {
                true => (-sine).atan2(*cosine),
                false => cosine.atan2(*sine),
            };
            // How far one of the parameter shifts the argument.
            let mut at = theta.to_vec();
            at[p] = 1.0;
            let moved = self.rows.waves(self.waves, &at)?;
            let shift = moved[k][0][0] - arguments[k][0];
            if !(shift.abs() > 0.0) {
                continue;
            }
            let period = TAU / shift.abs();
            let x = self.rows.x(self.waves.predictor);
            let (low, high) = (self.bounds.lower[p], self.bounds.upper[p]);
            let centre = match (low.is_finite(), high.is_finite()) {
                (true, true) => 0.5 * (low + high),
                (true, false) => low + 0.5 * period,
                (false, true) => high - 0.5 * period,
                // A place lies among the rows, a plain phase within half a turn.
                _ if (shift.abs() - 1.0).abs() > 1e-9 && (period / PI - 2.0).abs() > 1e-9 => {
                    x[x.len() / 2]
                }
                _ => 0.0,
            };
            let first = phase / shift;
            theta[p] = first + period * ((centre - first) / period).round();
        }
        Ok(gain.fall)
    }
}

/// Puts `values` in their places.
pub(super) fn put(theta: &mut [f64], values: &Values) {
    for &(k, x) in values {
        theta[k] = x;
    }
}
