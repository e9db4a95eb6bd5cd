//! The chains of a command: their flags, and what a run of them needs.

mod dry_run;
mod flags;

pub(crate) use dry_run::dry_run;
pub(crate) use flags::ChainFlags;
