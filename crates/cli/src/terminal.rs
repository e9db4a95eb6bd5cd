//! The two streams, on which settings are spelled as flags. A closed pipe (`fitzroy models | head`) ends a sentence, not the program.

use fitzroy::Spelling;
use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};

/// Prints a line on stdout.
pub(crate) fn out(text: impl Display) {
    // In one piece: the stream would hand on every line by itself.
    let text = format!("{text}\n");
    let _ = stdout()
        .lock()
        .write_all(Spelling::Flags.spell(&text).as_bytes());
}

/// Prints a line on stderr.
pub(crate) fn note(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(stderr().lock(), "{}", Spelling::Flags.spell(&text));
}

/// True when stderr is a terminal that can redraw lines.
pub(crate) fn is_interactive() -> bool {
    stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
