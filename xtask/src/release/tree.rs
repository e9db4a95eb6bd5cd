//! The files of an installation, as they lie below `/usr` or `~/.local`.

use super::variant::Build;
use super::{Release, Result, fresh, write};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder with `bin` and `share`.
pub(super) struct Tree {
    /// Its name.
    pub(super) name: String,
    /// The folder that it lies in.
    pub(super) above: PathBuf,
}

/// Files of the repository that come along as documentation.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "NOTICE",
];

/// What third parties' licences are called.
pub(super) const THIRD_PARTY: &str = "THIRD-PARTY-LICENSES.txt";

impl Tree {
    /// Lays the files of one build.
    pub(super) fn laid(
        release: &Release,
        build: &Build,
        pages: &Path,
        third_party: &str,
    ) -> Result<Tree> {
        let above = fresh(release.work.join("trees").join(build.variant.name))?;
        let name = format!("fitzroy-{}-{}", release.version, build.variant.name);
        let tree = Tree { name, above };
        tree.copy(&build.binary, "bin/fitzroy", 0o755)?;
        tree.copy_folder(pages, "share")?;
        let doc = "share/doc/fitzroy";
        for file in DOCUMENTS {
            tree.copy(&release.root.join(file), &format!("{doc}/{file}"), 0o644)?;
        }
        tree.copy_folder(&release.root.join("docs"), &format!("{doc}/docs"))?;
        tree.copy_folder(&release.root.join("models"), &format!("{doc}/models"))?;
        write(
            &tree.folder().join(doc).join(THIRD_PARTY),
            third_party.as_bytes(),
        )?;
        Ok(tree)
    }

    /// Where it lies.
    pub(super) fn folder(&self) -> PathBuf {
        self.above.join(&self.name)
    }

    /// Paths of all files below it, sorted.
    pub(super) fn files(&self) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        walk(&self.folder(), "", &mut |path| paths.push(path.to_string()))?;
        paths.sort();
        Ok(paths)
    }

    fn copy(&self, from: &Path, to: &str, mode: u32) -> Result<()> {
        let to = self.folder().join(to);
        let said = |e: std::io::Error| format!("{} to {}: {e}", from.display(), to.display());
        let parent = to.parent().expect("it lies in the tree");
        fs::create_dir_all(parent).map_err(said)?;
        fs::copy(from, &to).map_err(said)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(said)
    }

    fn copy_folder(&self, from: &Path, to: &str) -> Result<()> {
        let mut paths = Vec::new();
        walk(from, "", &mut |path| paths.push(path.to_string()))?;
        let copies = paths.iter();
        let mut copies = copies.map(|p| self.copy(&from.join(p), &format!("{to}/{p}"), 0o644));
        copies.try_for_each(|copied| copied)
    }
}

/// Calls `each` with the path of every file below `folder`.
pub(crate) fn walk(folder: &Path, before: &str, each: &mut dyn FnMut(&str)) -> Result<()> {
    let said = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        let path = format!("{before}{}", entry.file_name().to_string_lossy());
        match entry.file_type().map_err(said)?.is_dir() {
            true => walk(&entry.path(), &format!("{path}/"), each)?,
            false => each(&path),
        }
    }
    Ok(())
}
