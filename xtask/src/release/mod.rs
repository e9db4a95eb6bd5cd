//! `cargo xtask release`: everything that is handed out, and each piece tried as its user would.

mod crates;
mod debian;
mod elf;
mod licences;
mod pages;
mod process;
mod sbom;
mod tools;
mod tree;
mod trial;
mod variant;
mod wheel;

use crate::tidy::versions;
use process::{output, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tools::Tools;
use tree::Tree;
pub(crate) use tree::walk;
use variant::{Build, Downloads, VARIANTS, Variant};

/// A failure, in words.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// What every step needs to know.
pub(crate) struct Release {
    /// The repository.
    root: PathBuf,
    /// Where artefacts go.
    out: PathBuf,
    /// Where everything else goes; kept between releases.
    work: PathBuf,
    /// The version.
    version: String,
    /// Seconds since 1970 of the commit: the time of every file in every archive.
    epoch: String,
    /// When it began.
    start: Instant,
}

/// What is asked for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// The folder for artefacts: for a whole release one that is empty or not there.
    out: Option<String>,
    /// The parts to make; none: all of them.
    only: Vec<String>,
}

/// The part that is no program: the crates as they are published.
const CRATES: &str = "crates";

impl Options {
    /// Reads the words of a command line; none where they are others.
    pub(crate) fn read(words: &[String]) -> Option<Options> {
        let mut options = Options::default();
        for pair in words.chunks(2) {
            match pair {
                [flag, folder] if flag == "--out" => options.out = Some(folder.clone()),
                [flag, parts] if flag == "--only" => {
                    options.only = parts.split(',').map(Into::into).collect();
                }
                _ => return None,
            }
        }
        Some(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// Refuses a part that is none.
    fn check(&self) -> Result<()> {
        let names = VARIANTS.iter().map(|variant| variant.name);
        let parts: Vec<&str> = std::iter::once(CRATES).chain(names).collect();
        match self
            .only
            .iter()
            .find(|only| !parts.contains(&only.as_str()))
        {
            Some(other) => Err(format!("no part is called {other}: {}", parts.join(", "))),
            None => Ok(()),
        }
    }
}

/// Makes a release. True if all that is asked for was made and works.
pub(crate) fn make(root: &Path, options: &Options) -> bool {
    let start = Instant::now();
    match prepared(root, options, start).and_then(|release| artefacts(&release, options)) {
        Ok(notes) => {
            println!(
                "\n==> released after {:.0} s",
                start.elapsed().as_secs_f64()
            );
            for note in notes {
                println!("{note}");
            }
            true
        }
        Err(error) => {
            eprintln!("release: {error}");
            false
        }
    }
}

fn prepared(root: &Path, options: &Options, start: Instant) -> Result<Release> {
    options.check()?;
    tools::require()?;
    let manifest = read(&root.join("Cargo.toml"))?;
    let version = versions::of_workspace(&manifest).ok_or("Cargo.toml has no version")?;
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(root);
    if !output(git)?.is_empty() {
        return Err("a release is made of a commit: commit the changes, or put them aside".into());
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    let epoch = output(git)?.trim().to_string();
    let target = target_folder(root)?;
    let out = match &options.out {
        Some(folder) => std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))?,
        None => target.join("dist").join(version),
    };
    let is_filled = fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some());
    if is_filled && options.only.is_empty() {
        return Err(format!(
            "{} is not empty: remove it, or name another folder with --out",
            out.display()
        ));
    }
    let work = target.join("release-work");
    for folder in [&out, &work] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok(Release {
        root: root.into(),
        out,
        work,
        version: version.into(),
        epoch,
        start,
    })
}

/// Where cargo builds.
fn target_folder(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
    cargo.current_dir(root);
    let said = output(cargo)?;
    let facts: serde_json::Value = serde_json::from_str(&said).map_err(|e| e.to_string())?;
    let folder = facts["target_directory"].as_str();
    Ok(folder
        .ok_or("cargo metadata names no target folder")?
        .into())
}

