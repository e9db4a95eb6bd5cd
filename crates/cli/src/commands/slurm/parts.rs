//! Results that stay apart: tables of the tasks under one another, and their verdicts.

use super::collect::CollectArgs;
use super::folder;
use crate::{json, terminal};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::command::Command;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Puts the tables of tasks `take` under one another. True when all of them are good.
pub(super) fn collect(
    args: &CollectArgs,
    run: &Path,
    plan: &Value,
    take: &[usize],
) -> Result<bool> {
    let words = plan["command"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let command = Command::parse(&words)?;
    let mut written = Vec::new();
    for table in command.kind.tables {
        let files: Vec<PathBuf> = take
            .iter()
            .map(|&t| folder::task(run, t).join(table))
            .collect();
        let path = run.join(table);
        let rows = joined(&files)?;
        let rows = match command.kind.sorted_by {
            Some(column) => sorted(&rows, column),
            None => rows,
        };
        folder::write(&path, &rows)?;
        written.push(path);
    }
    let rows: Vec<Value> = take.iter().map(|&task| verdict(run, task)).collect();
    let is_bad = |row: &&Value| match &row["converged"] {
        // Of many fits their number is said.
        Value::Number(n) => n.as_u64() != row["fits"].as_u64(),
        said => *said == false,
    };
    let all_good = !rows.iter().any(|row| is_bad(&row));
    let document = json!({
        "program": "fitzroy", "command": words, "tasks": rows, "of": folder::n_tasks(plan),
    });
    let path = run.join("tasks.json");
    folder::write(&path, &format!("{document:#}\n"))?;
    written.push(path);
    if args.json {
        json::print(&document);
    } else {
        for row in rows.iter().filter(is_bad) {
            terminal::out(format_args!("not all of it converged: {row}"));
        }
        let written: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
        terminal::out(format_args!(
            "{} tasks\nwrote {}",
            take.len(),
            written.join("  ")
        ));
    }
    Ok(all_good || !args.strict)
}

/// CSV files with one header under one another.
fn joined(files: &[PathBuf]) -> Result<String> {
    let mut out = String::new();
    let mut first: Option<(String, &PathBuf)> = None;
    for file in files {
        let text = fs::read_to_string(file)
            .map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", file.display())))?;
        let (header, rows) = text.split_once('\n').unwrap_or((&text, ""));
        match &first {
            None => {
                out = format!("{header}\n");
                first = Some((header.to_owned(), file));
            }
            Some((other, _)) if other == header => {}
            Some((other, name)) => {
                let message = format!(
                    "{} and {} are not parts of one run: their columns are `{other}` and `{header}`",
                    name.display(),
                    file.display()
                );
                return Err(Error::new(ErrorKind::Data, message));
            }
        }
        out.push_str(rows);
    }
    Ok(out)
}

/// The rows of a table by the numbers of `column`, the smallest first; what is no number comes last.
fn sorted(table: &str, column: &str) -> String {
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default();
    let Some(at) = header.split(',').position(|name| name == column) else {
        return table.to_owned();
    };
    let number = |line: &&str| {
        let cell = line.split(',').nth(at).and_then(|cell| cell.parse().ok());
        cell.unwrap_or(f64::INFINITY)
    };
    let mut rows: Vec<&str> = lines.collect();
    rows.sort_by(|a, b| number(a).total_cmp(&number(b)));
    rows.insert(0, header);
    rows.join("\n") + "\n"
}

/// What a task says of itself, in a few numbers.
fn verdict(run: &Path, task: usize) -> Value {
    let folder = folder::task(run, task);
    let read = |name: &str| folder::read_json(&folder.join(name));
    let found = read("run.json").filter(|d| d.get("converged").is_some());
    let document = found
        .or_else(|| read("fit.json"))
        .or_else(|| read("bench.json"));
    let mut row = Map::from_iter([("task".to_owned(), json!(task))]);
    let document = document.unwrap_or_default();
    for key in [
        "version",
        "fits",
        "max_rhat",
        "min_ess_bulk",
        "divergences",
        "converged",
    ] {
        if let Some(value) = document.get(key) {
            row.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(row)
}

/// Benchmarks of several profiles as one table, each row headed by its profile.
pub(super) fn join_runs(folder: &Path, runs: &[PathBuf]) -> Result<()> {
    let mut out = String::new();
    let mut columns: Vec<String> = Vec::new();
    for run in runs {
        let Some(document) = folder::read_json(&folder::task(run, 0).join("bench.json")) else {
            continue;
        };
        let profile = run.file_name().unwrap_or_default().to_string_lossy();
        for row in document["rows"].as_array().into_iter().flatten() {
            let Some(fields) = row.as_object() else {
                continue;
            };
            if columns.is_empty() {
                columns = fields.keys().cloned().collect();
                out = format!("profile,{}\n", columns.join(","));
            }
            let cell = |name: &String| match fields.get(name) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.replace([',', '\n'], " "),
                Some(other) => other.to_string().replace(',', " "),
            };
            let cells: Vec<String> = columns.iter().map(cell).collect();
            out += &format!("{profile},{}\n", cells.join(","));
        }
    }
    if columns.is_empty() {
        return Ok(());
    }
    let path = folder.join("bench.csv");
    folder::write(&path, &out)?;
    terminal::out(format_args!("wrote {}", path.display()));
    Ok(())
}
