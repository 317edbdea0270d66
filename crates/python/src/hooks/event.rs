//! What `sys.monitoring` calls at an event: an object that is called as directly as CPython can call anything, with the
//! place of what is counted in it.

use std::ffi::{c_int, c_ulong, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;

// What every Python since 3.9 has, and the limited API names only later; as in `region/class.rs`.
const HAVE_VECTORCALL: c_ulong = 1 << 11;
const SSIZE: c_int = 19;
const READ_ONLY: c_int = 1;

/// A function that hears of an event: itself, the arguments, how many, and names of some.
pub(super) type Handler = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

#[repr(C)]
struct Event {
    head: ffi::PyObject,
    handler: Option<Handler>,
    /// What is counted, or null when it is over.
    state: *mut c_void,
}

struct Class(*mut ffi::PyTypeObject);
// SAFETY: a class is made once, lives as long as the process, and is only used by holders of the interpreter.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

static CLASS: OnceLock<Class> = OnceLock::new();

/// An object that calls `handler`, which finds `state` in it.
pub(super) fn event(py: Python<'_>, handler: Handler, state: *mut c_void) -> PyResult<Bound<'_, PyAny>> {
    let class = match CLASS.get() {
        Some(class) => class.0,
        None => {
            let made = make_class(py)?;
            CLASS.get_or_init(|| Class(made)).0
        }
    };
    // SAFETY: the class is ours, and what it makes is zeroed and as large as an `Event`.
    unsafe {
        let made = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
        let event = made.as_ptr().cast::<Event>();
        (*event).handler = Some(handler);
        (*event).state = state;
        Ok(made)
    }
}

/// What is counted by the handler that was called.
///
/// # Safety
/// `event` is what a [`Handler`] was called with; its state is a `T` or null.
#[inline]
pub(super) unsafe fn state_of<'a, T>(event: *mut ffi::PyObject) -> Option<&'a mut T> {
    // SAFETY: as promised.
    unsafe { (*event.cast::<Event>()).state.cast::<T>().as_mut() }
}

/// From now on the handler finds nothing.
pub(super) fn forget(event: &Bound<'_, PyAny>) {
    // SAFETY: only objects made by `event` are given to this.
    unsafe { (*event.as_ptr().cast::<Event>()).state = null_mut() }
}

/// What a handler returns. `sys.monitoring` came with Python 3.12, from which on `None` is not counted.
#[inline]
pub(super) fn nothing() -> *mut ffi::PyObject {
    // SAFETY: it is always there.
    unsafe { ffi::Py_None() }
}

fn make_class(py: Python<'_>) -> PyResult<*mut ffi::PyTypeObject> {
    let mut members = [
        ffi::PyMemberDef {
            name: c"__vectorcalloffset__".as_ptr(),
            type_code: SSIZE,
            offset: offset_of!(Event, handler) as ffi::Py_ssize_t,
            flags: READ_ONLY,
            doc: std::ptr::null(),
        },
        ffi::PyMemberDef { name: std::ptr::null(), type_code: 0, offset: 0, flags: 0, doc: std::ptr::null() },
    ];
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_new, pfunc: no_new as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_call, pfunc: slow_call as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_members, pfunc: members.as_mut_ptr().cast() },
        ffi::PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"stepscope._native.Event".as_ptr(),
        basicsize: size_of::<Event>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the description is complete. CPython copies members into the class.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
    Ok(class.into_ptr().cast())
}

/// CPython asks for one where there is a vectorcall. `sys.monitoring` never takes this way.
unsafe extern "C" fn slow_call(
    _event: *mut ffi::PyObject,
    _args: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this.
    unsafe { ffi::PyErr_SetString(ffi::PyExc_TypeError, c"only sys.monitoring calls this".as_ptr()) };
    null_mut()
}

unsafe extern "C" fn no_new(
    _class: *mut ffi::PyTypeObject,
    _args: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this.
    unsafe { ffi::PyErr_SetString(ffi::PyExc_TypeError, c"cannot create instances of this class".as_ptr()) };
    null_mut()
}
