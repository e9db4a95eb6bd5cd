//! Columns of files by role: predictors, response, sigma; renamed, computed, cut, checked.

use super::errors::{error_columns, errors_of_others};
use super::request::{Missing, Request, SigmaOf};
use crate::fit::{Data, Sigma};
use crate::formula::{Formula, computed_column};
use crate::library;
use fitzroy::data::{Array, Values};
use fitzroy::{Error, Result};
use std::borrow::Cow;

/// Data of a fit, and what was found on the way.
#[derive(Debug)]
pub struct Assembled {
    /// The data.
    pub data: Data<'static>,
    /// What the response is.
    pub y: String,
    /// Rows left out for missing values.
    pub n_dropped: usize,
    /// The column or the number of sigma.
    pub sigma: Option<String>,
    /// What is to be told of how columns were taken.
    pub remarks: Vec<String>,
}

/// Columns of numbers and of labels.
struct Columns {
    numbers: Vec<(String, Vec<f64>)>,
    labels: Vec<(String, Vec<String>)>,
    /// Columns that are nearly numbers, and why not.
    spoilt: Vec<(String, String)>,
}

impl Columns {
    fn names(&self) -> Vec<&str> {
        let numbers = self.numbers.iter().map(|c| c.0.as_str());
        numbers
            .chain(self.labels.iter().map(|c| c.0.as_str()))
            .collect()
    }

    /// Columns of labels without their labels, which do not matter for which names occur.
    fn label_names(&self) -> Vec<(&str, &[String])> {
        let names = self.labels.iter().map(|c| c.0.as_str());
        names.map(|name| (name, &[][..])).collect()
    }

    fn number(&self, name: &str, what: &str) -> Result<usize> {
        if let Some(k) = self.numbers.iter().position(|c| c.0 == name) {
            return Ok(k);
        }
        if let Some((_, why)) = self.spoilt.iter().find(|c| c.0 == name) {
            return Err(Error::data(why.clone()));
        }
        if self.labels.iter().any(|c| c.0 == name) {
            return Err(Error::data(format!(
                "{what}: column `{name}` holds words, and numbers are needed"
            )));
        }
        let all = self.names().join(", ");
        Err(Error::data(format!(
            "{what}: there is no column `{name}`; the columns are {all}"
        )))
    }
}

/// Assigns the columns of `arrays` to the roles in `formula`.
///
/// # Errors
/// Columns that are missing, not numeric (a decimal comma, say) or of different lengths; values
/// that are missing, unless dropped.
pub fn assemble(arrays: Vec<Array>, formula: &Formula, request: &Request) -> Result<Assembled> {
    let mut columns = sort(arrays)?;
    for (name, column) in &request.rename {
        let what = format!("⟨x {name}={column}⟩");
        if let Some(k) = columns.labels.iter().position(|c| c.0 == *column) {
            columns.labels[k].0.clone_from(name);
        } else {
            let k = columns.number(column, &what)?;
            columns.numbers[k].0.clone_from(name);
        }
    }
    let mut used = used_columns(formula, &columns)?;
    used.extend(columns_beside(&columns, request, &used)?);
    let (y_name, y) = response(&mut columns, formula, request, &used)?;
    used.retain(|name| *name != y_name);
    let mut remarks = Vec::new();
    let of_name = match &request.sigma {
        SigmaOf::Unknown | SigmaOf::Number(_) => None,
        SigmaOf::Column(name) => Some(name.clone()),
        SigmaOf::ByName => by_name(&columns, &y_name, &used, &mut remarks),
    };
    let sigma = match (&request.sigma, &of_name) {
        (SigmaOf::Number(s), _) => Sigma::Same(*s),
        (_, None) => Sigma::Unknown,
        (_, Some(name)) => {
            let k = columns.number(name, "⟨sigma⟩")?;
            Sigma::Each(Cow::Owned(columns.numbers[k].1.clone()))
        }
    };
    let keep = ranges(&columns, request, y.len())?;
    let mut data = Data::new(y).with_response_called(&y_name);
    let mut predictors = Vec::new();
    for name in &used {
        if let Some((_, values)) = columns.labels.iter().find(|c| c.0 == *name) {
            data = data.with_labels(name, values);
        } else {
            let k = columns.number(name, "the model")?;
            data = data.with(name, std::mem::take(&mut columns.numbers[k].1));
        }
        predictors.push(name.clone());
    }
    data = data.with_sigma(sigma);
    if let Some(keep) = keep {
        data = data.only(&keep);
        if data.n_rows() == 0 {
            return Err(Error::data("⟨range⟩ leaves no row"));
        }
    }
    let mut n_dropped = 0;
    match request.missing {
        Missing::Error if request.unchecked => {}
        Missing::Error => data.check_finite(&predictors)?,
        Missing::Drop => (data, n_dropped) = data.without_missing(&predictors),
    }
    Ok(Assembled {
        data,
        y: y_name,
        n_dropped,
        sigma: match request.sigma {
            SigmaOf::Number(s) => Some(s.to_string()),
            _ => of_name,
        },
        remarks,
    })
}

