//! A fit with all there is to show and to write.

use super::device::FitDevice;
use crate::folder::Folder;
use fitzroy::data::{DataFile, TableOptions};
use fitzroy::report::json_number;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{
    self, Component, Estimate, Plan, Prediction, Quality, Regions, Resampled,
};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::report::{self, Serial, Shown, Timing, Told, View};
use fitzroy_curve_fit::{Data, Options};
use fitzroy_device::probe;
use fitzroy_report::page::Page;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A curve that was fitted.
pub struct Fitted<'d> {
    /// The formula with the roles of its names.
    pub plan: Plan,
    /// The rows.
    pub table: Box<dyn Table + 'd>,
    /// The columns, if they are in memory.
    pub data: Option<&'d Data<'d>>,
    /// What the response is called.
    pub y: String,
    /// How it is shown; the response is `y`.
    pub view: View,
    /// The column of standard deviations, or a number, if there is one.
    pub sigma: Option<String>,
    /// Whether sigma are known, not only up to a factor.
    pub absolute_sigma: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Parameters, their errors, and what was found.
    pub estimate: Estimate,
    /// Measures of the residuals.
    pub quality: Quality,
    /// Seconds spent.
    pub timing: Timing,
    /// Profile-likelihood intervals: name and ends.
    pub profiles: Vec<(String, f64, f64)>,
    /// How χ² rises around the fit, along the parameters of the profiles and around each two.
    pub regions: Regions,
    /// Errors from fits of parts of the rows, if they were asked for.
    pub resampled: Option<Resampled>,
    /// Residuals that are independent, where errors of the response are correlated.
    pub whitened: Option<Vec<f64>>,
    /// Priors in place of flat ones, for a posterior: name and distribution.
    pub priors: Vec<(String, String)>,
    /// The cost at each step.
    pub costs: Vec<f64>,
    /// Where it was computed.
    pub device: FitDevice,
}

/// What is written into a folder beside the fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'o> {
    /// A page.
    pub report: bool,
    /// The curve with its bands at the rows of this file.
    pub predict: Option<&'o Path>,
    /// Names of predictors, and the columns that they are in files.
    pub renames: &'o [(String, String)],
    /// What is said of tables.
    pub tables: Option<&'o TableOptions>,
}

impl<'d> Fitted<'d> {
    /// A fit of `table`, without what may be computed beside it.
    pub(super) fn new(
        plan: Plan,
        table: impl Table + 'd,
        options: &Options,
        (estimate, quality): (Estimate, Quality),
        device: FitDevice,
    ) -> Self {
        Fitted {
            plan,
            table: Box::new(table),
            data: None,
            y: "y".into(),
            view: View::default(),
            sigma: None,
            absolute_sigma: options.absolute_sigma,
            seed: options.seed,
            estimate,
            quality,
            timing: Timing::default(),
            profiles: Vec::new(),
            regions: Regions::default(),
            resampled: None,
            whitened: None,
            priors: Vec::new(),
            costs: Vec::new(),
            device,
        }
    }
}

