//! The kinds of figures by name, and one of them from a trace.

use crate::draw::Scene;
use crate::figure::{
    Posterior, Style, autocorrelation_figure, energy_figure, ess_figure, forest_figure,
    pair_figure, parallel_figure, posterior_figure, predictive_figure, rank_figure, trace_figure,
};
use crate::source::{Source, forest_rows};
use fitzroy::draws::Trace;
use fitzroy::{Error, ErrorKind, Named, Result};
use std::ops::RangeInclusive;

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Densities and draws of each chain.
    Trace,
    /// Ranks of each chain's draws.
    Rank,
    /// Marginal posteriors with intervals.
    Posterior,
    /// Intervals one below the other.
    Forest,
    /// Variables against each other.
    Pair,
    /// Energy and BFMI.
    Energy,
    /// Autocorrelation by lag.
    Autocorr,
    /// Effective sample sizes.
    Ess,
    /// Replicated data beside the observed.
    Ppc,
    /// The same of the prior.
    PriorPredictive,
    /// Calibration of leave-one-out predictions.
    LooPit,
    /// Pareto k by observation.
    Khat,
    /// All variables at once, draw by draw.
    Parallel,
}

impl Named for Kind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("trace", Kind::Trace),
        ("rank", Kind::Rank),
        ("posterior", Kind::Posterior),
        ("forest", Kind::Forest),
        ("pair", Kind::Pair),
        ("energy", Kind::Energy),
        ("autocorr", Kind::Autocorr),
        ("ess", Kind::Ess),
        ("ppc", Kind::Ppc),
        ("prior-predictive", Kind::PriorPredictive),
        ("loo-pit", Kind::LooPit),
        ("khat", Kind::Khat),
        ("parallel", Kind::Parallel),
    ];
}

impl Kind {
    /// How many numbers it shows unless told which.
    fn usual(self) -> usize {
        match self {
            Kind::Trace => 12,
            Kind::Rank | Kind::Posterior | Kind::Autocorr => 24,
            Kind::Forest => 100,
            Kind::Pair => 4,
            Kind::Ess => 8,
            Kind::Parallel => 20,
            Kind::Energy | Kind::Ppc | Kind::PriorPredictive | Kind::LooPit | Kind::Khat => 0,
        }
    }
}

/// What a figure shows of a trace.
#[derive(Clone, Debug, Default)]
pub struct FigureOptions {
    /// Variables (`theta`) or elements (`theta[Choate]`); empty for a choice by kind, scalars
    /// first, then the worst.
    pub variables: Vec<String>,
    /// Reference values and region of practical equivalence, for posteriors.
    pub compare: Posterior,
    /// How it looks.
    pub style: Style,
    /// Threads for summaries; 0 counts as 1.
    pub threads: usize,
}

/// Widths of figures in pixels.
const WIDTHS: RangeInclusive<f64> = 300.0..=4000.0;

impl FigureOptions {
    /// That a figure can be drawn with these.
    ///
    /// # Errors
    /// A width, a probability or a region that is none.
    pub fn check(&self) -> Result<()> {
        let (width, p) = (self.style.width, self.style.ci_prob);
        let message = match self.compare.rope {
            _ if !WIDTHS.contains(&width) => format!(
                "⟨width⟩ is {width}; it must lie between {} and {}",
                WIDTHS.start(),
                WIDTHS.end()
            ),
            _ if !(p > 0.0 && p < 1.0) => {
                format!("⟨ci_prob⟩ is {p}; it must lie between 0 and 1")
            }
            Some([low, high]) if !(low < high && (high - low).is_finite()) => {
                format!("⟨rope⟩ goes from {low} to {high}; it needs two ascending numbers")
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Usage, message))
    }
}

/// Most elements of a figure that were asked for by name: above, the picture would not be one.
const NAMED_MOST: usize = 1000;

