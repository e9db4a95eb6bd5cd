//! What a person or a program reads of a fit: text, JSON, CSV, figures, a page. Plain data in,
//! text and scenes out.

mod figure;
mod json;
mod model;
mod page;
mod resample;
mod select;
mod shown;
mod text;

pub use figure::{cost_figure, fit_figure, residual_figure};
pub use json::{estimate_json, number};
pub use model::{Names, model_text};
pub use page::{Told, fit_page};
pub use resample::{resampled_json, resampled_text};
pub use select::{selection_csv, selection_json, selection_text};
pub use shown::{Cloud, Curve, Shown};
pub use text::{Timing, csv, grouped, significant, text};
