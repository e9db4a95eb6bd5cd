//! The page of scores: does the model beat what costs nothing, where, and how does it look.

use crate::data::Channel;
use crate::evaluate::Evaluation;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_report::draw::{Scene, Stroke};
use fitzroy_report::figure::{
    Chart, Heat, Layer, Style, charts, count, heat_figure, said, tint_of,
};
use fitzroy_report::page::{Block, Card, Cell, Column, Page, Section, State, Table, Verdict};

/// Channels of a figure of maps; more make further figures.
const MAPS_EACH: usize = 6;
/// Hours ahead of the maps, if so many were forecast.
const MAPS_HOURS: f64 = 24.0;

fn titled(channel: &Channel) -> String {
    match channel.units.is_empty() {
        true => channel.label(),
        false => format!("{} ({})", channel.label(), channel.units),
    }
}

/// RMSE by lead of every method, variable by variable.
pub fn leads_figure(found: &Evaluation, style: &Style) -> Scene {
    let leads = found.methods[0].scores.len();
    let hours: Vec<f64> = (1..=leads).map(|k| k as f64 * found.step_hours).collect();
    let chart = |(k, channel): (usize, &Channel)| {
        let layers = found.methods.iter().enumerate().map(|(m, method)| {
            let own = m == 0;
            Layer::Line {
                name: method.method.into(),
                x: hours.clone(),
                y: method.scores.iter().map(|lead| lead[k].rmse).collect(),
                stroke: Stroke::series(m, if own { 2.6 } else { 1.4 }),
            }
        });
        let units = if channel.units.is_empty() {
            "1"
        } else {
            &channel.units
        };
        let mut chart = Chart::new(
            channel.label(),
            "hours ahead",
            &format!("RMSE ({units})"),
            layers.collect(),
        );
        chart.y.range[0] = 0.0;
        chart
    };
    let all: Vec<Chart> = found.channels.iter().enumerate().map(chart).collect();
    charts("Error by lead time", &all, 3, 220.0, style)
}

