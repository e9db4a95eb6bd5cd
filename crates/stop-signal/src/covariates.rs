//! Columns of a table of subjects on which the population depends: ages, groups, sites.

use crate::data::{Covariate, Study};
use crate::params::Kind;
use fitzroy::data::{TableOptions, TableText};
use fitzroy::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Parameters and the columns that they depend on, as asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked(Vec<(&'static str, String)>);

/// The columns, and which parameter depends on which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Covariates {
    columns: Vec<Column>,
    /// A parameter, and the name of a covariate in the model.
    pub slopes: Vec<(String, String)>,
}

/// One covariate: a number of every subject of the table.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    meaning: String,
    values: BTreeMap<String, f64>,
}

fn usage<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Usage, message))
}

fn refused<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Data, message))
}

impl Asked {
    /// From `PARAMETER=COLUMN`, each, of the parameters of a model.
    ///
    /// # Errors
    /// One is something else, names no parameter, or is there twice.
    pub fn new(kind: Kind, texts: &[String]) -> Result<Asked> {
        let names = kind.parameter_names();
        let mut all: Vec<(&str, String)> = Vec::new();
        for text in texts {
            let Some((parameter, column)) = text.split_once('=') else {
                return usage(format!(
                    "⟨slope {text}⟩: give PARAMETER=COLUMN, such as stop_mu=age"
                ));
            };
            let Some(known) = names.iter().find(|n| **n == parameter) else {
                return usage(format!(
                    "⟨slope {text}⟩: `{parameter}` is no parameter; there are {}",
                    names.join(", ")
                ));
            };
            let one = (*known, column.to_owned());
            if all.contains(&one) {
                return usage(format!("⟨slope {text}⟩ is given twice"));
            }
            all.push(one);
        }
        Ok(Asked(all))
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns of a file.
    ///
    /// # Errors
    /// The file cannot be read, has no column `subject` or not what was asked for, or a subject twice.
    pub fn read(&self, path: &Path, options: &TableOptions) -> Result<Covariates> {
        let table = TableText::open(path, options)?;
        self.columns(&table).map_err(|e| e.context(path.display()))
    }

    fn columns(&self, table: &TableText) -> Result<Covariates> {
        let mut found = Covariates::default();
        let mut made: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (parameter, column) in &self.0 {
            if !made.contains_key(column.as_str()) {
                let columns = coded(column, &cells(table, column)?)?;
                made.insert(column, columns.iter().map(|c| c.name.clone()).collect());
                found.columns.extend(columns);
            }
            let names = made[column.as_str()].iter();
            let slopes = names.map(|name| ((*parameter).to_owned(), name.clone()));
            found.slopes.extend(slopes);
        }
        Ok(found)
    }
}

/// A column's cells by subject, empty ones left out.
fn cells(table: &TableText, column: &str) -> Result<BTreeMap<String, String>> {
    let names = table.names();
    let place = |wanted: &str| {
        names.iter().position(|n| n == wanted).ok_or_else(|| {
            let message = format!(
                "column {wanted} is missing; the header has {}",
                names.join(", ")
            );
            Error::data(message)
        })
    };
    let (subject, at) = (place("subject")?, place(column)?);
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    table.each(&mut |row, cells| {
        let (name, text) = (cells.text(subject), cells.text(at));
        if cells.is_missing(at) || name.is_empty() {
            return Ok(());
        }
        let (name, text) = (name.into_owned(), text.into_owned());
        match all.get(&name) {
            Some(other) if *other != text => refused(format!(
                "row {row}: subject `{name}` has {column} `{text}` here and `{other}` before"
            )),
            _ => {
                all.insert(name, text);
                Ok(())
            }
        }
    })?;
    Ok(all)
}

/// Numbers of a column: standardised, or 0 and 1 where there are two values; a 0/1 column for every
/// label but the first where there are labels.
fn coded(column: &str, cells: &BTreeMap<String, String>) -> Result<Vec<Column>> {
    let numbers: Option<BTreeMap<&String, f64>> = cells
        .iter()
        .map(|(s, t)| Some((s, t.parse().ok().filter(|x: &f64| x.is_finite())?)))
        .collect();
    let distinct: BTreeSet<&String> = cells.values().collect();
    if distinct.len() < 2 {
        return refused(format!(
            "column {column} has {} value(s); a slope needs two or more",
            distinct.len()
        ));
    }
    let Some(numbers) = numbers else {
        return labelled(column, cells, &distinct);
    };
    let n = numbers.len() as f64;
    let mean = numbers.values().sum::<f64>() / n;
    let square = |x: &f64| (x - mean) * (x - mean);
    let sd = (numbers.values().map(square).sum::<f64>() / n).sqrt();
    let low = numbers.values().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let (centre, scale, meaning) = match distinct.len() {
        2 => (
            low,
            high - low,
            format!("{column}: 0 for {low}, 1 for {high}"),
        ),
        _ => (
            mean,
            sd,
            format!("{column}: 0 at {mean}, 1 at {}", mean + sd),
        ),
    };
    let values = numbers
        .into_iter()
        .map(|(s, x)| (s.clone(), (x - centre) / scale));
    Ok(vec![Column {
        name: identifier(column, None)?,
        meaning,
        values: values.collect(),
    }])
}

fn labelled(
    column: &str,
    cells: &BTreeMap<String, String>,
    labels: &BTreeSet<&String>,
) -> Result<Vec<Column>> {
    const MOST: usize = 40;
    if labels.len() > MOST {
        return refused(format!(
            "column {column} has {} labels; a group for each of more than {MOST} is too many, and numbers \
             must be numbers in every row",
            labels.len()
        ));
    }
    let first = labels.first().expect("there are labels");
    let one = |label: &&String| {
        let is = |text: &String| f64::from(u8::from(text == *label));
        Ok(Column {
            name: identifier(column, Some(label))?,
            meaning: format!("{column}: 1 for {label}, 0 for {first} and others"),
            values: cells.iter().map(|(s, t)| (s.clone(), is(t))).collect(),
        })
    };
    labels.iter().skip(1).map(one).collect()
}

/// The name of a covariate in the model.
fn identifier(column: &str, label: Option<&str>) -> Result<String> {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain(column) {
        return refused(format!(
            "column `{column}`: its name becomes a part of the model; rename it to letters, digits and _"
        ));
    }
    let label = label.map(|l| {
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        l.chars().map(word).collect::<String>()
    });
    Ok(match label {
        Some(label) => format!("x_{column}_{label}"),
        None => format!("x_{column}"),
    })
}

impl Covariates {
    /// Gives a study the covariates of its subjects.
    ///
    /// # Errors
    /// A subject of the study lacks one.
    pub fn join(&self, study: &mut Study) -> Result<()> {
        for column in &self.columns {
            let of = |name: &String| {
                column.values.get(name).copied().ok_or_else(|| {
                    let message = format!(
                        "subject `{name}` has no value for {}; give it one, or leave the subject out",
                        column.meaning
                    );
                    Error::new(ErrorKind::Data, message)
                })
            };
            study.covariates.push(Covariate {
                name: column.name.clone(),
                meaning: column.meaning.clone(),
                values: study.subjects.iter().map(of).collect::<Result<_>>()?,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(asked: &[&str], text: &str) -> Result<Covariates> {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let table = TableText::of_bytes(text.into(), &TableOptions::default())?;
        Asked::new(Kind::Rdex, &asked)?.columns(&table)
    }

    const TABLE: &str =
        "subject,age,sex,site,iq\na,9,F,x,\nb,10,M,y 1,90\nc,11,F,z,110\nd,12,M,x,100\n";

    #[test]
    fn numbers_are_standardised_and_labels_become_groups() {
        let asked = ["stop_mu=age", "ptf=sex", "stop_mu=site", "g=age"];
        let found = columns(&asked, TABLE).expect("fine");
        let names: Vec<&str> = found.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["x_age", "x_sex_M", "x_site_y_1", "x_site_z"]);
        let of = |k: usize, s: &str| found.columns[k].values[s];
        assert!((of(0, "d") - 1.5 / 1.25f64.sqrt()).abs() < 1e-14);
        assert_eq!(
            (of(1, "a"), of(1, "b"), of(2, "b"), of(2, "c")),
            (0.0, 1.0, 1.0, 0.0)
        );
        let slopes: Vec<String> = found
            .slopes
            .iter()
            .map(|(p, c)| format!("{p} {c}"))
            .collect();
        let expected = [
            "stop_mu x_age",
            "ptf x_sex_M",
            "stop_mu x_site_y_1",
            "stop_mu x_site_z",
            "g x_age",
        ];
        assert_eq!(slopes, expected);
    }

    #[test]
    fn what_cannot_be_a_slope_is_said() {
        let message = |asked: &str| columns(&[asked], TABLE).expect_err("refused").to_string();
        assert!(message("stop_mu").contains("give PARAMETER=COLUMN"));
        assert!(message("ssrt=age").contains("`ssrt` is no parameter"));
        assert!(message("ptf=height").contains("column height is missing"));
        let twice = "subject,age\na,1\na,2\n";
        let said = columns(&["g=age"], twice).expect_err("refused").to_string();
        assert!(
            said.contains("row 2: subject `a` has age `2` here and `1` before"),
            "{said}"
        );
        let mut study = Study {
            subjects: vec!["b".into(), "a".into()],
            ..Study::default()
        };
        let said = columns(&["g=iq"], TABLE)
            .expect("fine")
            .join(&mut study)
            .expect_err("refused")
            .to_string();
        assert!(said.contains("subject `a` has no value for iq"), "{said}");
    }
}
