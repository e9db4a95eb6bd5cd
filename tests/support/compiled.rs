//! Kernels that are compiled once: a text that the same compiler took in an earlier run is not compiled again.
//!
//! `FITZROY_KERNEL_CACHE` names the folder that keeps them; without it every text is compiled.

use fitzroy_device::gpu::{Cache, Compiler, OPTIONS, Trouble, Usage};
use std::path::PathBuf;

/// Bytes of the three numbers of a [`Usage`].
const USAGE_BYTES: usize = 12;

/// A compiler by its version and its length, in which the releases of a version differ.
pub(crate) fn release(compiler: &Compiler) -> String {
    let (major, minor) = compiler.version;
    let length = std::fs::metadata(&compiler.path).map_or(0, |m| m.len());
    format!("nvrtc {major}.{minor} of {length} bytes")
}

/// All that a cubin is made from.
pub(crate) fn key(compiler: &Compiler, text: &str, arch: u32) -> String {
    let (release, options) = (release(compiler), OPTIONS.join(" "));
    format!("{release}, sm_{arch} {options}\n{text}")
}

/// The cubin of `text` for `arch` and what it takes.
pub(crate) fn compile(
    compiler: &Compiler,
    text: &str,
    arch: u32,
) -> Result<(Vec<u8>, Usage), Trouble> {
    let folder = std::env::var_os("FITZROY_KERNEL_CACHE").map(PathBuf::from);
    let Some(cache) = folder.map(|f| Cache::new(&f)) else {
        return compiler.compile_with_usage(text, arch);
    };
    let key = key(compiler, text, arch);
    if let Some(kept) = cache.read(&key) {
        let (usage, cubin) = kept.split_at(USAGE_BYTES);
        let number = |k: usize| u32::from_le_bytes(usage[4 * k..][..4].try_into().unwrap());
        let usage = Usage {
            registers: number(0),
            stack_bytes: number(1),
            spill_bytes: number(2),
        };
        return Ok((cubin.to_vec(), usage));
    }
    let (cubin, usage) = compiler.compile_with_usage(text, arch)?;
    let numbers = [usage.registers, usage.stack_bytes, usage.spill_bytes];
    let mut kept: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    kept.extend(&cubin);
    // A folder that cannot be written costs time and nothing else.
    let _ = cache.write(&key, &kept);
    Ok((cubin, usage))
}
