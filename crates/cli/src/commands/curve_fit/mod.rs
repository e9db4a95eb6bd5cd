//! `fitzroy curve-fit --model EXPR|NAME DATA...`

mod batch;
mod device;
mod flags;
mod inputs;
pub(super) mod large;
mod pairs;
mod posterior;
mod sets;
mod show;
mod watch;
mod workflow;

use super::plot;
use crate::exit::Outcome;
use crate::interrupt;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{self, Estimate, Plan, fit_table};
use fitzroy_curve_fit::method::{Next, Status};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::report::Timing;
use fitzroy_curve_fit::source::{Assembled, assemble};
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_session::clock::Clock;
pub(crate) use flags::CurveFitArgs;
use inputs::arrays;
use show::Results;
use std::sync::atomic::Ordering;
use workflow::Workflow;

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Steps whose cost the report shows.
const MOST_COSTS: usize = 2000;

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
    let mut on = device::On::choose(args)?;
    let options = args.options(on.threads)?;
    let text = args.model.as_deref().unwrap_or_default();
    let formula = Formula::parse(text).map_err(|e| e.context("--model"))?;
    if let Some(limit) = &args.memory_limit {
        return large::run(args, &mut on, limit, &formula, &options, clock);
    }
    let request = args.request()?;
    let (arrays, exported) = match workflow {
        Some(workflow) => (workflow.arrays, workflow.results),
        None => (arrays(args)?, None),
    };
    if let Some(column) = &args.batch_by {
        return batch::run(
            args, &mut on, column, arrays, &formula, &request, &options, clock,
        );
    }
    let Assembled {
        data, y, n_dropped, ..
    } = assemble(arrays, &formula, &request)?;
    let mut timing = Timing {
        read: clock.seconds(),
        ..Timing::default()
    };
    let roles = formula.roles(&data.names(), &data.label_columns())?;
    let options = args.in_order(options, &roles)?;
    let plan = Plan::new(&formula, roles, data.has_sigma(), &options)?;
    fit::check_rows(&plan, &data)?;
    let table = data.table(&plan.roles.predictors)?;
    timing.compile = clock.seconds() - timing.read;
    for path in &args.plot {
        plot::check_figure(path, "--plot")?;
    }
    let priors = args.priors()?;
    let stop = interrupt::catch_with("stopping: what was done so far is the result")?;
    on.settle(&plan, &table, &options, clock)?;
    let before = clock.seconds();
    let mut costs = Vec::new();
    let remote = on.table(&table);
    let passes: &dyn Table = remote.as_ref().map_or(&table, |remote| remote);
    let mut estimate = fit_table(&plan, passes, &options, &mut |step| {
        if costs.len() < MOST_COSTS {
            costs.push(step.cost);
        }
        let late = args
            .time_limit
            .is_some_and(|limit| clock.seconds() - before > limit);
        if stop.load(Ordering::Relaxed) {
            Next::Interrupt
        } else if late {
            Next::OutOfTime
        } else {
            Next::Continue
        }
    })?;
    timing.fit = clock.seconds() - before;
    timing.total = clock.seconds();
    estimate.n_dropped = n_dropped;
    // The measures of the residuals take another read, which many rows would feel.
    let quality = fit::quality(&plan, &table, &estimate)?;
    estimate.weigh(&quality);
    let profiles = profiles(args, &plan, passes, &options, &estimate)?;
    let result = Results {
        args,
        plan: &plan,
        table: &table,
        data: Some(&data),
        y: &y,
        estimate: &estimate,
        quality: &quality,
        timing: &timing,
        profiles,
        priors,
        costs,
        on: &on,
    };
    if args.posterior {
        // What cannot be sampled is refused before anything is written.
        posterior::check(&result)?;
    }
    if args.chains.dry_run {
        return posterior::dry_run(&result);
    }
    let mut folder = result.folder()?;
    result.write(folder.as_mut())?;
    if let Some(results) = exported {
        results.write(&result)?;
    }
    let sampled = match (args.posterior, folder.as_mut()) {
        (true, Some(folder)) => posterior::sample(&result, folder, clock)?,
        _ => None,
    };
    result.show(sampled.as_ref());
    if let Some(folder) = folder {
        result.finish(folder)?;
    }
    if let Some(outcome) = sampled.and_then(|s| s.outcome(args.chains.strict)) {
        return Ok(outcome);
    }
    Ok(match estimate.status {
        Status::Interrupted => Outcome::Interrupted,
        _ if args.chains.strict && !estimate.converged() => Outcome::NotPassed,
        _ => Outcome::Done,
    })
}

/// Name, lower and upper end of each profile asked for.
fn profiles(
    args: &CurveFitArgs,
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    estimate: &Estimate,
) -> Result<Vec<(String, f64, f64)>> {
    let Some(names) = &args.profile else {
        return Ok(Vec::new());
    };
    let wanted: Vec<String> = if names.is_empty() {
        estimate.free.clone()
    } else {
        names.split(',').map(|n| n.trim().to_string()).collect()
    };
    let mut out = Vec::new();
    for name in wanted {
        if estimate.parameter(&name).is_none() {
            let message = format!(
                "--profile: the model has no parameter `{name}`; its parameters are {}",
                estimate.free.join(", ")
            );
            return Err(usage(message));
        }
        if let Some((low, high)) = fit::profile(plan, table, options, estimate, &name)? {
            out.push((name, low, high));
        }
    }
    Ok(out)
}