/// The column of sigma by its name, and what is told of it.
fn by_name(
    columns: &Columns,
    y: &str,
    used: &[String],
    remarks: &mut Vec<String>,
) -> Option<String> {
    let free = columns.names().into_iter();
    let free = free.filter(|n| *n != y && !used.iter().any(|u| u == n));
    let found = error_columns(y, free);
    let [name] = found[..] else {
        if !found.is_empty() {
            remarks.push(format!(
                "{} look like errors of `{y}` and none is used; name one with ⟨sigma⟩",
                found.join(", ")
            ));
        }
        return None;
    };
    let values = columns.numbers.iter().find(|c| c.0 == name);
    let positive = values.is_some_and(|(_, v)| v.iter().all(|x| x.is_finite() && *x > 0.0));
    remarks.push(match positive {
        true => format!("sigma: column `{name}`, by its name (⟨sigma none⟩ for a fit without)"),
        false => format!(
            "column `{name}` looks like errors of `{y}` and is not used, as some are not above 0; ⟨sigma \
             {name}⟩ uses it"
        ),
    });
    positive.then(|| name.to_string())
}

/// Numbers and labels apart; matrices become one column per column.
fn sort(arrays: Vec<Array>) -> Result<Columns> {
    let mut out = Columns {
        numbers: Vec::new(),
        labels: Vec::new(),
        spoilt: Vec::new(),
    };
    for array in arrays {
        let Array {
            name,
            shape,
            values,
            source,
            note,
            ..
        } = array;
        match (values, shape.as_slice()) {
            (Values::Real(values), [_] | []) => out.numbers.push((name, values)),
            (Values::Real(values), [rows, width]) => {
                for k in 0..*width {
                    let column = (0..*rows).map(|i| values[i * width + k]).collect();
                    out.numbers.push((format!("{name}{k}"), column));
                }
            }
            (Values::Text(cells), [_]) => {
                if let Some(note) = note {
                    let comma = cells
                        .iter()
                        .any(|c| c.contains(',') && c.replacen(',', ".", 1).parse::<f64>().is_ok());
                    let advice = if note.contains("⟨decimal") {
                        "nothing else in the file tells"
                    } else if comma {
                        "numbers seem to have decimal commas; write them with a point"
                    } else {
                        "remove or mend those cells"
                    };
                    let why =
                        format!("{source}: column `{name}` is not numeric ({note}); {advice}");
                    out.spoilt.push((name.clone(), why));
                } else if let Some(cell) = cells.first()
                    && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
                {
                    let why = format!(
                        "{source}: column `{name}` holds `{cell}`: numbers seem to have decimal \
                         commas; write them with a point"
                    );
                    out.spoilt.push((name.clone(), why));
                }
                out.labels.push((name, cells));
            }
            (_, shape) => {
                let message =
                    format!("{source}: `{name}` has shape {shape:?}; a column has one axis");
                return Err(Error::data(message));
            }
        }
    }
    Ok(out)
}

/// Columns that are needed beside those `used` in the formula.
fn columns_beside(columns: &Columns, request: &Request, used: &[String]) -> Result<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    for (what, name) in &request.beside {
        columns.number(name, what)?;
        out.push(name.clone());
    }
    let names = columns.names();
    let labels = columns.label_names();
    for formula in &request.others {
        out.extend(formula.names(&names, &labels)?.predictors);
    }
    out.sort();
    out.dedup();
    out.retain(|name| !used.contains(name));
    Ok(out)
}

