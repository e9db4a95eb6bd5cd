//! What a fit prints and writes.

use super::CurveFitArgs;
use super::compare::Compared;
use super::pairs::columns;
use crate::commands::{files, plot};
use crate::exit::Outcome;
use crate::{json, terminal};
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::method::Status;
use fitzroy_curve_fit::report;
use fitzroy_report::draw::{Theme, svg};
use fitzroy_report::figure::Style;
use fitzroy_session::curves::posterior::Sampled;
use fitzroy_session::curves::{Fitted, Outputs};
use fitzroy_session::folder::Folder;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Everything there is to show and to write.
pub(super) struct Results<'r> {
    pub(super) args: &'r CurveFitArgs,
    pub(super) fitted: &'r Fitted<'r>,
    /// The curve beside others, if that was asked for.
    pub(super) compared: Option<&'r Compared>,
}

impl Results<'_> {
    pub(super) fn json(&self) -> Value {
        let mut document = self.fitted.json();
        if let (Some(compared), Value::Object(fields)) = (self.compared, &mut document) {
            let mut comparison = report::selection_json(&compared.selection);
            comparison["averaged"] = compared.average().map(|average| average.json()).into();
            fields.insert("comparison".into(), comparison);
        }
        document
    }

    pub(super) fn show(&self, sampled: Option<&Sampled>) {
        if self.args.common.json {
            let mut document = self.json();
            if let (Some(sampled), Value::Object(fields)) = (sampled, &mut document) {
                fields.insert("posterior".into(), posterior_json(sampled));
            }
            json::print(&document);
        } else if self.args.common.quiet {
            let e = &self.fitted.estimate;
            for f in &e.parameters {
                terminal::out(format_args!("{} {} {}", f.name, f.value, f.se));
            }
            for finding in &e.findings {
                terminal::note(format_args!("! {finding}"));
            }
        } else {
            terminal::out(self.fitted.text().trim_end());
            if let Some(compared) = self.compared {
                let mut text = report::selection_text(&compared.selection);
                if let Some(average) = compared.average() {
                    text += &format!("\n{}", average.text());
                }
                terminal::out(format_args!("\n{}", text.trim_end()));
            }
            if let Some(sampled) = sampled {
                terminal::out(format_args!("\n{}", posterior_text(sampled).trim_end()));
            }
        }
    }

    /// How the command ends for the fit.
    pub(super) fn outcome(&self) -> Outcome {
        let estimate = &self.fitted.estimate;
        match estimate.status {
            Status::Interrupted => Outcome::Interrupted,
            _ if self.args.chains.strict && !estimate.converged() => Outcome::NotPassed,
            _ => Outcome::Done,
        }
    }

    /// The folder of results, if one was asked for or draws need one.
    pub(super) fn folder(&self) -> Result<Option<Folder>> {
        match self.args.output.out.is_some() || self.args.posterior {
            true => self.args.folder().map(Some),
            false => Ok(None),
        }
    }

    /// Ends with the folder, saying where it is.
    pub(super) fn finish(&self, folder: Folder) -> Result<()> {
        let path = folder.path().to_path_buf();
        folder.finish()?;
        if !self.args.common.quiet && !self.args.common.json {
            terminal::note(format_args!("wrote {}", path.display()));
        }
        Ok(())
    }

    pub(super) fn write(&self, folder: Option<&mut Folder>) -> Result<()> {
        let (args, fitted) = (self.args, self.fitted);
        if let Some(path) = &args.to_model {
            let text = fitted.model().map_err(|e| e.context("--to-model"))?;
            files::write(path, text.as_bytes()).map_err(|e| e.context("--to-model"))?;
        }
        if let Some(path) = &args.residuals {
            self.residuals(path)?;
        }
        if !args.plot.is_empty() {
            let shown = fitted.shown()?;
            for path in &args.plot {
                let confidence = fitted.estimate.confidence;
                let scene = report::fit_figure(&shown, confidence, &Style::default());
                plot::write_scene(path, "--plot", &scene)?;
            }
        }
        let Some(folder) = folder else {
            return Ok(());
        };
        let outputs = Outputs {
            report: !args.chains.no_report,
            predict: args.predict.as_deref(),
            renames: &columns(&args.x)?,
            tables: Some(&args.tables.options()),
        };
        fitted.write(folder, &outputs)?;
        if let Some(compared) = self.compared {
            let text = report::selection_csv(&compared.selection);
            folder.write("comparison.csv", &text)?;
            self.averaged(compared, folder)?;
        }
        Ok(())
    }

    /// The average of curves that were compared, and its figure.
    fn averaged(&self, compared: &Compared, folder: &mut Folder) -> Result<()> {
        let Some(average) = compared.average() else {
            return Ok(());
        };
        folder.write("averaged.csv", &average.csv())?;
        let scene = self.fitted.data.and_then(|data| {
            let response = &self.fitted.y;
            average.figure(data, response, &Style::default())
        });
        match scene {
            Some(scene) => folder.write("averaged.svg", &svg(&scene, Theme::Light)),
            None => Ok(()),
        }
    }

    fn residuals(&self, path: &Path) -> Result<()> {
        let Some(text) = self.fitted.residuals()? else {
            return Ok(());
        };
        fs::write(path, text).map_err(|error| {
            let message = format!("--residuals {}: {error}", path.display());
            Error::new(ErrorKind::Io, message)
        })
    }
}

/// How the command ends for a posterior; none if the fit decides.
pub(super) fn outcome(sampled: &Sampled, strict: bool) -> Option<Outcome> {
    match sampled {
        Sampled::Early => Some(Outcome::Interrupted),
        Sampled::Unwritable => Some(Outcome::NotPassed),
        Sampled::Drawn { interrupted, .. } if *interrupted => Some(Outcome::Interrupted),
        Sampled::Drawn { found, .. } if strict && !found.converged() => Some(Outcome::NotPassed),
        Sampled::Drawn { .. } => None,
    }
}

fn posterior_json(sampled: &Sampled) -> Value {
    match sampled {
        Sampled::Drawn { found, .. } => Value::Object(diagnosis_json(found)),
        _ => json!({"converged": false}),
    }
}

fn posterior_text(sampled: &Sampled) -> String {
    match sampled {
        Sampled::Drawn { found, .. } => diagnosis_text(found, &TextOptions::default()),
        Sampled::Early => "stopped before the first draw".into(),
        Sampled::Unwritable => "the draws could not be written".into(),
    }
}
