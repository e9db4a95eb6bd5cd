//! Figures and reports: plain data in, bytes out.
//!
//! [`draw`] is a small figure layer of its own: a [`draw::Scene`] is a list of shapes, which is
//! written as SVG, PNG or PDF with one embedded font, so that it looks the same everywhere.
//! [`figure`] has one function per kind of figure, and charts for other work. [`page`] builds
//! reports: one HTML file without a network. [`report`] takes a trace and gives either.
//!
//! Nothing here prints, reads a clock or writes a file.

pub mod draw;
pub mod figure;
pub mod numeric;
pub mod page;
pub mod report;
pub mod source;
