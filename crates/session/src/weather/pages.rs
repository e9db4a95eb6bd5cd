//! The pages that training and scoring leave behind, and their pictures.

use crate::clock::timestamp;
use crate::face::Face;
use crate::folder::{Folder, replace};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::probe;
use fitzroy_report::draw::{Scene, Theme, png, svg};
use fitzroy_report::figure::Style;
use fitzroy_weather::data::Contents;
use fitzroy_weather::evaluate::Evaluation;
use fitzroy_weather::report::{
    History, error_maps, evaluation_page, leads_figure, maps_figures, rates_figure, rates_page,
    spectra_figure, spread_figure, training_page,
};
use fitzroy_weather::train::{Plan, Problem, Profile, Rates, Settings};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What a run says of itself; `fitzroy report` reads it.
const DOCUMENT: &str = "run.json";
const METRICS: &str = "metrics.jsonl";

/// Writes a file with settings as `face` spells them.
fn write(path: &Path, bytes: &[u8], face: &dyn Face) -> Result<()> {
    replace(path, &face.spelling().spell_bytes(bytes))
}

/// True for the folder of an evaluation.
pub fn is_evaluation(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("scores.json")).unwrap_or_default();
    let scores: Value = serde_json::from_str(&text).unwrap_or_default();
    scores["forecasts"].is_u64() && scores["scores"].is_array()
}

/// The page of an evaluation lies beside its scores: it holds maps, which the scores do not, so it is
/// copied and not made anew.
pub fn evaluation_report(folder: &Path, out: Option<&Path>, face: &dyn Face) -> Result<PathBuf> {
    let page = folder.join("report.html");
    let html = std::fs::read(&page).map_err(|error| {
        let message = format!(
            "{}: {error}; the page of an evaluation is made with its scores: run `fitzroy weather \
             evaluate` again",
            page.display()
        );
        Error::new(ErrorKind::Io, message)
    })?;
    let Some(out) = out else {
        return Ok(page);
    };
    write(out, &html, face)?;
    Ok(out.to_path_buf())
}

/// True for the folder of a training run.
pub fn is_training(folder: &Path) -> bool {
    folder.join(METRICS).is_file()
}

/// Writes what a run says of itself before its first step.
pub(super) fn begin(
    folder: &Path,
    (data, contents): (&[String], &Contents),
    problem: &Problem,
    (settings, plan, place): (&Settings, &Plan, &str),
    face: &dyn Face,
) -> Result<()> {
    let (s, architecture) = (settings, &problem.architecture);
    let cpu = probe::cpu();
    let document = json!({
        "program": "fitzroy", "version": VERSION, "kind": "weather training",
        "command": face.command(), "date": timestamp(), "data": data.join(", "),
        "device": format!("{}, {}, {}", cpu.model, probe::level_name(cpu.simd), place),
        "contents": contents.to_json(),
        "seed": s.seed,
        "reading": problem.provenance.reading,
        "init_from": problem.provenance.origin,
        "network": {
            "latent_size": architecture.latent, "message_layers": architecture.n_layers,
            "hidden_size": architecture.hidden, "hidden_layers": architecture.n_hidden,
        },
        "plan": {
            "parameters": plan.n_parameters, "flops_per_step": plan.flops_per_step,
            "memory_bytes": plan.total_bytes(), "nodes_pruned": plan.n_pruned,
            "training_windows": plan.windows.0, "planned_steps": plan.steps.1,
        },
        "settings": {
            "batch_size": s.batch_size, "accumulate": s.accumulate, "epochs": s.n_epochs,
            "rollout_steps": s.rollout_steps, "learning_rate": s.learning_rate,
            "gradient_clip_norm": s.clip_norm, "weight_decay": s.weight_decay, "ema": s.average,
            "recompute": format!("{:?}", s.recompute).to_lowercase(), "prefetch": s.prefetch,
        },
    });
    write(
        &folder.join(DOCUMENT),
        format!("{document:#}\n").as_bytes(),
        face,
    )
}

