//! Which values of an archive are missing: what losses, scores and scales leave out.

use super::archive::Archive;
use fitzroy::Result;
use std::ops::Range;

/// A bit for each value of an archive, set where it is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    words: Vec<u64>,
}

impl Mask {
    /// Nothing is missing of `len` values.
    pub fn new(len: usize) -> Self {
        Mask {
            words: vec![0; len.div_ceil(64)],
        }
    }

    /// From now on a value is missing.
    pub fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Whether a value is missing.
    pub fn is_missing(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }
}

impl Archive {
    /// From now on a number of the archive is missing.
    pub(super) fn set_missing(&mut self, at: usize) {
        let len = self.values.len();
        self.mask.get_or_insert_with(|| Mask::new(len)).set(at);
    }

    /// Whether number `at` of record `time` is missing, so that nothing is learnt from it and
    /// nothing scored by it.
    pub fn is_missing(&self, time: usize, at: usize) -> bool {
        let mask = self.mask.as_ref();
        mask.is_some_and(|mask| mask.is_missing(time * self.record_len() + at))
    }

    /// Whether a number of a record stays as it is in every forecast, for its channel has no
    /// values at its place.
    pub fn is_held(&self, at: usize) -> bool {
        let n = self.channels.len();
        let absent = self.absent.get(at % n).filter(|_| self.mask.is_some());
        absent.is_some_and(|absent| absent.get(at / n) == Some(&true))
    }

    /// Brings what is held back to what it was in the state before.
    pub fn hold(&self, before: &[f32], state: &mut [f32]) {
        if self.mask.is_none() {
            return;
        }
        for (at, (x, was)) in state.iter_mut().zip(before).enumerate() {
            if self.is_held(at) {
                *x = *was;
            }
        }
    }

    /// Channels of which some values are missing in records `range`, each by itself, behind those
    /// of which none is.
    pub(super) fn groups(&self, range: &Range<usize>) -> Vec<Vec<usize>> {
        let n = self.channels.len();
        let mut whole = vec![true; n];
        if self.mask.is_some() {
            for t in range.clone() {
                for at in 0..self.record_len() {
                    whole[at % n] &= !self.is_missing(t, at);
                }
            }
        }
        let all: Vec<usize> = (0..n).filter(|&k| whole[k]).collect();
        let single = (0..n).filter(|&k| !whole[k]).map(|k| vec![k]);
        let groups = [all].into_iter().filter(|all| !all.is_empty());
        groups.chain(single).collect()
    }

    /// The share of a channel's values at `nodes`, which weigh `weights`, that is known in records
    /// `range`; 1 of no records.
    pub fn known_share(
        &self,
        channel: usize,
        (nodes, weights): (&[u32], &[f32]),
        range: &Range<usize>,
    ) -> f64 {
        let (mut known, mut all) = (0.0, 0.0);
        for t in range.clone().filter(|_| self.mask.is_some()) {
            for (&node, &weight) in nodes.iter().zip(weights) {
                let at = node as usize * self.channels.len() + channel;
                all += f64::from(weight);
                if !self.is_missing(t, at) {
                    known += f64::from(weight);
                }
            }
        }
        if all > 0.0 { known / all } else { 1.0 }
    }

    /// Takes over which places a training found without values: they are held, hold the mean of
    /// the training, 0, and are not scored. `usual` is the state to begin with where a place that
    /// the training knew has no values here.
    ///
    /// # Errors
    /// The file of the numbers cannot be written.
    pub(crate) fn adopt(&mut self, absent: &[Vec<bool>], usual: Option<&[f32]>) -> Result<()> {
        let (n, len) = (self.channels.len(), self.record_len());
        if absent.is_empty() && self.mask.is_none() {
            return Ok(());
        }
        let is_absent = |lists: &[Vec<bool>], at: usize| {
            let list = lists.get(at % n);
            list.is_some_and(|list| list.get(at / n) == Some(&true))
        };
        let held = (0..len).filter_map(|at| {
            let (there, here) = (is_absent(absent, at), is_absent(&self.absent, at));
            let known = usual.filter(|_| !there).map_or(0.0, |usual| usual[at]);
            (there || here).then_some((at, known))
        });
        let held: Vec<(usize, f32)> = held.collect();
        let hold = |record: &mut [f32]| held.iter().for_each(|&(at, x)| record[at] = x);
        self.values.change(len, |_, record| hold(record))?;
        let mask = &mut self.mask;
        let mask = mask.get_or_insert_with(|| Mask::new(self.values.len()));
        for t in 0..self.times.len() {
            held.iter().for_each(|&(at, _)| mask.set(t * len + at));
        }
        self.absent = absent.to_vec();
        Ok(())
    }
}
