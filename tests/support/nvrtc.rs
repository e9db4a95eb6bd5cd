//! NVIDIA's compiler of kernels, for tests that need no GPU.
//!
//! `FITZROY_NVRTC` names it; with `FITZROY_REQUIRE_NVRTC` a missing one fails.

use fitzroy_device::gpu::{Compiler, Places};

/// The compiler; none where it is missing, which a skipped test says.
pub(crate) fn compiler() -> Option<Compiler> {
    let places = Places {
        compiler: std::env::var_os("FITZROY_NVRTC").map(Into::into),
        ..Places::default()
    };
    let required = std::env::var_os("FITZROY_REQUIRE_NVRTC").is_some();
    match Compiler::find(&places, (99, 0), 90) {
        Ok(compiler) => Some(compiler),
        Err(trouble) if required => panic!("FITZROY_REQUIRE_NVRTC is set: {trouble}"),
        Err(trouble) => {
            eprintln!("skipped: {trouble}");
            None
        }
    }
}
