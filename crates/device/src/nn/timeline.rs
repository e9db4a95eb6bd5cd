//! Which block took how long, for whoever asks.

use super::pool::Crew;
use std::sync::{Arc, Mutex, PoisonError};

/// Seconds since some moment.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// What a block did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Forward, once for all samples.
    Embed,
    /// Forward.
    Forward,
    /// Forward again, because its states were not kept.
    Again,
    /// Backward.
    Backward,
}

/// A block at work, from when the first thread began until all had met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// What it did.
    pub pass: Pass,
    /// Its number among [`blocks`](super::Network::blocks).
    pub block: usize,
    /// When it began.
    pub start_s: f64,
    /// When it had ended.
    pub end_s: f64,
}

/// Collects spans; the first thread writes.
pub(super) struct Timeline {
    clock: Clock,
    spans: Mutex<Vec<Span>>,
}

impl Timeline {
    pub(super) fn new(clock: Clock) -> Self {
        Timeline {
            clock,
            spans: Mutex::default(),
        }
    }

    pub(super) fn take(&self) -> Vec<Span> {
        std::mem::take(&mut *self.spans.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does `work`, and notes how long it took.
    pub(super) fn during(
        timeline: Option<&Self>,
        crew: &Crew<'_>,
        (pass, block): (Pass, usize),
        work: impl FnOnce(),
    ) {
        let Some(timeline) = timeline.filter(|_| crew.thread == 0) else {
            return work();
        };
        let start_s = (timeline.clock)();
        work();
        let span = Span {
            pass,
            block,
            start_s,
            end_s: (timeline.clock)(),
        };
        let mut spans = timeline
            .spans
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spans.push(span);
    }
}
