//! `LineTimer`: counts and times the lines of chosen functions, or of all that are the user's.

use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::null_mut;

use hashbrown::HashMap;
use pyo3::prelude::*;
use stepscope_model::Profile;
use stepscope_record::heap::{LineMemories, Rss};
use stepscope_record::line_times::{Share, ThreadLines};

use super::functions::Functions;
use super::legacy;
use super::line_events::{GLOBAL, LOCAL};
use super::line_profile::{add, profile};
use super::monitoring::{self, Tool};
use super::periodic_file::PeriodicFile;
use super::symbols;
use super::threads::Threads;
use super::ticks;
use super::watched::{Lines, places};

/// File, first line and name of the function; line, hits and time in ns.
type Row = (String, u32, String, u32, u64, i64);

/// How much of the process is in memory is read this often at the most, unless memory was allocated.
const ASK_NS: u64 = 20_000;
/// File, first line and name of the function; line, hits, the most in memory after it and what it added.
type MemoryRow = (String, u32, String, u32, u64, u64, i64);

/// Times lines between `start` and `stop`: of the functions given to `watch`, and of those that `judge` accepts, which is
/// asked about every code object when it is first called. The time of a line holds what it calls; with `own`, each moment
/// is one line's, and a thread that wants its lines timed has to call `start` itself.
#[pyclass(module = "stepscope._native")]
pub(crate) struct LineTimer {
    /// Held for `lines`.
    judge: Option<Py<PyAny>>,
    /// Owned.
    lines: *mut Lines,
    tool: Option<Tool>,
    own: bool,
    running: bool,
}

// SAFETY: only holders of the interpreter reach it.
unsafe impl Send for LineTimer {}
// SAFETY: as above.
unsafe impl Sync for LineTimer {}

#[pymethods]
impl LineTimer {
    #[new]
    #[pyo3(signature = (judge=None, *, own=false, event_cost_ns=0, memory=false))]
    fn new(judge: Option<Py<PyAny>>, own: bool, event_cost_ns: u64, memory: bool) -> LineTimer {
        let share = if own { Share::Own } else { Share::Total };
        let lines = Box::new(Lines {
            share,
            threads: Threads::new(),
            functions: Functions::default(),
            folded: HashMap::default(),
            folded_events: 0,
            passed: 0,
            watched: HashMap::default(),
            judge: judge.as_ref().map_or(null_mut(), Py::as_ptr),
            judging: 0,
            place: (0, 0),
            memory: memory
                .then(Rss::open)
                .flatten()
                .map(|rss| (LineMemories::new(ticks::from_ns(ASK_NS)), rss)),
            cost: ticks::from_ns(event_cost_ns),
            disable: null_mut(),
            kept: None,
            due: u64::MAX,
        });
        LineTimer { judge, lines: Box::into_raw(lines), tool: None, own, running: false }
    }

    #[getter]
    fn running(&self) -> bool {
        self.running
    }

    /// Times the lines of this code too, until it is asked to stop as often.
    fn watch(&mut self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        let places = places(code)?;
        // SAFETY: the interpreter is held.
        let events = unsafe {
            (*self.lines).know(code, 1, places);
            (*self.lines).place.1
        };
        self.set_local(code, events)?;
        if self.tool.is_some()
            && self.judge.is_some()
            && let Some(api) = monitoring::api(code.py())
        {
            // It may have been judged before, and its start switched off.
            api.call_method0("restart_events")?;
        }
        Ok(())
    }

    fn unwatch(&mut self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: the interpreter is held.
        let over = unsafe {
            match (*self.lines).watched.get_mut(&(code.as_ptr() as usize)) {
                Some(known) => {
                    known.by = known.by.saturating_sub(1);
                    known.by == 0
                }
                None => false,
            }
        };
        if over { self.set_local(code, 0) } else { Ok(()) }
    }

