//! Fitzroy on a Slurm cluster: what to ask for, how a run is split, the job files, what they are doing.
//!
//! Everything here is a function of its inputs. Who calls `sbatch` is the program: it hands in a
//! [`cluster::Cluster`], and tests hand in one that only remembers.
//!
//! ```
//! use fitzroy_slurm::{command::Command, plan::Plan, profile, render, split::Split};
//! let profiles = profile::built_in();
//! let command = Command::parse(&["sample", "m.fz", "--chains", "8"])?;
//! let plan = Plan {
//!     program: "/opt/fitzroy".into(),
//!     checksum: None,
//!     folder: "/data/run".into(),
//!     tasks: Split::Chains(4).tasks(&command)?,
//!     command,
//!     profile: profile::find(&profiles, "cpu")?.clone(),
//!     estimate: None,
//!     concurrent: None,
//! };
//! assert!(render::job(&plan)?.contains("#SBATCH --array=0-3"));
//! # Ok::<(), fitzroy_graph::Error>(())
//! ```

pub mod check;
pub mod cluster;
pub mod command;
pub mod plan;
pub mod profile;
pub mod render;
pub mod split;
pub mod status;

pub use fitzroy_graph::{Error, ErrorKind, Result};
