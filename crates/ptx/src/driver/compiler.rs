//! NVRTC's functions as C has them: handed on to the real one, which is asked for PTX instead of code.
//!
//! `FITZROY_PTX_NVRTC` is the real library. This serves to try what a GPU of every architecture would run; a
//! program given a GPU that is newer than its compiler asks for PTX by itself.

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

static REAL: OnceLock<Option<Library>> = OnceLock::new();

/// A function of the real library.
fn real<T: Copy>(name: &CStr) -> Option<T> {
    let library = REAL.get_or_init(|| {
        let path = std::env::var_os("FITZROY_PTX_NVRTC")?;
        // SAFETY: it is NVIDIA's own library, named by whoever runs the test.
        unsafe { Library::new(path) }.ok()
    });
    // SAFETY: the callers below name types of the function's documentation.
    let symbol = unsafe { library.as_ref()?.get::<T>(name.to_bytes_with_nul()) };
    symbol.ok().map(|s| *s)
}

/// Hands a call on; a missing library is an internal error of the compiler.
macro_rules! handed_on {
    ($($name:ident = $real:literal($($argument:ident: $t:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $t),*) -> i32 {
            match real::<unsafe extern "C" fn($($t),*) -> i32>($real) {
                // SAFETY: arguments are those of the caller, for the same function.
                Some(function) => unsafe { function($($argument),*) },
                None => 11,
            }
        }
    )*};
}

handed_on! {
    nvrtcVersion = c"nvrtcVersion"(major: *mut c_int, minor: *mut c_int);
    nvrtcGetNumSupportedArchs = c"nvrtcGetNumSupportedArchs"(n: *mut c_int);
    nvrtcGetSupportedArchs = c"nvrtcGetSupportedArchs"(archs: *mut c_int);
    nvrtcCreateProgram = c"nvrtcCreateProgram"(
        program: *mut *mut c_void, text: *const c_char, name: *const c_char, n: c_int,
        headers: *const *const c_char, names: *const *const c_char
    );
    nvrtcDestroyProgram = c"nvrtcDestroyProgram"(program: *mut *mut c_void);
    nvrtcGetCUBINSize = c"nvrtcGetPTXSize"(program: *mut c_void, n: *mut usize);
    nvrtcGetCUBIN = c"nvrtcGetPTX"(program: *mut c_void, to: *mut c_char);
    nvrtcGetPTXSize = c"nvrtcGetPTXSize"(program: *mut c_void, n: *mut usize);
    nvrtcGetPTX = c"nvrtcGetPTX"(program: *mut c_void, to: *mut c_char);
    nvrtcGetProgramLogSize = c"nvrtcGetProgramLogSize"(program: *mut c_void, n: *mut usize);
    nvrtcGetProgramLog = c"nvrtcGetProgramLog"(program: *mut c_void, to: *mut c_char);
}

type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> i32;

#[unsafe(no_mangle)]
extern "C" fn nvrtcCompileProgram(
    program: *mut c_void,
    n: c_int,
    options: *const *const c_char,
) -> i32 {
    let Some(compile) = real::<Compile>(c"nvrtcCompileProgram") else {
        return 11;
    };
    let mut changed = Vec::new();
    for k in 0..n.max(0) as usize {
        // SAFETY: there are so many options, each of which ends with a zero byte.
        let option = unsafe { CStr::from_ptr(*options.add(k)) }.to_string_lossy();
        // Nobody assembles, so there is nothing to be said about it.
        if !option.contains("ptxas") {
            let option = option.replace("=sm_", "=compute_");
            changed.push(CString::new(option).unwrap_or_default());
        }
    }
    let pointers: Vec<*const c_char> = changed.iter().map(|o| o.as_ptr()).collect();
    // SAFETY: the program is the caller's, and the options live until the call is over.
    unsafe { compile(program, pointers.len() as c_int, pointers.as_ptr()) }
}
