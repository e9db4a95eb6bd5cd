//! Chains on threads: a queue of chains, each served a slice at a time.

use fitzroy_device::nn::Pool;
use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Whether a chain has more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Put it back into the queue.
    More,
    /// It is done.
    Done,
}

/// Threads of a run. They start when they are first needed and then wait from one meeting of the
/// chains to the next: starting them dozens of times takes longer than the draws of a small model.
pub(crate) struct Threads {
    most: usize,
    pool: OnceLock<Mutex<Pool>>,
}

impl Threads {
    /// At most `most`, the caller's among them; none is started yet.
    pub(crate) fn new(most: usize) -> Self {
        Threads {
            most,
            pool: OnceLock::new(),
        }
    }

    /// Calls `work` on every item until each is done. Items take turns, so all advance at about the
    /// same pace.
    pub(crate) fn run_all<C: Send>(
        &self,
        items: &mut [C],
        work: impl Fn(&mut C) -> Progress + Sync,
    ) {
        let alone = self.most.min(items.len()) <= 1;
        // A worker that panics poisons no one: the pool passes its panic on.
        let queue: Mutex<VecDeque<&mut C>> = Mutex::new(items.iter_mut().collect());
        let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        let serve = || {
            loop {
                let Some(item) = lock().pop_front() else {
                    break;
                };
                if work(item) == Progress::More {
                    lock().push_back(item);
                }
            }
        };
        if alone {
            return serve();
        }
        let pool = self.pool.get_or_init(|| Mutex::new(Pool::new(self.most)));
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.share(&|_| serve());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_served_until_it_is_done() {
        for threads in [1, 2, 7] {
            let threads = Threads::new(threads);
            for n in [5, 1, 3] {
                let mut counts = vec![0; n];
                threads.run_all(&mut counts, |c| {
                    *c += 1;
                    if *c < 10 {
                        Progress::More
                    } else {
                        Progress::Done
                    }
                });
                assert_eq!(counts, vec![10; n]);
            }
        }
    }
}
