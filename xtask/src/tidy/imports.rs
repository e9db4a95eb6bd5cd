//! Who may import whom. This table is the picture in ARCHITECTURE.md; they change together.

use super::{Finding, Source};
use std::fs;
use std::io;
use std::path::Path;

/// Crates and the crates of ours they may depend on: graph <- device <- library <- program.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/graph", &[]),
    ("crates/device", &["fitzroy-graph"]),
    (".", &["fitzroy-graph", "fitzroy-device"]),
    (
        "crates/curve-fit",
        &[
            "fitzroy",
            "fitzroy-device",
            "fitzroy-graph",
            "fitzroy-report",
        ],
    ),
    (
        "crates/weather",
        &["fitzroy", "fitzroy-device", "fitzroy-report"],
    ),
    ("crates/report", &["fitzroy"]),
    ("crates/slurm", &["fitzroy-graph"]),
    (
        "crates/stop-signal",
        &[
            "fitzroy",
            "fitzroy-device",
            "fitzroy-graph",
            "fitzroy-report",
        ],
    ),
    (
        "crates/session",
        &[
            "fitzroy",
            "fitzroy-curve-fit",
            "fitzroy-device",
            "fitzroy-report",
            "fitzroy-stop-signal",
            "fitzroy-weather",
        ],
    ),
    (
        "crates/cli",
        &[
            "fitzroy",
            "fitzroy-curve-fit",
            "fitzroy-device",
            "fitzroy-report",
            "fitzroy-session",
            "fitzroy-slurm",
            "fitzroy-stop-signal",
            "fitzroy-weather",
        ],
    ),
    ("crates/ptx", &["fitzroy-device", "fitzroy-graph"]),
    (
        "crates/gpu-day",
        &[
            "fitzroy",
            "fitzroy-curve-fit",
            "fitzroy-device",
            "fitzroy-stop-signal",
            "fitzroy-weather",
        ],
    ),
    ("xtask", &[]),
];

/// Modules of the library in reading order, and the modules they may import.
const MODULES: &[(&str, &[&str])] = &[
    ("rng", &[]),
    ("data", &[]),
    ("dist", &["rng"]),
    ("examples", &[]),
    ("model", &["rng", "data", "dist"]),
    ("draws", &["data"]),
    ("diagnose", &["draws"]),
    // Never `model`: a method takes a compiled function.
    ("fit", &["rng", "draws", "diagnose"]),
    ("report", &["draws", "diagnose"]),
    ("verify", &["rng", "report"]),
    (
        "run",
        &[
            "rng", "data", "dist", "model", "draws", "diagnose", "fit", "report",
        ],
    ),
    (
        "validate",
        &[
            "rng", "data", "dist", "model", "draws", "diagnose", "fit", "report", "verify", "run",
        ],
    ),
];

/// Holds the table of modules for one file of the library. Tests may import anything.
pub(crate) fn check(source: &Source, failures: &mut Vec<Finding>) {
    let Some(inside) = source.path.strip_prefix("src/") else {
        return;
    };
    let modules = module_path(inside);
    let Some(&own) = modules.first() else {
        return; // The root may name every module.
    };
    let Some((_, allowed)) = MODULES.iter().find(|(name, _)| *name == own) else {
        let message = format!("`{own}` is not in the import table of xtask/src/tidy/imports.rs");
        failures.push(Finding::new(source, 1, message));
        return;
    };
    if source.is_test() {
        return;
    }
    for (line, name) in imports(&source.code, modules.len()) {
        let known = MODULES.iter().any(|(module, _)| *module == name);
        if known && name != own && !allowed.contains(&name.as_str()) {
            let message = format!("`{own}` must not import `{name}`; it may import {allowed:?}");
            failures.push(Finding::new(source, line, message));
        }
    }
}

/// The modules that lead to a file: `fit/sample/tree.rs` is `[fit, sample, tree]`.
fn module_path(inside: &str) -> Vec<&str> {
    let stem = inside.trim_end_matches(".rs");
    let mut parts: Vec<&str> = stem.split('/').collect();
    if matches!(parts.last(), Some(&"mod" | &"lib")) {
        parts.pop();
    }
    parts
}

/// Line and name of everything imported from the root of the crate: `crate::name`,
/// `crate::{name, ..}`, and chains of `super::` that reach the root from `depth` modules down.
fn imports(code: &str, depth: usize) -> Vec<(usize, String)> {
    let roots = ["crate::".to_string(), "super::".repeat(depth)];
    let mut found = Vec::new();
    for root in roots {
        for (at, _) in code.match_indices(&root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            for name in first_names(&code[at + root.len()..]) {
                found.push((line, name));
            }
        }
    }
    found
}

/// The first name of each path that starts here: one, or several in braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let text = text.trim_start();
        text.chars()
            .take_while(|&c| c.is_alphanumeric() || c == '_')
            .collect()
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![name(rest)];
    };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// Holds the table of crates by the manifests.
pub(crate) fn check_manifests(root: &Path, failures: &mut Vec<Finding>) -> io::Result<()> {
    for (folder, allowed) in CRATES {
        let text = fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
        for name in own_dependencies(&text) {
            if !allowed.contains(&name) {
                failures.push(Finding {
                    place: format!("{folder}/Cargo.toml"),
                    message: format!("must not depend on `{name}`; it may on {allowed:?}"),
                });
            }
        }
    }
    Ok(())
}

/// Our crates under `[dependencies]`. What tests depend on is free.
fn own_dependencies(manifest: &str) -> Vec<&str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| name.starts_with("fitzroy"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_import(path: &str, code: &str, n_failures: usize) {
        let mut failures = Vec::new();
        check(
            &Source::new(path, &format!("//! A.\n{code}\n")),
            &mut failures,
        );
        assert_eq!(failures.len(), n_failures, "{path}: {code}: {failures:?}");
    }

    #[test]
    fn fit_never_imports_model() {
        check_import("src/fit/sample/tree.rs", "use crate::model::Model;", 1);
        check_import(
            "src/fit/sample/tree.rs",
            "use crate::{draws, model::Model};",
            1,
        );
        check_import("src/fit/mod.rs", "use super::model;", 1);
        check_import(
            "src/fit/sample/tree.rs",
            "fn f(m: &super::super::super::model::M) {}",
            1,
        );
        check_import(
            "src/fit/sample/tree.rs",
            "use super::super::sample::model;",
            0,
        );
        check_import(
            "src/fit/sample/tree.rs",
            "use crate::draws::Trace; // crate::model",
            0,
        );
        check_import("src/fit/sample/tests.rs", "use crate::model::Model;", 0);
    }

    #[test]
    fn errors_and_own_parts_are_free() {
        check_import(
            "src/data/csv.rs",
            "use crate::{Error, Result, data::{Array, Values}};",
            0,
        );
        check_import(
            "src/data/csv.rs",
            "use crate::{Error, data::{Array}, draws};",
            1,
        );
        check_import("src/lib.rs", "pub use crate::model::Model;", 0);
    }

    #[test]
    fn a_new_folder_must_enter_the_table() {
        check_import("src/astrology/mod.rs", "", 1);
    }

    #[test]
    fn manifests_are_read_up_to_the_next_section() {
        let text =
            "[dependencies]\nfitzroy-graph.workspace = true\nlibm = \"1\"\n[x]\nfitzroy = 1\n";
        assert_eq!(own_dependencies(text), ["fitzroy-graph"]);
    }
}
