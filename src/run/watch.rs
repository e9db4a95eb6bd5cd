//! What goes on while chains run: when the first draw was made, how long kernels took to compile, and
//! when a stop is overdue.

use super::{Caller, Timing};
use crate::Error;
use crate::draws::Attribute;
use crate::fit::sample::{Event, Loading, Observer, Phase};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Passes events on and notes when the first draw was made.
pub(super) struct Watch<'a> {
    caller: &'a Caller<'a>,
    /// Bits of the time; those of NaN until then.
    first: AtomicU64,
    /// Bits of the time at which the end was asked for; those of NaN until then.
    asked: AtomicU64,
    /// Ends a kept run between two meetings of its chains.
    hard: AtomicBool,
    kernels: Mutex<Kernels>,
}

/// Seconds in which chains waited for kernels that they run.
#[derive(Clone, Copy, Default)]
pub(super) struct Kernels {
    /// When the present wait began.
    began: f64,
    /// Before the first draw.
    pub(super) warmup_s: f64,
    /// After it.
    pub(super) sampling_s: f64,
}

/// Seconds that all sessions of a run have taken, as its store says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// In the warm-up.
    pub(super) warmup: f64,
    /// Drawing.
    pub(super) sampling: f64,
    /// In all, what is around them included.
    pub(super) total: f64,
}

/// Names of [`Spent`] in a store.
const SPENT: [&str; 3] = ["warmup_time", "sampling_time", "fitzroy_seconds"];

impl Spent {
    /// What a store says by `find`.
    pub(super) fn read<'a>(find: impl Fn(&str) -> Option<&'a (String, Attribute)>) -> Self {
        let [warmup, sampling, total] = SPENT.map(|name| match find(name) {
            Some((_, Attribute::Real(seconds))) => *seconds,
            _ => 0.0,
        });
        Spent {
            warmup,
            sampling,
            total,
        }
    }

    /// Of a run that has made its last draw.
    pub(super) fn of(timing: &Timing) -> Self {
        Spent {
            warmup: timing.warmup,
            sampling: timing.sampling,
            total: timing.total,
        }
    }

    /// For a store.
    pub(super) fn attributes(self) -> [(String, Attribute); 3] {
        let values = [self.warmup, self.sampling, self.total];
        std::array::from_fn(|k| (SPENT[k].to_string(), Attribute::Real(values[k])))
    }
}

/// Seconds that a kept run which was asked to end may take to the next meeting of its chains, where
/// its state can be saved.
const PATIENCE_S: f64 = 1.0;

impl<'a> Watch<'a> {
    pub(super) fn new(caller: &'a Caller<'a>) -> Self {
        Watch {
            caller,
            first: AtomicU64::new(f64::NAN.to_bits()),
            asked: AtomicU64::new(f64::NAN.to_bits()),
            hard: AtomicBool::new(false),
            kernels: Mutex::default(),
        }
    }

    /// Turns true once the run has been asked to end and no meeting came.
    pub(super) fn hard_stop(&self) -> &AtomicBool {
        &self.hard
    }

    /// How long kernels took.
    pub(super) fn kernels(&self) -> Kernels {
        *self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn first_draw(&self) -> Option<f64> {
        let time = f64::from_bits(self.first.load(Ordering::Relaxed));
        (!time.is_nan()).then_some(time)
    }
}

impl Observer for Watch<'_> {
    fn event(&self, event: &Event<'_>) {
        let unseen = f64::NAN.to_bits();
        // The first of this session: a run that goes on has made others before.
        if event.phase == Phase::Sampling && self.first.load(Ordering::Relaxed) == unseen {
            let now = (self.caller.now)().to_bits();
            // The first chain's time stays.
            let _ = self
                .first
                .compare_exchange(unseen, now, Ordering::Relaxed, Ordering::Relaxed);
        }
        if self.caller.stop.load(Ordering::Relaxed) {
            let now = (self.caller.now)();
            let asked = f64::from_bits(self.asked.load(Ordering::Relaxed));
            if asked.is_nan() {
                self.asked.store(now.to_bits(), Ordering::Relaxed);
            } else if now - asked > PATIENCE_S {
                self.hard.store(true, Ordering::Relaxed);
            }
        }
        self.caller.observer.event(event);
    }

    fn loading(&self, loading: Loading) {
        let now = (self.caller.now)();
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        match (loading, self.first_draw()) {
            (Loading::Begins, _) => kernels.began = now,
            (Loading::Ended, None) => kernels.warmup_s += now - kernels.began,
            (Loading::Ended, Some(_)) => kernels.sampling_s += now - kernels.began,
        }
        drop(kernels);
        self.caller.observer.loading(loading);
    }

    fn lost(&self, label: &str, why: &Error) {
        self.caller.observer.lost(label, why);
    }
}
