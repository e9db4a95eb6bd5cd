//! The driver's functions as C has them: streams, events, graphs.

use super::abi::{on_gpu, put};
use super::deed::Deed;
use super::state::{state, status};
use super::streams::Event;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// Streams that the null stream does not wait for; there are no others here.
const NON_BLOCKING: c_uint = 1;

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> i32 {
    if flags != NON_BLOCKING {
        return status::INVALID;
    }
    on_gpu(|state, device| put(stream, state.streams.create(device) as *mut c_void))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> i32 {
    let mut state = state();
    let stream = stream as usize;
    let asked = state.streams.get(stream).map_or(0, |s| s.asked);
    state.until(stream, asked);
    state.streams.remove(stream);
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let stream = stream as usize;
        let Some(found) = state.streams.get(stream) else {
            return status::INVALID;
        };
        if found.captured.is_some() {
            return status::CAPTURING;
        }
        let asked = found.asked;
        state.until(stream, asked);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _: c_uint) -> i32 {
    on_gpu(|state, _| {
        let Some(event) = state.events.get((event as usize).wrapping_sub(1)) else {
            return status::INVALID;
        };
        // What never was asked for is waited for by nobody.
        let Some((other, until)) = event.at else {
            return 0;
        };
        let deed = Deed::Wait {
            stream: other,
            until,
        };
        match state.streams.get(stream as usize) {
            Some(s) if s.captured.is_some() => status::CAPTURING,
            Some(_) => i32::from(!state.streams.ask(stream as usize, deed)),
            None => status::INVALID,
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: *mut *mut c_void, _: c_uint) -> i32 {
    on_gpu(|state, _| {
        state.events.push(Event::default());
        put(event, state.events.len() as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_: *mut c_void) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let (number, stream) = ((event as usize).wrapping_sub(1), stream as usize);
        let Some(event) = state.events.get_mut(number) else {
            return status::INVALID;
        };
        let Some(found) = state.streams.get(stream) else {
            return status::INVALID;
        };
        if found.captured.is_some() {
            return status::CAPTURING;
        }
        event.times += 1;
        event.at = Some((stream, found.asked + 1));
        let deed = Deed::Record {
            event: number,
            time: event.times,
        };
        i32::from(!state.streams.ask(stream, deed))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let Some(event) = state.events.get((event as usize).wrapping_sub(1)) else {
            return status::INVALID;
        };
        if let Some((stream, position)) = event.at {
            state.until(stream, position);
        }
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(ms: *mut f32, from: *mut c_void, to: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let time = |event: *mut c_void| {
            let found = state.events.get((event as usize).wrapping_sub(1));
            found.map_or(0, |e| e.happened)
        };
        put(
            ms,
            time(to).saturating_sub(time(from)).max(1000) as f32 / 1e6,
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, _: c_int) -> i32 {
    on_gpu(|state, _| match state.streams.get(stream as usize) {
        Some(stream) if stream.captured.is_none() => {
            stream.captured = Some(Vec::new());
            0
        }
        _ => status::INVALID,
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let noted = state
            .streams
            .get(stream as usize)
            .and_then(|s| s.captured.take());
        let Some(noted) = noted else {
            return status::INVALID;
        };
        let number = state.number();
        state.graphs.insert(number, Arc::new(noted));
        put(graph, number as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphInstantiateWithFlags(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    _: u64,
) -> i32 {
    on_gpu(|state, _| {
        let Some(deeds) = state.graphs.get(&(graph as usize)).cloned() else {
            return status::INVALID;
        };
        let number = state.number();
        state.graphs.insert(number, deeds);
        put(exec, number as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> i32 {
    on_gpu(|state, _| {
        let Some(deeds) = state.graphs.get(&(exec as usize)).cloned() else {
            return status::INVALID;
        };
        i32::from(!state.streams.ask(stream as usize, Deed::All(deeds)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: *mut c_void) -> i32 {
    i32::from(state().graphs.remove(&(graph as usize)).is_none())
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(exec: *mut c_void) -> i32 {
    cuGraphDestroy(exec)
}
