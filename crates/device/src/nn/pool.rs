//! Threads that wait for work, and the phases in which they do it together.

use super::number::Number;
use crate::lanes::Level;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A piece of work, lent to the workers while `Pool::lend` waits for them.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn(&Crew<'_>) + Sync));

// SAFETY: the pointee is `Sync`, and `Pool::lend` keeps it alive until every worker is done.
unsafe impl Send for Work {}

#[derive(Default)]
struct Board {
    /// Counts the pieces of work; a worker that sees a new number has something to do.
    number: u64,
    work: Option<Work>,
    /// Workers that have taken it and not finished it.
    busy: usize,
    /// Workers that must still take it.
    awaited: usize,
    closed: bool,
}

/// Looks at the board before a thread goes to sleep: some 50 to 100 microseconds.
const PATIENCE: usize = 4000;

/// What all threads share.
struct Shared {
    board: Mutex<Board>,
    /// Counts what is told by `changed`; it grows while the board is locked.
    changes: AtomicUsize,
    changed: Condvar,
    n_threads: usize,
    /// Jobs taken in the current phase.
    taken: AtomicUsize,
    /// Threads that have arrived at the end of the phase.
    arrived: AtomicUsize,
    /// Phases completed.
    phase: AtomicUsize,
    /// A thread panicked: nobody must wait for it.
    broken: AtomicBool,
}

/// A fixed number of threads, the caller's among them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    level: Level,
}

/// The threads at work, as one of them sees it.
pub struct Crew<'a> {
    shared: &'a Shared,
    /// Number of this thread, from 0.
    pub thread: usize,
    level: Level,
}

impl Pool {
    /// A pool of `n_threads` threads, at least one, that computes at the widest level.
    pub fn new(n_threads: usize) -> Self {
        Self::at_level(n_threads, Level::detect())
    }

