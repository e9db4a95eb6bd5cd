//! PTX, the text that NVIDIA's compiler makes of kernels, executed on this processor: a tool for tests.
//!
//! A module is parsed, decoded into typed instructions for the 32 lanes of a warp, and run by an
//! interpreter that can stop every lane before every instruction. What it does not know it refuses by
//! name and line; what a GPU would leave undefined is a fault, not a guess.

pub mod code;
pub mod compiled;
pub mod decode;
#[cfg(target_os = "linux")]
pub mod driver;
pub mod machine;
pub mod parse;
pub mod run;

use std::fmt;

/// Why a module is refused, or what a kernel did that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line of the PTX, from 1 on; 0 where none is meant.
    pub line: u32,
    /// What is wrong.
    pub text: String,
}

impl Fault {
    /// A fault of a line.
    pub fn new(line: u32, text: impl Into<String>) -> Fault {
        Fault {
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "PTX line {line}: {}", self.text),
        }
    }
}

impl std::error::Error for Fault {}

/// A result with a [`Fault`].
pub type Result<T> = std::result::Result<T, Fault>;
