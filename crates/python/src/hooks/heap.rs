//! `MemoryTracker`: who allocates memory, what is alive, and what was at the peak.
//!
//! Python's allocators are asked through their own hooks ([`allocators`]), the system's through the libraries that call
//! it ([`libraries`]). Both tell [`state`], which looks at the Python stack of the thread and counts.

mod allocators;
mod filter;
mod libraries;
mod native;
mod state;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use stepscope_model::{Document, Profile};
use stepscope_record::heap::{CodePosition, HeapEnd, LineMemory, NamedLine, NoName};

use super::frames;
use super::symbols;
use crate::errors;
use crate::trace::NativeTrace;
use allocators::Access;

pub(super) use state::live_bytes;

/// What is outside the limited API, found by name.
struct CPythonFunctions {
    access: Access,
    holds_interpreter: unsafe extern "C" fn() -> i32,
    line_at: unsafe extern "C" fn(*mut ffi::PyObject, i32) -> i32,
}

static FUNCTIONS: OnceLock<Option<CPythonFunctions>> = OnceLock::new();
/// There is one allocator, and one who tracks it.
static TAKEN: AtomicBool = AtomicBool::new(false);
static WATCHES_FORKS: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
fn find() -> Option<CPythonFunctions> {
    let process = libloading::os::unix::Library::this();
    // SAFETY: these are functions with these types in every CPython since 3.9, and they live as long as the process.
    unsafe {
        Some(CPythonFunctions {
            access: Access {
                get: *process.get(b"PyMem_GetAllocator\0").ok()?,
                set: *process.get(b"PyMem_SetAllocator\0").ok()?,
            },
            holds_interpreter: *process.get(b"PyGILState_Check\0").ok()?,
            line_at: *process.get(b"PyCode_Addr2Line\0").ok()?,
        })
    }
}

#[cfg(not(unix))]
fn find() -> Option<CPythonFunctions> {
    None
}

fn found() -> PyResult<&'static CPythonFunctions> {
    FUNCTIONS.get_or_init(find).as_ref().ok_or_else(|| {
        errors::stepscope(
            "memory cannot be tracked: this Python does not have the functions of CPython".to_owned(),
            Some("use CPython 3.9 to 3.13 on Linux".to_owned()),
        )
    })
}

/// Whether the thread that calls holds the interpreter.
///
/// # Safety
/// Python has not ended.
unsafe fn holds_interpreter() -> bool {
    match FUNCTIONS.get() {
        // SAFETY: as promised.
        Some(Some(found)) => unsafe { (found.holds_interpreter)() != 0 },
        _ => false,
    }
}

/// File, first line and name of a function; line, hits, the most in memory after it and what it added.
type LineOfMemory = (String, u32, String, u32, u64, u64, i64);

/// Tracks allocations between `start` and `stop`: one in `sample_bytes` bytes on average, or all of them with 0.
#[pyclass(module = "stepscope._native")]
pub(crate) struct MemoryTracker {
    sample_bytes: u64,
    running: bool,
    displaced: bool,
    process: u32,
    done: Option<Box<state::HeapTracker>>,
}

// SAFETY: only holders of the interpreter reach it.
unsafe impl Send for MemoryTracker {}
// SAFETY: as above.
unsafe impl Sync for MemoryTracker {}

#[pymethods]
impl MemoryTracker {
    #[new]
    #[pyo3(signature = (sample_bytes=0))]
    fn new(sample_bytes: u64) -> MemoryTracker {
        MemoryTracker {
            sample_bytes,
            running: false,
            displaced: false,
            process: std::process::id(),
            done: None,
        }
    }

    #[getter]
    fn running(&self) -> bool {
        self.running
    }

    /// Whether someone took our place before the end, so that allocations of Python's are missing.
    #[getter]
    fn displaced(&self) -> bool {
        self.displaced
    }

    #[getter]
    fn live_bytes(&self) -> u64 {
        state::live_bytes()
    }

