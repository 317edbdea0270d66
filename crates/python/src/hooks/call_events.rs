//! Has `sys.monitoring` tell a listener of calls; before CPython 3.12, `PyEval_SetProfile` does.

use std::ffi::c_void;
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

use super::call_listener::CallListener;
use super::event::{Handler, nothing, state_of};
use super::functions::c_key;
use super::legacy_calls;
use super::monitoring::{self, Tool};

unsafe extern "C" fn start<L: CallListener>(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: `sys.monitoring` calls this with a code object first.
    unsafe {
        if let Some(listener) = state_of::<L>(event)
            && !listener.is_over()
        {
            listener.enter(*args);
        }
    }
    nothing()
}

unsafe extern "C" fn end<L: CallListener>(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        if let Some(listener) = state_of::<L>(event)
            && !listener.is_over()
        {
            listener.leave(*args as usize);
        }
    }
    nothing()
}

unsafe extern "C" fn start_c<L: CallListener>(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: `sys.monitoring` calls this with the code, the place in it, what is called and its first argument.
    unsafe {
        let callable = *args.add(2);
        if let Some(listener) = state_of::<L>(event)
            && let Some(key) = c_key(callable, *args.add(3), listener.missing())
            && !listener.is_over()
        {
            listener.enter_c(key, callable);
        }
    }
    nothing()
}

unsafe extern "C" fn end_c<L: CallListener>(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        if let Some(listener) = state_of::<L>(event)
            && let Some(key) = c_key(*args.add(2), *args.add(3), listener.missing())
            && !listener.is_over()
        {
            listener.leave(key);
        }
    }
    nothing()
}

const PYTHON_EVENTS: usize = 6;
/// Events that come with `CALL` and must not be asked for.
const WITH_CALL: [&str; 2] = ["C_RETURN", "C_RAISE"];

/// Has `sys.monitoring` tell a listener; before CPython 3.12, `PyEval_SetProfile`.
pub(super) fn arm<L: CallListener>(
    recorder: &Bound<'_, PyAny>,
    listener: *mut L,
    c_calls: bool,
) -> PyResult<Option<Tool>> {
    let Some(api) = monitoring::api(recorder.py()) else {
        return legacy_calls::start(recorder, listener, c_calls).map(|()| None);
    };
    let handlers: [(&str, Handler); 9] = [
        ("PY_START", start::<L>),
        ("PY_RESUME", start::<L>),
        ("PY_THROW", start::<L>),
        ("PY_RETURN", end::<L>),
        ("PY_YIELD", end::<L>),
        ("PY_UNWIND", end::<L>),
        ("CALL", start_c::<L>),
        ("C_RETURN", end_c::<L>),
        ("C_RAISE", end_c::<L>),
    ];
    let mut tool = Tool::take(&api)?;
    let mut listen = || -> PyResult<()> {
        let mut events = 0;
        for (name, handler) in &handlers[..if c_calls { handlers.len() } else { PYTHON_EVENTS }] {
            let number = tool.listen(&api, name, *handler, listener.cast::<c_void>())?;
            if !WITH_CALL.contains(name) {
                events |= number;
            }
        }
        // SAFETY: it is alive, and nothing comes before the events are set.
        unsafe { (*listener).takes_place(tool.place()) };
        tool.set_events(&api, events)
    };
    match listen() {
        Ok(()) => Ok(Some(tool)),
        Err(error) => {
            // The first failure is the one to tell.
            let _ = tool.release(api.py());
            Err(error)
        }
    }
}

/// Ends that; whether no one has taken our place.
pub(super) fn disarm<L: CallListener>(recorder: &Bound<'_, PyAny>, tool: Option<Tool>) -> PyResult<bool> {
    match tool {
        Some(tool) => tool.release(recorder.py()),
        None => legacy_calls::stop::<L>(recorder),
    }
}

/// The recorder is gone: ends that, and the listener.
pub(super) fn drop_listener<L: CallListener>(py: Python<'_>, tool: Option<Tool>, listener: *mut L) {
    match tool {
        // There is no one left to tell.
        Some(tool) => drop(tool.release(py)),
        None => legacy_calls::forget(listener),
    }
    // SAFETY: it was a box, and no one listens with it any more.
    drop(unsafe { Box::from_raw(listener) });
}

/// What a listener needs to know of `sys.monitoring`: [`CallListener::missing`].
pub(super) fn missing(py: Python<'_>) -> PyResult<*mut ffi::PyObject> {
    monitoring::api(py).map_or(Ok(null_mut()), |api| Ok(api.getattr("MISSING")?.as_ptr()))
}
