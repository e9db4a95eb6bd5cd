//! Places in a model's text, and the messages that point at them.

use crate::{Error, ErrorKind};
use std::fmt::{Display, Write as _};

/// A stretch of a model's text, in bytes.
///
/// Spans never take part in comparisons: two models are equal when they say the same, wherever
/// they say it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte, and one past the last.
    start: u32,
    end: u32,
    /// What stands in a function of the model: the same of the call that brought it into a
    /// statement; else 0 and 0.
    call: (u32, u32),
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Span {
    /// From byte `start` up to `end`.
    pub(crate) const fn of(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
            call: (0, 0),
        }
    }

    /// First byte.
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// One past the last byte.
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// The same place, brought into a statement by `call`.
    #[must_use]
    pub(crate) const fn brought_by(self, call: Span) -> Span {
        let call = call.site();
        Span {
            call: (call.start, call.end),
            ..self
        }
    }

    /// Whether a call brought it into a statement.
    pub(crate) const fn is_brought(self) -> bool {
        self.call.1 > 0
    }

    /// Where it is in the statement: the call that brought it there, or itself.
    #[must_use]
    pub(crate) const fn site(self) -> Span {
        match self.call {
            (_, 0) => self,
            (start, end) => Span {
                start,
                end,
                call: (0, 0),
            },
        }
    }

    /// The stretch from the start of `self` to the end of `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            end: other.end.max(self.end),
            ..self
        }
    }
}

/// Longest piece of a line that a message shows, in characters.
const SHOWN: usize = 100;

/// The 1-based line that holds byte `offset` of `text`.
pub(crate) fn line_number(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&b| b == b'\n').count()
}

/// An error of the model language at `span`: line, column, the message, the line and a caret.
pub fn error_at(text: &str, span: Span, message: impl Display) -> Error {
    located(ErrorKind::Model, text, span, message)
}

/// As [`error_at`], of any kind. Of a place in a function of the model it tells the call, too.
pub(crate) fn located(kind: ErrorKind, text: &str, span: Span, message: impl Display) -> Error {
    let (place, shown) = shown(text, span);
    let mut out = format!("{place}: {message}{shown}");
    if span.is_brought() {
        let call = span.site();
        let (place, shown) = self::shown(text, call);
        let name = text.get(call.start()..call.end()).unwrap_or_default();
        let name = name.split('(').next().unwrap_or_default();
        write!(out, "\nin `{name}`, called at {place}:{shown}")
            .expect("writing to a String cannot fail");
    }
    Error::new(kind, out)
}

/// Line and column of `span`, and the line with a caret.
fn shown(text: &str, span: Span) -> (String, String) {
    let start = floor_boundary(text, span.start());
    let end = floor_boundary(text, span.end()).max(start);
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let line = text[line_start..line_end].trim_end();
    let column = text[line_start..start].chars().count();
    let width = text[start..end.min(line_end)].chars().count().max(1);
    let number = line_number(text, start);
    let place = format!("line {number}, column {}", column + 1);
    (place, excerpt(line, column, width))
}

/// `line` and a caret line under `width` characters from `column`; a long line is cut.
fn excerpt(line: &str, column: usize, width: usize) -> String {
    let chars: Vec<char> = line.chars().collect();
    let first = if chars.len() <= SHOWN {
        0
    } else {
        column.saturating_sub(SHOWN / 2)
    };
    let last = chars.len().min(first + SHOWN);
    let (head, tail) = (
        if first > 0 { "... " } else { "" },
        if last < chars.len() { " ..." } else { "" },
    );
    let shown: String = chars[first.min(last)..last].iter().collect();
    let pad: String = head
        .chars()
        .map(|_| ' ')
        .chain((first..column).map(|i| {
            if chars.get(i) == Some(&'\t') {
                '\t'
            } else {
                ' '
            }
        }))
        .collect();
    let carets = "^".repeat(width.min(SHOWN));
    format!("\n    {head}{shown}{tail}\n    {pad}{carets}")
}

/// The nearest character boundary of `text` at or below `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
