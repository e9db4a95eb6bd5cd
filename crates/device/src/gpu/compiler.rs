//! NVRTC, the compiler of kernels: where it is looked for, which one will do, and what it makes.

use super::library::{functions, open};
use super::trouble::{CompilerTrouble, Trouble};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// Where libraries and the cache may lie. Found out by the program, for the library reads no
/// environment.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The driver's library, instead of the usual one.
    pub driver: Option<PathBuf>,
    /// The compiler's library, or a folder with it, that the user named; nothing else is tried.
    pub compiler: Option<PathBuf>,
    /// Folders to look in first: beside the program, the libraries of `CUDA_HOME`.
    pub folders: Vec<PathBuf>,
    /// Folders of Python environments.
    pub python: Vec<PathBuf>,
    /// Where compiled kernels are kept; none keeps none.
    pub cache: Option<PathBuf>,
    /// `CUDA_VISIBLE_DEVICES`, where it is set.
    pub visible: Option<String>,
}

/// Names of the library, the preferred one first.
const NAMES: [&str; 3] = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so.11.2"];

/// Where its Python wheels put it in `nvidia`: up to 12, and from 13 on.
const WHEELS: [&str; 2] = ["cuda_nvrtc/lib", "cu13/lib"];

/// Names of the library of products, with their major versions.
const BLAS: [(&str, u32); 3] = [
    ("libcublasLt.so.12", 12),
    ("libcublasLt.so.13", 13),
    ("libcublasLt.so.11", 11),
];

impl Places {
    /// Where the compiler may be, in the order in which it is tried.
    pub fn compilers(&self) -> Vec<PathBuf> {
        if let Some(path) = &self.compiler {
            let inside = NAMES.iter().map(|name| path.join(name));
            return match path.is_dir() {
                true => inside.filter(|file| file.exists()).collect(),
                false => vec![path.clone()],
            };
        }
        let in_folder = |folder: &PathBuf| NAMES.map(|name| folder.join(name));
        let mut found: Vec<PathBuf> = self.folders.iter().flat_map(in_folder).collect();
        found.extend(NAMES.map(PathBuf::from));
        let system = children(Path::new("/usr/local"), "cuda");
        found.extend(system.iter().flat_map(|f| in_folder(&f.join("lib64"))));
        for environment in &self.python {
            for python in children(&environment.join("lib"), "python3") {
                let packages = python.join("site-packages/nvidia");
                let folders = WHEELS.map(|part| packages.join(part));
                found.extend(folders.iter().flat_map(in_folder));
            }
        }
        // A bare name is for the system's loader; of the others only those that are there.
        found.retain(|path| path.components().count() == 1 || path.exists());
        found
    }

    /// Where cuBLASLt may be, and its major version, in the order in which it is tried.
    pub fn blas(&self) -> Vec<(PathBuf, u32)> {
        let mut folders = Vec::new();
        if let Some(path) = &self.compiler {
            folders.extend(path.is_dir().then(|| path.clone()));
            folders.extend(path.parent().map(PathBuf::from));
        }
        folders.extend(self.folders.iter().cloned());
        let system = children(Path::new("/usr/local"), "cuda");
        let mut later: Vec<PathBuf> = system.iter().map(|f| f.join("lib64")).collect();
        for environment in &self.python {
            for python in children(&environment.join("lib"), "python3") {
                let packages = python.join("site-packages/nvidia");
                later.extend(["cublas/lib", "cu13/lib"].map(|part| packages.join(part)));
            }
        }
        let names = BLAS.map(|(name, major)| (PathBuf::from(name), major));
        let in_folder = |folder: &PathBuf| {
            BLAS.map(|(name, major)| (folder.join(name), major))
                .to_vec()
        };
        let mut found: Vec<(PathBuf, u32)> = folders.iter().flat_map(in_folder).collect();
        found.extend(names);
        found.extend(later.iter().flat_map(in_folder));
        found.retain(|(path, _)| path.components().count() == 1 || path.exists());
        found
    }
}

/// Folders in `folder` whose name starts with `start`, by name.
fn children(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|e| e.file_name().to_string_lossy().starts_with(start));
    let mut paths: Vec<PathBuf> = named.map(|e| e.path()).collect();
    paths.sort();
    paths
}

