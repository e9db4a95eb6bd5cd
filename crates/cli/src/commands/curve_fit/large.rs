//! `--memory-limit`: columns that stay in their files.

use super::CurveFitArgs;
use super::pairs::columns;
use super::show::Results;
use crate::commands::plot;
use crate::exit::Outcome;
use crate::interrupt;
use crate::progress::Style;
use fitzroy::{Error, Result};
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_session::clock::Clock;
use fitzroy_session::curves::device::FitDevice;
use fitzroy_session::curves::large::{self, LargeFit};
use std::path::PathBuf;

/// `2GB`, `512 MiB`, `1000000`.
pub(crate) fn bytes(text: &str) -> Result<usize> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => {
            return Err(Error::usage(format!(
                "--memory-limit {text}: is written like 2GB or 512MiB"
            )));
        }
    };
    let number: f64 = text[..digits].parse().map_err(|_| {
        Error::usage(format!(
            "--memory-limit {text}: is written like 2GB or 512MiB"
        ))
    })?;
    Ok((number * unit) as usize)
}

/// Fits columns in files.
pub(super) fn run(
    args: &CurveFitArgs,
    device: FitDevice,
    limit: &str,
    formula: &Formula,
    options: &Options,
    clock: &Clock,
) -> Result<Outcome> {
    let memory_limit_bytes = bytes(limit)?;
    for path in &args.plot {
        plot::check_figure(path, "--plot")?;
    }
    if args.leaves_rows_out() {
        let message = "--memory-limit leaves no rows out; write the file without those that have gaps, or \
                       fit it in memory with --missing drop";
        return Err(Error::usage(message));
    }
    let (face, renames) = (args.face(), columns(&args.x)?);
    let fit = LargeFit {
        formula,
        paths: &args.data,
        renames: &renames,
        y: args.y.as_deref(),
        sigma: args.sigma.as_deref(),
        tables: &args.tables.options(),
        memory_limit_bytes,
        chunk_rows: args.chunk_rows,
        cache: cache(args)?,
        checkpoint_every_s: args.checkpoint_every,
        tell_every_s: match args.chains.style(&args.common) {
            Style::Hidden => f64::INFINITY,
            Style::Bars => 1.0,
            Style::Lines { every_s } => every_s,
        },
        resume: args.chains.resume,
        face: &face,
        stop: &interrupt::catch_with("stopping: what was done so far is kept in --out")?,
        clock: *clock,
    };
    let in_order = |roles: &_| args.in_order(options.clone(), roles);
    let mut folder = args
        .output
        .out
        .as_ref()
        .map(|_| args.folder())
        .transpose()?;
    let Some(mut fitted) = fit.run(device, options, in_order, &mut folder)? else {
        return Ok(Outcome::Interrupted);
    };
    fitted.view = args.view()?;
    let result = Results {
        args,
        fitted: &fitted,
        compared: None,
    };
    result.write(folder.as_mut())?;
    result.show(None);
    if let Some(mut folder) = folder {
        large::forget_checkpoint(&mut folder);
        result.finish(folder)?;
    }
    Ok(result.outcome())
}

/// Where decoded columns are kept, if they are to be.
fn cache(args: &CurveFitArgs) -> Result<Option<PathBuf>> {
    let Some(folder) = &args.cache else {
        return Ok(None);
    };
    let folder = match folder.as_os_str().is_empty() {
        true => large::usual_cache()
            .ok_or_else(|| Error::usage("--cache: there is no folder; name one: --cache=DIR"))?,
        false => folder.clone(),
    };
    large::cache(&folder).map(Some)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn limits_are_read_with_their_units() {
        assert_eq!(bytes("2GB").unwrap(), 2_000_000_000);
        assert_eq!(bytes("1.5 MiB").unwrap(), 1_572_864);
        assert_eq!(bytes("1000").unwrap(), 1000);
        assert!(bytes("much").unwrap_err().to_string().contains("512MiB"));
    }
}
