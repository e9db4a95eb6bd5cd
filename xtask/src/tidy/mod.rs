//! The house rules that no compiler checks. `cargo xtask tidy` prints them; a test holds them.

mod blank;
mod budget;
mod distributions;
mod imports;
mod names;
mod settings;
mod source;
pub(crate) mod versions;
mod words;

use source::Source;
use std::path::Path;

/// A rule that a file breaks: where, and what to do.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    /// Path from the root, and the line where there is one.
    place: String,
    /// What is wrong and how to mend it.
    message: String,
}

impl Finding {
    fn new(source: &Source, line: usize, message: impl Into<String>) -> Self {
        Finding {
            place: format!("{}:{line}", source.path),
            message: message.into(),
        }
    }
}

/// What a walk over the repository found.
pub(crate) struct Report {
    /// Broken rules: CI fails.
    pub(crate) failures: Vec<Finding>,
    /// Over budget, but not by much.
    pub(crate) warnings: Vec<Finding>,
    /// One line per part with its size.
    pub(crate) sizes: Vec<String>,
}

/// Applies every rule to the repository at `root`.
pub(crate) fn inspect(root: &Path) -> std::io::Result<Report> {
    let sources = source::collect(root)?;
    let mut failures = Vec::new();
    let mut warnings = Vec::new();
    for source in &sources {
        words::check(source, &mut failures);
        imports::check(source, &mut failures);
        names::check(source, &mut failures);
        settings::check(source, &mut failures);
        budget::check(source, &mut failures, &mut warnings);
    }
    distributions::check(&sources, &mut failures);
    imports::check_manifests(root, &mut failures)?;
    versions::check(root, &mut failures)?;
    Ok(Report {
        failures,
        warnings,
        sizes: budget::sizes(&sources),
    })
}

/// Prints the report; true when no rule is broken.
pub(crate) fn run(root: &Path) -> bool {
    println!("==> tidy");
    let report = match inspect(root) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("tidy could not read the repository: {error}");
            return false;
        }
    };
    for size in &report.sizes {
        println!("{size}");
    }
    for Finding { place, message } in &report.warnings {
        println!("warning  {place}  {message}");
    }
    for Finding { place, message } in &report.failures {
        println!("FAIL     {place}  {message}");
    }
    report.failures.is_empty()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let report = super::inspect(&crate::root()).unwrap();
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        assert!(!report.sizes.is_empty(), "no source file was found");
    }
}
