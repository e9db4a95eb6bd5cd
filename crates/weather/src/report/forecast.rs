//! Maps of a forecast.

use super::ground::Ground;
use crate::data::Channel;
use fitzroy_report::draw::Scene;
use fitzroy_report::figure::{Heat, Style, heat_figure, tint_of};

/// Maps of a row: the state that the forecast starts from, and some of its steps.
const STEPS: usize = 3;
/// Channels of a figure; more make further figures.
const CHANNELS_EACH: usize = 6;

/// The steps of `n` that are drawn, from 0 on: evenly spread, and the last.
pub fn drawn_steps(n: usize) -> Vec<usize> {
    let count = n.min(STEPS);
    (1..=count).map(|k| k * n / count - 1).collect()
}

/// Figures that so many channels make.
pub fn n_forecast_figures(channels: usize) -> usize {
    channels.div_ceil(CHANNELS_EACH)
}

/// A channel that is drawn: its fields at the start and at the steps that are drawn.
pub struct Course<'a> {
    /// The channel.
    pub channel: &'a Channel,
    /// Hours ahead, and the field, row by row.
    pub fields: Vec<(f64, Vec<f64>)>,
}

/// Maps of forecasts, a row for each channel, six to a figure. Tints of a row mean the same numbers.
pub fn forecast_figures(
    ground: &Ground,
    start: &str,
    courses: &[Course<'_>],
    style: &Style,
) -> Vec<Scene> {
    let scene = |courses: &[Course<'_>]| {
        let columns = courses.iter().map(|c| c.fields.len()).max().unwrap_or(1);
        let rows = courses.iter().flat_map(|course| row(ground, course));
        let fields: Vec<Heat> = rows.collect();
        let title = format!("Forecast from {start}");
        heat_figure(&title, &fields, columns, 260.0, style)
    };
    courses.chunks(CHANNELS_EACH).map(scene).collect()
}

fn row<'a>(ground: &'a Ground, course: &'a Course<'_>) -> impl Iterator<Item = Heat> + 'a {
    let all = course.fields.iter().flat_map(|(_, field)| field).copied();
    let all: Vec<f64> = all.filter(|x| x.is_finite()).collect();
    // What has two directions is tinted around 0.
    let signed = all.iter().any(|x| *x < 0.0) && all.iter().any(|x| *x > 0.0);
    let tint = tint_of(all, signed);
    course.fields.iter().map(move |(hours, field)| {
        let label = course.channel.label();
        let title = match *hours {
            0.0 => format!("{label}: start"),
            hours => format!("{label}: {hours} h"),
        };
        ground.map(title, &course.channel.units, field.clone(), tint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_drawn_are_spread_and_end_with_the_last() {
        for (n, steps) in [
            (1, vec![0]),
            (2, vec![0, 1]),
            (3, vec![0, 1, 2]),
            (8, vec![1, 4, 7]),
            (40, vec![12, 25, 39]),
        ] {
            assert_eq!(drawn_steps(n), steps);
        }
        assert_eq!([1, 6, 7].map(n_forecast_figures), [1, 1, 2]);
    }
}
