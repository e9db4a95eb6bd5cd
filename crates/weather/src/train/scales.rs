//! Where the scales of a problem come from: its data, or a checkpoint.

use crate::data::{Archive, Normaliser, Splits};
use fitzroy::{Error, Result};
use std::ops::Range;

/// The scales of the channels of a problem.
pub(super) enum Scales {
    /// Those of the training records.
    Fresh,
    /// Those of a checkpoint of the same channels.
    Saved(Normaliser),
    /// Those of a checkpoint for the channels that it has, whose numbers there stand here; those
    /// of the training records for the others.
    Carried(Normaliser, Vec<Option<usize>>),
}

impl Scales {
    /// Normalises an archive; with `linear` forecasts go on from a linear model. `usual` is the
    /// average state of a training, where it is known.
    pub(super) fn settle(
        self,
        archive: &mut Archive,
        splits: &Splits,
        linear: bool,
        usual: Option<&[f32]>,
    ) -> Result<Normaliser> {
        let (saved, from) = match self {
            Scales::Saved(normaliser) => {
                normaliser.apply(archive)?;
                archive.adopt(&normaliser.absent, usual)?;
                return Ok(normaliser);
            }
            Scales::Carried(saved, from) => (Some(saved), from),
            Scales::Fresh => (None, Vec::new()),
        };
        check_changing(archive, &splits.train)?;
        let mut normaliser = Normaliser::new(archive, &splits.train);
        if let Some(saved) = &saved {
            normaliser.take_over(saved, &from);
        }
        normaliser.apply(archive)?;
        archive.adopt(&normaliser.absent, usual)?;
        let complete = saved.is_some() && from.iter().all(Option::is_some);
        if linear && !complete {
            normaliser.go_on_linearly(archive, &splits.train, &splits.validation);
        }
        if let Some(saved) = &saved {
            normaliser.take_over_rest(saved, &from, archive.shape());
        }
        Ok(normaliser)
    }
}

/// Refuses channels that are the same at every training record: they have no scale, and their loss
/// is 0 whatever a network says.
fn check_changing(archive: &Archive, train: &Range<usize>) -> Result<()> {
    let n = archive.channels.len();
    let mut still = vec![true; n];
    let first = archive.record(train.start);
    for t in train.clone() {
        for (k, (x, was)) in archive.record(t).iter().zip(first).enumerate() {
            still[k % n] &= x == was;
        }
    }
    let still: Vec<String> = archive
        .channels
        .iter()
        .zip(&still)
        .filter(|(_, still)| **still)
        .map(|(channel, _)| channel.label())
        .collect();
    if still.is_empty() {
        return Ok(());
    }
    Err(Error::data(format!(
        "{} never changes in the training records, so there is nothing to learn: leave it out with \
         ⟨variables⟩, give a field that does not change as a static one of (lat, lon), or train on \
         other times",
        still.join(", ")
    )))
}
