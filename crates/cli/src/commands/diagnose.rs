//! `fitzroy diagnose TRACE`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::diagnose::{
    Interval, StatisticsOptions, SummaryOptions, TailEss, diagnose, diagnose_stored,
};
use fitzroy::draws::{Attribute, Opened, Trace, open_trace};
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text, verdict_line};
use fitzroy::{Error, Result};
use fitzroy_session::traces::IN_MEMORY_BYTES;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Flags of `fitzroy diagnose`.
#[derive(Args)]
#[command(after_help = "Examples:\n  fitzroy diagnose out/trace.nc\n  \
    fitzroy diagnose pymc.nc --var mu,tau --ci-prob 0.94")]
pub(crate) struct DiagnoseArgs {
    /// A trace: NetCDF or Zarr of Fitzroy or ArviZ, CSV of CmdStan, or the folder of a run
    trace: PathBuf,
    /// Variables to show, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    var: Vec<String>,
    /// Probability inside the interval
    #[arg(long, value_name = "P", default_value_t = 0.89)]
    ci_prob: f64,
    /// Highest density or equal-tailed interval
    #[arg(long, value_enum, value_name = "KIND", default_value = "hdi")]
    ci_kind: CiKind,
    /// Quantiles the tail ESS looks at: classic .05 and .95, arviz1 .11 and .89
    #[arg(long, value_enum, value_name = "RULE", default_value = "classic")]
    ess_tail: Tail,
    #[command(flatten)]
    common: Common,
}

/// Kinds of intervals.
#[derive(Clone, Copy, ValueEnum)]
enum CiKind {
    Hdi,
    Eti,
}

/// Rules of the tail ESS.
#[derive(Clone, Copy, ValueEnum)]
enum Tail {
    Classic,
    Arviz1,
}

/// Reads the trace and prints what the draws say.
pub(crate) fn run(args: &DiagnoseArgs) -> Result<Outcome> {
    let machine = args.common.machine()?;
    let path = &args.trace;
    let opened = open_trace(path, IN_MEMORY_BYTES)?;
    let options = SummaryOptions {
        statistics: StatisticsOptions {
            ci_prob: args.ci_prob,
            ci_kind: match args.ci_kind {
                CiKind::Hdi => Interval::Hdi,
                CiKind::Eti => Interval::Eti,
            },
            ess_tail: match args.ess_tail {
                Tail::Classic => TailEss::Classic,
                Tail::Arviz1 => TailEss::Arviz1,
            },
        },
        variables: args.var.clone(),
        threads: machine.threads,
        ..SummaryOptions::default()
    };
    let context = |error: Error| error.context(path.display());
    let options = SummaryOptions {
        group: group(&opened).map_err(context)?,
        ..options
    };
    let (found, trace) = match opened {
        Opened::Whole(trace) => (diagnose(&trace, &options).map_err(context)?, trace),
        Opened::Stored(stored) => (
            diagnose_stored(&stored, &options).map_err(context)?,
            stored.outline()?,
        ),
    };
    if args.common.json {
        let mut document = Map::new();
        document.insert("trace".into(), json!(path.display().to_string()));
        document.extend(origin(&trace));
        document.extend(diagnosis_json(&found));
        json::print(&Value::Object(document));
    } else if args.common.quiet {
        terminal::out(verdict_line(&found));
    } else {
        let text = TextOptions {
            rest_in: "the output of --json".into(),
            ..TextOptions::default()
        };
        terminal::out(diagnosis_text(&found, &text).trim_end());
    }
    Ok(Outcome::Done)
}

/// The posterior, or the prior where that was drawn alone.
fn group(opened: &Opened) -> Result<String> {
    let outline;
    let trace = match opened {
        Opened::Whole(trace) => trace,
        Opened::Stored(stored) => {
            outline = stored.outline()?;
            &outline
        }
    };
    let has = |name: &str| trace.group(name).is_some();
    let name = match !has("posterior") && has("prior") {
        true => "prior",
        false => "posterior",
    };
    Ok(name.into())
}

/// Where a trace of ours came from; nothing for others.
fn origin(trace: &Trace) -> Map<String, Value> {
    let keys = [
        "version",
        "hash",
        "seed",
        "device",
        "precision",
        "metric",
        "target_accept",
        "centring",
    ];
    let find = |key: &str| {
        let name = format!("fitzroy_{key}");
        let (_, value) = trace.attributes.iter().find(|(n, _)| *n == name)?;
        let value = match value {
            Attribute::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            Attribute::Integer(i) => json!(i),
            Attribute::Real(x) => json::number(*x),
        };
        Some((key.to_string(), value))
    };
    keys.iter().filter_map(|key| find(key)).collect()
}
