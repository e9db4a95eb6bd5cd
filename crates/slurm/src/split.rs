//! How a run is spread over the tasks of a job array.

use crate::command::{Command, Share};
use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// What a task gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One task does everything: chains share their adaptation and one device.
    None,
    /// The chains in this many equal parts.
    Chains(usize),
    /// The data sets, blocks of subjects or trainings, in this many equal parts.
    Parts(usize),
}

/// The tasks of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// How many.
    pub count: usize,
    /// What each of them gets.
    pub share: Share,
}

impl Split {
    /// The tasks for a command.
    ///
    /// # Errors
    /// The command cannot be split that way.
    pub fn tasks(self, command: &Command) -> Result<Tasks> {
        let (name, share) = (command.kind.name, command.share());
        match (self, share) {
            (Split::None, Share::Chains) => Ok(Tasks { count: 1, share }),
            (Split::None, _) => Ok(Tasks {
                count: 1,
                share: Share::Whole,
            }),
            (Split::Chains(count), Share::Chains | Share::Blocks) => {
                chains(command, count)?;
                Ok(Tasks {
                    count,
                    share: Share::Chains,
                })
            }
            (Split::Chains(count), _) => Err(Error::usage(format!(
                "--split chains:{count}: `{name}` has no chains that run apart; `sample` and \
                 `stop-signal fit` have"
            ))),
            (Split::Parts(count), Share::Sets | Share::Blocks | Share::Trials) => {
                Ok(Tasks { count, share })
            }
            (Split::Parts(count), Share::Chains) => Err(Error::usage(format!(
                "--split parts:{count}: `{name}` is one fit of all its data; split its chains \
                 with --split chains:{count}"
            ))),
            (Split::Parts(count), Share::Whole) => Err(Error::usage(format!(
                "--split parts:{count}: `{name}` has no parts that are fitted apart; `curve-fit \
                 --batch-by COLUMN`, `stop-signal fit` and `weather tune` have"
            ))),
        }
    }
}

/// Chains can be drawn apart when no chain needs to know of the others.
fn chains(command: &Command, count: usize) -> Result<()> {
    let chains = command.chains()?;
    if count > chains {
        return Err(Error::usage(format!(
            "--split chains:{count}: the run has {chains} chains; take at most {chains}"
        )));
    }
    for (flag, instead) in [
        ("--until-ess", "--draws"),
        ("--until-rhat", "--draws"),
        ("--end-warmup-early", "--tune"),
    ] {
        let given = command.has(flag) || command.value(flag).is_some();
        if count > 1 && given {
            return Err(Error::usage(format!(
                "{flag} looks at the draws of all chains, which no task of --split chains:{count} \
                 has; give {instead} instead"
            )));
        }
    }
    Ok(())
}

impl FromStr for Split {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::usage(format!("--split {text}: write none, chains:N or parts:N"));
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

    #[track_caller]
    fn refused(split: &str, words: &[&str], why: &str) {
        let message = tasks(split, words).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }

    #[test]
    fn chains_are_split_up_to_one_a_task() {
        let words = ["sample", "m.fz", "--chains", "8"];
        assert_eq!(tasks("chains:8", &words).unwrap().count, 8);
        assert_eq!(tasks("none", &words).unwrap().share, Share::Chains);
        refused("chains:9", &words, "8 chains");
        let until = ["sample", "m.fz", "--until-ess=400"];
        refused("chains:2", &until, "all chains");
        let early = ["sample", "m.fz", "--end-warmup-early"];
        refused("chains:2", &early, "give --tune instead");
        assert!(tasks("chains:1", &until).is_ok());
    }

    #[test]
    fn what_is_one_fit_is_not_split_into_parts() {
        refused("parts:3", &["sample", "m.fz"], "split its chains");
        refused("chains:2", &["weather", "train"], "no chains");
        refused("parts:2", &["weather", "train"], "fitted apart");
        refused("parts:2", &["curve-fit", "d.csv"], "--batch-by");
        for (words, share) in [
            (&["curve-fit", "d.csv", "--batch-by", "id"][..], Share::Sets),
            (&["stop-signal", "fit", "d.csv"], Share::Blocks),
            (&["weather", "tune", "--sweep", "seed=1,2"], Share::Trials),
        ] {
            let expected = Tasks { count: 50, share };
            assert_eq!(tasks("parts:50", words).unwrap(), expected);
            assert_eq!(tasks("none", words).unwrap().share, Share::Whole);
        }
        let fit = tasks("chains:4", &["stop-signal", "fit", "d.csv"]).unwrap();
        assert_eq!(fit.share, Share::Chains);
    }

    #[test]
    fn other_words_are_no_split() {
        for text in ["", "chains", "chains:0", "subjects:x", "chains:-1"] {
            assert!(text.parse::<Split>().is_err(), "{text}");
        }
    }
}
