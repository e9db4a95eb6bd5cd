//! The kinds of figures by name, and one of them from a trace.

use crate::draw::Scene;
use crate::figure::{
    Posterior, Style, autocorrelation_figure, energy_figure, ess_figure, forest_figure,
    pair_figure, parallel_figure, posterior_figure, predictive_figure, rank_figure, trace_figure,
};
use crate::source::{Source, forest_rows};
use fitzroy::draws::Trace;
use fitzroy::{Error, ErrorKind, Result};

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

/// Name on the command line, kind, and how many numbers it shows unless told which.
const KINDS: [(&str, Kind, usize); 13] = [
    ("trace", Kind::Trace, 12),
    ("rank", Kind::Rank, 24),
    ("posterior", Kind::Posterior, 24),
    ("forest", Kind::Forest, 100),
    ("pair", Kind::Pair, 4),
    ("energy", Kind::Energy, 0),
    ("autocorr", Kind::Autocorr, 24),
    ("ess", Kind::Ess, 8),
    ("ppc", Kind::Ppc, 0),
    ("prior-predictive", Kind::PriorPredictive, 0),
    ("loo-pit", Kind::LooPit, 0),
    ("khat", Kind::Khat, 0),
    ("parallel", Kind::Parallel, 20),
];

impl Kind {
    /// All kinds with their names.
    pub fn all() -> impl Iterator<Item = (&'static str, Kind)> {
        KINDS.iter().map(|(name, kind, _)| (*name, *kind))
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    fn row(self) -> &'static (&'static str, Kind, usize) {
        let row = KINDS.iter().find(|(_, kind, _)| *kind == self);
        row.expect("every kind has a row")
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

/// Most elements of a figure that were asked for by name: above, the picture would not be one.
const NAMED_MOST: usize = 1000;

/// A figure of a trace; of several traces side by side, where the kind is a forest. `names` are
/// those of the traces.
///
/// # Errors
/// An unknown variable (with the nearest names); a kind that needs what the trace does not hold.
pub fn figure_of(
    traces: &[&Trace],
    names: &[String],
    kind: Kind,
    options: &FigureOptions,
) -> Result<Scene> {
    let sources: Result<Vec<Source>> = traces.iter().map(|t| Source::new(t)).collect();
    let sources = sources?;
    if kind == Kind::Forest {
        return forest(&sources, names, options);
    }
    let [source] = sources[..] else {
        let n = sources.len();
        let message = format!("{n} traces were given; `{}` shows one", kind.name());
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
    let usual = kind.row().2;
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
