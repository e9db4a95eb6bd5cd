//! Ensembles: several checkpoints of one network.

use crate::face::{Face, Note};
use crate::folder::Folder;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_weather::train::{Checkpoint, Found, find, find_best};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of a member's folder, from 1.
pub fn member_name(number: usize) -> String {
    format!("member-{number:02}")
}

/// The folders of members in a folder, in their order.
fn members_in(folder: &Path) -> Vec<PathBuf> {
    let path = |number: usize| folder.join(member_name(number));
    let paths = (1..).map(path);
    paths.take_while(|path| path.is_dir()).collect()
}

/// The folder of an ensemble: the one given, or a fresh one.
///
/// # Errors
/// It cannot be made.
pub fn ensemble_folder(out: Option<&Path>, face: &Arc<dyn Face>) -> Result<PathBuf> {
    if let Some(out) = out {
        let made = std::fs::create_dir_all(out);
        let context = |e| Error::new(ErrorKind::Io, format!("{}: {e}", out.display()));
        return made.map(|()| out.to_path_buf()).map_err(context);
    }
    let mut folder = Folder::open(Path::new(""), None, "weather", None, face)?;
    // Keeps the folder: those of members will lie in it.
    folder.file(&member_name(1));
    let path = folder.path().to_path_buf();
    folder.finish()?;
    Ok(path)
}

/// The checkpoints that are meant: a file, a folder of checkpoints, or a folder of members, of each
/// of which the best counts; all of one network with the same scales.
///
/// # Errors
/// There is none, one cannot be read, or they differ.
pub fn find_members(paths: &[PathBuf], face: &dyn Face) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for path in paths {
        match &members_in(path)[..] {
            [] => all.push(find(path)?),
            members => {
                for member in members {
                    all.push(find_best(member)?);
                }
            }
        }
    }
    for found in &all {
        found.notes.iter().for_each(|n| face.tell(Note::Notice(n)));
    }
    let Some((first, others)) = all.split_first() else {
        return Err(Error::usage("⟨checkpoint⟩ is missing"));
    };
    for other in others {
        let apart = apart(&first.checkpoint, &other.checkpoint);
        if !apart.is_empty() {
            return Err(Error::usage(format!(
                "{} and {} cannot be members of one ensemble: they differ in {}. Members are of \
                 one network and trained on the same records",
                first.path.display(),
                other.path.display(),
                apart.join(", ")
            )));
        }
    }
    Ok(all)
}

/// What must be the same for members and is not.
fn apart(a: &Checkpoint, b: &Checkpoint) -> Vec<String> {
    let fields = a.identity.as_object().into_iter().flatten();
    let differing = fields.filter(|(name, value)| b.identity[name.as_str()] != **value);
    let mut apart: Vec<String> = differing.map(|(name, _)| name.clone()).collect();
    let border = |name: &str| a.settings[name] != b.settings[name];
    let borders = ["validation_start", "test_start"].into_iter();
    apart.extend(borders.filter(|name| border(name)).map(String::from));
    if apart.is_empty() && a.normaliser != b.normaliser {
        apart.push("the scales of their channels".into());
    }
    apart
}
