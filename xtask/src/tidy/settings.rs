//! A library names settings, and the face spells them: its messages hold no flag of the program.

use super::{Finding, Source};

/// Libraries whose messages every face shows. `crates/slurm` writes commands of the program.
const LIBRARIES: &[&str] = &[
    "src/",
    "crates/graph/src/",
    "crates/device/src/",
    "crates/curve-fit/src/",
    "crates/weather/src/",
    "crates/report/src/",
    "crates/stop-signal/src/",
    "crates/session/src/",
];

/// Files whose flags are those of other programs, or of the program in a command as a whole.
const OTHERS: &[&str] = &[
    "crates/device/src/gpu/compiler.rs",
    "crates/device/src/gpu/host.rs",
    "crates/device/src/gpu/trouble.rs",
];

/// Looks for flags in the texts of one library.
pub(crate) fn check(source: &Source, failures: &mut Vec<Finding>) {
    let library = LIBRARIES
        .iter()
        .any(|folder| source.path.starts_with(folder));
    if !library || source.is_test() || OTHERS.contains(&source.path.as_str()) {
        return;
    }
    let lines = source.text.lines().take(source.n_lines()).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim_start().starts_with("//")) {
        if let Some(flag) = flag(line) {
            let message = format!(
                "`{flag}` in a library: write the setting as `Spelling` says, and let faces spell it"
            );
            failures.push(Finding::new(source, index + 1, message));
        }
    }
}

/// The first flag on a line. A property of CSS, as `var(--ink)` or `"--ink"`, is none.
fn flag(line: &str) -> Option<&str> {
    let found = line.match_indices("--").find(|(at, _)| {
        let before = line[..*at].chars().next_back();
        let name = line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
        let css = line[..*at].ends_with("var(")
            || line[..*at].ends_with('"') && is_property(&line[at + 2..]);
        name && !css && before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
    });
    let (at, _) = found?;
    let rest = &line[at..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// Whether a text that began with two dashes is over after the name, or goes on with the number of
/// a series.
fn is_property(rest: &str) -> bool {
    let end = rest
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(rest.len());
    rest[end..].starts_with(['"', '{', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: &str) -> usize {
        let mut failures = Vec::new();
        check(&Source::new(path, code), &mut failures);
        failures.len()
    }

    #[test]
    fn flags_in_messages_of_libraries_are_found() {
        for (path, code, expected) in [
            ("src/a.rs", "let m = \"try --draws 4\";", 1),
            ("src/a.rs", "let m = \"--set {x}: no\";", 1),
            ("src/a.rs", "    (--p0, --multistart)\"", 1),
            ("src/a.rs", "// as --draws says", 0),
            ("src/a.rs", "let m = \"try ⟨draws 4⟩\";", 0),
            (
                "src/a.rs",
                "let c = \"var(--ink)\"; let d = (Ink::Paper, \"--paper\");",
                0,
            ),
            ("crates/cli/src/a.rs", "let m = \"try --draws 4\";", 0),
            ("crates/slurm/src/a.rs", "let m = \"--draws\";", 0),
        ] {
            assert_eq!(found(path, code), expected, "{code}");
        }
    }
}
