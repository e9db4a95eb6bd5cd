//! Every way in which a GPU can fail to be there, with libraries made for the purpose, and the whole
//! way from a text to numbers through a driver and a compiler that are none.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod fake;

use fitzroy_device::gpu::host::LAUNCHER;
use fitzroy_device::gpu::text::{HOST_HEADER, for_device};
use fitzroy_device::gpu::{
    Compiler, CompilerTrouble, Driver, Gpu, Machine, Places, Program, Target, Trouble, conformance,
};
use fitzroy_graph::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// From the folder of a test to the sources of the libraries.
const SOURCES: &str = "tests/fake";

/// A folder of this test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fitzroy-loader-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Compiles a library of `fake/`; none without a compiler, which is said.
    fn library(&self, source: &str, name: &str, defines: &[&str]) -> Option<PathBuf> {
        let path = self.0.join(name);
        fake::has_compiler().then(|| {
            fake::build(source, &path, "-O0", defines);
            path
        })
    }

    /// A driver and, if `compiler` says how, a compiler.
    fn places(&self, driver: &[&str], compiler: Option<&[&str]>) -> Option<Places> {
        let mut places = Places {
            driver: Some(self.library("driver.cpp", "libcuda.so.1", driver)?),
            compiler: Some(self.0.join("nowhere.so")),
            ..Places::default()
        };
        if let Some(defines) = compiler {
            std::fs::write(self.0.join("header.c"), HOST_HEADER).unwrap();
            std::fs::write(self.0.join("launcher.c"), LAUNCHER).unwrap();
            places.compiler = Some(self.library("compiler.cpp", "libnvrtc.so.12", defines)?);
        }
        Some(places)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn trouble<T>(result: Result<T, Trouble>) -> Trouble {
    let Err(trouble) = result else {
        panic!("it should not have worked");
    };
    // Every trouble has a message, a remedy and a name.
    let error = Error::from(trouble.clone()).to_string();
    assert!(error.contains(trouble.remedy()) && error.len() > trouble.remedy().len() + 10);
    assert!(!trouble.name().is_empty());
    trouble
}

#[test]
fn a_driver_that_is_nowhere_or_no_library_is_told_apart() {
    let folder = Folder::new();
    let at = |path: PathBuf| Places {
        driver: Some(path),
        ..Places::default()
    };
    let missing = trouble(Driver::open(&at("/nowhere/libcuda.so.1".into())));
    assert_eq!(missing.name(), "unreadable-library");
    let text = folder.0.join("libcuda.so.1");
    std::fs::write(&text, "this is no library").unwrap();
    let found = trouble(Driver::open(&at(text)));
    assert!(matches!(&found, Trouble::Unreadable { reason, .. } if !reason.is_empty()));
    let Some(whole) = folder.library("driver.cpp", "whole.so", &[]) else {
        return;
    };
    let bytes = std::fs::read(whole).unwrap();
    let cut = folder.0.join("cut.so");
    std::fs::write(&cut, &bytes[..bytes.len() / 3]).unwrap();
    assert_eq!(trouble(Driver::open(&at(cut))).name(), "unreadable-library");
}

#[test]
fn what_the_driver_answers_becomes_a_message_with_a_remedy() {
    let cases: [(&[&str], Option<&str>, &str); 13] = [
        (&["OLD"], None, "too-old"),
        (&["VERSION=10020"], None, "old-driver"),
        (&["INIT=34"], None, "stub"),
        (&["INIT=803"], None, "driver-mismatch"),
        (&["INIT=802"], None, "not-ready"),
        (&["INIT=100"], None, "no-device"),
        (&["INIT=100"], Some(""), "hidden"),
        (&["COUNT=0"], None, "no-device"),
        (&["COUNT=0"], Some("7"), "hidden"),
        (&["INIT=999"], None, "not-started"),
        (&["INIT=304"], None, "not-started"),
        (&["INIT=806"], None, "sharing"),
        (&["INIT=1"], None, "driver"),
    ];
    for (defines, visible, name) in cases {
        let folder = Folder::new();
        let Some(mut places) = folder.places(defines, None) else {
            return;
        };
        places.visible = visible.map(String::from);
        let found = trouble(Driver::open_with(&places, &folder.0));
        assert_eq!(found.name(), name, "{defines:?}: {found}");
    }
}

#[test]
fn a_gpu_that_is_not_there_busy_or_without_a_compiler_is_said() {
    let folder = Folder::new();
    let Some(places) = folder.places(&[], None) else {
        return;
    };
    let found = trouble(Gpu::open(&places, 3));
    assert_eq!(found, Trouble::NoSuchDevice { asked: 3, count: 1 });
    let found = trouble(Gpu::open(&places, 0));
    assert!(
        matches!(&found, Trouble::Compiler(CompilerTrouble::Missing { rejected }) if rejected.len() == 1),
        "{found}"
    );
    let nothing = Places {
        compiler: Some("/proc".into()),
        ..places.clone()
    };
    let found = trouble(Gpu::open(&nothing, 0)).to_string();
    let part = "proc holds none of libnvrtc.so.12, libnvrtc.so.13, libnvrtc.so.11.2)";
    assert!(found.contains(part), "{found}");
    for (defines, part) in [
        ("MAJOR=13", "is version 13, the driver only takes CUDA 12"),
        ("ARCHS=50,60", "does not compile for sm_90"),
    ] {
        let folder = Folder::new();
        let places = folder.places(&[], Some(&[defines])).unwrap();
        let found = trouble(Gpu::open(&places, 0));
        assert!(found.to_string().contains(part), "{found}");
    }
    let folder = Folder::new();
    let places = folder.places(&["RETAIN=46"], Some(&[])).unwrap();
    assert_eq!(trouble(Gpu::open(&places, 0)), Trouble::Busy);
}

/// Catches: a GPU refused for being newer than its compiler, one given the code of another, PTX of an
/// architecture whose warps cannot part.
#[test]
fn a_gpu_newer_than_the_compiler_is_given_ptx() {
    let folder = Folder::new();
    let Some(places) = folder.places(&["CAPABILITY=130"], Some(&["ARCHS=80,90"])) else {
        return;
    };
    let mut gpu = Gpu::open(&places, 0).unwrap();
    let targets = [60, 80, 86, 90, 100, 130].map(|arch| gpu.compiler().target_for(arch));
    let cubin = |arch| Some(Target::Cubin(arch));
    let ptx = Some(Target::Ptx(90));
    assert_eq!(targets, [None, cubin(80), cubin(80), cubin(90), ptx, ptx]);
    assert!(conformance(&mut gpu, 32).is_ok_and(|n| n > 40_000));
}

#[test]
fn a_file_of_the_driver_that_may_not_be_opened_is_named() {
    // The superuser may open everything, so it is only seen by others.
    let folder = Folder::new();
    let file = folder.0.join("nvidiactl");
    std::fs::write(&file, "").unwrap();
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o000);
    std::fs::set_permissions(&file, permissions).unwrap();
    if std::fs::File::open(&file).is_ok() {
        eprintln!("skipped: this user may open everything");
        return;
    }
    let Some(places) = folder.places(&["INIT=100"], None) else {
        return;
    };
    let found = trouble(Driver::open_with(&places, &folder.0));
    assert_eq!(found, Trouble::NotPermitted { file });
}

