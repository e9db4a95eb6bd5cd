//! Independent draws of the prior: every variable from its distribution, given those before it.

use super::compiled::{Compiled, Terms};
use super::integrated::Integrated;
use super::kept::block_run;
use super::records::Told;
use super::{Caller, Outcome, Settings, Timing, trace};
use crate::fit::sample::{Draws, Run, Statistics};
use crate::model::Role;
use crate::model::ast::Statement;
use crate::model::families::family;
use crate::model::joint::{Chosen, Joint};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::cpu::Engine;
use fitzroy_device::gpu::text::Precision;
use std::sync::Arc;

/// Draws `settings.sampler.draws` independent draws for each chain. Each depends on the seed, its
/// chain and its number alone, as replicates of data do.
///
/// `None` where a model has a prior that cannot be drawn from in one step (`bounded`, `ordered`,
/// the parts of a covariance by their own names, missing values): those priors are sampled.
pub(super) fn ancestral(
    joint: &Joint,
    settings: &Settings,
    caller: &Caller<'_>,
) -> Result<Option<Outcome>> {
    let start = (caller.now)();
    // Missing values are parameters, which the model alone does not know.
    if joint.binding().arrays.iter().any(|a| a.missing.is_some()) {
        return Ok(None);
    }
    let Some(model) = joint.model().with_parameters_drawn() else {
        return Ok(None);
    };
    let Ok(drawn) = Joint::new(&model, joint.binding().clone()) else {
        return Ok(None);
    };
    let compiled = Compiled::new(
        &drawn,
        &Chosen::default(),
        Terms::Priors,
        Engine::Interpreter,
    )?;
    let compiled_at = (caller.now)();
    // There is no warm-up, and the trace says so.
    let mut settings = settings.clone();
    settings.sampler.tune = 0;
    let mut timing = Timing {
        compile: compiled_at - start,
        ..Timing::default()
    };
    let collect = trace::Collect {
        joint: &drawn,
        compiled: &compiled,
        told: Told {
            settings: &settings,
            caller,
            timing,
            warmup_transitions: Some(0),
            precision: Precision::F64,
        },
    };
    let run = nothing_sampled(&settings);
    let symbols = joint.model().symbols().iter();
    let parameters = symbols.filter(|(_, symbol)| symbol.role == Role::Parameter);
    let names = parameters.map(|(name, _)| name.as_str());
    let trace = collect.drawn(&names.collect(), &run)?;
    timing.sampling = (caller.now)() - compiled_at;
    Ok(Some(Outcome {
        precision: Precision::F64,
        trace,
        positions: vec![Vec::new(); settings.sampler.chains],
        first_transition: 0,
        integrated: Integrated::none(0),
        run,
        centring: Vec::new(),
        rewrites: Vec::new(),
        findings: Vec::new(),
        timing,
        group: "prior",
        first_draw: 0,
        n_draws: settings.sampler.draws,
        compiled: Some(Arc::clone(&compiled)),
        kept: None,
    }))
}

/// The books of a sampler that had nothing to do.
fn nothing_sampled(settings: &Settings) -> Run {
    let n_draws = settings.sampler.draws;
    let chain = || Draws {
        positions: Vec::new(),
        statistics: Statistics {
            lp: vec![f64::NAN; n_draws],
            ..Statistics::default()
        },
    };
    let n_chains = settings.sampler.chains;
    block_run((0..n_chains).map(|_| chain()).collect(), 0)
}

/// That every prior has a finite integral.
///
/// # Errors
/// Names the first that has not.
pub(super) fn refuse_improper(joint: &Joint) -> Result<()> {
    let model = joint.model();
    for statement in model.statements() {
        let Statement::Sampled(s) = statement else {
            continue;
        };
        let role = model.symbols().get(&s.name.text).map(|s| s.role);
        let law = s.distribution.name.text.as_str();
        let improper = family(law).is_some_and(|f| f.forms.iter().any(|form| form.is_improper()));
        let array = joint.binding().array(&s.name.text);
        let missing = array.and_then(|a| a.missing.as_ref());
        let name = missing.map_or(&s.name.text, |m| &m.parameter);
        if (role == Some(Role::Parameter) || missing.is_some()) && improper {
            let message = format!(
                "`{name}` has the improper prior {law}(), so there is no prior to draw from; give it \
                 a proper one"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    Ok(())
}