impl Fitted<'_> {
    /// The fit as one JSON document.
    pub fn json(&self) -> Value {
        let mut document = Map::new();
        document.insert("device".into(), self.device.json());
        document.insert("precision".into(), json!("f64"));
        document.insert("seed".into(), json!(self.seed));
        document.insert("y".into(), json!(self.y));
        document.extend(report::estimate_json(
            &self.estimate,
            Some(&self.quality),
            &self.timing,
        ));
        let peak = json!(probe::peak_bytes());
        document.insert("peak_memory_bytes".into(), peak);
        if !self.profiles.is_empty() {
            let all = self.profiles.iter().map(|(name, low, high)| {
                json!({"name": name, "ci_lower": json_number(*low), "ci_upper": json_number(*high)})
            });
            document.insert("profile".into(), all.collect());
        }
        if let Some(resampled) = &self.resampled {
            document.insert("resampled".into(), report::resampled_json(resampled));
        }
        // The curve itself was computed before, so its terms can be, too.
        let components = self.components().unwrap_or_default();
        if !components.is_empty() {
            document.insert("components".into(), report::components_json(&components));
        }
        Value::Object(document)
    }

    /// The fit as people read it.
    pub fn text(&self) -> String {
        let mut out = report::text(
            &self.estimate,
            Some(&self.quality),
            &self.timing,
            &self.device.text(),
        );
        for (name, low, high) in &self.profiles {
            let (low, high) = (report::significant(*low, 7), report::significant(*high, 7));
            let _ = writeln!(out, "profile interval of {name}: {low} ... {high}");
        }
        if let Some(resampled) = &self.resampled {
            out += &report::resampled_text(resampled);
        }
        out += &report::components_text(&self.components().unwrap_or_default());
        out
    }

    /// Points, curve and residuals as figures show them.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn shown(&self) -> Result<Shown> {
        let view = View {
            response: self.y.clone(),
            ..self.view.clone()
        };
        let mut shown = Shown::new(&self.plan, &*self.table, &self.estimate, &view)?;
        if let Some(residuals) = &self.whitened {
            shown.serial = Serial::of(residuals);
            shown.sample.clone_from(residuals);
        }
        Ok(shown)
    }

    /// The terms of a curve that is a sum, over the range of its predictor.
    ///
    /// # Errors
    /// The curve cannot be computed.
    pub fn components(&self) -> Result<Vec<Component>> {
        let names = &self.plan.roles.predictors;
        let column = match (self.data, &names[..]) {
            (Some(data), [x]) => data.column(x).unwrap_or_default(),
            _ => return Ok(Vec::new()),
        };
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        let range = column.iter().fold(ends, |[a, b], x| [a.min(*x), b.max(*x)]);
        fit::components(&self.plan, &self.estimate, range)
    }

    /// Writes `fit.json`, `summary.txt`, `parameters.csv` and what else is asked for.
    ///
    /// # Errors
    /// A file cannot be written or read.
    pub fn write(&self, folder: &mut Folder, outputs: &Outputs<'_>) -> Result<()> {
        folder.write("fit.json", &format!("{:#}\n", self.json()))?;
        folder.write("summary.txt", &self.text())?;
        folder.write("parameters.csv", &report::csv(&self.estimate))?;
        if let Some(path) = outputs.predict {
            let text = self.prediction(
                path,
                outputs.renames,
                outputs.tables.unwrap_or(&TableOptions::default()),
            )?;
            folder.write("prediction.csv", &text)?;
        }
        if outputs.report {
            let command = folder.face().command();
            let page = self.page(&self.shown()?, command);
            folder.write("report.html", &page.html())?;
        }
        Ok(())
    }

    /// The page of the fit.
    pub fn page(&self, shown: &Shown, command: String) -> Page {
        let told = Told {
            command,
            device: self.device.described(),
            seed: self.seed,
            timing: self.timing,
            profiles: self.profiles.clone(),
            regions: self.regions.clone(),
            costs: self.costs.clone(),
        };
        report::fit_page(&self.estimate, &self.quality, shown, &told)
    }

    /// The curve with its bands at the rows of a file, those of new observations for errors as large
    /// as those of the fit.
    ///
    /// # Errors
    /// It cannot be read, or lacks a predictor.
    pub fn prediction(
        &self,
        path: &Path,
        renames: &[(String, String)],
        tables: &TableOptions,
    ) -> Result<String> {
        let names = &self.plan.roles.predictors;
        let columns = self.rows_of(path, names, renames, tables)?;
        let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let n = views.first().map_or(1, |column| column.len());
        let sigma = vec![fit::mean_sigma(&self.plan, &*self.table)?; n];
        let p: Prediction = fit::predict(&self.plan, &self.estimate, &views, Some(&sigma))?;
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

    /// The columns `names` of a file, for the curve or others of the same data.
    ///
    /// # Errors
    /// It cannot be read, or lacks one.
    pub fn rows_of(
        &self,
        path: &Path,
        names: &[String],
        renames: &[(String, String)],
        tables: &TableOptions,
    ) -> Result<Vec<Vec<f64>>> {
        let arrays = DataFile::read(path, tables)?.arrays;
        let mut columns: Vec<Vec<f64>> = Vec::new();
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
                        "⟨predict {}⟩: there is no column `{column}`",
                        path.display()
                    );
                    return Err(Error::new(ErrorKind::Data, message));
                }
            }
        }
        Ok(columns)
    }

    /// What the response is called in a model's text: its own name where that is one.
    pub fn y_name(&self) -> &str {
        let plain = self.y.chars().all(|c| c.is_alphanumeric() || c == '_');
        if plain { &self.y } else { "y" }
    }

    /// The model text for the sampler.
    ///
    /// # Errors
    /// The fit has no model, such as one with a robust loss.
    pub fn model(&self) -> Result<String> {
        let names = report::Names {
            y: self.y_name(),
            sigma: self.sigma.as_deref(),
            absolute_sigma: self.absolute_sigma,
            priors: &self.priors,
        };
        report::model_text(&self.plan, &names)
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
                let message = format!("⟨predict⟩: `{cell}` in column `{name}` was not in the fit");
                Err(Error::new(ErrorKind::Data, message))
            }
        };
        cells.iter().map(place).collect()
    }

    /// Predictors, response, curve and residuals as CSV; none if the columns are in files.
    ///
    /// # Errors
    /// The curve cannot be computed.
    pub fn residuals(&self) -> Result<Option<String>> {
        let names = &self.plan.roles.predictors;
        let Some(data) = self.data else {
            return Ok(None);
        };
        let views: Vec<&[f64]> = names.iter().filter_map(|n| data.column(n)).collect();
        let p = fit::predict(&self.plan, &self.estimate, &views, None)?;
        let mut text = format!("{},y,curve,residual\n", names.join(","));
        for (i, y) in data.response().iter().enumerate() {
            for view in &views {
                let _ = write!(text, "{},", view[i]);
            }
            let _ = writeln!(text, "{y},{},{}", p.value[i], y - p.value[i]);
        }
        Ok(Some(text))
    }
}
