//! The page of scores: does the model beat what costs nothing, where, and how does it look.

use super::ensemble::{spread, spread_figure};
use super::ground::Ground;
use super::spatial::{error_maps, fractions, spectra_figure};
use super::tables::{advantages, by_part, rain, scores, standings};
use crate::data::Channel;
use crate::evaluate::{Evaluation, asked, seasons};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_report::draw::{Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, count, heat_figure, tint_of};
use fitzroy_report::page::{Block, Card, Page, Section, State, Verdict};

/// Channels of a figure of maps; more make further figures.
pub(super) const MAPS_EACH: usize = 6;
/// Hours ahead of the maps, if so many were forecast.
const MAPS_HOURS: f64 = 24.0;
/// Methods that set the height of the charts; others can explode.
const FRAMING: [&str; 4] = ["model", "persistence", "climatology", "forecast"];

/// RMSE by lead of every method, variable by variable. The axis ends a little above the model,
/// persistence and climatology; a line that goes further is cut there.
pub fn leads_figure(found: &Evaluation, style: &Style) -> Scene {
    let leads = found.methods[0].scores.len();
    let hours: Vec<f64> = (1..=leads).map(|k| k as f64 * found.step_hours).collect();
    let chart = |(k, channel): (usize, &Channel)| {
        let errors = |m: usize| -> Vec<f64> {
            let scores = found.methods[m].scores.iter();
            scores.map(|lead| lead[k].rmse).collect()
        };
        let framing = |m: &usize| FRAMING.contains(&found.methods[*m].method);
        let bound = (0..found.methods.len()).filter(framing).flat_map(errors);
        let top = 1.15 * bound.filter(|y| y.is_finite()).fold(0.0, f64::max);
        let layers = found.methods.iter().enumerate().map(|(m, method)| {
            let (x, y) = cut(&hours, &errors(m), top);
            Layer::Line {
                name: method.method.into(),
                x,
                y,
                stroke: Stroke::series(m, if m == 0 { 2.6 } else { 1.4 }),
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
        chart.y.range = if top > 0.0 { [0.0, top] } else { [0.0, 1.0] };
        chart
    };
    let all: Vec<Chart> = found.channels.iter().enumerate().map(chart).collect();
    charts("Error by lead time", &all, 3, 220.0, style)
}

/// A line up to where it leaves the chart at `top`, and from where it comes back.
pub(super) fn cut(x: &[f64], y: &[f64], top: f64) -> (Vec<f64>, Vec<f64>) {
    let inside = |v: f64| v.is_finite() && v <= top;
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for k in 0..x.len() {
        if k > 0 && inside(y[k]) != inside(y[k - 1]) && y[k].is_finite() && y[k - 1].is_finite() {
            let share = (top - y[k - 1]) / (y[k] - y[k - 1]);
            xs.push(x[k - 1] + share * (x[k] - x[k - 1]));
            ys.push(top);
        }
        xs.push(x[k]);
        ys.push(if inside(y[k]) { y[k] } else { f64::NAN });
    }
    (xs, ys)
}

/// The channels that are to be drawn as maps, by number: those of the variables or labels
/// (`TEM 850`, `TEM 850 hPa`) that are named, `all`, or where none is six: the first ones, and rain
/// in place of the last where there is any.
///
/// # Errors
/// There is no such channel: those there are.
pub fn mapped(channels: &[&Channel], names: &[String]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let mut first: Vec<usize> = (0..channels.len().min(MAPS_EACH)).collect();
        let rain = channels.iter().position(|channel| channel.is_rain());
        if let (Some(last), Some(rain)) = (first.last_mut(), rain) {
            *last = rain.max(*last);
        }
        return Ok(first);
    }
    let mut wanted = Vec::new();
    for name in names {
        let is_meant = |channel: &&Channel| {
            name == "all" || *name == channel.variable || channel.is_labelled(name)
        };
        let found = channels.iter().enumerate().filter(|(_, c)| is_meant(c));
        let found: Vec<usize> = found.map(|(k, _)| k).collect();
        if found.is_empty() {
            let known: Vec<String> = channels.iter().map(|c| c.label()).collect();
            let message = format!(
                "⟨channels {name}⟩: there is no such channel; use all, or of {}",
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
    let ground = Ground::new(&found.lat, &found.lon, found.curved);
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
            let title = format!("{}: {what}", channel.label());
            fields.push(ground.map(title, &channel.units, values, tint));
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
    if found.n_members > 1 {
        page.facts.push(("members".into(), count(found.n_members)));
    }
    page.verdict = Some(verdict(found));
    page.cards = cards(found);
    let style = Style::default();
    page.sections = score_sections(found, &style);
    if !found.maps.is_empty() {
        page.sections.push(maps_section(found, channels, &style));
    }
    let errors = error_maps(found, channels, &style);
    if !errors.is_empty() {
        let figure = |scene| Block::Figure {
            scene,
            caption: "Over all forecasts. Grey where nothing is scored.".into(),
        };
        let blocks = errors.into_iter().map(figure).collect();
        page.sections
            .push(Section::new("Where the errors are", blocks));
    }
    let how = vec![Block::Text(how(found))];
    page.sections
        .push(Section::new("How this was scored", how).folded());
    page.sections.push(Section::command(command));
    page.footer = format!("Fitzroy {version}");
    page
}

/// Errors by lead time, and all tables of scores.
fn score_sections(found: &Evaluation, style: &Style) -> Vec<Section> {
    let table = |title: &str, table| Section::new(title, vec![Block::Table(table)]);
    let leads = Block::Figure {
        scene: leads_figure(found, style),
        caption: "Root mean square error over the inside of the region, weighted by area. Below \
                  persistence: better than no change. Below climatology: better than the average \
                  of the hour. Below start: better than before training. Below linear: better \
                  than a regression on the 3 × 3 neighbourhood that is tuned for each lead. A line \
                  that ends at the top leaves the chart; the table has its numbers."
            .into(),
    };
    let mut sections = vec![Section::new("Error by lead time", vec![leads])];
    if found.compared() {
        sections.push(table("Beyond chance", advantages(found)));
        let tables = (1..found.methods.len()).map(|m| Block::Table(standings(found, m)));
        sections.push(Section::new("By variable and lead", tables.collect()).folded());
    }
    sections.push(table("Scores", scores(found)));
    if found.n_members > 1 {
        let figure = Block::Figure {
            scene: spread_figure(found, style),
            caption: "Where the members are as uncertain as they say, their spread is the error of their mean. Below it \
                      the ensemble is too sure of itself."
                .into(),
        };
        let blocks = vec![figure, Block::Table(spread(found))];
        sections.push(Section::new("Spread and error", blocks));
    }
    for (title, parts, what) in [
        ("Seasons", &seasons(found), ["season", "forecasts"]),
        ("Parts of the region", &found.areas, ["subregion", "points"]),
    ] {
        sections.extend(by_part(found, parts, what).map(|found| table(title, found).folded()));
    }
    sections.extend(rain(found).map(|found| table("Rain", found)));
    let in_place = fractions(found).map(|found| table("Rain in its place", found).folded());
    sections.extend(in_place);
    let spectra = spectra_figure(found, style).map(|scene| Block::Figure {
        scene,
        caption: "Variance of the model's fields over that of the truth, along the rows, from waves as long as the \
                  region to those of two points. 1: as much detail as there is. Below: too smooth. Above 2 is drawn \
                  at 2."
            .into(),
    });
    let spectra = spectra.map(|figure| Section::new("Spectra", vec![figure]).folded());
    sections.extend(spectra);
    sections
}

/// Maps of `channels`.
fn maps_section(found: &Evaluation, channels: &[usize], style: &Style) -> Section {
    let (hours, scenes) = maps_figures(found, channels, style);
    let caption = format!(
        "{hours} hours ahead, from {}. Tints of truth and forecast mean the same numbers. On \
         the outer cells the forecast is the truth, which it is forced with.",
        found.span.0.iso()
    );
    let figure = |scene| Block::Figure {
        scene,
        caption: caption.clone(),
    };
    Section::new("Maps", scenes.into_iter().map(figure).collect())
}

fn how(found: &Evaluation) -> String {
    format!(
        "All methods get the truth on the boundary of the region at each step, and are scored \
         inside of it. Anomalies are those from the training climatology. Start is what the \
         network corrects, without the network: the linear model, or the momentum, that lies in \
         the checkpoint. Linear is a ridge regression of the change on all channels of two states \
         in the 3 × 3 neighbourhood, fitted to the training records and rolled out like the \
         network, with the penalty that was best at each lead on the validation records. Whether \
         an advantage is chance is asked with blocks of initial times, none shorter than the lead \
         or than a day: the share of all choices of signs of their log ratios of errors whose sum \
         is as large. {}",
        found.notes.join(" ")
    )
}

fn verdict(found: &Evaluation) -> Verdict {
    let failures = found.failures();
    let (behind, places) = found.behind_climatology();
    let (state, headline) = match (found.compared(), failures.len(), behind) {
        (false, ..) => (State::Plain, "The model was scored alone".to_string()),
        (_, 0, 0) => (
            State::Good,
            "The model is ahead of everything it was compared with, by more than chance".into(),
        ),
        (_, 0, n) => (
            State::Warn,
            format!(
                "The model is ahead of persistence, of its start and of the tuned linear model, \
                 and behind climatology in {n} of {places} places"
            ),
        ),
        (_, n, _) => (
            State::Warn,
            format!("The model is not ahead of a baseline in {n} places"),
        ),
    };
    let mut verdict = Verdict::new(state, &headline, &asked());
    let advice = "train longer, on more data, or with ⟨rollout_steps 1,2,4⟩ where long leads are \
                  behind";
    verdict.findings = failures
        .into_iter()
        .map(|failure| (failure, advice.to_string()))
        .collect();
    if behind > 0 {
        verdict.findings.push((
            format!("climatology has the smaller error in {behind} of {places} places to 48 h"),
            "beyond some lead the average of the hour is the better forecast; more data, more \
             variables or longer ⟨rollout_steps⟩ move it"
                .into(),
        ));
    }
    verdict
}

fn cards(found: &Evaluation) -> Vec<Card> {
    let mut cards = vec![Card::new("forecasts", &count(found.n_starts))];
    for method in &found.methods[1..] {
        let all = found.beside(method.method);
        let won: usize = all.iter().map(|c| c.ahead.0).sum();
        let places: usize = all.iter().map(|c| c.ahead.1).sum();
        let state = if won == places {
            State::Good
        } else {
            State::Warn
        };
        let head = format!("below {}", method.method);
        let card = Card::new(&head, &format!("{won} of {places}"));
        cards.push(card.state(state).note("to 48 h, all leads"));
    }
    cards
}
