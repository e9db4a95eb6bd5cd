//! Correlations of subjects' effects, as tables.

use super::results::estimate;
use fitzroy::draws::Trace;
use fitzroy_report::page::{Block, Cell, Column, Table};
use fitzroy_stop_signal::correlations::{name_of, pairs};
use fitzroy_stop_signal::model::Kind;

/// Pairs that are printed, at most.
const PRINTED: usize = 12;

/// Two parameters; mean, sd, 5 and 95 % quantiles of their correlation over subjects.
type Correlation = (&'static str, &'static str, [f64; 4]);

/// All of a trace; none where effects were independent.
fn correlations(trace: &Trace, kind: Kind) -> Vec<Correlation> {
    let all = kind.parameters();
    let one = |(i, j): (usize, usize)| {
        let (left, right) = (&all[i], &all[j]);
        let found = estimate(trace, &name_of(left, right), 0)?;
        Some((left.name, right.name, found))
    };
    pairs(kind).into_iter().filter_map(one).collect()
}

/// `left,right,mean,sd,q05,q95`, if there are correlations.
pub(super) fn csv(trace: &Trace, kind: Kind) -> Option<String> {
    let all = correlations(trace, kind);
    let mut out = String::from("left,right,mean,sd,q05,q95\n");
    for (left, right, [mean, sd, low, high]) in &all {
        out += &format!("{left},{right},{mean},{sd},{low},{high}\n");
    }
    (!all.is_empty()).then_some(out)
}

/// Those whose 90 % intervals leave out 0, the strongest first.
fn clear(all: &[Correlation]) -> Vec<&Correlation> {
    let clear = |c: &&Correlation| c.2[2] > 0.0 || c.2[3] < 0.0;
    let mut shown: Vec<&Correlation> = all.iter().filter(clear).collect();
    shown.sort_by(|a, b| b.2[0].abs().total_cmp(&a.2[0].abs()));
    shown
}

/// Those whose 90 % intervals leave out 0 for a report, if there are correlations.
pub(super) fn block(trace: &Trace, kind: Kind) -> Option<Block> {
    let all = correlations(trace, kind);
    let row = |c: &&Correlation| {
        let number = |x: f64| Cell::from(format!("{x:.2}").as_str());
        let (left, right, [mean, sd, low, high]) = **c;
        let mut cells = vec![left.into(), right.into()];
        cells.extend([mean, sd, low, high].map(number));
        cells
    };
    let shown = clear(&all);
    let names = ["parameter", "and", "correlation", "sd", "5 %", "95 %"];
    let table = Table {
        columns: names.map(Column::text).to_vec(),
        rows: shown.iter().map(row).collect(),
        series: vec![None; shown.len()],
        ..Table::default()
    };
    (!all.is_empty()).then_some(Block::Table(table))
}

/// The correlations that are clearly not 0, in words; none where the model has no correlations.
pub fn correlations_text(trace: &Trace, kind: Kind) -> Option<String> {
    let all = correlations(trace, kind);
    let shown = clear(&all);
    let n = shown.len();
    let mut out = format!(
        "correlations of subjects' parameters: {n} of {} pairs have a 90 % interval without 0\n",
        all.len()
    );
    let wide = |f: fn(&Correlation) -> &str| shown.iter().map(|c| f(c).len()).max().unwrap_or(0);
    let (a, b) = (wide(|c| c.0), wide(|c| c.1));
    for (left, right, [mean, _, low, high]) in shown.iter().take(PRINTED) {
        out += &format!("  {left:a$}  {right:b$}  {mean:5.2}  [{low:5.2}, {high:5.2}]\n");
    }
    if n > PRINTED {
        out += &format!("  … {} more\n", n - PRINTED);
    }
    out += "  all pairs: correlations.csv\n";
    (!all.is_empty()).then_some(out)
}
