//! Where it runs: the CPU engine. Knows arrays, not statistics.

pub mod cpu;
pub mod lanes;
pub mod maths;