    /// Begins: in all threads from Python 3.12 on, and before in this one and those that are started later. With `own` it is
    /// in this thread only.
    fn start(&mut self, py: Python<'_>) -> PyResult<()> {
        symbols::check(py)?;
        let own = self.own;
        match monitoring::api(py) {
            Some(_) if self.running => {}
            Some(api) => self.arm(&api)?,
            None => legacy::start_lines(py, self.lines, own, !own)?,
        }
        self.running = true;
        if own {
            // SAFETY: the interpreter is held.
            let thread = unsafe { (*self.lines).threads.current(|| None, |_| false) };
            let cost = unsafe { (*self.lines).cost };
            thread.get_or_insert_with(|| ThreadLines::new(Share::Own, cost));
        }
        Ok(())
    }

    /// While it runs, writes the lines of all threads into a file of line_profiler's every so often, so that a crash leaves
    /// them.
    fn keep(&mut self, path: PathBuf, every_s: f64) {
        // SAFETY: the interpreter is held.
        let lines = unsafe { &mut *self.lines };
        let (kept, due) = PeriodicFile::new(path, (every_s.max(0.0) * 1e9) as u64);
        (lines.kept, lines.due) = (Some(kept), due);
    }

    /// Ends, in all threads; whether no one had taken our place.
    fn stop(&mut self, py: Python<'_>) -> PyResult<bool> {
        let now = ticks::now();
        if !self.running {
            return Ok(true);
        }
        self.running = false;
        // SAFETY: the interpreter is held. The end of the run writes it all.
        unsafe { ((*self.lines).kept, (*self.lines).due) = (None, u64::MAX) };
        // SAFETY: the interpreter is held.
        for thread in unsafe { (*self.lines).threads.all() }.flatten() {
            thread.end_all(now);
        }
        let own = self.own;
        match self.tool.take() {
            Some(tool) => {
                if let Some(api) = monitoring::api(py) {
                    // SAFETY: the interpreter is held.
                    let codes = unsafe { (*self.lines).chosen(py) };
                    for code in codes {
                        tool.set_local_events(&api, &code, 0)?;
                    }
                }
                tool.release(py)
            }
            None => legacy::stop_lines(py, own, !own),
        }
    }

    /// With `own`: this thread's lines are timed no more, and forgotten. The last thread ends it all.
    fn stop_here(&mut self, py: Python<'_>) -> PyResult<bool> {
        // SAFETY: the interpreter is held.
        let others = unsafe {
            if let Some(mine) = (*self.lines).threads.known() {
                *mine = None;
            }
            (*self.lines).threads.all().flatten().count()
        };
        if others == 0 { self.stop(py) } else { Ok(true) }
    }

    /// What this thread does from now on is not a line's time.
    fn pause(&self) {
        let now = ticks::now();
        // SAFETY: the interpreter is held.
        if let Some(Some(thread)) = unsafe { (*self.lines).threads.known() } {
            thread.pause(now);
        }
    }

    fn resume(&self) {
        // SAFETY: the interpreter is held.
        if let Some(Some(thread)) = unsafe { (*self.lines).threads.known() } {
            thread.resume(ticks::now());
        }
    }

    /// How many events there were; with `own`, in this thread.
    fn events(&self) -> u64 {
        // SAFETY: the interpreter is held.
        unsafe {
            let lines = &mut *self.lines;
            match lines.share {
                Share::Own => lines.threads.known().and_then(|t| t.as_ref()).map_or(0, ThreadLines::events),
                Share::Total => {
                    lines.passed
                        + lines.memory.as_ref().map_or(0, |(memory, _)| memory.events())
                        + lines.folded_events
                        + lines.threads.all().flatten().map(|t| t.events()).sum::<u64>()
                }
            }
        }
    }

