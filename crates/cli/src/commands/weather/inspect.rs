//! `fitzroy weather inspect`.

use super::common::Data;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::Result;
use fitzroy_weather::data::{Chosen, Inspection, Reading, Summary};
use fitzroy_weather::files::Dims;

/// Flags of `fitzroy weather inspect`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather inspect --data era5-*.nc\n  \
    fitzroy weather inspect --data store.zarr --variables t2m,TEM --json\n\n\
    Reads field by field, so archives may be larger than memory."
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    data: Data,
    /// Variables to use [default: those known, else all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    variables: Vec<String>,
    /// Levels to use, hPa [default: all]
    #[arg(long, value_name = "HPA", value_delimiter = ',')]
    levels: Vec<f64>,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
}

/// Looks, and says what is there.
pub(crate) fn run(args: &InspectArgs) -> Result<Outcome> {
    let chosen = Chosen {
        variables: args.variables.clone(),
        levels: args.levels.clone(),
        reading: args.data.reading()?.over(Reading::default()),
    };
    let found = Inspection::new(&args.data.data, &chosen)?;
    if args.json {
        json::print(&found.to_json());
    } else {
        terminal::out(text(&found).trim_end());
    }
    Ok(match found.verdict {
        Ok(_) => Outcome::Done,
        Err(_) => Outcome::NotPassed,
    })
}

fn text(found: &Inspection) -> String {
    let mut lines = vec![format!(
        "{} latitudes from {} to {}, {} longitudes from {} to {}",
        found.lat.0, found.lat.1, found.lat.2, found.lon.0, found.lon.1, found.lon.2
    )];
    if let (Some(first), Some(last)) = (found.times.first(), found.times.last()) {
        let gaps = match found.gaps.len() {
            0 => "no gaps".to_string(),
            1 => "1 gap".to_string(),
            n => format!("{n} gaps"),
        };
        lines.push(format!(
            "{} times from {} to {}, every {} h, {gaps}",
            found.times.len(),
            first.iso(),
            last.iso(),
            found.step_s as f64 / 3600.0
        ));
    }
    for (before, after) in found.gaps.iter().take(5) {
        lines.push(format!("  gap from {} to {}", before.iso(), after.iso()));
    }
    lines.push(String::new());
    lines.extend(table(&found.variables));
    lines.push(String::new());
    let all = found.notes.iter().map(|note| format!("note: {note}"));
    lines.extend(all);
    if !found.others.is_empty() {
        lines.push(format!("not on the grid: {}", found.others.join(", ")));
    }
    lines.push(match &found.verdict {
        Ok((n, channels)) => format!(
            "{n} records of {} channels would be used: {}",
            channels.len(),
            channels.join(", ")
        ),
        Err(why) => format!("would be refused: {why}"),
    });
    lines.join("\n")
}

/// A line for each variable, in columns.
fn table(variables: &[Summary]) -> Vec<String> {
    let head = [
        "variable",
        "in the file",
        "units",
        "levels",
        "times",
        "min",
        "mean",
        "max",
        "missing",
        "use",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for v in variables {
        let units = match v.converted {
            true => format!("{} from {}", v.units.0, v.units.1),
            false => v.units.0.clone(),
        };
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.5}"));
        let share = 100.0 * v.missing.0 as f64 / (v.missing.1 as f64).max(1.0);
        rows.push(vec![
            v.name.clone(),
            v.file_name.clone(),
            units,
            v.levels.len().to_string(),
            match v.dims {
                Dims::Fixed => "static".into(),
                _ => v.n_times.to_string(),
            },
            number(v.range.map(|r| r.0)),
            number(v.range.map(|r| r.2)),
            number(v.range.map(|r| r.1)),
            match v.missing.0 {
                0 => "-".into(),
                _ => format!("{share:.2} %"),
            },
            if v.used { "yes" } else { "no" }.into(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(cell, &n)| format!("{cell:<n$}")).collect();
        cells.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}
