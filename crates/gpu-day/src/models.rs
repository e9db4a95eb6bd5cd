//! The models of the steps, inside the program: the machine with the GPU needs nothing else.

use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Settings, bind};
use fitzroy::{Error, ErrorKind, Result};

/// A model and its data.
pub(crate) struct Example {
    text: &'static str,
    data: &'static str,
    extension: &'static str,
}

/// 100 groups of 10 observations.
pub(crate) const M1: Example = Example {
    text: include_str!("../../../models/hierarchical.fz"),
    data: include_str!("../../../models/hierarchical.csv"),
    extension: "csv",
};
/// 1,000 observations, 100 artists, 10 features.
pub(crate) const M2: Example = Example {
    text: include_str!("../../../models/artists.fz"),
    data: include_str!("../../../models/artists.json"),
    extension: "json",
};
/// Eight schools.
pub(crate) const SCHOOLS: Example = Example {
    text: include_str!("../../../models/eight-schools.fz"),
    data: include_str!("../../../models/eight-schools.csv"),
    extension: "csv",
};

impl Example {
    /// Its data as text.
    pub(crate) fn data(&self) -> &'static str {
        self.data
    }

    /// Binds the model to its data.
    pub(crate) fn joint(&self) -> Result<Joint> {
        let name = format!("fitzroy-gpu-day-{}.{}", std::process::id(), self.extension);
        let path = std::env::temp_dir().join(name);
        let io = |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", path.display()));
        std::fs::write(&path, self.data).map_err(io)?;
        let arrays = read_file(&path);
        std::fs::remove_file(&path).map_err(io)?;
        let mut data = Dataset::new();
        for array in arrays? {
            data.insert(array);
        }
        bind(&Model::parse(self.text)?, &data, &Settings::default())
    }
}
