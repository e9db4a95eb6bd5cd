//! From one choice of coordinates to another, and what that does to the density.

use super::{Compiled, Frames, Place, centring};
use crate::model::joint::{Chosen, Coordinates};
use fitzroy_device::cpu::Workspace;
use std::sync::Arc;

/// A change from one choice of coordinates to another, with the same values of all variables.
pub(in crate::run) struct Change {
    from: Arc<Compiled>,
    to: Chosen,
}

impl Change {
    /// From the coordinates of `from` to others.
    pub(in crate::run) fn new(from: &Arc<Compiled>, to: &Chosen) -> Self {
        Change {
            from: Arc::clone(from),
            to: to.clone(),
        }
    }

    /// Maps a position with the memory of `frames`, which must be those of the old coordinates:
    /// w' = c' m + s^(c' − c) (w − c m), location m and scale s taken at the old position. Scales
    /// that get a sign get +, those that lose theirs leave it to their plates.
    pub(in crate::run) fn apply(&self, frames: &mut Frames<'_>, position: &mut [f64]) {
        frames.run(position);
        self.shift(frames, position, |place| place.sampled);
    }

    /// The same with the plates that `which` picks, at the last position of `frames`.
    pub(in crate::run) fn shift(
        &self,
        frames: &Frames<'_>,
        position: &mut [f64],
        which: impl Fn(&Place) -> bool,
    ) {
        let signed = &self.from.chosen.signed;
        let places = self.from.places.iter().enumerate();
        for (k, place) in places.filter(|(_, place)| which(place)) {
            let (location, scale) = frames.of(k);
            let (old, new) = (&self.from.chosen.plates[k], &self.to.plates[k]);
            let slots = &mut position[place.offset..place.offset + place.len];
            if *signed != self.to.signed
                && let Some(signs) = frames.signs_of(k)
            {
                slots.iter_mut().zip(signs).for_each(|(w, sign)| *w *= sign);
            }
            for (j, w) in slots.iter_mut().enumerate() {
                let (c, d) = (centring(old, j), centring(new, j));
                if c != d {
                    let (m, s) = (location[j], scale[j]);
                    *w = d * m + libm::pow(s, d - c) * (*w - c * m);
                }
            }
        }
        if *signed == self.to.signed {
            return;
        }
        for (k, place) in self.from.scales.iter().enumerate() {
            let (had, has) = (signed.contains(&k), self.to.signed.contains(&k));
            for u in &mut position[place.clone()] {
                *u = match (had, has) {
                    (false, true) => libm::exp(*u),
                    (true, false) => libm::log(u.abs()),
                    (true, true) => u.abs(),
                    (false, false) => *u,
                };
            }
        }
    }

    /// A map that owns what it needs, for any number of threads.
    pub(in crate::run) fn map(self) -> impl Fn(&mut [f64]) + Send + Sync {
        let spare = std::sync::Mutex::new(Vec::<Workspace>::new());
        move |position| {
            let function = &self.from.frames;
            let lock = || {
                spare
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            };
            let workspace = lock().pop().unwrap_or_else(|| function.workspace());
            let mut frames = Frames {
                compiled: &self.from,
                function,
                workspace,
                whole: false,
            };
            self.apply(&mut frames, position);
            lock().push(frames.workspace);
        }
    }
}

/// Σ (c₀ − c) ln s over all elements of all plates, less Σ ln 2τ over scales τ that have a sign, at
/// `position`, the last of `frames`: the log density in the `chosen` coordinates less that in the
/// coordinates as written, c₀.
pub(in crate::run) fn log_jacobian(chosen: &Chosen, frames: &Frames<'_>, position: &[f64]) -> f64 {
    let compiled = frames.compiled;
    let of_scale = |k: &usize| -> f64 {
        let own = &position[compiled.scales[*k].clone()];
        let logs = own
            .iter()
            .map(|&u| match compiled.chosen.signed.contains(k) {
                true => libm::log(u.abs()),
                false => u,
            });
        logs.map(|log| -log - std::f64::consts::LN_2).sum()
    };
    let of_scales: f64 = chosen.signed.iter().map(of_scale).sum();
    let of_plate = |(k, chosen): (usize, &Coordinates)| -> f64 {
        let written = compiled.places[k].written;
        let terms = frames.of(k).1.iter().enumerate();
        terms
            .map(|(j, &s)| match written - centring(chosen, j) {
                0.0 => 0.0,
                power => power * libm::log(s),
            })
            .sum()
    };
    chosen.plates.iter().enumerate().map(of_plate).sum::<f64>() + of_scales
}
