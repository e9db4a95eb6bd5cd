//! The terminal as the face of a session.

use crate::progress::Style;
use crate::{invocation, terminal};
use fitzroy::Spelling;
use fitzroy_session::face::{Face, Note};
use fitzroy_session::progress::{Display, Snapshot};
use std::sync::Arc;

/// The terminal, as the flags of a command want it.
struct Terminal {
    quiet: bool,
    style: Style,
}

/// The face of a command: remarks are left out if it is to be `quiet`.
pub(crate) fn terminal(quiet: bool, style: Style) -> Arc<dyn Face> {
    Arc::new(Terminal { quiet, style })
}

/// The face of a command that shows notes and no progress.
pub(crate) fn notes() -> Arc<dyn Face> {
    terminal(false, Style::Hidden)
}

/// The command line, with quotes where a shell needs them.
pub(crate) fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = |arg: String| match !arg.is_empty() && arg.chars().all(plain) {
        true => arg,
        false => format!("'{}'", arg.replace('\'', r"'\''")),
    };
    let args = invocation::args().iter().skip(1);
    let args = args.map(|a| a.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("fitzroy".into())
        .chain(args.map(quoted))
        .collect();
    words.join(" ")
}

impl Face for Terminal {
    fn spelling(&self) -> Spelling {
        Spelling::Flags
    }

    fn tell(&self, note: Note<'_>) {
        match note {
            Note::Remark(_) if self.quiet => {}
            Note::Remark(text) | Note::Notice(text) => terminal::note(text),
            Note::Failure(text) => terminal::note(format_args!("error: {text}")),
        }
    }

    fn display(&self, first: &Snapshot) -> Option<Box<dyn Display>> {
        self.style.display(first)
    }

    fn command(&self) -> String {
        command()
    }
}
