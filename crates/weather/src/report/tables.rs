//! The tables of the page of scores.

use crate::data::Channel;
use crate::evaluate::{Comparison, Evaluation, Part, Standing, intervals};
use fitzroy_report::figure::{count, said};
use fitzroy_report::page::{Cell, Column, State, Table};

pub(super) fn titled(channel: &Channel) -> String {
    match channel.units.is_empty() {
        true => channel.label(),
        false => format!("{} ({})", channel.label(), channel.units),
    }
}

/// The model beside its rivals, lead by lead.
pub(super) fn advantages(found: &Evaluation) -> Table {
    let columns = vec![
        Column::text("beside"),
        Column::number("hours", "hours ahead"),
        Column::number("RMSE ratio", "geometric mean over variables"),
        Column::number("ahead on", "variables"),
        Column::number("chance", "of such an advantage without one"),
        Column::number("blocks", "of initial times"),
    ];
    let row = |c: &Comparison| {
        let chance = c.chance.map_or("–".into(), |p| format!("{p:.3}"));
        let mark = |cell: Cell, good: bool| if good { cell } else { cell.state(State::Warn) };
        let ahead = format!("{} of {}", c.ahead.0, c.ahead.1);
        vec![
            c.rival.into(),
            said(c.lead_hours).into(),
            format!("{:.3}", c.ratio).into(),
            mark(ahead.into(), c.ahead.0 == c.ahead.1),
            mark(chance.into(), c.beyond_chance()),
            count(c.n_blocks).into(),
        ]
    };
    Table {
        caption: "The model beside what it must be ahead of".into(),
        columns,
        rows: found.shown().iter().map(row).collect(),
        note: "A marked number does not meet what is asked for. – means that the initial times \
               span too little to tell."
            .into(),
        ..Table::default()
    }
}

/// Where the model stands beside a method, variable by variable (rows) and lead by lead.
pub(super) fn standings(found: &Evaluation, method: usize) -> Table {
    let intervals = intervals(found);
    let mut columns = vec![Column::text("variable")];
    let leads = found.methods[0].scores.len();
    for lead in 0..leads {
        let hours = said((lead + 1) as f64 * found.step_hours);
        columns.push(Column::number(&format!("{hours} h"), "ratio of RMSE"));
    }
    let mut rows = Vec::new();
    for (k, channel) in found.channels.iter().enumerate() {
        let mut row: Vec<Cell> = vec![titled(channel).into()];
        for lead in 0..leads {
            let rmse = |m: usize| found.methods[m].scores[lead][k].rmse;
            let ratio = rmse(0) / rmse(method);
            let between = intervals[method][lead][k].ratio;
            let between = between.map_or(String::new(), |[low, high]| {
                format!(" ({low:.2}–{high:.2})")
            });
            let cell = Cell::from(format!("{ratio:.3}{between}"));
            row.push(match found.standing(method, lead, k) {
                Standing::Ahead => cell.state(State::Good),
                Standing::Behind => cell.state(State::Warn),
                Standing::Level | Standing::Unknown => cell,
            });
        }
        rows.push(row);
    }
    let [ahead, level, behind, unknown] = found.standings(method);
    let told = match unknown {
        0 => format!("ahead in {ahead} places, level in {level}, behind in {behind}"),
        _ => "the initial times span too little to tell".into(),
    };
    let name = found.methods[method].method;
    Table {
        caption: format!("Beside {name}: {told}"),
        columns,
        rows,
        note: format!(
            "RMSE of the model over that of {name}, with 95 % intervals (block bootstrap over initial times). Marked: ahead \
             or behind by half a percent and by more than chance, each variable and lead by itself; this \
             asks for more than an interval that leaves out 1."
        ),
        ..Table::default()
    }
}

