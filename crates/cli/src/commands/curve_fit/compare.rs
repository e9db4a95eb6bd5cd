//! Other curves for the same rows (`--compare`).

use super::CurveFitArgs;
use fitzroy::Result;
use fitzroy_curve_fit::fit::{Candidate, Selection, select};
use fitzroy_curve_fit::{Data, Formula, Options};
use fitzroy_session::curves::{self, Fitted};
use std::sync::atomic::AtomicBool;

/// Fits every curve of `--compare` and ranks them with `first`; none without any.
pub(super) fn compared(
    args: &CurveFitArgs,
    first: &Fitted<'_>,
    data: &Data<'_>,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Option<Selection>> {
    if args.compare.is_empty() {
        return Ok(None);
    }
    let formulas = formulas(args)?;
    let mut fits = Vec::new();
    for formula in &formulas {
        let fitting = curves::fit(formula, data).options(own(options, formula, data)?);
        fits.push(fitting.stop(stop).run()?);
    }
    let all = std::iter::once(first).chain(&fits);
    let candidates = all.map(|fit| Candidate {
        plan: &fit.plan,
        estimate: &fit.estimate,
        quality: &fit.quality,
    });
    let candidates: Vec<Candidate<'_>> = candidates.collect();
    let plain = Options {
        p0: Vec::new(),
        ..options.clone()
    };
    select(&candidates, data, &plain).map(Some)
}

/// The formulas of `--compare`.
pub(super) fn formulas(args: &CurveFitArgs) -> Result<Vec<Formula>> {
    let parse =
        |text: &String| Formula::parse(text).map_err(|e| e.context(format!("--compare '{text}'")));
    args.compare.iter().map(parse).collect()
}

/// The options that are about parameters of `formula`, and all the others.
fn own(options: &Options, formula: &Formula, data: &Data<'_>) -> Result<Options> {
    let roles = formula.roles(&data.names(), &data.label_columns())?;
    let has = |name: &String| roles.parameters.iter().any(|p| p.name == *name);
    let mut own = options.clone();
    own.p0.retain(|(name, _)| has(name));
    own.fixed.retain(|(name, _)| has(name));
    own.tied.retain(|(name, _)| has(name));
    own.bounds.retain(|(name, ..)| has(name));
    own.constraints.clear();
    Ok(own)
}
