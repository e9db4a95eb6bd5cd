//! Everything that can be wrong with a GPU, each with what to do about it.

use fitzroy_graph::{Error, ErrorKind};
use std::fmt;
use std::path::PathBuf;

/// Why a GPU cannot be used, or stopped being usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The driver's library was found nowhere.
    NoDriver,
    /// A library of the driver or of the compiler is there and cannot be opened.
    Unreadable {
        /// The library.
        library: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A library lacks a function.
    TooOld {
        /// The library.
        library: PathBuf,
        /// The function.
        function: String,
    },
    /// The driver serves no CUDA that is new enough.
    OldDriver {
        /// Major and minor version of the newest that it serves.
        version: (u32, u32),
    },
    /// The library that CUDA's toolkit has for linking alone.
    Stub,
    /// The driver in the kernel and its library are of different versions.
    DriverMismatch,
    /// A device file may not be opened.
    NotPermitted {
        /// The file.
        file: PathBuf,
    },
    /// `CUDA_VISIBLE_DEVICES` hides every GPU.
    Hidden {
        /// Its value.
        visible: String,
    },
    /// The driver sees no GPU.
    NoDevice,
    /// There is no GPU of that number.
    NoSuchDevice {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// Another process has the GPU to itself, or nobody may compute on it.
    Busy,
    /// The driver is not up yet.
    NotReady,
    /// The driver's library cannot begin.
    NotStarted {
        /// What the driver calls it.
        name: String,
        /// Its code.
        code: i32,
    },
    /// The service that shares a GPU between programs does not answer, or refuses.
    Sharing {
        /// What the driver calls it.
        name: String,
    },
    /// The compiler cannot be used.
    Compiler(CompilerTrouble),
    /// Too little memory.
    OutOfMemory {
        /// Bytes asked for at last.
        needed: u64,
        /// Bytes free, where the driver tells.
        free: Option<u64>,
    },
    /// Blocks of a launch have to run at the same time, and the GPU has no room for all of them.
    TooManyBlocks,
    /// The watchdog of a GPU with a display ended a kernel.
    Watchdog,
    /// The GPU's memory is damaged.
    Uncorrectable,
    /// A kernel did what it must not do.
    Crashed {
        /// What the driver calls it.
        name: String,
        /// Its code.
        code: i32,
    },
    /// Anything else that the driver says.
    Driver {
        /// The function that failed.
        call: &'static str,
        /// Its code.
        code: i32,
        /// What the driver calls it.
        name: String,
    },
}

/// Why the compiler of kernels cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerTrouble {
    /// It was found nowhere.
    Missing {
        /// The places that were looked at, and why what lay there would not do.
        rejected: Vec<String>,
    },
    /// It does not take a text of ours.
    Refused {
        /// What it says.
        log: String,
    },
    /// It is there without the library of what is built into it.
    NoBuiltins {
        /// What it says.
        log: String,
    },
}

impl CompilerTrouble {
    fn name(&self) -> &'static str {
        match self {
            CompilerTrouble::Missing { .. } => "no-nvrtc",
            CompilerTrouble::Refused { .. } => "refused",
            CompilerTrouble::NoBuiltins { .. } => "no-nvrtc-builtins",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            CompilerTrouble::Missing { .. } => {
                "pip install nvidia-cuda-nvrtc-cu12 (-cu11 for a driver of CUDA 11) in the active Python \
                 environment, or load the cluster's CUDA module (module load cuda), or say ⟨nvrtc PATH⟩"
            }
            CompilerTrouble::Refused { .. } => {
                "please report it, with the text that ⟨dump_cuda⟩ gives"
            }
            CompilerTrouble::NoBuiltins { .. } => {
                "libnvrtc-builtins of the same version has to lie beside libnvrtc: install the wheel or \
                 the CUDA module again, or copy both"
            }
        }
    }
}

impl fmt::Display for CompilerTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompilerTrouble::Missing { rejected } => {
                f.write_str("no usable NVRTC (libnvrtc.so.12) was found")?;
                match rejected.is_empty() {
                    true => Ok(()),
                    false => write!(f, " ({})", rejected.join("; ")),
                }
            }
            CompilerTrouble::Refused { log } => write!(f, "NVRTC does not take the kernel: {log}"),
            CompilerTrouble::NoBuiltins { log } => write!(f, "NVRTC is not complete: {log}"),
        }
    }
}

