//! What `sys.monitoring` tells of lines.

use pyo3::ffi;
use stepscope_record::line_times::Share;

use super::event::{Handler, nothing, state_of};
use super::watched::Lines;

/// The timer and the code of an event of `sys.monitoring`, or what to return at once.
///
/// # Safety
/// `sys.monitoring` called with these.
#[inline]
unsafe fn heard<'a>(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
) -> Result<(&'a mut Lines, *mut ffi::PyObject), *mut ffi::PyObject> {
    // SAFETY: as promised.
    unsafe {
        let code = *args;
        let Some(lines) = state_of::<Lines>(event) else { return Err(nothing()) };
        let lines = std::ptr::from_mut(lines);
        // Where functions are chosen, only those are heard of.
        if (*lines).share == Share::Own && !Lines::watches(lines, code) {
            return Err((*lines).disable);
        }
        Ok((&mut *lines, code))
    }
}

/// # Safety
/// `number` is an integer of Python's.
#[inline]
unsafe fn number(number: *mut ffi::PyObject) -> u32 {
    // SAFETY: as promised; what does not fit is neither a line nor a place in code.
    u32::try_from(unsafe { ffi::PyLong_AsLong(number) }).unwrap_or(0)
}

unsafe extern "C" fn line(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: `sys.monitoring` calls this with a code object and a line.
    unsafe {
        match heard(event, args) {
            Ok((lines, code)) => lines.line(code, number(*args.add(1))),
            Err(answer) => return answer,
        }
    }
    nothing()
}

unsafe extern "C" fn start(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: `sys.monitoring` calls this with a code object and a place in it.
    unsafe {
        let Some(lines) = state_of::<Lines>(event) else { return nothing() };
        let (lines, code) = (std::ptr::from_mut(lines), *args);
        // With a judge this comes from everywhere, and is the first that is heard of a function.
        if !(*lines).judge.is_null() && !Lines::watches(lines, code) {
            return (*lines).disable;
        }
        (*lines).enter(code, None);
    }
    nothing()
}

unsafe extern "C" fn resume(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        match heard(event, args) {
            Ok((lines, code)) => {
                let line = lines.line_at(code, number(*args.add(1)));
                lines.enter(code, line);
            }
            Err(answer) => return answer,
        }
    }
    nothing()
}

unsafe extern "C" fn end(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    _count: usize,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        match heard(event, args) {
            Ok((lines, code)) => lines.leave(code),
            Err(answer) => return answer,
        }
    }
    nothing()
}

/// An exception is thrown into a generator. It comes from everywhere, and cannot be switched off.
unsafe extern "C" fn thrown(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        if is_watched(event, args) {
            resume(event, args, count, names);
        }
    }
    nothing()
}

/// An exception leaves a function. As above.
unsafe extern "C" fn unwound(
    event: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe {
        if is_watched(event, args) {
            end(event, args, count, names);
        }
    }
    nothing()
}

/// # Safety
/// `sys.monitoring` called with these.
unsafe fn is_watched(event: *mut ffi::PyObject, args: *const *mut ffi::PyObject) -> bool {
    // SAFETY: as promised.
    unsafe { state_of::<Lines>(event).is_some_and(|lines| Lines::watches(std::ptr::from_mut(lines), *args)) }
}

/// Events that one code object can be asked for.
pub(super) const LOCAL: [(&str, Handler); 5] =
    [("LINE", line), ("PY_START", start), ("PY_RESUME", resume), ("PY_RETURN", end), ("PY_YIELD", end)];
/// Events that come from everywhere or not at all.
pub(super) const GLOBAL: [(&str, Handler); 2] = [("PY_THROW", thrown), ("PY_UNWIND", unwound)];
