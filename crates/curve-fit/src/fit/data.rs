//! Data of a fit: named columns, response, sigma; checked.

use crate::pass::Columns;
use fitzroy::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// Standard deviations of the response.
#[derive(Clone, Debug, Default)]
pub enum Sigma<'d> {
    /// All alike and not known.
    #[default]
    Unknown,
    /// All this.
    Same(f64),
    /// One per row.
    Each(Cow<'d, [f64]>),
}

/// Columns, response and sigma.
///
/// ```
/// use fitzroy_curve_fit::Data;
/// let data = Data::new(&[1.0, 2.0, 3.0]).with("x", &[0.0, 1.0, 2.0]);
/// assert_eq!(data.n_rows(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Data<'d> {
    pub(crate) y: Cow<'d, [f64]>,
    /// What the response is called, where that is known.
    pub(crate) y_name: Option<String>,
    pub(crate) sigma: Sigma<'d>,
    pub(crate) columns: Vec<(String, Cow<'d, [f64]>)>,
    pub(crate) labels: Vec<(String, Vec<String>)>,
}

impl<'d> Data<'d> {
    /// Data with this response and no columns yet.
    pub fn new(y: impl Into<Cow<'d, [f64]>>) -> Self {
        Data {
            y: y.into(),
            ..Data::default()
        }
    }

    /// Says what the response is called, for messages.
    #[must_use]
    pub fn with_response_called(mut self, name: &str) -> Self {
        self.y_name = Some(name.into());
        self
    }

    /// Adds a column.
    #[must_use]
    pub fn with(mut self, name: &str, values: impl Into<Cow<'d, [f64]>>) -> Self {
        self.columns.push((name.into(), values.into()));
        self
    }

    /// Adds a column of labels, for `c[name]`.
    #[must_use]
    pub fn with_labels(mut self, name: &str, values: &[String]) -> Self {
        let mut labels: Vec<String> = Vec::new();
        let mut place = |v: &String| {
            let found = labels.iter().position(|l| l == v);
            let at = found.unwrap_or_else(|| {
                labels.push(v.clone());
                labels.len() - 1
            });
            at as f64
        };
        let positions: Vec<f64> = values.iter().map(&mut place).collect();
        self.columns.push((name.into(), Cow::Owned(positions)));
        self.labels.push((name.into(), labels));
        self
    }

    /// Says that the values of the column `name` are places among these labels, from 0.
    ///
    /// # Panics
    /// If there is no such column, or it has other values.
    #[must_use]
    pub fn with_places_among(mut self, name: &str, labels: &[String]) -> Self {
        let places = self.column(name).expect("the column was added before");
        let is_place = |x: &f64| x.fract() == 0.0 && (0.0..labels.len() as f64).contains(x);
        assert!(
            places.iter().all(is_place),
            "places among {} labels",
            labels.len()
        );
        self.labels.push((name.into(), labels.to_vec()));
        self
    }

    /// Sets the standard deviations.
    #[must_use]
    pub fn with_sigma(mut self, sigma: Sigma<'d>) -> Self {
        self.sigma = sigma;
        self
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.y.len()
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Columns of labels and their labels.
    pub fn label_columns(&self) -> Vec<(&str, &[String])> {
        let pairs = self.labels.iter();
        pairs
            .map(|(name, labels)| (name.as_str(), labels.as_slice()))
            .collect()
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let found = self.columns.iter().find(|(n, _)| n == name);
        found.map(|(_, values)| values.as_ref())
    }

    /// The response.
    pub fn response(&self) -> &[f64] {
        &self.y
    }

    /// Standard deviations of the response.
    pub fn sigma(&self) -> &Sigma<'d> {
        &self.sigma
    }

    /// True when rows have standard deviations.
    pub fn has_sigma(&self) -> bool {
        !matches!(self.sigma, Sigma::Unknown)
    }

    /// 1/σ of every row.
    ///
    /// # Errors
    /// A σ that is not positive, by row.
    fn weights(&self) -> Result<Option<Vec<f64>>> {
        let refuse = |row: usize, s: f64| {
            let cure = match s.is_nan() {
                true => "remove the row or use ⟨missing drop⟩",
                false => "correct it, or remove the row",
            };
            let message = format!(
                "row {}, sigma: {s}. A standard deviation is a positive number; {cure}",
                row + 1
            );
            Err(Error::new(ErrorKind::Data, message))
        };
        match &self.sigma {
            Sigma::Unknown => Ok(None),
            Sigma::Same(s) => {
                if !(*s > 0.0 && s.is_finite()) {
                    return refuse(0, *s);
                }
                Ok(Some(vec![1.0 / s; self.n_rows()]))
            }
            Sigma::Each(values) => {
                let bad = values.iter().position(|&s| !(s > 0.0 && s.is_finite()));
                match bad {
                    Some(row) => refuse(row, values[row]),
                    None => Ok(Some(values.iter().map(|s| 1.0 / s).collect())),
                }
            }
        }
    }

