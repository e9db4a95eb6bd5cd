//! `fitzroy weather export`.

use super::common::{Data, Scratch};
use crate::exit::Outcome;
use crate::requests::{Words, matches};
use crate::{face, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::Result;
use fitzroy_session::face::Face;
use fitzroy_session::weather::{Exported, Exporting};
use serde_json::{Value, json};
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

impl ExportArgs {
    fn write(&self, face: &dyn Face) -> Result<Exported> {
        let exporting = Exporting {
            data: &self.data.data,
            reading: self.data.reading()?,
            scratch: self.scratch.scratch.as_deref(),
            checkpoint: &self.checkpoint,
            output: &self.output,
        };
        exporting.run(face)
    }

    fn json(&self, made: &Exported) -> Value {
        let (nodes, channels) = made.state;
        json!({
            "file": self.output.display().to_string(),
            "checkpoint": made.checkpoint.display().to_string(),
            "bytes": made.bytes, "nodes": nodes, "channels": channels,
        })
    }
}

/// Writes the model by settings; the document of `--json`.
pub(crate) fn export(words: &Words, face: &dyn Face) -> Result<Value> {
    let parser = ExportArgs::augment_args(clap::Command::new("export"));
    let mut found = matches(parser, words, &[])?;
    let args = ExportArgs::from_arg_matches_mut(&mut found).expect("matches of the same flags");
    Ok(args.json(&args.write(face)?))
}

/// Writes the model and says so.
pub(crate) fn run(args: &ExportArgs) -> Result<Outcome> {
    let made = args.write(&*face::notes())?;
    let (nodes, channels) = made.state;
    if args.json {
        json::print(&args.json(&made));
    } else {
        terminal::out(format_args!(
            "wrote {}: a step of {}, {nodes} points of {channels} channels, {:.1} MB",
            args.output.display(),
            made.checkpoint.display(),
            made.bytes as f64 / 1e6
        ));
    }
    Ok(Outcome::Done)
}
