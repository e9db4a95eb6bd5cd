//! What a fit prints and writes.

use super::CurveFitArgs;
use super::pairs::texts;
use crate::{json, terminal};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::Data;
use fitzroy_curve_fit::fit::{self, Estimate, Plan, Prediction, Quality};
use fitzroy_curve_fit::report::{self, Timing};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Everything there is to show and to write.
pub(super) struct Results<'r> {
    pub(super) args: &'r CurveFitArgs,
    pub(super) plan: &'r Plan,
    pub(super) data: &'r Data<'static>,
    pub(super) y: &'r str,
    pub(super) estimate: &'r Estimate,
    pub(super) quality: &'r Quality,
    pub(super) timing: &'r Timing,
    pub(super) profiles: Vec<(String, f64, f64)>,
}

impl Results<'_> {
    fn json(&self) -> Value {
        let mut document = Map::new();
        let args = self.args;
        document.insert("device".into(), json!({"kind": "cpu"}));
        document.insert("precision".into(), json!("f64"));
        document.insert("seed".into(), json!(args.common.seed));
        document.insert("y".into(), json!(self.y));
        document.extend(report::estimate_json(
            self.estimate,
            Some(self.quality),
            self.timing,
        ));
        if !self.profiles.is_empty() {
            let all = self.profiles.iter().map(|(name, low, high)| {
                json!({"name": name, "ci_lower": json::number(*low), "ci_upper": json::number(*high)})
            });
            document.insert("profile".into(), all.collect());
        }
        Value::Object(document)
    }

    fn text(&self, threads: usize) -> String {
        let mut out = report::text(self.estimate, Some(self.quality), self.timing, threads);
        for (name, low, high) in &self.profiles {
            let (low, high) = (report::significant(*low, 7), report::significant(*high, 7));
            let _ = writeln!(out, "profile interval of {name}: {low} ... {high}");
        }
        out
    }

    pub(super) fn show(&self, threads: usize) {
        if self.args.common.json {
            json::print(&self.json());
        } else if self.args.common.quiet {
            let e = self.estimate;
            for f in &e.parameters {
                terminal::out(format_args!("{} {} {}", f.name, f.value, f.se));
            }
            for finding in &e.findings {
                terminal::note(format_args!("! {finding}"));
            }
        } else {
            terminal::out(self.text(threads).trim_end());
        }
    }

    pub(super) fn write(&self) -> Result<()> {
        let args = self.args;
        if let Some(path) = &args.to_model {
            self.model(path)?;
        }
        if let Some(path) = &args.residuals {
            self.residuals(path)?;
        }
        let Some(out) = &args.output.out else {
            return Ok(());
        };
        let here = Path::new(".");
        let mut folder =
            crate::output::Folder::open(here, Some(out), "curve-fit", args.output.overwrite)?;
        folder.write("fit.json", &format!("{:#}\n", self.json()))?;
        folder.write("summary.txt", &self.text(1))?;
        folder.write("parameters.csv", &report::csv(self.estimate))?;
        if let Some(path) = &args.predict {
            folder.write("prediction.csv", &self.prediction(path)?)?;
        }
        folder.finish()
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

    /// The model text for the sampler.
    fn model(&self, path: &Path) -> Result<()> {
        let plain = self.y.chars().all(|c| c.is_alphanumeric() || c == '_');
        let names = report::Names {
            y: if plain { self.y } else { "y" },
            sigma: self.args.sigma.as_deref(),
            absolute_sigma: self.args.absolute_sigma,
        };
        let text = report::model_text(self.plan, &names)?;
        fs::write(path, text).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("--to-model {}: {error}", path.display()),
            )
        })
    }

    /// Positions of labels among those of the fit.
    fn positions(&self, name: &str, cells: &[String]) -> Result<Vec<f64>> {
        let known = self.data.label_columns();
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
        let views: Vec<&[f64]> = names.iter().filter_map(|n| self.data.column(n)).collect();
        let p = fit::predict(self.plan, self.estimate, &views, None)?;
        let mut text = format!("{},y,curve,residual\n", names.join(","));
        for (i, y) in self.data.response().iter().enumerate() {
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
