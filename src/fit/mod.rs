//! Methods that fit: they take a compiled function, never a model.

pub mod sample;
