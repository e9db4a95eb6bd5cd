//! The machines that fits are computed on: who takes which tiles or fits, and what becomes of those of a
//! machine that fails.

use fitzroy::{Error, Result};
use fitzroy_device::cpu::TILE_ROWS;
use fitzroy_device::gpu::{Machine, all_failed, side_by_side};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A machine that several parts of a fit use in turn.
pub type Shared = Arc<Mutex<dyn Machine>>;

/// A machine that takes part in fits.
#[derive(Clone)]
pub struct Seat {
    /// What people call it, such as `cuda:0`.
    pub label: String,
    /// Bytes that columns may take there.
    pub budget_bytes: u64,
    /// How fast it is predicted to be, in any unit that all machines share.
    pub speed: f64,
    machine: Shared,
    failed: Arc<OnceLock<Error>>,
}

impl Seat {
    /// `machine`, where columns may take `budget_bytes`.
    pub fn new(label: impl Into<String>, machine: Shared, budget_bytes: u64, speed: f64) -> Seat {
        Seat {
            label: label.into(),
            budget_bytes,
            speed,
            machine,
            failed: Arc::default(),
        }
    }

    /// What ended its part, if something did.
    pub fn failed(&self) -> Option<&Error> {
        self.failed.get()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, dyn Machine + 'static> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fail(&self, error: Error) {
        // The first reason stays.
        let _ = self.failed.set(error);
    }
}

/// Why none of these machines works.
pub(crate) fn none_works<'s>(seats: impl Iterator<Item = &'s Seat>) -> Error {
    let failed = seats.filter_map(|seat| Some((seat.label.as_str(), seat.failed()?)));
    let failed: Vec<_> = failed.collect();
    all_failed(&failed)
}

/// Neighbouring parts of `rows`, which begin at a multiple of a tile, in whole tiles and by speed. Some may be empty.
pub(crate) fn divide(rows: &Range<usize>, speeds: &[f64]) -> Vec<Range<usize>> {
    let tiles = rows.len().div_ceil(TILE_ROWS);
    let all: f64 = speeds.iter().sum();
    let (mut sum, mut from) = (0.0, rows.start);
    let part = |speed: &f64| {
        sum += speed;
        let end = (tiles as f64 * sum / all).round() as usize;
        let end = (rows.start + end * TILE_ROWS).min(rows.end);
        let part = from..end.max(from);
        from = part.end;
        part
    };
    speeds.iter().map(part).collect()
}

/// Has the machines of `seats` that work take `items` from a queue, each the next when it is done with one. What a
/// machine fails with goes back into the queue.
///
/// # Errors
/// All have failed.
pub(crate) fn from_a_queue<I: Copy + Send>(
    seats: &[Seat],
    items: impl Iterator<Item = I>,
    work: &(dyn Fn(&mut dyn Machine, I) -> Result<()> + Sync),
) -> Result<()> {
    let queue = Mutex::new(items.collect::<std::collections::VecDeque<I>>());
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    while !queue().is_empty() {
        let mut alive: Vec<&Seat> = seats.iter().filter(|s| s.failed().is_none()).collect();
        if alive.is_empty() {
            return Err(none_works(seats.iter()));
        }
        side_by_side(&mut alive, |seat| {
            let mut machine = seat.lock();
            loop {
                let next = queue().pop_front();
                let Some(item) = next else { break };
                if let Err(error) = work(&mut *machine, item) {
                    seat.fail(error);
                    queue().push_front(item);
                    break;
                }
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_in_whole_tiles_by_speed() {
        let of = |n, speeds: &[f64]| -> Vec<usize> {
            let parts = divide(&(0..n), speeds);
            assert_eq!(parts.last().map(|p| p.end), Some(n));
            assert!(parts.windows(2).all(|p| p[0].end == p[1].start));
            assert!(
                parts
                    .iter()
                    .all(|p| p.start == n || p.start % TILE_ROWS == 0)
            );
            parts.iter().map(Range::len).collect()
        };
        assert_eq!(of(3000, &[1.0]), [3000]);
        assert_eq!(of(4096, &[1.0, 1.0]), [2048, 2048]);
        assert_eq!(of(5000, &[3.0, 2.0]), [3072, 1928]);
        assert_eq!(of(500, &[1.0, 1.0]), [500, 0]);
        assert_eq!(of(3 * 1024, &[100.0, 1.0]), [3072, 0]);
        let later = divide(&(2048..5000), &[1.0, 1.0, 1.0]);
        assert_eq!(later, [2048..3072, 3072..4096, 4096..5000]);
    }
}
