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
    /// Several GPUs, which share the work.
    Gpus(Several),
}

/// Several GPUs as a user asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// All that can be used.
    All,
    /// Those whose numbers are the places of bits that are set: two at least.
    These(u64),
}

impl Several {
    /// The numbers that were given, in order; none for all.
    pub fn numbers(self) -> Option<Vec<usize>> {
        match self {
            Several::All => None,
            Several::These(bits) => Some((0..64).filter(|n| bits >> n & 1 == 1).collect()),
        }
    }
}

/// What can be asked for.
const FORMS: &str = "auto, cpu, cuda, cuda:N, cuda:0,1 or cuda:all";

impl FromStr for Choice {
    type Err = Error;

    /// Reads `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:N,M,...` or `cuda:all`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            let message = format!("there is no device `{text}`{what}; use {FORMS}");
            Error::new(ErrorKind::Usage, message)
        };
        match text {
            "auto" => return Ok(Choice::Auto),
            "cpu" => return Ok(Choice::Cpu),
            "cuda" => return Ok(Choice::Gpu(None)),
            "cuda:all" => return Ok(Choice::Gpus(Several::All)),
            _ => {}
        }
        let numbers = text.strip_prefix("cuda:").ok_or_else(|| wrong(""))?;
        let mut bits = 0u64;
        for number in numbers.split(',') {
            let number: usize = number.trim().parse().map_err(|_| wrong(""))?;
            if !numbers.contains(',') {
                return Ok(Choice::Gpu(Some(number)));
            }
            if number >= 64 {
                return Err(wrong(": of several GPUs the numbers are below 64"));
            }
            if bits >> number & 1 == 1 {
                return Err(wrong(&format!(": GPU {number} stands there twice")));
            }
            bits |= 1 << number;
        }
        Ok(Choice::Gpus(Several::These(bits)))
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
            Choice::Gpu(_) | Choice::Gpus(_) => {
                let advice = "this command computes on the CPU alone; use ⟨device cpu⟩ or auto";
                Err(Error::new(ErrorKind::Device, advice).context("⟨device cuda⟩"))
            }
        }
    }

    /// Accepts at most one GPU; `what` says who has no use for more, such as `networks are trained`.
    ///
    /// # Errors
    /// Several were asked for.
    pub fn require_one(self, what: &str) -> Result<Choice> {
        match self {
            Choice::Gpus(_) => Err(Error::new(
                ErrorKind::Device,
                format!("{what} on one GPU; use ⟨device cuda⟩ or ⟨device cuda:0⟩"),
            )),
            other => Ok(other),
        }
    }
}

/// How much of a GPU's memory may be taken, as a user says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryCap {
    /// A share of all that it has: above 0, at most 1.
    Share(f64),
    /// So many bytes.
    Bytes(u64),
}

impl MemoryCap {
    /// Bytes, of a GPU that has `total`.
    pub fn bytes(self, total: u64) -> u64 {
        match self {
            MemoryCap::Share(share) => (total as f64 * share) as u64,
            MemoryCap::Bytes(bytes) => bytes.min(total),
        }
    }
}

/// Units of memory.
const UNITS: [(&str, f64); 6] = [
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("GB", 1e9),
    ("MB", 1e6),
    ("G", 1_073_741_824.0),
    ("M", 1_048_576.0),
];

impl FromStr for MemoryCap {
    type Err = Error;

    /// Reads a share such as `0.75`, or a size such as `40GB`, `40GiB` or `512MiB`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let message = format!(
                "`{text}` is no share above 0 and up to 1, as 0.75, and no size, as 40GB or 512MiB"
            );
            Error::new(ErrorKind::Usage, message)
        };
        let text = text.trim();
        let in_unit = |(unit, bytes): &(&str, f64)| Some((text.strip_suffix(unit)?, *bytes));
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| *x > 0.0);
        match UNITS.iter().find_map(in_unit) {
            Some((size, unit)) => {
                let bytes = number(size).map(|size| size * unit).filter(|b| *b < 1e18);
                bytes.map(|b| MemoryCap::Bytes(b as u64)).ok_or_else(wrong)
            }
            None => {
                let share = number(text).filter(|share| *share <= 1.0);
                share.map(MemoryCap::Share).ok_or_else(wrong)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_one_device_are_read() {
        assert_eq!("auto".parse::<Choice>().unwrap(), Choice::Auto);
        assert_eq!("cpu".parse::<Choice>().unwrap(), Choice::Cpu);
        assert_eq!("cuda".parse::<Choice>().unwrap(), Choice::Gpu(None));
        assert_eq!("cuda:2".parse::<Choice>().unwrap(), Choice::Gpu(Some(2)));
    }

    #[test]
    fn several_gpus_are_read_in_any_order_and_none_twice() {
        let several = |text: &str| match text.parse::<Choice>() {
            Ok(Choice::Gpus(several)) => several.numbers(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(several("cuda:all"), None);
        assert_eq!(several("cuda:0,1"), Some(vec![0, 1]));
        assert_eq!(several("cuda:5, 0,63"), Some(vec![0, 5, 63]));
        for (text, said) in [("cuda:1,1", "twice"), ("cuda:0,64", "below 64")] {
            let error = text.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = Choice::Gpus(Several::All).require_one("networks are trained");
        assert!(error.unwrap_err().to_string().contains("on one GPU"));
        assert!(
            Choice::Gpu(None)
                .require_one("networks are trained")
                .is_ok()
        );
    }

    #[test]
    fn anything_else_is_refused_with_the_forms() {
        for text in [
            "", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0,", "cuda:0,x", "CPU",
        ] {
            let error = text.parse::<Choice>().unwrap_err();
            assert!(error.to_string().contains(FORMS), "{error}");
        }
    }

    #[test]
    fn a_cap_of_memory_is_a_share_or_a_size() {
        let bytes = |text: &str| {
            text.parse::<MemoryCap>()
                .map(|cap| cap.bytes(80_000_000_000))
        };
        assert_eq!(bytes("0.75").unwrap(), 60_000_000_000);
        assert_eq!(bytes("1").unwrap(), 80_000_000_000);
        assert_eq!(bytes("40GB").unwrap(), 40_000_000_000);
        assert_eq!(bytes("1.5 GiB").unwrap(), 1_610_612_736);
        assert_eq!(bytes("512M").unwrap(), 512 << 20);
        assert_eq!(bytes("200GB").unwrap(), 80_000_000_000);
        for text in [
            "", "0", "-1", "40", "1.5", "GB", "x", "inf", "NaN", "0GB", "1e30GB",
        ] {
            let error = bytes(text).unwrap_err().to_string();
            assert!(error.contains("as 0.75"), "{error}");
        }
    }

    #[test]
    fn a_gpu_is_never_replaced_in_silence() {
        assert!(Choice::Auto.require_cpu().is_ok());
        let error = Choice::Gpu(None).require_cpu().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
    }
}
