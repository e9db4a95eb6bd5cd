//! Independent jobs on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// `work` of 0, 1, .. `n_jobs` − 1, in this order, done on at most `threads` threads, the caller's
/// among them. Every thread makes one `workspace` and keeps it.
pub(crate) fn on_threads<T: Send, D>(
    n_jobs: usize,
    threads: usize,
    workspace: impl Fn() -> D + Sync,
    work: impl Fn(&mut D, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let serve = || {
        let (mut workspace, mut done) = (workspace(), Vec::new());
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= n_jobs {
                return done;
            }
            done.push((job, work(&mut workspace, job)));
        }
    };
    let helpers = threads.clamp(1, n_jobs.max(1)) - 1;
    let mut parts = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..helpers).map(|_| scope.spawn(serve)).collect();
        let mut parts = serve();
        for handle in handles {
            parts.extend(handle.join().expect("a panic of a job is a fault of ours"));
        }
        parts
    });
    parts.sort_by_key(|(job, _)| *job);
    parts.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in [0, 1, 3, 50] {
            let squares = on_threads(20, threads, || (), |(), i| i * i);
            assert!(squares.into_iter().eq((0..20).map(|i| i * i)));
        }
        assert!(on_threads(0, 2, || (), |(), i| i).is_empty());
    }
}
