//! The columns of all files that were named.

use super::CurveFitArgs;
use super::pairs::texts;
use super::sets::{self, Sets};
use crate::tables;
use fitzroy::data::{Array, DataFile, Values};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::source::FileColumn;
use fitzroy_curve_fit::{Data, Sigma};
use std::path::Path;

/// The arrays of a file; columns of numbers in files of their own without a detour, which many rows
/// feel.
fn read(path: &Path, args: &CurveFitArgs) -> Result<Vec<Array>> {
    let npy = path.extension().is_some_and(|e| e == "npy");
    // What is another kind of array, or broken, the general reader knows more about.
    match npy.then(|| FileColumn::npy(path)).and_then(Result::ok) {
        Some(column) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let source = path.display().to_string();
            Ok(vec![Array::real(
                &name,
                &[column.n_rows],
                column.read()?,
                &source,
            )])
        }
        None => {
            let file = DataFile::read(path, &args.tables.options())?;
            tables::tell(&file, args.common.quiet || args.common.json);
            Ok(file.arrays)
        }
    }
}

/// All arrays of all files; data sets under one another, with a column that tells them
/// apart.
pub(super) fn arrays(args: &CurveFitArgs) -> Result<Vec<Array>> {
    let mut out: Vec<Array> = Vec::new();
    let Sets { column, sets } = sets::of(args)?;
    if column != sets::FILE {
        for path in &args.data {
            out.extend(read(path, args)?);
        }
    }
    if sets.is_empty() && out.is_empty() {
        return Err(Error::usage(
            "no data: name a file (CSV, TSV, text, Excel, NPY, NPZ, JSON, Parquet, NetCDF)",
        ));
    }
    let mut labels = Vec::new();
    for (name, file) in &sets {
        let arrays = read(Path::new(file), args)?;
        let rows = arrays.first().map_or(0, |a| a.values.len());
        labels.extend(std::iter::repeat_n(name.clone(), rows));
        for array in arrays {
            match out.iter_mut().find(|a| a.name == array.name) {
                None if labels.len() == rows => out.push(array),
                Some(before) => match (&mut before.values, array.values) {
                    (Values::Real(to), Values::Real(from)) => to.extend(from),
                    (Values::Text(to), Values::Text(from)) => to.extend(from),
                    _ => {
                        let message = format!(
                            "--data-set {name}={file}: column `{}` is numeric in one file and text \
                             in another",
                            array.name
                        );
                        return Err(Error::new(ErrorKind::Data, message));
                    }
                },
                None => {
                    let message = format!(
                        "--data-set {name}={file}: column `{}` is in this file only; all sets need \
                         the same columns",
                        array.name
                    );
                    return Err(Error::new(ErrorKind::Data, message));
                }
            }
        }
    }
    if !sets.is_empty() {
        let n = labels.len();
        for array in &mut out {
            if array.values.len() != n {
                let message = format!("column `{}` is not in every --data-set", array.name);
                return Err(Error::new(ErrorKind::Data, message));
            }
            array.shape = vec![n];
        }
        out.push(Array::text(column, &[n], labels, "--data-set"));
    }
    Ok(out)
}

/// Standard deviations of predictors (`--x-sigma`), whose columns are among the data.
pub(super) fn x_sigma<'d>(
    args: &CurveFitArgs,
    data: &'d Data<'_>,
) -> Result<Vec<(String, Sigma<'d>)>> {
    let one = |(name, text): (String, String)| {
        let sigma = match (text.parse(), data.column(&text)) {
            (Ok(number), _) => Sigma::Same(number),
            (_, Some(column)) => Sigma::Each(column.into()),
            _ => {
                return Err(Error::usage(format!(
                    "--x-sigma {name}={text}: `{text}` is the response"
                )));
            }
        };
        Ok((name, sigma))
    };
    texts("--x-sigma", &args.x_sigma)?
        .into_iter()
        .map(one)
        .collect()
}

/// The covariance matrix of `--sigma-matrix`, row by row.
pub(super) fn sigma_matrix(args: &CurveFitArgs) -> Result<Option<Vec<f64>>> {
    let Some(path) = &args.sigma_matrix else {
        return Ok(None);
    };
    let what = format!("--sigma-matrix {}", path.display());
    let file = DataFile::read(path, &args.tables.options()).map_err(|e| e.context(&what))?;
    let numbers = |a: &Array| match &a.values {
        Values::Real(values) => Ok(values.clone()),
        Values::Text(_) => Err(Error::data(format!(
            "{what}: column `{}` is not numeric; needs a matrix of numbers, without a line of names or with one",
            a.name
        ))),
    };
    let columns: Vec<Vec<f64>> = file.arrays.iter().map(numbers).collect::<Result<_>>()?;
    if let ([one], [array]) = (&columns[..], &file.arrays[..])
        && array.shape.len() == 2
    {
        return Ok(Some(one.clone()));
    }
    let n = columns.len();
    if let Some(other) = columns.iter().find(|c| c.len() != n) {
        return Err(Error::data(format!(
            "{what}: {} rows and {n} columns; a covariance matrix has as many of both",
            other.len()
        )));
    }
    Ok(Some((0..n * n).map(|i| columns[i % n][i / n]).collect()))
}

/// Columns of `--x-sigma`, each after the flag.
pub(super) fn columns_of_x_sigma(args: &CurveFitArgs) -> Result<Vec<(String, String)>> {
    let all = texts("--x-sigma", &args.x_sigma)?.into_iter();
    let columns = all.filter(|(_, text)| text.parse::<f64>().is_err());
    let named = columns.map(|(name, text)| (format!("--x-sigma {name}={text}"), text));
    Ok(named.collect())
}
