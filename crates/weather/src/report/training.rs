//! The page of a training run: did it learn, is it still learning, what did it cost.

use super::history::History;
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, count, said};
use fitzroy_report::page::{Block, Card, Page, Section, State, Verdict};
use fitzroy_report::report::seconds;
use serde_json::Value;

/// Share of time waiting for data above which something should be done.
const WAIT_MAX: f64 = 0.1;
/// A best validation before this share of the steps means that the rest was for nothing.
const EARLY: f64 = 0.6;

/// Losses, learning rate, gradient and speed over the steps.
pub fn training_figure(history: &History, style: &Style) -> Scene {
    let steps: Vec<f64> = history.steps.iter().map(|s| s.step as f64).collect();
    let line = |name: &str, y: Vec<f64>, k: usize| Layer::Line {
        name: name.into(),
        x: steps.clone(),
        y,
        stroke: Stroke::series(k, 1.4),
    };
    let of = |f: fn(&super::StepLine) -> f64| history.steps.iter().map(f).collect::<Vec<f64>>();
    let mut losses = vec![line("training", of(|s| s.loss), 0)];
    let (x, y): (Vec<f64>, Vec<f64>) = history
        .validations
        .iter()
        .map(|&(step, loss)| (step as f64, loss))
        .unzip();
    losses.push(Layer::Line {
        name: "validation".into(),
        x: x.clone(),
        y: y.clone(),
        stroke: Stroke::series(1, 1.8),
    });
    losses.push(Layer::Points {
        name: String::new(),
        x,
        y,
        ink: Ink::Series(1),
        size: 4.0,
    });
    if let Some((step, loss)) = history.best() {
        losses.push(Layer::Points {
            name: "best".into(),
            x: vec![step as f64],
            y: vec![loss],
            ink: Ink::Mark,
            size: 8.0,
        });
    }
    charts(
        "Training: losses, learning rate, length of the gradient, speed",
        &[
            Chart::new("Loss", "step", "loss (log)", losses).log(false, true),
            Chart::new(
                "Learning rate",
                "step",
                "rate",
                vec![line("", of(|s| s.rate), 0)],
            ),
            Chart::new(
                "Gradient before clipping",
                "step",
                "length (log)",
                vec![line("", of(|s| s.norm), 0)],
            )
            .log(false, true),
            Chart::new(
                "Speed",
                "step",
                "windows a second",
                vec![line("", of(|s| s.samples_per_s), 0)],
            ),
        ],
        2,
        260.0,
        style,
    )
}

/// The page of a run, from its history and the document beside it (`run.json`). A document without
/// `ended` is that of a run that goes on, or was killed.
pub fn training_page(history: &History, document: &Value) -> Page {
    let mut page = Page::new("Weather: training");
    page.kind = "A graph network for a region".into();
    let text = |name: &str| document[name].as_str().map(str::to_string);
    for (label, name) in [("began", "date"), ("device", "device"), ("data", "data")] {
        page.facts
            .extend(text(name).map(|value| (label.to_string(), value)));
    }
    page.facts.extend(origin(document));
    page.verdict = Some(verdict(history, document));
    page.cards = cards(history, document);
    let figure = Block::Figure {
        scene: training_figure(history, &Style::default()),
        caption: "Validation uses the averaged parameters where an average is kept, and one step \
                  ahead; training loss is that of the batches since the line before, over as many \
                  steps as are trained on. A validation that rises while training falls is \
                  learning by heart."
            .into(),
    };
    page.sections.push(Section::new(
        "Course",
        vec![Block::Text(summary(history)), figure],
    ));
    if let (Some(hours), false) = (history.lead_hours, history.errors.is_empty()) {
        let figure = Block::Figure {
            scene: errors_figure(history, &Style::default()),
            caption: format!(
                "Root mean square error of validation forecasts {hours} hours ahead, as a share of \
                 that before the first step (the grey line). Above it a variable is worse than at \
                 the start."
            ),
        };
        let title = "Validation by variable";
        page.sections.push(Section::new(title, vec![figure]));
    }
    let facts = settings(document);
    if !facts.is_empty() {
        let section = Section::new("Network and settings", vec![Block::Facts(facts)]);
        page.sections.push(section.folded());
    }
    page.sections
        .extend(text("command").map(|command| Section::command(&command)));
    page.footer = format!("Fitzroy {}", text("version").unwrap_or_default());
    page
}

