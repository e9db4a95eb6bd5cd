//! `fitzroy curve-fit --model EXPR|NAME DATA...`

mod batch;
mod compare;
mod flags;
mod inputs;
pub(super) mod large;
pub(super) mod pairs;
mod sets;
mod show;
mod workflow;

use super::chains::dry_run;
use super::plot;
use crate::exit::Outcome;
use crate::interrupt;
use fitzroy::Result;
use fitzroy_curve_fit::source::{Assembled, assemble};
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_session::clock::Clock;
use fitzroy_session::curves::device::FitDevice;
use fitzroy_session::curves::{self, Fitted, posterior};
use fitzroy_session::face::Note;
pub(crate) use flags::CurveFitArgs;
use inputs::arrays;
use show::Results;
use std::sync::atomic::AtomicBool;
use workflow::{Exported, Workflow};

/// Reads, fits, prints.
pub(crate) fn run(args: &CurveFitArgs) -> Result<Outcome> {
    let clock = Clock::start();
    match &args.workflow {
        None => fit(args, None, &clock),
        Some(path) => {
            let (args, workflow) = workflow::read(path, args)?;
            fit(&args, Some(workflow), &clock)
        }
    }
}

/// The fit that `args` describe, perhaps with the columns of a workflow.
fn fit(args: &CurveFitArgs, workflow: Option<Workflow>, clock: &Clock) -> Result<Outcome> {
    args.check()?;
    for path in &args.plot {
        plot::check_figure(path, "--plot")?;
    }
    let threads = args.common.threads()?.threads;
    let device = FitDevice::choose(&args.common.request()?, threads)?;
    let options = args.options(threads)?;
    let text = args.model.as_deref().unwrap_or_default();
    let formula = Formula::parse(text).map_err(|e| e.context("--model"))?;
    if let Some(limit) = &args.memory_limit {
        return large::run(args, device, limit, &formula, &options, clock);
    }
    let request = args.request()?;
    let (arrays, exported) = match workflow {
        Some(workflow) => (workflow.arrays, workflow.results),
        None => (arrays(args)?, None),
    };
    if let Some(column) = &args.batch_by {
        return batch::run(
            args, device, column, arrays, &formula, &request, &options, clock,
        );
    }
    let Assembled {
        data,
        y,
        n_dropped,
        sigma,
        remarks,
    } = assemble(arrays, &formula, &request)?;
    let face = args.face();
    remarks.iter().for_each(|r| face.tell(Note::Remark(r)));
    let roles = formula.roles(&data.names(), &data.label_columns())?;
    let options = args.in_order(options, &roles)?;
    let priors = args.priors()?;
    let stop = interrupt::catch_with("stopping: what was done so far is the result")?;
    let mut fitting = curves::fit(&formula, &data)
        .options(options.clone())
        .chosen(device)
        .resampling(args.resampling())
        .x_sigma(inputs::x_sigma(args, &data)?)
        .sigma_matrix(inputs::sigma_matrix(args)?)
        .response(y)
        .dropped(n_dropped)
        .face(args.face())
        .stop(&stop)
        .clock(*clock);
    if let Some(seconds) = args.time_limit {
        fitting = fitting.time_limit(seconds);
    }
    if let Some(names) = args.profiled() {
        fitting = fitting.profiles(names);
    }
    let mut fitted = fitting.run()?;
    fitted.sigma = sigma;
    fitted.view = args.view()?;
    fitted.priors = priors;
    finish(args, &fitted, &options, (clock, &stop), exported)
}

/// Compares what was fitted with other curves, samples it, writes and prints it.
fn finish(
    args: &CurveFitArgs,
    fitted: &Fitted<'_>,
    options: &Options,
    (clock, stop): (&Clock, &AtomicBool),
    exported: Option<Exported>,
) -> Result<Outcome> {
    let face = args.chains.face(&args.common);
    let mut sampling = match args.posterior {
        true => {
            // What cannot be sampled is refused before anything is written.
            posterior::check(fitted)?;
            Some(args.sampling(clock, &face)?)
        }
        false => None,
    };
    if let Some(sampling) = sampling.as_mut().filter(|_| args.chains.dry_run) {
        let prepared = sampling.prepare(fitted)?;
        let (joint, settings) = (&prepared.joint, &prepared.settings);
        return dry_run("posterior", joint, settings, &args.common);
    }
    let compared = compare::compared(args, fitted, options, stop)?;
    let result = Results {
        args,
        fitted,
        compared: compared.as_ref(),
    };
    let mut folder = result.folder()?;
    result.write(folder.as_mut())?;
    if let Some(results) = exported {
        results.write(&result)?;
    }
    let sampled = match (sampling, folder.as_mut()) {
        (Some(mut sampling), Some(folder)) => sampling.run(fitted, folder, stop)?,
        _ => None,
    };
    result.show(sampled.as_ref());
    if let Some(folder) = folder {
        result.finish(folder)?;
    }
    if let Some(outcome) = sampled.and_then(|s| show::outcome(&s, args.chains.strict)) {
        return Ok(outcome);
    }
    Ok(result.outcome())
}
