//! The terms of a curve that is a sum: as layers of a figure, as a table, as text and JSON.

use super::json::number;
use super::shown::{Part, Shown};
use super::text::{beside, significant};
use crate::fit::Component;
use fitzroy_report::draw::{Ink, Stroke};
use fitzroy_report::figure::Layer;
use fitzroy_report::page::{Cell, Column, Table};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Terms that have a colour and a name of their own in a figure.
const NAMED: usize = 5;

/// The terms, each on the background, below what else is drawn.
pub(super) fn layers(shown: &Shown, out: &mut Vec<Layer>) {
    let Some(curve) = shown.curves.first() else {
        return;
    };
    let terms = shown.parts.iter().filter(|p| !p.component.background);
    for (k, part) in terms.enumerate() {
        let named = k < NAMED;
        // The first two colours are those of the data and of the curve.
        let ink = if named { Ink::Series(k + 2) } else { Ink::Grey };
        out.push(Layer::Band {
            name: String::new(),
            x: curve.x.clone(),
            low: part.from.clone(),
            high: part.to.clone(),
            ink,
        });
        out.push(Layer::Line {
            name: if named {
                part.component.name.clone()
            } else {
                "other terms".into()
            },
            x: curve.x.clone(),
            y: part.to.clone(),
            stroke: Stroke::new(ink, 1.3),
        });
    }
    for part in shown.parts.iter().filter(|p| p.component.background) {
        out.push(Layer::Line {
            name: part.component.name.clone(),
            x: curve.x.clone(),
            y: part.to.clone(),
            stroke: Stroke::new(Ink::Axis, 1.3),
        });
    }
}

/// Each term's share of the sum of areas; none where they differ in sign or one has no area.
fn shares(all: &[&Component]) -> Vec<Option<f64>> {
    let terms = all.iter().filter(|c| !c.background);
    let sum: f64 = terms.clone().map(|c| c.area).sum();
    let alike = terms.clone().all(|c| c.area * sum > 0.0);
    let share = |c: &&Component| (alike && !c.background).then(|| c.area / sum);
    all.iter().map(share).collect()
}

/// The terms as a table.
pub(super) fn table(parts: &[Part]) -> Table {
    let all: Vec<&Component> = parts.iter().map(|p| &p.component).collect();
    let row = |(c, share): (&&Component, Option<f64>)| -> Vec<Cell> {
        let of = |get: fn(&crate::fit::Peak) -> f64| {
            let text = c.peak.as_ref().map(|p| significant(get(p), 6));
            Cell::from(text.unwrap_or_else(|| "–".into()))
        };
        vec![
            c.name.clone().into(),
            beside(c.area, c.area_se).into(),
            significant(c.area_se, 3).into(),
            share
                .map_or("–".into(), |s| format!("{:.1} %", 100.0 * s))
                .into(),
            of(|p| p.at),
            of(|p| p.height),
            of(|p| p.fwhm),
        ]
    };
    Table {
        columns: vec![
            Column::text("term"),
            Column::number("area", "integral over the range of the data"),
            Column::number("SE", "standard error of the area"),
            Column::number("share", "of the areas of all terms but the background"),
            Column::number("highest at", "place farthest from 0"),
            Column::number("height", "value there, without the background"),
            Column::number("full width", "at half height"),
        ],
        rows: all.iter().zip(shares(&all)).map(row).collect(),
        note: "Areas are those within the range of the data.".into(),
        ..Table::default()
    }
}

/// A line for each term; nothing for a curve that is no sum.
pub fn components_text(all: &[Component]) -> String {
    let mut out = String::new();
    let all: Vec<&Component> = all.iter().collect();
    for (c, share) in all.iter().zip(shares(&all)) {
        let area = beside(c.area, c.area_se);
        let _ = write!(out, "term {}: area {area}", c.name);
        if c.area_se.is_finite() {
            let _ = write!(out, " ± {}", significant(c.area_se, 3));
        }
        if let Some(share) = share {
            let _ = write!(out, " ({:.1} %)", 100.0 * share);
        }
        if let Some(p) = &c.peak {
            let [at, height, width] = [p.at, p.height, p.fwhm].map(|x| significant(x, 6));
            let _ = write!(out, ", {height} high at {at}, {width} wide at half height");
        }
        out.push('\n');
    }
    out
}

/// All of it.
pub fn components_json(all: &[Component]) -> Value {
    let all: Vec<&Component> = all.iter().collect();
    let one = |(c, share): (&&Component, Option<f64>)| {
        let peak = c.peak.as_ref().map(
            |p| json!({"at": number(p.at), "height": number(p.height), "fwhm": number(p.fwhm)}),
        );
        json!({"name": c.name, "background": c.background, "area": number(c.area),
               "area_se": number(c.area_se), "share": share.map(number), "peak": peak})
    };
    all.iter().zip(shares(&all)).map(one).collect()
}