/// Where training began: the checkpoint and the channels that are new, or the seed.
fn origin(document: &Value) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let origin = &document["init_from"];
    if let Some(from) = origin["checkpoint"].as_str() {
        facts.push(("started from".into(), from.into()));
        let new = origin["new_channels"].as_array().into_iter().flatten();
        let new: Vec<&str> = new.filter_map(Value::as_str).collect();
        if !new.is_empty() {
            facts.push(("new channels".into(), new.join(", ")));
        }
    }
    let seed = document["seed"].as_u64();
    facts.extend(seed.map(|seed| ("seed".into(), seed.to_string())));
    facts
}

/// Plan, settings and network by name, but for what is a list.
fn settings(document: &Value) -> Vec<(String, String)> {
    let groups = ["plan", "settings", "network"].into_iter();
    let all = groups
        .filter_map(|group| document[group].as_object())
        .flatten();
    let fact = |(name, value): (&String, &Value)| {
        let shown = match value {
            Value::String(text) => text.clone(),
            Value::Object(_) | Value::Array(_) => return None,
            other => other.to_string(),
        };
        Some((name.replace('_', " "), shown))
    };
    all.filter_map(fact).collect()
}

/// Validation errors of each variable over the steps, as shares of the first; a chart each, with a line for
/// each level.
pub fn errors_figure(history: &History, style: &Style) -> Scene {
    let variable = |label: &str| label.split(' ').next().unwrap_or(label).to_string();
    let mut names: Vec<String> = Vec::new();
    for (label, _) in &history.errors {
        if !names.contains(&variable(label)) {
            names.push(variable(label));
        }
    }
    let chart = |name: &String| {
        let own = history.errors.iter().filter(|(l, _)| variable(l) == *name);
        let mut layers = Vec::new();
        for (k, (label, errors)) in own.enumerate() {
            let first = errors.first().map_or(f64::NAN, |e| e.1);
            let level = label.strip_prefix(name.as_str()).unwrap_or_default();
            layers.push(Layer::Line {
                name: level.trim().into(),
                x: errors.iter().map(|e| e.0 as f64).collect(),
                y: errors.iter().map(|e| e.1 / first).collect(),
                stroke: Stroke::series(k, 1.6),
            });
        }
        let steps = history.errors.iter().flat_map(|(_, errors)| errors);
        let last = steps.map(|e| e.0).max().unwrap_or(0) as f64;
        layers.push(Layer::Line {
            name: String::new(),
            x: vec![0.0, last],
            y: vec![1.0, 1.0],
            stroke: Stroke::new(Ink::Muted, 1.0),
        });
        Chart::new(name.as_str(), "step", "RMSE / start's", layers)
    };
    let all: Vec<Chart> = names.iter().map(chart).collect();
    charts("Validation by variable", &all, 3, 200.0, style)
}

fn summary(history: &History) -> String {
    let Some(last) = history.steps.last() else {
        return "No step has been logged yet.".into();
    };
    let best = history
        .best()
        .map_or("no validation yet".into(), |(step, loss)| {
            format!(
                "best validation loss {} at step {}",
                said(loss),
                count(step as usize)
            )
        });
    format!(
        "{} steps; training loss {} at the end, {best}. The loss counts errors in units of what \
         the start leaves: 1 is what it costs to learn nothing.",
        count(last.step as usize),
        said(last.loss)
    )
}