/// The channels that are to be drawn as maps, by number: those of the variables or labels
/// (`TEM 850`, `TEM 850 hPa`) that are named, `all`, or the first six where none is.
///
/// # Errors
/// There is no such channel: those there are.
pub fn mapped(channels: &[&Channel], names: &[String]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..channels.len().min(MAPS_EACH)).collect());
    }
    let mut wanted = Vec::new();
    for name in names {
        let is_meant = |channel: &&Channel| {
            let label = channel.label();
            let bare = label.trim_end_matches(" hPa");
            name == "all" || *name == channel.variable || *name == label || name == bare
        };
        let found = channels.iter().enumerate().filter(|(_, c)| is_meant(c));
        let found: Vec<usize> = found.map(|(k, _)| k).collect();
        if found.is_empty() {
            let known: Vec<String> = channels.iter().map(|c| c.label()).collect();
            let message = format!(
                "--channels {name}: there is no such channel; use all, or of {}",
                known.join(", ")
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        wanted.extend(found);
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

/// Truth, forecast and their difference of channels, six to a figure, 24 hours ahead or at the last
/// lead, from the first initial time; and the hours.
pub fn maps_figures(found: &Evaluation, channels: &[usize], style: &Style) -> (f64, Vec<Scene>) {
    let hours = at_hours(found).map_or(0.0, |map| map.0);
    let pages = channels.chunks(MAPS_EACH);
    let scenes = pages.filter_map(|page| maps_figure(found, page, style));
    (hours, scenes.collect())
}

/// The lead that is drawn.
fn at_hours(found: &Evaluation) -> Option<&(f64, Vec<f64>, Vec<f64>)> {
    let wanted = found.maps.iter().find(|m| m.0 >= MAPS_HOURS);
    wanted.or(found.maps.last())
}

fn maps_figure(found: &Evaluation, channels: &[usize], style: &Style) -> Option<Scene> {
    let (hours, truth, forecast) = at_hours(found)?;
    let n = found.n_channels;
    let field = |state: &[f64], channel: usize| -> Vec<f64> {
        state.iter().skip(channel).step_by(n).copied().collect()
    };
    let mut fields = Vec::new();
    for &number in channels {
        let (channel, at) = (&found.channels[number], found.places[number]);
        let (truth, forecast) = (field(truth, at), field(forecast, at));
        let difference: Vec<f64> = forecast.iter().zip(&truth).map(|(f, o)| f - o).collect();
        // What has two directions is tinted around 0.
        let signed = truth.iter().any(|v| *v < 0.0) && truth.iter().any(|v| *v > 0.0);
        let tint = tint_of(truth.iter().chain(&forecast).copied(), signed);
        let apart = tint_of(difference.iter().copied(), true);
        for (what, values, tint) in [
            ("truth", truth, tint),
            ("forecast", forecast, tint),
            ("forecast − truth", difference, apart),
        ] {
            fields.push(Heat {
                title: format!("{}: {what}", channel.label()),
                units: channel.units.clone(),
                x: found.lon.clone(),
                y: found.lat.clone(),
                names: ["longitude (°E)".into(), "latitude (°N)".into()],
                values,
                tint,
            });
        }
    }
    let title = format!("Truth, forecast and difference {hours} h ahead");
    Some(heat_figure(&title, &fields, 3, 330.0, style))
}

/// The page of an evaluation, with maps of `channels`. `command` and `version` as they are to be
/// shown.
pub fn evaluation_page(
    found: &Evaluation,
    channels: &[usize],
    checkpoint: &str,
    command: &str,
    version: &str,
) -> Page {
    let mut page = Page::new("Weather: scores");
    page.kind = "Forecasts against what happened".into();
    page.facts = vec![
        ("checkpoint".into(), checkpoint.into()),
        ("first forecast".into(), found.span.0.iso()),
        ("last forecast".into(), found.span.1.iso()),
        ("forecasts".into(), count(found.n_starts)),
    ];
    page.verdict = Some(verdict(found));
    page.cards = cards(found);
    let style = Style::default();
    let leads = Block::Figure {
        scene: leads_figure(found, &style),
        caption: "Root mean square error over the inside of the region, weighted by area. Below \
                  persistence: better than no change. Below climatology: better than the average \
                  of the hour. Below linear: better than a regression on the 3 × 3 neighbourhood."
            .into(),
    };
    let mut sections = vec![
        Section::new("Error by lead time", vec![leads]),
        Section::new("Scores", vec![Block::Table(scores(found))]),
    ];
    if let Some(table) = rain(found) {
        sections.push(Section::new("Rain", vec![Block::Table(table)]));
    }
    if !found.maps.is_empty() {
        let (hours, scenes) = maps_figures(found, channels, &style);
        let caption = format!(
            "{hours} hours ahead, from {}. Tints of truth and forecast mean the same numbers. On \
             the outer cells the forecast is the truth, which it is forced with.",
            found.span.0.iso()
        );
        let figure = |scene| Block::Figure {
            scene,
            caption: caption.clone(),
        };
        let figures = scenes.into_iter().map(figure).collect();
        sections.push(Section::new("Maps", figures));
    }
    let how = "All methods get the truth on the boundary of the region at each step, and are \
               scored inside of it. Anomalies are those from the training climatology. The linear \
               model is a ridge regression of the change on all channels of two states in the 3 × 3 \
               neighbourhood, fitted to the training records and rolled out like the network."
        .to_string();
    sections.push(Section::new("How this was scored", vec![Block::Text(how)]).folded());
    let code = Block::Code {
        name: "command".into(),
        text: command.into(),
    };
    sections.push(Section::new("Command", vec![code]).folded());
    page.sections = sections;
    page.footer = format!("Fitzroy {version}");
    page
}

fn verdict(found: &Evaluation) -> Verdict {
    let failures = found.failures();
    let compared = found.methods.len() > 1;
    let (state, headline) = match (compared, failures.len()) {
        (false, _) => (State::Plain, "The model was scored alone".to_string()),
        (_, 0) => (
            State::Good,
            "The model is ahead of its baselines on every variable".into(),
        ),
        (_, n) => (
            State::Warn,
            format!("The model is behind a baseline in {n} places"),
        ),
    };
    let detail = "Asked for: below the linear model at the first lead, and below persistence at \
                  every lead to 48 hours, on every variable.";
    let mut verdict = Verdict::new(state, &headline, detail);
    let advice = "train longer, on more data, or with --rollout-steps 1,2,4 where long leads are \
                  behind";
    verdict.findings = failures
        .into_iter()
        .map(|failure| (failure, advice.to_string()))
        .collect();
    verdict
}

/// In how many of all places the model has the smaller error, over leads up to `hours`.
fn ahead(found: &Evaluation, other: &str, hours: f64) -> Option<(usize, usize)> {
    let theirs = found.methods.iter().find(|m| m.method == other)?;
    let own = &found.methods[0];
    let (mut won, mut all) = (0, 0);
    for (lead, (a, b)) in own.scores.iter().zip(&theirs.scores).enumerate() {
        if lead > 0 && (lead + 1) as f64 * found.step_hours > hours {
            break;
        }
        all += a.len();
        won += a.iter().zip(b).filter(|(a, b)| a.rmse < b.rmse).count();
    }
    Some((won, all))
}

fn cards(found: &Evaluation) -> Vec<Card> {
    let first = found.step_hours;
    let mut cards = vec![Card::new("forecasts", &count(found.n_starts))];
    for (other, hours, note) in [
        ("linear", 0.0, format!("at {first} h")),
        ("persistence", 48.0, "to 48 h, all leads".into()),
        ("climatology", 48.0, "to 48 h, all leads".into()),
    ] {
        if let Some((won, all)) = ahead(found, other, hours) {
            let state = if won == all { State::Good } else { State::Warn };
            let card = Card::new(&format!("below {other}"), &format!("{won} of {all}"));
            cards.push(card.state(state).note(note));
        }
    }
    cards
}

fn scores(found: &Evaluation) -> Table {
    let mut columns = vec![
        Column::text("variable"),
        Column::number("hours", "hours ahead"),
    ];
    for method in &found.methods {
        let meaning = format!("root mean square error of {}", method.method);
        columns.push(Column::number(method.method, &meaning));
    }
    columns.push(Column::number("MAE", "mean absolute error of the model"));
    columns.push(Column::number("bias", "mean of forecast − truth"));
    columns.push(Column::number("ACC", "anomaly correlation of the model"));
    let mut rows = Vec::new();
    for (k, channel) in found.channels.iter().enumerate() {
        for lead in 0..found.methods[0].scores.len() {
            let own = &found.methods[0].scores[lead][k];
            let hours = said((lead + 1) as f64 * found.step_hours);
            let mut row: Vec<Cell> = vec![titled(channel).into(), hours.into()];
            for (m, method) in found.methods.iter().enumerate() {
                let rmse = method.scores[lead][k].rmse;
                let behind = m > 0 && !(own.rmse < rmse);
                let cell = Cell::from(said(rmse));
                row.push(if behind {
                    cell.state(State::Warn)
                } else {
                    cell
                });
            }
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
        note: "A marked number is a baseline that the model does not beat.".into(),
        ..Table::default()
    }
}

/// Threat scores of every method and lead, where rain is among the variables.
fn rain(found: &Evaluation) -> Option<Table> {
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
