//! Which rewrites are allowed, and what was done.

use crate::{Error, ErrorKind, Result};
use std::str::FromStr;

/// Which rewrites of the model are allowed. All of them are exact: the posterior is the same.
///
/// ```
/// use fitzroy::model::joint::Rewrites;
/// assert_eq!("auto".parse::<Rewrites>()?, Rewrites::AUTO);
/// assert!(!"sufficient".parse::<Rewrites>()?.collapse);
/// # Ok::<(), fitzroy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrites {
    /// Sums over the rows of a normal likelihood in place of the rows.
    pub sufficient: bool,
    /// Normal effects and coefficients, and shares and rates with a conjugate prior, integrated out
    /// and drawn exactly given the rest.
    pub collapse: bool,
    /// `a + b * z` with standard normal z has its coordinates chosen like `Normal(a, b)`.
    pub recognise: bool,
    /// Identical rows of a likelihood counted instead of repeated.
    pub dedup: bool,
    /// A scale that may be near 0 is sampled as |s|, and its standardised effects with its sign.
    pub signed: bool,
}

impl Default for Rewrites {
    /// [`Rewrites::AUTO`].
    fn default() -> Self {
        Rewrites::AUTO
    }
}

impl Rewrites {
    /// All of them.
    pub const ALL: Rewrites = Rewrites {
        sufficient: true,
        collapse: true,
        recognise: true,
        dedup: true,
        signed: true,
    };
    /// All but `signed`, which has to be asked for: it makes the tails of a scale better known, but
    /// for eight schools its bulk less (means of four runs: tail ESS 1,330 to 1,800, bulk ESS 1,960
    /// to 1,680, of 4,000 draws).
    pub const AUTO: Rewrites = Rewrites {
        signed: false,
        ..Rewrites::ALL
    };
    /// None: the density is evaluated as the model is written.
    pub const NONE: Rewrites = Rewrites {
        sufficient: false,
        collapse: false,
        recognise: false,
        dedup: false,
        signed: false,
    };
    /// Names of the kinds, as in a list of them.
    pub const NAMES: [&'static str; 5] = ["sufficient", "collapse", "recognise", "dedup", "signed"];

    fn flags(&mut self) -> [&mut bool; 5] {
        let Rewrites {
            sufficient,
            collapse,
            recognise,
            dedup,
            signed,
        } = self;
        [sufficient, collapse, recognise, dedup, signed]
    }

    /// `auto`, `off` or the allowed kinds, separated by commas.
    pub fn name(mut self) -> String {
        if self == Rewrites::AUTO {
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
            "auto" => return Ok(Rewrites::AUTO),
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
    /// `scale` became |s|, and the `effects` that are sampled take the sign of s.
    pub(super) fn signed(scale: String, effects: Vec<String>) -> Rewrote {
        let what = match effects.is_empty() {
            true => format!("{scale} sampled as |s|"),
            false => format!(
                "{scale} sampled as |s|, {} with the sign of s",
                effects.join(", ")
            ),
        };
        Rewrote {
            kind: "signed",
            parameters: vec![scale],
            what,
        }
    }

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