functions! {
    /// What is used of NVRTC.
    Functions:
    version = "nvrtcVersion"(*mut c_int, *mut c_int);
    n_archs = "nvrtcGetNumSupportedArchs"(*mut c_int);
    archs = "nvrtcGetSupportedArchs"(*mut c_int);
    create = "nvrtcCreateProgram"(
        *mut *mut c_void, *const c_char, *const c_char, c_int, *const *const c_char,
        *const *const c_char
    );
    destroy = "nvrtcDestroyProgram"(*mut *mut c_void);
    compile = "nvrtcCompileProgram"(*mut c_void, c_int, *const *const c_char);
    cubin_size = "nvrtcGetCUBINSize"(*mut c_void, *mut usize);
    cubin = "nvrtcGetCUBIN"(*mut c_void, *mut c_char);
    ptx_size = "nvrtcGetPTXSize"(*mut c_void, *mut usize);
    ptx = "nvrtcGetPTX"(*mut c_void, *mut c_char);
    log_size = "nvrtcGetProgramLogSize"(*mut c_void, *mut usize);
    log = "nvrtcGetProgramLog"(*mut c_void, *mut c_char);
}

/// An opened NVRTC.
pub struct Compiler {
    functions: Functions,
    /// Its library, as it was opened.
    pub path: PathBuf,
    /// Major and minor version.
    pub version: (u32, u32),
    /// Architectures it compiles for, such as 90 for `sm_90`.
    pub archs: Vec<u32>,
}

/// What every kernel is compiled with, the architecture apart. Nothing is fused, flushed or
/// approximated that the text does not say.
pub const OPTIONS: [&str; 6] = [
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ptxas-options=-v",
];

/// The oldest architecture whose PTX newer GPUs are given: on older ones, threads of a warp cannot go ways of
/// their own.
const OLDEST_PTX: u32 = 70;

/// What a text is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The code of one architecture, such as 90 for `sm_90`.
    Cubin(u32),
    /// Text for a virtual architecture, such as 90 for `compute_90`, which the driver compiles for its GPU.
    Ptx(u32),
}

impl Target {
    /// Its name for the compiler.
    pub fn name(self) -> String {
        match self {
            Target::Cubin(arch) => format!("sm_{arch}"),
            Target::Ptx(arch) => format!("compute_{arch}"),
        }
    }
}

impl Compiler {
    /// Opens the library at `path`.
    ///
    /// # Errors
    /// It cannot be opened, or lacks a function.
    pub fn open(path: &Path) -> Result<Compiler, Trouble> {
        let functions = Functions::of(open(path)?, path)?;
        let (mut major, mut minor, mut n) = (0, 0, 0);
        // SAFETY: the pointers are to numbers of this function.
        let status =
            unsafe { (functions.version)(&mut major, &mut minor) | (functions.n_archs)(&mut n) };
        let mut archs: Vec<c_int> = vec![0; n.max(0) as usize];
        // SAFETY: there is room for as many as it said.
        let status = status | unsafe { (functions.archs)(archs.as_mut_ptr()) };
        if status != 0 {
            return Err(Trouble::Unreadable {
                library: path.to_path_buf(),
                reason: format!("it does not tell its version (status {status})"),
            });
        }
        Ok(Compiler {
            functions,
            path: path.to_path_buf(),
            version: (major as u32, minor as u32),
            archs: archs.iter().map(|&a| a as u32).collect(),
        })
    }

