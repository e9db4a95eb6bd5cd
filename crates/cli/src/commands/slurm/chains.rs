//! Chains that ran in several tasks become one trace with one report.

use super::collect::CollectArgs;
use super::folder;
use crate::commands::report::finish;
use crate::commands::stop_signal::Collected;
use crate::{json, terminal};
use fitzroy::Result;
use fitzroy::diagnose::{Chains, Diagnosis, SummaryOptions, diagnose, rhat_nested};
use fitzroy::draws::{Flush, Part, Trace, Unequal, merge, read_trace, write_netcdf_with};
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text, summary_csv};
use fitzroy_report::report::{RunFacts, sampling_page};
use fitzroy_report::source::Source;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Above this, tasks differ more than their chains do among themselves (Margossian et al. 2024).
const NESTED_LIMIT: f64 = 1.01;

/// Merges the traces of tasks `take`, examines them and writes what `sample` would. True when nothing
/// that was asked for is missing.
pub(super) fn collect(
    args: &CollectArgs,
    run: &Path,
    plan: &Value,
    take: &[usize],
) -> Result<bool> {
    let mut parts = Vec::with_capacity(take.len());
    for &task in take {
        let trace = read_trace(folder::task(run, task));
        parts.push((
            task,
            trace.map_err(|error| error.context(format!("task {task}")))?,
        ));
    }
    let owners = owners(&parts);
    let taken: Vec<usize> = parts.iter().map(|(task, _)| *task).collect();
    let named = |(task, trace): (usize, Trace)| Part {
        origin: format!("task {task}"),
        trace,
    };
    let trace = merge(parts.into_iter().map(named).collect(), Unequal::Refused)?;
    write_netcdf_with(run.join("trace.nc"), &trace, Flush::Disk)?;
    let group = match trace.group("posterior") {
        Some(_) => "posterior",
        None => "prior",
    };
    let options = SummaryOptions {
        group: group.into(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..SummaryOptions::default()
    };
    let mut found = diagnose(&trace, &options)?;
    let words = plan["command"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let stop_signal = Collected::new(&words)?;
    if let Some(fit) = &stop_signal {
        fit.suit(&mut found, &trace);
    }
    let nested = nested(&trace, group, &owners);
    let document = document(run, plan, &taken, &trace, &found, &nested);
    write_all(run, &found, &document)?;
    if args.json {
        json::print(&document);
    } else {
        show(run, &taken, &found, &nested);
    }
    let reported = match stop_signal {
        Some(fit) => {
            let mut write =
                |name: &str, bytes: &[u8]| crate::commands::files::write(&run.join(name), bytes);
            let left = fit.leave(&mut write, &trace, &found, &document, !args.no_report);
            finish("subjects.csv, its figures and report.html", left)
        }
        None => args.no_report || report(run, &words, &trace, &found, &document),
    };
    Ok(reported && (found.converged() || !args.strict))
}

/// The task of every chain of the merged trace.
fn owners(parts: &[(usize, Trace)]) -> Vec<usize> {
    let mut all: Vec<(i64, usize)> = Vec::new();
    for (task, trace) in parts {
        if let Some(fitzroy::draws::Labels::Integers(chains)) = trace.coords.get("chain") {
            all.extend(chains.iter().map(|&chain| (chain, *task)));
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(_, task)| task).collect()
}

/// What is known of the tasks as superchains.
struct Nested {
    /// The largest nested R-hat, and of which element.
    worst: Option<(f64, String)>,
    /// Why there is none.
    why: Option<String>,
}

/// Nested R-hat of every element, with tasks as superchains.
fn nested(trace: &Trace, group: &str, owners: &[usize]) -> Nested {
    let none = |why: &str| Nested {
        worst: None,
        why: Some(why.to_owned()),
    };
    let mut tasks = owners.to_vec();
    tasks.dedup();
    if tasks.len() < 2 {
        return none("there is one task");
    }
    let mut worst: Option<(f64, String)> = None;
    for variable in trace.group(group).map_or(&[][..], |g| &g.variables) {
        for element in 0..variable.elements() {
            let rows = variable.element(element);
            let n_draws = rows.first().map_or(0, Vec::len);
            let draws = rows.concat();
            let value = match rhat_nested(Chains::new(&draws, rows.len(), n_draws), owners) {
                Ok(value) => value,
                Err(error) => return none(&error.to_string()),
            };
            if worst.as_ref().is_none_or(|(largest, _)| value > *largest) && !value.is_nan() {
                let place = match variable.elements() {
                    1 => variable.name.clone(),
                    _ => format!("{}[{element}]", variable.name),
                };
                worst = Some((value, place));
            }
        }
    }
    Nested { worst, why: None }
}

/// The document of the run: that of its first task, with what is known of all of them.
fn document(
    run: &Path,
    plan: &Value,
    taken: &[usize],
    trace: &Trace,
    found: &Diagnosis,
    nested: &Nested,
) -> Value {
    let of_tasks: Vec<Value> = taken
        .iter()
        .filter_map(|&task| folder::read_json(&folder::task(run, task).join("run.json")))
        .collect();
    let mut all: Map<String, Value> = match of_tasks.first() {
        Some(Value::Object(first)) => first.clone(),
        _ => Map::new(),
    };
    for own in [
        "step_size",
        "peak_memory_bytes",
        "min_ess_per_second",
        "timing_s",
    ] {
        all.remove(own);
    }
    let sum = |key: &str| of_tasks.iter().filter_map(|d| d[key].as_u64()).sum::<u64>();
    let longest = |key: &str| {
        let each = of_tasks.iter().filter_map(|d| d["timing_s"][key].as_f64());
        each.fold(0.0, f64::max)
    };
    let timing: Map<String, Value> = ["compile", "warmup", "sampling", "total"]
        .iter()
        .map(|&key| (key.to_owned(), json::number(longest(key))))
        .collect();
    let chains = trace.coords.get("chain").map_or(0, |c| c.len());
    let group = all
        .get("group")
        .and_then(Value::as_str)
        .unwrap_or("posterior");
    let draws = trace.n_draws(group);
    let interrupted = of_tasks.iter().any(|d| d["interrupted"] == true);
    let own = json!({
        "program": "fitzroy",
        "chains": chains,
        "draws": draws,
        "interrupted": interrupted,
        "gradients": sum("gradients"),
        "timing_s": timing,
        "tasks": {
            "taken": taken,
            "of": folder::n_tasks(plan),
            "nested_rhat": nested.worst.as_ref().map(|(value, _)| json::number(*value)),
            "nested_rhat_of": nested.worst.as_ref().map(|(_, name)| name),
            "why_not": nested.why,
        },
    });
    for part in [own, Value::Object(diagnosis_json(found))] {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}

fn write_all(run: &Path, found: &Diagnosis, document: &Value) -> Result<()> {
    let all = TextOptions {
        max_rows: usize::MAX,
        ..TextOptions::default()
    };
    let summary = Value::Object(diagnosis_json(found));
    let mut short = document.clone();
    if let Value::Object(fields) = &mut short {
        fields.remove("summary");
    }
    for (name, text) in [
        ("summary.txt", diagnosis_text(found, &all)),
        ("summary.csv", summary_csv(&found.summary)),
        ("summary.json", format!("{summary:#}\n")),
        ("run.json", format!("{short:#}\n")),
    ] {
        folder::write(&run.join(name), &text)?;
    }
    Ok(())
}

fn show(run: &Path, taken: &[usize], found: &Diagnosis, nested: &Nested) {
    terminal::out(diagnosis_text(found, &TextOptions::default()).trim_end());
    match (&nested.worst, &nested.why) {
        (Some((value, name)), _) => {
            let verdict = match *value > NESTED_LIMIT {
                true => "  the tasks do not agree: look at their chains in report.html",
                false => "",
            };
            terminal::out(format_args!(
                "nested R-hat over {} tasks: at most {value:.3} ({name}){verdict}",
                taken.len()
            ));
        }
        (None, why) => terminal::note(format_args!(
            "nested R-hat over tasks: none, {}",
            why.as_deref().unwrap_or("nothing varies")
        )),
    }
    terminal::out(format_args!("wrote {}", run.join("trace.nc").display()));
}

/// Writes the report; the draws are saved already, so a failure is said and not returned.
fn report(run: &Path, words: &[&str], trace: &Trace, found: &Diagnosis, document: &Value) -> bool {
    let written = Source::new(trace).and_then(|source| {
        let mut facts = RunFacts::from_document(document, "run");
        facts.command = format!("fitzroy {}", words.join(" "));
        facts.threads = std::thread::available_parallelism().map_or(1, usize::from);
        let page = sampling_page(&source, found, &facts)?;
        folder::write(&run.join("report.html"), &page.html())
    });
    finish("report.html", written)
}
