//! Calls for [`Traced`] before CPython 3.12: `PyEval_SetProfile`, as in [`super::legacy`].

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::legacy::{
    ARM, C_CALL, C_EXCEPTION, C_RETURN, CALL, RETURN, c_function, first_event, let_go_of_threads, set, taken,
    with_code,
};
use super::symbols::{TraceFunction, symbols};
use super::traced::Traced;

/// What records now, or null.
static TRACED: AtomicPtr<Traced> = AtomicPtr::new(null_mut());
static C_CALLS: AtomicBool = AtomicBool::new(true);
/// The recorder of it, borrowed: what `sys.getprofile` gives.
static TRACER: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());

unsafe extern "C" fn profile(
    _tracer: *mut ffi::PyObject,
    frame: *mut c_void,
    what: c_int,
    arg: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: CPython calls this with a frame, and with a C function at the events of one.
    unsafe {
        let Some(traced) = TRACED.load(Ordering::Relaxed).as_mut().filter(|traced| !traced.is_over()) else {
            // Another thread has ended it, and only this one can take the function out.
            set(|symbols| (symbols.set_profile)(None, null_mut()));
            return 0;
        };
        match what {
            CALL => with_code(frame, |code| traced.enter(code)),
            RETURN => with_code(frame, |code| traced.leave(code as usize)),
            C_CALL if C_CALLS.load(Ordering::Relaxed) => {
                if let Some(key) = c_function(arg) {
                    traced.enter_c(key, arg);
                }
            }
            C_RETURN | C_EXCEPTION if C_CALLS.load(Ordering::Relaxed) => {
                if let Some(key) = c_function(arg) {
                    traced.leave(key);
                }
            }
            _ => {}
        }
    }
    0
}

/// Begins in this thread and in those that are started from now on.
pub(super) fn start(tracer: &Bound<'_, PyAny>, traced: *mut Traced, c_calls: bool) -> PyResult<()> {
    let py = tracer.py();
    let other = py.import("sys")?.call_method0("getprofile")?;
    if !other.is_none() || !TRACED.load(Ordering::Relaxed).is_null() {
        return Err(taken("profiles", &other, "calls are not recorded"));
    }
    let arm = PyCFunction::new_closure(py, Some(ARM), None, |args, _| {
        set(|symbols| {
            let tracer = TRACER.load(Ordering::Relaxed);
            // SAFETY: the recorder is alive while it is there.
            unsafe { (symbols.set_profile)((!tracer.is_null()).then_some(profile as TraceFunction), tracer) };
        });
        // SAFETY: `sys.setprofile` calls this with a frame, and the interpreter is held.
        unsafe { first_event(args, |frame| profile(null_mut(), frame, CALL, null_mut())) }
    })?;
    py.import("threading")?.call_method1("setprofile", (arm,))?;
    C_CALLS.store(c_calls, Ordering::Relaxed);
    TRACED.store(traced, Ordering::Relaxed);
    TRACER.store(tracer.as_ptr(), Ordering::Relaxed);
    // SAFETY: the function has the type that is wanted, and CPython holds on to the recorder.
    unsafe { (symbols()?.set_profile)(Some(profile), tracer.as_ptr()) };
    Ok(())
}

/// Ends it; whether nobody has taken our place in this thread.
pub(super) fn stop(tracer: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = tracer.py();
    let ours = py.import("sys")?.call_method0("getprofile")?.is(tracer);
    TRACED.store(null_mut(), Ordering::Relaxed);
    TRACER.store(null_mut(), Ordering::Relaxed);
    if ours {
        // SAFETY: no function needs no object.
        unsafe { (symbols()?.set_profile)(None, null_mut()) };
    }
    let_go_of_threads(py, "_profile_hook", "setprofile")?;
    Ok(ours)
}

/// The recorder is gone: nothing is recorded any more.
pub(super) fn forget(traced: *mut Traced) {
    if TRACED.compare_exchange(traced, null_mut(), Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        TRACER.store(null_mut(), Ordering::Relaxed);
    }
}
