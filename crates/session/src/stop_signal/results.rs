//! What a fit leaves beside its draws: estimates of every subject, and figures.

use super::correlations;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, hdi, quantile_of_sorted};
use fitzroy::draws::Trace;
use fitzroy::report::csv_field;
use fitzroy_report::draw::{Scene, Theme, png};
use fitzroy_report::figure::{ForestColumn, Style};
use fitzroy_report::page::{Block, Section};
use fitzroy_report::report::{RunFacts, sampling_page};
use fitzroy_report::source::Source;
use fitzroy_stop_signal::data::Study;
use fitzroy_stop_signal::figure::{self, Estimate};
use fitzroy_stop_signal::model::Spec;
use fitzroy_stop_signal::predictive;
use serde_json::Value;

/// Draws that replicates are made at, for the figures of the report.
const REPLICATES: usize = 100;

/// Mean, sd and 90 % interval of one recorded element.
pub(super) fn estimate(trace: &Trace, name: &str, element: usize) -> Option<[f64; 4]> {
    let mut sorted = trace
        .group("posterior")?
        .variable(name)?
        .element(element)
        .concat();
    sorted.sort_by(f64::total_cmp);
    let q = |p: f64| quantile_of_sorted(&sorted, p);
    let mean = fitzroy::diagnose::mean(&sorted);
    Some([mean, fitzroy::diagnose::sd(&sorted), q(0.05), q(0.95)])
}

/// `subject,parameter,mean,sd,q05,q95`
pub fn subjects_csv(trace: &Trace, spec: &Spec, subjects: &[String]) -> String {
    let mut out = String::from("subject,parameter,mean,sd,q05,q95\n");
    let derived = spec.kind.derived().iter().map(|d| d.name);
    let names: Vec<&str> = spec.names().into_iter().chain(derived).collect();
    for (i, subject) in subjects.iter().enumerate() {
        for name in &names {
            if let Some([mean, sd, low, high]) = estimate(trace, name, i) {
                let subject = csv_field(subject);
                out += &format!("{subject},{name},{mean},{sd},{low},{high}\n");
            }
        }
    }
    out
}

/// Group medians and one quantity of every subject, for forests.
pub fn estimates(trace: &Trace, found: &Diagnosis, spec: &Spec) -> [Vec<Estimate>; 2] {
    let column = |row: &fitzroy::diagnose::Row| -> Option<Estimate> {
        let element = *row.index.first().unwrap_or(&0);
        let variable = trace.group("posterior")?.variable(&row.name)?;
        let mut sorted = variable.element(element).concat();
        sorted.sort_by(f64::total_cmp);
        let q = |p: f64| quantile_of_sorted(&sorted, p);
        let s = &row.statistics;
        let column = ForestColumn {
            mean: s.mean,
            inner: [q(0.25), q(0.75)],
            outer: hdi(&sorted, 0.89).into(),
            r_hat: s.r_hat,
            ess: s.ess_bulk,
        };
        Some((row.name.clone(), row.label(), column))
    };
    let group = |name: &str| name.starts_with("mu_") || name.starts_with("sigma_");
    let of_subject = if spec.kind.stops() { "ssrt" } else { "B" };
    let pick = |f: &dyn Fn(&str) -> bool, most: usize| -> Vec<Estimate> {
        let rows = found.summary.rows.iter().filter(|r| f(&r.name));
        rows.take(most).filter_map(column).collect()
    };
    [pick(&group, 60), pick(&|n| n == of_subject, 60)]
}

/// Writes a file of the run: its name, and what it holds.
pub type Write<'a> = dyn FnMut(&str, &[u8]) -> Result<()> + 'a;

/// What a fit is about, besides its draws.
pub struct About<'a> {
    /// The model.
    pub spec: &'a Spec,
    /// The data.
    pub study: &'a Study,
    /// Of the replicates.
    pub seed: u64,
    /// The command line that made it.
    pub command: String,
}

/// The report of the run with the model's own figures, and these as PNG.
///
/// # Errors
/// The trace lacks a parameter of the model; a file cannot be written.
pub fn report(
    write: &mut Write<'_>,
    trace: &Trace,
    found: &Diagnosis,
    document: &Value,
    about: &About<'_>,
) -> Result<()> {
    let About {
        spec, study, seed, ..
    } = *about;
    // A run that was stopped early has draws of some subjects.
    let drawn = predictive::subjects_of(trace);
    let study = &study.some(|k| drawn.contains(&study.subjects[k]));
    let source = Source::new(trace)?;
    let mut facts = RunFacts::from_document(document, "stop-signal");
    facts.command.clone_from(&about.command);
    let mut page = sampling_page(&source, found, &facts)?;
    let style = Style::default();
    let mut own = Vec::new();
    if spec.kind.stops() {
        let scene = behaviour(trace, study, spec, seed, REPLICATES)?.1;
        write("behaviour.png", &png(&scene, Theme::Light, 1.5)?)?;
        let caption = "Dots are the data, bands what the fitted model gives in a repetition with \
                       the same delays. Slow responses are the ones that get stopped: within a \
                       subject signal-respond RT lies below go RT.";
        own.push(Block::Figure {
            scene,
            caption: caption.into(),
        });
    }
    let forests: Vec<Scene> = estimates(trace, found, spec)
        .into_iter()
        .filter(|rows| !rows.is_empty())
        .map(|rows| figure::forest(&rows, &style))
        .collect();
    if let Some(first) = forests.first() {
        write("forest.png", &png(first, Theme::Light, 1.5)?)?;
    }
    own.extend(forests.into_iter().map(|scene| Block::Figure {
        scene,
        caption: String::new(),
    }));
    if let Some(table) = correlations::block(trace, spec.kind) {
        let section = Section::new("Correlations of subjects' parameters", vec![table]);
        page.sections.insert(0, section);
    }
    page.sections
        .insert(0, Section::new("Stop-signal model", own));
    write("report.html", page.html().as_bytes())
}

/// Statistics against replicates, and their figure.
///
/// # Errors
/// The trace lacks a parameter of the model.
pub fn behaviour(
    trace: &Trace,
    study: &Study,
    spec: &Spec,
    seed: u64,
    n: usize,
) -> Result<(Vec<predictive::Compared>, Scene)> {
    let draws = predictive::draws_of(trace, spec.kind, &study.subjects, n)?;
    let all = predictive::compare(study, &draws, spec, seed);
    let go = study
        .rows
        .iter()
        .filter(|r| !r.is_stop() && r.trial.rt.is_finite());
    let go: Vec<f64> = go.map(|r| r.trial.rt).collect();
    let scene = figure::behaviour(&all, fitzroy::diagnose::mean(&go), &Style::default());
    Ok((all, scene))
}