/// Columns that occur in the formula; built-in curves find theirs.
fn used_columns(formula: &Formula, columns: &Columns) -> Result<Vec<String>> {
    let names = columns.names();
    let labels = columns.label_names();
    for (name, why) in &columns.spoilt {
        let text = formula.names(&[name.as_str()], &[]);
        if text.is_ok_and(|roles| !roles.predictors.is_empty()) {
            return Err(Error::data(why.clone()));
        }
    }
    let roles = formula.names(&names, &labels)?;
    if roles.predictors.is_empty() {
        let all = names.join(", ");
        let text = formula.text();
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(Error::data(format!(
                "`{text}` is no column ({all}) and no built-in curve; these are {}, polynomial(n)",
                library::names().collect::<Vec<_>>().join(", ")
            )));
        }
        if names.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Err(Error::data(format!(
                "the columns of the table have no names, but numbers ({all}); write a line of names \
                 above the first row"
            )));
        }
        if let [one] = names[..]
            && one.contains(' ')
        {
            return Err(Error::data(format!(
                "the only column is `{one}`: cells seem to be separated by spaces; save the table with \
                 commas, or as .tsv with tabs"
            )));
        }
        let first = names.first().copied().unwrap_or("COLUMN");
        let parameters: Vec<&str> = roles.parameters.iter().map(|p| p.name.as_str()).collect();
        let usual = ["x", "t", "time"].into_iter();
        let likely = usual
            .filter(|name| parameters.contains(name))
            .map(|name| (name, first));
        // A name that differs in its letters' case alone is surely that column.
        let cases = parameters
            .iter()
            .flat_map(|p| names.iter().map(move |n| (*p, *n)));
        let alike = cases.filter(|(p, n)| p.eq_ignore_ascii_case(n));
        let advice = match likely.chain(alike).last() {
            Some((name, column)) => format!("⟨x {name}={column}⟩"),
            None => format!(
                "⟨x NAME={first}⟩, NAME being one of {}",
                parameters.join(", ")
            ),
        };
        return Err(Error::data(format!(
            "no column ({all}) occurs in the model `{text}`; rename one with {advice}"
        )));
    }
    Ok(roles.predictors)
}

/// The response: a column, a formula of columns, `y`, or the only column that is left.
fn response(
    columns: &mut Columns,
    formula: &Formula,
    request: &Request,
    used: &[String],
) -> Result<(String, Vec<f64>)> {
    let sigma = match &request.sigma {
        SigmaOf::Column(name) => name.as_str(),
        _ => "",
    };
    let name = match &request.y {
        Some(text) => text.clone(),
        None if columns.names().contains(&"y") && !used.iter().any(|u| u == "y") => "y".into(),
        None => {
            let all = columns.names();
            let errors = match request.sigma {
                SigmaOf::ByName => errors_of_others(&all),
                _ => Vec::new(),
            };
            let taken = |n: &&str| used.iter().any(|u| u == n) || *n == sigma;
            let free: Vec<&str> = all.iter().copied().filter(|n| !taken(n)).collect();
            let likely: Vec<&str> = free
                .iter()
                .copied()
                .filter(|n| !errors.contains(n))
                .collect();
            let free = if likely.is_empty() { free } else { likely };
            match free[..] {
                [one] => one.to_string(),
                [] => {
                    let message = format!(
                        "no column is left for the response: the model `{}` uses all of them; \
                         name it with ⟨y⟩",
                        formula.text()
                    );
                    return Err(Error::data(message));
                }
                _ => {
                    let message = format!(
                        "which column is the response? Name one with ⟨y⟩: {}",
                        free.join(", ")
                    );
                    return Err(Error::data(message));
                }
            }
        }
    };
    if columns.numbers.iter().any(|c| c.0 == name) || columns.spoilt.iter().any(|c| c.0 == name) {
        let k = columns.number(&name, "⟨y⟩")?;
        let alone = request.range.is_empty() && name != sigma && !used.contains(&name);
        let values = &mut columns.numbers[k].1;
        let y = match alone {
            // Copying a million numbers takes as long as a pass through them.
            true => std::mem::take(values),
            false => values.clone(),
        };
        return Ok((name, y));
    }
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if plain {
        columns.number(&name, "⟨y⟩")?;
    }
    let formula = Formula::parse(&name).map_err(|e| e.context("⟨y⟩"))?;
    let values = computed_column(&formula, &columns.numbers).map_err(|e| e.context("⟨y⟩"))?;
    Ok((name, values))
}

/// Which rows the ranges keep; `None` for all.
fn ranges(columns: &Columns, request: &Request, n: usize) -> Result<Option<Vec<bool>>> {
    if request.range.is_empty() {
        return Ok(None);
    }
    let mut keep = vec![true; n];
    for (name, low, high) in &request.range {
        let k = columns.number(name, "⟨range⟩")?;
        for (keep, x) in keep.iter_mut().zip(&columns.numbers[k].1) {
            *keep &= x >= low && x <= high;
        }
    }
    Ok(Some(keep))
}
