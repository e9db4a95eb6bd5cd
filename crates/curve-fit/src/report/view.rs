//! How a fit is to be shown: names, title and axes.

use super::scale::Axes;
use crate::fit::Estimate;

/// How a fit is to be shown.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The response, as its column is called.
    pub response: String,
    /// Predictors that a column of another name holds, and that name: `t`, `time (s)`.
    pub columns: Vec<(String, String)>,
    /// Which axes are logarithmic.
    pub axes: Axes,
    /// Stands above the figure, before the verdict if that is not plain.
    pub title: String,
}

impl View {
    /// A view of a response, all else by the data.
    pub fn of(response: impl Into<String>) -> View {
        View {
            response: response.into(),
            ..View::default()
        }
    }

    /// What the column of a predictor is called.
    pub(super) fn column(&self, predictor: &str) -> String {
        let found = self.columns.iter().find(|(name, _)| name == predictor);
        found.map_or(predictor, |(_, column)| column).to_string()
    }

    /// What was asked for, and what is to be known first.
    pub(super) fn headed(&self, estimate: &Estimate) -> String {
        let doubtful = !estimate.converged() || estimate.doubts().is_some();
        match (doubtful, self.title.as_str()) {
            (false, title) => title.into(),
            (true, "") => estimate.headline(),
            (true, title) => format!("{title} – {}", estimate.headline()),
        }
    }
}
