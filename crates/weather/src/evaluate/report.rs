//! Scores as a table, as JSON and as CSV.

use super::found::Evaluation;
use super::scores::Score;
use serde_json::{Value, json};
use std::fmt::Write;

/// Columns of the CSV behind method, variable, level and lead.
const COLUMNS: [&str; 14] = [
    "rmse",
    "mae",
    "bias",
    "acc",
    "correlation",
    "csi_1mm",
    "csi_10mm",
    "csi_25mm",
    "frequency_bias_1mm",
    "frequency_bias_10mm",
    "frequency_bias_25mm",
    "mse_0_10mm",
    "mse_10_25mm",
    "mse_25mm",
];

fn values(score: &Score) -> [Option<f64>; 14] {
    let mut values = [None; 14];
    values[..5].copy_from_slice(&[
        Some(score.rmse),
        Some(score.mae),
        Some(score.bias),
        score.acc,
        score.correlation,
    ]);
    if let Some(rain) = &score.rain {
        values[5..8].copy_from_slice(&rain.csi);
        values[8..11].copy_from_slice(&rain.frequency_bias);
        values[11..].copy_from_slice(&rain.mse);
    }
    values
}

/// Every score: one entry for each method, variable and lead.
pub fn document(evaluation: &Evaluation) -> Value {
    let mut entries = Vec::new();
    for method in &evaluation.methods {
        for (lead, scores) in method.scores.iter().enumerate() {
            for (channel, score) in evaluation.channels.iter().zip(scores) {
                let mut entry = json!({
                    "method": method.method, "variable": channel.variable,
                    "level_hpa": channel.level, "units": channel.units,
                    "lead_hours": (lead + 1) as f64 * evaluation.step_hours,
                });
                for (name, value) in COLUMNS.iter().zip(values(score)) {
                    if channel.is_rain() || !(name.contains("mm")) {
                        entry[*name] = value.map_or(Value::Null, Value::from);
                    }
                }
                entries.push(entry);
            }
        }
    }
    let comparisons = evaluation.comparisons();
    let comparisons = comparisons.iter().map(|c| {
        json!({
            "rival": c.rival, "lead_hours": c.lead_hours, "rmse_ratio": c.ratio,
            "chance": c.chance, "blocks": c.n_blocks, "variables_ahead": c.ahead.0,
            "variables": c.ahead.1, "holds": c.holds(),
        })
    });
    json!({
        "forecasts": evaluation.n_starts,
        "first_start": evaluation.span.0.iso(),
        "last_start": evaluation.span.1.iso(),
        "boundary": "truth",
        "passed": evaluation.passed(),
        "failures": evaluation.failures(),
        "comparisons": comparisons.collect::<Vec<Value>>(),
        "linear_penalties": evaluation.penalties,
        "notes": evaluation.notes,
        "scores": entries,
    })
}

/// The same as CSV.
pub fn csv(evaluation: &Evaluation) -> String {
    let mut out = format!(
        "method,variable,level_hpa,lead_hours,{}\n",
        COLUMNS.join(",")
    );
    for method in &evaluation.methods {
        for (lead, scores) in method.scores.iter().enumerate() {
            for (channel, score) in evaluation.channels.iter().zip(scores) {
                let level = channel.level.map(|p| p.to_string()).unwrap_or_default();
                let hours = (lead + 1) as f64 * evaluation.step_hours;
                let _ = write!(
                    out,
                    "{},{},{level},{hours}",
                    method.method, channel.variable
                );
                for value in values(score) {
                    let _ = write!(out, ",{}", value.map(|x| x.to_string()).unwrap_or_default());
                }
                out.push('\n');
            }
        }
    }
    out
}

/// RMSE of every method, variable by variable, at the first lead and each further day.
pub fn table(evaluation: &Evaluation) -> String {
    let leads = evaluation.methods[0].scores.len();
    let hours = |lead: usize| (lead + 1) as f64 * evaluation.step_hours;
    let daily = |lead: &usize| *lead == 0 || hours(*lead) % 24.0 == 0.0 || *lead + 1 == leads;
    let mut out = String::from("RMSE");
    let _ = write!(out, "{:22}{:>7}", "", "lead");
    for method in &evaluation.methods {
        let _ = write!(out, "{:>14}", method.method);
    }
    out.push('\n');
    for (k, channel) in evaluation.channels.iter().enumerate() {
        for lead in (0..leads).filter(daily) {
            let name = if lead == 0 {
                let units = if channel.units.is_empty() {
                    "1"
                } else {
                    &channel.units
                };
                format!("{} [{units}]", channel.label())
            } else {
                String::new()
            };
            let _ = write!(out, "{name:26}{:>5} h", hours(lead));
            for method in &evaluation.methods {
                let _ = write!(out, "{:>14.4}", method.scores[lead][k].rmse);
            }
            out.push('\n');
        }
    }
    for c in evaluation.comparisons() {
        let chance = c.chance.map_or("unknown".into(), |p| format!("{p:.3}"));
        let _ = writeln!(
            out,
            "beside {:12} {:>5} h: RMSE x {:.3}, ahead on {} of {} variables, chance {chance}",
            c.rival, c.lead_hours, c.ratio, c.ahead.0, c.ahead.1
        );
    }
    let _ = writeln!(
        out,
        "{} forecasts from {} to {}; the boundary is the truth and is not scored",
        evaluation.n_starts,
        evaluation.span.0.iso(),
        evaluation.span.1.iso()
    );
    out
}