impl From<CompilerTrouble> for Trouble {
    fn from(trouble: CompilerTrouble) -> Trouble {
        Trouble::Compiler(trouble)
    }
}

impl Trouble {
    /// What is meant by a code that `call` returned.
    pub(crate) fn of(call: &'static str, code: i32, name: String) -> Trouble {
        match code {
            2 => Trouble::OutOfMemory {
                needed: 0,
                free: None,
            },
            34 => Trouble::Stub,
            46 => Trouble::Busy,
            100 => Trouble::NoDevice,
            214 | 220 => Trouble::Uncorrectable,
            304 | 999 if call == "cuInit" => Trouble::NotStarted { name, code },
            700 | 714..=719 => Trouble::Crashed { name, code },
            702 => Trouble::Watchdog,
            720 => Trouble::TooManyBlocks,
            802 => Trouble::NotReady,
            803 | 804 => Trouble::DriverMismatch,
            805..=809 => Trouble::Sharing { name },
            _ => Trouble::Driver { call, code, name },
        }
    }

    /// A short name that never changes, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Trouble::NoDriver => "no-driver",
            Trouble::Unreadable { .. } => "unreadable-library",
            Trouble::TooOld { .. } => "too-old",
            Trouble::OldDriver { .. } => "old-driver",
            Trouble::Stub => "stub",
            Trouble::DriverMismatch => "driver-mismatch",
            Trouble::NotPermitted { .. } => "not-permitted",
            Trouble::Hidden { .. } => "hidden",
            Trouble::NoDevice => "no-device",
            Trouble::NoSuchDevice { .. } => "no-such-device",
            Trouble::Busy => "busy",
            Trouble::NotReady => "not-ready",
            Trouble::NotStarted { .. } => "not-started",
            Trouble::Sharing { .. } => "sharing",
            Trouble::Compiler(trouble) => trouble.name(),
            Trouble::OutOfMemory { .. } => "out-of-memory",
            Trouble::TooManyBlocks => "too-many-blocks",
            Trouble::Watchdog => "watchdog",
            Trouble::Uncorrectable => "uncorrectable",
            Trouble::Crashed { .. } => "crashed",
            Trouble::Driver { .. } => "driver",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Trouble::NoDriver => {
                "on a machine with an NVIDIA GPU install its driver; start a container with \
                 --gpus all (Docker, Podman) or --nv (Apptainer); on a cluster ask for a GPU"
            }
            Trouble::Unreadable { .. } => {
                "install the package it belongs to again, for this processor"
            }
            Trouble::TooOld { .. } | Trouble::OldDriver { .. } => {
                "install a driver of CUDA 11 or newer (450 or above; 525 or above takes NVRTC 12)"
            }
            Trouble::Stub => "take the folder `stubs` of the CUDA toolkit out of LD_LIBRARY_PATH",
            Trouble::DriverMismatch => {
                "the driver was updated: restart the machine; in a container take the CUDA \
                 compatibility folder out of LD_LIBRARY_PATH"
            }
            Trouble::NotPermitted { .. } => {
                "join the group that owns it (often `video` or `render`), or ask whoever runs the \
                 machine; in a container pass the device on"
            }
            Trouble::Hidden { .. } => "unset CUDA_VISIBLE_DEVICES or set it to the number of a GPU",
            Trouble::NoDevice => {
                "see what `nvidia-smi -L` lists; in a container or a job ask for a GPU; one in MIG mode \
                 needs a slice (`nvidia-smi mig -lgi`)"
            }
            Trouble::NoSuchDevice { .. } => "numbers start at 0; `fitzroy verify` lists them",
            Trouble::Busy => {
                "wait for the other process, take another GPU, or have the compute mode set back \
                 (`nvidia-smi -c DEFAULT`)"
            }
            Trouble::NotReady => "wait until the driver's services run (fabric manager, MIG)",
            Trouble::NotStarted { .. } => {
                "a module of the driver may not be loaded: run `nvidia-smi` or `modprobe nvidia-uvm` as \
                 root, or restart; in a container pass on every /dev/nvidia*"
            }
            Trouble::Sharing { .. } => {
                "see that `nvidia-cuda-mps-control` runs for this user and has room for one more \
                 program, or do without: unset CUDA_MPS_PIPE_DIRECTORY"
            }
            Trouble::Compiler(trouble) => trouble.remedy(),
            Trouble::OutOfMemory { .. } => {
                "run fewer chains, free the GPU (`nvidia-smi` lists who uses it), or compute with \
                 ⟨device cpu⟩"
            }
            Trouble::TooManyBlocks => {
                "leave ⟨team⟩ out, or give each chain fewer threads or run fewer chains; a GPU that \
                 others use, too, has room for fewer"
            }
            Trouble::Watchdog => {
                "this GPU also serves a display, whose watchdog ends long kernels: take another \
                 one, or run without a display"
            }
            Trouble::Uncorrectable => {
                "the result cannot be trusted: reset or replace the GPU (`nvidia-smi -q -d ECC`)"
            }
            Trouble::Crashed { .. } => {
                "please report it, with the text that ⟨dump_cuda⟩ gives and what `fitzroy verify \
                 --conformance` says; ⟨device cpu⟩ works without the GPU"
            }
            Trouble::Driver { .. } => {
                "`nvidia-smi` and the system's log (`dmesg | grep -i nvrm`) may tell more; ⟨device cpu⟩ \
                 works without the GPU"
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        match self {
            Trouble::NoDriver => f.write_str("no CUDA driver was found (libcuda.so.1)"),
            Trouble::Unreadable { library, reason } => {
                write!(f, "{} cannot be opened: {reason}", library.display())
            }
            Trouble::TooOld { library, function } => {
                write!(f, "{} is too old: it has no {function}", library.display())
            }
            Trouble::OldDriver { version: (a, b) } => {
                write!(f, "the CUDA driver is too old: it serves CUDA {a}.{b}")
            }
            Trouble::Stub => {
                f.write_str("the libcuda.so.1 that was found is the toolkit's stub, not a driver")
            }
            Trouble::DriverMismatch => {
                f.write_str("the driver in the kernel and its libcuda.so.1 do not fit together")
            }
            Trouble::NotPermitted { file } => {
                write!(f, "{} may not be opened by this user", file.display())
            }
            Trouble::Hidden { visible } => {
                write!(
                    f,
                    "CUDA_VISIBLE_DEVICES is `{visible}`, which hides every GPU"
                )
            }
            Trouble::NoDevice => f.write_str("the CUDA driver sees no GPU"),
            Trouble::NoSuchDevice { asked, count } => {
                write!(f, "there is no cuda:{asked}; GPUs here: {count}")
            }
            Trouble::Busy => f.write_str(
                "the GPU is taken: another process has it to itself, or computing is prohibited",
            ),
            Trouble::NotReady => f.write_str("the CUDA driver is not ready yet"),
            Trouble::NotStarted { name, code } => {
                write!(f, "the CUDA driver does not start: {name} ({code})")
            }
            Trouble::Sharing { name } => write!(
                f,
                "MPS, which shares this GPU between programs, does not let this one in: {name}"
            ),
            Trouble::Compiler(trouble) => trouble.fmt(f),
            Trouble::OutOfMemory { needed, free } => {
                write!(f, "the GPU has too little memory")?;
                match free {
                    Some(free) => write!(
                        f,
                        ": {} MiB were needed, {} MiB are free",
                        mib(*needed),
                        mib(*free)
                    ),
                    None => Ok(()),
                }
            }
            Trouble::TooManyBlocks => f.write_str(
                "the GPU cannot run all blocks of all chains at the same time, as chains that are \
                 spread over multiprocessors need",
            ),
            Trouble::Watchdog => f.write_str("a kernel ran too long and was ended"),
            Trouble::Uncorrectable => f.write_str("the GPU found a memory error it cannot correct"),
            Trouble::Crashed { name, code } => {
                write!(f, "a kernel went wrong on the GPU: {name} ({code})")
            }
            Trouble::Driver { call, code, name } => write!(f, "{call} failed: {name} ({code})"),
        }
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Error {
        let message = format!("{trouble}; {}", trouble.remedy());
        Error::new(ErrorKind::Device, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each, with a word of its message and a word of its remedy.
    fn all() -> Vec<(Trouble, &'static str, &'static str)> {
        let of = |code| Trouble::of("cuCall", code, "CUDA_ERROR".into());
        vec![
            (Trouble::NoDriver, "libcuda.so.1", "--gpus all"),
            (
                Trouble::Unreadable {
                    library: "a.so".into(),
                    reason: "it is cut".into(),
                },
                "a.so cannot be opened: it is cut",
                "again",
            ),
            (
                Trouble::TooOld {
                    library: "a.so".into(),
                    function: "cuNew".into(),
                },
                "it has no cuNew",
                "450",
            ),
            (
                Trouble::OldDriver { version: (10, 2) },
                "it serves CUDA 10.2",
                "525",
            ),
            (of(34), "stub", "LD_LIBRARY_PATH"),
            (of(803), "do not fit together", "restart"),
            (of(804), "do not fit together", "restart"),
            (
                Trouble::NotPermitted {
                    file: "/dev/nvidia0".into(),
                },
                "/dev/nvidia0 may not be opened",
                "group",
            ),
            (
                Trouble::Hidden {
                    visible: "-1".into(),
                },
                "CUDA_VISIBLE_DEVICES is `-1`",
                "unset",
            ),
            (of(100), "sees no GPU", "nvidia-smi mig -lgi"),
            (
                Trouble::NoSuchDevice { asked: 3, count: 1 },
                "there is no cuda:3; GPUs here: 1",
                "start at 0",
            ),
            (of(46), "to itself", "nvidia-smi -c DEFAULT"),
            (of(802), "not ready", "MIG"),
            (
                Trouble::Compiler(CompilerTrouble::Missing {
                    rejected: vec!["b.so is version 13".into()],
                }),
                "(b.so is version 13)",
                "pip install nvidia-cuda-nvrtc-cu12",
            ),
            (
                Trouble::Compiler(CompilerTrouble::Refused {
                    log: "line 3".into(),
                }),
                "line 3",
                "report",
            ),
            (of(2), "too little memory", "fewer chains"),
            (
                Trouble::OutOfMemory {
                    needed: 3 << 20,
                    free: Some(1 << 20),
                },
                "3 MiB were needed, 1 MiB are free",
                "⟨device cpu⟩",
            ),
            (of(720), "at the same time", "⟨team⟩"),
            (of(702), "ran too long", "display"),
            (of(214), "cannot correct", "nvidia-smi -q -d ECC"),
            (of(220), "cannot correct", "nvidia-smi -q -d ECC"),
            (of(999), "cuCall failed: CUDA_ERROR (999)", "nvidia-smi"),
            (
                Trouble::of("cuInit", 999, "CUDA_ERROR_UNKNOWN".into()),
                "does not start: CUDA_ERROR_UNKNOWN (999)",
                "modprobe nvidia-uvm",
            ),
            (of(700), "went wrong on the GPU", "--conformance"),
            (of(719), "CUDA_ERROR (719)", "report"),
            (of(805), "MPS", "nvidia-cuda-mps-control"),
            (
                Trouble::Compiler(CompilerTrouble::NoBuiltins {
                    log: "it is not there".into(),
                }),
                "not complete: it is not there",
                "beside libnvrtc",
            ),
        ]
    }

    #[test]
    fn every_trouble_has_its_message_and_its_remedy() {
        let mut names = Vec::new();
        for (trouble, said, remedy) in all() {
            let whole = Error::from(trouble.clone()).to_string();
            assert!(whole.contains(said) && whole.contains(remedy), "{whole}");
            names.push(trouble.name());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 23, "one of each kind: {names:?}");
    }

    /// Three words in a row of each message stand in the table of the documentation.
    #[test]
    fn every_trouble_is_in_the_documentation() {
        let page = include_str!("../../../../docs/gpu.md");
        let known = |trouble: &Trouble| {
            let text = trouble.to_string();
            let words: Vec<&str> = text.split_whitespace().collect();
            words.windows(3).any(|w| page.contains(&w.join(" ")))
        };
        for (trouble, ..) in all() {
            let found = known(&trouble) || matches!(trouble, Trouble::Driver { .. });
            assert!(found, "docs/gpu.md does not speak of: {trouble}");
            let name = format!("`{}`", trouble.name());
            assert!(page.contains(&name), "docs/gpu.md has no {name}");
        }
    }

    #[test]
    fn an_absent_driver_is_told_from_one_that_cannot_be_opened() {
        // Whatever this machine has: never a panic, and without a driver this very name.
        if let Err(trouble) = super::super::Driver::open(&super::super::Places::default()) {
            assert_ne!(trouble.name(), "unreadable-library", "{trouble}");
        }
    }
}
