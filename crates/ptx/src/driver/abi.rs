//! The driver's functions as C has them: GPUs and their memory.

use super::deed::Deed;
use super::host;
use super::state::{State, state, status};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

thread_local! {
    /// The context of this thread: one more than the number of its GPU.
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// Writes a value where the caller wants it.
pub(super) fn put<T>(to: *mut T, value: T) -> i32 {
    if to.is_null() {
        return status::INVALID;
    }
    // SAFETY: the caller gives a place for a value of this type, as the function's documentation says.
    unsafe { to.write(value) };
    0
}

/// Does something with the GPU of this thread, unless it went wrong before.
pub(super) fn on_gpu(act: impl FnOnce(&mut State, usize) -> i32) -> i32 {
    let context = CONTEXT.get();
    if context == 0 {
        return status::NO_CONTEXT;
    }
    let mut state = state();
    state.drift();
    match state.gpus[context - 1].failed {
        0 => {
            let made = act(&mut state, context - 1);
            match made {
                0 => state.gpus[context - 1].failed,
                made => made,
            }
        }
        failed => failed,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_: c_uint) -> i32 {
    drop(state());
    0
}

/// NVRTC asks for tables that are nobody's business.
#[unsafe(no_mangle)]
extern "C" fn cuGetExportTable(table: *mut *const c_void, _: *const c_void) -> i32 {
    put(table, std::ptr::null());
    status::INVALID
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: *mut c_int) -> i32 {
    put(version, 13_000)
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: c_int, name: *mut *const c_char) -> i32 {
    let text = match code {
        status::INVALID => c"CUDA_ERROR_INVALID_VALUE",
        status::OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        status::NO_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
        status::NO_CODE => c"CUDA_ERROR_NO_BINARY_FOR_GPU",
        status::BAD_PTX => c"CUDA_ERROR_INVALID_PTX",
        status::NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        status::FAILED => c"CUDA_ERROR_LAUNCH_FAILED",
        status::TOO_MANY_BLOCKS => c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        status::CAPTURING => c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        _ => return status::INVALID,
    };
    put(name, text.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: *mut c_int) -> i32 {
    put(count, state().gpus.len() as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: *mut c_int, index: c_int) -> i32 {
    match (index as usize) < state().gpus.len() {
        true => put(device, index),
        false => 101,
    }
}

/// Writes a text of at most `n` bytes, with a zero byte behind it.
fn put_text(to: *mut c_char, n: c_int, text: &str) -> i32 {
    let mut bytes = text.as_bytes().to_vec();
    bytes.truncate(n.max(1) as usize - 1);
    bytes.push(0);
    host::write(to as usize, &bytes);
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(to: *mut c_char, n: c_int, device: c_int) -> i32 {
    put_text(to, n, &state().settings.gpus[device as usize].name)
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(to: *mut c_char, n: c_int, device: c_int) -> i32 {
    put_text(to, n, &format!("0000:{:02x}:00.0", 0x41 + device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, device: c_int) -> i32 {
    let state = state();
    let gpu = &state.settings.gpus[device as usize];
    put(
        value,
        match which {
            75 => gpu.capability.0,
            76 => gpu.capability.1,
            16 => gpu.multiprocessors,
            95 => 1,
            13 => 1_500_000,
            36 => 2_500_000,
            17 => c_int::from(gpu.watchdog),
            _ => 0,
        },
    )
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> i32 {
    put(
        bytes,
        state().settings.gpus[device as usize].memory as usize,
    )
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxSetFlags_v2(_: c_int, _: c_uint) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> i32 {
    state().note(&format!("context gpu={device}"));
    put(context, (1 + device as usize) as *mut c_void)
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_: c_int) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> i32 {
    CONTEXT.set(context as usize);
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> i32 {
    on_gpu(|state, device| {
        state.finish(device);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> i32 {
    on_gpu(|state, device| {
        let all = state.settings.gpus[device].memory as usize;
        put(free, state.gpus[device].memory.total_and_free().1 as usize) | put(total, all)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> i32 {
    on_gpu(
        |state, device| match state.gpus[device].memory.allocate(bytes as u64) {
            Some(found) => put(at, found),
            None if bytes == 0 => status::INVALID,
            None => status::OUT_OF_MEMORY,
        },
    )
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(at: u64) -> i32 {
    on_gpu(|state, device| {
        state.finish(device);
        match state.gpus[device].memory.free(at) {
            true => 0,
            false => status::INVALID,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(at: u64, value: u8, n: usize) -> i32 {
    on_gpu(|state, device| {
        let stream = state.gpus[device].null_stream;
        state.streams.ask(stream, Deed::Fill { at, value, n });
        0
    })
}

/// Memory that GPUs may read when they like.
#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(at: *mut *mut c_void, bytes: usize, _: c_uint) -> i32 {
    let mut words = vec![0u64; bytes.div_ceil(8).max(1)];
    let place = words.as_mut_ptr();
    state().pinned.insert(place as usize, words);
    put(at, place.cast())
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(at: *mut c_void) -> i32 {
    on_gpu(|state, device| {
        state.finish(device);
        match state.pinned.remove(&(at as usize)) {
            Some(_) => 0,
            None => status::INVALID,
        }
    })
}

/// From memory that is not pinned bytes have left the host when the call returns.
#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    n: usize,
    stream: *mut c_void,
) -> i32 {
    on_gpu(|state, _| {
        let from = from as usize;
        let deed = match state.pinned.contains_key(&from) {
            true => Deed::Fetch { to, from, n },
            false => Deed::Arrive {
                to,
                bytes: Arc::new(host::read(from, n)),
            },
        };
        match state.streams.ask(stream as usize, deed) {
            true => 0,
            false => status::INVALID,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    n: usize,
    stream: *mut c_void,
) -> i32 {
    on_gpu(|state, _| {
        let to = to as usize;
        match state
            .streams
            .ask(stream as usize, Deed::Bring { to, from, n })
        {
            true => 0,
            false => status::INVALID,
        }
    })
}
