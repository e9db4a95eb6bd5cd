//! Every message of the language, as a user sees it.

use super::super::Model;
use super::super::joint::Joint;
use crate::data::{Array, Dataset, Values};
use std::fmt::Write as _;

/// The messages that models give before they meet data. Blocks of a title, a model, `---` and the
/// message; written by hand, and to be read when they change.
const LANGUAGE: &str = include_str!("language_messages.txt");
/// The same for models that meet data, with the data as `NAME = values` lines after `with`.
const BINDING: &str = include_str!("binding_messages.txt");
/// The same for models whose density is built from their data.
const JOINT: &str = include_str!("joint_messages.txt");

/// One value of `NAME = 1 2; 3 4`: numbers or words, rows separated by semicolons.
fn array(line: &str) -> Array {
    let (name, values) = line.split_once('=').expect("data lines are NAME = values");
    let rows: Vec<Vec<&str>> = values
        .split(';')
        .map(|row| row.split_whitespace().collect())
        .collect();
    let flat: Vec<&str> = rows.iter().flatten().copied().collect();
    let shape = match (rows.len(), flat.len()) {
        (1, 1) => vec![],
        (1, n) => vec![n],
        (r, n) => vec![r, n / r],
    };
    let numbers: Result<Vec<f64>, _> = flat.iter().map(|v| v.parse::<f64>()).collect();
    let values = match numbers {
        Ok(numbers) => Values::Real(numbers),
        Err(_) => Values::Text(flat.iter().map(|v| (*v).to_owned()).collect()),
    };
    let whole = matches!(&values, Values::Real(v) if v.iter().all(|x| x.fract() == 0.0));
    let source = "trial.csv".into();
    Array {
        name: name.trim().into(),
        shape,
        values,
        whole,
        source,
        missing: Vec::new(),
        note: None,
    }
}

/// Compares all blocks of `golden`, the text of `file`; with `FITZROY_UPDATE_GOLDEN` set, rewrites it.
fn check_messages(file: &str, golden: &str) {
    let mut actual = String::new();
    for block in golden.split("=== ").skip(1) {
        let (title, rest) = block.split_once('\n').expect("a title ends its line");
        let (input, _) = rest
            .split_once("\n---\n")
            .expect("each block has a message");
        let (text, data) = input.split_once("\nwith\n").unwrap_or((input, ""));
        let result = Model::parse(text).and_then(|model| {
            if input.contains("\nwith") {
                let mut set = Dataset::new();
                data.lines().for_each(|line| set.insert(array(line)));
                Joint::new(&model, model.bind(&set)?)?;
            }
            Ok(model)
        });
        let message = match result {
            Err(error) => error.to_string(),
            Ok(model) => format!("fine\n{}", model.warnings().join("\n")),
        };
        writeln!(
            actual,
            "=== {title}\n{input}\n---\n{}\n",
            message.trim_end()
        )
        .expect("writing to a String cannot fail");
    }
    let header = golden.split("=== ").next().unwrap_or("");
    let actual = format!("{header}{}\n", actual.trim_end());
    if actual != golden && std::env::var_os("FITZROY_UPDATE_GOLDEN").is_some() {
        let path = format!("{}/src/model/tests/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, &actual).expect("the golden file can be written");
        return;
    }
    if actual != golden {
        let pairs = actual.lines().zip(golden.lines());
        let first = pairs.enumerate().find(|(_, (a, g))| a != g);
        panic!("{file} differs, first at {first:?}; see FITZROY_UPDATE_GOLDEN");
    }
}

#[test]
fn the_language_says_line_column_and_what_was_expected() {
    check_messages("language_messages.txt", LANGUAGE);
}

#[test]
fn binding_says_variable_place_and_sizes() {
    check_messages("binding_messages.txt", BINDING);
}

#[test]
fn building_the_density_says_what_does_not_fit() {
    check_messages("joint_messages.txt", JOINT);
}
