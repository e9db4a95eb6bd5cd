//! The reference of distributions, from the table of the code and the comments at the formulas.

use super::markdown::root;
use fitzroy::dist::{Entry, Form, entries};
use std::collections::HashMap;
use std::fmt::Write;

/// The generated part of docs/distributions.md.
pub(crate) fn reference() -> String {
    let comments = Comments::read();
    let entries = entries();
    let mut out = String::from("| distribution | values | `truncated` |\n|---|---|---|\n");
    for entry in &entries {
        let form = entry.forms[0];
        let truncated = if form.can_be_truncated() { "yes" } else { "" };
        let _ = writeln!(
            out,
            "| [`{}`](#{}) | {} | {truncated} |",
            form.usage(false),
            entry.name.to_lowercase(),
            form.support_in_words()
        );
    }
    for entry in &entries {
        let _ = write!(out, "\n### {}\n\n", entry.name);
        let usages: Vec<String> = entry.usages().iter().map(|u| format!("`{u}`")).collect();
        let values = entry.forms[0].support_in_words();
        let _ = writeln!(out, "{}  \nValues: {values}", usages.join(" or "));
        for paragraph in comments.of(entry) {
            let _ = write!(out, "\n{paragraph}\n");
        }
    }
    out
}

/// The comments at the formulas of `src/dist/`, by the name of what they describe.
struct Comments {
    by_item: HashMap<String, String>,
    /// The item that describes each structured distribution.
    item_of: HashMap<String, String>,
}

impl Comments {
    fn read() -> Self {
        let mut by_item = HashMap::new();
        let mut item_of = HashMap::new();
        for file in std::fs::read_dir(root().join("src/dist")).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue; // A folder.
            };
            let structured = path.file_stem().is_some_and(|name| name == "structured");
            let mut comment: Vec<String> = Vec::new();
            for line in text.lines() {
                let line = line.trim_start();
                if line.starts_with("#[") {
                    continue;
                }
                if let Some(rest) = line.strip_prefix("///") {
                    comment.push(rest.strip_prefix(' ').unwrap_or(rest).into());
                    continue;
                }
                let whole = std::mem::take(&mut comment).join("\n");
                if structured && let Some(variant) = line.strip_suffix(',') {
                    if let Some(item) = whole
                        .replace("(fn@super::", "(super::")
                        .split("(super::")
                        .nth(1)
                    {
                        let item = item.split(')').next().unwrap();
                        item_of.insert(variant.into(), item.rsplit("::").next().unwrap().into());
                    }
                } else if let Some(item) = item(line) {
                    by_item.entry(item).or_insert(whole);
                }
            }
        }
        Comments { by_item, item_of }
    }

    /// The paragraphs about a distribution: of its first form, and of others that have a formula.
    fn of(&self, entry: &Entry) -> Vec<String> {
        let mut out = Vec::new();
        for (k, form) in entry.forms.iter().enumerate() {
            let item = match form {
                Form::Scalar(scalar) => format!("{scalar:?}"),
                Form::Structured(structured) => self.item_of[&format!("{structured:?}")].clone(),
            };
            let found = self.by_item.get(&item).filter(|text| !text.is_empty());
            match found {
                Some(text) => out.extend(paragraphs(text)),
                // Other parameterisations of one formula are described with it.
                None => assert!(k > 0, "{item} has no comment"),
            }
        }
        out
    }
}

/// The name of the item that a line declares.
fn item(line: &str) -> Option<String> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest
        .strip_prefix("struct ")
        .or_else(|| rest.strip_prefix("fn "))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    Some(rest[..end].into())
}

/// Paragraphs on one line each, without what only programmers need.
fn paragraphs(comment: &str) -> Vec<String> {
    let end = comment.find("\n# ").unwrap_or(comment.len());
    let plain = comment[..end].replace("[`", "`").replace("`]", "`");
    let all = plain
        .split("\n\n")
        .map(|p| p.replace('\n', " ").trim().to_string());
    all.filter(|p| !p.is_empty()).collect()
}
