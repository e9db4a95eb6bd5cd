//! `fitzroy stop-signal loglik`.

use super::shared::{Likelihood, text};
use crate::exit::Outcome;
use crate::json;
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_stop_signal::data::{self, Options};
use fitzroy_stop_signal::loglik::{log_likelihood, outcome_name};
use fitzroy_stop_signal::model::Spec;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Flags of `fitzroy stop-signal loglik`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  fitzroy stop-signal loglik --params params.json --data child.csv --grad\n\n\
    params.json holds the parameters of one subject: {\"B\":1.25,\"t0\":0.15,...,\"ptf\":0.06}, and\n\
    may hold \"stop_lb\", \"deadline\" and \"go_lb\" (a number, or null for none). Prints one JSON document."
)]
pub(crate) struct LoglikArgs {
    /// Parameters of one subject, JSON
    #[arg(long, value_name = "FILE")]
    params: PathBuf,
    /// Trials of one subject, CSV; nothing is left out
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Also the slope of every trial in every parameter
    #[arg(long)]
    grad: bool,
    #[command(flatten)]
    likelihood: Likelihood,
}

/// Computes and prints.
pub(crate) fn run(args: &LoglikArgs) -> Result<Outcome> {
    let mut spec = args.likelihood.spec()?;
    let params = params(args, &mut spec)?;
    let options = Options {
        rt_range: (0.0, f64::INFINITY),
        deadline: spec.deadline,
        any_order: true,
        stops: false,
        fits: false,
        ..Options::default()
    };
    let study = data::read(&args.data, &options)?;
    if study.subjects.len() > 1 {
        let message = format!(
            "{}: {} subjects; the parameters are of one, so give the trials of one",
            args.data.display(),
            study.subjects.len()
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let found = log_likelihood(&spec, &study.rows, &params)?;
    let numbers = |v: &[f64]| -> Value { v.iter().map(|&x| json::number(x)).collect() };
    let outcomes: Vec<&str> = study.rows.iter().map(outcome_name).collect();
    let end = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let mut document = json!({
        "model": spec.kind.name(),
        "stop_lb": end(spec.stop_lb), "deadline": end(spec.deadline), "nodes": 2 * spec.nodes,
        "n": study.rows.len(), "outcome": outcomes, "loglik": numbers(&found.values),
        "total": json::number(found.values.iter().sum()),
    });
    if ends(&spec).contains(&"go_lb") {
        document["go_lb"] = end(spec.go_lb);
    }
    if args.grad {
        let names = spec.names().into_iter().zip(&found.slopes);
        let slopes: Map<String, Value> = names
            .map(|(name, s)| (name.to_string(), numbers(s)))
            .collect();
        document["grad"] = Value::Object(slopes);
    }
    json::print(&document);
    Ok(Outcome::Done)
}

/// Ends of times that a model has.
fn ends(spec: &Spec) -> &'static [&'static str] {
    match spec.kind.is_ex_gaussian() {
        true => &["stop_lb", "deadline", "go_lb"],
        false => &["stop_lb", "deadline"],
    }
}

/// Parameters in the order of the model; the ends of stop and response time go into `spec`.
fn params(args: &LoglikArgs, spec: &mut Spec) -> Result<Vec<f64>> {
    let wrong = |message: String| {
        Error::new(
            ErrorKind::Data,
            format!("{}: {message}", args.params.display()),
        )
    };
    let all: Value =
        serde_json::from_str(&text(&args.params)?).map_err(|e| wrong(e.to_string()))?;
    let Value::Object(all) = all else {
        return Err(wrong("needs an object of names and numbers".into()));
    };
    let names = spec.names();
    let ends = ends(spec);
    for key in all.keys() {
        if !names.contains(&key.as_str()) && !ends.contains(&key.as_str()) {
            let known = names.join(", ");
            return Err(wrong(format!("`{key}` is no parameter; there are {known}")));
        }
    }
    let number = |key: &str| {
        all[key]
            .as_f64()
            .ok_or_else(|| wrong(format!("`{key}` must be a number")))
    };
    let end = |key: &str, slot: &mut f64, none: f64| -> Result<()> {
        *slot = match all.get(key) {
            None => *slot,
            Some(Value::Null) => none,
            Some(_) => number(key)?,
        };
        Ok(())
    };
    end("stop_lb", &mut spec.stop_lb, f64::NEG_INFINITY)?;
    end("deadline", &mut spec.deadline, f64::INFINITY)?;
    end("go_lb", &mut spec.go_lb, 0.0)?;
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|n| !all.contains_key(*n))
        .collect();
    if !missing.is_empty() {
        return Err(wrong(format!("{} is missing", missing.join(", "))));
    }
    names.iter().map(|name| number(name)).collect()
}