/// Adds how the run ended, and writes its page.
pub(super) fn end(folder: &Path, outcome: &Value, face: &dyn Face) -> Result<()> {
    let mut document = document(folder)?;
    if let (Some(all), Some(more)) = (document.as_object_mut(), outcome.as_object()) {
        all.extend(more.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    write(
        &folder.join(DOCUMENT),
        format!("{document:#}\n").as_bytes(),
        face,
    )?;
    training_report(folder, &folder.join("report.html"), face)
}

fn document(folder: &Path) -> Result<Value> {
    let path = folder.join(DOCUMENT);
    let wrong = |kind, error: &dyn std::fmt::Display| {
        Error::new(kind, format!("{}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(ErrorKind::Io, &e))?;
    serde_json::from_str(&text).map_err(|e| wrong(ErrorKind::Data, &e))
}

/// The page of a training run, as far as it has come.
pub fn training_report(folder: &Path, out: &Path, face: &dyn Face) -> Result<()> {
    let metrics = folder.join(METRICS);
    let text = std::fs::read_to_string(&metrics).map_err(|error| {
        let message = format!("{}: {error}", metrics.display());
        Error::new(ErrorKind::Io, message)
    })?;
    // A run that was killed before its first step has no document.
    let document = document(folder).unwrap_or(Value::Null);
    let page = training_page(&History::parse(&text), &document);
    write(out, page.html().as_bytes(), face)
}

/// Where the time went, as a table and as a trace for a browser.
pub fn profile(folder: &Path, found: &Profile, face: &dyn Face) -> Result<String> {
    let mut table = found.table();
    if let Some(bytes) = probe::peak_bytes() {
        let mib = bytes as f64 / f64::from(1 << 20);
        table += &format!("peak memory of the process {mib:.0} MiB\n");
    }
    write(&folder.join("profile.txt"), table.as_bytes(), face)?;
    let trace = found.trace().to_string();
    write(&folder.join("profile.json"), trace.as_bytes(), face)?;
    Ok(table)
}

/// The page of a search for a learning rate, and its figure.
pub(super) fn rates(folder: &mut Folder, found: &Rates) -> Result<()> {
    let command = folder.face().command();
    let page = rates_page(found, &command, VERSION);
    folder.write("report.html", &page.html())?;
    let scene = rates_figure(found, &Style::default());
    folder.write("learning-rate.svg", &svg(&scene, Theme::Light))?;
    folder.write_bytes("learning-rate.png", &png(&scene, Theme::Light, 1.5)?)
}

/// The page of scores, and with `pictures` its figures as files of their own.
pub(super) fn scores(
    folder: &mut Folder,
    found: &Evaluation,
    channels: &[usize],
    checkpoints: &[PathBuf],
    pictures: bool,
) -> Result<()> {
    let shown = checkpoints.iter().map(|p| p.display().to_string());
    let shown = shown.collect::<Vec<String>>().join(", ");
    let command = folder.face().command();
    let page = evaluation_page(found, channels, &shown, &command, VERSION);
    folder.write("report.html", &page.html())?;
    if !pictures {
        return Ok(());
    }
    let style = Style::default();
    let mut picture = |name: &str, scene: &Scene| -> Result<()> {
        folder.write(&format!("{name}.svg"), &svg(scene, Theme::Light))?;
        folder.write_bytes(&format!("{name}.png"), &png(scene, Theme::Light, 1.5)?)
    };
    picture("lead_times", &leads_figure(found, &style))?;
    if found.n_members > 1 {
        picture("spread_skill", &spread_figure(found, &style))?;
    }
    if let Some(scene) = spectra_figure(found, &style) {
        picture("spectra", &scene)?;
    }
    let numbered = |name: &str, number: usize| match number {
        0 => name.to_string(),
        _ => format!("{name}-{}", number + 1),
    };
    for (number, scene) in maps_figures(found, channels, &style).1.iter().enumerate() {
        picture(&numbered("maps", number), scene)?;
    }
    for (number, scene) in error_maps(found, channels, &style).iter().enumerate() {
        picture(&numbered("error-maps", number), scene)?;
    }
    Ok(())
}
