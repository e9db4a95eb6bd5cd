//! Facts about distributions stand with their formulas: no list of their names stands elsewhere.

use super::{Finding, Source};
use std::collections::BTreeSet;

/// Where the formulas and the table of names are.
const HOME: &str = "src/dist/";
/// Lines that may lie between two names of a list.
const NEAR: usize = 3;
/// Names that make a list: two may be an example.
const LIST: usize = 3;

/// Looks through all files for lists of the names that the table in `src/dist/` has.
pub(crate) fn check(sources: &[Source], failures: &mut Vec<Finding>) {
    let names = names(sources);
    for source in sources {
        if source.path.starts_with(HOME) || source.is_test() {
            continue;
        }
        let n_lines = source.n_lines();
        let lines = source.text.lines().take(n_lines).enumerate();
        let named = lines.flat_map(|(line, text)| {
            let all = quoted(text).chain(variants(text));
            all.filter(|word| names.contains(*word))
                .map(move |word| (line, word))
        });
        let named: Vec<(usize, &str)> = named.collect();
        for list in named.chunk_by(|a, b| b.0 - a.0 <= NEAR) {
            let different: BTreeSet<&str> = list.iter().map(|(_, word)| *word).collect();
            if different.len() >= LIST {
                let message = "a list of distributions outside src/dist: make what they have in \
                               common an item of the distribution, and ask for it";
                failures.push(Finding::new(source, list[0].0 + 1, message));
            }
        }
    }
}

/// The names in the list of `src/dist/scalar.rs`, and those of the forms in it.
fn names(sources: &[Source]) -> BTreeSet<String> {
    let table = sources.iter().find(|s| s.path == "src/dist/scalar.rs");
    let text = table.map_or("", |s| s.text.as_str());
    let list = text.split("\nscalars! {").nth(1).unwrap_or_default();
    let list = list.split("\n}").next().unwrap_or_default();
    let words = list.split_whitespace();
    words
        .map(|word| word.trim_matches('"').to_string())
        .collect()
}

/// The texts in quotes on a line that is no comment.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let code = !line.trim_start().starts_with("//");
    let parts = line.split('"').skip(1).step_by(2);
    parts.filter(move |_| code)
}

/// The forms that stand as `Scalar::NAME` among alternatives.
fn variants(line: &str) -> impl Iterator<Item = &str> {
    // `Scalar::Normal => ...` says what one distribution does, and is no list.
    let code = !line.trim_start().starts_with("//") && !line.contains("=>");
    let found = line.split("Scalar::").skip(1);
    let name = |rest: &str| {
        rest.split(|c: char| !c.is_alphanumeric())
            .next()
            .map(str::len)
    };
    found
        .filter(move |_| code)
        .map(move |rest| &rest[..name(rest).unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "//! T.\nscalars! {\n    Normal \"Normal\"\n    Flat \"Flat\"\n    Cauchy \"Cauchy\"\n}\n";

    #[track_caller]
    fn found(path: &str, code: &str, n: usize) {
        let sources = [
            Source::new("src/dist/scalar.rs", TABLE),
            Source::new(path, &format!("//! A.\n{code}\n")),
        ];
        let mut failures = Vec::new();
        check(&sources, &mut failures);
        assert_eq!(failures.len(), n, "{code}");
    }

    #[test]
    fn lists_are_found_as_texts_and_as_alternatives() {
        found(
            "src/a.rs",
            "let all = [\n\"Normal\",\n\"Flat\",\n\"Cauchy\",\n];",
            1,
        );
        found(
            "src/a.rs",
            "matches!(s, Scalar::Normal | Scalar::Flat | Scalar::Cauchy)",
            1,
        );
        found(
            "src/a.rs",
            "matches!(s,\nScalar::Normal\n| Scalar::Flat\n| Scalar::Cauchy)",
            1,
        );
        found(
            "src/a.rs",
            "Scalar::Normal => 1,\nScalar::Flat => 2,\nScalar::Cauchy => 3,",
            0,
        );
        found("src/a.rs", "let name = \"Normal\"; // Flat, Cauchy", 0);
        found("src/dist/b.rs", "[\"Normal\", \"Flat\", \"Cauchy\"]", 0);
        found("src/tests.rs", "[\"Normal\", \"Flat\", \"Cauchy\"]", 0);
    }
}