/// A figure of a trace; of several traces side by side, where the kind is a forest. `names` are
/// those of the traces.
///
/// # Errors
/// Options that are wrong, see [`FigureOptions::check`]; an unknown variable (with the nearest names); a kind that needs
/// what the trace does not hold.
pub fn figure_of(
    traces: &[&Trace],
    names: &[String],
    kind: Kind,
    options: &FigureOptions,
) -> Result<Scene> {
    options.check()?;
    let sources: Result<Vec<Source>> = traces.iter().map(|t| Source::new(t)).collect();
    let sources = sources?;
    if kind == Kind::Forest {
        return forest(&sources, names, options);
    }
    let [source] = sources[..] else {
        let n = sources.len();
        let message = format!("{n} traces were given; `{}` shows one", kind.setting());
        return Err(Error::new(ErrorKind::Usage, message));
    };
    let style = &options.style;
    match kind {
        Kind::Energy => match source.energy() {
            Some(energy) => Ok(energy_figure(&energy, style)),
            None => Err(missing(
                "energy in `sample_stats`",
                "save the sampler's statistics",
            )),
        },
        Kind::Ppc | Kind::PriorPredictive => predictive(source, kind, options),
        Kind::LooPit | Kind::Khat => super::loo::figure(source, kind, options),
        _ => {
            let (chosen, left_out) = choose(&source, kind, options)?;
            let draws = source.draws(&chosen, left_out);
            Ok(match kind {
                Kind::Rank => rank_figure(&draws, style),
                Kind::Posterior => posterior_figure(&draws, &options.compare, style),
                Kind::Pair => pair_figure(&draws, style),
                Kind::Autocorr => autocorrelation_figure(&draws, style),
                Kind::Ess => ess_figure(&draws, style),
                Kind::Parallel => parallel_figure(&draws, style),
                _ => trace_figure(&draws, style),
            })
        }
    }
}

fn choose<'a>(
    source: &Source<'a>,
    kind: Kind,
    options: &FigureOptions,
) -> Result<(Vec<crate::source::Element<'a>>, usize)> {
    let usual = kind.usual();
    let most = match (options.variables.is_empty(), kind) {
        (true, _) => usual,
        (false, Kind::Pair) => 6,
        (false, Kind::Forest) => NAMED_MOST,
        (false, _) => usual.max(options.variables.len()).max(60),
    };
    source.chosen(&options.variables, most, options.threads.max(1))
}

fn forest(sources: &[Source<'_>], names: &[String], options: &FigureOptions) -> Result<Scene> {
    let mut columns = Vec::new();
    let mut left_out = 0;
    for source in sources {
        let rows = source.summary(options.threads.max(1))?.rows;
        let all = source.elements(&options.variables)?;
        let most = if options.variables.is_empty() {
            100
        } else {
            NAMED_MOST
        };
        let (mut chosen, more) = source.worst_first(&all, &rows, most);
        // In the order of the model, so that one reads downwards.
        let place = |e: &crate::source::Element| {
            let same = |o: &&crate::source::Element| {
                std::ptr::eq(o.variable, e.variable) && o.element == e.element
            };
            all.iter().position(|o| same(&o)).unwrap_or(0)
        };
        chosen.sort_by_cached_key(place);
        left_out = left_out.max(more);
        columns.push(source.forest(&chosen, &rows));
    }
    Ok(forest_figure(
        &forest_rows(&columns),
        names,
        left_out,
        &options.style,
    ))
}

fn predictive(source: Source<'_>, kind: Kind, options: &FigureOptions) -> Result<Scene> {
    let prior = kind == Kind::PriorPredictive || source.is_prior();
    let all = source.predictive(prior);
    let wanted = options.variables.first();
    let found = match wanted {
        Some(name) => all.iter().find(|p| p.name == *name),
        None => all.first(),
    };
    match (found, wanted) {
        (Some(data), _) => Ok(predictive_figure(data, &options.style)),
        (None, Some(name)) if !all.is_empty() => {
            let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
            let message = format!("nothing replicates `{name}`; there is {}", names.join(", "));
            Err(Error::new(ErrorKind::Usage, message))
        }
        _ if prior => Err(missing("`prior_predictive`", "sample with ⟨prior_only⟩")),
        _ => Err(missing(
            "`posterior_predictive`",
            "sample with ⟨predictive⟩",
        )),
    }
}

/// What a trace lacks, and how to get it.
pub(super) fn missing(what: &str, advice: &str) -> Error {
    Error::new(
        ErrorKind::Data,
        format!("the trace holds no {what}; {advice}"),
    )
}
