//! Figures and pages of a trace.

mod facts;
mod figures;
mod kind;
mod loo;
mod parts;
mod sampling;
mod text;
mod validation;

#[cfg(test)]
mod tests;

pub use facts::{RunFacts, seconds};
pub use kind::{FigureOptions, Kind, figure_of};
pub use sampling::sampling_page;
pub use validation::{Apart, Contender, performance_figure, validation_page};
