//! What the subcommands share: how trials are read, and which task they come from.

use crate::named::named;
use crate::tables::TableFlags;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fitzroy::data::TableOptions;
use fitzroy::{Error, ErrorKind, Named, Result};
use fitzroy_stop_signal::data::Options;
use fitzroy_stop_signal::exclude::Rules;
use fitzroy_stop_signal::layout::{Doubtful, Layout};
use fitzroy_stop_signal::model::{Kind, Spec};
use std::path::Path;

/// Densities of the Wald baseline.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(super) enum WaldDensity {
    /// Density of the winner times survivor of the loser
    Race,
    /// One Wald time per trial, its rate by correctness
    Single,
}

/// Units of times in a file.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Unit {
    S,
    Ms,
}

/// How trials are read.
#[derive(Args)]
pub(super) struct Reading {
    /// Unit of rt and ssd in the file
    #[arg(long, value_enum, value_name = "UNIT", default_value = "s")]
    unit: Unit,
    /// Responses outside LOW:HIGH seconds are left out; none keeps all
    #[arg(long, value_name = "LOW:HIGH|none", default_value = "0.15:2.0")]
    rt_range: String,
    /// The rows of a subject may stand apart
    #[arg(long)]
    any_order: bool,
    /// These subjects alone, as NAME,NAME
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Layout of the columns and their codes: fitzroy (see below) or abcd
    #[arg(long, value_name = "NAME", default_value = "fitzroy")]
    profile: String,
    /// Which columns hold what: ROLE=COLUMN, or a file in TOML or YAML that also says what codes mean
    #[arg(long, value_name = "FILE|ROLE=COLUMN", value_delimiter = ',')]
    columns: Vec<String>,
    /// Responses that do not come after the picture (rt not above 0) [default: that of the layout, refuse]
    #[arg(long, value_enum, value_name = "POLICY")]
    premature: Option<Premature>,
    /// A delay on go trials, where trial_type says which those are [default: that of the layout, refuse]
    #[arg(long, value_enum, value_name = "POLICY")]
    ssd_on_go: Option<SsdOnGo>,
    /// Leaves out subjects with a smaller share of right go responses
    #[arg(long, value_name = "SHARE")]
    min_accuracy: Option<f64>,
    /// Leaves out subjects with a larger share of go trials without a response
    #[arg(long, value_name = "SHARE")]
    max_omissions: Option<f64>,
    /// Leaves out subjects whose share of responses on stop trials is outside
    #[arg(long, value_name = "LOW:HIGH")]
    stop_responses: Option<String>,
    /// Leaves out subjects who are slower on stop trials than on go trials, which no race allows
    #[arg(long)]
    no_race_violations: bool,
    /// Leaves out subjects with fewer go trials
    #[arg(long, value_name = "N")]
    min_go: Option<usize>,
    /// Leaves out subjects with fewer stop trials
    #[arg(long, value_name = "N")]
    min_stop: Option<usize>,
    #[command(flatten)]
    tables: TableFlags,
}

/// What to do with responses that come before the picture.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Premature {
    Refuse,
    Drop,
}

/// What to do with delays on go trials.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum SsdOnGo {
    Refuse,
    Ignore,
}

/// The task and the likelihood.
#[derive(Args)]
pub(super) struct Likelihood {
    /// The model
    #[arg(long, value_name = "MODEL", default_value = "rdex-abcd", value_parser = named::<Kind>())]
    model: Kind,
    /// Density of the Wald baseline
    #[arg(long, value_enum, value_name = "KIND", default_value = "race")]
    wald_density: WaldDensity,
    /// Lower end of the stop time in seconds, or none
    #[arg(long, value_name = "S|none", default_value = "0.05")]
    stop_lb: String,
    /// Lower end of the go times of an ex-Gaussian race in seconds [default: 0.05]
    #[arg(long, value_name = "S")]
    go_lb: Option<f64>,
    /// Responses later than this many seconds count as none, in the data and in the likelihood; or none
    #[arg(long, value_name = "S|none", default_value = "none")]
    deadline: String,
    /// Nodes on each part of the integral over the stop time
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u8).range(16..=32))]
    quad: u8,
}

fn usage<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Usage, message))
}

fn seconds(flag: &str, text: &str, none: f64) -> Result<f64> {
    match (text, text.parse::<f64>()) {
        ("none", _) => Ok(none),
        (_, Ok(x)) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => usage(format!("{flag} is `{text}`; give seconds, or none")),
    }
}

fn doubtful(drop: bool) -> Doubtful {
    if drop {
        Doubtful::Drop
    } else {
        Doubtful::Refuse
    }
}

