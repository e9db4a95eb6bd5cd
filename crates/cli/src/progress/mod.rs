//! What a person sees while chains run: bars on a terminal, or lines in a log.

mod bars;
mod lines;

use fitzroy_session::progress::{Display, Snapshot};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Style {
    /// Not at all.
    Hidden,
    /// Bars on a terminal.
    Bars,
    /// Lines for a log: at the start, at each phase, every tenth, and at least this often.
    Lines {
        /// Seconds between lines.
        every_s: f64,
    },
}

impl Style {
    /// What shows chains that begin as `first` says.
    pub(crate) fn display(self, first: &Snapshot) -> Option<Box<dyn Display>> {
        match self {
            Style::Hidden => None,
            Style::Bars => Some(Box::new(bars::Bars::new(first))),
            Style::Lines { every_s } => Some(Box::new(lines::Lines::new(every_s))),
        }
    }
}
