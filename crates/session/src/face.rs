//! The face of a session: the program, notebook or script that asked for it.

use crate::progress::{Display, Snapshot};
use fitzroy::Spelling;
use std::sync::Arc;

/// What a session tells its face on the way. Settings stand in the text as
/// [`Spelling`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    /// Of use to those who want to know more.
    Remark(&'a str),
    /// Everybody should know it.
    Notice(&'a str),
    /// Something could not be done; the session goes on with the rest.
    Failure(&'a str),
}

/// Who asked for a session.
pub trait Face: Send + Sync {
    /// How settings are written for the people who read.
    fn spelling(&self) -> Spelling;

    /// Shows a note.
    fn tell(&self, note: Note<'_>);

    /// Shows the progress of chains that begin as `first` says; none if nobody looks.
    fn display(&self, first: &Snapshot) -> Option<Box<dyn Display>>;

    /// The command or call as people can repeat it, for reports; empty if there is none.
    fn command(&self) -> String {
        String::new()
    }
}

/// A face that shows nothing.
struct Silent;

impl Face for Silent {
    fn spelling(&self) -> Spelling {
        Spelling::default()
    }

    fn tell(&self, _: Note<'_>) {}

    fn display(&self, _: &Snapshot) -> Option<Box<dyn Display>> {
        None
    }
}

/// A face that shows nothing.
pub fn silent() -> Arc<dyn Face> {
    Arc::new(Silent)
}
