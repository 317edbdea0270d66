//! Which task of an event loop runs: several take turns on one thread, and a region is of one of them.

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use stepscope_record::NO_TASK;

/// `asyncio`'s functions that say which loop runs in this thread and which task in a loop. Other loops that are used with
/// `asyncio`, such as uvloop, tell it too.
static ASYNCIO: OnceLock<(Py<PyAny>, Py<PyAny>)> = OnceLock::new();

/// The number of the task that runs: the address of its object, which no one else has while the task lives.
#[inline]
pub(crate) fn task_here(py: Python<'_>) -> u64 {
    let found = match ASYNCIO.get() {
        Some(found) => Some(found),
        None => find_asyncio(py),
    };
    found.map_or(NO_TASK, |(running_loop, current_task)| {
        let Ok(running) = running_loop.bind(py).call0() else { return NO_TASK };
        if running.is_none() {
            return NO_TASK;
        }
        match current_task.bind(py).call1((running,)) {
            Ok(task) if !task.is_none() => task.as_ptr() as u64,
            _ => NO_TASK,
        }
    })
}

/// A program that has not imported `asyncio` has no tasks, and it is not imported for this.
fn find_asyncio(py: Python<'_>) -> Option<&'static (Py<PyAny>, Py<PyAny>)> {
    // SAFETY: the interpreter is held; the dictionary and what is in it are borrowed, and used at once.
    let (events, tasks) = unsafe {
        let modules = ffi::PyImport_GetModuleDict();
        let named = |name: &Bound<'_, PyAny>| {
            Bound::from_borrowed_ptr_or_opt(py, ffi::PyDict_GetItemWithError(modules, name.as_ptr()))
        };
        (named(intern!(py, "asyncio.events"))?, named(intern!(py, "asyncio.tasks"))?)
    };
    // In the middle of its import it has neither; then there is no task either.
    let running_loop = events.getattr(intern!(py, "_get_running_loop")).ok()?.unbind();
    let current_task = tasks.getattr(intern!(py, "current_task")).ok()?.unbind();
    Some(ASYNCIO.get_or_init(|| (running_loop, current_task)))
}
