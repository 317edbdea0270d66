//! `CallTracer`: writes every call of the program to a file, with its beginning and end, as they happen.

use std::fs::File;
use std::path::PathBuf;
use std::ptr::null_mut;

use pyo3::prelude::*;
use stepscope_record::calls::Pattern;

use super::call_events::{arm, disarm, drop_listener, missing};
use super::call_listener::CallListener;
use super::call_writer::{CallLimits, CallWriter};
use super::choice::Choice;
use super::functions;
use super::monitoring::Tool;
use super::symbols;
use crate::errors;

/// Writes calls between `start` and `stop`.
#[pyclass(module = "stepscope._native")]
pub(crate) struct CallTracer {
    path: PathBuf,
    /// Add to what the file holds.
    append: bool,
    name: String,
    c_calls: bool,
    /// Taken by `start`.
    wanted: Option<CallLimits>,
    running: *mut CallWriter,
    tool: Option<Tool>,
    displaced: bool,
    over: Option<String>,
    seen: (u64, u64),
    written: (u64, u64),
}

// SAFETY: only holders of the interpreter reach it.
unsafe impl Send for CallTracer {}
// SAFETY: as above.
unsafe impl Sync for CallTracer {}

#[pymethods]
impl CallTracer {
    #[new]
    #[pyo3(signature = (path, *, append=false, name=String::new(), c_calls=true, min_ns=0, max_calls=u64::MAX, max_depth=u32::MAX,
        include=Vec::new(), exclude=Vec::new(), hidden=Vec::new(), cost_ns=0))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one call")]
    fn new(
        path: PathBuf,
        append: bool,
        name: String,
        c_calls: bool,
        min_ns: u64,
        max_calls: u64,
        max_depth: u32,
        include: Vec<String>,
        exclude: Vec<String>,
        hidden: Vec<String>,
        cost_ns: u32,
    ) -> CallTracer {
        let patterns = |all: Vec<String>| all.iter().map(|one| Pattern::new(one)).collect();
        let choice = Choice { include: patterns(include), exclude: patterns(exclude), hidden };
        CallTracer {
            path,
            append,
            name,
            c_calls,
            wanted: Some(CallLimits { min_ns, max_calls: max_calls.max(1), max_depth, choice, cost_ns }),
            running: null_mut(),
            tool: None,
            displaced: false,
            over: None,
            seen: (0, 0),
            written: (0, 0),
        }
    }

    /// Whether it was started and not stopped.
    #[getter]
    fn running(&self) -> bool {
        !self.running.is_null()
    }

    /// Whether something took our place before the end, so that calls are missing.
    #[getter]
    fn displaced(&self) -> bool {
        self.displaced
    }

    /// Why recording ended before it was stopped, or nothing.
    #[getter]
    fn ended_early(&self) -> Option<String> {
        // SAFETY: it is alive while it runs.
        match unsafe { self.running.as_ref() } {
            Some(traced) => traced.over.clone(),
            None => self.over.clone(),
        }
    }

    /// Calls of Python's functions and of C's that were seen, and calls and bytes that were written.
    fn counts(&self) -> ((u64, u64), (u64, u64)) {
        // SAFETY: as above.
        match unsafe { self.running.as_ref() } {
            Some(traced) => (traced.seen, traced.written()),
            None => (self.seen, self.written),
        }
    }

    /// Makes the file and begins, in all threads from Python 3.12 on; before, in this one and those that are started later.
    fn start(this: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        symbols::check(py)?;
        functions::prepare(py)?;
        let Some(wanted) = this.borrow_mut().wanted.take() else {
            return Err(errors::stepscope(
                "these calls were recorded already".to_owned(),
                Some("make a new one for each file".to_owned()),
            ));
        };
        let missing = missing(py)?;
        let traced = {
            let tracer = this.borrow();
            let file = if tracer.append {
                File::options().append(true).create(true).open(&tracer.path)
            } else {
                File::create(&tracer.path)
            };
            file.and_then(|file| CallWriter::new(wanted, file, &tracer.name, missing))
                .map_err(|error| errors::writing(&error, &tracer.path.display().to_string()))?
        };
        let traced = Box::into_raw(Box::new(traced));
        let c_calls = this.borrow().c_calls;
        match arm(this.as_any(), traced, c_calls) {
            Ok(tool) => {
                let mut tracer = this.borrow_mut();
                (tracer.running, tracer.tool) = (traced, tool);
                Ok(())
            }
            Err(error) => {
                // SAFETY: it was a box above, and no one listens with it.
                drop(unsafe { Box::from_raw(traced) });
                let tracer = this.borrow();
                // A device, such as `/dev/null`, or a link is not ours.
                if !tracer.append && std::fs::symlink_metadata(&tracer.path).is_ok_and(|info| info.is_file()) {
                    let _ = std::fs::remove_file(&tracer.path);
                }
                Err(error)
            }
        }
    }

    /// Ends the file. Calls that are open count as ended now.
    fn stop(this: &Bound<'_, Self>) -> PyResult<()> {
        Self::finish(this, false)
    }

    /// In a forked child: what was recorded is the parent's, and nothing is written.
    fn abandon(this: &Bound<'_, Self>) -> PyResult<()> {
        Self::finish(this, true)
    }
}

impl CallTracer {
    fn finish(this: &Bound<'_, Self>, abandon: bool) -> PyResult<()> {
        let (running, tool) = {
            let mut tracer = this.borrow_mut();
            (std::mem::replace(&mut tracer.running, null_mut()), tracer.tool.take())
        };
        if running.is_null() {
            return Ok(());
        }
        let early = {
            // SAFETY: it was made by `start`. Nothing is held while Python runs below.
            let traced = unsafe { &mut *running };
            if abandon {
                traced.abandon();
            } else if !traced.is_over() {
                traced.end(None);
            }
            traced.over.is_some()
        };
        let ours = disarm::<CallWriter>(this.as_any(), tool);
        // SAFETY: no one listens with it any more.
        let mut traced = unsafe { Box::from_raw(running) };
        let mut tracer = this.borrow_mut();
        tracer.seen = traced.seen;
        tracer.written = traced.written();
        tracer.over = traced.over.take();
        // What has deafened itself may find its place taken.
        tracer.displaced |= !ours? && !early;
        match traced.take_error().filter(|_| !abandon) {
            Some(error) => Err(errors::writing(&error, &tracer.path.display().to_string())),
            None => Ok(()),
        }
    }
}

impl Drop for CallTracer {
    fn drop(&mut self) {
        if self.running.is_null() {
            return;
        }
        Python::attach(|py| {
            // SAFETY: it is alive until below.
            unsafe { &mut *self.running }.end(None);
            drop_listener(py, self.tool.take(), self.running);
        });
    }
}
