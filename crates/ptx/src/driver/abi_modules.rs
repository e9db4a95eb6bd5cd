//! The driver's functions as C has them: modules and launches.

use super::abi::{on_gpu, put};
use super::deed::{Deed, Launch};
use super::host;
use super::state::{Function, status};
use crate::run::Loaded;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: PTX ends with a zero byte, and a cubin has one behind the four of its head.
    let bytes = unsafe { CStr::from_ptr(image.cast()) }.to_bytes();
    on_gpu(|state, device| {
        if bytes.starts_with(b"\x7fELF") {
            state.say("a cubin cannot be executed here: ask for PTX");
            return status::NO_CODE;
        }
        let text = String::from_utf8_lossy(bytes);
        let loaded = match Loaded::new(&text, &mut state.gpus[device].memory) {
            Ok(loaded) => loaded,
            Err(fault) => {
                state.say(&format!("GPU {device}: {fault}"));
                return status::BAD_PTX;
            }
        };
        let (major, minor) = state.settings.gpus[device].capability;
        if loaded.target > (10 * major + minor) as u32 {
            state.say(&format!(
                "PTX for {} on a GPU of {major}.{minor}",
                loaded.target
            ));
            loaded.unload(&mut state.gpus[device].memory);
            return status::NO_CODE;
        }
        state.note(&format!("module gpu={device} target={}", loaded.target));
        let number = state.number();
        state.modules.insert(number, (device, loaded));
        put(module, number as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: *mut c_void) -> i32 {
    on_gpu(|state, device| {
        state.finish(device);
        match state.modules.remove(&(module as usize)) {
            Some((owner, loaded)) => {
                loaded.unload(&mut state.gpus[owner].memory);
                0
            }
            None => status::INVALID,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: a name ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned();
    on_gpu(|state, _| {
        let module = module as usize;
        let known = state.modules.get(&module);
        if !known.is_some_and(|m| m.1.code.entries.contains_key(&name)) {
            return status::NOT_FOUND;
        }
        state.functions.push(Function { module, name });
        put(function, state.functions.len() as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncGetAttribute(value: *mut c_int, which: c_int, function: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let Some(function) = state.functions.get((function as usize).wrapping_sub(1)) else {
            return status::INVALID;
        };
        let frames = state
            .modules
            .get(&function.module)
            .map(|m| &m.1.code.frames);
        let local: u32 = frames.into_iter().flatten().map(|f| f.local).sum();
        // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES; registers are as many as the text has names.
        put(value, if which == 3 { local as c_int } else { 0 })
    })
}

/// Asks a stream for a launch whose arguments are behind pointers.
fn launched(
    function: *mut c_void,
    (grid, block): ([c_uint; 3], [c_uint; 3]),
    shared: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    together: bool,
) -> i32 {
    on_gpu(|state, device| {
        let function = state
            .functions
            .get((function as usize).wrapping_sub(1))
            .cloned();
        let Some(Function { module, name }) = function else {
            return status::INVALID;
        };
        let flat = grid[1..] == [1, 1] && block[1..] == [1, 1] && grid[0] > 0 && shared == 0;
        let Some((_, loaded)) = state.modules.get(&module).filter(|_| flat) else {
            return status::INVALID;
        };
        if together && grid[0] > state.settings.gpus[device].multiprocessors as u32 {
            return status::TOO_MANY_BLOCKS;
        }
        let mut bytes = Vec::new();
        for (k, (at, n)) in loaded.code.entries[&name].arguments.iter().enumerate() {
            // SAFETY: there is a pointer for every argument of the kernel.
            let from = unsafe { *arguments.add(k) };
            bytes.resize(*at as usize, 0);
            bytes.extend(host::read(from as usize, *n as usize));
        }
        let deed = Deed::Launch(Launch {
            module,
            kernel: name,
            arguments: bytes,
            blocks: grid[0],
            threads: block[0],
            together,
        });
        match state.streams.ask(stream as usize, deed) {
            true => 0,
            false => status::INVALID,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    _: *mut *mut c_void,
) -> i32 {
    let sizes = ([gx, gy, gz], [bx, by, bz]);
    launched(function, sizes, shared, stream, arguments, false)
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchCooperativeKernel(
    function: *mut c_void,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
) -> i32 {
    let sizes = ([gx, gy, gz], [bx, by, bz]);
    launched(function, sizes, shared, stream, arguments, true)
}
