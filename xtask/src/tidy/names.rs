//! Names are nouns: no type and no placeholder of a flag is called by a question.

use super::{Finding, Source};

/// Question words, and `Desk`, which says less than workspace.
const REFUSED: &[&str] = &[
    "How", "Whose", "When", "What", "Where", "Which", "Who", "Why", "Desk",
];

/// What stands before the name of a type.
const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Looks for such names in one file.
pub(crate) fn check(source: &Source, failures: &mut Vec<Finding>) {
    let code = source.code.lines().enumerate();
    for (index, name) in code.filter_map(|(index, line)| Some((index, type_name(line)?))) {
        if REFUSED.contains(&name) {
            let message = format!("type `{name}`: a type is called by a noun of its field");
            failures.push(Finding::new(source, index + 1, message));
        }
    }
    // Placeholders stand in strings, which are blank in the code.
    let text = source.text.lines().take(source.n_lines()).enumerate();
    for (index, name) in text.filter_map(|(index, line)| Some((index, placeholder(line)?))) {
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        let refused = |word: &str| REFUSED.iter().any(|r| r.eq_ignore_ascii_case(word));
        if words.any(refused) {
            let message = format!(
                "placeholder `{name}`: say what is given by a noun, as MODE, KIND or SECONDS"
            );
            failures.push(Finding::new(source, index + 1, message));
        }
    }
}

/// The type that a line of code declares.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.find(|word| KEYWORDS.contains(word))?;
    words.next()
}

/// What a line of code calls the value of a flag.
fn placeholder(line: &str) -> Option<&str> {
    if line.trim_start().starts_with("//") {
        return None;
    }
    let (_, name) = line.split_once("value_name = \"")?;
    Some(name.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(code: &str, expected: &[&str]) {
        let mut failures = Vec::new();
        let source = Source::new("crates/cli/src/a.rs", &format!("//! A.\n{code}\n"));
        check(&source, &mut failures);
        let names = failures.iter().map(|f| f.message.split('`').nth(1));
        let found: Vec<&str> = names.map(|name| name.unwrap()).collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn types_that_are_called_by_a_question_are_refused() {
        check_names("pub(super) struct How<'a> {", &["How"]);
        check_names("enum What {", &["What"]);
        check_names("type When = u64;", &["When"]);
        check_names("pub struct Desk(Vec<f64>);", &["Desk"]);
        check_names("struct Whole;\nenum Whatever {}\nuse a::How;", &[]);
        check_names("/// enum When {\nconst TEXT: &str = \"struct How\";", &[]);
    }

    #[test]
    fn placeholders_that_are_questions_are_refused() {
        check_names("#[arg(long, value_name = \"HOW\")]", &["HOW"]);
        check_names("    value_name = \"NAME=WHAT,...\"", &["NAME=WHAT,..."]);
        check_names("#[arg(long, value_name = \"SHOW|N\")]", &[]);
        check_names("// value_name = \"HOW\"", &[]);
    }
}
