//! The licences of the crates we lean on, held against the list in `deny.toml`.
//!
//! `cargo deny` checks more (advisories, sources) and runs where it is installed; this needs nothing.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// True when every crate from outside may be used; says which may not.
pub(crate) fn run(root: &Path) -> bool {
    println!("==> licences");
    match check(root) {
        Ok((n_crates, faults)) => {
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            println!("<== {n_crates} crates, {} refused", faults.len());
            faults.is_empty()
        }
        Err(why) => {
            eprintln!("licences: {why}");
            false
        }
    }
}

fn check(root: &Path) -> Result<(usize, Vec<String>), String> {
    let rules = std::fs::read_to_string(root.join("deny.toml")).map_err(|e| e.to_string())?;
    let allowed = allowed(&rules);
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|e| e.to_string())?;
    let tree: Value = serde_json::from_slice(&output.stdout).map_err(|e| {
        format!(
            "cargo metadata: {e}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })?;
    let packages = tree["packages"]
        .as_array()
        .ok_or("cargo metadata: no packages")?;
    let others: Vec<&Value> = packages.iter().filter(|p| !p["source"].is_null()).collect();
    let fault = |package: &&Value| {
        let licence = package["license"].as_str().unwrap_or("");
        let (name, version) = (&package["name"], &package["version"]);
        (!passes(licence, &allowed)).then(|| {
            format!("{name} {version}: licence `{licence}` is not in the list of deny.toml")
        })
    };
    Ok((others.len(), others.iter().filter_map(fault).collect()))
}

/// The names between `allow = [` and `]`.
fn allowed(rules: &str) -> Vec<String> {
    let list = rules.split("\nallow = [").nth(1).unwrap_or("");
    let list = list.split(']').next().unwrap_or("");
    let quoted = list.split('"').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// Whether an SPDX expression holds under the allowed names: AND binds tighter than OR, and the `/`
/// of old manifests means OR.
fn passes(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ");
    let spaced = spaced.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let holds = either(&words, &mut at, allowed);
    holds && at == words.len() && !words.is_empty()
}

fn either(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut holds = both(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= both(words, at, allowed);
    }
    holds
}

fn both(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut holds = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= one(words, at, allowed);
    }
    holds
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(&word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if word == "(" {
        let holds = either(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return holds && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let name = format!("{word} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
        return allowed.contains(&name);
    }
    allowed.iter().any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_side_and_a_sum_needs_all() {
        let allowed = allowed("x = 1\nallow = [\n  \"MIT\",\n  \"Zlib\",\n]\n");
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR Zlib) AND MIT", true),
            ("GPL-3.0 OR MIT AND Zlib", true),
            ("MIT WITH exception", false),
            ("", false),
        ] {
            assert_eq!(passes(expression, &allowed), expected, "{expression}");
        }
    }
}
