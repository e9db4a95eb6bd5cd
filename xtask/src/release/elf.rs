//! What a program or library needs of a system, as `readelf` tells it.

use super::Result;
use super::process::output;
use std::path::Path;
use std::process::Command;

/// What stands in the tables of a file.
pub(super) struct Elf {
    /// The newest version of glibc that a symbol asks for; empty without one.
    pub(super) glibc: String,
    /// Names of the libraries that must be there.
    pub(super) needed: Vec<String>,
}

/// Reads the tables of a file.
pub(super) fn inspect(path: &Path) -> Result<Elf> {
    let mut readelf = Command::new("readelf");
    readelf
        .args(["--wide", "--version-info", "--dynamic"])
        .arg(path);
    readelf.env("LC_ALL", "C");
    Ok(parsed(&output(readelf)?))
}

fn parsed(said: &str) -> Elf {
    let versions = said.split("GLIBC_").skip(1).map(|rest| {
        let numeric = |c: char| c.is_ascii_digit() || c == '.';
        rest.split(|c| !numeric(c)).next().unwrap_or_default()
    });
    let needed = said.lines().filter(|line| line.contains("(NEEDED)"));
    let name = |line: &str| {
        let inside = line.split_once('[')?.1.split_once(']')?.0;
        Some(inside.to_string())
    };
    Elf {
        glibc: versions
            .max_by_key(|v| number(v))
            .unwrap_or_default()
            .into(),
        needed: needed.filter_map(name).collect(),
    }
}

/// A version as numbers, for comparing.
pub(super) fn number(version: &str) -> Vec<u32> {
    let parts = version.split('.');
    parts.map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found_by_number_and_not_by_letter() {
        let said = " 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]\n\
            0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]\n\
            0x0010:   Name: GLIBC_2.9  Flags: none  Version: 3\n\
            0x0020:   Name: GLIBC_2.2.5  Flags: none  Version: 2\n\
            0x0030:   Name: GLIBC_2.17  Flags: none  Version: 4\n";
        let elf = parsed(said);
        assert_eq!(elf.glibc, "2.17");
        assert_eq!(elf.needed, ["libm.so.6", "libc.so.6"]);
        assert!(
            parsed("There is no dynamic section in this file.")
                .needed
                .is_empty()
        );
    }
}
