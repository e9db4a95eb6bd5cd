//! The page of a search for a learning rate.

use crate::train::Rates;
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, said};
use fitzroy_report::page::{Block, Page, Section, State, Verdict};

/// Losses of batches beside the start's over the learning rate, smoothed, and the suggestion.
pub fn rates_figure(found: &Rates, style: &Style) -> Scene {
    let rates: Vec<f64> = found.steps.iter().map(|s| s.0).collect();
    let smoothed: Vec<f64> = found.steps.iter().map(|s| s.2).collect();
    let mut layers = vec![
        Layer::Line {
            name: "batches".into(),
            x: rates.clone(),
            y: found.steps.iter().map(|s| s.1).collect(),
            stroke: Stroke::series(1, 0.8),
        },
        Layer::Line {
            name: "smoothed".into(),
            x: rates.clone(),
            y: smoothed.clone(),
            stroke: Stroke::series(0, 2.2),
        },
    ];
    if let Some(rate) = found.suggested {
        let at = rates.iter().position(|r| *r >= rate).unwrap_or(0);
        layers.push(Layer::Points {
            name: "suggested".into(),
            x: vec![rates[at]],
            y: vec![smoothed[at]],
            ink: Ink::Mark,
            size: 9.0,
        });
    }
    let mut chart =
        Chart::new("", "learning rate (log)", "loss / start's", layers).log(true, false);
    // What has left is cut, or the rest would be flat.
    let finite = smoothed.iter().filter(|y| y.is_finite());
    let least = finite.fold(f64::INFINITY, |a, b| a.min(*b));
    if least.is_finite() {
        let room = (1.0 - least).max(0.02);
        chart.y.range = [least - 0.5 * room, 1.0 + room];
    }
    charts("Loss at growing learning rates", &[chart], 1, 320.0, style)
}

/// The page of a search. `command` and `version` as they are to be shown.
pub fn rates_page(found: &Rates, command: &str, version: &str) -> Page {
    let mut page = Page::new("Weather: learning rate");
    page.kind = "A learning rate for a training".into();
    let (state, headline) = match found.suggested {
        Some(rate) => (State::Good, format!("Suggested: ⟨learning_rate {rate:e}⟩")),
        None => (State::Warn, "The loss fell at no rate".to_string()),
    };
    let detail = match found.least {
        Some(least) => format!(
            "The smoothed loss was least at {}; the suggestion is a third of that, for the line lags \
             behind. Larger batches bear larger rates.",
            said(least)
        ),
        None => "Look at the data, or at the size of the network.".into(),
    };
    page.verdict = Some(Verdict::new(state, &headline, &detail));
    let figure = Block::Figure {
        scene: rates_figure(found, &Style::default()),
        caption: "Each step takes another batch and a rate that is larger by a constant factor. \
                  Batches differ by far more than training changes them, so losses are divided by \
                  those of the start on the same batch. The smoothed line lags by about ten steps."
            .into(),
    };
    page.sections.push(Section::new("Losses", vec![figure]));
    page.sections.push(Section::command(command));
    page.footer = format!("Fitzroy {version}");
    page
}
