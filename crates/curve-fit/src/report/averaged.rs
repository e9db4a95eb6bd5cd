//! Curves that were averaged, as text, CSV, JSON and a figure.

use super::json::number;
use super::select::shortened;
use super::significant;
use crate::fit::{Averaged, Data, Selection};
use fitzroy::Named;
use fitzroy::report::csv_field;
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Rows that are shown as text.
const SHOWN: usize = 5;
/// Height of the figure in pixels.
const HEIGHT: f64 = 420.0;
/// Weight below which a curve is not drawn.
const SEEN: f64 = 1e-3;

/// An average with the rows that it is at.
#[derive(Clone, Copy)]
pub struct Average<'a> {
    /// The average.
    pub found: &'a Averaged,
    /// What it is of.
    pub selection: &'a Selection,
    /// The predictors.
    pub rows: &'a Data<'a>,
}

impl Average<'_> {
    fn columns(&self) -> Vec<(&str, &[f64])> {
        let names = self.rows.names().into_iter();
        let column = |name| Some((name, self.rows.column(name)?));
        names.filter_map(column).collect()
    }

    /// A table of a few of the rows.
    pub fn text(&self) -> String {
        let (found, columns) = (self.found, self.columns());
        let mut out = format!("averaged by {} weights:\n", found.criterion.title());
        columns.iter().for_each(|(name, _)| {
            let _ = write!(out, "{name:>12} ");
        });
        let _ = writeln!(
            out,
            "{:>12} {:>10} {:>16} {:>12} {:>12}",
            "value", "se", "between curves", "lower", "upper"
        );
        let n = found.value.len();
        let shown = SHOWN.min(n);
        for k in 0..shown {
            let row = k * (n - 1) / (shown - 1).max(1);
            for (_, column) in &columns {
                let _ = write!(out, "{:>12} ", significant(column[row], 6));
            }
            let _ = writeln!(
                out,
                "{:>12} {:>10} {:>16} {:>12} {:>12}",
                significant(found.value[row], 6),
                significant(found.se[row], 3),
                significant(found.between[row], 3),
                significant(found.lower[row], 6),
                significant(found.upper[row], 6)
            );
        }
        out
    }

    /// A row for each of them.
    pub fn csv(&self) -> String {
        let (found, columns) = (self.found, self.columns());
        let names = columns.iter().map(|(name, _)| csv_field(name));
        let mut out: String = names.map(|name| format!("{name},")).collect();
        out += "value,se,between,lower,upper\n";
        for row in 0..found.value.len() {
            for (_, column) in &columns {
                let _ = write!(out, "{},", column[row]);
            }
            let own = [&found.value, &found.se, &found.between, &found.lower];
            for column in own {
                let _ = write!(out, "{},", column[row]);
            }
            let _ = writeln!(out, "{}", found.upper[row]);
        }
        out
    }

    /// All of it.
    pub fn json(&self) -> Value {
        let found = self.found;
        let list = |column: &[f64]| column.iter().map(|&x| number(x)).collect::<Value>();
        let columns = self.columns().into_iter();
        let rows: Map<String, Value> = columns.map(|(name, c)| (name.into(), list(c))).collect();
        json!({
            "criterion": found.criterion.setting(), "rows": rows, "value": list(&found.value), "se": list(&found.se),
            "between": list(&found.between), "lower": list(&found.lower), "upper": list(&found.upper),
        })
    }

    /// Every curve with its weight, and the average with its band above `data`; none for several predictors.
    pub fn figure(&self, data: &Data<'_>, response: &str, style: &Style) -> Option<Scene> {
        let [(x_name, x)] = self.columns()[..] else {
            return None;
        };
        let (found, ranked) = (self.found, &self.selection.ranked);
        let line = |name: String, y: &[f64], stroke: Stroke| Layer::Line {
            name,
            x: x.to_vec(),
            y: y.to_vec(),
            stroke,
        };
        let mut layers = vec![
            Layer::Band {
                name: "interval of the average".into(),
                x: x.to_vec(),
                low: found.lower.clone(),
                high: found.upper.clone(),
                ink: Ink::Series(0),
            },
            Layer::Points {
                name: "data".into(),
                x: data.column(x_name)?.to_vec(),
                y: data.response().to_vec(),
                ink: Ink::Grey,
                size: 4.0,
            },
        ];
        for (k, (r, y)) in ranked.iter().zip(&found.each).enumerate() {
            let weight = r.weight_by(found.criterion);
            if weight >= SEEN {
                let label = format!("{} ({weight:.3})", shortened(&r.model));
                layers.push(line(label, y, Stroke::new(Ink::Series(k + 1), 1.2)));
            }
        }
        layers.push(line(
            "average".into(),
            &found.value,
            Stroke::new(Ink::Series(0), 2.0),
        ));
        let title = format!("Averaged by {} weights", found.criterion.title());
        let chart = Chart::new("", x_name, response, layers);
        Some(charts(&title, &[chart], 1, HEIGHT, style))
    }
}
