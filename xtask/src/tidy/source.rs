//! Source files as the rules see them.

use super::blank::blank;
use std::fs;
use std::io;
use std::path::Path;

/// One `.rs` file.
pub(crate) struct Source {
    /// Path from the root, with forward slashes.
    pub(crate) path: String,
    /// The text as written.
    pub(crate) text: String,
    /// The text with comments, strings and test modules blanked; same lines.
    pub(crate) code: String,
}

impl Source {
    /// A source from its path and text.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Source {
            path: path.into(),
            text: text.into(),
            code: without_test_modules(&blank(text)),
        }
    }

    /// True for files that hold tests, benchmarks or examples only.
    pub(crate) fn is_test(&self) -> bool {
        let folder = |name: &str| {
            self.path.starts_with(&format!("{name}/")) || self.path.contains(&format!("/{name}/"))
        };
        folder("tests")
            || folder("benches")
            || folder("examples")
            || self.path.ends_with("/tests.rs")
    }

    /// True for the libraries, whose users must not see a print or a panic.
    pub(crate) fn is_library(&self) -> bool {
        [
            "src/",
            "crates/graph/src/",
            "crates/device/src/",
            "crates/weather/src/",
            "crates/report/src/",
        ]
        .iter()
        .any(|folder| self.path.starts_with(folder))
    }

    /// Number of lines outside test modules.
    pub(crate) fn n_lines(&self) -> usize {
        self.code.lines().count()
    }
}

/// Cuts `#[cfg(test)] mod name { ... }` from formatted, blanked text. Such modules stand last in
/// a file, so no line before them moves.
fn without_test_modules(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let start = lines.windows(2).position(|pair| {
        pair[0].trim_end() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].contains('{')
    });
    let kept = &lines[..start.unwrap_or(lines.len())];
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// Every `.rs` file under `root` but for build output and hidden folders, sorted by path.
pub(crate) fn collect(root: &Path) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    walk(root, "", &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn walk(folder: &Path, prefix: &str, sources: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && name != "target" {
                walk(&entry.path(), &format!("{path}/"), sources)?;
            }
        } else if name.ends_with(".rs") {
            sources.push(Source::new(&path, &fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_is_not_counted() {
        let text = "//! One.\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let source = Source::new("src/a.rs", text);
        assert_eq!(source.n_lines(), 2);
        assert!(!source.code.contains("fn b"));
    }

    #[test]
    fn a_sibling_test_file_is_a_test_and_its_declaration_stays() {
        let text = "//! One.\n#[cfg(test)]\nmod tests;\nfn a() {}\n";
        assert_eq!(Source::new("src/a/mod.rs", text).n_lines(), 4);
        assert!(Source::new("src/a/tests.rs", "").is_test());
        assert!(Source::new("crates/cli/tests/exit.rs", "").is_test());
        assert!(!Source::new("src/latests.rs", "").is_test());
    }
}