/// Builds and tries what is asked for. Gives a line for each artefact, and one for whatever is missing.
fn artefacts(release: &Release, options: &Options) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if options.wants(CRATES) {
        notes.push(crates::package(release)?);
    }
    let tools = Tools::prepared(&release.work)?;
    let third_party = licences::collect(release)?;
    // The manual pages of all are written by the first that runs here.
    let mut share = None;
    for (variant, triple) in buildable(options, &mut notes) {
        let build = variant.build(release, &tools, triple)?;
        let share = match &share {
            Some(there) => there,
            None => share.insert(pages::of(release, &build)?),
        };
        let tree = Tree::laid(release, &build, share, &third_party)?;
        notes.push(archive(release, &build, &tree)?);
        if let Some(architecture) = variant.debian {
            notes.push(debian::package(release, &build, &tree, architecture)?);
        }
        if variant.has_wheel {
            notes.push(wheel::make(release, &tools, &build, &third_party)?);
        }
        let seconds = release.start.elapsed().as_secs();
        println!("==> {} is made, after {seconds} s", variant.name);
    }
    notes.push(sbom::write_list(release)?);
    notes.push(sums(release)?);
    Ok(notes)
}

/// The variants that are wanted and whose standard library can be had, with its name; those for this processor come
/// first. Notes those that are left out.
fn buildable(options: &Options, notes: &mut Vec<String>) -> Vec<(&'static Variant, &'static str)> {
    let mut downloads = Downloads::Allowed;
    let mut found = Vec::new();
    for variant in VARIANTS.iter().filter(|v| options.wants(v.name)) {
        match variant.triple(&mut downloads) {
            Some(triple) => found.push((variant, triple)),
            None => notes.push(format!(
                "skipped  {}: the standard library for {} is not installed and cannot be had",
                variant.name,
                variant.triples.join(" or ")
            )),
        }
    }
    found.sort_by_key(|(_, triple)| !variant::runs_here(triple));
    found
}

/// A tar archive of the tree, unpacked and tried.
fn archive(release: &Release, build: &Build, tree: &Tree) -> Result<String> {
    let name = format!("{}.tar.gz", tree.name);
    let path = release.out.join(&name);
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", release.epoch));
    tar.args(["--use-compress-program=gzip -9n", "--create", "--file"]);
    tar.arg(&path).arg("--directory").arg(&tree.above);
    tar.arg(&tree.name);
    run(tar)?;
    let tried = trial::archive(release, build, &path, &tree.name)?;
    Ok(line(&path, &format!("{}; {tried}", build.needs())))
}

/// What the file with the checksums is called.
const SUMS: &str = "SHA256SUMS";

/// The checksums of everything else in the folder.
fn sums(release: &Release) -> Result<String> {
    let entries = fs::read_dir(&release.out).map_err(|e| e.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter(|name| name != SUMS).collect();
    names.sort();
    let mut command = Command::new("sha256sum");
    command.args(&names).current_dir(&release.out);
    let path = release.out.join(SUMS);
    write(&path, output(command)?.as_bytes())?;
    Ok(line(&path, &format!("of {} files", names.len())))
}

/// What is said of an artefact at the end.
fn line(path: &Path, words: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = fs::metadata(path).map_or(0, |facts| facts.len());
    format!("{name}  {:.1} MB  {words}", bytes as f64 / 1e6)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// An empty folder, whatever was there.
fn fresh(path: PathBuf) -> Result<PathBuf> {
    let said = |e: std::io::Error| format!("{}: {e}", path.display());
    if path.exists() {
        fs::remove_dir_all(&path).map_err(said)?;
    }
    fs::create_dir_all(&path).map_err(said)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_asked_for_by_name() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            Options::read(&words)
        };
        let all = read(&[]).unwrap();
        assert!(all.wants("crates") && all.wants("aarch64-linux") && all.check().is_ok());
        let some = read(&["--only", "crates,aarch64-linux", "--out", "a"]).unwrap();
        assert_eq!(some.out.as_deref(), Some("a"));
        assert!(some.wants("aarch64-linux") && !some.wants("x86_64-linux"));
        let wrong = read(&["--only", "wheel"]).unwrap().check().unwrap_err();
        assert!(
            wrong.starts_with("no part is called wheel: crates, x86_64-linux,"),
            "{wrong}"
        );
        assert_eq!(read(&["--only"]), None);
        assert_eq!(read(&["release"]), None);
    }
}
