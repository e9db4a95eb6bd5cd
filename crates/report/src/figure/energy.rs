//! Does the sampler move freely between energies?

use super::look::say_instead;
use super::trace::draw_curve;
use super::{Series, Style, said};
use crate::draw::{
    AxisSpec, Group, Ink, Key, Labels, Panel, Rect, Scene, Stroke, legend, range_of,
};
use crate::numeric::density;
use fitzroy::diagnose::{BFMI_LIMIT, Chains, bfmi, mean};

/// Densities of the energy less its mean, and of the change of energy from draw to draw; at the
/// right the BFMI of each chain, which is the ratio of their sizes, with the limit of 0.3.
pub fn energy_figure(energy: &Series, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, "Energy");
    let keys = [
        Key::line("energy − mean", Stroke::series(0, 2.0)),
        Key::line("change of energy per draw", Stroke::series(1, 2.0)),
    ];
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let split = (style.width * 0.62).round();
    let cell = |x: f64, width: f64| Rect {
        x,
        y: top,
        width,
        height: 260.0,
    };
    densities(&mut scene, cell(16.0, split - 24.0), energy);
    let right = cell(split + 8.0, style.width - split - 24.0);
    by_chain(&mut scene, right, energy);
    scene.height = top + 268.0;
    scene
}

fn densities(scene: &mut Scene, cell: Rect, energy: &Series) {
    let centre = mean(&energy.pooled());
    let centred: Vec<f64> = energy.pooled().iter().map(|e| e - centre).collect();
    let changes = |c: &Vec<f64>| c.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>();
    let changes = energy.chains.iter().flat_map(changes).collect::<Vec<_>>();
    let curves = [density(&centred), density(&changes)];
    let all = || curves.iter().flatten();
    let x = range_of(all().flat_map(|d| [d.x[0], d.x[d.x.len() - 1]]), 0.0);
    let highest = all().flat_map(|d| d.y.iter().copied()).fold(0.0, f64::max);
    let y = AxisSpec::new("density", [0.0, 1.06 * highest]).labels(Labels::None);
    let x = AxisSpec::new("energy, in units of −log density", x).grid();
    let axes = Panel::new(cell, "Energy", x, y).draw(scene);
    if all().next().is_none() {
        say_instead(scene, &axes, "the energies are constant, few or not finite");
        return;
    }
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    for (k, curve) in curves.iter().enumerate() {
        if let Some(curve) = curve {
            draw_curve(scene, &axes, curve, Stroke::series(k, 1.8), false);
        }
    }
    scene.close();
}

/// Chains from one name to the next: 1, 2 or 5 times a power of ten, for at most ten names.
fn step_of_names(n: usize) -> usize {
    let steps = (0..18).flat_map(|k| [1, 2, 5].map(|m| m * 10_usize.pow(k)));
    let mut enough = steps.filter(|step| n.div_ceil(*step) <= 10);
    enough.next().unwrap_or(n)
}

fn by_chain(scene: &mut Scene, cell: Rect, energy: &Series) {
    let (n, length) = (energy.chains.len(), energy.n_draws());
    let pooled = energy.pooled();
    let values = bfmi(Chains::new(&pooled, n, length));
    let names = (0..n).step_by(step_of_names(n));
    let names = names.map(|c| (c as f64, c.to_string())).collect();
    let x = AxisSpec::new("chain", [-0.5, n as f64 - 0.5]).labels(Labels::Names(names));
    let highest = values
        .iter()
        .copied()
        .filter(|v| v.is_finite())
        .fold(1.0, f64::max);
    let y = AxisSpec::new("BFMI", [0.0, 1.1 * highest]).grid();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let note = match least.is_finite() {
        true => format!("least {}; dashed: {BFMI_LIMIT}", said(least)),
        false => format!("should exceed {BFMI_LIMIT}"),
    };
    let axes = Panel::new(cell, "BFMI", x, y).note(note).draw(scene);
    let limit = axes.y.pixel(BFMI_LIMIT);
    let line = Stroke::new(Ink::Bad, 1.4).dashed(5.0, 3.0);
    scene.line([axes.rect.x, limit], [axes.rect.right(), limit], line);
    let at = |(c, &v): (usize, &f64)| axes.at(c as f64, v);
    let (good, bad): (Vec<_>, Vec<_>) = values
        .iter()
        .enumerate()
        .filter(|(_, v)| v.is_finite())
        .partition(|(_, v)| **v >= BFMI_LIMIT);
    let size = if n > 100 { 4.0 } else { 8.0 };
    let good: Vec<_> = good.into_iter().map(at).collect();
    let bad: Vec<_> = bad.into_iter().map(at).collect();
    scene.dots(&good, size, Ink::Series(0), 1.0);
    scene.dots(&bad, size + 2.0, Ink::Bad, 1.0);
    if values.iter().all(|v| !v.is_finite()) {
        say_instead(scene, &axes, "no BFMI");
    }
}
