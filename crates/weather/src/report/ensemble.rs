//! Whether an ensemble is as uncertain as it says.

use super::tables::titled;
use crate::evaluate::{Evaluation, Score};
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, said};
use fitzroy_report::page::{Cell, Column, State, Table};

/// A ratio of spread to error outside of these is marked.
const FITTING: (f64, f64) = (0.8, 1.25);

fn ratio(score: &Score) -> f64 {
    score.spread.unwrap_or(f64::NAN) / score.rmse
}

/// Spread of the members and error of their mean by lead, variable by variable.
pub fn spread_figure(found: &Evaluation, style: &Style) -> Scene {
    let leads = found.methods[0].scores.len();
    let hours: Vec<f64> = (1..=leads).map(|k| k as f64 * found.step_hours).collect();
    let chart = |k: usize| {
        let of = |f: &dyn Fn(&Score) -> f64| -> Vec<f64> {
            found.methods[0]
                .scores
                .iter()
                .map(|lead| f(&lead[k]))
                .collect()
        };
        let line = |name: &str, y: Vec<f64>, stroke: Stroke| Layer::Line {
            name: name.into(),
            x: hours.clone(),
            y,
            stroke,
        };
        let (error, spread) = (of(&|s| s.rmse), of(&|s| s.spread.unwrap_or(f64::NAN)));
        let both = error.iter().chain(&spread).filter(|y| y.is_finite());
        let top = 1.15 * both.fold(0.0_f64, |a, b| a.max(*b));
        let layers = vec![
            line("error of the mean", error, Stroke::series(0, 2.4)),
            line("spread", spread, Stroke::series(1, 2.0)),
            line("CRPS", of(&|s| s.crps), Stroke::new(Ink::Muted, 1.2)),
        ];
        let channel = &found.channels[k];
        let mut chart = Chart::new(channel.label(), "hours ahead", &channel.units, layers);
        chart.y.range = if top > 0.0 { [0.0, top] } else { [0.0, 1.0] };
        chart
    };
    let all: Vec<Chart> = (0..found.channels.len()).map(chart).collect();
    charts("Spread and error by lead time", &all, 3, 200.0, style)
}

/// The same as a table, with what the ensemble gains over a member.
pub(super) fn spread(found: &Evaluation) -> Table {
    let columns = vec![
        Column::text("variable"),
        Column::number("hours", "hours ahead"),
        Column::number("error", "root mean square error of the mean of the members"),
        Column::number("member", "root mean square error of the first member"),
        Column::number("spread", "of the members, √((M+1)/M mean variance)"),
        Column::number(
            "spread / error",
            "1 where the members are as uncertain as they say",
        ),
        Column::number("CRPS", "continuous ranked probability score"),
        Column::number("MAE of a member", "its CRPS"),
    ];
    let member = found.methods.iter().find(|m| m.method == "member");
    let mut rows = Vec::new();
    for (k, channel) in found.channels.iter().enumerate() {
        for (lead, scores) in found.methods[0].scores.iter().enumerate() {
            let own = &scores[k];
            let ratio = ratio(own);
            let fits = (FITTING.0..FITTING.1).contains(&ratio);
            let cell = Cell::from(format!("{ratio:.2}"));
            let of_member = |f: fn(&Score) -> f64| -> Cell {
                member.map_or("–".into(), |m| said(f(&m.scores[lead][k])).into())
            };
            rows.push(vec![
                titled(channel).into(),
                said((lead + 1) as f64 * found.step_hours).into(),
                said(own.rmse).into(),
                of_member(|s| s.rmse),
                said(own.spread.unwrap_or(f64::NAN)).into(),
                if fits { cell } else { cell.state(State::Warn) },
                said(own.crps).into(),
                of_member(|s| s.mae),
            ]);
        }
    }
    Table {
        caption: format!("Spread and error of {} members", found.n_members),
        columns,
        rows,
        note: "Marked where spread and error differ by more than a fifth. Members that differ in their seeds alone are \
               mostly too sure of themselves: they share the data, the network and the start."
            .into(),
        ..Table::default()
    }
}
