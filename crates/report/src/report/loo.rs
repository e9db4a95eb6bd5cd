//! Leave-one-out figures of a trace.

use super::kind::{FigureOptions, Kind};
use super::text::RUN_CAPTIONS as SAY;
use crate::draw::Scene;
use crate::figure::{Style, khat_figure, pit_figure, said};
use crate::page::Block;
use crate::source::Source;
use fitzroy::Result;
use fitzroy::diagnose::{Loo, loo, loo_pit};

/// `loo-pit` or `khat`.
pub(super) fn figure(source: Source<'_>, kind: Kind, options: &FigureOptions) -> Result<Scene> {
    let variable = options.variables.first().map(String::as_str);
    let threads = options.threads.max(1);
    if kind == Kind::Khat {
        return Ok(khat(
            &loo(source.trace(), variable, threads)?,
            &options.style,
        ));
    }
    let values = loo_pit(source.trace(), variable, threads)?;
    let group = source.trace().group("log_likelihood");
    let only = group.and_then(|g| g.variables.first()).map(|v| &v.name);
    let name = variable.or(only.map(String::as_str)).unwrap_or_default();
    Ok(pit_figure(&values, name, &options.style))
}

fn khat(found: &Loo, style: &Style) -> Scene {
    let k: Vec<f64> = found.pointwise.iter().map(|p| p.k).collect();
    khat_figure(&k, &found.names, found.k_limit, style)
}

/// Log likelihoods up to which a page works out leave-one-out; beyond, it would take seconds.
const NUMBERS_MAX: usize = 20_000_000;

/// What a page shows of it: for every observed variable with a log likelihood its elpd, k, and
/// the PIT where replicates are there as well.
pub(super) fn blocks(source: &Source<'_>, style: &Style, threads: usize) -> Vec<Block> {
    let Some(group) = source.trace().group("log_likelihood") else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for variable in &group.variables {
        let name = variable.name.as_str();
        if variable.shape.iter().product::<usize>() > NUMBERS_MAX {
            let words =
                format!("Leave-one-out of {name} is left to `fitzroy compare`: it is large.");
            out.push(Block::Text(words));
            continue;
        }
        match loo(source.trace(), Some(name), threads) {
            Ok(found) => {
                let (elpd, se, p) = (said(found.elpd), said(found.se), said(found.p));
                out.push(Block::Text(format!(
                    "Leave-one-out of {name}: elpd {elpd} ± {se}, effective parameters {p}."
                )));
                out.push(Block::Figure {
                    scene: khat(&found, style),
                    caption: SAY.khat.into(),
                });
            }
            Err(error) => out.push(Block::Text(format!("Leave-one-out of {name}: {error}"))),
        }
        let replicated = source.trace().group("posterior_predictive");
        if replicated.and_then(|g| g.variable(name)).is_none() {
            continue;
        }
        if let Ok(values) = loo_pit(source.trace(), Some(name), threads) {
            out.push(Block::Figure {
                scene: pit_figure(&values, name, style),
                caption: SAY.pit.into(),
            });
        }
    }
    out
}
