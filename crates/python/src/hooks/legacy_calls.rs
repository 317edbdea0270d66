//! Calls before CPython 3.12: `PyEval_SetProfile`, as in [`super::legacy`].

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::call_listener::CallListener;
use super::functions::built_in_key;
use super::legacy::{ARM, CALL, RETURN, first_event, let_go_of_threads, set, taken, with_code};
use super::symbols::{TraceFunction, symbols};

// What an event is, as CPython's headers number them.
const C_CALL: c_int = 4;
const C_EXCEPTION: c_int = 5;
const C_RETURN: c_int = 6;

unsafe extern "C" fn profile<L: CallListener>(
    _recorder: *mut ffi::PyObject,
    frame: *mut c_void,
    what: c_int,
    arg: *mut ffi::PyObject,
) -> c_int {
    let listening = L::listening();
    // SAFETY: CPython calls this with a frame, and with a C function at the events of one.
    unsafe {
        let listener = listening.listener.load(Ordering::Relaxed).as_mut();
        let Some(listener) = listener.filter(|listener| !listener.is_over()) else {
            // Another thread has ended it, and only this one can take the function out.
            set(|symbols| (symbols.set_profile)(None, null_mut()));
            return 0;
        };
        let c_key = || match listening.c_calls.load(Ordering::Relaxed) && !arg.is_null() {
            true => built_in_key(arg),
            false => None,
        };
        match what {
            CALL => with_code(frame, |code| listener.enter(code)),
            RETURN => with_code(frame, |code| listener.leave(code as usize)),
            C_CALL => {
                if let Some(key) = c_key() {
                    listener.enter_c(key, arg);
                }
            }
            C_RETURN | C_EXCEPTION => {
                if let Some(key) = c_key() {
                    listener.leave(key);
                }
            }
            _ => {}
        }
    }
    0
}

/// Begins in this thread and in those that are started from now on.
pub(super) fn start<L: CallListener>(
    recorder: &Bound<'_, PyAny>,
    listener: *mut L,
    c_calls: bool,
) -> PyResult<()> {
    let (py, listening) = (recorder.py(), L::listening());
    let other = py.import("sys")?.call_method0("getprofile")?;
    if !other.is_none() || !listening.listener.load(Ordering::Relaxed).is_null() {
        return Err(taken("profiles", &other, L::REFUSED));
    }
    let arm = PyCFunction::new_closure(py, Some(ARM), None, |args, _| {
        set(|symbols| {
            let recorder = L::listening().recorder.load(Ordering::Relaxed);
            let function = (!recorder.is_null()).then_some(profile::<L> as TraceFunction);
            // SAFETY: the recorder is alive while it is there.
            unsafe { (symbols.set_profile)(function, recorder) };
        });
        // SAFETY: `sys.setprofile` calls this with a frame, and the interpreter is held.
        unsafe { first_event(args, |frame| profile::<L>(null_mut(), frame, CALL, null_mut())) }
    })?;
    py.import("threading")?.call_method1("setprofile", (arm,))?;
    listening.c_calls.store(c_calls, Ordering::Relaxed);
    listening.listener.store(listener, Ordering::Relaxed);
    listening.recorder.store(recorder.as_ptr(), Ordering::Relaxed);
    // SAFETY: the function has the type that is wanted, and CPython holds on to the recorder.
    unsafe { (symbols()?.set_profile)(Some(profile::<L>), recorder.as_ptr()) };
    Ok(())
}

/// Ends it; whether no one has taken our place in this thread.
pub(super) fn stop<L: CallListener>(recorder: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, listening) = (recorder.py(), L::listening());
    // Before anything else runs: once no one listens, the function takes itself out.
    let ours = py.import("sys")?.call_method0("getprofile")?.is(recorder);
    listening.listener.store(null_mut(), Ordering::Relaxed);
    listening.recorder.store(null_mut(), Ordering::Relaxed);
    if ours {
        // SAFETY: no function needs no object.
        unsafe { (symbols()?.set_profile)(None, null_mut()) };
    }
    let_go_of_threads(py, "_profile_hook", "setprofile")?;
    Ok(ours)
}

/// The recorder is gone: nothing is heard any more.
pub(super) fn forget<L: CallListener>(listener: *mut L) {
    let (place, none) = (&L::listening().listener, null_mut());
    if place.compare_exchange(listener, none, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        L::listening().recorder.store(null_mut(), Ordering::Relaxed);
    }
}
