//! For which machines the program is built, and how it is linked.

use super::elf::{self, Elf};
use super::process::{output, run};
use super::tools::{Tools, found};
use super::{Release, Result};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One program that is handed out.
pub(super) struct Variant {
    /// Its part of file names.
    pub(super) name: &'static str,
    /// Targets of Rust that give it, the best first.
    pub(super) triples: &'static [&'static str],
    /// How it is linked.
    linking: Linking,
    /// What Debian calls the processor, if there is a Debian package.
    pub(super) debian: Option<&'static str>,
    /// Whether there is a wheel for Python.
    pub(super) has_wheel: bool,
}

/// How a program finds the C library.
#[derive(Clone, Copy, PartialEq)]
enum Linking {
    /// The system's, this version or a newer one.
    Glibc(&'static str),
    /// It is inside: for any Linux, without GPUs, whose driver is a library.
    Static,
}

/// The oldest glibc of systems that are still in use: that of CentOS 7, and of Rust itself.
pub(super) const GLIBC: &str = "2.17";

pub(super) const VARIANTS: [Variant; 4] = [
    Variant {
        name: "x86_64-linux",
        triples: &["x86_64-unknown-linux-gnu"],
        linking: Linking::Glibc(GLIBC),
        debian: Some("amd64"),
        has_wheel: true,
    },
    Variant {
        name: "x86_64-linux-static",
        triples: &["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"],
        linking: Linking::Static,
        debian: None,
        has_wheel: false,
    },
    Variant {
        name: "aarch64-linux",
        triples: &["aarch64-unknown-linux-gnu"],
        linking: Linking::Glibc(GLIBC),
        debian: Some("arm64"),
        has_wheel: true,
    },
    Variant {
        name: "aarch64-linux-static",
        triples: &["aarch64-unknown-linux-musl"],
        linking: Linking::Static,
        debian: None,
        has_wheel: false,
    },
];

/// Whether standard libraries may still be asked for; one that cannot be had ends it.
#[derive(PartialEq)]
pub(super) enum Downloads {
    Allowed,
    Given,
}

/// What runs a program on this machine.
pub(super) enum Runner {
    Processor,
    /// The path of an emulator.
    Emulator(PathBuf),
    None,
}

/// A program that was built.
pub(super) struct Build {
    pub(super) variant: &'static Variant,
    /// The target of Rust that it was built for.
    pub(super) triple: &'static str,
    pub(super) binary: PathBuf,
    /// What the file says of itself.
    pub(super) elf: Elf,
}

impl Variant {
    /// The target to build for: the first whose standard library is installed, or can be.
    pub(super) fn triple(&self, downloads: &mut Downloads) -> Option<&'static str> {
        let installed = |t: &&&str| has_library(t);
        if let Some(triple) = self.triples.iter().find(installed) {
            return Some(triple);
        }
        if *downloads == Downloads::Given {
            return None;
        }
        let mut add = Command::new("timeout");
        add.args(["60", "rustup", "target", "add", self.triples[0]]);
        let added = add.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !added.is_ok_and(|status| status.success()) {
            *downloads = Downloads::Given;
        }
        self.triples.iter().copied().find(|t| has_library(t))
    }

    /// Builds the program.
    pub(super) fn build(
        &'static self,
        release: &Release,
        tools: &Tools,
        triple: &'static str,
    ) -> Result<Build> {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--locked", "--target", triple]);
        cargo.args(["-p", "fitzroy-cli", "--bin", "fitzroy"]);
        if self.has_wheel {
            // Together with what the wheel needs, whose crates would be compiled again for its features.
            cargo.args(["-p", "fitzroy-python", "--lib"]);
        }
        self.prepare(&mut cargo, release, tools, triple)?;
        cargo.current_dir(&release.root);
        run(cargo)?;
        let folder = target_folder(release).join(triple).join("release");
        let binary = folder.join("fitzroy");
        let elf = elf::inspect(&binary)?;
        self.check(&elf)?;
        Ok(Build {
            variant: self,
            triple,
            binary,
            elf,
        })
    }

    /// Tells a command that calls cargo what it needs to know, the same for the program and for the wheel.
    pub(super) fn prepare(
        &self,
        command: &mut Command,
        release: &Release,
        tools: &Tools,
        triple: &str,
    ) -> Result<()> {
        command.env("CARGO_TARGET_DIR", target_folder(release));
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags(release));
        command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        // Zig has the C library's symbols of every version, and musl.
        let zig = triple.replace("-unknown", "");
        let zig = match self.linking {
            Linking::Glibc(version) => format!("{zig}.{version}"),
            Linking::Static if triple.ends_with("musl") => zig,
            Linking::Static => return Ok(()),
        };
        let name = triple.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{name}_LINKER"), tools.linker(&zig)?);
        Ok(())
    }

    /// Flags of the compiler: no path of this machine stands in the program.
    fn flags(&self, release: &Release) -> String {
        let home = std::env::var("HOME").unwrap_or_default();
        let cargo = std::env::var("CARGO_HOME").unwrap_or(format!("{home}/.cargo"));
        let mut flags = vec![
            format!("--remap-path-prefix={}=fitzroy", release.root.display()),
            format!("--remap-path-prefix={cargo}=cargo"),
        ];
        if self.linking == Linking::Static {
            flags.extend(["-C".into(), "target-feature=+crt-static".into()]);
        }
        flags.join("\x1f")
    }

    fn check(&self, elf: &Elf) -> Result<()> {
        match self.linking {
            Linking::Static if !elf.needed.is_empty() => Err(format!(
                "{}: static, and yet it needs {}",
                self.name,
                elf.needed.join(", ")
            )),
            Linking::Glibc(version) if elf::number(&elf.glibc) > elf::number(version) => {
                Err(format!(
                    "{}: it needs glibc {}, newer than {version}",
                    self.name, elf.glibc
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Build {
    /// What runs it on this machine.
    pub(super) fn runner(&self) -> Runner {
        if runs_here(self.triple) {
            return Runner::Processor;
        }
        match found(&self.emulator()) {
            Some(path) => Runner::Emulator(path),
            None => Runner::None,
        }
    }

    /// Whether this processor runs it.
    pub(super) fn runs_here(&self) -> bool {
        matches!(self.runner(), Runner::Processor)
    }

    /// The processor it is built for, as Rust and QEMU call it.
    pub(super) fn architecture(&self) -> &'static str {
        self.triple.split('-').next().unwrap_or_default()
    }

    /// The program that runs it elsewhere. It must be static, for it runs in a root without libraries.
    pub(super) fn emulator(&self) -> String {
        format!("qemu-{}-static", self.architecture())
    }

    /// What a machine must have, in words.
    pub(super) fn needs(&self) -> String {
        match self.elf.needed.is_empty() {
            true => "static: needs no library".into(),
            false => format!("needs glibc {} or newer", self.elf.glibc),
        }
    }
}

/// Whether this machine can run what is built for a target.
pub(super) fn runs_here(triple: &str) -> bool {
    triple.starts_with(std::env::consts::ARCH) && cfg!(target_os = "linux")
}

/// Where all are built: what runs in the compiler is then compiled once.
fn target_folder(release: &Release) -> PathBuf {
    release.work.join("build")
}

/// Whether the standard library for a target is there.
fn has_library(triple: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", triple]);
    let Ok(folder) = output(rustc) else {
        return false;
    };
    let entries = fs::read_dir(folder.trim()).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("libstd-"))
}
