//! The figures of the model: data against posterior predictive, and a page of all of it.

use crate::check::{Check, State};
use crate::predictive::{Compared, Statistic};
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, ForestColumn, ForestRow, Layer, Style, charts, forest_figure};
use fitzroy_report::page::{Block, Cell, Column, Page, Section, State as Look, Table, Verdict};

const POINT: f64 = 6.0;

/// Data (dots) and replicates (band) of the statistics that `at` gives a place.
fn layers(
    all: &[Compared],
    at: impl Fn(Statistic) -> Option<f64>,
    ink: Ink,
    name: &str,
) -> Vec<Layer> {
    let chosen: Vec<(f64, &Compared)> = all
        .iter()
        .filter_map(|c| Some((at(c.statistic)?, c)))
        .filter(|(_, c)| c.observed.is_finite() && c.quantile(0.5).is_finite())
        .collect();
    let x: Vec<f64> = chosen.iter().map(|c| c.0).collect();
    let of = |q: f64| -> Vec<f64> { chosen.iter().map(|c| c.1.quantile(q)).collect() };
    let label = |what: &str| format!("{what}{name}");
    vec![
        Layer::Band {
            name: label("90 % of replicates"),
            x: x.clone(),
            low: of(0.05),
            high: of(0.95),
            ink,
        },
        Layer::Line {
            name: label("median of replicates"),
            x: x.clone(),
            y: of(0.5),
            stroke: Stroke::new(ink, 1.5),
        },
        Layer::Points {
            name: label("data"),
            x,
            y: chosen.iter().map(|c| c.1.observed).collect(),
            ink: if name.is_empty() { Ink::Text } else { ink },
            size: POINT,
        },
    ]
}

/// The inhibition function, signal-respond and go response times, accuracy by delay, and quantiles
/// of response times, each against the posterior predictive. `go_rt` is the mean of the data.
pub fn behaviour(all: &[Compared], go_rt: f64, style: &Style) -> Scene {
    let of = |pick: fn(Statistic) -> Option<f64>| layers(all, pick, Ink::Series(0), "");
    let inhibition = of(|w| match w {
        Statistic::Respond(d) => Some(d),
        _ => None,
    });
    let accuracy = of(|w| match w {
        Statistic::Accuracy(d) => Some(d),
        _ => None,
    });
    let mut times = of(|w| match w {
        Statistic::Time(d) => Some(d),
        _ => None,
    });
    if let Some(Layer::Band { x, .. }) = times.first() {
        let ends = vec![
            x.first().copied().unwrap_or(0.0),
            x.last().copied().unwrap_or(1.0),
        ];
        let stroke = Stroke::new(Ink::Mark, 1.2).dashed(5.0, 4.0);
        times.push(Layer::Line {
            name: "mean go RT".into(),
            x: ends,
            y: vec![go_rt; 2],
            stroke,
        });
    }
    let mut quantiles = of(|w| match w {
        Statistic::Quantile(true, q) => Some(q),
        _ => None,
    });
    let wrong = |w| match w {
        Statistic::Quantile(false, q) => Some(q),
        _ => None,
    };
    quantiles.extend(layers(all, wrong, Ink::Series(1), ", wrong responses"));
    let delay = "stop-signal delay (s)";
    charts(
        "Stop-signal behaviour: data against posterior predictive",
        &[
            Chart::new("Inhibition function", delay, "P(respond)", inhibition),
            Chart::new("Signal-respond RT", delay, "mean RT (s)", times),
            Chart::new(
                "Accuracy of signal-respond trials",
                delay,
                "share right",
                accuracy,
            ),
            Chart::new("Go RT quantiles", "quantile", "RT (s)", quantiles),
        ],
        2,
        300.0,
        style,
    )
}

/// One parameter in words, its mean, 50 % and wide interval.
pub type Estimate = (String, String, ForestColumn);

/// Means and intervals of group values, then of one quantity of every subject.
pub fn forest(rows: &[Estimate], style: &Style) -> Scene {
    let rows: Vec<ForestRow> = rows
        .iter()
        .map(|(variable, label, column)| ForestRow {
            variable: variable.clone(),
            label: label.clone(),
            traces: vec![Some(*column)],
        })
        .collect();
    forest_figure(&rows, &["posterior".into()], 0, style)
}

/// A page of checks and figures.
pub fn page(title: &str, checks: &[Check], behaviour: Option<Scene>, forests: Vec<Scene>) -> Page {
    let bad = checks.iter().filter(|c| c.state == State::Fail).count();
    let look = checks.iter().filter(|c| c.state == State::Finding).count();
    let mut page = Page::new(title);
    page.kind = "Stop-signal model".into();
    page.verdict = Some(match (bad, look) {
        (0, 0) => Verdict::new(Look::Good, "All checks passed", ""),
        (0, n) => Verdict::new(
            Look::Warn,
            "The data differ from what the model predicts in places",
            &format!("{n} statistics lie outside 99 % of replicates"),
        ),
        (n, _) => Verdict::new(
            Look::Bad,
            "Not all checks passed",
            &format!("{n} failed, see the table"),
        ),
    });
    let look_of = |s: State| match s {
        State::Pass => Look::Good,
        State::Fail => Look::Bad,
        State::Skipped => Look::Plain,
        State::Finding => Look::Warn,
    };
    let row = |c: &Check| {
        vec![
            Cell::from(c.state.word()).state(look_of(c.state)),
            c.name.as_str().into(),
            c.found.as_str().into(),
            c.needed.as_str().into(),
        ]
    };
    let table = Table {
        columns: ["", "check", "found", "needed"].map(Column::text).to_vec(),
        rows: checks.iter().map(row).collect(),
        series: vec![None; checks.len()],
        ..Table::default()
    };
    if let Some(scene) = behaviour {
        let caption = "Dots are the data of all subjects, bands what the fitted model would give in \
                       a repetition with the same delays. Slow responses are the ones that get \
                       stopped, so within a subject signal-respond RT lies below go RT; pooled, the \
                       curve rises with the delay because only slow subjects get there.";
        page.sections.push(Section::new(
            "Behaviour",
            vec![Block::Figure {
                scene,
                caption: caption.into(),
            }],
        ));
    }
    page.sections
        .push(Section::new("Checks", vec![Block::Table(table)]));
    let figures = forests.into_iter().map(|scene| Block::Figure {
        scene,
        caption: String::new(),
    });
    page.sections
        .push(Section::new("Estimates", figures.collect()));
    page.footer = format!("fitzroy {}", env!("CARGO_PKG_VERSION"));
    page
}
