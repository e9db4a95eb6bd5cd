//! The version stands in one line of `Cargo.toml`; the few files that must repeat it agree with it.

use super::Finding;
use std::io;
use std::path::Path;

/// A file that repeats a fact of `[workspace.package]`: the line that does holds these words around it.
struct Place {
    path: &'static str,
    fact: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn place(
    path: &'static str,
    fact: &'static str,
    before: &'static str,
    after: &'static str,
) -> Place {
    Place {
        path,
        fact,
        before,
        after,
    }
}

const VERSION: &str = "version";
const RUST: &str = "rust-version";

const PLACES: &[Place] = &[
    place("CITATION.cff", VERSION, "version: ", ""),
    place("CHANGELOG.md", VERSION, "## ", ""),
    place("packaging/conda/recipe.yaml", VERSION, "version: \"", "\""),
    place("docs/install.md", VERSION, "fitzroy_", "_amd64.deb"),
    place(
        "packaging/docker/Dockerfile",
        RUST,
        "FROM rust:",
        "-slim-bookworm",
    ),
    place(
        "packaging/apptainer/fitzroy.def",
        RUST,
        "From: rust:",
        "-slim-bookworm",
    ),
    place(".github/workflows/ci.yml", RUST, "cargo +", " check"),
    place("docs/install.md", RUST, "Rust ", " or newer"),
    place("README.md", RUST, "Rust ", " or newer"),
];

/// The version of the workspace, from the text of the manifest at its root.
pub(crate) fn of_workspace(manifest: &str) -> Option<&str> {
    fact(manifest, VERSION)
}

/// What `[workspace.package]` says.
fn fact<'a>(manifest: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = manifest.lines();
    lines.find(|line| *line == "[workspace.package]")?;
    let value = |line: &'a str| {
        line.strip_prefix(name)?
            .strip_prefix(" = \"")?
            .strip_suffix('"')
    };
    lines.find_map(value)
}

/// Compares what repeats the version with the manifest at the root.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn check(root: &Path, failures: &mut Vec<Finding>) -> io::Result<()> {
    let read = |path: &str| std::fs::read_to_string(root.join(path));
    let manifest = read("Cargo.toml")?;
    let Some(version) = of_workspace(&manifest) else {
        failures.push(finding("Cargo.toml", "[workspace.package] has no version"));
        return Ok(());
    };
    for line in stale_dependencies(&manifest, version) {
        failures.push(finding("Cargo.toml", &format!("{line}: not {version}")));
    }
    for place in PLACES {
        let value = fact(&manifest, place.fact).unwrap_or_default();
        if !repeats(&read(place.path)?, place, value) {
            let words = format!("{}{value}{}", place.before, place.after);
            let message = format!("no line has `{words}`, the {} of Cargo.toml", place.fact);
            failures.push(finding(place.path, &message));
        }
    }
    Ok(())
}

fn finding(path: &str, message: &str) -> Finding {
    Finding {
        place: path.into(),
        message: message.into(),
    }
}

/// Lines of `[workspace.dependencies]` that name another version of a crate of the workspace.
fn stale_dependencies<'a>(manifest: &'a str, version: &str) -> Vec<&'a str> {
    let named = format!("version = \"{version}\"");
    let own = |line: &&str| line.starts_with("fitzroy") && line.contains("version = ");
    let lines = manifest.lines().filter(own);
    lines.filter(|line| !line.contains(&named)).collect()
}

/// Whether the value stands in its place, and no digit follows.
fn repeats(text: &str, place: &Place, value: &str) -> bool {
    let words = format!("{}{value}{}", place.before, place.after);
    let mut found = text.match_indices(&words);
    found.any(|(at, _)| !text[at + words.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\n[workspace.package]\nversion = \"0.2.0\"\n\
        [workspace.dependencies]\nfitzroy = { path = \".\", version = \"0.2.0\" }\n\
        fitzroy-graph = { path = \"g\", version = \"0.1.0\" }\nfitzroy-ptx = { path = \"p\" }\n";

    #[test]
    fn a_dependency_of_an_earlier_version_is_found() {
        assert_eq!(of_workspace(MANIFEST), Some("0.2.0"));
        let stale = stale_dependencies(MANIFEST, "0.2.0");
        assert_eq!(stale.len(), 1);
        assert!(stale[0].starts_with("fitzroy-graph"));
    }

    #[test]
    fn a_longer_version_is_another_one() {
        let place = &PLACES[1];
        assert!(repeats("# A\n## 0.2.0 (2026-11-26)\n", place, "0.2.0"));
        assert!(!repeats("## 0.2.01\n## 10.2.0\n", place, "0.2.0"));
    }
}
