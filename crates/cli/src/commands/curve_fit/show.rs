//! What a fit prints and writes.

use super::CurveFitArgs;
use super::device::On;
use super::pairs::texts;
use super::posterior::Sampled;
use crate::commands::plot;
use crate::face::command;
use crate::{json, terminal};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::Data;
use fitzroy_curve_fit::fit::{self, Estimate, Plan, Prediction, Quality};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::report::{self, Shown, Timing, Told};
use fitzroy_device::probe;
use fitzroy_report::figure::Style;
use fitzroy_report::page::Page;
use fitzroy_session::folder::Folder;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Everything there is to show and to write.
pub(super) struct Results<'r> {
    pub(super) args: &'r CurveFitArgs,
    pub(super) plan: &'r Plan,
    pub(super) table: &'r dyn Table,
    /// The columns, where they are in memory.
    pub(super) data: Option<&'r Data<'static>>,
    pub(super) y: &'r str,
    pub(super) estimate: &'r Estimate,
    pub(super) quality: &'r Quality,
    pub(super) timing: &'r Timing,
    pub(super) profiles: Vec<(String, f64, f64)>,
    /// Priors in place of flat ones.
    pub(super) priors: Vec<(String, String)>,
    /// The cost at each step.
    pub(super) costs: Vec<f64>,
    pub(super) on: &'r On,
}

