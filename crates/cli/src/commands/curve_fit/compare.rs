//! Other curves for the same rows (`--compare`).

use super::CurveFitArgs;
use super::pairs::columns;
use fitzroy::Result;
use fitzroy_curve_fit::fit::{
    Averaged, Candidate, Criterion, Selection, average, averaged_rows, select,
};
use fitzroy_curve_fit::report::Average;
use fitzroy_curve_fit::{Data, Formula, Options};
use fitzroy_session::curves::{self, Fitted};
use std::sync::atomic::AtomicBool;

/// What came of `--compare`.
pub(super) struct Compared {
    pub(super) selection: Selection,
    /// The average and the rows that it is at; none where no curve has the weights.
    averaged: Option<(Averaged, Data<'static>)>,
}

impl Compared {
    /// The average, with what it is of.
    pub(super) fn average(&self) -> Option<Average<'_>> {
        let (found, rows) = self.averaged.as_ref()?;
        Some(Average {
            found,
            selection: &self.selection,
            rows,
        })
    }
}

/// Fits every curve of `--compare`, ranks them with `first` and averages them; none without any.
pub(super) fn compared(
    args: &CurveFitArgs,
    first: &Fitted<'_>,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Option<Compared>> {
    let Some(data) = first.data.filter(|_| !args.compare.is_empty()) else {
        return Ok(None);
    };
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
    let selection = select(&candidates, data, &plain)?;
    let rows = rows(args, first, &candidates, data)?;
    let averaged = match args.average {
        Some(criterion) => Some(average(&candidates, &selection, criterion, &rows)?),
        None => average(&candidates, &selection, Criterion::default(), &rows).ok(),
    };
    Ok(Some(Compared {
        selection,
        averaged: averaged.map(|found| (found, rows)),
    }))
}

/// The rows of `--predict`, or such that show the curves.
fn rows(
    args: &CurveFitArgs,
    first: &Fitted<'_>,
    candidates: &[Candidate<'_>],
    data: &Data<'_>,
) -> Result<Data<'static>> {
    let Some(path) = &args.predict else {
        return Ok(averaged_rows(candidates, data));
    };
    let mut names: Vec<String> = Vec::new();
    for name in candidates.iter().flat_map(|c| &c.plan.roles.predictors) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let renames = columns(&args.x)?;
    let columns = first.rows_of(path, &names, &renames, &args.tables.options())?;
    let n = columns.first().map_or(0, Vec::len);
    let rows = Data::new(vec![0.0; n]);
    let both = names.into_iter().zip(columns);
    Ok(both.fold(rows, |rows, (name, column)| rows.with(&name, column)))
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
