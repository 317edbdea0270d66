//! Audit hooks that let all but a few events pass without running Python.
//!
//! A hook written in Python may lose the interpreter to another thread at any event. CPython 3.11 raises the event of
//! `sys.setprofile` while a flag of the whole process is set: a thread that sets its own profile function then is refused,
//! and a child that is forked then is refused for ever.

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyString, PyTuple};

/// A hook for `sys.addaudithook` that calls `heard` with the events of these names.
#[pyfunction]
pub(crate) fn audit_hook(
    py: Python<'_>,
    events: Vec<String>,
    heard: Py<PyAny>,
) -> PyResult<Bound<'_, PyCFunction>> {
    PyCFunction::new_closure(py, Some(c"stepscope_audit_hook"), None, move |args, _| -> PyResult<()> {
        let event = args.get_item(0)?;
        if events.iter().any(|name| event.cast::<PyString>().is_ok_and(|event| *event == name.as_str())) {
            heard.call1(args.py(), args.cast::<PyTuple>()?.clone())?;
        }
        Ok(())
    })
}
