//! How fields lie in space: rain in its place, spectra, and maps of errors.

use super::evaluation::MAPS_EACH;
use super::ground::Ground;
use crate::evaluate::{Evaluation, RAINS_MM, SIDES, Spectrum};
use fitzroy_report::draw::{Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, heat_figure, said, tint_of};
use fitzroy_report::page::{Cell, Column, Table};

/// Fractions skill scores, method by method and lead by lead; none without rain.
pub(super) fn fractions(found: &Evaluation) -> Option<Table> {
    let all = &found.spatial.fractions;
    let seen = |threshold: usize| {
        let mut scores = all.iter().flatten().flat_map(|lead| lead[threshold]);
        scores.any(|score| score.is_some())
    };
    let thresholds: Vec<usize> = (0..RAINS_MM.len()).filter(|&k| seen(k)).collect();
    let mut columns = vec![
        Column::text("method"),
        Column::number("hours", "hours ahead"),
    ];
    for &k in &thresholds {
        for side in SIDES {
            let head = format!("{} mm, {side}", RAINS_MM[k]);
            let meaning = format!("in squares of {side} × {side} points");
            columns.push(Column::number(&head, &meaning));
        }
    }
    let mut rows = Vec::new();
    for (method, leads) in found.methods.iter().zip(all) {
        for (lead, scores) in leads.iter().enumerate() {
            let hours = said((lead + 1) as f64 * found.step_hours);
            let mut row: Vec<Cell> = vec![method.method.into(), hours.into()];
            let shown = |x: Option<f64>| x.map_or("–".into(), |x| Cell::from(format!("{x:.3}")));
            for &k in &thresholds {
                row.extend(scores[k].iter().map(|&score| shown(score)));
            }
            rows.push(row);
        }
    }
    (!thresholds.is_empty()).then(|| Table {
        caption: "Fractions skill score by threshold and side of the square".into(),
        columns,
        rows,
        note: "1: as many points of each square are wet as were. 0: none of the rain lies in a square \
               in which it rained."
            .into(),
        ..Table::default()
    })
}

/// Variance of forecasts over that of the truth, by wavelength; none where rows are too short.
pub fn spectra_figure(found: &Evaluation, style: &Style) -> Option<Scene> {
    let all = &found.spatial.spectra;
    let chart = |k: usize| {
        let own: Vec<&Spectrum> = all.iter().filter(|s| s.channel == k).collect();
        let layer = |(number, spectrum): (usize, &&Spectrum)| {
            let model = spectrum.methods.iter().find(|(name, _)| *name == "model");
            let pairs = model
                .iter()
                .flat_map(|(_, own)| own.iter().zip(&spectrum.truth));
            Layer::Line {
                name: format!("{} h", said(spectrum.lead_hours)),
                x: (1..=spectrum.truth.len()).map(|wave| wave as f64).collect(),
                y: pairs.map(|(own, truth)| (own / truth).min(2.0)).collect(),
                stroke: Stroke::series(number, 1.8),
            }
        };
        let label = found.channels[k].label();
        let layers = own.iter().enumerate().map(layer).collect();
        let mut chart = Chart::new(
            label,
            "waves across the region",
            "variance, × truth",
            layers,
        );
        chart.y.range = [0.0, 2.0];
        (!own.is_empty()).then_some(chart)
    };
    let drawn: Vec<Chart> = (0..found.channels.len()).filter_map(chart).collect();
    (!drawn.is_empty()).then(|| charts("How fine forecasts are", &drawn, 3, 220.0, style))
}

/// Maps of the errors of `channels`, six to a figure.
pub fn error_maps(found: &Evaluation, channels: &[usize], style: &Style) -> Vec<Scene> {
    let spatial = &found.spatial;
    let ground = Ground::new(&found.lat, &found.lon, found.curved);
    let title = format!("Errors of the model {} h ahead", said(spatial.map_hours));
    let figure = |page: &[usize]| {
        let mut fields = Vec::new();
        for &k in page {
            let (channel, map) = (&found.channels[k], spatial.errors.get(k)?);
            for (what, values, signed) in [("RMSE", &map.rmse, false), ("bias", &map.bias, true)] {
                let tint = tint_of(values.iter().copied().filter(|x| x.is_finite()), signed);
                let title = format!("{}: {what}", channel.label());
                fields.push(ground.map(title, &channel.units, values.clone(), tint));
            }
        }
        Some(heat_figure(&title, &fields, 2, 330.0, style))
    };
    channels.chunks(MAPS_EACH).filter_map(figure).collect()
}
