//! The report and the pictures of `fitzroy validate`.

use fitzroy::Result;
use fitzroy::validate::{Truth, Validation};
use fitzroy_report::draw::{Scene, Theme, png};
use fitzroy_report::figure::{Posterior, Style};
use fitzroy_report::report::{
    FigureOptions, Kind, RunFacts, figure_of, performance_figure, validation_page,
};
use fitzroy_report::source::Source;
use fitzroy_session::folder::Folder;
use serde_json::Value;

/// Writes `report.html` and four pictures; true when none failed. The draws are saved already.
pub(crate) fn write(folder: &mut Folder, found: &Validation, document: &Value) -> bool {
    let truths: Vec<(String, f64)> = [
        ("mu_pop", Truth::MU_POP),
        ("sigma_pop", Truth::SIGMA_POP),
        ("sigma_obs", Truth::SIGMA_OBS),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    let mut facts = RunFacts::from_document(document, "validation");
    facts.truths = truths.clone();
    facts.command = folder.face().command();
    let contenders = facts.contenders.clone();
    let trace = &found.outcome.trace;
    let on_gpu = found.gpu.as_ref();
    let mut traces = vec![trace];
    traces.extend(on_gpu.map(|gpu| &gpu.outcome.trace));
    let names: Vec<String> = contenders.iter().map(|c| c.name.clone()).collect();
    let page = Source::new(trace)
        .and_then(|source| validation_page(&source, &found.diagnosis, &facts))
        .and_then(|page| folder.write("report.html", &page.html()));
    let mut fine = folder.attempted_page("report.html", page);
    let population: Vec<String> = truths.iter().map(|(name, _)| name.clone()).collect();
    let figure = |kind: Kind, variables: &[String]| {
        let options = FigureOptions {
            variables: variables.to_vec(),
            compare: Posterior {
                reference: truths.clone(),
                rope: None,
            },
            style: Style::default(),
            threads: found.settings.run.sampler.threads,
        };
        // A forest shows both devices; the other figures have room for one.
        let shown = if kind == Kind::Forest {
            traces.len()
        } else {
            1
        };
        figure_of(&traces[..shown], &names[..shown], kind, &options)
    };
    let pictures: [(&str, Result<Scene>); 4] = [
        ("trace_plot.png", figure(Kind::Trace, &population)),
        ("posterior_plot.png", figure(Kind::Posterior, &population)),
        ("forest_plot.png", figure(Kind::Forest, &[])),
        (
            "performance_comparison.png",
            Ok(performance_figure(&contenders)),
        ),
    ];
    for (name, scene) in pictures {
        let written = scene
            .and_then(|scene| png(&scene, Theme::Light, 1.5))
            .and_then(|bytes| folder.write_bytes(name, &bytes));
        fine &= folder.attempted_page(name, written);
    }
    fine
}
