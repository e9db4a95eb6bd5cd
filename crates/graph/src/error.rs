//! The one error of the project: what went wrong, where, and what to do about it.

use std::fmt;

/// What sort of thing went wrong, for callers who can act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read or written.
    Io,
    /// A model text does not parse or does not make sense.
    Model,
    /// Data are missing, of the wrong shape, or hold values the model cannot take.
    Data,
    /// Array dimensions do not combine.
    Dims,
    /// The machine cannot do what was asked (no such device, not enough memory).
    Device,
    /// The numerics cannot start, for example no finite log density was found.
    Numerics,
    /// A setting or argument is out of its range.
    Usage,
    /// The user stopped it before there was anything to keep.
    Interrupted,
}

/// An error that a user can act on.
///
/// Its text says what, where, what was got and needed, and what to do. Context added on the way
/// up stands in front, separated by `: `. Settings stand in it as
/// [`Spelling`](crate::Spelling) says, so that every face can spell them its own way.
///
/// ```
/// use fitzroy_graph::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Data, "column `y` is missing; the file has `x`, `z`")
///     .context("trial.csv");
/// assert_eq!(error.to_string(), "trial.csv: column `y` is missing; the file has `x`, `z`");
/// assert_eq!(error.kind(), ErrorKind::Data);
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
}

/// The result of anything that can fail for a reason the user can mend.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` with the text shown to the user.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
        }))
    }

    /// An error of [`ErrorKind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// An error of [`ErrorKind::Data`].
    pub fn data(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Data, message)
    }

    /// An error of [`ErrorKind::Device`].
    pub fn device(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Device, message)
    }

    /// What sort of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Puts `where_` and a colon in front of the message.
    #[must_use]
    pub fn context(mut self, where_: impl fmt::Display) -> Self {
        self.0.message = format!("{where_}: {}", self.0.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {}
