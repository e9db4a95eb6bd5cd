//! How a run is spread over the tasks of a job array.

use crate::plan::Command;
use crate::{Error, Result, usage};
use std::fmt;
use std::str::FromStr;

/// What a task gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One task does everything: chains share their adaptation and one device.
    None,
    /// The chains in this many equal parts.
    Chains(usize),
    /// The data sets or subjects, which are fitted apart, in this many equal parts.
    Parts(usize),
}

/// The tasks of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// How many.
    pub count: usize,
    /// Whether the parts are chains of one run, which belong into one trace.
    pub of_chains: bool,
}

impl Split {
    /// The tasks for a command.
    ///
    /// # Errors
    /// The command cannot be split that way.
    pub fn tasks(self, command: &Command) -> Result<Tasks> {
        let name = &command.name;
        let (count, of_chains) = match self {
            Split::None => (1, command.has_chains()),
            Split::Chains(count) if !command.has_chains() => {
                let message =
                    format!("`{name}` has no chains; --split chains:{count} needs `sample`");
                return Err(usage(message));
            }
            Split::Chains(count) => {
                let chains = command.chains()?;
                if count > chains {
                    return Err(usage(format!(
                        "--split chains:{count}: the run has {chains} chains; take at most {chains}"
                    )));
                }
                (count, true)
            }
            Split::Parts(count) if !command.has_parts() => {
                return Err(usage(format!(
                    "--split parts:{count}: `{name}` has no parts that are fitted apart. \
                     `curve-fit --batch-by COLUMN` and `stop-signal fit --pooling none` have; a \
                     hierarchical model is one fit: split its chains"
                )));
            }
            Split::Parts(count) => (count, false),
        };
        Ok(Tasks { count, of_chains })
    }
}

impl FromStr for Split {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || usage(format!("--split {text}: write none, chains:N or parts:N"));
        if text == "none" {
            return Ok(Split::None);
        }
        let (kind, count) = text.split_once(':').ok_or_else(bad)?;
        let count = count.parse().ok().filter(|&n| n > 0).ok_or_else(bad)?;
        match kind {
            "chains" => Ok(Split::Chains(count)),
            "parts" => Ok(Split::Parts(count)),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Split::None => f.write_str("none"),
            Split::Chains(n) => write!(f, "chains:{n}"),
            Split::Parts(n) => write!(f, "parts:{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(split: &str, words: &[&str]) -> Result<Tasks> {
        split.parse::<Split>()?.tasks(&Command::parse(words)?)
    }

    #[test]
    fn chains_are_split_up_to_one_a_task() {
        let words = ["sample", "m.fz", "--chains", "8"];
        assert_eq!(tasks("chains:8", &words).unwrap().count, 8);
        let message = tasks("chains:9", &words).unwrap_err().to_string();
        assert!(message.contains("8 chains"), "{message}");
        assert_eq!(tasks("none", &words).unwrap().count, 1);
    }

    #[test]
    fn what_is_one_fit_is_not_split_into_parts() {
        let message = tasks("parts:3", &["sample", "m.fz"])
            .unwrap_err()
            .to_string();
        assert!(message.contains("split its chains"), "{message}");
        let message = tasks("chains:2", &["weather", "train"])
            .unwrap_err()
            .to_string();
        assert!(message.contains("no chains"), "{message}");
        let batch = ["curve-fit", "--model", "a*x", "d.csv", "--batch-by", "id"];
        assert_eq!(
            tasks("parts:50", &batch).unwrap(),
            Tasks {
                count: 50,
                of_chains: false
            }
        );
    }

    #[test]
    fn other_words_are_no_split() {
        for text in ["", "chains", "chains:0", "subjects:x", "chains:-1"] {
            assert!(text.parse::<Split>().is_err(), "{text}");
        }
    }
}