impl Results<'_> {
    pub(super) fn json(&self) -> Value {
        let mut document = Map::new();
        let args = self.args;
        document.insert("device".into(), self.on.json());
        document.insert("precision".into(), json!("f64"));
        document.insert("seed".into(), json!(args.common.seed));
        document.insert("y".into(), json!(self.y));
        document.extend(report::estimate_json(
            self.estimate,
            Some(self.quality),
            self.timing,
        ));
        let peak = json!(probe::peak_bytes());
        document.insert("peak_memory_bytes".into(), peak);
        if !self.profiles.is_empty() {
            let all = self.profiles.iter().map(|(name, low, high)| {
                json!({"name": name, "ci_lower": json::number(*low), "ci_upper": json::number(*high)})
            });
            document.insert("profile".into(), all.collect());
        }
        Value::Object(document)
    }

    fn text(&self) -> String {
        let mut out = report::text(
            self.estimate,
            Some(self.quality),
            self.timing,
            &self.on.text(),
        );
        for (name, low, high) in &self.profiles {
            let (low, high) = (report::significant(*low, 7), report::significant(*high, 7));
            let _ = writeln!(out, "profile interval of {name}: {low} ... {high}");
        }
        out
    }

    pub(super) fn show(&self, sampled: Option<&Sampled>) {
        if self.args.common.json {
            let mut document = self.json();
            if let (Some(sampled), Value::Object(fields)) = (sampled, &mut document) {
                fields.insert("posterior".into(), sampled.json());
            }
            json::print(&document);
        } else if self.args.common.quiet {
            let e = self.estimate;
            for f in &e.parameters {
                terminal::out(format_args!("{} {} {}", f.name, f.value, f.se));
            }
            for finding in &e.findings {
                terminal::note(format_args!("! {finding}"));
            }
        } else {
            terminal::out(self.text().trim_end());
            if let Some(sampled) = sampled {
                terminal::out(format_args!("\n{}", sampled.text().trim_end()));
            }
        }
    }

    /// The folder of results, where one was asked for or draws need one.
    pub(super) fn folder(&self) -> Result<Option<Folder>> {
        let args = self.args;
        let out = args.output.out.as_deref();
        if out.is_none() && !args.posterior {
            return Ok(None);
        }
        let face = args.chains.face(&args.common);
        match out.filter(|_| args.chains.resume) {
            Some(out) => Folder::resume(Path::new(""), out, &face),
            None => args.output.open("curve-fit", &face),
        }
        .map(Some)
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
        let args = self.args;
        if let Some(path) = &args.to_model {
            let text = self.model("--to-model")?;
            plot::write(path, text.as_bytes()).map_err(|e| e.context("--to-model"))?;
        }
        if let Some(path) = &args.residuals {
            self.residuals(path)?;
        }
        let report = folder.is_some() && !args.chains.no_report;
        let shown = match !args.plot.is_empty() || report {
            true => Some(Shown::new(self.plan, self.table, self.estimate, self.y)?),
            false => None,
        };
        for (path, shown) in args.plot.iter().zip(shown.iter().cycle()) {
            let scene = report::fit_figure(shown, self.estimate.confidence, &Style::default());
            plot::write_scene(path, "--plot", &scene)?;
        }
        let Some(folder) = folder else {
            return Ok(());
        };
        folder.write("fit.json", &format!("{:#}\n", self.json()))?;
        folder.write("summary.txt", &self.text())?;
        folder.write("parameters.csv", &report::csv(self.estimate))?;
        if let Some(path) = &args.predict {
            folder.write("prediction.csv", &self.prediction(path)?)?;
        }
        if let (Some(shown), true) = (&shown, report) {
            folder.write("report.html", &self.page(shown).html())?;
        }
        Ok(())
    }

    fn page(&self, shown: &Shown) -> Page {
        let told = Told {
            command: command(),
            device: self.on.described(),
            seed: self.args.common.seed,
            timing: *self.timing,
            profiles: self.profiles.clone(),
            costs: self.costs.clone(),
        };
        report::fit_page(self.estimate, self.quality, shown, &told)
    }

    /// The curve with its bands at the rows of a file.
    fn prediction(&self, path: &Path) -> Result<String> {
        let arrays = fitzroy::data::read_file(path)?;
        let renames = texts("--x", &self.args.x)?;
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let names = &self.plan.roles.predictors;
        for name in names {
            let column = renames
                .iter()
                .find(|(new, _)| new == name)
                .map_or(name, |(_, old)| old);
            let found = arrays.iter().find(|a| a.name == *column).map(|a| &a.values);
            match found {
                Some(fitzroy::data::Values::Real(values)) => columns.push(values.clone()),
                Some(fitzroy::data::Values::Text(cells)) => {
                    columns.push(self.positions(name, cells)?);
                }
                None => {
                    let message = format!(
                        "--predict {}: there is no column `{column}`",
                        path.display()
                    );
                    return Err(Error::new(ErrorKind::Data, message));
                }
            }
        }
        let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let p: Prediction = fit::predict(self.plan, self.estimate, &views, None)?;
        let mut text = names.join(",");
        text += ",value,se,lower,upper,prediction_lower,prediction_upper\n";
        for i in 0..p.value.len() {
            for column in &columns {
                let _ = write!(text, "{},", column[i]);
            }
            let _ = writeln!(
                text,
                "{},{},{},{},{},{}",
                p.value[i],
                p.se[i],
                p.lower[i],
                p.upper[i],
                p.prediction_lower[i],
                p.prediction_upper[i]
            );
        }
        Ok(text)
    }

    /// What the response is called in a model's text: its own name where that is one.
    pub(super) fn y_name(&self) -> &str {
        let plain = self.y.chars().all(|c| c.is_alphanumeric() || c == '_');
        if plain { self.y } else { "y" }
    }

    /// The model text for the sampler, which `flag` asked for.
    pub(super) fn model(&self, flag: &str) -> Result<String> {
        let names = report::Names {
            y: self.y_name(),
            sigma: self.args.sigma.as_deref(),
            absolute_sigma: self.args.absolute_sigma,
            priors: &self.priors,
        };
        report::model_text(self.plan, &names).map_err(|e| e.context(flag))
    }

    /// Positions of labels among those of the fit.
    fn positions(&self, name: &str, cells: &[String]) -> Result<Vec<f64>> {
        let known = self.data.map(Data::label_columns).unwrap_or_default();
        let labels = known
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(&[][..], |(_, l)| *l);
        let place = |cell: &String| match labels.iter().position(|l| l == cell) {
            Some(at) => Ok(at as f64),
            None => {
                let message = format!("--predict: `{cell}` in column `{name}` was not in the fit");
                Err(Error::new(ErrorKind::Data, message))
            }
        };
        cells.iter().map(place).collect()
    }

    fn residuals(&self, path: &Path) -> Result<()> {
        let names = &self.plan.roles.predictors;
        let Some(data) = self.data else {
            return Ok(());
        };
        let views: Vec<&[f64]> = names.iter().filter_map(|n| data.column(n)).collect();
        let p = fit::predict(self.plan, self.estimate, &views, None)?;
        let mut text = format!("{},y,curve,residual\n", names.join(","));
        for (i, y) in data.response().iter().enumerate() {
            for view in &views {
                let _ = write!(text, "{},", view[i]);
            }
            let _ = writeln!(text, "{y},{},{}", p.value[i], y - p.value[i]);
        }
        fs::write(path, text).map_err(|error| {
            let message = format!("--residuals {}: {error}", path.display());
            Error::new(ErrorKind::Io, message)
        })
    }
}
