//! `fitzroy plot TRACE --kind KIND`.

use super::files;
use crate::exit::Outcome;
use crate::{face, terminal};
use clap::Args;
use clap::builder::PossibleValuesParser;
use fitzroy::draws::Trace;
use fitzroy::{Error, ErrorKind, Named, Result};
use fitzroy_report::draw::{Format, Scene, Theme};
use fitzroy_report::figure::{Posterior, Style};
use fitzroy_report::report::{FigureOptions, Kind, figure_of};
use fitzroy_session::traces::thinned;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy plot`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy plot out/trace.nc --kind trace --var mu,tau --out trace.png\n  \
    fitzroy plot pymc.nc --kind posterior --var 'theta[Choate]' --reference 0 --rope -1,1\n  \
    fitzroy plot cpu.nc gpu.nc --kind forest --out both.svg\n\n\
    docs/report.md says how to read each kind."
)]
pub(crate) struct PlotArgs {
    /// A trace, written by Fitzroy or by ArviZ, or the folder of a run; a forest takes several
    #[arg(required = true)]
    trace: Vec<PathBuf>,
    /// What to draw
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Kind::names()))]
    kind: String,
    /// Variables or elements to show.
    #[arg(
        help = "Variables or elements to show, as mu,theta[3] [default: scalars, then the worst]",
        long,
        value_name = "NAMES"
    )]
    var: Option<String>,
    /// The file; its ending chooses the format: .png, .svg or .pdf [default: KIND_plot.png]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
    /// Light lines on a dark ground
    #[arg(long)]
    dark: bool,
    /// Reference values of posteriors: one number for all, or NAME=VALUE,NAME=VALUE
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    reference: Option<String>,
    /// Region of practical equivalence of posteriors: LOW,HIGH
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    rope: Option<String>,
    /// Width in pixels, 300 to 4000; PNG has one and a half as many
    #[arg(long, value_name = "PIXELS", default_value_t = 1100.0)]
    width: f64,
    /// Probability inside intervals
    #[arg(long, value_name = "P", default_value_t = 0.89)]
    ci_prob: f64,
}

/// Reads the trace, draws, writes one file.
pub(crate) fn run(args: &PlotArgs) -> Result<Outcome> {
    let kind = Kind::named(&args.kind).expect("the parser knows the same names");
    let out = match &args.out {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}_plot.png", args.kind)),
    };
    let format = format_of(&out, "--out")?;
    files::check_free(&out, args.overwrite)?;
    let options = options(args)?;
    let traces: Result<Vec<Trace>> = args
        .trace
        .iter()
        .map(|path| thinned(path, &*face::notes()))
        .collect();
    let traces = traces?;
    let shown: Vec<String> = args.trace.iter().map(|p| p.display().to_string()).collect();
    let scene = figure_of(&traces.iter().collect::<Vec<_>>(), &shown, kind, &options)
        .map_err(|error| error.context(shown.join(", ")))?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    files::write(&out, &format.bytes(&scene, theme)?)?;
    terminal::out(format_args!("wrote {}", out.display()));
    Ok(Outcome::Done)
}

fn options(args: &PlotArgs) -> Result<FigureOptions> {
    let options = FigureOptions {
        variables: args.var.as_deref().map(split_names).unwrap_or_default(),
        compare: Posterior {
            reference: references(args.reference.as_deref().unwrap_or_default())?,
            rope: rope(args.rope.as_deref())?,
        },
        style: Style {
            width: args.width,
            ci_prob: args.ci_prob,
            ..Style::default()
        },
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    options.check()?;
    Ok(options)
}

/// Names separated by commas; commas in brackets belong to the name.
fn split_names(text: &str) -> Vec<String> {
    let (mut out, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        match (c, out.last_mut()) {
            (',', _) if depth <= 0 => out.push(String::new()),
            (c, Some(name)) => name.push(c),
            _ => {}
        }
    }
    let names = out.iter().map(|name| name.trim().to_string());
    names.filter(|name| !name.is_empty()).collect()
}

fn references(text: &str) -> Result<Vec<(String, f64)>> {
    split_names(text)
        .iter()
        .map(|part| {
            let (name, value) = part.rsplit_once('=').unwrap_or(("", part));
            Ok((name.trim().to_string(), number("--reference", value)?))
        })
        .collect()
}

fn rope(text: Option<&str>) -> Result<Option<[f64; 2]>> {
    let Some(text) = text else {
        return Ok(None);
    };
    let ends: Result<Vec<f64>> = text.split(',').map(|part| number("--rope", part)).collect();
    match ends?[..] {
        [low, high] if low < high => Ok(Some([low, high])),
        _ => {
            let message = format!("--rope: needs two ascending numbers as LOW,HIGH, not `{text}`");
            Err(Error::new(ErrorKind::Usage, message))
        }
    }
}

fn number(flag: &str, text: &str) -> Result<f64> {
    let value = text.trim().parse().ok().filter(|v: &f64| v.is_finite());
    value.ok_or_else(|| {
        let message = format!("{flag}: `{text}` is not a number");
        Error::new(ErrorKind::Usage, message)
    })
}

/// The format of the file that `flag` names.
fn format_of(path: &Path, flag: &str) -> Result<Format> {
    Format::of(path).map_err(|error| error.context(format!("{flag} {}", path.display())))
}

/// Refuses endings that figures are not written with, before anything is done for one.
pub(crate) fn check_figure(path: &Path, flag: &str) -> Result<()> {
    format_of(path, flag).map(drop)
}

/// Writes a figure in the format of its file's ending; `flag` named the file.
pub(crate) fn write_scene(path: &Path, flag: &str, scene: &Scene) -> Result<()> {
    files::write(path, &format_of(path, flag)?.bytes(scene, Theme::Light)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_belong_to_the_name() {
        assert_eq!(
            split_names("mu, omega[0, 2],tau,"),
            ["mu", "omega[0, 2]", "tau"]
        );
        assert_eq!(split_names(""), [""; 0]);
    }

    #[test]
    fn references_are_for_all_or_for_one() {
        let found = references("0,theta[a=b, 2]=-1.5").unwrap();
        let expected = [(String::new(), 0.0), ("theta[a=b, 2]".into(), -1.5)];
        assert_eq!(found, expected);
        for text in ["x", "mu=", "mu=nan"] {
            assert!(references(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rope_has_two_ascending_ends() {
        assert_eq!(rope(Some("-1, 2")).unwrap(), Some([-1.0, 2.0]));
        for text in ["1", "2,1", "1,2,3", "a,b", ""] {
            assert!(rope(Some(text)).is_err(), "{text}");
        }
    }
}
