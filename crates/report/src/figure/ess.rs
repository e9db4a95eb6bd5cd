//! Effective sample sizes: as draws come in, and by quantile.

use super::look::{left_out, say_instead};
use super::{Draws, Series, Style, no_density};
use crate::draw::{AxisSpec, Ink, Key, Panel, Rect, Scene, Stroke, Text, legend};
use fitzroy::diagnose::{Chains, ESS_LIMIT, Ess, TailEss, ess};

const ROW: f64 = 190.0;
/// Stages of the run and quantiles at which the ESS is worked out.
const STAGES: usize = 10;

/// For each series: bulk and tail ESS of the first 10 %, 20 %, .. of the draws at the left, where
/// a straight line is good; ESS of quantiles at the right; and the limit of 400.
pub fn ess_figure(draws: &Draws, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, "Effective sample sizes");
    let keys = [
        Key::line("bulk", Stroke::series(0, 2.0)),
        Key::line("tail", Stroke::series(1, 2.0)),
        Key::line("of the quantile", Stroke::series(2, 2.0)),
        Key::line(
            format!("limit {ESS_LIMIT}"),
            Stroke::new(Ink::Bad, 1.4).dashed(5.0, 3.0),
        ),
    ];
    let mut top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    for series in &draws.series {
        let half = style.width / 2.0;
        let cell = |x: f64| Rect {
            x,
            y: top,
            width: half - 24.0,
            height: ROW,
        };
        evolution(&mut scene, cell(16.0), series);
        by_quantile(&mut scene, cell(half + 8.0), series);
        top += ROW + 8.0;
    }
    scene.height = top;
    left_out(&mut scene, draws);
    scene
}

fn first_draws(series: &Series, n: usize) -> Vec<f64> {
    series
        .chains
        .iter()
        .flat_map(|c| &c[..n])
        .copied()
        .collect()
}

fn evolution(scene: &mut Scene, cell: Rect, series: &Series) {
    let (chains, length) = (series.chains.len(), series.n_draws());
    let stages: Vec<usize> = (1..=STAGES).map(|k| length * k / STAGES).collect();
    let of = |kind: Ess| -> Vec<f64> {
        let one = |&n: &usize| ess(Chains::new(&first_draws(series, n), chains, n), kind);
        stages.iter().map(one).collect()
    };
    let curves = [of(Ess::Bulk), of(Ess::Tail(TailEss::Classic))];
    let x: Vec<f64> = stages.iter().map(|&n| (n * chains) as f64).collect();
    let end = (length * chains).max(1) as f64;
    let axis = AxisSpec::new("draws of all chains", [0.0, end]);
    panel(scene, cell, &series.label, axis, &x, &curves, series);
}

fn by_quantile(scene: &mut Scene, cell: Rect, series: &Series) {
    let pooled = series.pooled();
    let x: Vec<f64> = (1..20).map(|k| f64::from(k) / 20.0).collect();
    let chains = Chains::new(&pooled, series.chains.len(), series.n_draws());
    let curve = x.iter().map(|&p| ess(chains, Ess::Quantile(p))).collect();
    let axis = AxisSpec::new("quantile", [0.0, 1.0]);
    panel(
        scene,
        cell,
        "",
        axis,
        &x,
        &[Vec::new(), Vec::new(), curve],
        series,
    );
}

fn panel(
    scene: &mut Scene,
    cell: Rect,
    title: &str,
    axis: AxisSpec,
    x: &[f64],
    curves: &[Vec<f64>],
    series: &Series,
) {
    let values = curves.iter().flatten().copied();
    let highest = values.filter(|v| v.is_finite()).fold(ESS_LIMIT, f64::max);
    let y = AxisSpec::new("ESS, draws", [0.0, 1.06 * highest]).grid();
    let mut panel = Panel::new(cell, title, axis, y);
    panel.note = if title.is_empty() {
        "by quantile".into()
    } else {
        String::new()
    };
    panel.left = 70.0;
    let axes = panel.draw(scene);
    let limit = axes.y.pixel(ESS_LIMIT);
    let line = Stroke::new(Ink::Bad, 1.4).dashed(5.0, 3.0);
    scene.line([axes.rect.x, limit], [axes.rect.right(), limit], line);
    if let Some(why) = no_density(&series.pooled()) {
        say_instead(scene, &axes, &why);
        return;
    }
    if curves.iter().flatten().all(|v| v.is_nan()) {
        scene.text(Text::new(
            "too few draws",
            [axes.rect.x + 8.0, axes.rect.y + 16.0],
            12.0,
        ));
    }
    for (k, curve) in curves.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
        let points = axes.curve(x, curve);
        let finite: Vec<_> = points
            .iter()
            .copied()
            .filter(|p| p[1].is_finite())
            .collect();
        scene.lines(vec![points], Stroke::series(k, 1.8));
        scene.dots(&finite, 5.0, Ink::Series(k), 1.0);
    }
}
