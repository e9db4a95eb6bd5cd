//! The models of the steps, inside the program: the machine with the GPU needs nothing else.

use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Settings, bind};
use fitzroy::{Error, ErrorKind, Result};

/// A model and its data.
pub(crate) struct Example {
    text: &'static str,
    data: &'static str,
    extension: &'static str,
    /// What may be rewritten.
    pub(crate) rewrites: Rewrites,
}

/// Sums in place of rows, but no effects integrated out: every parameter takes its steps, as in the
/// other programs.
const WHOLE: Rewrites = Rewrites {
    collapse: false,
    ..Rewrites::AUTO
};

/// 100 groups of 10 observations, as `fitzroy sample` has it: the groups are integrated out.
pub(crate) const M1: Example = Example {
    text: include_str!("../../../models/hierarchical.fz"),
    data: include_str!("../../../models/hierarchical.csv"),
    extension: "csv",
    rewrites: Rewrites::AUTO,
};
/// 1,000 observations, 100 artists, 10 features, as `fitzroy sample` has it.
pub(crate) const M2: Example = Example {
    text: include_str!("../../../models/artists.fz"),
    data: include_str!("../../../models/artists.json"),
    extension: "json",
    rewrites: Rewrites::AUTO,
};
/// The same two with all their parameters: 103, and 113.
pub(crate) const M1_WHOLE: Example = Example {
    rewrites: WHOLE,
    ..M1
};
pub(crate) const M2_WHOLE: Example = Example {
    rewrites: WHOLE,
    ..M2
};
/// Eight schools.
pub(crate) const SCHOOLS: Example = Example {
    text: include_str!("../../../models/eight-schools.fz"),
    data: include_str!("../../../models/eight-schools.csv"),
    extension: "csv",
    rewrites: Rewrites::AUTO,
};

impl Example {
    /// Whether every parameter takes steps.
    pub(crate) fn is_whole(&self) -> bool {
        !self.rewrites.collapse
    }

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
