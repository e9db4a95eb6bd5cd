//! The crates of others that are part of the program, as cargo tells them.

use super::process::{output, run};
use super::{Release, Result, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// A crate that the program links.
pub(super) struct Linked {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) license: String,
    pub(super) description: String,
    /// SHA-256 of the archive it came in; none for crates of this repository.
    pub(super) checksum: Option<String>,
    /// Where its source lies.
    pub(super) folder: PathBuf,
    /// The crates it links itself, by [`Linked::key`].
    pub(super) uses: Vec<String>,
}

impl Linked {
    /// Its package URL, which is its name in an SBOM.
    pub(super) fn key(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    /// Whether it is part of this repository.
    pub(super) fn is_own(&self) -> bool {
        self.checksum.is_none()
    }
}

/// Packages every crate that is published, as `cargo publish` would, but does not build it again.
pub(super) fn package(release: &Release) -> Result<String> {
    let facts = metadata(release, &["--no-deps"])?;
    let kept_back = |p: &&Value| p["publish"].is_array();
    let (kept_back, published): (Vec<_>, Vec<_>) = list(&facts["packages"]).partition(kept_back);
    let mut cargo = Command::new("cargo");
    cargo.args([
        "package",
        "--workspace",
        "--no-verify",
        "--locked",
        "--quiet",
    ]);
    for package in kept_back {
        cargo.args(["--exclude", text(&package["name"])]);
    }
    cargo.current_dir(&release.root);
    run(cargo)?;
    Ok(format!(
        "{} crates can be packaged for publishing",
        published.len()
    ))
}

/// What cargo knows of the workspace.
fn metadata(release: &Release, more: &[&str]) -> Result<Value> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(more).current_dir(&release.root);
    serde_json::from_str(&output(cargo)?).map_err(|e| e.to_string())
}

/// What the program links on 64-bit Linux, by name; build scripts and tests are no part of it.
pub(super) fn linked(release: &Release) -> Result<Vec<Linked>> {
    let facts = metadata(release, &["--filter-platform", "x86_64-unknown-linux-gnu"])?;
    let lock = read(&release.root.join("Cargo.lock"))?;
    let all = list(&facts["packages"]);
    let packages: BTreeMap<&str, &Value> = all.map(|p| (text(&p["id"]), p)).collect();
    let nodes = list(&facts["resolve"]["nodes"]);
    let uses: BTreeMap<&str, Vec<&str>> = nodes.map(|n| (text(&n["id"]), normal(n))).collect();
    let mut found: Vec<Linked> = reachable(&packages, &uses)?
        .into_iter()
        .map(|id| {
            let package = packages[id];
            let below = uses[id].iter().filter(|u| !is_macro(packages[*u]));
            let mut below: Vec<String> = below.map(|u| key(packages[u])).collect();
            below.sort();
            described(package, below, &lock)
        })
        .collect();
    found.sort_by_key(Linked::key);
    Ok(found)
}

/// The program's package and everything it links.
fn reachable<'a>(
    packages: &BTreeMap<&'a str, &Value>,
    uses: &BTreeMap<&'a str, Vec<&'a str>>,
) -> Result<BTreeSet<&'a str>> {
    let mut programs = packages.iter().filter(|(_, p)| p["name"] == "fitzroy-cli");
    let program = programs.next().ok_or("there is no crate fitzroy-cli")?.0;
    let (mut found, mut waiting) = (BTreeSet::new(), vec![*program]);
    while let Some(id) = waiting.pop() {
        // A procedural macro runs in the compiler.
        if !is_macro(packages[id]) && found.insert(id) {
            waiting.extend(uses[id].iter().copied());
        }
    }
    Ok(found)
}

fn is_macro(package: &Value) -> bool {
    let mut kinds = list(&package["targets"]).flat_map(|target| list(&target["kind"]));
    kinds.any(|kind| kind == "proc-macro")
}

/// The dependencies of a node that are linked.
fn normal(node: &Value) -> Vec<&str> {
    let is_normal = |d: &&Value| list(&d["dep_kinds"]).any(|kind| kind["kind"].is_null());
    let dependencies = list(&node["deps"]).filter(is_normal);
    dependencies.map(|d| text(&d["pkg"])).collect()
}

fn key(package: &Value) -> String {
    format!(
        "pkg:cargo/{}@{}",
        text(&package["name"]),
        text(&package["version"])
    )
}

fn described(package: &Value, uses: Vec<String>, lock: &str) -> Linked {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    Linked {
        name: name.into(),
        version: version.into(),
        // An older way of writing OR.
        license: text(&package["license"])
            .replace('/', " OR ")
            .replace("  ", " "),
        description: text(&package["description"]).trim().into(),
        checksum: checksum(lock, name, version),
        folder: manifest.parent().expect("it lies in a folder").into(),
        uses,
    }
}

/// The checksum that the lock file has for a crate.
fn checksum(lock: &str, name: &str, version: &str) -> Option<String> {
    let head = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let entry = lock.split("[[package]]\n").find(|e| e.starts_with(&head))?;
    let line = entry
        .lines()
        .find_map(|l| l.strip_prefix("checksum = \""))?;
    Some(line.trim_end_matches('"').into())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_belongs_to_a_name_and_a_version() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12\"\n\n\
            [[package]]\nname = \"a\"\nversion = \"2.0.0\"\nchecksum = \"34\"\n\n\
            [[package]]\nname = \"own\"\nversion = \"2.0.0\"\n";
        assert_eq!(checksum(lock, "a", "2.0.0").as_deref(), Some("34"));
        assert_eq!(checksum(lock, "own", "2.0.0"), None);
    }

    #[test]
    fn dependencies_of_tests_and_of_build_scripts_are_not_linked() {
        let node = serde_json::json!({"deps": [
            {"pkg": "a", "dep_kinds": [{"kind": null}]},
            {"pkg": "b", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]},
        ]});
        assert_eq!(normal(&node), ["a"]);
    }
}