#[test]
fn a_text_goes_all_the_way_to_numbers_and_is_kept() {
    let folder = Folder::new();
    let Some(mut places) = folder.places(&[], Some(&[])) else {
        return;
    };
    places.cache = Some(folder.0.join("cache"));
    let mut gpu = Gpu::open(&places, 0).unwrap();
    assert_eq!(gpu.description.short_name(), "H200");
    assert_eq!(gpu.description.free_bytes, Some(1 << 30));
    assert!(conformance(&mut gpu, 32).is_ok_and(|n| n > 40_000));
    assert!(gpu.loaded.compiled && gpu.cache_note.is_none());
    // Another process finds what was compiled.
    let mut again = Gpu::open(&places, 0).unwrap();
    assert!(conformance(&mut again, 32).is_ok());
    assert!(!again.loaded.compiled);
    // A cache that cannot be written is a note.
    places.cache = Some("/proc/nowhere".into());
    let mut unkept = Gpu::open(&places, 0).unwrap();
    assert!(conformance(&mut unkept, 64).is_ok());
    assert!(
        unkept
            .cache_note
            .as_ref()
            .is_some_and(|n| n.contains("/proc/nowhere"))
    );
}

/// Catches: advice to report a fault where the compiler was copied without the library beside it.
#[test]
fn a_compiler_without_what_is_built_into_it_says_so() {
    let Some(real) = std::env::var_os("FITZROY_NVRTC").map(PathBuf::from) else {
        eprintln!("skipped: FITZROY_NVRTC is not set");
        return;
    };
    let folder = Folder::new();
    let alone = folder.0.join("libnvrtc.so.12");
    let found = match real.is_dir() {
        true => real.join("libnvrtc.so.12"),
        false => real,
    };
    std::fs::copy(found, &alone).unwrap();
    // A process that has the library once has it for good, wherever it is asked for.
    let compiler = Compiler::open(&alone).unwrap();
    let text = for_device(&Program {
        text: "ENTRY void advance(const double *x) {}".into(),
        team: 32,
    });
    let found = trouble(compiler.compile(&text, 90));
    assert_eq!(found.name(), "no-nvrtc-builtins", "{found}");
}

#[test]
fn too_little_memory_a_refused_text_and_a_watchdog_are_said() {
    let folder = Folder::new();
    let Some(places) = folder.places(&["MEMORY=1048576"], Some(&[])) else {
        return;
    };
    let mut gpu = Gpu::open(&places, 0).unwrap();
    let error = gpu.reserve(0, 1 << 20).unwrap_err().to_string();
    assert!(
        error.contains("8 MiB were needed, 1 MiB are free"),
        "{error}"
    );
    let wrong = Program {
        text: "this is no kernel".into(),
        team: 32,
    };
    let error = gpu.load(&wrong).unwrap_err().to_string();
    assert!(error.contains("NVRTC does not take the kernel"), "{error}");
    let folder = Folder::new();
    let places = folder.places(&["LAUNCH=702"], Some(&[])).unwrap();
    let mut gpu = Gpu::open(&places, 0).unwrap();
    let error = conformance(&mut gpu, 32).unwrap_err().to_string();
    assert!(
        error.contains("whose watchdog ends long kernels"),
        "{error}"
    );
}
