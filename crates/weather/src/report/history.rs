//! What a run has written to `metrics.jsonl`, read back.

use serde_json::Value;
use std::collections::BTreeMap;

/// One log line of training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepLine {
    /// Optimiser step.
    pub step: u64,
    /// Mean loss since the line before.
    pub loss: f64,
    /// Learning rate.
    pub rate: f64,
    /// Length of the gradient before clipping.
    pub norm: f64,
    /// Windows per second.
    pub samples_per_s: f64,
    /// Share of time spent waiting for data.
    pub data_wait: f64,
}

/// A run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Log lines by step.
    pub steps: Vec<StepLine>,
    /// Step and loss of each validation.
    pub validations: Vec<(u64, f64)>,
    /// Step, and losses near and far beside those of the start, of each validation.
    pub ratios: Vec<(u64, f64)>,
    /// By channel: step and root mean square error, in its units, of each validation at its longest
    /// lead.
    pub errors: Vec<(String, Vec<(u64, f64)>)>,
    /// Hours of that lead.
    pub lead_hours: Option<f64>,
}

impl History {
    /// Reads `metrics.jsonl`. A run that went on from a checkpoint has done some steps twice: the
    /// later line counts. A line that is cut short, as the last of a killed run may be, is left
    /// out.
    pub fn parse(text: &str) -> Self {
        let (mut steps, mut validations) = (BTreeMap::new(), BTreeMap::new());
        let mut ratios = BTreeMap::new();
        let mut errors: Vec<(String, BTreeMap<u64, f64>)> = Vec::new();
        let mut lead_hours = None;
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let Some(step) = line["step"].as_u64() else {
                continue;
            };
            let number = |name: &str| line[name].as_f64().unwrap_or(f64::NAN);
            let fields = line.as_object().into_iter().flatten();
            let labels = fields.filter_map(|(name, _)| name.strip_prefix("validation/rmse/"));
            for label in labels {
                let at = errors.iter().position(|(other, _)| other == label);
                let at = at.unwrap_or_else(|| {
                    errors.push((label.to_string(), BTreeMap::new()));
                    errors.len() - 1
                });
                let error = number(&format!("validation/rmse/{label}"));
                errors[at].1.insert(step, error);
            }
            lead_hours = line["validation/lead_hours"].as_f64().or(lead_hours);
            if line.get("validation/loss").is_some() {
                validations.insert(step, number("validation/loss"));
                if line.get("validation/ratio").is_some() {
                    ratios.insert(step, number("validation/ratio"));
                }
            } else if line.get("train/loss").is_some() {
                let line = StepLine {
                    step,
                    loss: number("train/loss"),
                    rate: number("train/learning_rate"),
                    norm: number("train/gradient_norm"),
                    samples_per_s: number("train/samples_per_s"),
                    data_wait: number("train/data_wait"),
                };
                steps.insert(step, line);
            }
        }
        History {
            steps: steps.into_values().collect(),
            validations: validations.into_iter().collect(),
            ratios: ratios.into_iter().collect(),
            errors: errors
                .into_iter()
                .map(|(label, errors)| (label, errors.into_iter().collect()))
                .collect(),
            lead_hours,
        }
    }

    /// Step and loss of the best validation: that of the smallest ratio, where ratios were logged.
    pub fn best(&self) -> Option<(u64, f64)> {
        let least = |of: &[(u64, f64)]| {
            let finite = of.iter().filter(|v| v.1.is_finite());
            finite.min_by(|a, b| a.1.total_cmp(&b.1)).copied()
        };
        let Some((step, _)) = least(&self.ratios) else {
            return least(&self.validations);
        };
        self.validations.iter().find(|v| v.0 == step).copied()
    }
}
