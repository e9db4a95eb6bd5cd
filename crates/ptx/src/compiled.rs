//! Texts that are compiled once: what the same compiler took in an earlier run is not compiled again.
//!
//! `FITZROY_KERNEL_CACHE` names the folder that keeps them; without it every text is compiled.

use fitzroy_device::gpu::{Cache, Compiler, OPTIONS, Target, Trouble, Usage};
use std::path::PathBuf;

/// Bytes of the three numbers of a [`Usage`].
const USAGE_BYTES: usize = 12;

/// A compiler by its version and its length, in which the releases of a version differ.
pub fn release(compiler: &Compiler) -> String {
    let (major, minor) = compiler.version;
    let length = std::fs::metadata(&compiler.path).map_or(0, |m| m.len());
    format!("nvrtc {major}.{minor} of {length} bytes")
}

/// All that a text is compiled from.
pub fn key(compiler: &Compiler, text: &str, target: Target) -> String {
    let (release, options) = (release(compiler), OPTIONS.join(" "));
    format!("{release}, {} {options}\n{text}", target.name())
}

/// What `text` is for `target`, and what it takes of a multiprocessor.
///
/// # Errors
/// The text is refused: what the compiler says.
pub fn compile(
    compiler: &Compiler,
    text: &str,
    target: Target,
) -> Result<(Vec<u8>, Usage), Trouble> {
    let folder = std::env::var_os("FITZROY_KERNEL_CACHE").map(PathBuf::from);
    let Some(cache) = folder.map(|f| Cache::new(&f)) else {
        return compiler.compile_to(text, target);
    };
    let key = key(compiler, text, target);
    if let Some((usage, made)) = cache
        .read(&key)
        .as_deref()
        .and_then(|kept| kept.split_at_checked(USAGE_BYTES))
    {
        let number = |k: usize| {
            let bytes = [usage[k], usage[k + 1], usage[k + 2], usage[k + 3]];
            u32::from_le_bytes(bytes)
        };
        let usage = Usage {
            registers: number(0),
            stack_bytes: number(4),
            spill_bytes: number(8),
        };
        return Ok((made.to_vec(), usage));
    }
    let (made, usage) = compiler.compile_to(text, target)?;
    let numbers = [usage.registers, usage.stack_bytes, usage.spill_bytes];
    let mut kept: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    kept.extend(&made);
    // A folder that cannot be written costs time and nothing else.
    let _ = cache.write(&key, &kept);
    Ok((made, usage))
}
