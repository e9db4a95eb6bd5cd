//! A YAML document, asked by dotted keys.

use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;
use yaml_rust2::{Yaml, YamlLoader};

/// A document whose keys are written `data.columns.x`.
pub(super) struct Document(Yaml);

/// A number as YAML and Python write it.
fn number(value: &Yaml) -> Option<f64> {
    match value {
        Yaml::Integer(i) => Some(*i as f64),
        Yaml::Real(text) | Yaml::String(text) => {
            let plain = text.replace('_', "").replacen(".inf", "inf", 1);
            plain.parse().ok().filter(|x: &f64| !x.is_nan())
        }
        _ => None,
    }
}

fn text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(i) => Some(i.to_string()),
        _ => None,
    }
}

impl Document {
    /// Reads a file with one document.
    ///
    /// # Errors
    /// It cannot be read, is no YAML, or holds no keys.
    pub(super) fn read(path: &Path) -> Result<Document> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::new(ErrorKind::Io, format!("it cannot be read: {e}")))?;
        let all =
            YamlLoader::load_from_str(&text).map_err(|e| Error::usage(format!("no YAML: {e}")))?;
        match all.into_iter().next() {
            Some(found @ Yaml::Hash(_)) => Ok(Document(found)),
            _ => Err(Error::usage(
                "it holds no keys; NLSQ's layout begins with `data:` and `model:`",
            )),
        }
    }

    /// What stands at a key; none where it is absent or null.
    fn at(&self, key: &str) -> Option<&Yaml> {
        let mut here = &self.0;
        for part in key.split('.') {
            here = match (here, part.parse::<usize>()) {
                (Yaml::Array(items), Ok(at)) => items.get(at)?,
                _ => &here[part],
            };
        }
        (!matches!(here, Yaml::BadValue | Yaml::Null)).then_some(here)
    }

    pub(super) fn is_map(&self, key: &str) -> bool {
        matches!(self.at(key), Some(Yaml::Hash(_)))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>> {
        let Some(value) = self.at(key) else {
            return Ok(None);
        };
        let found =
            text(value).ok_or_else(|| Error::usage(format!("{key}: needs a name or a number")));
        found.map(Some)
    }

    /// A text that must be there.
    pub(super) fn needed(&self, key: &str) -> Result<String> {
        let found = self.text(key)?;
        found.ok_or_else(|| Error::usage(format!("{key} is missing; set it in the workflow")))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>> {
        let all = match self.at(key) {
            None => return Ok(None),
            Some(Yaml::Array(items)) => items.iter().map(text).collect(),
            Some(one) => text(one).map(|t| vec![t]),
        };
        all.map(Some)
            .ok_or_else(|| Error::usage(format!("{key}: needs a list of names")))
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.at(key) else {
            return Ok(None);
        };
        let found = number(value).ok_or_else(|| Error::usage(format!("{key}: needs a number")));
        found.map(Some)
    }

    /// A list of numbers, or one number `n` times; none for `auto` and for names with numbers.
    pub(super) fn numbers(&self, key: &str, n: usize) -> Result<Option<Vec<f64>>> {
        let all = match self.at(key) {
            None | Some(Yaml::Hash(_)) => return Ok(None),
            Some(Yaml::String(text)) if text == "auto" => return Ok(None),
            Some(Yaml::Array(items)) => items.iter().map(number).collect(),
            Some(one) => number(one).map(|x| vec![x; n]),
        };
        all.map(Some)
            .ok_or_else(|| Error::usage(format!("{key}: needs a list of numbers")))
    }

    /// Names with numbers; none where something else stands there.
    pub(super) fn pairs(&self, key: &str) -> Result<Option<Vec<(String, f64)>>> {
        let Some(Yaml::Hash(map)) = self.at(key) else {
            return Ok(None);
        };
        let pair = |(name, value): (&Yaml, &Yaml)| Some((text(name)?, number(value)?));
        let all: Option<Vec<_>> = map.iter().map(pair).collect();
        all.map(Some)
            .ok_or_else(|| Error::usage(format!("{key}: needs names with numbers")))
    }

    pub(super) fn truth(&self, key: &str, usual: bool) -> Result<bool> {
        match self.at(key) {
            None => Ok(usual),
            Some(Yaml::Boolean(value)) => Ok(*value),
            Some(_) => Err(Error::usage(format!("{key}: is true or false"))),
        }
    }

    /// Keys that are none of `known`, where `*` at the end stands for all below.
    pub(super) fn others(&self, known: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        walk(&self.0, "", known, &mut out);
        out
    }
}

fn walk(value: &Yaml, before: &str, known: &[&str], out: &mut Vec<String>) {
    let Yaml::Hash(map) = value else {
        return;
    };
    for (name, value) in map {
        let name = text(name).unwrap_or_default();
        let key = match before {
            "" => name,
            _ => format!("{before}.{name}"),
        };
        let below = |k: &&str| {
            k.strip_suffix('*')
                .is_some_and(|k| k.trim_end_matches('.') == key)
        };
        if known.iter().any(|k| *k == key) || known.iter().any(below) {
            continue;
        }
        let leads = known.iter().any(|k| k.starts_with(&format!("{key}.")));
        match (leads, value) {
            (true, Yaml::Hash(_)) => walk(value, &key, known, out),
            _ => out.push(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document(YamlLoader::load_from_str(text).expect("YAML").remove(0))
    }

    #[test]
    fn keys_give_numbers_lists_and_nothing_where_null_stands() {
        let d = document("a:\n  x: 1e-8\n  y: [1, .inf, -.inf, -inf, 2.5]\n  z: null\n  w: auto\n");
        assert_eq!(d.number("a.x").expect("a number"), Some(1e-8));
        let y = d.numbers("a.y", 5).expect("numbers").expect("there");
        let inf = f64::INFINITY;
        assert_eq!(y, [1.0, inf, -inf, -inf, 2.5]);
        assert_eq!(d.number("a.y.4").expect("a number"), Some(2.5));
        assert_eq!(d.text("a.z").expect("nothing"), None);
        assert_eq!(d.numbers("a.w", 2).expect("nothing"), None);
        assert!(d.number("a.w").is_err());
    }

    #[test]
    fn keys_that_nobody_reads_are_named_whole() {
        let d = document("a:\n  x: 1\n  u: 2\nb:\n  c: {d: 1}\nq: 3\n");
        assert_eq!(d.others(&["a.x", "b.*"]), ["a.u", "q"]);
    }
}
