//! Which records train, which choose the best checkpoint, and which judge it.

use super::archive::Archive;
use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use std::ops::Range;

/// How to split.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitBy {
    /// By shares of the records, in time order; the rest is for testing.
    Ratios {
        /// Share that trains.
        train: f64,
        /// Share that validates.
        validation: f64,
    },
    /// By years: up to and including the first, up to and including the second, and later.
    Years {
        /// Last year that trains.
        train_end: i64,
        /// Last year that validates.
        validation_end: i64,
    },
    /// As a checkpoint holds it: the first times of validation and of testing.
    Borders {
        /// First time of validation.
        validation: Time,
        /// First time of testing.
        test: Time,
    },
    /// Records from a date on test; those before are split by `train : validation`.
    TestFrom {
        /// The date.
        start: Time,
        /// Weight of training.
        train: f64,
        /// Weight of validation.
        validation: f64,
    },
}

/// One of the three parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Fits parameters, statistics and baselines.
    Train,
    /// Chooses the best checkpoint.
    Validation,
    /// Is only scored.
    Test,
}

/// Record numbers of the three parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// Training records.
    pub train: Range<usize>,
    /// Validation records.
    pub validation: Range<usize>,
    /// Test records.
    pub test: Range<usize>,
}

impl Splits {
    /// Splits an archive.
    ///
    /// # Errors
    /// A part has too few records for one window, or a share is out of range.
    pub fn new(archive: &Archive, by: &SplitBy) -> Result<Self> {
        let splits = Self::cut(archive, by)?;
        splits.check(archive, &[Split::Train, Split::Validation, Split::Test])?;
        Ok(splits)
    }

    /// Splits an archive of which only the test part will be scored; others may be empty.
    ///
    /// # Errors
    /// The test part has too few records for one window.
    pub fn for_scores(archive: &Archive, by: &SplitBy) -> Result<Self> {
        let splits = Self::cut(archive, by)?;
        splits.check(archive, &[Split::Test])?;
        Ok(splits)
    }

    fn cut(archive: &Archive, by: &SplitBy) -> Result<Self> {
        let times = &archive.times;
        let n = times.len();
        let share = |x: f64| x.is_finite() && x > 0.0 && x <= 1.0;
        let (a, b) = match *by {
            SplitBy::Ratios { train, validation } => {
                if !share(train) || !share(validation) || train + validation >= 1.0 {
                    return Err(Error::usage(format!(
                        "⟨train_ratio {train}⟩ and ⟨val_ratio {validation}⟩: each must be above \
                         0, and together below 1 so that something is left to test"
                    )));
                }
                let a = (train * n as f64).round() as usize;
                (a, ((train + validation) * n as f64).round() as usize)
            }
            SplitBy::Years {
                train_end,
                validation_end,
            } => (
                times.partition_point(|t| t.year() <= train_end),
                times.partition_point(|t| t.year() <= validation_end),
            ),
            SplitBy::Borders { validation, test } => (
                times.partition_point(|&t| t < validation),
                times.partition_point(|&t| t < test),
            ),
            SplitBy::TestFrom {
                start,
                train,
                validation,
            } => {
                if !share(train) || !share(validation) {
                    return Err(Error::usage(format!(
                        "⟨train_ratio {train}⟩ and ⟨val_ratio {validation}⟩: must be above 0"
                    )));
                }
                let b = times.partition_point(|&t| t < start);
                (
                    (b as f64 * train / (train + validation)).round() as usize,
                    b,
                )
            }
        };
        Ok(Splits {
            train: 0..a.min(n),
            validation: a.min(n)..b.min(n),
            test: b.min(n)..n,
        })
    }

    fn check(&self, archive: &Archive, parts: &[Split]) -> Result<()> {
        let (times, n) = (&archive.times, archive.times.len());
        for &part in parts {
            let (name, range) = match part {
                Split::Train => ("training", &self.train),
                Split::Validation => ("validation", &self.validation),
                Split::Test => ("test", &self.test),
            };
            if windows(archive, range, 1).0.is_empty() {
                return Err(Error::new(
                    ErrorKind::Data,
                    format!(
                        "the {name} split is empty: it has {} of {n} records ({} to {}), and a \
                         window needs 3 in a row; move the borders",
                        range.len(),
                        times[0].iso(),
                        times[n - 1].iso()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// All records train and nothing else is done: for forecasts.
    pub fn whole(archive: &Archive) -> Self {
        let n = archive.times.len();
        Splits {
            train: 0..n,
            validation: n..n,
            test: n..n,
        }
    }

    /// Records of a part.
    pub fn of(&self, split: Split) -> Range<usize> {
        match split {
            Split::Train => self.train.clone(),
            Split::Validation => self.validation.clone(),
            Split::Test => self.test.clone(),
        }
    }
}

/// Records t such that t−1, t, ..., t + `steps` are in `range` and one step apart; and how many
/// others a gap or the border of the range costs.
pub fn windows(archive: &Archive, range: &Range<usize>, steps: usize) -> (Vec<u32>, usize) {
    let times = &archive.times;
    let mut found = Vec::new();
    for t in range.clone() {
        if t < range.start + 1 || t + steps >= range.end {
            continue;
        }
        let even = (t - 1..t + steps).all(|k| times[k + 1].0 - times[k].0 == archive.step_s);
        if even {
            found.push(t as u32);
        }
    }
    let dropped = range.len() - found.len();
    (found, dropped)
}
