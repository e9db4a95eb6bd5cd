//! What a person or a program reads of a fit: text, JSON, CSV. Plain data in, text out.

mod json;
mod model;
mod text;

pub use json::{estimate_json, number};
pub use model::{Names, model_text};
pub use text::{Timing, csv, grouped, significant, text};
