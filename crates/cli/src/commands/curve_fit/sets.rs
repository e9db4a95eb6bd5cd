//! Files that are data sets of their own: by name, or each of those given.

use super::CurveFitArgs;
use super::pairs::texts;
use fitzroy::Result;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Files that are data sets, by name, and the column that will tell them apart.
pub(super) struct Sets {
    pub(super) column: &'static str,
    pub(super) sets: Vec<(String, String)>,
}

/// The column of data sets that are told apart by their files.
pub(super) const FILE: &str = "file";

/// The data sets that are read: of a task its share alone, where each is a fit.
///
/// # Errors
/// A `--data-set` that is not written NAME=FILE; more tasks than data sets.
pub(super) fn of(args: &CurveFitArgs) -> Result<Sets> {
    let by = args.batch_by.as_deref();
    let mut found = Sets {
        column: "set",
        sets: texts("--data-set", &args.data_set)?,
    };
    if by == Some(FILE) && args.data.len() > 1 && found.sets.is_empty() {
        let named = |whole: bool| -> Vec<String> {
            let name = |p: &PathBuf| match p.file_name().filter(|_| !whole) {
                Some(name) => name.to_string_lossy().into_owned(),
                None => p.display().to_string(),
            };
            args.data.iter().map(name).collect()
        };
        let short = named(false);
        let distinct: BTreeSet<&String> = short.iter().collect();
        let names = if distinct.len() == short.len() {
            short
        } else {
            named(true)
        };
        let files = args.data.iter().map(|p| p.display().to_string());
        found = Sets {
            column: FILE,
            sets: names.into_iter().zip(files).collect(),
        };
    }
    if let Some(task) = args
        .chains
        .task
        .filter(|_| by == Some(found.column) && !found.sets.is_empty())
    {
        let share = task.share(found.sets.len(), "data sets")?;
        found.sets = found.sets[share].to_vec();
    }
    Ok(found)
}
