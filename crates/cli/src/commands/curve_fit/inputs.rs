//! The columns of all files that were named.

use super::sets::{self, Sets};
use super::{CurveFitArgs, usage};
use fitzroy::{Error, ErrorKind, Result};

/// All arrays of all files; data sets under one another, with a column that tells them
/// apart.
pub(super) fn arrays(args: &CurveFitArgs) -> Result<Vec<fitzroy::data::Array>> {
    use fitzroy::data::{Array, Values};
    let mut out: Vec<Array> = Vec::new();
    let Sets { column, sets } = sets::of(args)?;
    if column != sets::FILE {
        for path in &args.data {
            out.extend(fitzroy::data::read_file(path)?);
        }
    }
    if sets.is_empty() && out.is_empty() {
        return Err(usage(
            "no data: name a file (CSV, TSV, NPY, NPZ, JSON, Parquet, NetCDF)".into(),
        ));
    }
    let mut labels = Vec::new();
    for (name, file) in &sets {
        let arrays = fitzroy::data::read_file(file)?;
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
