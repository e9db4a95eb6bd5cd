//! What chains look like: in colours while there are few, grey with the worst in colour beyond.

use super::{Draws, Series};
use crate::draw::{Align, Axes, Ink, Key, Scene, Stroke, Text};
use fitzroy::diagnose::{mean, sd};

/// Chains up to which each has a colour of its own.
pub(super) const COLOURED: usize = 7;
/// Chains up to which each is drawn.
pub(super) const DRAWN: usize = 24;
/// Chains that stand out where not all can.
const WORST: usize = 3;

/// Which chains are drawn, lowest first, and how.
pub(super) struct Look {
    /// Number of a chain and its stroke.
    pub(super) chains: Vec<(usize, Stroke)>,
    /// Whether the chains in between are shown as a band.
    pub(super) band: bool,
}

impl Look {
    /// For all panels of a figure.
    pub(super) fn of(draws: &Draws) -> Look {
        let n = draws.series.first().map_or(0, |s| s.chains.len());
        if n <= COLOURED {
            let chains = (0..n).map(|c| (c, Stroke::series(c, 1.0)));
            return Look {
                chains: chains.collect(),
                band: false,
            };
        }
        let worst = worst_chains(&draws.series, n);
        let grey = Stroke::new(Ink::Grey, 1.0);
        let mut chains = Vec::new();
        if n <= DRAWN {
            let others = (0..n).filter(|c| !worst.contains(c));
            chains.extend(others.map(|c| (c, grey)));
        }
        let coloured = worst.iter().enumerate();
        chains.extend(coloured.map(|(k, &c)| (c, Stroke::series(k, 1.0))));
        Look {
            chains,
            band: n > DRAWN,
        }
    }

    /// Keys of the legend; `width` is that of the lines in the figure.
    pub(super) fn keys(&self, draws: &Draws) -> Vec<Key> {
        let mut keys = Vec::new();
        let n = draws.chain_names.len();
        let grey = |s: &Stroke| s.ink == Ink::Grey;
        if self.band {
            let label = format!("middle 50 % and 90 % of {n} chains");
            keys.push(Key::area(label, Ink::Grey, 0.7));
        } else if self.chains.iter().any(|(_, s)| grey(s)) {
            keys.push(Key::line("other chains", Stroke::new(Ink::Grey, 2.0)));
        }
        for (c, stroke) in self.chains.iter().filter(|(_, s)| !grey(s)) {
            let name = draws.chain_names.get(*c).cloned().unwrap_or_default();
            let far = if n > COLOURED {
                " (furthest from the rest)"
            } else {
                ""
            };
            let mut key = Key::line(
                name + far,
                Stroke {
                    width: 2.0,
                    ..*stroke
                },
            );
            key.data = vec![("class", "toggle".into()), ("data-chain", c.to_string())];
            keys.push(key);
        }
        keys
    }
}

/// The chains whose means lie furthest from the others', in units of the standard deviation.
fn worst_chains(series: &[Series], n: usize) -> Vec<usize> {
    let mut far = vec![0.0f64; n];
    for s in series {
        let pooled = s.pooled();
        let (centre, spread) = (mean(&pooled), sd(&pooled));
        for (c, draws) in s.chains.iter().enumerate() {
            let distance = (mean(draws) - centre).abs() / spread;
            if distance.is_finite() {
                far[c] = far[c].max(distance);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| far[b].total_cmp(&far[a]));
    order.truncate(WORST);
    order
}

/// Words in the middle of a panel without data.
pub(super) fn say_instead(scene: &mut Scene, axes: &Axes, words: &str) {
    let r = axes.rect;
    let words = crate::draw::fitted(words, r.width - 8.0, 12.0, crate::draw::Weight::Regular);
    let at = [r.x + r.width / 2.0, r.y + r.height / 2.0];
    scene.text(Text::new(words, at, 12.0).align(Align::Middle));
}

/// Short strokes on the axis at the given numbers.
pub(super) fn rug(scene: &mut Scene, axes: &Axes, values: &[f64]) {
    let base = axes.rect.bottom();
    let inside = values.iter().map(|&v| axes.x.pixel(v));
    let inside = inside.filter(|x| (axes.rect.x..=axes.rect.right()).contains(x));
    let parts = inside.map(|x| vec![[x, base - 6.0], [x, base]]).collect();
    scene.lines(parts, Stroke::new(Ink::Mark, 1.0).opacity(0.8));
}

/// A line below the figure that says how many more there are.
pub(super) fn left_out(scene: &mut Scene, draws: &Draws) {
    if draws.left_out > 0 {
        let n = super::count(draws.left_out);
        let words = format!("{n} more not shown; name those to be shown");
        scene.text(Text::new(words, [16.0, scene.height + 12.0], 12.0));
        scene.height += 22.0;
    }
}
