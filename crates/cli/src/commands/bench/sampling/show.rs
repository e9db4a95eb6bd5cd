//! Rows as lines of text, as CSV and as bars.

use super::page::Shown;
use crate::commands::plot;
use fitzroy::Result;
use fitzroy_report::draw::Scene;
use fitzroy_report::figure::{Bar, Style, bar_figure};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// The median of a measure over the repeats; NaN where there is none.
pub(super) fn median(row: &Value, key: &str) -> f64 {
    row[key]["median"].as_f64().unwrap_or(f64::NAN)
}

/// Problem, rewrites and sampler of a row.
fn names(row: &Value) -> [&str; 3] {
    ["problem", "rewrites", "sampler"].map(|key| row[key].as_str().unwrap_or_default())
}

/// One line for people.
pub(super) fn line(row: &Value) -> String {
    let [problem, rewrites, sampler] = names(row);
    let rate = &row["ess_bulk_per_written_s"];
    let end = |key: &str| rate[key].as_f64().unwrap_or(f64::NAN);
    let mark = if row["converged"] == true {
        ""
    } else {
        "  not converged"
    };
    format!(
        "{problem:<13} rewrites {rewrites:<4} {sampler:<12} {:>9.0} ESS/s ({:.0} to {:.0})  {:>7.1} ms \
         to the disk (compile {:.1}, warm-up {:.1}, sampling {:.1})  ESS {:.0}, tail {:.0}, R-hat \
         {:.4}, {:.0} divergent, {:.0} gradients ({:.3} ESS each), {:.0} MiB{mark}",
        end("median"),
        end("min"),
        end("max"),
        1e3 * median(row, "written_s"),
        1e3 * median(row, "compile_s"),
        1e3 * median(row, "warmup_s"),
        1e3 * median(row, "sampling_s"),
        median(row, "min_ess_bulk"),
        median(row, "min_ess_tail"),
        median(row, "max_rhat"),
        median(row, "divergences"),
        median(row, "gradients"),
        median(row, "ess_bulk_per_gradient"),
        median(row, "peak_memory_mib"),
    )
}

const COLUMNS: [&str; 13] = [
    "compile_s",
    "warmup_s",
    "sampling_s",
    "written_s",
    "min_ess_bulk",
    "min_ess_tail",
    "max_rhat",
    "divergences",
    "gradients",
    "ess_bulk_per_gradient",
    "ess_bulk_per_sampling_s",
    "ess_bulk_per_chains_s",
    "ess_bulk_per_written_s",
];

/// Medians, a row each.
pub(super) fn csv(rows: &[Value]) -> String {
    let mut out = format!("problem,rewrites,sampler,converged,{}\n", COLUMNS.join(","));
    for row in rows {
        let [problem, rewrites, sampler] = names(row);
        let cells: Vec<String> = COLUMNS.iter().map(|k| median(row, k).to_string()).collect();
        let converged = row["converged"] == true;
        let _ = writeln!(
            out,
            "{problem},{rewrites},{sampler},{converged},{}",
            cells.join(",")
        );
    }
    out
}

/// Effective draws a second, bars for rewritten models and models as they stand in two colours.
pub(super) fn figure(path: &Path, rows: &[Value]) -> Result<()> {
    plot::write_scene(path, "--figure", &scene(rows))
}

fn scene(rows: &[Value]) -> Scene {
    let bar = |row: &Value| {
        let [problem, rewrites, sampler] = names(row);
        let end = |key: &str| row["ess_bulk_per_written_s"][key].as_f64();
        let mut bar = Bar::new(
            format!("{problem}, rewrites {rewrites}, {sampler}"),
            median(row, "ess_bulk_per_written_s"),
        );
        bar.spread = end("min").zip(end("max")).map(|(low, high)| [low, high]);
        bar.series = usize::from(rewrites == "off");
        if row["converged"] != true {
            bar.note = "not converged".into();
        }
        bar
    };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    let title = "Effective draws a second, from the start of the process to draws on the disk";
    bar_figure(&bars, title, "least bulk ESS per second", &Style::default())
}

/// The page of a benchmark, as HTML.
pub(super) fn page(document: &Value, rows: &[Value]) -> String {
    let shown = Shown {
        document,
        kind: "Effective draws a second",
        names: &["problem", "rewrites", "sampler"],
        columns: &COLUMNS,
        rate: "ess_bulk_per_written_s",
        scene: scene(rows),
        csv: csv(rows),
    };
    shown.html()
}
