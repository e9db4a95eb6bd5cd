//! Scores as a table, as JSON and as CSV.

use super::bootstrap::{Intervals, intervals};
use super::found::Evaluation;
use super::scores::Score;
use super::seasons::{Part, seasons};
use super::spatial::{RAINS_MM, SIDES, Spectrum};
use fitzroy::Named;
use serde_json::{Value, json};
use std::fmt::Write;

/// Columns of the CSV behind method, variable, level and lead.
const COLUMNS: [&str; 16] = [
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
    "crps",
    "spread",
];

fn values(score: &Score) -> [Option<f64>; 16] {
    let mut values = [None; 16];
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
        values[11..14].copy_from_slice(&rain.mse);
    }
    values[14..].copy_from_slice(&[Some(score.crps), score.spread]);
    values
}

/// Names of the intervals, and which they are.
type Interval = (&'static str, fn(&Intervals) -> Option<[f64; 2]>);
const INTERVALS: [Interval; 6] = [
    ("rmse", |i| i.rmse),
    ("mae", |i| i.mae),
    ("bias", |i| i.bias),
    ("acc", |i| i.acc),
    ("crps", |i| i.crps),
    ("rmse_ratio", |i| i.ratio),
];

/// Where the model stands beside each method, variable by variable and lead by lead.
fn standings(evaluation: &Evaluation, intervals: &[Vec<Vec<Intervals>>]) -> Value {
    let mut entries = Vec::new();
    for (m, method) in evaluation.methods.iter().enumerate().skip(1) {
        for (lead, scores) in method.scores.iter().enumerate() {
            for (k, channel) in evaluation.channels.iter().enumerate() {
                let own = evaluation.methods[0].scores[lead][k].rmse;
                entries.push(json!({
                    "beside": method.method, "variable": channel.variable,
                    "level_hpa": channel.level,
                    "lead_hours": (lead + 1) as f64 * evaluation.step_hours,
                    "rmse_ratio": own / scores[k].rmse,
                    "rmse_ratio_interval": intervals[m][lead][k].ratio,
                    "standing": evaluation.standing(m, lead, k).setting(),
                }));
            }
        }
    }
    entries.into()
}

/// Root mean square errors by season, or by part of the region.
fn by_part(evaluation: &Evaluation, parts: &[Part], (what, of): (&str, &str)) -> Value {
    let mut entries = Vec::new();
    for part in parts {
        for (m, (method, leads)) in evaluation.methods.iter().zip(&part.rmse).enumerate() {
            for (lead, errors) in leads.iter().enumerate() {
                for (k, (channel, rmse)) in evaluation.channels.iter().zip(errors).enumerate() {
                    let mut entry = json!({
                        what: part.name, of: part.count,
                        "method": method.method, "variable": channel.variable,
                        "level_hpa": channel.level,
                        "lead_hours": (lead + 1) as f64 * evaluation.step_hours, "rmse": rmse,
                    });
                    if let Some(intervals) = part.intervals.get(m) {
                        entry["rmse_interval"] = json!(intervals[lead][k]);
                    }
                    entries.push(entry);
                }
            }
        }
    }
    entries.into()
}

/// Fractions skill scores of rain, each as an entry.
fn fractions(evaluation: &Evaluation) -> Value {
    let mut entries = Vec::new();
    for (method, leads) in evaluation.methods.iter().zip(&evaluation.spatial.fractions) {
        for (lead, scores) in leads.iter().enumerate() {
            for (threshold, sides) in RAINS_MM.iter().zip(scores) {
                for (side, score) in SIDES.iter().zip(sides) {
                    entries.push(json!({
                        "method": method.method,
                        "lead_hours": (lead + 1) as f64 * evaluation.step_hours,
                        "threshold_mm": threshold, "window_points": side, "fss": score,
                    }));
                }
            }
        }
    }
    entries.into()
}

/// Spectra, each as an entry.
fn spectra(evaluation: &Evaluation) -> Value {
    let entry = |spectrum: &Spectrum| {
        let channel = &evaluation.channels[spectrum.channel];
        let mut entry = json!({
            "variable": channel.variable, "level_hpa": channel.level,
            "lead_hours": spectrum.lead_hours, "wavelength_km": spectrum.wavelength_km,
            "truth": spectrum.truth,
        });
        for (method, energy) in &spectrum.methods {
            entry[*method] = json!(energy);
        }
        entry
    };
    evaluation.spatial.spectra.iter().map(entry).collect()
}

/// Every score: one entry for each method, variable and lead.
pub fn document(evaluation: &Evaluation) -> Value {
    let mut entries = Vec::new();
    let intervals = intervals(evaluation);
    for (method, intervals) in evaluation.methods.iter().zip(&intervals) {
        for (lead, scores) in method.scores.iter().enumerate() {
            let channels = evaluation.channels.iter().zip(scores);
            for ((channel, score), intervals) in channels.zip(&intervals[lead]) {
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
                for (name, of) in &INTERVALS[..5] {
                    entry[format!("{name}_interval")] = json!(of(intervals));
                }
                entries.push(entry);
            }
        }
    }
    let comparisons = evaluation.shown();
    let comparisons = comparisons.iter().map(|c| {
        json!({
            "rival": c.rival, "lead_hours": c.lead_hours, "rmse_ratio": c.ratio,
            "chance": c.chance, "blocks": c.n_blocks, "variables_ahead": c.ahead.0,
            "variables": c.ahead.1, "holds": c.holds(),
        })
    });
    json!({
        "forecasts": evaluation.n_starts,
        "members": evaluation.n_members,
        "first_start": evaluation.span.0.iso(),
        "last_start": evaluation.span.1.iso(),
        "boundary": "truth",
        "passed": evaluation.passed(),
        "failures": evaluation.failures(),
        "comparisons": comparisons.collect::<Vec<Value>>(),
        "linear_penalties": evaluation.penalties,
        "notes": evaluation.notes,
        "by_variable": standings(evaluation, &intervals),
        "by_season": by_part(evaluation, &seasons(evaluation), ("season", "forecasts")),
        "by_subregion": by_part(evaluation, &evaluation.areas, ("subregion", "points")),
        "fractions_skill": fractions(evaluation),
        "spectra": spectra(evaluation),
        "scores": entries,
    })
}

/// The same as CSV.
pub fn csv(evaluation: &Evaluation) -> String {
    let ends = INTERVALS.map(|(name, _)| format!("{name}_low,{name}_high"));
    let mut out = format!(
        "method,variable,level_hpa,lead_hours,{},{}\n",
        COLUMNS.join(","),
        ends.join(",")
    );
    let intervals = intervals(evaluation);
    for (method, intervals) in evaluation.methods.iter().zip(&intervals) {
        for (lead, scores) in method.scores.iter().enumerate() {
            let channels = evaluation.channels.iter().zip(scores);
            for ((channel, score), intervals) in channels.zip(&intervals[lead]) {
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
                for (_, of) in INTERVALS {
                    let ends = of(intervals).map(|[low, high]| format!(",{low},{high}"));
                    out += &ends.unwrap_or_else(|| ",,".into());
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
    for c in evaluation.shown() {
        let chance = c.chance.map_or("unknown".into(), |p| format!("{p:.3}"));
        let _ = writeln!(
            out,
            "beside {:12} {:>5} h: RMSE x {:.3}, ahead on {} of {} variables, chance {chance}",
            c.rival, c.lead_hours, c.ratio, c.ahead.0, c.ahead.1
        );
    }
    for (m, method) in evaluation.methods.iter().enumerate().skip(1) {
        let [ahead, level, behind, unknown] = evaluation.standings(m);
        if unknown == 0 {
            let _ = writeln!(
                out,
                "by variable and lead beside {:12} ahead {ahead}, level {level}, behind {behind}, \
                 beyond chance",
                method.method
            );
        }
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
