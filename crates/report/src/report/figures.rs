//! The figures of the report of a run.

use super::facts::RunFacts;
use super::sampling::figure;
use super::text::RUN_CAPTIONS as SAY;
use crate::figure::{
    Draws, Posterior, Style, count, energy_figure, forest_figure, pair_figure, posterior_figure,
    rank_figure, trace_figure,
};
use crate::page::{Page, Section};
use crate::source::{Element, Source, forest_rows};
use fitzroy::diagnose::{Diagnosis, Row};

/// Rows of the forest.
const FOREST: usize = 60;

/// What the figures show.
pub(super) struct Figures<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) found: &'a Diagnosis,
    pub(super) facts: &'a RunFacts,
    pub(super) style: Style,
    /// The numbers whose draws are shown.
    pub(super) draws: Draws,
    /// How many are not.
    pub(super) left_out: usize,
    /// All numbers.
    pub(super) all: &'a [Element<'a>],
}

impl Figures<'_> {
    pub(super) fn traces(&self, page: &mut Page) {
        let more = match self.left_out {
            0 => String::new(),
            n => format!(
                " {} more: click on a row of the table, or use fitzroy plot.",
                count(n)
            ),
        };
        let scene = trace_figure(&self.draws, &self.style);
        let blocks = vec![figure(scene, &format!("{}{more}", SAY.trace))];
        page.sections.push(Section::new("Traces", blocks));
    }

    pub(super) fn posteriors(&self, page: &mut Page) {
        let compare = Posterior {
            reference: self.facts.truths.clone(),
            rope: None,
        };
        let caption = match self.facts.truths.is_empty() {
            true => SAY.posterior.to_string(),
            false => format!("{} {}", SAY.posterior, SAY.truth),
        };
        let scene = posterior_figure(&self.draws, &compare, &self.style);
        let blocks = vec![figure(scene, &caption)];
        page.sections.push(Section::new("Posteriors", blocks));
    }

    pub(super) fn forest(&self, page: &mut Page) {
        if self.all.len() <= 1 {
            return;
        }
        let rows = &self.found.summary.rows;
        let (chosen, hidden) = forest_choice(self.source, self.all, rows);
        let columns = self.source.forest(&chosen, rows);
        let mut scene = forest_figure(&forest_rows(&[columns]), &[], 0, &self.style);
        scene.title = "Forest".into();
        let more = match hidden {
            0 => String::new(),
            n => format!(" {} more stand in the table.", count(n)),
        };
        let blocks = vec![figure(scene, &format!("{}{more}", SAY.forest))];
        page.sections.push(Section::new("Forest", blocks));
    }

    pub(super) fn ranks(&self, page: &mut Page) {
        let blocks = vec![figure(rank_figure(&self.draws, &self.style), SAY.rank)];
        page.sections.push(Section::new("Ranks", blocks));
    }

    pub(super) fn energy(&self, page: &mut Page) {
        let Some(energy) = self.source.energy() else {
            return;
        };
        let mut blocks = vec![figure(energy_figure(&energy, &self.style), SAY.energy)];
        let diverged = self.draws.divergent.iter().any(|d| !d.is_empty());
        if diverged && self.draws.series.len() > 1 {
            let mut draws = self.draws.clone();
            draws.series.truncate(4);
            blocks.push(figure(pair_figure(&draws, &self.style), SAY.pair));
        }
        page.sections
            .push(Section::new("Energy and divergences", blocks));
    }
}

/// Rows of the forest, in the order of the model.
fn forest_choice<'a>(
    source: &Source<'a>,
    all: &[Element<'a>],
    rows: &[Row],
) -> (Vec<Element<'a>>, usize) {
    let (mut chosen, hidden) = source.worst_first(all, rows, FOREST);
    if hidden > 0 {
        let same = |a: &Element, b: &Element| {
            std::ptr::eq(a.variable, b.variable) && a.element == b.element
        };
        chosen.sort_by_cached_key(|e| all.iter().position(|o| same(o, e)));
    }
    (chosen, hidden)
}
