//! What every thread knows: its place in the launch, and where the arguments of the kernel lie.

use crate::code::Special;
use crate::parse::Variable;

/// Offset and bytes of the arguments of a kernel.
pub(super) fn offsets(arguments: &[Variable]) -> Vec<(u32, u32)> {
    let mut at = 0;
    let mut all = Vec::new();
    for argument in arguments {
        at = u32::next_multiple_of(at, argument.align.min(argument.element.max(argument.align)));
        all.push((at, argument.bytes));
        at += argument.bytes;
    }
    all
}

/// A register that is there without being declared.
pub(super) enum Known {
    Special(Special),
    Constant(u64),
}

/// Registers that every thread has: kernels are launched with one dimension.
pub(super) fn special(name: &str) -> Option<Known> {
    Some(match name {
        "tid.x" => Known::Special(Special::Thread),
        "ntid.x" => Known::Special(Special::Threads),
        "ctaid.x" => Known::Special(Special::Block),
        "nctaid.x" => Known::Special(Special::Blocks),
        "laneid" => Known::Special(Special::Lane),
        "tid.y" | "tid.z" | "ctaid.y" | "ctaid.z" => Known::Constant(0),
        "ntid.y" | "ntid.z" | "nctaid.y" | "nctaid.z" => Known::Constant(1),
        _ => return None,
    })
}