    /// Begins, in all threads. What was tracked before is forgotten.
    fn start(&mut self, py: Python<'_>) -> PyResult<()> {
        if symbols::is_free_threaded(py)? {
            return Err(errors::stepscope(
                "memory cannot be tracked in a free-threaded Python".to_owned(),
                Some("use the build of Python with the global interpreter lock".to_owned()),
            ));
        }
        let found = found()?;
        frames::check(py)?;
        if TAKEN.swap(true, Ordering::Relaxed) {
            return Err(errors::stepscope(
                "memory is being tracked already".to_owned(),
                Some("stop the other tracker first; there is one allocator for all".to_owned()),
            ));
        }
        self.let_go();
        self.process = std::process::id();
        if !WATCHES_FORKS.swap(true, Ordering::Relaxed) {
            // SAFETY: the function does nothing but set flags.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        }
        state::begin(self.sample_bytes);
        // SAFETY: the interpreter is held, and `TAKEN` says that no hooks are in.
        unsafe { allocators::install(found.access) };
        if libraries::can_patch() {
            libraries::patch(native::hooks());
        }
        self.running = true;
        Ok(())
    }

    /// Ends, and keeps what was tracked.
    fn stop(&mut self) -> PyResult<()> {
        if !std::mem::replace(&mut self.running, false) {
            return Ok(());
        }
        let tracked = state::end();
        if libraries::can_patch() {
            libraries::restore(native::hooks());
        }
        // SAFETY: the interpreter is held.
        self.displaced |= !unsafe { allocators::remove(found()?.access) };
        TAKEN.store(false, Ordering::Relaxed);
        self.done = tracked.map(Box::new).filter(|_| self.process == std::process::id());
        Ok(())
    }

    /// What was tracked, or until now what is, to be asked about. Places in files whose names begin with one of `hidden`
    /// are left out of stacks, and below the first of them all that called it; `lines` says what lines did to memory.
    #[pyo3(signature = (hidden, lines=Vec::new(), path=PathBuf::new()))]
    fn trace(
        &mut self,
        py: Python<'_>,
        hidden: Vec<String>,
        lines: Vec<LineOfMemory>,
        path: PathBuf,
    ) -> NativeTrace {
        let mut profile = self.profile(py, &hidden, lines);
        profile.source.format = "stepscope memory".to_owned();
        profile.source.path = path.display().to_string();
        NativeTrace::from_document(Document::Profile(profile), path)
    }

    /// Writes the same to a file.
    #[pyo3(signature = (path, hidden, lines=Vec::new()))]
    fn write(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        hidden: Vec<String>,
        lines: Vec<LineOfMemory>,
    ) -> PyResult<()> {
        let profile = self.profile(py, &hidden, lines);
        py.detach(|| {
            let mut file = BufWriter::new(File::create(&path)?);
            stepscope_formats::write_memory(&profile, &mut file)?;
            file.flush()
        })?;
        Ok(())
    }
}

impl MemoryTracker {
    fn end(&mut self) -> Option<HeapEnd> {
        let (sample_bytes, running) = (self.sample_bytes, self.running);
        let copy = |tracked: &mut state::HeapTracker| {
            // SAFETY: the interpreter is held.
            unsafe { tracked.hold_waiting() };
            let now_ns = tracked.end_ns();
            HeapEnd::copy(&tracked.heap, sample_bytes, now_ns, running)
        };
        match &mut self.done {
            Some(done) => Some(copy(done)),
            None if running => state::with(|tracked| tracked.as_mut().map(copy)),
            None => None,
        }
    }

    fn profile(&mut self, py: Python<'_>, hidden: &[String], lines: Vec<LineOfMemory>) -> Profile {
        let Some(end) = self.end() else { return Profile::default() };
        let lines: Vec<LineMemory> = lines
            .into_iter()
            .map(|(file, first, name, line, hits, rss_bytes, increment_bytes)| LineMemory {
                function: NamedLine { file, name, line: first },
                line,
                hits,
                rss_bytes,
                increment_bytes,
            })
            .collect();
        end.profile(|place| named(py, place, hidden), &lines)
    }

    fn let_go(&mut self) {
        if let Some(mut done) = self.done.take() {
            // SAFETY: the interpreter is held.
            unsafe { done.let_go() };
        }
    }
}

impl Drop for MemoryTracker {
    fn drop(&mut self) {
        Python::attach(|_| {
            // There is no one left to tell.
            let _ = self.stop();
            self.let_go();
        });
    }
}

/// The names of a place; none for one of ours.
fn named(py: Python<'_>, place: CodePosition, hidden: &[String]) -> Result<NamedLine, NoName> {
    // SAFETY: code that stacks name is held on to.
    let code = unsafe { Bound::from_borrowed_ptr(py, place.code as *mut ffi::PyObject) };
    let text = |name: &str| code.getattr(name).map(|text| super::functions::lossy(&text));
    let file = text("co_filename").unwrap_or_default();
    match hidden.iter().position(|start| file.starts_with(start)) {
        Some(0) => return Err(NoName::Start),
        Some(_) => return Err(NoName::Hidden),
        None => {}
    }
    let name = text("co_qualname").or_else(|_| text("co_name")).unwrap_or_default();
    // SAFETY: as above, and the interpreter is held.
    let line = found().map_or(0, |found| unsafe { (found.line_at)(code.as_ptr(), place.at) });
    Ok(NamedLine { file, name, line: u32::try_from(line).unwrap_or(0) })
}

/// In a forked child: nothing is tracked there, and nothing is counted.
unsafe extern "C" fn in_child() {
    state::in_child();
}
