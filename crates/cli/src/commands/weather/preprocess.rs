//! `fitzroy weather preprocess`.

use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_weather::files::{TextArchive, gather};
use fitzroy_weather::synth::LEVELS_HPA;
use serde_json::json;
use std::path::PathBuf;

/// Flags of `fitzroy weather preprocess`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather preprocess --lat-file lat.txt --lon-file lon.txt \
    --hpa-dir hpa --precip-dir rain --output archive.nc\n\n\
    hpa holds VAR_yyyymmdd_HH.txt (DPT, TEM, GPH, U, V; all levels), rain yyyymmdd_8-20.txt\n\
    (to 12 UTC) and yyyymmdd_20-8.txt (to 00 UTC)."
)]
pub(crate) struct PreprocessArgs {
    /// Latitudes, a text file of numbers
    #[arg(long, value_name = "FILE")]
    lat_file: PathBuf,
    /// Longitudes
    #[arg(long, value_name = "FILE")]
    lon_file: PathBuf,
    /// Folder of VAR_yyyymmdd_HH.txt
    #[arg(long, value_name = "DIR")]
    hpa_dir: PathBuf,
    /// Folder of yyyymmdd_8-20.txt and yyyymmdd_20-8.txt
    #[arg(long, value_name = "DIR")]
    precip_dir: PathBuf,
    /// Levels of the files in their order, hPa [default: 100 to 1000, eleven of them]
    #[arg(long, value_name = "HPA", value_delimiter = ',')]
    levels: Vec<f64>,
    /// zlib level, 0 to 9
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=9))]
    compression: u32,
    /// The file to write
    #[arg(long, visible_alias = "out", value_name = "FILE.nc")]
    output: PathBuf,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
}

/// Gathers and writes.
pub(crate) fn run(args: &PreprocessArgs) -> Result<Outcome> {
    if args.output.exists() {
        let shown = args.output.display();
        let message = format!("--output {shown}: the file exists; choose another name");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let archive = TextArchive {
        lat_file: args.lat_file.clone(),
        lon_file: args.lon_file.clone(),
        level_dir: args.hpa_dir.clone(),
        rain_dir: args.precip_dir.clone(),
        levels: if args.levels.is_empty() {
            LEVELS_HPA.to_vec()
        } else {
            args.levels.clone()
        },
        compression: args.compression,
    };
    let gathered = gather(&archive, &args.output)?;
    if args.json {
        json::print(&json!({
            "file": args.output.display().to_string(), "records": gathered.n_times,
            "incomplete": gathered.incomplete, "ignored": gathered.ignored,
        }));
        return Ok(Outcome::Done);
    }
    let shown = args.output.display();
    terminal::out(format_args!("wrote {shown}: {} records", gathered.n_times));
    for (what, all) in [
        ("times lack a file and were left out", &gathered.incomplete),
        (
            "files have names that are not understood and were not used",
            &gathered.ignored,
        ),
    ] {
        if !all.is_empty() {
            let some: Vec<&str> = all.iter().take(5).map(String::as_str).collect();
            let more = if all.len() > 5 { ", ..." } else { "" };
            terminal::note(format_args!(
                "{} {what}: {}{more}",
                all.len(),
                some.join(", ")
            ));
        }
    }
    Ok(Outcome::Done)
}
