//! Markdown as the tests of the documentation see it: fenced blocks, and sections between markers
//! that are generated.
#![allow(dead_code)] // Each test program uses a part.

use std::path::{Path, PathBuf};

/// A fenced block.
pub(crate) struct Block {
    /// File and line of its first fence, for messages.
    pub(crate) place: String,
    /// What stands behind the fence: `fz`, `console`, ...
    pub(crate) info: String,
    /// The HTML comment right before it, without its marks; empty if there is none.
    pub(crate) note: String,
    /// Its lines.
    pub(crate) text: String,
    /// Where `text` stands in the file.
    pub(crate) start: usize,
}

impl Block {
    /// What follows `key:` in the note before the block, up to the end of its line.
    pub(crate) fn noted(&self, key: &str) -> Option<&str> {
        let after = |line: &'_ str| {
            line.trim()
                .strip_prefix(key)?
                .strip_prefix(':')
                .map(str::len)
        };
        let (line, length) = self
            .note
            .lines()
            .find_map(|line| Some((line.trim(), after(line)?)))?;
        Some(line[line.len() - length..].trim())
    }
}

/// Every fenced block of `text`, which is the file `name`.
pub(crate) fn blocks(name: &str, text: &str) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    let mut before = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let fence = line.starts_with("```");
        match open {
            None if fence => open = Some((i + 1, at)),
            Some((number, start)) if fence => {
                let first = start + text[start..].find('\n').expect("a fence ends its line") + 1;
                out.push(Block {
                    place: format!("{name}:{number}"),
                    info: text[start..first].trim().trim_start_matches('`').into(),
                    note: note_before(&text[before..start]),
                    text: text[first..at].into(),
                    start: first,
                });
                open = None;
                before = at + line.len();
            }
            _ => {}
        }
        at += line.len();
    }
    assert!(open.is_none(), "{name}: a fence is not closed");
    out
}

/// The comment at the end of `text`.
fn note_before(text: &str) -> String {
    let Some(text) = text.trim_end().strip_suffix("-->") else {
        return String::new();
    };
    let start = text.rfind("<!--").expect("a comment begins");
    text[start + 4..].trim().into()
}

/// `text` with what stands between the markers of section `name` replaced.
pub(crate) fn with_section(text: &str, name: &str, new: &str) -> String {
    let begin = format!("<!-- {name}:begin -->\n");
    let end = format!("<!-- {name}:end -->");
    let start = text.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    let stop = start
        + text[start..]
            .find(&end)
            .unwrap_or_else(|| panic!("no {end}"));
    format!("{}{new}{}", &text[..start], &text[stop..])
}

/// The root of the repository, above the package that is tested.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().find(|p| p.join("xtask").is_dir());
    found.expect("the package lies in the repository").into()
}

/// README.md and the files of docs/, with their text.
pub(crate) fn documents() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_string()];
    for entry in std::fs::read_dir(root().join("docs")).expect("docs/ is there") {
        let name = entry
            .expect("readable")
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    let read = |name: String| {
        let text = std::fs::read_to_string(root().join(&name)).expect("readable");
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// That the file `name` reads `wanted`; with `FITZROY_GENERATE=1` writes it instead.
#[track_caller]
pub(crate) fn hold(name: &str, wanted: &str) {
    let path = root().join(name);
    let present = std::fs::read_to_string(&path).expect("readable");
    if present == wanted {
        return;
    }
    if std::env::var_os("FITZROY_GENERATE").is_some_and(|v| v == "1") {
        std::fs::write(&path, wanted).expect("writable");
        return;
    }
    let pairs = present.lines().zip(wanted.lines()).enumerate();
    let different = pairs.filter(|(_, (a, b))| a != b).take(20);
    let shown: Vec<String> = different
        .map(|(i, (a, b))| format!("{name}:{}\n  has     {a}\n  should  {b}", i + 1))
        .collect();
    panic!(
        "{name} is not what the code gives; `cargo xtask gen` writes it anew\n{}",
        shown.join("\n")
    );
}
