//! Maps of a forecast, beside its file.

use crate::folder::replace;
use fitzroy::{Error, Result};
use fitzroy_report::draw::{Theme, png, svg};
use fitzroy_report::figure::Style;
use fitzroy_weather::report::{
    Course, Ground, drawn_steps, forecast_figures, mapped, n_forecast_figures,
};
use fitzroy_weather::train::Problem;
use std::path::{Path, PathBuf};

/// Which channels are drawn, and where to.
pub(super) struct Maps {
    /// Numbers among the channels that are forecast.
    channels: Vec<usize>,
    /// A PNG and an SVG of each figure.
    paths: Vec<[PathBuf; 2]>,
}

impl Maps {
    /// Maps of `names`, beside the file `output`: `forecast-maps.png` beside `forecast.nc`.
    ///
    /// # Errors
    /// There is no such channel, or a file is there already.
    pub(super) fn new(problem: &Problem, names: &[String], output: &Path) -> Result<Self> {
        let channels = mapped(&problem.target_channels(), names)?;
        let stem = output.file_stem().unwrap_or_default().to_string_lossy();
        let paths = (1..=n_forecast_figures(channels.len())).map(|number| {
            let name = match number {
                1 => format!("{stem}-maps"),
                _ => format!("{stem}-maps-{number}"),
            };
            ["png", "svg"].map(|ending| output.with_file_name(format!("{name}.{ending}")))
        });
        let paths: Vec<[PathBuf; 2]> = paths.collect();
        if let Some(there) = paths.iter().flatten().find(|path| path.exists()) {
            return Err(Error::usage(format!(
                "{} exists, where ⟨visualizations⟩ would write maps; choose another ⟨output⟩",
                there.display()
            )));
        }
        Ok(Maps { channels, paths })
    }

    /// Draws the state of record `t` and forecasts from it, `means` in the units of the channels.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(
        self,
        problem: &Problem,
        t: usize,
        means: &[&[f64]],
    ) -> Result<Vec<PathBuf>> {
        let archive = &problem.archive;
        let n = archive.channels.len();
        let hours = archive.step_s as f64 / 3600.0;
        let mut outputs = vec![false; archive.n_nodes()];
        for &node in problem.outputs() {
            outputs[node as usize] = true;
        }
        let channels = problem.target_channels();
        let course = |&number: &usize| {
            let channel = problem.targets_in_order()[number];
            let places = || (0..archive.n_nodes()).map(|node| (node, node * n + channel));
            let blank = |at: usize, node: usize| !outputs[node] || archive.is_held(at);
            let start = places().map(|(node, at)| match blank(at, node) {
                false if !archive.is_missing(t, at) => {
                    problem.normaliser.restore(channel, archive.record(t)[at])
                }
                _ => f64::NAN,
            });
            let mut fields = vec![(0.0, start.collect())];
            for step in drawn_steps(means.len()) {
                let field = places().map(|(node, at)| match blank(at, node) {
                    false => means[step][at],
                    true => f64::NAN,
                });
                fields.push(((step + 1) as f64 * hours, field.collect()));
            }
            Course {
                channel: channels[number],
                fields,
            }
        };
        let courses: Vec<Course<'_>> = self.channels.iter().map(course).collect();
        let ground = Ground::new(&archive.lat, &archive.lon, archive.curved);
        let start = archive.times[t].iso();
        let scenes = forecast_figures(&ground, &start, &courses, &Style::default());
        for (scene, [picture, drawing]) in scenes.iter().zip(&self.paths) {
            replace(picture, &png(scene, Theme::Light, 1.5)?)?;
            replace(drawing, svg(scene, Theme::Light).as_bytes())?;
        }
        Ok(self.paths.into_iter().flatten().collect())
    }
}