    /// With `memory`: what each line did to the process's memory, those of a function together and in order.
    fn memory_rows(&self, py: Python<'_>) -> Vec<MemoryRow> {
        // SAFETY: the interpreter is held.
        let lines = unsafe { &mut *self.lines };
        let Some((memory, _)) = &lines.memory else { return Vec::new() };
        let mut rows: Vec<MemoryRow> = memory
            .sums()
            .map(|(function, line, growth)| {
                let (file, first, name) = lines.functions.describe(py, function);
                let name = lines.functions.qualified_name(py, function).unwrap_or(name);
                (file, first, name, line, growth.hits, growth.most_bytes, growth.increment_bytes)
            })
            .collect();
        rows.sort_unstable();
        rows
    }

    /// The lines that ran, those of a function together and in order; with `own`, of this thread.
    fn rows(&self, py: Python<'_>) -> Vec<Row> {
        let now = ticks::now();
        // SAFETY: the interpreter is held.
        let lines = unsafe { &mut *self.lines };
        let sums = match lines.share {
            Share::Own => {
                let mut sums = lines.folded.clone();
                if let Some(Some(thread)) = lines.threads.known() {
                    thread.settle(now);
                    add(&mut sums, thread.sums());
                }
                sums
            }
            Share::Total => lines.sums(now),
        };
        rows(&profile(py, &lines.functions, sums))
    }
}

impl LineTimer {
    fn set_local(&self, code: &Bound<'_, PyAny>, events: u32) -> PyResult<()> {
        match (&self.tool, monitoring::api(code.py())) {
            (Some(tool), Some(api)) if !self.own => tool.set_local_events(&api, code, events),
            _ => Ok(()),
        }
    }

    fn arm(&mut self, api: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = api.py();
        let mut tool = Tool::take(api)?;
        // SAFETY: the interpreter is held.
        unsafe { (*self.lines).disable = api.getattr("DISABLE")?.as_ptr() };
        let lines = self.lines.cast::<c_void>();
        let (own, judged) = (self.own, self.judge.is_some());
        let mut listen = || -> PyResult<u32> {
            let (mut local, mut global) = (0, 0);
            for (name, handler) in LOCAL {
                let number = tool.listen(api, name, handler, lines)?;
                local |= number;
                if judged && name == "PY_START" {
                    global |= number;
                }
            }
            for (name, handler) in GLOBAL {
                global |= tool.listen(api, name, handler, lines)?;
            }
            tool.set_events(api, if own { local | global } else { global })?;
            if !own {
                // SAFETY: the interpreter is held; what is watched is alive.
                for code in unsafe { (*self.lines).chosen(py) } {
                    tool.set_local_events(api, &code, local)?;
                }
            }
            // Another tool may have been in our place and had places in code stay away.
            api.call_method0("restart_events")?;
            Ok(local)
        };
        match listen() {
            Ok(local) => {
                // SAFETY: the interpreter is held.
                unsafe { (*self.lines).place = (tool.place(), local) };
                self.tool = Some(tool);
                Ok(())
            }
            Err(error) => {
                // The first failure is the one to tell.
                let _ = tool.release(py);
                Err(error)
            }
        }
    }
}

impl Drop for LineTimer {
    fn drop(&mut self) {
        Python::attach(|py| {
            // There is no one left to tell.
            let _ = self.stop(py);
            legacy::forget_lines(self.lines);
            // SAFETY: no one listens with it any more. A thread that asks the judge comes back to it, so then it stays.
            unsafe {
                if (*self.lines).judging == 0 {
                    drop(Box::from_raw(self.lines));
                }
            }
        });
    }
}

fn rows(profile: &Profile) -> Vec<Row> {
    let text = |id| profile.stacks.text(id).to_owned();
    let mut rows: Vec<Row> = profile
        .lines
        .iter()
        .map(|row| {
            let frame = profile.stacks.get(row.function);
            (text(frame.file), frame.line, text(frame.name), row.line, row.hits, row.ns.0)
        })
        .collect();
    rows.sort_unstable();
    rows
}
