//! Which device to run on: what a user may ask for, and what that gives on this machine.

use fitzroy_graph::{Error, ErrorKind, Result};
use std::str::FromStr;

/// A device as a user asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// What is known to be faster; the CPU as long as nobody has measured otherwise.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A GPU, by number where one was given.
    Gpu(Option<usize>),
}

impl FromStr for Choice {
    type Err = Error;

    /// Reads `auto`, `cpu`, `cuda` or `cuda:N`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let message = format!("there is no device `{text}`; use auto, cpu, cuda or cuda:N");
            Error::new(ErrorKind::Usage, message)
        };
        match text {
            "auto" => Ok(Choice::Auto),
            "cpu" => Ok(Choice::Cpu),
            "cuda" => Ok(Choice::Gpu(None)),
            _ => {
                let number = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                number
                    .parse()
                    .map(|n| Choice::Gpu(Some(n)))
                    .map_err(|_| wrong())
            }
        }
    }
}

impl Choice {
    /// Accepts what runs on the CPU.
    ///
    /// # Errors
    /// A GPU was asked for, which is never replaced by the CPU in silence.
    pub fn require_cpu(self) -> Result<()> {
        match self {
            Choice::Auto | Choice::Cpu => Ok(()),
            Choice::Gpu(_) => {
                let advice = "this command computes on the CPU alone; use ⟨device cpu⟩ or auto";
                Err(Error::new(ErrorKind::Device, advice).context("⟨device cuda⟩"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_forms_are_read() {
        assert_eq!("auto".parse::<Choice>().unwrap(), Choice::Auto);
        assert_eq!("cpu".parse::<Choice>().unwrap(), Choice::Cpu);
        assert_eq!("cuda".parse::<Choice>().unwrap(), Choice::Gpu(None));
        assert_eq!("cuda:2".parse::<Choice>().unwrap(), Choice::Gpu(Some(2)));
    }

    #[test]
    fn anything_else_is_refused_with_the_forms() {
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"] {
            let error = text.parse::<Choice>().unwrap_err();
            assert!(
                error.to_string().contains("auto, cpu, cuda or cuda:N"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_gpu_is_never_replaced_in_silence() {
        assert!(Choice::Auto.require_cpu().is_ok());
        let error = Choice::Gpu(None).require_cpu().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
    }
}
