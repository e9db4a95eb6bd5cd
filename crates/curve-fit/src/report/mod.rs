//! What a person or a program reads of a fit: text, JSON, CSV, figures, a page. Plain data in,
//! text and scenes out.

mod averaged;
mod figure;
mod glance;
mod image;
mod json;
mod many;
mod model;
mod page;
mod parts;
mod regions;
mod resample;
mod scale;
mod select;
mod shown;
mod spread;
mod text;
mod view;

pub use averaged::Average;
pub use figure::{cost_figure, fit_figure};
pub use glance::Serial;
pub use image::{Image, image_figure};
pub use json::{estimate_json, number};
pub use many::{Many, many_page, panel_figure, trend_figure};
pub use model::{Names, model_text};
pub use page::{Told, fit_page};
pub use parts::{components_json, components_text};
pub use regions::region_figure;
pub use resample::{resampled_json, resampled_text};
pub use scale::Axes;
pub use select::{selection_csv, selection_json, selection_text};
pub use shown::{Cloud, Curve, Part, Shown};
pub use spread::residual_figure;
pub use text::{Timing, csv, grouped, significant, text};
pub use view::View;
