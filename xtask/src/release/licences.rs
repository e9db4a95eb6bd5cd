//! The licences of the crates that the program links, with their copyright lines.

use super::crates::{Linked, linked};
use super::{Release, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How files with a licence or a notice begin.
const NAMES: [&str; 4] = ["license", "licence", "copying", "notice"];

/// One text: which crates have it, then what it says.
pub(super) fn collect(release: &Release) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for linked in linked(release)?.iter().filter(|c| !c.is_own()) {
        let Linked {
            name,
            version,
            license,
            ..
        } = linked;
        list += &format!("{name} {version}: {license}\n");
        for text in of(linked)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let rule = "-".repeat(80);
    let mut all = format!("The program links these crates, each under its own licence:\n\n{list}");
    for (text, names) in &texts {
        all += &format!(
            "\n{rule}\n{}\n{rule}\n\n{}\n",
            names.join(", "),
            text.trim_end()
        );
    }
    Ok(all)
}

/// The texts of one crate; a crate without a file of its own is covered by the list.
fn of(linked: &Linked) -> Result<Vec<String>> {
    let said = |e: std::io::Error| format!("{}: {e}", linked.folder.display());
    let entries = std::fs::read_dir(&linked.folder).map_err(said)?;
    let is_text = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        path.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(is_text)
        .collect();
    paths.sort();
    let texts = paths.iter().map(|path| super::read(path));
    texts
        .map(|text| text.map(|t| t.replace("\r\n", "\n")))
        .collect()
}
