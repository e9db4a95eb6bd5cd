//! Work without Python's lock, while somebody looks for Ctrl-C.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often Python looks whether a key was pressed.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own without Python's lock. Every 50 ms the calling thread looks for
/// a signal and calls `tick`; what either raises sets `stop`, and is returned beside the result.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<PyErr>) {
    let done = (Mutex::new(false), Condvar::new());
    let mut trouble = None;
    let out = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _told = Told(&done);
            work()
        });
        while !py.detach(|| ended(&done)) {
            if trouble.is_none()
                && let Err(error) = py.check_signals().and_then(|()| tick(py))
            {
                trouble = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join())
    });
    match out {
        Ok(out) => (out, trouble),
        // PyO3 makes an exception of it.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Tells, when it goes, that the work has ended, well or not.
struct Told<'a>(&'a (Mutex<bool>, Condvar));

impl Drop for Told<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }
}

/// Waits for the end, or until it is time to look.
fn ended(done: &(Mutex<bool>, Condvar)) -> bool {
    let guard = done.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = done.1.wait_timeout_while(guard, LOOK, |done| !*done);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Looks for a signal every 50 ms on the thread that does the work, for work that is often too short
/// for a thread of its own.
pub(crate) struct Looks {
    last: Instant,
    /// What was raised.
    pub(crate) raised: Option<PyErr>,
}

impl Looks {
    pub(crate) fn new() -> Self {
        Looks {
            last: Instant::now(),
            raised: None,
        }
    }

    /// True if the work shall go on. Python's lock is not held.
    pub(crate) fn go_on(&mut self) -> bool {
        if self.last.elapsed() >= LOOK {
            self.last = Instant::now();
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_none()
    }
}
