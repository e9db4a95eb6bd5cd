//! Makes the libraries of a GPU that is none from their sources in this folder.

use super::SOURCES;
use fitzroy_device::gpu::host::HostLibrary;
use std::path::Path;
use std::process::Command;

/// Whether g++ is there; that it is not is said, or fails if it must be there.
#[allow(clippy::print_stderr)] // a skipped test says so
pub(crate) fn has_compiler() -> bool {
    let has = HostLibrary::has_compiler();
    if !has {
        assert!(
            std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
            "FITZROY_REQUIRE_GXX is set and there is no g++"
        );
        eprintln!("skipped: there is no g++");
    }
    has
}

/// Compiles `source` to `library` with `defines`. In two steps and with nothing in them that changes from test to
/// test: a cache of g++'s answers keeps what is compiled and not linked. The compiler finds `header.c`, `launcher.c` and
/// `lists.c` beside itself.
pub(crate) fn build(source: &str, library: &Path, level: &str, defines: &[&str]) {
    let object = library.with_extension("o");
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(SOURCES)
        .join(source);
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", level, "-fPIC", "-w", "-c"]);
    compile.args(defines.iter().map(|d| format!("-D{d}")));
    compile.arg(from).arg("-o").arg(&object);
    let mut link = Command::new("g++");
    link.arg("-shared").arg(&object).arg("-o").arg(library);
    link.arg("-ldl");
    for mut step in [compile, link] {
        let made = step.output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
    }
}