/// The model beside every method by part of the forecasts: geometric mean over variables of RMSE
/// ratios. `what` the parts are, and what is counted of them.
pub(super) fn by_part(found: &Evaluation, parts: &[Part], what: [&str; 2]) -> Option<Table> {
    if parts.is_empty() {
        return None;
    }
    let mut columns = vec![
        Column::text(what[0]),
        Column::number(what[1], "in it"),
        Column::number("hours", "hours ahead"),
    ];
    for method in &found.methods[1..] {
        let meaning = format!("RMSE of the model over that of {}", method.method);
        columns.push(Column::number(method.method, &meaning));
    }
    let mut rows = Vec::new();
    for part in parts {
        for lead in 0..found.methods[0].scores.len() {
            let hours = said((lead + 1) as f64 * found.step_hours);
            let name = part.name.as_str();
            let mut row: Vec<Cell> = vec![name.into(), count(part.count).into(), hours.into()];
            row.extend((1..found.methods.len()).map(|m| {
                let ratio = part.ratio(m, lead);
                let interval = part.ratio_interval(m, lead);
                let interval = interval.map_or(String::new(), |[low, high]| {
                    format!(" ({low:.3}–{high:.3})")
                });
                let cell = Cell::from(format!("{ratio:.3}{interval}"));
                if ratio < 1.0 {
                    cell
                } else {
                    cell.state(State::Warn)
                }
            }));
            rows.push(row);
        }
    }
    Some(Table {
        caption: "RMSE of the model over that of others, geometric mean over variables".into(),
        columns,
        rows,
        note: format!(
            "Errors of each variable are under by_{} in scores.json.",
            what[0]
        ),
        ..Table::default()
    })
}

/// Errors of all methods, variable by variable and lead by lead.
pub(super) fn scores(found: &Evaluation) -> Table {
    let mut columns = vec![
        Column::text("variable"),
        Column::number("hours", "hours ahead"),
    ];
    for method in &found.methods {
        let meaning = format!("root mean square error of {}", method.method);
        columns.push(Column::number(method.method, &meaning));
    }
    columns.push(Column::number(
        "95 %",
        "interval of the model's root mean square error",
    ));
    columns.push(Column::number("MAE", "mean absolute error of the model"));
    columns.push(Column::number("bias", "mean of forecast − truth"));
    columns.push(Column::number("ACC", "anomaly correlation of the model"));
    let mut rows = Vec::new();
    let intervals = intervals(found);
    for (k, channel) in found.channels.iter().enumerate() {
        for lead in 0..found.methods[0].scores.len() {
            let own = &found.methods[0].scores[lead][k];
            let hours = said((lead + 1) as f64 * found.step_hours);
            let mut row: Vec<Cell> = vec![titled(channel).into(), hours.into()];
            for (m, method) in found.methods.iter().enumerate() {
                let rmse = method.scores[lead][k].rmse;
                let behind = found.is_behind(m, lead, k);
                let cell = Cell::from(said(rmse));
                row.push(if behind {
                    cell.state(State::Warn)
                } else {
                    cell
                });
            }
            let interval = intervals[0][lead][k].rmse;
            let interval = interval.map_or("–".into(), |[low, high]| {
                Cell::from(format!("{}–{}", said(low), said(high)))
            });
            row.push(interval);
            row.push(said(own.mae).into());
            row.push(said(own.bias).into());
            row.push(
                own.acc
                    .map_or("–".into(), |acc| Cell::from(format!("{acc:.3}"))),
            );
            rows.push(row);
        }
    }
    Table {
        caption: "RMSE of all methods, and further scores of the model".into(),
        columns,
        rows,
        note: "A marked number is a baseline that the model does not beat within 48 h.".into(),
        ..Table::default()
    }
}

/// Threat scores of every method and lead, where rain is among the variables.
pub(super) fn rain(found: &Evaluation) -> Option<Table> {
    let k = found.channels.iter().position(Channel::is_rain)?;
    let mut columns = vec![
        Column::text("method"),
        Column::number("hours", "hours ahead"),
    ];
    for threshold in ["1 mm", "10 mm", "25 mm"] {
        let head = format!("CSI {threshold}");
        columns.push(Column::number(
            &head,
            "hits over hits, misses and false alarms",
        ));
    }
    columns.push(Column::number(
        "frequency 1 mm",
        "forecast events over observed ones",
    ));
    let mut rows = Vec::new();
    let shown = |x: Option<f64>| x.map_or("–".into(), |x| Cell::from(format!("{x:.3}")));
    for method in &found.methods {
        for (lead, scores) in method.scores.iter().enumerate() {
            let Some(rain) = &scores[k].rain else {
                continue;
            };
            let hours = said((lead + 1) as f64 * found.step_hours);
            let mut row: Vec<Cell> = vec![method.method.into(), hours.into()];
            row.extend(rain.csi.iter().map(|&x| shown(x)));
            row.push(shown(rain.frequency_bias[0]));
            rows.push(row);
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "Threat scores by threshold".into(),
        columns,
        rows,
        note: "– means that no event was seen or forecast.".into(),
        ..Table::default()
    })
}