impl Reading {
    /// For the model and the task of `spec`.
    pub(super) fn options(&self, spec: &Spec) -> Result<Options> {
        let range = match (self.rt_range.as_str(), self.rt_range.split_once(':')) {
            ("none", _) => Some((0.0, f64::INFINITY)),
            (_, Some((a, b))) => a.parse().ok().zip(b.parse().ok()),
            _ => None,
        };
        let Some(rt_range) = range.filter(|(a, b)| 0.0 <= *a && a < b) else {
            return usage(format!(
                "--rt-range is `{}`; give LOW:HIGH in seconds, such as 0.15:2.0, or none",
                self.rt_range
            ));
        };
        Ok(Options {
            unit_s: if self.unit == Unit::Ms { 0.001 } else { 1.0 },
            rt_range,
            deadline: spec.deadline,
            any_order: self.any_order,
            only: self.only.clone(),
            stops: spec.kind.stops(),
            fits: true,
            layout: self.layout()?,
            tables: self.tables.options(),
            rules: self.rules()?,
        })
    }

    /// How tables are read.
    pub(super) fn tables(&self) -> TableOptions {
        self.tables.options()
    }

    fn layout(&self) -> Result<Layout> {
        let mut layout = Layout::profile(&self.profile)?;
        for given in &self.columns {
            layout = match given.contains('=') {
                true => layout.with_column(given)?,
                false => {
                    let read = layout.read(&text(Path::new(given))?);
                    read.map_err(|e| e.context(format!("--columns {given}")))?
                }
            };
        }
        if let Some(what) = self.premature {
            layout.premature = doubtful(what == Premature::Drop);
        }
        if let Some(what) = self.ssd_on_go {
            layout.ssd_on_go = doubtful(what == SsdOnGo::Ignore);
        }
        Ok(layout)
    }

    fn rules(&self) -> Result<Rules> {
        let share = |flag: &str, given: Option<f64>| match given {
            Some(x) if !(0.0..=1.0).contains(&x) => {
                usage(format!("{flag} is {x}; give a share from 0 to 1"))
            }
            given => Ok(given),
        };
        let range = |text: &String| {
            let ends = text.split_once(':');
            let ends = ends.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            match ends.filter(|(a, b)| 0.0 <= *a && a < b && *b <= 1.0) {
                Some(ends) => Ok(ends),
                None => usage(format!(
                    "--stop-responses is `{text}`; give LOW:HIGH as shares, such as 0.25:0.75"
                )),
            }
        };
        Ok(Rules {
            min_accuracy: share("--min-accuracy", self.min_accuracy)?,
            max_omissions: share("--max-omissions", self.max_omissions)?,
            stop_responses: self.stop_responses.as_ref().map(range).transpose()?,
            race: self.no_race_violations,
            min_go: self.min_go,
            min_stop: self.min_stop,
        })
    }
}

impl Likelihood {
    pub(super) fn kind(&self) -> Kind {
        match (self.model, self.wald_density) {
            (Kind::WaldRace, WaldDensity::Single) => Kind::WaldSingle,
            (kind, _) => kind,
        }
    }

    /// A model without hierarchy and priors of its own.
    pub(super) fn spec(&self) -> Result<Spec> {
        let (kind, deadline) = (
            self.kind(),
            seconds("--deadline", &self.deadline, f64::INFINITY)?,
        );
        if !kind.stops() && deadline.is_finite() {
            return usage(
                "--deadline has no meaning for --model wald, which is about responses alone; leave out \
                 late ones with --rt-range"
                    .into(),
            );
        }
        let mut spec = Spec::new(kind);
        spec.stop_lb = seconds("--stop-lb", &self.stop_lb, f64::NEG_INFINITY)?;
        spec.deadline = deadline;
        spec.nodes = usize::from(self.quad);
        if let Some(go_lb) = self.go_lb {
            if !kind.is_ex_gaussian() {
                return usage(format!(
                    "--go-lb has no meaning for --model {}, whose go times begin at t0",
                    kind.name()
                ));
            }
            if !(0.0..f64::INFINITY).contains(&go_lb) {
                return usage(format!("--go-lb is {go_lb}; give seconds, 0 or more"));
            }
            spec.go_lb = go_lb;
        }
        Ok(spec)
    }
}

/// Takes the names of models of stopping.
pub(super) fn of_stopping() -> impl TypedValueParser<Value = Kind> {
    let known = Kind::OF_STOPPING.map(Kind::name);
    let kind = |name: String| Kind::named(&name).expect("it is one of the names");
    PossibleValuesParser::new(known).map(kind)
}

/// The model with a population that a fit, or a combination, left in `folder`.
pub(super) fn population_text(folder: &Path) -> Result<String> {
    let population = folder.join("population.fz");
    match population.exists() {
        true => text(&population),
        false => text(&folder.join("model.fz")),
    }
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{}: cannot be read: {error}", path.display());
        Error::new(ErrorKind::Io, message)
    })
}
