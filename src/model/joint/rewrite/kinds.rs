//! Which rewrites are allowed, and what was done.

use crate::{Error, ErrorKind, Result};
use std::str::FromStr;

/// Which rewrites of the model are allowed. All of them are exact: the posterior is the same.
///
/// ```
/// use fitzroy::model::joint::Rewrites;
/// assert_eq!("auto".parse::<Rewrites>()?, Rewrites::ALL);
/// assert!(!"sufficient".parse::<Rewrites>()?.collapse);
/// # Ok::<(), fitzroy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrites {
    /// Sums over the rows of a normal likelihood in place of the rows.
    pub sufficient: bool,
    /// Normal effects and coefficients integrated out, and drawn exactly given the rest.
    pub collapse: bool,
    /// `a + b * z` with standard normal z has its coordinates chosen like `Normal(a, b)`.
    pub recognise: bool,
    /// Identical rows of a likelihood counted instead of repeated.
    pub dedup: bool,
}

impl Default for Rewrites {
    /// All of them.
    fn default() -> Self {
        Rewrites::ALL
    }
}

impl Rewrites {
    /// All of them.
    pub const ALL: Rewrites = Rewrites {
        sufficient: true,
        collapse: true,
        recognise: true,
        dedup: true,
    };
    /// None: the density is evaluated as the model is written.
    pub const NONE: Rewrites = Rewrites {
        sufficient: false,
        collapse: false,
        recognise: false,
        dedup: false,
    };
    /// Names of the kinds, as in a list of them.
    pub const NAMES: [&'static str; 4] = ["sufficient", "collapse", "recognise", "dedup"];

    fn flags(&mut self) -> [&mut bool; 4] {
        let Rewrites {
            sufficient,
            collapse,
            recognise,
            dedup,
        } = self;
        [sufficient, collapse, recognise, dedup]
    }

    /// `auto`, `off` or the allowed kinds, separated by commas.
    pub fn name(mut self) -> String {
        if self == Rewrites::ALL {
            return "auto".into();
        }
        let kinds = Rewrites::NAMES.into_iter().zip(self.flags());
        let kinds: Vec<&str> = kinds.filter(|(_, on)| **on).map(|(name, _)| name).collect();
        match kinds.is_empty() {
            true => "off".into(),
            false => kinds.join(","),
        }
    }
}

impl FromStr for Rewrites {
    type Err = Error;

    fn from_str(text: &str) -> Result<Rewrites> {
        let mut out = Rewrites::NONE;
        match text.trim() {
            "auto" => return Ok(Rewrites::ALL),
            "off" => return Ok(out),
            _ => {}
        }
        for word in text.split(',').map(str::trim) {
            let Some(at) = Rewrites::NAMES.iter().position(|n| *n == word) else {
                let message = format!(
                    "`{word}` is no kind of rewrite; use auto, off, or some of {} separated by \
                     commas",
                    Rewrites::NAMES.join(", ")
                );
                return Err(Error::new(ErrorKind::Usage, message));
            };
            *out.flags()[at] = true;
        }
        Ok(out)
    }
}

/// One rewrite that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrote {
    /// Its kind, one of [`Rewrites::NAMES`].
    pub kind: &'static str,
    /// Parameters that are no longer sampled, or whose coordinates are chosen.
    pub parameters: Vec<String>,
    /// What was done, in words.
    pub what: String,
}

impl Rewrote {
    /// The rows of `data` are `different` ones, counted.
    pub(super) fn counted(data: &str, rows: usize, different: usize) -> Rewrote {
        Rewrote {
            kind: "dedup",
            parameters: Vec::new(),
            what: format!("{rows} rows of {data} counted as {different} different ones"),
        }
    }

    /// The rows of `data` became sums, and `parameters` were integrated out.
    pub(super) fn normal(data: &str, rows: usize, parameters: Vec<String>) -> Rewrote {
        let rows = format!("{rows} rows of {data}");
        match parameters.is_empty() {
            true => Rewrote {
                kind: "sufficient",
                what: format!("{rows} as sums"),
                parameters,
            },
            false => Rewrote {
                kind: "collapse",
                what: format!("{} integrated out of {rows}", parameters.join(", ")),
                parameters,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_and_written_alike() {
        for text in ["auto", "off", "collapse", "sufficient,dedup", "recognise"] {
            assert_eq!(text.parse::<Rewrites>().unwrap().name(), text);
        }
        let all = Rewrites::NAMES.join(", ");
        assert_eq!(all.parse::<Rewrites>().unwrap(), Rewrites::ALL);
    }

    #[test]
    fn an_unknown_kind_is_an_error_that_names_the_kinds() {
        for text in ["", "collapsed", "auto,off", "collapse,,dedup"] {
            let error = text.parse::<Rewrites>().unwrap_err().to_string();
            assert!(error.contains("sufficient, collapse"), "{error}");
        }
    }
}
