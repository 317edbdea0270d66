//! What CPython exports and the limited API does not name: found by name in the running process.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::errors;

/// What CPython calls at every event, before 3.12.
pub(super) type TraceFunction =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut c_void, c_int, *mut ffi::PyObject) -> c_int;
type Setter = unsafe extern "C" fn(Option<TraceFunction>, *mut ffi::PyObject);

/// The functions, each as CPython's headers declare it since 3.9.
pub(super) struct Symbols {
    pub(super) set_profile: Setter,
    pub(super) set_trace: Setter,
    /// A new reference.
    pub(super) frame_code: unsafe extern "C" fn(*mut c_void) -> *mut ffi::PyObject,
    pub(super) frame_line: unsafe extern "C" fn(*mut c_void) -> c_int,
    thread_id: unsafe extern "C" fn(*mut ffi::PyThreadState) -> u64,
}

static FOUND: OnceLock<Option<Symbols>> = OnceLock::new();

/// The functions, or why they are not there.
pub(super) fn symbols() -> PyResult<&'static Symbols> {
    FOUND.get_or_init(find).as_ref().ok_or_else(|| {
        errors::stepscope(
            "calls and lines cannot be recorded: this Python does not have the functions of CPython".to_owned(),
            Some("use CPython 3.9 or later".to_owned()),
        )
    })
}

/// A number that no other thread of the process has or had.
pub(super) fn thread_number(thread: *mut ffi::PyThreadState) -> u64 {
    match FOUND.get() {
        // SAFETY: the thread is the caller's own.
        Some(Some(symbols)) => unsafe { (symbols.thread_id)(thread) },
        _ => thread as u64,
    }
}

/// The numbers that the system and `threading` have for the thread that calls.
pub(super) fn thread_names(py: Python<'_>) -> (u64, u64) {
    let number = |name: &str| -> PyResult<u64> { py.import("_thread")?.call_method0(name)?.extract() };
    (number("get_native_id").unwrap_or(0), number("get_ident").unwrap_or(0))
}

/// The number of the thread that calls, which holds the interpreter.
pub(super) fn this_thread() -> u64 {
    // SAFETY: as promised.
    thread_number(unsafe { ffi::PyThreadState_Get() })
}

#[cfg(unix)]
fn find() -> Option<Symbols> {
    let process = libloading::os::unix::Library::this();
    // SAFETY: these are functions with the types above in every CPython since 3.9, and they live as long as the process.
    unsafe {
        Some(Symbols {
            set_profile: *process.get(b"PyEval_SetProfile\0").ok()?,
            set_trace: *process.get(b"PyEval_SetTrace\0").ok()?,
            frame_code: *process.get(b"PyFrame_GetCode\0").ok()?,
            frame_line: *process.get(b"PyFrame_GetLineNumber\0").ok()?,
            thread_id: *process.get(b"PyThreadState_GetID\0").ok()?,
        })
    }
}

#[cfg(not(unix))]
fn find() -> Option<Symbols> {
    None
}

/// The head of a built-in function, the same in every CPython since 3.9 that has a global lock.
#[repr(C)]
pub(super) struct BuiltIn {
    head: ffi::PyObject,
    pub(super) method: *mut ffi::PyMethodDef,
    /// Borrowed, or null.
    pub(super) this: *mut ffi::PyObject,
    /// Borrowed, or null.
    pub(super) module: *mut ffi::PyObject,
}

/// The head of a method of a built-in class that is not bound to an object, as above.
#[repr(C)]
pub(super) struct Descriptor {
    head: ffi::PyObject,
    pub(super) class: *mut ffi::PyTypeObject,
    name: *mut ffi::PyObject,
    qualified_name: *mut ffi::PyObject,
    pub(super) method: *mut ffi::PyMethodDef,
}

/// Whether this Python was built without the global lock.
pub(super) fn is_free_threaded(py: Python<'_>) -> PyResult<bool> {
    if !py.import("sys")?.hasattr("_is_gil_enabled")? {
        return Ok(false);
    }
    let variable = py.import("sysconfig")?.call_method1("get_config_var", ("Py_GIL_DISABLED",))?;
    variable.is_truthy()
}

/// Whether this Python can be listened to. Its built-in functions are looked at, since no header promises their shape.
pub(super) fn check(py: Python<'_>) -> PyResult<()> {
    symbols()?;
    if is_free_threaded(py)? {
        return Err(errors::stepscope(
            "calls and lines cannot be recorded in a free-threaded Python".to_owned(),
            Some("use the build of Python with the global interpreter lock".to_owned()),
        ));
    }
    let builtins = py.import("builtins")?;
    let (len, append) = (builtins.getattr("len")?, py.get_type::<pyo3::types::PyList>().getattr("append")?);
    // SAFETY: both are at least as large as their heads, and alive. A name is read only if the function before it is the
    // one that the limited API gives.
    let alike = unsafe {
        let built_in = len.as_ptr().cast::<BuiltIn>();
        let descriptor = append.as_ptr().cast::<Descriptor>();
        let function = ffi::PyCFunction_GetFunction(len.as_ptr());
        ffi::PyCFunction_CheckExact(len.as_ptr()) != 0
            && (*built_in).this == ffi::PyCFunction_GetSelf(len.as_ptr())
            && function
                .is_some_and(|function| (*(*built_in).method).ml_meth.PyCFunction as usize == function as usize)
            && ffi::Py_TYPE(append.as_ptr()) == &raw mut ffi::PyMethodDescr_Type
            && (*descriptor).class == &raw mut ffi::PyList_Type
            && std::ffi::CStr::from_ptr((*(*descriptor).method).ml_name) == c"append"
    };
    if alike {
        return Ok(());
    }
    Err(errors::stepscope(
        "calls and lines cannot be recorded: built-in functions of this Python have an unknown layout"
            .to_owned(),
        Some("use CPython 3.9 to 3.13".to_owned()),
    ))
}
