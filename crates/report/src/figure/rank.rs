//! Do all chains visit all values equally often? Ranks of each chain's draws among all draws.

use super::look::{DRAWN, Look, left_out, say_instead};
use super::{Draws, Series, Style, no_density};
use crate::draw::{AxisSpec, Ink, Key, Panel, Rect, Scene, Stroke, grid, legend};
use crate::numeric::{ecdf_band, ecdf_difference, fractional_ranks};

/// Points of the distribution function.
const POINTS: usize = 50;
/// Probability that all chains stay inside the band when they all sample the same distribution.
const PROBABILITY: f64 = 0.95;

/// For each series the empirical distribution function of every chain's ranks among all draws,
/// minus the uniform one, with a band that holds all chains at once with probability 95 % when
/// they agree and their draws are independent.
///
/// Reference: Säilynoja, Bürkner, Vehtari (2022); each of C chains gets a band of probability
/// 1 − .05/C, which together hold all with 95 % or slightly more.
pub fn rank_figure(draws: &Draws, style: &Style) -> Scene {
    let look = Look::of(draws);
    let n = draws.series.len();
    let columns = n.clamp(1, 3).min((style.width / 300.0) as usize).max(1);
    let mut scene = Scene::new(style.width, 0.0, "Ranks of each chain's draws");
    let mut keys = look.keys(draws);
    if look.band {
        keys.remove(0);
        keys.insert(0, Key::line("other chains", Stroke::new(Ink::Grey, 2.0)));
    }
    keys.push(Key::area(
        "holds all chains with 95 %",
        Ink::Series(0),
        0.13,
    ));
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let (cells, height) = grid(n, columns, style.width, 196.0, top);
    scene.height = height;
    let first = draws.series.first();
    let (chains, length) = first.map_or((1, 1), |s| (s.chains.len(), s.n_draws()));
    let level = 1.0 - (1.0 - PROBABILITY) / chains.max(1) as f64;
    let population = (chains > 1).then_some(chains * length);
    let band = ecdf_band(length.max(1), population, POINTS, level);
    for (series, cell) in draws.series.iter().zip(cells) {
        panel(&mut scene, cell, series, &look, &band);
    }
    left_out(&mut scene, draws);
    scene
}

fn panel(
    scene: &mut Scene,
    cell: Rect,
    series: &Series,
    look: &Look,
    (low, high): &(Vec<f64>, Vec<f64>),
) {
    let pooled = series.pooled();
    // Infinite draws have ranks, a constant and NaN have none worth drawing.
    let usable = pooled.iter().all(|v| !v.is_nan()) && pooled.iter().any(|v| *v != pooled[0]);
    let ranks = fractional_ranks(&series.chains).filter(|_| usable);
    let paths: Vec<Vec<f64>> = ranks
        .iter()
        .flatten()
        .map(|r| ecdf_difference(r, POINTS))
        .collect();
    let x: Vec<f64> = (0..=POINTS).map(|k| k as f64 / POINTS as f64).collect();
    let all = paths.iter().flatten().chain(low).chain(high).copied();
    let y = AxisSpec::around("ECDF − uniform", all).grid();
    let axis = AxisSpec::new("rank among all draws, as a share", [0.0, 1.0]);
    let outside = |path: &Vec<f64>| {
        let ends = low.iter().zip(high).zip(path);
        ends.into_iter()
            .any(|((l, h), v)| *v < l - 1e-9 || *v > h + 1e-9)
    };
    let n_outside = paths.iter().filter(|p| outside(p)).count();
    let note = match (series.chains.len(), n_outside) {
        _ if !usable => String::new(),
        (1, _) => "one chain: nothing to compare".into(),
        (_, 0) => "all inside".into(),
        (_, 1) => "1 chain leaves the band".into(),
        (_, n) => format!("{n} chains leave the band"),
    };
    let axes = Panel::new(cell, &series.label, axis, y)
        .note(note)
        .draw(scene);
    scene.areas(vec![axes.between(&x, low, high)], Ink::Series(0), 0.13);
    if let Some(why) = no_density(&pooled).filter(|_| !usable) {
        say_instead(scene, &axes, &why);
        return;
    }
    if look.band {
        // Among a thousand paths those that leave the band are the ones to see.
        let kept = paths
            .iter()
            .filter(|p| outside(p))
            .chain(paths.iter().take(DRAWN));
        let parts = kept.take(4 * DRAWN).map(|p| axes.curve(&x, p)).collect();
        scene.lines(parts, Stroke::new(Ink::Grey, 1.0).opacity(0.7));
    }
    for (c, stroke) in &look.chains {
        let line = Stroke {
            width: 1.5,
            ..*stroke
        };
        scene.lines(vec![axes.curve(&x, &paths[*c])], line);
        scene.tag(&[("data-chain", c.to_string())]);
    }
}