fn verdict(history: &History, document: &Value) -> Verdict {
    let (state, headline) = match document["ended"].as_str() {
        Some("finished" | "early") if !behind(document).is_empty() => (
            State::Warn,
            "Training ended, and its forecasts are behind those of its start at some leads",
        ),
        Some("finished") => (State::Good, "Training finished"),
        Some("early") => (
            State::Good,
            "Training ended early: validation did not improve any more",
        ),
        Some("profiled") => (State::Plain, "Some steps were looked at for a profile"),
        Some("interrupted") => (
            State::Warn,
            "Training was interrupted; it can go on from its checkpoint",
        ),
        Some("diverged") => (State::Bad, "Training diverged"),
        Some("degenerate") => (
            State::Bad,
            "The last loss is 0 or not finite: nothing can have been learnt",
        ),
        _ => (State::Plain, "Training goes on, or was killed"),
    };
    let detail = summary(history);
    let mut verdict = Verdict::new(state, headline, &detail);
    verdict.findings = findings(history, document);
    verdict
}

/// Hours at which the best checkpoint is behind the start of training.
fn behind(document: &Value) -> Vec<String> {
    let leads = document["beside_start"].as_array().into_iter().flatten();
    let behind = leads.filter(|b| !b["rmse_ratio"].as_f64().is_some_and(|r| r < 1.0));
    behind.map(|b| b["lead_hours"].to_string()).collect()
}

fn findings(history: &History, document: &Value) -> Vec<(String, String)> {
    let mut findings = Vec::new();
    let mut add = |fact: String, advice: &str| findings.push((fact, advice.to_string()));
    let behind = behind(document);
    if !behind.is_empty() {
        let advice = "train on longer forecasts (⟨rollout_steps⟩), on more data, or longer";
        add(
            format!(
                "validation forecasts are behind those of the untrained start at {} h",
                behind.join(", ")
            ),
            advice,
        );
    }
    if document["ended"] == "diverged" {
        let advice = "lower ⟨learning_rate⟩, or look at the data; the last good checkpoint stands";
        add(
            "the gradient was not finite three times in a row".into(),
            advice,
        );
    }
    if let Some(n) = document["skipped_updates"].as_u64().filter(|&n| n > 0) {
        add(
            format!("{n} updates were skipped because the gradient was not finite"),
            "lower ⟨learning_rate⟩",
        );
    }
    let wait = document["data_wait"].as_f64();
    if let Some(wait) = wait.filter(|&w| w > WAIT_MAX) {
        add(
            format!(
                "{:.0} % of the time was spent waiting for data",
                100.0 * wait
            ),
            "raise ⟨prefetch_buffer_size⟩, or train with fewer threads so that one is left for \
             data",
        );
    }
    if let (Some((step, _)), Some(last)) = (history.best(), history.steps.last()) {
        let later = history.validations.iter().filter(|v| v.0 > step).count();
        if (step as f64) < EARLY * last.step as f64 && later >= 2 {
            add(
                format!(
                    "the best validation was at step {} of {}",
                    count(step as usize),
                    count(last.step as usize)
                ),
                "the network learns by heart: more data, a smaller one, ⟨ema⟩, or a shorter run",
            );
        } else if step == history.validations.last().map_or(0, |v| v.0) && later == 0 {
            add(
                "the last validation was the best".into(),
                "a longer run is likely to be better still",
            );
        }
    }
    findings
}

fn cards(history: &History, document: &Value) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some((step, loss)) = history.best() {
        let note = format!("at step {}", count(step as usize));
        cards.push(Card::new("best validation loss", &said(loss)).note(note));
    }
    if let Some(last) = history.steps.last() {
        cards.push(Card::new("training loss", &said(last.loss)).note("last log line"));
        cards.push(Card::new("steps", &count(last.step as usize)));
    }
    let mut speeds: Vec<f64> = history.steps.iter().map(|s| s.samples_per_s).collect();
    speeds.retain(|s| s.is_finite());
    speeds.sort_by(f64::total_cmp);
    if let Some(median) = speeds.get(speeds.len() / 2) {
        cards.push(Card::new("windows a second", &said(*median)).note("median"));
    }
    if let Some(wait) = document["data_wait"].as_f64() {
        let card = Card::new("data wait", &format!("{} %", said(100.0 * wait)));
        let state = if wait > WAIT_MAX {
            State::Warn
        } else {
            State::Good
        };
        cards.push(card.state(state).note("share of the time"));
    }
    if let Some(total) = document["total_s"].as_f64() {
        cards.push(Card::new("time", &seconds(total)));
    }
    cards
}
