//! For which machines the program is built, and how it is linked.

use super::elf::{self, Elf};
use super::process::{output, run};
use super::tools::Tools;
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
        let target = release.work.join(self.name);
        let mut cargo = tools.cargo();
        let zig = self.linking != Linking::Static || triple.ends_with("musl");
        cargo.arg(if zig { "zigbuild" } else { "build" });
        cargo.args([
            "--release",
            "--locked",
            "-p",
            "fitzroy-cli",
            "--bin",
            "fitzroy",
        ]);
        let named = match self.linking {
            Linking::Glibc(version) => format!("{triple}.{version}"),
            Linking::Static => triple.into(),
        };
        cargo
            .args(["--target", &named])
            .arg("--target-dir")
            .arg(&target);
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.flags(release));
        cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        cargo.current_dir(&release.root);
        run(cargo)?;
        let binary = target.join(triple).join("release").join("fitzroy");
        let elf = elf::inspect(&binary)?;
        self.check(&elf)?;
        Ok(Build {
            variant: self,
            triple,
            binary,
            elf,
        })
    }

    /// Flags of the compiler: no path of this machine stands in the program.
    pub(super) fn flags(&self, release: &Release) -> String {
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
    /// Whether this machine can run it.
    pub(super) fn runs_here(&self) -> bool {
        runs_here(self.triple)
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
