//! Chains on threads: a queue of chains, each served a slice at a time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Whether a chain has more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Put it back into the queue.
    More,
    /// It is done.
    Done,
}

/// Calls `work` on every item until each is done, on at most `threads` threads, the caller's
/// among them. Items take turns, so all advance at about the same pace.
pub(crate) fn run_all<C: Send>(
    items: &mut [C],
    threads: usize,
    work: impl Fn(&mut C) -> Progress + Sync,
) {
    let workers = threads.min(items.len());
    let queue: Mutex<VecDeque<&mut C>> = Mutex::new(items.iter_mut().collect());
    // A worker that panics poisons no one: the scope passes its panic on.
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
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(serve);
        }
        serve();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_served_until_it_is_done() {
        for threads in [1, 2, 7] {
            let mut counts = vec![0; 5];
            run_all(&mut counts, threads, |c| {
                *c += 1;
                if *c < 10 {
                    Progress::More
                } else {
                    Progress::Done
                }
            });
            assert_eq!(counts, [10; 5]);
        }
    }
}
