//! Budgets of files and functions. Over budget means that an idea is missing: find it.

use super::{Finding, Source};
use std::collections::BTreeMap;

/// Lines of a file, tests apart, that call for a second look.
const FILE_LINES: usize = 400;
/// Lines of a file, tests apart, that fail.
const FILE_LINES_MAX: usize = 600;
/// Lines of a function, at most. There are no exceptions: what is longer holds a step, a table or a
/// thing that has a name of its own.
const FUNCTION_LINES_MAX: usize = 70;

/// Compares one file with the budgets.
pub(crate) fn check(source: &Source, failures: &mut Vec<Finding>, warnings: &mut Vec<Finding>) {
    if source.is_test() {
        return;
    }
    let n = source.n_lines();
    if n > FILE_LINES_MAX {
        let message = format!("{n} lines, at most {FILE_LINES_MAX}: split it by idea");
        failures.push(Finding::new(source, 1, message));
    } else if n > FILE_LINES {
        let message = format!("{n} lines, the budget is {FILE_LINES}");
        warnings.push(Finding::new(source, 1, message));
    }
    for (line, length) in long_functions(&source.code) {
        let message = format!(
            "a function of {length} lines, at most {FUNCTION_LINES_MAX}: name what it is made of"
        );
        failures.push(Finding::new(source, line, message));
    }
}

/// First line and length of every function over budget, in formatted code: a function ends at
/// the first closing brace indented as its first line.
fn long_functions(code: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        let is_function = body.starts_with("fn ") || body.contains(" fn ");
        if !is_function || body.ends_with(';') || body.ends_with('}') {
            continue;
        }
        let indent = line.len() - body.len();
        let end = lines[start..].iter().position(|other| {
            other.trim() == "}" && other.len() - other.trim_start().len() == indent
        });
        if let Some(length) = end.map(|n| n + 1).filter(|&n| n > FUNCTION_LINES_MAX) {
            found.push((start + 1, length));
        }
    }
    found
}

/// One line per part of the repository: lines of code and of tests.
pub(crate) fn sizes(sources: &[Source]) -> Vec<String> {
    let mut parts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for source in sources {
        let part = part(&source.path);
        let all = source.text.lines().count();
        let code = if source.is_test() {
            0
        } else {
            source.n_lines()
        };
        for name in [part, "total"] {
            let size = parts.entry(name).or_default();
            size.0 += code;
            size.1 += all - code;
        }
    }
    parts
        .iter()
        .map(|(part, (code, tests))| format!("{part:14} {code:6} lines, {tests:6} of tests"))
        .collect()
}

/// The part a file belongs to: `crates/NAME`, or its first folder.
fn part(path: &str) -> &str {
    let skip = if path.starts_with("crates/") {
        "crates/".len()
    } else {
        0
    };
    path[skip..].find('/').map_or("root", |n| &path[..skip + n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(n: usize) -> Source {
        Source::new("src/a.rs", &format!("//! A.\n{}", "\n".repeat(n - 1)))
    }

    #[test]
    fn a_file_over_budget_warns_and_a_huge_one_fails() {
        for (n, n_failures, n_warnings) in [(400, 0, 0), (401, 0, 1), (600, 0, 1), (601, 1, 0)] {
            let (mut failures, mut warnings) = (Vec::new(), Vec::new());
            check(&file_of(n), &mut failures, &mut warnings);
            assert_eq!(
                (failures.len(), warnings.len()),
                (n_failures, n_warnings),
                "{n}"
            );
        }
    }

    fn function_of(n: usize) -> String {
        let body = "        x();\n".repeat(n - 2);
        format!("impl A {{\n    fn long() {{\n{body}    }}\n    fn short() {{}}\n}}\n")
    }

    #[test]
    fn a_long_function_is_found_where_it_starts() {
        assert_eq!(long_functions(&function_of(71)), [(2, 71)]);
    }

    #[test]
    fn a_function_over_budget_fails_outside_of_tests() {
        for (path, n, n_failures) in [
            ("src/a.rs", 70, 0),
            ("src/a.rs", 71, 1),
            ("tests/a.rs", 71, 0),
        ] {
            let source = Source::new(path, &function_of(n));
            let (mut failures, mut warnings) = (Vec::new(), Vec::new());
            check(&source, &mut failures, &mut warnings);
            let found = (failures.len(), warnings.len());
            assert_eq!(found, (n_failures, 0), "{path}, {n} lines");
        }
    }

    #[test]
    fn parts_are_crates_or_first_folders() {
        assert_eq!(part("crates/cli/src/main.rs"), "crates/cli");
        assert_eq!(part("src/rng.rs"), "src");
        assert_eq!(part("build.rs"), "root");
    }
}
