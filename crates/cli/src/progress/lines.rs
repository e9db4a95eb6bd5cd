//! Progress in a log: plain lines, few of them.

use crate::terminal;
use fitzroy_session::progress::{Display, Snapshot};

/// Writes lines to stderr.
pub(super) struct Lines {
    pace: Pace,
}

impl Lines {
    /// At least one line in `every_s` seconds.
    pub(super) fn new(every_s: f64) -> Self {
        Lines {
            pace: Pace {
                every_s,
                last: None,
            },
        }
    }
}

impl Display for Lines {
    fn show(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        if self.pace.due(snapshot, elapsed_s) {
            terminal::note(line(snapshot, elapsed_s));
        }
    }

    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        if self
            .pace
            .last
            .is_none_or(|last| last.done != snapshot.done())
        {
            terminal::note(line(snapshot, elapsed_s));
        }
    }
}

/// Decides when a line is due.
struct Pace {
    every_s: f64,
    last: Option<Written>,
}

/// What the last line said.
#[derive(Clone, Copy)]
struct Written {
    at_s: f64,
    warming_up: bool,
    done: usize,
    tenth: usize,
}

impl Pace {
    /// True at the start, at a new phase, at a new tenth, and after the given time.
    fn due(&mut self, snapshot: &Snapshot, elapsed_s: f64) -> bool {
        let done = snapshot.done();
        let now = Written {
            at_s: elapsed_s,
            warming_up: snapshot.warming_up(),
            done,
            tenth: 10 * done / snapshot.total().max(1),
        };
        let due = self.last.is_none_or(|last| {
            now.warming_up != last.warming_up
                || now.tenth > last.tenth
                || elapsed_s - last.at_s >= self.every_s
        });
        if due {
            self.last = Some(now);
        }
        due
    }
}

/// One line: `[  92.4 s] sampling 1600/4000 (40 %)  div 0  step 0.31  leapfrog 7  ETA 138 s`.
/// Counts are over all chains, warm-up included; step size and leapfrogs are means over chains.
fn line(snapshot: &Snapshot, elapsed_s: f64) -> String {
    let (done, total) = (snapshot.done(), snapshot.total());
    let phase = if snapshot.warming_up() {
        "warm-up"
    } else {
        "sampling"
    };
    let percent = 100 * done / total.max(1);
    let mut line = format!("[{elapsed_s:6.1} s] {phase} {done}/{total} ({percent} %)");
    if done > 0 {
        line += &format!(
            "  div {}  step {:.2}  leapfrog {:.0}",
            snapshot.divergences(),
            snapshot.mean(|c| c.step_size),
            snapshot.mean(|c| c.leapfrogs as f64)
        );
    }
    let outlook = snapshot.outlook(elapsed_s);
    if !outlook.is_empty() {
        line += &format!("  {outlook}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy_session::progress::Board;

    /// Two chains after `done` transitions.
    fn at(done: usize) -> Snapshot {
        let mut snapshot = Board::new(2, 1000, 1000).snapshot();
        for chain in &mut snapshot.chains {
            (chain.done, chain.step_size) = (done, 0.31);
            chain.divergences = usize::from(done > 1000);
            chain.leapfrogs = if done > 1000 { 7 } else { 7 * done as u64 - 7 };
        }
        snapshot
    }

    #[test]
    fn a_line_says_phase_counts_and_time_left() {
        let text = line(&at(800), 92.4);
        assert_eq!(
            text,
            "[  92.4 s] warm-up 1600/4000 (40 %)  div 0  step 0.31  leapfrog 5593  ETA 139 s"
        );
        let text = line(&at(2000), 3.0);
        assert_eq!(
            text,
            "[   3.0 s] sampling 4000/4000 (100 %)  div 2  step 0.31  leapfrog 7"
        );
        let text = line(&Board::new(4, 10, 10).snapshot(), 0.0);
        assert_eq!(text, "[   0.0 s] warm-up 0/80 (0 %)");
    }

    #[test]
    fn lines_come_at_the_start_at_phases_at_tenths_and_after_a_while() {
        let mut pace = Pace {
            every_s: 30.0,
            last: None,
        };
        let mut due = |done, elapsed_s| pace.due(&at(done), elapsed_s);
        assert!(due(1, 0.0));
        assert!(!due(2, 0.1));
        assert!(!due(199, 0.2));
        assert!(due(200, 0.3));
        assert!(!due(201, 30.2));
        assert!(due(202, 30.3));
        assert!(due(1000, 40.0));
        assert!(due(1001, 40.1));
        assert!(!due(1002, 40.2));
    }
}
