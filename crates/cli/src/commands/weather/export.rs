//! `fitzroy weather export`.

use super::common::{Data, Scratch};
use crate::exit::Outcome;
use crate::{face, json, terminal};
use clap::Args;
use fitzroy::Result;
use fitzroy_session::weather::Exporting;
use serde_json::json;
use std::path::PathBuf;

/// Flags of `fitzroy weather export`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather export --data synthetic.nc --checkpoint run --output \
    step.onnx\n\n\
    The model takes two states, the state at the boundary and the forcings, in the units of the\n\
    channels, and gives the next state: docs/weather.md. Any file of the archive will do for --data."
)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    scratch: Scratch,
    /// Checkpoint, or a folder of them
    #[arg(long, value_name = "FILE|DIR")]
    checkpoint: PathBuf,
    /// The file to write
    #[arg(long, visible_alias = "out", value_name = "FILE.onnx")]
    output: PathBuf,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
}

/// Writes the model and says so.
pub(crate) fn run(args: &ExportArgs) -> Result<Outcome> {
    let exporting = Exporting {
        data: &args.data.data,
        reading: args.data.reading()?,
        scratch: args.scratch.scratch.as_deref(),
        checkpoint: &args.checkpoint,
        output: &args.output,
    };
    let made = exporting.run(&*face::notes())?;
    let file = args.output.display().to_string();
    let (nodes, channels) = made.state;
    if args.json {
        json::print(&json!({
            "file": file, "checkpoint": made.checkpoint.display().to_string(),
            "bytes": made.bytes, "nodes": nodes, "channels": channels,
        }));
    } else {
        terminal::out(format_args!(
            "wrote {file}: a step of {}, {nodes} points of {channels} channels, {:.1} MB",
            made.checkpoint.display(),
            made.bytes as f64 / 1e6
        ));
    }
    Ok(Outcome::Done)
}
