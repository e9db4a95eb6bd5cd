//! A package for Debian and Ubuntu.

use super::process::{output, run};
use super::tree::{Tree, walk};
use super::variant::Build;
use super::{Release, Result, fresh, line, read, write};
use std::path::Path;
use std::process::Command;

/// Packages that have the libraries of a program linked against glibc.
const LIBRARIES: [(&str, &str); 2] = [
    ("libgcc_s.so.1", "libgcc-s1"),
    ("libstdc++.so.6", "libstdc++6"),
];

/// Makes the package, and unpacks it again to see that everything is there.
pub(super) fn package(
    release: &Release,
    build: &Build,
    tree: &Tree,
    architecture: &str,
) -> Result<String> {
    let root = fresh(release.work.join("debian").join(build.variant.name))?;
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(tree.folder()).arg(root.join("usr"));
    run(copy)?;
    let doc = root.join("usr/share/doc/fitzroy");
    write(&doc.join("copyright"), copyright(release)?.as_bytes())?;
    let folder = fresh(root.join("DEBIAN"))?;
    let control = control(release, build, architecture, size(&root)?);
    write(&folder.join("control"), control.as_bytes())?;
    write(&folder.join("md5sums"), sums(&root)?.as_bytes())?;
    let name = format!("fitzroy_{}_{architecture}.deb", release.version);
    let path = release.out.join(name);
    let mut make = Command::new("dpkg-deb");
    make.args(["--root-owner-group", "-Zxz", "--build"]);
    make.arg(&root)
        .arg(&path)
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    run(make)?;
    unpacked(release, &path, tree)?;
    Ok(line(
        &path,
        "unpacked: every file is there, the program is the same",
    ))
}

fn control(release: &Release, build: &Build, architecture: &str, kib: u64) -> String {
    let mut depends = vec![format!("libc6 (>= {})", build.elf.glibc)];
    for (library, package) in LIBRARIES {
        if build.elf.needed.iter().any(|needed| needed == library) {
            depends.push(package.into());
        }
    }
    format!(
        "Package: fitzroy\n\
         Version: {}\n\
         Architecture: {architecture}\n\
         Maintainer: The Fitzroy developers\n\
         Installed-Size: {kib}\n\
         Depends: {}\n\
         Section: science\n\
         Priority: optional\n\
         Description: fits models to data\n \
         Samples hierarchical models that are written in a few lines of text, fits\n \
         curves by least squares, and says whether the results can be trusted.\n",
        release.version,
        depends.join(", ")
    )
}

/// The licences in the form that Debian asks for.
fn copyright(release: &Release) -> Result<String> {
    let mit = read(&release.root.join("LICENSE-MIT"))?;
    let indented: Vec<String> = mit
        .lines()
        .map(|l| {
            if l.is_empty() {
                " .".into()
            } else {
                format!(" {l}")
            }
        })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: Fitzroy\n\n\
         Files: *\n\
         Copyright: 2026 The Fitzroy developers\n\
         License: MIT or Apache-2.0\n\
         Comment: the crates that the program links: THIRD-PARTY-LICENSES.txt; the font in its\n \
         reports: NOTICE\n\n\
         License: MIT\n{}\n\n\
         License: Apache-2.0\n On Debian systems: /usr/share/common-licenses/Apache-2.0\n",
        indented.join("\n")
    ))
}

/// KiB of all files.
fn size(root: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut add = |path: &str| bytes += root.join(path).metadata().map_or(0, |f| f.len());
    walk(root, "", &mut add)?;
    Ok(bytes.div_ceil(1024))
}

/// MD5 of every file below `usr`, as dpkg keeps them.
fn sums(root: &Path) -> Result<String> {
    let mut paths = Vec::new();
    walk(&root.join("usr"), "usr/", &mut |path| {
        paths.push(path.to_string())
    })?;
    paths.sort();
    let mut md5sum = Command::new("md5sum");
    md5sum.args(paths).current_dir(root);
    output(md5sum)
}

/// Unpacks the package and compares it with the tree it was made of.
fn unpacked(release: &Release, package: &Path, tree: &Tree) -> Result<()> {
    let folder = fresh(release.work.join("unpacked"))?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("-x").arg(package).arg(&folder);
    run(unpack)?;
    for file in tree.files()? {
        let bytes =
            |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        if bytes(&folder.join("usr").join(&file))? != bytes(&tree.folder().join(&file))? {
            return Err(format!("{}: {file} is another file", package.display()));
        }
    }
    let mut field = Command::new("dpkg-deb");
    field.arg("-f").arg(package).arg("Version");
    match output(field)?.trim() == release.version {
        true => Ok(()),
        false => Err(format!("{} has another version", package.display())),
    }
}
