//! `--task I/N`: what one task of a job array does.

use fitzroy::{Error, ErrorKind, Result};
use std::ops::Range;
use std::str::FromStr;

/// The I-th of N equal parts of a run, I from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    index: usize,
    count: usize,
}

impl Task {
    /// Its share of `n` chains or data sets, which are called `what` in plural: numbers
    /// floor(I n / N) to floor((I + 1) n / N) - 1.
    ///
    /// # Errors
    /// There are more tasks than things to do.
    pub(crate) fn share(self, n: usize, what: &str) -> Result<Range<usize>> {
        if self.count > n {
            let message = format!(
                "--task {}/{}: there are {n} {what}; use at most {n} tasks",
                self.index, self.count
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(self.index * n / self.count..(self.index + 1) * n / self.count)
    }
}

impl FromStr for Task {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let valid = parts.filter(|(index, count)| index < count && *count <= 1_000_000);
        let (index, count) = valid.ok_or_else(|| {
            let message = format!("`{text}`: write I/N with I from 0 to N - 1, as in 0/4");
            Error::new(ErrorKind::Usage, message)
        })?;
        Ok(Task { index, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_belongs_to_exactly_one_task() {
        for (n, count) in [(4, 4), (8, 3), (7, 5), (100, 7), (1, 1)] {
            let share = |index| Task { index, count }.share(n, "chains").unwrap();
            let all: Vec<usize> = (0..count).flat_map(share).collect();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert!((0..count).all(|i| !share(i).is_empty()));
        }
    }

    #[test]
    fn what_is_no_task_is_refused() {
        for text in ["", "1", "4/4", "-1/4", "a/b", "0/0", "1/2/3", "/4"] {
            assert!(text.parse::<Task>().is_err(), "{text}");
        }
        let five: Task = "3/5".parse().unwrap();
        let message = five.share(4, "chains").unwrap_err().to_string();
        assert!(message.contains("there are 4 chains"), "{message}");
    }
}
