//! The posterior of a curve that was fitted, sampled from the fit on.

use super::fitted::Fitted;
use crate::chains::{Chains, Ended, examine, mark, summaries};
use crate::clock::Clock;
use crate::device::Chosen;
use crate::face::Face;
use crate::folder::Folder;
use crate::report::write_run;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::fit::sample::Init;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{self, Settings, Subject, run_json};
use fitzroy_curve_fit::posterior;
use fitzroy_report::report::RunFacts;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a posterior is sampled.
pub struct Sampling<'a> {
    /// Settings of the chains.
    pub settings: Settings,
    /// Chains of the whole run, of which the settings may have some.
    pub n_chains: usize,
    /// The device of the chains.
    pub chosen: Chosen,
    /// Whether an earlier run in the folder goes on.
    pub resume: bool,
    /// Whether a page is written.
    pub report: bool,
    /// Seconds between publications of the draws, at least.
    pub publish_every_s: f64,
    /// Threads of what follows sampling.
    pub threads: usize,
    /// Who asked for it.
    pub face: &'a Arc<dyn Face>,
    /// Began when the work began.
    pub clock: Clock,
}

/// A posterior that was sampled.
pub enum Sampled {
    /// To the end, or as far as it came.
    Drawn {
        /// What the draws look like.
        found: Box<Diagnosis>,
        /// It was stopped on the way.
        interrupted: bool,
    },
    /// Stopped before the first draw.
    Early,
    /// The draws could no longer be written, which has been told.
    Unwritable,
}

/// A posterior that is to be sampled.
pub struct Prepared {
    /// The model with its data.
    pub joint: Joint,
    /// How it is sampled.
    pub settings: Settings,
    /// The name of the device.
    device: String,
}

/// Refuses what has no posterior, and priors that are none.
///
/// # Errors
/// The data do not determine all parameters, or the model is none.
pub fn check(fitted: &Fitted<'_>) -> Result<()> {
    posterior::check(&fitted.estimate)?;
    let text = fitted.model().map_err(|e| e.context(ASKED))?;
    Model::parse(&text).map(drop).map_err(|e| e.context(ASKED))
}

/// What asks for a posterior.
const ASKED: &str = "⟨posterior⟩";

impl Sampling<'_> {
    /// Binds the model of the fit and places the chains.
    ///
    /// # Errors
    /// The fit has no model; a device that cannot be used.
    pub fn prepare(&mut self, fitted: &Fitted<'_>) -> Result<Prepared> {
        let text = fitted.model().map_err(|e| e.context(ASKED))?;
        let model = Model::parse(&text).map_err(|e| e.context(ASKED))?;
        let data = fitted
            .data
            .expect("a posterior is sampled of data in memory");
        let (plan, sigma) = (&fitted.plan, fitted.sigma.as_deref());
        let data = posterior::dataset(plan, data, fitted.y_name(), sigma);
        let mut settings = Settings {
            // Starts are given in the coordinates of the text.
            rewrites: Rewrites::NONE,
            ..self.settings.clone()
        };
        let joint = run::bind(&model, &data, &settings)?;
        let sampler = &mut settings.sampler;
        let (estimate, seed) = (&fitted.estimate, sampler.seed);
        let mut points = posterior::starts(&joint, plan, estimate, self.n_chains, seed);
        // A task has some of the chains.
        let first = sampler.first_chain as usize;
        let own = first..first + sampler.chains;
        sampler.init = Init::Points(points.drain(own).collect());
        self.chosen.settle(&joint, &mut settings)?;
        Ok(Prepared {
            joint,
            settings,
            device: self.chosen.name.clone(),
        })
    }

    /// Samples and writes `model.fz`, `trace.nc`, `posterior.{txt,csv,json,html}`; none if all draws
    /// asked for are there.
    ///
    /// # Errors
    /// Those of [`Sampling::prepare`] and of the sampler.
    pub fn run(
        &mut self,
        fitted: &Fitted<'_>,
        folder: &mut Folder,
        stop: &AtomicBool,
    ) -> Result<Option<Sampled>> {
        let text = fitted.model().map_err(|e| e.context(ASKED))?;
        folder.write("model.fz", &text)?;
        let Prepared {
            joint,
            settings,
            device,
        } = self.prepare(fitted)?;
        let chains = Chains {
            subject: Subject::Model(&joint),
            settings: &settings,
            clock: self.clock,
            face: self.face,
            stop,
            publish_every_s: self.publish_every_s,
        };
        let from = match self.resume {
            true => match chains.go_on(folder)? {
                Some(from) => from,
                None => return Ok(None),
            },
            false => None,
        };
        let ran = chains.run(folder, from).map_err(|e| e.context(ASKED))?;
        let (mut outcome, _progress) = match ran {
            Ended::Drawn(outcome, progress) => (*outcome, progress),
            Ended::Early => return Ok(Some(Sampled::Early)),
            Ended::Unwritable(_) => return Ok(Some(Sampled::Unwritable)),
        };
        let options = SummaryOptions {
            threads: self.threads,
            ..SummaryOptions::default()
        };
        let (found, written) = examine(folder, &mut outcome, &options, &self.clock)?;
        let facts = run::Machine {
            model: "posterior".into(),
            device,
            reading: fitted.timing.total,
            written,
            total: self.clock.seconds(),
        };
        mark(folder, &run_json(&outcome, &settings, &found, &facts));
        summaries(folder, "posterior", &found);
        if self.report {
            let facts = RunFacts {
                name: "Posterior of a curve".into(),
                ..RunFacts::default()
            };
            write_run(folder, "posterior.html", &outcome.trace, &found, facts);
        }
        Ok(Some(Sampled::Drawn {
            found: Box::new(found),
            interrupted: outcome.run.interrupted,
        }))
    }
}
