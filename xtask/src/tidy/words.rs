//! Words that must not stand in some places.

use super::{Finding, Source};

/// A word, where it must not stand, and what to do instead.
struct Rule {
    word: &'static str,
    applies: fn(&Source) -> bool,
    advice: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        word: "unsafe",
        applies: |s| !knows_c(s),
        advice: "`unsafe` belongs to crates/device, and to the driver made for tests",
    },
    Rule {
        word: "println!",
        applies: in_library,
        advice: PRINTS,
    },
    Rule {
        word: "print!",
        applies: in_library,
        advice: PRINTS,
    },
    Rule {
        word: "eprintln!",
        applies: in_library,
        advice: PRINTS,
    },
    Rule {
        word: "eprint!",
        applies: in_library,
        advice: PRINTS,
    },
    Rule {
        word: "dbg!",
        applies: |_| true,
        advice: "left over from debugging",
    },
    Rule {
        word: "todo!",
        applies: |_| true,
        advice: UNFINISHED,
    },
    Rule {
        word: "unimplemented!",
        applies: |_| true,
        advice: UNFINISHED,
    },
    Rule {
        word: "unwrap()",
        applies: |s| !s.is_test(),
        advice: "say why it holds: `expect(\"...\")`, or return an error",
    },
    Rule {
        word: "Instant",
        applies: in_library,
        advice: CLOCK,
    },
    Rule {
        word: "SystemTime",
        applies: in_library,
        advice: CLOCK,
    },
    Rule {
        word: "env::var",
        applies: in_library,
        advice: "the library reads no environment: take an argument",
    },
];

const PRINTS: &str = "libraries do not print: report to an observer or return a value";
const UNFINISHED: &str = "finish it, or return an error that says what is not there yet";
const CLOCK: &str = "the library reads no clock: take an argument";

fn in_library(source: &Source) -> bool {
    source.is_library() && !source.is_test()
}

/// Whether a file is where functions of C are called, or made for others to call.
fn knows_c(source: &Source) -> bool {
    let homes = ["crates/device/", "crates/ptx/src/driver/"];
    homes.iter().any(|home| source.path.starts_with(home))
}

/// Names of the GPU interface, which only `device` may know. Comments are free, and so are the
/// texts of the program, where a user has to read them.
const GPU_NAMES: &[&str] = &["cuda", "nvrtc", "cubin", "nvidia"];

/// Looks for forbidden words in one file.
pub(crate) fn check(source: &Source, failures: &mut Vec<Finding>) {
    if !source.text.starts_with("//!") {
        let message = "the first line must be `//! ...`, the one job of the file";
        failures.push(Finding::new(source, 1, message));
    }
    for (index, line) in source.code.lines().enumerate() {
        for rule in RULES.iter().filter(|rule| (rule.applies)(source)) {
            if has_word(line, rule.word) {
                let message = format!("`{}`: {}", rule.word, rule.advice);
                failures.push(Finding::new(source, index + 1, message));
            }
        }
        let lower = line.to_lowercase();
        let outside = !knows_c(source) && !source.is_test();
        if let Some(name) = GPU_NAMES.iter().find(|&&n| outside && lower.contains(n)) {
            let message = format!("`{name}` in code outside crates/device");
            failures.push(Finding::new(source, index + 1, message));
        }
    }
}

/// True when `word` stands in `line`, not as a part of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let ends_in_name = word.ends_with(is_name);
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !(before.is_some_and(is_name) || ends_in_name && after.is_some_and(is_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(path: &str, code: &str, expected: &[&str]) {
        let mut failures = Vec::new();
        check(
            &Source::new(path, &format!("//! A.\n{code}\n")),
            &mut failures,
        );
        let found: Vec<&str> = failures
            .iter()
            .map(|f| f.message.split('`').nth(1).unwrap())
            .collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn forbidden_words_are_found_in_code_alone() {
        check_words("src/a.rs", "fn f() { println!(); }", &["println!"]);
        check_words("src/a.rs", "fn f() { x.unwrap() }", &["unwrap()"]);
        check_words("src/a.rs", "// unsafe println! todo!", &[]);
        check_words("src/a.rs", "#![forbid(unsafe_code)]", &[]);
        check_words("src/a.rs", "fn f() { x.unwrap_or(1) }", &[]);
        check_words("src/a.rs", "use std::time::Instant;", &["Instant"]);
    }

    #[test]
    fn places_have_their_own_rules() {
        check_words("crates/cli/src/a.rs", "fn f() { println!() }", &[]);
        check_words("crates/cli/src/a.rs", "unsafe { f() }", &["unsafe"]);
        check_words("crates/device/src/a.rs", "unsafe { f() }", &[]);
        check_words("src/a/tests.rs", "fn f() { x.unwrap() }", &[]);
        check_words("src/a.rs", "fn cuda_run() {}", &["cuda"]);
        check_words("crates/device/src/cuda/a.rs", "fn cuda_run() {}", &[]);
    }

    #[test]
    fn a_file_without_its_first_line_is_named() {
        let mut failures = Vec::new();
        check(&Source::new("src/a.rs", "use a;\n"), &mut failures);
        assert_eq!(failures[0].place, "src/a.rs:1");
    }
}
