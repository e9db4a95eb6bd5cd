//! One step of a trained forecast as a model of ONNX: `graph` grows node by node, `network` and
//! `step` (states in, the next state out) are written into it.

mod graph;
mod network;
mod step;

pub use step::onnx;