    /// The first of `places` that serves a driver of CUDA version `driver` (such as 12.4 as
    /// `(12, 4)`) and compiles for a GPU of architecture `arch`; or else makes PTX for it.
    ///
    /// # Errors
    /// None does: why each would not.
    pub fn find(places: &Places, driver: (u32, u32), arch: u32) -> Result<Compiler, Trouble> {
        let mut rejected = Vec::new();
        let mut by_text = None;
        let candidates = places.compilers();
        if let (true, Some(folder)) = (candidates.is_empty(), &places.compiler) {
            let (folder, names) = (folder.display(), NAMES.join(", "));
            rejected.push(format!("{folder} holds none of {names}"));
        }
        for path in candidates {
            let name = path.display().to_string();
            match Compiler::open(&path) {
                Ok(c) if c.version.0 > driver.0 => rejected.push(format!(
                    "{name} is version {}, the driver only takes CUDA {}",
                    c.version.0, driver.0
                )),
                Ok(c) => match c.target_for(arch) {
                    Some(Target::Cubin(_)) => return Ok(c),
                    Some(Target::Ptx(_)) => by_text = by_text.or(Some(c)),
                    None => rejected.push(format!("{name} does not compile for sm_{arch}")),
                },
                // What the loader does not find under its bare name is simply not there.
                Err(_) if path.components().count() == 1 => {}
                Err(trouble) => rejected.push(trouble.to_string()),
            }
        }
        by_text.ok_or(CompilerTrouble::Missing { rejected }.into())
    }

    /// The architecture to compile for: the newest that runs on `arch`.
    pub fn arch_for(&self, arch: u32) -> Option<u32> {
        let fits = |a: &&u32| **a <= arch && **a / 10 == arch / 10;
        self.archs.iter().filter(fits).max().copied()
    }

    /// What to compile to for `arch`: its own code, or PTX where it is newer than the compiler.
    pub fn target_for(&self, arch: u32) -> Option<Target> {
        let newest = self.archs.iter().max().copied();
        let by_text = newest.filter(|n| (OLDEST_PTX..arch).contains(n));
        self.arch_for(arch)
            .map(Target::Cubin)
            .or(by_text.map(Target::Ptx))
    }

    /// Compiles a whole text for `sm_ARCH`; the cubin.
    ///
    /// # Errors
    /// The text is refused: what the compiler says.
    pub fn compile(&self, text: &str, arch: u32) -> Result<Vec<u8>, Trouble> {
        self.compile_with_usage(text, arch).map(|made| made.0)
    }

    /// [`Compiler::compile`], and what the entry takes of a multiprocessor.
    ///
    /// # Errors
    /// See there.
    pub fn compile_with_usage(&self, text: &str, arch: u32) -> Result<(Vec<u8>, Usage), Trouble> {
        self.compile_to(text, Target::Cubin(arch))
    }

    /// Compiles a whole text; what the driver loads. Of PTX nobody says what it takes.
    ///
    /// # Errors
    /// The text is refused: what the compiler says.
    pub fn compile_to(&self, text: &str, target: Target) -> Result<(Vec<u8>, Usage), Trouble> {
        let refused = |log: &str| Trouble::from(CompilerTrouble::Refused { log: log.into() });
        let text = CString::new(text).map_err(|_| refused("it holds a zero byte"))?;
        let is_ptx = matches!(target, Target::Ptx(_));
        let usual = OPTIONS.iter().filter(|o| !is_ptx || !o.contains("ptxas"));
        let mut options: Vec<CString> = usual
            .map(|&o| CString::new(o).expect("no zero byte"))
            .collect();
        let architecture = format!("--gpu-architecture={}", target.name());
        options.push(CString::new(architecture).expect("no zero byte"));
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let f = &self.functions;
        let mut program = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: the text ends with a zero byte and no headers are given.
        let status = unsafe {
            (f.create)(
                &mut program,
                text.as_ptr(),
                c"kernel.cu".as_ptr(),
                0,
                none,
                none,
            )
        };
        if status != 0 {
            return Err(refused(&format!("nvrtcCreateProgram gave {status}")));
        }
        // SAFETY: the program was made and the options live until the end of this function.
        let status = unsafe { (f.compile)(program, options.len() as c_int, options.as_ptr()) };
        let log = self.bytes(program, f.log_size, f.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let result = match status {
            0 if is_ptx => self.bytes(program, f.ptx_size, f.ptx),
            0 => self.bytes(program, f.cubin_size, f.cubin),
            _ => Err(refused_by(first_errors(&log).trim())),
        };
        // SAFETY: it was made above and is not used after this.
        unsafe { (f.destroy)(&mut program) };
        Ok((result?, Usage::of(&log)))
    }

    fn bytes(
        &self,
        program: *mut c_void,
        size: unsafe extern "C" fn(*mut c_void, *mut usize) -> i32,
        get: unsafe extern "C" fn(*mut c_void, *mut c_char) -> i32,
    ) -> Result<Vec<u8>, Trouble> {
        let mut n = 0;
        // SAFETY: the program was made by this compiler.
        let status = unsafe { size(program, &mut n) };
        let mut bytes = vec![0u8; n];
        // SAFETY: there is room for as many bytes as it said.
        let status = status | unsafe { get(program, bytes.as_mut_ptr().cast()) };
        match status {
            0 => Ok(bytes),
            _ => {
                let log = format!("its result cannot be read (status {status})");
                Err(CompilerTrouble::Refused { log }.into())
            }
        }
    }
}

/// What a kernel takes of a multiprocessor, as the compiler says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack: arrays and what is spilled.
    pub stack_bytes: u32,
    /// Bytes of registers that a thread has to store and to load again.
    pub spill_bytes: u32,
}

