//! Events before CPython 3.12: `PyEval_SetTrace` for lines, and `PyEval_SetProfile` for calls ([`super::legacy_calls`]).
//! There is one of each per thread.
//!
//! Threads that are started later are armed through `threading`, which has the first event of a new thread call us.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::symbols::symbols;
use super::watched::Lines;
use crate::errors;

// What an event is, as CPython's headers number them.
pub(super) const CALL: c_int = 0;
const LINE: c_int = 2;
pub(super) const RETURN: c_int = 3;

/// What times lines now: the lines of chosen functions, and each moment's own line. Either may be null.
static LINES: [AtomicPtr<Lines>; 2] = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())];
/// Represents us in `sys.gettrace`.
static TRACER: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());

unsafe extern "C" fn trace(
    _tracer: *mut ffi::PyObject,
    frame: *mut c_void,
    what: c_int,
    _arg: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: CPython calls this with a frame.
    unsafe {
        let mut any = false;
        for place in &LINES {
            let lines = place.load(Ordering::Relaxed);
            if lines.is_null() {
                continue;
            }
            any = true;
            with_code(frame, |code| {
                if !Lines::watches(lines, code) {
                    (*lines).passed += 1;
                    return;
                }
                let Some(lines) = lines.as_mut() else { return };
                match what {
                    CALL => lines.enter(code, frame_line(frame)),
                    LINE => lines.line(code, frame_line(frame).unwrap_or(0)),
                    RETURN => lines.leave(code),
                    _ => {}
                }
            });
        }
        if !any {
            set(|symbols| (symbols.set_trace)(None, null_mut()));
        }
    }
    0
}

/// # Safety
/// `frame` is a frame, and the caller holds the interpreter.
#[inline]
pub(super) unsafe fn with_code(frame: *mut c_void, work: impl FnOnce(*mut ffi::PyObject)) {
    let Ok(symbols) = symbols() else { return };
    // SAFETY: as promised. The frame holds its code, so this reference is not the last.
    unsafe {
        let code = (symbols.frame_code)(frame);
        work(code);
        ffi::Py_DECREF(code);
    }
}

/// # Safety
/// As above.
unsafe fn frame_line(frame: *mut c_void) -> Option<u32> {
    // SAFETY: as promised.
    symbols().ok().and_then(|symbols| u32::try_from(unsafe { (symbols.frame_line)(frame) }).ok())
}

pub(super) fn set(work: impl FnOnce(&super::symbols::Symbols)) {
    if let Ok(symbols) = symbols() {
        work(symbols);
    }
}

/// Begins to time lines in this thread and, if wanted, in those that are started from now on.
pub(super) fn start_lines(py: Python<'_>, lines: *mut Lines, own: bool, threads: bool) -> PyResult<()> {
    let other = py.import("sys")?.call_method0("gettrace")?;
    let tracer = TRACER.load(Ordering::Relaxed);
    if !other.is_none() && other.as_ptr() != tracer {
        return Err(taken("traces", &other, "lines are not timed"));
    }
    if tracer.is_null() {
        // It lives as long as the process.
        let made = PyCFunction::new_closure(py, None, None, |_, _| {})?;
        TRACER.store(made.into_ptr(), Ordering::Relaxed);
    }
    LINES[usize::from(own)].store(lines, Ordering::Relaxed);
    if threads {
        let arm = PyCFunction::new_closure(py, Some(ARM), None, |args, _| {
            trace_this_thread();
            // SAFETY: `sys.settrace` calls this with a frame, and the interpreter is held.
            unsafe { first_event(args, |frame| trace(null_mut(), frame, CALL, null_mut())) }
        })?;
        py.import("threading")?.call_method1("settrace", (arm,))?;
    }
    trace_this_thread();
    Ok(())
}

fn trace_this_thread() {
    // SAFETY: the function has the type that is wanted, and the object lives as long as the process.
    set(|symbols| unsafe { (symbols.set_trace)(Some(trace), TRACER.load(Ordering::Relaxed)) });
}

/// No more lines are timed for one of the two; whether no one had taken our place in this thread.
pub(super) fn stop_lines(py: Python<'_>, own: bool, threads: bool) -> PyResult<bool> {
    // Before anything else runs: once no one listens, the function takes itself out.
    let ours = is_traced_by_us(py)?;
    LINES[usize::from(own)].store(null_mut(), Ordering::Relaxed);
    if ours && LINES.iter().all(|place| place.load(Ordering::Relaxed).is_null()) {
        // SAFETY: no function needs no object.
        unsafe { (symbols()?.set_trace)(None, null_mut()) };
    }
    if threads {
        let_go_of_threads(py, "_trace_hook", "settrace")?;
    }
    Ok(ours)
}

/// The timer is gone: nothing is timed any more.
pub(super) fn forget_lines(lines: *mut Lines) {
    for place in &LINES {
        let _ = place.compare_exchange(lines, null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn is_traced_by_us(py: Python<'_>) -> PyResult<bool> {
    let now = py.import("sys")?.call_method0("gettrace")?;
    Ok(!now.is_none() && now.as_ptr() == TRACER.load(Ordering::Relaxed))
}

/// The first event of a thread that `threading` has armed; it counts if it is a call.
///
/// # Safety
/// The interpreter calls with a frame, the name of the event and its argument.
pub(super) unsafe fn first_event(
    args: &Bound<'_, pyo3::types::PyTuple>,
    call: impl FnOnce(*mut c_void) -> c_int,
) -> PyResult<()> {
    let (frame, event) = (args.get_item(0)?, args.get_item(1)?);
    if event.extract::<String>()? == "call" {
        call(frame.as_ptr().cast());
    }
    Ok(())
}

/// Has `threading` start threads without us, unless the program has put something else there.
pub(super) fn let_go_of_threads(py: Python<'_>, place: &str, set: &str) -> PyResult<()> {
    let threading = py.import("threading")?;
    let hook = threading.getattr(place)?;
    if hook.is_instance_of::<PyCFunction>()
        && hook.getattr("__name__")?.extract::<String>()?.as_bytes() == ARM.to_bytes()
    {
        threading.call_method1(set, (py.None(),))?;
    }
    Ok(())
}

/// The name of what `threading` calls in a new thread.
pub(super) const ARM: &CStr = c"stepscope_arms_this_thread";

pub(super) fn taken(does: &str, other: &Bound<'_, PyAny>, so: &str) -> PyErr {
    let class = other.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    errors::stepscope(
        format!("another tool {does} this thread ({class}): a debugger, a profiler or a coverage measurement"),
        Some(format!("{so} while it runs; run one tool at a time")),
    )
}
