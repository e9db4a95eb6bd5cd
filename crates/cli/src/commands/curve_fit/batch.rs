//! `--batch-by COLUMN`: a fit for every group of rows.

use super::CurveFitArgs;
use crate::commands::plot;
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use fitzroy::Result;
use fitzroy::data::Array;
use fitzroy_curve_fit::fit::CovarianceStatus;
use fitzroy_curve_fit::method::Status;
use fitzroy_curve_fit::report::{grouped, many_page, panel_figure};
use fitzroy_curve_fit::source::Request;
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_report::figure::Style;
use fitzroy_session::clock::Clock;
use fitzroy_session::curves::batch::{Fitted, GroupFits};
use fitzroy_session::curves::device::FitDevice;
use serde_json::json;

/// Fits every group and writes one row per fit.
pub(super) fn run(
    args: &CurveFitArgs,
    mut device: FitDevice,
    column: &str,
    arrays: Vec<Array>,
    formula: &Formula,
    request: &Request,
    options: &Options,
    clock: &Clock,
) -> Result<Outcome> {
    let (face, stop) = (
        args.face(),
        interrupt::catch_with("stopping: fits so far will be written")?,
    );
    let fits = GroupFits {
        formula,
        column,
        request,
        face: &*face,
        stop: &stop,
        clock: *clock,
    };
    let share = |groups: &Array, n: usize| match args.chains.task {
        // Of files a task reads its own.
        Some(task) if groups.source != "--data-set" => task.share(n, "groups").map(Some),
        _ => Ok(None),
    };
    let in_order = |roles: &_| args.in_order(options.clone(), roles);
    let fitted = fits.run(&mut device, arrays, share, in_order)?;
    let (n, good) = (fitted.groups.len(), fitted.batch.n_converged());
    let mut folder = args.output.open("curve-fit", &face)?;
    let path = folder.path().join("fits.csv");
    folder.write("fits.csv", &fitted.csv(column))?;
    let mut document = fitted.json(&fits, &device);
    document["file"] = json!(path.display().to_string());
    document["timing_s"] = json!({"fit": fitted.fit_s, "total": clock.seconds()});
    folder.write("fit.json", &format!("{document:#}\n"))?;
    if !args.chains.no_report {
        let page = many_page(&fitted.shown, &folder.face().command());
        folder.write("report.html", &page.html())?;
    }
    folder.finish()?;
    for path in &args.plot {
        let scene = panel_figure(&fitted.shown, &Style::default());
        plot::write_scene(path, "--plot", &scene)?;
    }
    if args.common.json {
        json::print(&document);
    } else {
        let found = sentence(&fitted, column);
        let text = formula.text();
        terminal::out(format_args!("{text}   {found}\n{}", path.display()));
    }
    Ok(if fitted.batch.status.contains(&Status::Interrupted) {
        Outcome::Interrupted
    } else if args.chains.strict && (good < n || fitted.doubts.is_beyond_chance()) {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// How the fits by `column` went.
fn sentence(fitted: &Fitted, column: &str) -> String {
    let statuses = fitted.statuses();
    let each: Vec<String> = statuses
        .iter()
        .map(|(s, n)| format!("{} {}", grouped(*n), s.replace('_', " ")))
        .collect();
    format!(
        "{} fits by {column}, {} rows: {} converged in {:.1} ms ({}){}{}",
        grouped(fitted.groups.len()),
        grouped(fitted.n_rows),
        grouped(fitted.batch.n_converged()),
        1e3 * fitted.fit_s,
        each.join(", "),
        undetermined(&fitted.errors()),
        doubted(fitted),
    )
}

/// A line about fits that converged, though their residuals speak against them.
fn doubted(fitted: &Fitted) -> String {
    let chance = match fitted.doubts.is_beyond_chance() {
        true => "see the column `doubts`",
        false => "no more than chance has of right models",
    };
    match fitted.doubts.words() {
        None => String::new(),
        Some(words) => format!("\n! {words}; {chance}"),
    }
}

/// A line about fits that converged, though their data do not determine all parameters.
fn undetermined(errors: &[(&'static str, usize)]) -> String {
    let name = CovarianceStatus::RankDeficient.name();
    match errors.iter().find(|(known, _)| *known == name) {
        Some((_, n)) => format!(
            "\n! {} without errors ({name}): their rows do not determine all parameters",
            grouped(*n)
        ),
        None => String::new(),
    }
}
