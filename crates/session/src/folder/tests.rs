//! What may be written to, and what must stay as it is.

use super::*;
use crate::face::silent;

/// A folder of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fitzroy-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn open(&self, out: Option<&str>, overwrite: bool) -> Result<Folder> {
        Folder::open(
            &self.0,
            out.map(Path::new),
            "eight-schools",
            overwrite,
            &silent(),
        )
    }

    /// A finished run in `name`.
    fn finished(&self, name: &str) {
        let mut folder = self.open(Some(name), false).unwrap();
        fs::write(folder.file("trace.nc"), b"old").unwrap();
        fs::write(folder.file("report.html"), b"old").unwrap();
        folder.finish().unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn without_a_name_folders_are_counted() {
    let scratch = Scratch::new("counted");
    for n in 1..=3 {
        let mut folder = scratch.open(None, false).unwrap();
        assert_eq!(folder.path(), scratch.0.join(format!("eight-schools-{n}")));
        folder.file("trace.nc");
    }
}

#[test]
fn an_empty_or_missing_folder_is_used() {
    let scratch = Scratch::new("empty");
    fs::create_dir(scratch.0.join("here")).unwrap();
    for name in ["here", "deep/er/still"] {
        let mut folder = scratch.open(Some(name), false).unwrap();
        folder.file("trace.nc");
        assert!(scratch.0.join(name).join(MARKER).is_file());
    }
}

#[test]
fn a_folder_with_something_in_it_is_refused() {
    let scratch = Scratch::new("refused");
    scratch.finished("run");
    let error = scratch.open(Some("run"), false).unwrap_err().to_string();
    assert!(
        error.contains("⟨out run⟩") && error.contains("⟨overwrite⟩"),
        "{error}"
    );
    assert_eq!(fs::read(scratch.0.join("run/trace.nc")).unwrap(), b"old");
    // A command that has no such flag does not speak of it.
    let out = Some(Path::new("run"));
    let error = Folder::open(&scratch.0, out, "run", None, &silent()).unwrap_err();
    let error = error.to_string();
    assert!(error.ends_with("choose another"), "{error}");
}

#[test]
fn a_run_of_ours_is_replaced_and_its_old_files_go_last() {
    let scratch = Scratch::new("replaced");
    scratch.finished("run");
    let mut folder = scratch.open(Some("run"), true).unwrap();
    let old = scratch.0.join("run/report.html");
    fs::write(folder.file("trace.nc"), b"new").unwrap();
    assert!(old.exists());
    folder.finish().unwrap();
    assert!(!old.exists());
    assert_eq!(fs::read(scratch.0.join("run/trace.nc")).unwrap(), b"new");
}

#[test]
fn overwrite_never_touches_anything_else() {
    let scratch = Scratch::new("foreign");
    scratch.finished("run");
    fs::write(scratch.0.join("run/thesis.tex"), b"dear").unwrap();
    let error = scratch.open(Some("run"), true).unwrap_err().to_string();
    assert!(error.contains("thesis.tex"), "{error}");
    assert_eq!(fs::read(scratch.0.join("run/trace.nc")).unwrap(), b"old");

    fs::create_dir(scratch.0.join("other")).unwrap();
    fs::write(scratch.0.join("other/trace.nc"), b"theirs").unwrap();
    let error = scratch.open(Some("other"), true).unwrap_err().to_string();
    assert!(error.contains("run.json"), "{error}");
}

#[test]
fn a_run_that_fails_before_its_first_result_leaves_nothing() {
    let scratch = Scratch::new("nothing");
    drop(scratch.open(Some("run"), false).unwrap());
    drop(scratch.open(None, false).unwrap());
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);

    scratch.finished("old");
    drop(scratch.open(Some("old"), true).unwrap());
    assert_eq!(fs::read_dir(scratch.0.join("old")).unwrap().count(), 3);
}

#[test]
fn an_unwritable_place_is_named() {
    let scratch = Scratch::new("unwritable");
    fs::write(scratch.0.join("file"), b"").unwrap();
    for out in ["file", "file/below"] {
        let error = scratch.open(Some(out), false).unwrap_err().to_string();
        assert!(error.contains(out), "{error}");
    }
}
