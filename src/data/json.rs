//! JSON data as CmdStan and posteriordb write them: an object of numbers and nested lists.

use serde_json::Value;

use super::read::none_called;
use super::{Array, Values};
use crate::{Error, Result};

/// One array per name of the top-level object.
pub(super) fn read(bytes: &[u8], source: &str) -> Result<Vec<Array>> {
    match parse(bytes)? {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| array(name, value, source))
            .collect(),
        other => Err(Error::data(format!(
            "the top level is {}, not an object; write {{\"NAME\": ...}}, or bind the file by \
             NAME=FILE",
            kind_of(&other)
        ))),
    }
}

/// The single array of a file: a bare list or number, the member `name`, or the only member.
pub(super) fn read_one(bytes: &[u8], name: &str, source: &str) -> Result<Array> {
    match parse(bytes)? {
        Value::Object(members) => {
            let only = members.values().next().filter(|_| members.len() == 1);
            match members.get(name).or(only) {
                Some(value) => array(name, value, source),
                None => Err(none_called(name, members.keys().map(String::as_str))),
            }
        }
        value => array(name, &value, source),
    }
}

/// An array from text on the command line: a number, a boolean or a list of them.
pub(super) fn read_value(text: &str, name: &str, source: &str) -> Result<Array> {
    if let Ok(number) = text.parse::<f64>() {
        let mut array = Array::real(name, &[], vec![number], source);
        array.whole = text.parse::<i64>().is_ok();
        return Ok(array);
    }
    let not_a_value = || {
        Error::data(format!(
            "`{text}` is neither a number nor a list like [1, 2, 3]"
        ))
    };
    let value: Value = serde_json::from_str(text).map_err(|_| not_a_value())?;
    match value {
        Value::Object(_) | Value::Null => Err(not_a_value()),
        value => array(name, &value, source),
    }
}

fn parse(bytes: &[u8]) -> Result<Value> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        let at = token_at(bytes, error.line(), error.column());
        let hint = match at.trim_start_matches('-') {
            t if t.starts_with("NaN") || t.starts_with("Inf") => {
                "; JSON has no bare NaN or Infinity: write null, \"NaN\" or \"Infinity\""
            }
            _ if error.is_eof() => "; the file seems cut short",
            _ => "",
        };
        Error::data(format!("not valid JSON: {error}{hint}"))
    })
}

/// The text that begins at a line and column, both from 1, or just before it.
fn token_at(bytes: &[u8], line: usize, column: usize) -> String {
    let text = bytes
        .split(|&b| b == b'\n')
        .nth(line.saturating_sub(1))
        .unwrap_or_default();
    let letter = |b: &u8| b.is_ascii_alphabetic() || *b == b'-';
    let mut start = column.saturating_sub(1).min(text.len());
    while start > 0 && letter(&text[start - 1]) {
        start -= 1;
    }
    String::from_utf8_lossy(&text[start..])
        .chars()
        .take(10)
        .collect()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Elements of one array while it is being flattened.
struct Flat<'a> {
    name: &'a str,
    shape: Vec<usize>,
    leaves: Vec<&'a Value>,
}

impl<'a> Flat<'a> {
    /// Descends along `value`, whose position from the root is `at`.
    fn collect(&mut self, value: &'a Value, at: &mut Vec<usize>) -> Result<()> {
        match value {
            Value::Array(items) => {
                if at.len() >= self.shape.len() || items.len() != self.shape[at.len()] {
                    return Err(self.ragged(value, at));
                }
                for (i, item) in items.iter().enumerate() {
                    at.push(i);
                    self.collect(item, at)?;
                    at.pop();
                }
                Ok(())
            }
            Value::Object(_) => Err(Error::data(format!(
                "`{}` is an object; only numbers, booleans, text and nested lists are read",
                place(self.name, at)
            ))),
            leaf if at.len() == self.shape.len() => {
                self.leaves.push(leaf);
                Ok(())
            }
            _ => Err(self.ragged(value, at)),
        }
    }

    fn ragged(&self, value: &Value, at: &[usize]) -> Error {
        let got = match value {
            Value::Array(items) => format!("a list of {}", items.len()),
            other => kind_of(other).to_string(),
        };
        let needed = match self.shape.get(at.len()) {
            Some(n) => format!("a list of {n}"),
            None => "a single element".to_string(),
        };
        let first = place(self.name, &vec![0; at.len()]);
        Error::data(format!(
            "`{}` is {got}, but `{first}` is {needed}; all rows must have the same shape \
             (positions count from 0)",
            place(self.name, at)
        ))
    }
}

/// `name[2][0]`.
fn place(name: &str, at: &[usize]) -> String {
    let brackets: String = at.iter().map(|i| format!("[{i}]")).collect();
    format!("{name}{brackets}")
}

fn array(name: &str, value: &Value, source: &str) -> Result<Array> {
    let mut shape = Vec::new();
    let mut first = Some(value);
    while let Some(Value::Array(items)) = first {
        shape.push(items.len());
        first = items.first();
    }
    let mut flat = Flat {
        name,
        shape,
        leaves: Vec::new(),
    };
    flat.collect(value, &mut Vec::new())?;
    let Flat { shape, leaves, .. } = flat;

    let numeric = |v: &Value| !matches!(v, Value::String(s) if special_number(s).is_none());
    let mut array = Array::real(name, &shape, Vec::new(), source);
    array.missing = positions(&leaves, |v| v.is_null());
    if let Some(odd) = leaves.iter().position(|v| !numeric(v)) {
        array.whole = false;
        array.values = Values::Text(leaves.iter().map(|v| label(v)).collect());
        if leaves.iter().any(|v| v.is_number()) {
            array.note = Some(format!(
                "{}: `{}`",
                place("", &unravel(odd, &shape)),
                label(leaves[odd])
            ));
        }
        return Ok(array);
    }
    array.whole = leaves
        .iter()
        .all(|v| v.is_i64() || v.is_u64() || v.is_boolean());
    array.values = Values::Real(leaves.iter().map(|v| number(v)).collect());
    Ok(array)
}

fn positions(leaves: &[&Value], test: impl Fn(&Value) -> bool) -> Vec<usize> {
    let hits = leaves.iter().enumerate().filter(|(_, v)| test(v));
    hits.map(|(i, _)| i).collect()
}

/// Position along each axis of a flat row-major position.
fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (slot, &n) in at.iter_mut().zip(shape).rev() {
        *slot = flat % n;
        flat /= n;
    }
    at
}

/// The spellings CmdStan accepts, as text, for what JSON numbers cannot say.
fn special_number(text: &str) -> Option<f64> {
    match text {
        "NaN" | "nan" => Some(f64::NAN),
        "Inf" | "+Inf" | "Infinity" | "+Infinity" | "inf" => Some(f64::INFINITY),
        "-Inf" | "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::String(s) => special_number(s).unwrap_or(f64::NAN),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}

fn label(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