    /// The columns that programs read: `predictors`, the response, 1/σ.
    ///
    /// # Errors
    /// Columns of another length than the response; a σ that is not positive.
    pub fn table(&self, predictors: &[String]) -> Result<Columns<'_>> {
        let mut out: Vec<Cow<'_, [f64]>> = Vec::new();
        let n = self.n_rows();
        for name in predictors {
            let values = self.column(name).expect("predictors are columns");
            if values.len() != n {
                let message = format!("column `{name}` has {} rows, y has {n}", values.len());
                return Err(Error::new(ErrorKind::Data, message));
            }
            out.push(Cow::Borrowed(values));
        }
        out.push(Cow::Borrowed(&self.y));
        if let Sigma::Each(values) = &self.sigma
            && values.len() != n
        {
            let message = format!("sigma has {} rows, y has {n}", values.len());
            return Err(Error::new(ErrorKind::Data, message));
        }
        if let Some(weights) = self.weights()? {
            out.push(Cow::Owned(weights));
        }
        Ok(Columns::new(out))
    }

    /// Refuses what is not finite, by row and column.
    ///
    /// # Errors
    /// Names the first such row.
    pub fn check_finite(&self, predictors: &[String]) -> Result<()> {
        let own = predictors
            .iter()
            .filter_map(|name| Some((name.as_str(), self.column(name)?)));
        let y = self.y_name.as_deref().unwrap_or("y");
        for (name, values) in own.chain([(y, self.y.as_ref())]) {
            if let Some(row) = first_not_finite(values) {
                return Err(not_finite(row, name, values[row]));
            }
        }
        Ok(())
    }

    /// Without the rows in which a predictor, the response or sigma is not finite (or σ ≤ 0), and
    /// how many there were.
    #[must_use]
    pub fn without_missing(self, predictors: &[String]) -> (Data<'static>, usize) {
        let n = self.n_rows();
        let mut keep = vec![true; n];
        let own = predictors.iter().filter_map(|name| self.column(name));
        for values in own.chain([self.y.as_ref()]) {
            for (keep, x) in keep.iter_mut().zip(values) {
                *keep &= x.is_finite();
            }
        }
        if let Sigma::Each(values) = &self.sigma {
            for (keep, &s) in keep.iter_mut().zip(values.iter()) {
                *keep &= s.is_finite() && s > 0.0;
            }
        }
        let kept = keep.iter().filter(|k| **k).count();
        (self.only(&keep), n - kept)
    }

    /// The rows for which `keep` holds.
    #[must_use]
    pub fn only(self, keep: &[bool]) -> Data<'static> {
        let kept: Vec<usize> = (0..keep.len()).filter(|&row| keep[row]).collect();
        self.rows(&kept)
    }

    /// These rows, in this order, as often as they are named.
    #[must_use]
    pub fn rows(&self, rows: &[usize]) -> Data<'static> {
        let pick = |v: &[f64]| -> Cow<'static, [f64]> {
            Cow::Owned(rows.iter().map(|&row| v[row]).collect())
        };
        let sigma = match &self.sigma {
            Sigma::Unknown => Sigma::Unknown,
            Sigma::Same(s) => Sigma::Same(*s),
            Sigma::Each(values) => Sigma::Each(pick(values)),
        };
        let columns = self.columns.iter().map(|(name, v)| (name.clone(), pick(v)));
        Data {
            y: pick(&self.y),
            y_name: self.y_name.clone(),
            sigma,
            columns: columns.collect(),
            labels: self.labels.clone(),
        }
    }
}

/// The first value that is not finite. 0 · x is 0 but for those, and eight sums at a time are as fast
/// as memory.
pub fn first_not_finite(values: &[f64]) -> Option<usize> {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, x) in sums.iter_mut().zip(eight) {
            *sum += 0.0 * x;
        }
    }
    let fine = sums.iter().all(|s| *s == 0.0) && rest.iter().all(|x| x.is_finite());
    match fine {
        true => None,
        false => values.iter().position(|x| !x.is_finite()),
    }
}

/// The error about a value that is not finite; `row` counts from 0.
pub(crate) fn not_finite(row: usize, column: &str, value: f64) -> Error {
    let message = format!(
        "row {}, column {column}: {value}. Remove it or use ⟨missing drop⟩",
        row + 1
    );
    Error::new(ErrorKind::Data, message)
}