impl Usage {
    /// From the words of `ptxas -v`: `124 registers`, `136 bytes cumulative stack size`, `0 bytes
    /// spill stores`.
    fn of(log: &str) -> Usage {
        let words: Vec<&str> = log
            .split([' ', ',', '\n'])
            .filter(|w| !w.is_empty())
            .collect();
        let before = |tail: &[&str]| {
            let at = words.windows(tail.len() + 1).filter(|w| w[1..] == *tail);
            let numbers = at.filter_map(|w| w[0].parse::<u32>().ok());
            numbers.max().unwrap_or(0)
        };
        Usage {
            registers: before(&["registers"]),
            stack_bytes: before(&["bytes", "cumulative", "stack"]),
            spill_bytes: before(&["bytes", "spill", "stores"]),
        }
    }
}

/// Why a text was not compiled, from the log.
fn refused_by(log: &str) -> Trouble {
    let log = log.to_string();
    let trouble = match log.contains("libnvrtc-builtins") {
        true => CompilerTrouble::NoBuiltins { log },
        false => CompilerTrouble::Refused { log },
    };
    trouble.into()
}

/// The first lines of a log that speak of errors.
fn first_errors(log: &str) -> String {
    let lines = log.lines().filter(|l| l.contains("error"));
    let lines: Vec<&str> = lines.take(5).collect();
    match lines.is_empty() {
        true => log.chars().take(500).collect(),
        false => lines.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wheels of CUDA 13 lie elsewhere than those of 12, which are preferred.
    #[test]
    fn wheels_of_both_versions_are_found_in_a_python_environment() {
        let name = format!("fitzroy-wheels-{}", std::process::id());
        let environment = std::env::temp_dir().join(name);
        let packages = environment.join("lib/python3.12/site-packages/nvidia");
        let wheels = [
            "cuda_nvrtc/lib/libnvrtc.so.12",
            "cu13/lib/libnvrtc.so.13",
            "cublas/lib/libcublasLt.so.12",
        ];
        let wheels = wheels.map(|file| packages.join(file));
        for file in &wheels {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
            std::fs::write(file, "").expect("it is written");
        }
        let places = Places {
            python: vec![environment.clone()],
            ..Places::default()
        };
        let found = places.compilers();
        std::fs::remove_dir_all(environment).expect("it is removed");
        let place = |file| found.iter().position(|f| f == file);
        let (older, newer) = (place(&wheels[0]), place(&wheels[1]));
        assert!(older.is_some() && older < newer, "{found:?}");
    }

    #[test]
    fn what_a_kernel_takes_is_read_from_the_log() {
        let log = "ptxas info    : Compiling entry function 'advance' for 'sm_90'\n\
                   ptxas         .     136 bytes stack frame, 8 bytes spill stores, 4 bytes spill \
                   loads\nptxas info    : Used 124 registers, used 0 barriers, 136 bytes \
                   cumulative stack size\n";
        let expected = Usage {
            registers: 124,
            stack_bytes: 136,
            spill_bytes: 8,
        };
        assert_eq!(Usage::of(log), expected);
        assert_eq!(Usage::of(""), Usage::default());
    }
}
