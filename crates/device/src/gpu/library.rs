//! Libraries that are opened while the program runs, and tables of their functions.

use super::trouble::Trouble;
use libloading::Library;
use std::io::Read;
use std::path::Path;

/// Whether this program has the C library inside. One that opens another library would bring a second C library
/// into the process, of whatever version, and may crash.
pub(crate) const IS_STATIC: bool = cfg!(all(unix, target_feature = "crt-static"));
/// What is said where such a program would have to.
pub(crate) const STATIC: &str = "this program is linked statically and opens no libraries; take the one that is not called static";

/// Opens a library. An absolute path needs no LD_LIBRARY_PATH.
pub(super) fn open(path: &Path) -> Result<Library, Trouble> {
    if IS_STATIC {
        return Err(Trouble::Unreadable {
            library: path.to_path_buf(),
            reason: STATIC.into(),
        });
    }
    if is_cut(path) {
        return Err(Trouble::Unreadable {
            library: path.to_path_buf(),
            reason: "the file is cut short".into(),
        });
    }
    // SAFETY: only the driver's and the compiler's libraries are opened, whose initialisers are
    // those that any program using CUDA runs.
    unsafe { Library::new(path) }.map_err(|error| {
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            reason = inner.to_string();
            source = inner.source();
        }
        // The loader says the path once more.
        let own = format!("{}: ", path.display());
        Trouble::Unreadable {
            library: path.to_path_buf(),
            reason: reason.strip_prefix(&own).unwrap_or(&reason).into(),
        }
    })
}

/// Bytes in which a library's list of segments stands.
const HEADERS: u64 = 1 << 16;

/// Whether a file is an ELF library whose segments reach beyond its end. The system's loader would
/// end the whole process with a bus error.
pub(crate) fn is_cut(path: &Path) -> bool {
    // What cannot be read is a bare name, or for the loader to complain about.
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    let whole = file.metadata().map_or(0, |facts| facts.len());
    let mut bytes = Vec::new();
    if file.take(HEADERS).read_to_end(&mut bytes).is_err() {
        return false;
    }
    let number = |at: usize, len: usize| -> Option<u64> {
        let part = bytes.get(at..at + len)?;
        Some(part.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let segments = || -> Option<bool> {
        let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        for k in 0..count {
            let at = usize::try_from(first + k * size).ok()?;
            let is_loaded = number(at, 4)? == 1;
            let end = number(at + 8, 8)?.checked_add(number(at + 32, 8)?)?;
            if is_loaded && end > whole {
                return Some(true);
            }
        }
        Some(false)
    };
    segments().unwrap_or(true)
}

/// Declares a struct of functions of a library, all of which return a status of 32 bits.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident: $($field:ident = $symbol:literal($($argument:ty),*);)*) => {
        $(#[$doc])*
        pub(super) struct $table {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> i32,)*
            /// Keeps the functions there.
            _library: libloading::Library,
        }

        impl $table {
            /// Finds every function.
            pub(super) fn of(
                library: libloading::Library,
                path: &std::path::Path,
            ) -> std::result::Result<Self, $crate::gpu::Trouble> {
                $(
                    // SAFETY: the type is that of the function's documentation.
                    let $field = unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> i32>($symbol.as_bytes())
                    };
                    let $field = *$field.map_err(|_| $crate::gpu::Trouble::TooOld {
                        library: path.to_path_buf(),
                        function: $symbol.into(),
                    })?;
                )*
                Ok($table { $($field,)* _library: library })
            }
        }
    };
}
pub(super) use functions;
