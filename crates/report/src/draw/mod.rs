//! The figure layer: a list of shapes, axes to place data on, and writers of SVG, PNG and PDF.

mod axes;
pub(crate) mod base64;
mod font;
mod format;
mod legend;
mod panel;
mod pdf;
mod raster;
mod scene;
mod svg;
mod theme;
mod ticks;

#[cfg(test)]
mod tests;

pub(crate) use axes::range_of;
pub use axes::{Axes, Scale};
pub(crate) use font::font_faces;
pub use font::{Weight, fitted, text_width};
pub use format::Format;
pub use legend::{Key, legend};
pub use panel::{AxisSpec, Labels, Panel, grid};
pub use pdf::pdf;
pub use raster::png;
pub use scene::{Align, Fill, Group, Item, Path, Point, Rect, Scene, Stroke, Text};
pub use svg::svg;
pub(crate) use svg::{escaped, inline_svg};
pub use theme::{Ink, Theme};
pub(crate) use ticks::superscript;
pub use ticks::{Ticks, shown};
