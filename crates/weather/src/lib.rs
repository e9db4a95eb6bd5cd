//! Regional weather: data, graphs, networks, training, forecasts and their scores.
//!
//! Data flow so: [`time`] dates, [`files`] CF NetCDF, [`synth`] an atmosphere to try things on,
//! [`data`] a region's records, [`graph`] who sends to whom, [`mod@train`] the loop,
//! [`evaluate`] forecasts and scores, [`onnx`] a step for other programs, [`report`] both for people to look at; [`mod@bench`] a task
//! to time.

pub mod bench;
pub mod data;
pub mod evaluate;
pub mod files;
pub mod graph;
pub mod onnx;
mod protobuf;
pub mod report;
pub mod synth;
pub mod time;
pub mod train;
