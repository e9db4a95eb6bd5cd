//! What this machine is: its processor, its memory, and how fast they are.

mod memory;
mod processor;
mod rates;

use crate::lanes::Level;

pub use memory::{Memory, peak_bytes};
pub use processor::processor_seconds;
pub use rates::{MULTIPLY_ADDS_PER_ROUND, Streams, multiply_adds};

/// The processor as programs see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpu {
    /// Its name, for example `AMD EPYC 9654`; the architecture where the system tells no name.
    pub model: String,
    /// Threads that may run at once: cores less what the system withholds from this process.
    pub threads: usize,
    /// The widest set of vector instructions that Fitzroy uses here.
    pub simd: Level,
    /// Main memory, where the system tells it.
    pub memory: Option<Memory>,
}

/// The usual name of a level on this kind of processor.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Avx512 => "AVX-512",
        Level::Avx2 => "AVX2",
        Level::Scalar => "scalar",
    }
}

/// Looks at the processor and the memory of this machine.
pub fn cpu() -> Cpu {
    Cpu {
        model: model(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        simd: Level::detect(),
        memory: Memory::probe(),
    }
}

/// The name of the processor alone, see [`Cpu::model`].
pub fn model() -> String {
    model_name().unwrap_or_else(|| std::env::consts::ARCH.to_string())
}

/// The name in `/proc/cpuinfo`; x86 calls it `model name`, some others `Model` or `Hardware`.
fn model_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    ["model name", "Model", "Hardware"]
        .iter()
        .find_map(|field| named_field(&text, field))
}

/// The value of the first line `FIELD : VALUE`.
fn named_field(text: &str, field: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field && !value.trim().is_empty()).then(|| value.trim().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_a_name_and_a_thread() {
        let cpu = cpu();
        assert!(!cpu.model.is_empty());
        assert!(cpu.threads >= 1);
    }

    #[test]
    fn the_model_name_is_read_from_the_first_processor() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nprocessor : 1\n";
        assert_eq!(
            named_field(text, "model name").unwrap(),
            "Some CPU @ 2.0GHz"
        );
        assert_eq!(named_field("model name :\n", "model name"), None);
    }
}
