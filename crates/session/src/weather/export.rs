//! A step of a forecast as a file for other programs.

use super::{find_members, read_for};
use crate::face::Face;
use crate::folder::replace;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_weather::data::{Asked, Splits};
use fitzroy_weather::onnx::onnx;
use fitzroy_weather::train::Problem;
use std::path::{Path, PathBuf};

/// What is exported.
pub struct Exporting<'a> {
    /// Files of data: their grid and static fields become part of the model.
    pub data: &'a [PathBuf],
    /// How they are read; where nothing is said, as those of the training.
    pub reading: Asked,
    /// The folder for data that do not fit into memory; none for the current one.
    pub scratch: Option<&'a Path>,
    /// A checkpoint, or a folder of them.
    pub checkpoint: &'a Path,
    /// The file to write, which must not be there.
    pub output: &'a Path,
}

/// A model that was written.
pub struct Exported {
    /// The checkpoint that it is made of.
    pub checkpoint: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// Nodes and channels of a state.
    pub state: (usize, usize),
}

impl Exporting<'_> {
    /// Writes the model.
    ///
    /// # Errors
    /// Checkpoint or data cannot be read or do not fit each other; the checkpoint is an ensemble;
    /// the file is there already, or cannot be written.
    pub fn run(self, face: &dyn Face) -> Result<Exported> {
        let output = self.output.display();
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        if self.output.exists() {
            return usage(format!(
                "⟨output {output}⟩: the file exists; choose another name"
            ));
        }
        let members = find_members(&[self.checkpoint.to_path_buf()], face)?;
        let [found] = &members[..] else {
            return usage(format!(
                "⟨checkpoint {}⟩: an ensemble of {} members; a file holds one network, so name the \
                 folder of one member",
                self.checkpoint.display(),
                members.len()
            ));
        };
        let checkpoint = &found.checkpoint;
        let archive = read_for(checkpoint, self.data, (&self.reading, self.scratch), face)?;
        let state = (archive.n_nodes(), archive.channels.len());
        let splits = Splits::whole(&archive);
        let problem = Problem::restore(archive, splits, checkpoint)?;
        let attributes = [
            ("checkpoint", found.path.display().to_string()),
            ("checkpoint_crc32", format!("{:08x}", found.checksum()?)),
            ("checkpoint_step", checkpoint.progress.step.to_string()),
            ("source", format!("Fitzroy {}", env!("CARGO_PKG_VERSION"))),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_string(), value));
        let file = onnx(&problem, checkpoint.best_parameters(), &attributes)?;
        replace(self.output, &file)?;
        Ok(Exported {
            checkpoint: found.path.clone(),
            bytes: file.len(),
            state,
        })
    }
}
