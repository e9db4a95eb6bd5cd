//! Progress on a terminal: a bar for each chain, or one for all when there are many.

use fitzroy_session::progress::{Chain, Display, Snapshot};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Above this many chains they share one bar.
const MAX_BARS: usize = 8;

/// Bars on stderr.
pub(super) struct Bars {
    bars: Vec<ProgressBar>,
    /// What holds for all chains, once something is known.
    outlook: ProgressBar,
}

impl Bars {
    /// Bars for the chains of `snapshot`.
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let n_chains = snapshot.chains.len();
        let (n_bars, length) = if n_chains <= MAX_BARS {
            (n_chains, snapshot.total_per_chain())
        } else {
            (1, snapshot.total())
        };
        let bars = (0..n_bars)
            .map(|i| {
                let name = if n_bars == n_chains {
                    format!("chain {i}")
                } else {
                    format!("{n_chains} chains")
                };
                let bar = all.add(ProgressBar::new(length as u64));
                bar.set_style(style(false));
                bar.set_prefix(name);
                bar
            })
            .collect();
        let outlook = all.add(ProgressBar::new(0));
        outlook.set_style(
            ProgressStyle::with_template("{wide_msg}").expect("the template holds a known key"),
        );
        Bars { bars, outlook }
    }
}

impl Display for Bars {
    fn show(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        let outlook = snapshot.outlook(elapsed_s);
        if !outlook.is_empty() {
            self.outlook.set_message(format!("all       {outlook}"));
        }
        if self.bars.len() == snapshot.chains.len() {
            for (bar, chain) in self.bars.iter().zip(&snapshot.chains) {
                set(bar, chain.done, chain.divergences, message(chain));
            }
        } else if let Some(bar) = self.bars.first() {
            set(
                bar,
                snapshot.done(),
                snapshot.divergences(),
                summary(snapshot),
            );
        }
    }

    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        self.show(snapshot, elapsed_s);
        for bar in &self.bars {
            bar.abandon(); // Leaves the bar as it stands.
        }
        self.outlook.finish_and_clear();
    }
}

/// Red once there are divergences; the count beside it says the same without colour.
fn style(diverging: bool) -> ProgressStyle {
    let colour = if diverging { "red" } else { "cyan" };
    let template = format!("{{prefix:9}} {{bar:24.{colour}}} {{pos}}/{{len}}  {{wide_msg}}");
    ProgressStyle::with_template(&template)
        .expect("the template is fixed and holds known keys")
        .progress_chars("━━╌")
}

fn set(bar: &ProgressBar, done: usize, divergences: usize, message: String) {
    bar.set_position(done as u64);
    bar.set_style(style(divergences > 0));
    bar.set_message(message);
}

/// `step 0.61  leapfrog 7  div 0`.
fn message(chain: &Chain) -> String {
    format!(
        "step {:.2}  leapfrog {}  div {}",
        chain.step_size, chain.leapfrogs, chain.divergences
    )
}

/// The same over all chains, and the chain that is furthest behind.
fn summary(snapshot: &Snapshot) -> String {
    let slowest = snapshot
        .chains
        .iter()
        .enumerate()
        .min_by_key(|(_, c)| c.done);
    let (slowest, done) = slowest.map_or((0, 0), |(i, c)| (i, c.done));
    format!(
        "step {:.2}  leapfrog {:.0}  div {}  last: chain {slowest} at {done}",
        snapshot.mean(|c| c.step_size),
        snapshot.mean(|c| c.leapfrogs as f64),
        snapshot.divergences()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy_session::progress::Board;

    #[test]
    fn up_to_eight_chains_have_a_bar_each() {
        for (n_chains, n_bars) in [(1, 1), (8, 8), (9, 1), (64, 1)] {
            let snapshot = Board::new(n_chains, 10, 10).snapshot();
            assert_eq!(Bars::new(&snapshot).bars.len(), n_bars);
        }
    }

    #[test]
    fn many_chains_name_the_slowest() {
        let mut snapshot = Board::new(9, 10, 10).snapshot();
        for (i, chain) in snapshot.chains.iter_mut().enumerate() {
            (chain.done, chain.step_size, chain.leapfrogs) = (5 + i % 4, 0.5, 3);
        }
        let text = summary(&snapshot);
        assert_eq!(text, "step 0.50  leapfrog 3  div 0  last: chain 0 at 5");
    }
}