    /// A pool that computes at `level`.
    ///
    /// # Panics
    /// If this machine does not have the level.
    pub fn at_level(n_threads: usize, level: Level) -> Self {
        assert!(level.is_available(), "this machine has no {level:?}");
        let n_threads = n_threads.max(1);
        let shared = Arc::new(Shared {
            board: Mutex::default(),
            changes: AtomicUsize::new(0),
            changed: Condvar::new(),
            n_threads,
            taken: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        });
        let workers = (1..n_threads).map(|thread| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve(thread, level))
        });
        let workers = workers.collect();
        Pool {
            shared,
            workers,
            level,
        }
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.shared.n_threads
    }

    /// The level that kernels run at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Runs `work` on every thread and returns when all are done. Threads meet at the end of
    /// each [`Crew::each`], so all must call it equally often.
    ///
    /// # Panics
    /// If `work` does, on any thread.
    pub fn run(&mut self, work: &(dyn Fn(&Crew<'_>) + Sync)) {
        self.lend(work, self.shared.n_threads - 1);
    }

    /// Runs `work` on the caller's thread and on the others that are free before that is done:
    /// nobody waits for a thread to wake up only to find that nothing is left to do. There must be
    /// no [`Crew::each`] in it.
    ///
    /// # Panics
    /// If `work` does, on any thread.
    pub fn share(&mut self, work: &(dyn Fn(&Crew<'_>) + Sync)) {
        self.lend(work, 0);
    }

    fn lend(&mut self, work: &(dyn Fn(&Crew<'_>) + Sync), awaited: usize) {
        let shared = &*self.shared;
        if shared.n_threads > 1 {
            let mut board = shared.lock();
            // SAFETY: only the lifetime changes; the reference is not used after this function,
            // which waits below until no worker is busy, even when the caller's share panics.
            let work: &'static (dyn Fn(&Crew<'_>) + Sync) = unsafe { std::mem::transmute(work) };
            board.number += 1;
            board.work = Some(Work(work));
            board.awaited = awaited;
            shared.tell(&board);
        }
        let own = shared.attempt(work, 0, self.level);
        let mut board = shared.lock();
        if awaited == 0 {
            board.work = None;
        }
        while board.busy + board.awaited > 0 {
            board = shared.wait(board);
        }
        board.work = None;
        drop(board);
        if shared.broken.swap(false, Ordering::Relaxed) {
            shared.taken.store(0, Ordering::Relaxed);
            shared.arrived.store(0, Ordering::Relaxed);
            match own {
                Err(cause) => resume_unwind(cause),
                Ok(()) => panic!("a worker thread panicked"),
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut board = self.shared.lock();
        board.closed = true;
        self.shared.tell(&board);
        drop(board);
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its work; there is nothing to report here.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the board, which is locked, has changed.
    fn tell(&self, _board: &std::sync::MutexGuard<'_, Board>) {
        self.changes.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits until the board changes: first without sleeping, for to be woken up takes as long as a
    /// dozen transitions of a small model.
    fn wait<'a>(
        &'a self,
        board: std::sync::MutexGuard<'a, Board>,
    ) -> std::sync::MutexGuard<'a, Board> {
        let seen = self.changes.load(Ordering::Acquire);
        drop(board);
        for _ in 0..PATIENCE {
            if self.changes.load(Ordering::Acquire) != seen {
                return self.lock();
            }
            std::hint::spin_loop();
        }
        let board = self.lock();
        if self.changes.load(Ordering::Acquire) != seen {
            return board;
        }
        self.changed
            .wait(board)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does until the pool is dropped.
    fn serve(&self, thread: usize, level: Level) {
        let mut seen = 0;
        loop {
            let mut board = self.lock();
            while board.number == seen && !board.closed {
                board = self.wait(board);
            }
            if board.closed {
                return;
            }
            seen = board.number;
            let Some(work) = board.work else { continue };
            board.busy += 1;
            board.awaited = board.awaited.saturating_sub(1);
            drop(board);
            // SAFETY: `Pool::lend` keeps the work alive while a worker is busy, and none takes it
            // afterwards.
            let work = unsafe { &*work.0 };
            // The panic is told by `broken`.
            let _ = self.attempt(work, thread, level);
            let mut board = self.lock();
            board.busy -= 1;
            if board.busy == 0 {
                self.tell(&board);
            }
        }
    }

    fn attempt(
        &self,
        work: &(dyn Fn(&Crew<'_>) + Sync),
        thread: usize,
        level: Level,
    ) -> std::thread::Result<()> {
        let crew = Crew {
            shared: self,
            thread,
            level,
        };
        let done = catch_unwind(AssertUnwindSafe(|| work(&crew)));
        if done.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl Crew<'_> {
    /// The level that kernels run at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Does jobs 0 to `n_jobs` − 1, each once, on whichever thread is free, and waits for all.
    ///
    /// # Panics
    /// If a job does, or another thread did.
    pub fn each(&self, n_jobs: usize, mut job: impl FnMut(usize)) {
        let shared = self.shared;
        if shared.n_threads == 1 {
            (0..n_jobs).for_each(job);
            return;
        }
        loop {
            let next = shared.taken.fetch_add(1, Ordering::Relaxed);
            if next >= n_jobs {
                break;
            }
            job(next);
        }
        self.meet();
    }

    /// Waits until all threads are here.
    fn meet(&self) {
        let shared = self.shared;
        let phase = shared.phase.load(Ordering::Acquire);
        if shared.arrived.fetch_add(1, Ordering::AcqRel) + 1 == shared.n_threads {
            shared.arrived.store(0, Ordering::Relaxed);
            shared.taken.store(0, Ordering::Relaxed);
            shared.phase.store(phase.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut n_tries = 0_u32;
        while shared.phase.load(Ordering::Acquire) == phase {
            assert!(
                !shared.broken.load(Ordering::Relaxed),
                "another thread panicked"
            );
            n_tries += 1;
            if n_tries < PATIENCE as u32 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Numbers that several threads read and write, each its own places.
#[derive(Clone, Copy)]
pub(super) struct Common<'a, E> {
    start: *mut E,
    len: usize,
    life: std::marker::PhantomData<&'a mut [E]>,
}

// SAFETY: every access promises not to meet another (`slice`, `slice_mut`).
unsafe impl<E: Number> Send for Common<'_, E> {}
// SAFETY: as above.
unsafe impl<E: Number> Sync for Common<'_, E> {}

impl<'a, E> Common<'a, E> {
    /// Shares a slice that nobody else uses meanwhile.
    pub(super) fn new(from: &'a mut [E]) -> Self {
        Common {
            start: from.as_mut_ptr(),
            len: from.len(),
            life: std::marker::PhantomData,
        }
    }

    /// `n` numbers from `at` on.
    ///
    /// # Safety
    /// Nobody writes them while the slice is used.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub(super) unsafe fn slice(&self, at: usize, n: usize) -> &'a [E] {
        assert!(at + n <= self.len);
        // SAFETY: inside the memory (just checked), and not written (the caller's promise).
        unsafe { std::slice::from_raw_parts(self.start.add(at), n) }
    }

    /// `n` numbers from `at` on, to be written.
    ///
    /// # Safety
    /// Nobody else reads or writes them while the slice is used.
    ///
    /// # Panics
    /// If there are not as many.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(super) unsafe fn slice_mut(&self, at: usize, n: usize) -> &'a mut [E] {
        assert!(at + n <= self.len);
        // SAFETY: inside the memory (just checked), and not shared (the caller's promise).
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that took withdrawn work, or took work twice, would be counted here; one that is
    /// waited for although it never woke up would end the test by never ending.
    #[test]
    fn shared_work_is_done_by_whoever_is_free_and_never_after_it_returned() {
        let mut pool = Pool::new(3);
        for round in 0..2000 {
            let (inside, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.share(&|crew| {
                inside.fetch_add(1, Ordering::SeqCst);
                calls.fetch_add(1, Ordering::SeqCst);
                if crew.thread == round % 3 {
                    std::thread::yield_now();
                }
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            assert_eq!(inside.into_inner(), 0);
            assert!((1..=3).contains(&calls.into_inner()));
            if round % 7 == 0 {
                let everybody = AtomicUsize::new(0);
                pool.run(&|_| {
                    everybody.fetch_add(1, Ordering::SeqCst);
                });
                assert_eq!(everybody.into_inner(), 3);
            }
        }
    }

    #[test]
    fn a_panic_of_shared_work_reaches_the_caller_and_the_pool_goes_on() {
        let mut pool = Pool::new(2);
        let caught = catch_unwind(AssertUnwindSafe(|| pool.share(&|_| panic!("on purpose"))));
        assert!(caught.is_err());
        let calls = AtomicUsize::new(0);
        pool.share(&|_| {
            calls.fetch_add(1, Ordering::SeqCst);
        });
        assert!(calls.into_inner() >= 1);
    }
}
