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
}

/// Makes a release in `out`, a folder that is empty or not there. True if all of it was made and works.
pub(crate) fn make(root: &Path, out: Option<&str>) -> bool {
    let start = Instant::now();
    match prepared(root, out).and_then(|release| artefacts(&release)) {
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

fn prepared(root: &Path, out: Option<&str>) -> Result<Release> {
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
    let out = match out {
        Some(folder) => std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))?,
        None => target.join("dist").join(version),
    };
    if fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
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

/// Builds and tries everything. Gives a line for each artefact, and one for whatever is missing.
fn artefacts(release: &Release) -> Result<Vec<String>> {
    let mut notes = vec![crates::package(release)?];
    let tools = Tools::prepared(&release.work)?;
    let third_party = licences::collect(release)?;
    // The manual pages of all are written by the first that runs here.
    let mut pages = None;
    for (variant, triple) in buildable(&mut notes) {
        let build = variant.build(release, &tools, triple)?;
        let pages = match &pages {
            Some(there) => there,
            None if build.runs_here() => pages.insert(pages::write(release, &build.binary)?),
            None => return Err("no program can be built that runs on this machine".into()),
        };
        let tree = Tree::laid(release, &build, pages, &third_party)?;
        notes.push(archive(release, &build, &tree)?);
        if let Some(architecture) = variant.debian {
            notes.push(debian::package(release, &build, &tree, architecture)?);
        }
        if variant.has_wheel {
            notes.push(wheel::make(release, &tools, &build, &third_party)?);
        }
    }
    notes.push(sbom::write_list(release)?);
    notes.push(sums(release)?);
    Ok(notes)
}

/// The variants whose standard library can be had, with its name; those for this processor come first. Notes those
/// that are left out.
fn buildable(notes: &mut Vec<String>) -> Vec<(&'static Variant, &'static str)> {
    let mut downloads = Downloads::Allowed;
    let mut found = Vec::new();
    for variant in &VARIANTS {
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

/// SHA256SUMS of everything in the folder.
fn sums(release: &Release) -> Result<String> {
    let entries = fs::read_dir(&release.out).map_err(|e| e.to_string())?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut command = Command::new("sha256sum");
    command.args(&names).current_dir(&release.out);
    let path = release.out.join("SHA256SUMS");
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
