//! `CallRecorder`: counts every call of the program, with its callers and times, as `cProfile` does.

use std::path::PathBuf;
use std::ptr::null_mut;

use pyo3::prelude::*;
use stepscope_model::{FrameId, Profile};

use super::call_counter::CallCounter;
use super::call_events::{arm, disarm, drop_listener, missing};
use super::functions::{self, Functions};
use super::monitoring::Tool;
use super::periodic_file::PeriodicFile;
use super::symbols;
use super::threads::Threads;
use super::ticks;
use crate::errors;

/// One function's calls by another: file, line and name of the caller, calls, primitive calls, own and total time in ns.
type CallerRow = (String, u32, String, u64, u64, i64, i64);
/// The same of the function, and who called it.
type FunctionRow = (String, u32, String, u64, u64, i64, i64, Vec<CallerRow>);

/// Counts calls between `start` and `stop`.
#[pyclass(subclass, module = "stepscope._native")]
pub(crate) struct CallRecorder {
    c_calls: bool,
    /// Owned while it runs, and after that as `done`.
    running: *mut CallCounter,
    tool: Option<Tool>,
    done: Option<Box<CallCounter>>,
    displaced: bool,
    /// The file that is written meanwhile, how often, and without which files' functions.
    kept: Option<(PathBuf, u64, Vec<String>)>,
}

// SAFETY: only holders of the interpreter reach it.
unsafe impl Send for CallRecorder {}
// SAFETY: as above.
unsafe impl Sync for CallRecorder {}

#[pymethods]
impl CallRecorder {
    #[new]
    #[pyo3(signature = (c_calls=true))]
    fn new(c_calls: bool) -> CallRecorder {
        CallRecorder { c_calls, running: null_mut(), tool: None, done: None, displaced: false, kept: None }
    }

    #[getter]
    fn running(&self) -> bool {
        !self.running.is_null()
    }

    /// Whether something took our place before the end, so that calls are missing.
    #[getter]
    fn displaced(&self) -> bool {
        self.displaced
    }

    /// Begins, in all threads from Python 3.12 on; before, in this one and those that are started later. It adds to what was
    /// counted before.
    fn start(this: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        symbols::check(py)?;
        if this.borrow().running() {
            return Err(errors::stepscope(
                "calls are being counted already".to_owned(),
                Some("call stop() first".to_owned()),
            ));
        }
        functions::prepare(py)?;
        let missing = missing(py)?;
        let mut calls = this.borrow_mut().done.take().unwrap_or_else(|| Box::new(CallCounter::new(missing)));
        if let Some((path, every_ns, hidden)) = this.borrow_mut().kept.take() {
            let (kept, due) = PeriodicFile::new(path, every_ns);
            calls.keep(kept, due, hidden);
        }
        let calls = Box::into_raw(calls);
        let c_calls = this.borrow().c_calls;
        match arm(this.as_any(), calls, c_calls) {
            Ok(tool) => {
                let mut recorder = this.borrow_mut();
                (recorder.running, recorder.tool) = (calls, tool);
                Ok(())
            }
            Err(error) => {
                // SAFETY: it was a box above, and no one listens with it.
                this.borrow_mut().done = Some(unsafe { Box::from_raw(calls) });
                Err(error)
            }
        }
    }

    /// From the next start on, writes what was counted into a file for `pstats` every so often, so that a crash leaves it.
    /// `hidden` as for `rows`.
    fn keep(&mut self, path: PathBuf, every_s: f64, hidden: Vec<String>) {
        self.kept = Some((path, (every_s.max(0.0) * 1e9) as u64, hidden));
    }

    /// Ends. Calls that are open count as ended now.
    fn stop(this: &Bound<'_, Self>) -> PyResult<()> {
        let now = ticks::now();
        let (running, tool) = {
            let mut recorder = this.borrow_mut();
            (std::mem::replace(&mut recorder.running, null_mut()), recorder.tool.take())
        };
        if running.is_null() {
            return Ok(());
        }
        let ours = disarm::<CallCounter>(this.as_any(), tool);
        // SAFETY: it was made by `start`, and no one listens with it any more.
        let mut calls = unsafe { Box::from_raw(running) };
        calls.keep_no_more();
        let CallCounter { threads, totals, .. } = &mut *calls;
        for thread in threads.all() {
            thread.end_all(now);
            totals.add(thread);
        }
        *threads = Threads::new();
        let mut recorder = this.borrow_mut();
        recorder.done = Some(calls);
        recorder.displaced |= !ours?;
        Ok(())
    }

    /// How many calls of Python's functions were counted, and how many of C's.
    fn counts(&self) -> (u64, u64) {
        let Some(calls) = &self.done else { return (0, 0) };
        calls.totals.functions().fold((0, 0), |(python, c), (id, count)| {
            if calls.functions.is_code(id) { (python + count, c) } else { (python, c + count) }
        })
    }

    /// A row per function, in the order first called. Functions of files whose names begin with one of `hidden`, and those
    /// of this module, are left out.
    fn rows(&self, py: Python<'_>, hidden: Vec<String>) -> Vec<FunctionRow> {
        let Some(calls) = &self.done else { return Vec::new() };
        let describe = |functions: &Functions, id| functions.describe(py, id);
        rows(&calls.profile(&calls.totals, &hidden, describe, |functions, id| functions.is_ours(py, id)))
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if !self.running.is_null() {
            Python::attach(|py| drop_listener(py, self.tool.take(), self.running));
        }
    }
}

fn rows(profile: &Profile) -> Vec<FunctionRow> {
    let place = |id: FrameId| {
        let frame = profile.stacks.get(id);
        (profile.stacks.text(frame.file).to_owned(), frame.line, profile.stacks.text(frame.name).to_owned())
    };
    profile
        .calls
        .iter()
        .map(|row| {
            let callers = row.callers.iter().map(|caller| {
                let (file, line, name) = place(caller.frame);
                let times = (caller.self_ns.0, caller.total_ns.0);
                (file, line, name, caller.calls, caller.primitive_calls, times.0, times.1)
            });
            let callers = callers.collect();
            let (file, line, name) = place(row.frame);
            (file, line, name, row.calls, row.primitive_calls, row.self_ns.0, row.total_ns.0, callers)
        })
        .collect()
}
