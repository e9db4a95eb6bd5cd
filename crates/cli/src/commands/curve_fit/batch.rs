//! `--batch-by COLUMN`: a fit for every group of rows.

use super::device::On;
use super::{CurveFitArgs, usage};
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use fitzroy::Result;
use fitzroy::data::{Array, Values};
use fitzroy_curve_fit::batch::{Batch, Groups, fit_many_on};
use fitzroy_curve_fit::fit::{CovarianceStatus, Plan, check_rows};
use fitzroy_curve_fit::method::Status;
use fitzroy_curve_fit::report::grouped;
use fitzroy_curve_fit::source::{Missing, Request, assemble};
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_device::gpu::Machine;
use fitzroy_session::clock::Clock;
use serde_json::json;
use std::fmt::Write as _;

/// Fits every group and writes one row per fit.
pub(super) fn run(
    args: &CurveFitArgs,
    on: &mut On,
    column: &str,
    arrays: Vec<Array>,
    formula: &Formula,
    request: &Request,
    options: &Options,
    clock: &Clock,
) -> Result<Outcome> {
    let mut arrays = arrays;
    let Some(at) = arrays.iter().position(|a| a.name == column) else {
        let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
        let all = names.join(", ");
        return Err(usage(format!(
            "--batch-by: there is no column `{column}`; the columns are {all}"
        )));
    };
    if !request.range.is_empty() {
        return Err(usage(
            "--batch-by and --range do not go together; cut the file before".into(),
        ));
    }
    if matches!(request.missing, Missing::Drop) {
        let message = "--batch-by needs no --missing drop: a group with gaps fails alone";
        return Err(usage(message.into()));
    }
    let groups = match &arrays[at].values {
        Values::Real(values) => Groups::by_number(values),
        Values::Text(cells) => Groups::by_label(cells),
    };
    let groups = match (args.chains.task, &arrays[at].source) {
        // Of files a task reads its own.
        (Some(task), source) if source != "--data-set" => {
            groups.part(task.share(groups.len(), "groups")?)
        }
        _ => groups,
    };
    let used = formula.roles(&[column], &[]);
    if used.is_ok_and(|roles| roles.predictors.is_empty()) {
        arrays.remove(at);
    }
    // A group with gaps is that group's failure, not the batch's.
    let request = Request {
        unchecked: true,
        ..request.clone()
    };
    let assembled = assemble(arrays, formula, &request)?;
    let data = assembled.data;
    let roles = formula.roles(&data.names(), &data.label_columns())?;
    let options = &args.in_order(options.clone(), &roles)?;
    let plan = Plan::new(formula, roles, data.has_sigma(), options)?;
    // What is no count is no gap: it would be fitted all the same.
    check_rows(&plan, &data)?;
    let table = data.table(&plan.roles.predictors)?;
    let stop = interrupt::catch_with("stopping: fits so far will be written")?;
    on.settle(&plan, &table, options, clock)?;
    let before = clock.seconds();
    let mut machine = on.machine().map(|shared| {
        shared
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    });
    let gpu = machine.as_deref_mut().map(|m| m as &mut dyn Machine);
    let batch = fit_many_on(gpu, &plan, &table, &groups, options, &stop)?;
    let seconds = clock.seconds() - before;
    let counts = counts(batch.status.iter().map(|s| s.name()));
    let errors = counts_of_errors(&batch);
    let (n, good) = (
        groups.len(),
        batch.status.iter().filter(|s| s.converged()).count(),
    );
    let face = args.chains.face(&args.common);
    let mut folder = args.output.open("curve-fit", &face)?;
    let path = folder.path().join("fits.csv");
    let held = batch.held(&plan)?;
    folder.write("fits.csv", &csv(column, &batch, &held, &groups))?;
    let document = json!({
        "device": on.json(), "model": formula.text(), "batch_by": column, "fits": n, "converged": good,
        "status_counts": counts.iter().map(|(s, n)| (s.to_string(), json!(n)))
            .collect::<serde_json::Map<_, _>>(),
        "covariance_status_counts": errors.iter().map(|(s, n)| (s.to_string(), json!(n)))
            .collect::<serde_json::Map<_, _>>(),
        "alone": batch.n_alone, "rows": data.n_rows(), "parameters": batch.names,
        "file": path.display().to_string(),
        "timing_s": {"fit": seconds, "total": clock.seconds()},
    });
    folder.write("fit.json", &format!("{document:#}\n"))?;
    folder.finish()?;
    if args.common.json {
        json::print(&document);
    } else {
        let each: Vec<String> = counts
            .iter()
            .map(|(s, n)| format!("{} {}", grouped(*n), s.replace('_', " ")))
            .collect();
        terminal::out(format_args!(
            "{}   {} fits by {column}, {} rows: {} converged in {:.1} ms ({}){}\n{}",
            formula.text(),
            grouped(n),
            grouped(data.n_rows()),
            grouped(good),
            1e3 * seconds,
            each.join(", "),
            undetermined(&errors),
            path.display()
        ));
    }
    Ok(if batch.status.contains(&Status::Interrupted) {
        Outcome::Interrupted
    } else if args.chains.strict && good < n {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// How often each name comes, most frequent first.
fn counts(names: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut out: Vec<(&'static str, usize)> = Vec::new();
    for name in names {
        match out.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => out.push((name, 1)),
        }
    }
    out.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    out
}

/// How many fits have errors, and why others have none.
fn counts_of_errors(batch: &Batch) -> Vec<(&'static str, usize)> {
    counts(batch.covariance_status.iter().map(|s| s.name()))
}

/// A line about fits that converged, though their data do not determine all parameters.
fn undetermined(errors: &[(&'static str, usize)]) -> String {
    let name = CovarianceStatus::RankDeficient.name();
    match errors.iter().find(|(known, _)| *known == name) {
        Some((_, n)) => format!(
            "\n! {} without errors ({name}): their rows do not determine all parameters",
            grouped(*n)
        ),
        None => String::new(),
    }
}

/// One row per fit: what was fitted, then parameters that were `held`.
fn csv(column: &str, batch: &Batch, held: &[(String, Vec<f64>)], groups: &Groups) -> String {
    let p = batch.names.len();
    let mut out = format!("{column},rows,status,converged,covariance_status,chi2,evaluations");
    for name in &batch.names {
        let _ = write!(out, ",{name},{name}_se");
    }
    for (name, _) in held {
        let _ = write!(out, ",{name}");
    }
    out.push('\n');
    for k in 0..groups.len() {
        let label = &groups.labels[k];
        let quoted = label.contains([',', '"', '\n']);
        let label = if quoted {
            format!("\"{}\"", label.replace('"', "\"\""))
        } else {
            label.clone()
        };
        let status = batch.status[k];
        let _ = write!(
            out,
            "{label},{},{},{},{},{},{}",
            groups.rows(k).len(),
            status.name(),
            status.converged(),
            batch.covariance_status[k].name(),
            batch.chi2[k],
            batch.evaluations[k]
        );
        for a in 0..p {
            let _ = write!(out, ",{},{}", batch.theta[k * p + a], batch.se[k * p + a]);
        }
        for (_, values) in held {
            let _ = write!(out, ",{}", values[k]);
        }
        out.push('\n');
    }
    out
}
