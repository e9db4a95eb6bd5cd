//! What `sample` and `predict` are given: a model file, data files, arrays and numbers.

use crate::tables;
use fitzroy::data::{DataFile, Dataset, TableOptions, read_binding_with, read_setting};
use fitzroy::model::{Model, Role};
use fitzroy::{Error, ErrorKind, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads and parses a model.
pub(crate) fn model(path: &Path) -> Result<Model> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => {
                "there is no such file; `fitzroy models` lists examples".into()
            }
            io::ErrorKind::InvalidData => "this is not text (UTF-8)".into(),
            io::ErrorKind::IsADirectory => "this is a folder, not a model file".into(),
            _ => error.to_string(),
        };
        Error::new(ErrorKind::Io, format!("model {shown}: {why}"))
    })?;
    Model::parse(&text).map_err(|error| error.context(shown))
}

/// Everything that was given as data; what comes later replaces what has the same name.
pub(crate) fn data(
    files: &[PathBuf],
    bindings: &[String],
    set: &[String],
    options: &TableOptions,
    quiet: bool,
) -> Result<Dataset> {
    let mut data = Dataset::new();
    let mut take = |file: DataFile| {
        tables::tell(&file, quiet);
        file.arrays.into_iter().for_each(|a| data.insert(a));
    };
    for file in files {
        take(DataFile::read(file, options)?);
    }
    for binding in bindings {
        take(read_binding_with(binding, options)?);
    }
    for setting in set {
        data.insert(read_setting(setting)?);
    }
    Ok(data)
}

/// Says what a model needs, where no data were given.
pub(crate) fn no_data(model: &Model) -> Error {
    let declared = model.symbols().iter();
    let names = declared.filter(|(_, symbol)| symbol.role == Role::Data);
    let names: Vec<String> = names.map(|(name, _)| format!("`{name}`")).collect();
    let message = format!(
        "no data were given, and the model declares {}; name a file with --data FILE",
        names.join(", ")
    );
    Error::new(ErrorKind::Data, message)
}

/// The name of a model: its file without the ending.
pub(crate) fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}
