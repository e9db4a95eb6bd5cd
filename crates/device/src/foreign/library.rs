//! Libraries of other people: opened, and asked for what they have.

use crate::Fnv;
use crate::gpu::{IS_STATIC, STATIC, is_cut};
use fitzroy_graph::{Error, ErrorKind, Result};
use libloading::Library as Opened;
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A library that is open as long as this lives.
pub struct Library {
    path: PathBuf,
    opened: Opened,
}

impl Library {
    /// Opens the library at `path`; its initialisers run.
    ///
    /// # Errors
    /// There is no such file, or the loader does not take it.
    pub fn open(path: &Path) -> Result<Library> {
        let io = |why: String| Error::new(ErrorKind::Io, format!("{}: {why}", path.display()));
        // The loader looks elsewhere for a bare name, and its words for a missing file are long.
        let path = path.canonicalize().map_err(|error| io(error.to_string()))?;
        if path.is_dir() {
            return Err(io("this is a folder, not a library".into()));
        }
        if is_cut(&path) {
            return Err(io("the file is cut short".into()));
        }
        if IS_STATIC {
            return Err(io(STATIC.into()));
        }
        // SAFETY: whoever names the library vouches for its initialisers.
        let opened = unsafe { Opened::new(&path) };
        let opened = opened.map_err(|error| {
            let why =
                std::error::Error::source(&error).map_or(error.to_string(), |e| e.to_string());
            let own = format!("{}: ", path.display());
            let why = why.strip_prefix(&own).unwrap_or(&why);
            io(format!("this is not a library that can be loaded ({why})"))
        })?;
        Ok(Library { path, opened })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has something of this name.
    pub fn has(&self, name: &str) -> bool {
        self.address(name).is_some()
    }

    /// The address of `name`.
    fn address(&self, name: &str) -> Option<*const ()> {
        // SAFETY: nothing is read or called here; a pointer is what every symbol is.
        let found = unsafe { self.opened.get::<*const ()>(name.as_bytes()) };
        found.ok().map(|symbol| *symbol).filter(|at| !at.is_null())
    }

    /// The function `name` of type `F`.
    ///
    /// # Errors
    /// There is none.
    ///
    /// # Safety
    /// `F` is a function pointer of the type that the library gives this name, and is not called once the
    /// library is closed.
    pub(super) unsafe fn function<F: Copy>(&self, name: &str) -> Result<F> {
        assert_eq!(
            size_of::<F>(),
            size_of::<*const ()>(),
            "F is a function pointer"
        );
        let at = self.address(name).ok_or_else(|| {
            Error::usage(format!(
                "{}: the library has no function `{name}`",
                self.path.display()
            ))
        })?;
        // SAFETY: both are pointers, and `at` is the function that the caller says it is.
        Ok(unsafe { std::mem::transmute_copy::<*const (), F>(&at) })
    }
}

/// The text at `at`; empty for none.
///
/// # Safety
/// `at` is null or points to text that ends with a zero byte.
pub(super) unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

/// A number that is another for another content of the file, see [`Fnv`].
///
/// # Errors
/// It cannot be read.
pub fn hash_of_file(path: &Path) -> Result<u64> {
    let io =
        |error: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(io)?;
    let (mut sum, mut block) = (Fnv::default(), vec![0; 1 << 16]);
    loop {
        let n = file.read(&mut block).map_err(io)?;
        if n == 0 {
            return Ok(sum.0);
        }
        sum.bytes(&block[..n]);
    }
}
