//! Training and scores as figures and pages.

mod coast;
mod curved;
mod ensemble;
mod evaluation;
mod forecast;
mod ground;
mod history;
mod rates;
mod spatial;
mod tables;
mod training;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use ensemble::spread_figure;
pub use evaluation::{evaluation_page, leads_figure, mapped, maps_figures};
pub use forecast::{Course, drawn_steps, forecast_figures, n_forecast_figures};
pub use ground::Ground;
pub use history::{History, StepLine};
pub use rates::{rates_figure, rates_page};
pub use spatial::{error_maps, spectra_figure};
pub use training::{errors_figure, training_figure, training_page};
