//! Which code is watched, and what its lines took in each thread.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pyo3::ffi;
use pyo3::prelude::*;
use stepscope_formats::write_lprof;
use stepscope_record::calls::FunctionId;
use stepscope_record::heap::{LineMemories, Rss};
use stepscope_record::line_times::{Share, ThreadLines};

use super::functions::Functions;
use super::heap::live_bytes;
use super::line_profile::{LineSums, add, profile};
use super::monitoring;
use super::periodic_file::PeriodicFile;
use super::symbols::this_thread;
use super::threads::Threads;
use super::ticks;

/// Set in the flags of code that can pause: generators, coroutines, asynchronous generators.
const CAN_PAUSE: u32 = 0x20 | 0x80 | 0x200;

/// What is known about a code object.
pub(super) struct WatchedCode {
    /// How many ask for its lines; in code that no one chose, 1 if it is the user's.
    pub(super) by: u32,
    function: FunctionId,
    first_line: u32,
    /// Where code can pause, the line of each place in it: (end, line), in order.
    places: Vec<(u32, u32)>,
}

/// What is timed while the timer runs. Only holders of the interpreter touch it.
pub(super) struct Lines {
    pub(super) share: Share,
    pub(super) threads: Threads<Option<ThreadLines>>,
    pub(super) functions: Functions,
    /// Of threads that are gone.
    pub(super) folded: LineSums,
    pub(super) folded_events: u64,
    /// Events of code that is not watched, which come too before Python 3.12.
    pub(super) passed: u64,
    pub(super) watched: HashMap<usize, WatchedCode, RandomState>,
    /// Asked once about every code object whether its lines are timed. Owned by the timer; null if functions are chosen.
    pub(super) judge: *mut ffi::PyObject,
    /// Threads that are asking it.
    pub(super) judging: u32,
    /// Our place in `sys.monitoring`, and the events of code that is watched there.
    pub(super) place: (u8, u32),
    /// What lines do to memory, if that is asked instead of their time.
    pub(super) memory: Option<(LineMemories, Rss)>,
    /// Ticks that an event costs.
    pub(super) cost: u64,
    /// What is returned to hear no more of a place. Borrowed from `sys.monitoring`, and never freed.
    pub(super) disable: *mut ffi::PyObject,
    /// Where it is written meanwhile, and when that is due.
    pub(super) kept: Option<PeriodicFile>,
    pub(super) due: u64,
}

impl Lines {
    /// Whether lines of this code are timed. The first time, that may run Python.
    ///
    /// # Safety
    /// Both are alive, no one else has hold of `lines`, and the caller holds the interpreter.
    #[inline]
    pub(super) unsafe fn watches(lines: *mut Lines, code: *mut ffi::PyObject) -> bool {
        // SAFETY: as promised.
        unsafe {
            match (*lines).watched.get(&(code as usize)) {
                Some(watched) => watched.by > 0,
                None if (*lines).judge.is_null() => false,
                None => Lines::judge(lines, code),
            }
        }
    }

    #[cold]
    unsafe fn judge(lines: *mut Lines, code: *mut ffi::PyObject) -> bool {
        // SAFETY: as promised. While Python runs, another thread may come here: nothing is held meanwhile.
        unsafe {
            let py = Python::assume_attached();
            (*lines).judging += 1;
            let judge = Bound::from_borrowed_ptr(py, (*lines).judge);
            let object = Bound::from_borrowed_ptr(py, code);
            let verdict = judge.call1((&object,)).and_then(|verdict| verdict.is_truthy()).unwrap_or(false);
            let places = if verdict { places(&object).unwrap_or_default() } else { Vec::new() };
            let (place, events) = (*lines).place;
            if verdict
                && (*lines).share == Share::Total
                && let Some(api) = monitoring::api(py)
            {
                // If that fails its lines are missing, which is all that can be done in the middle of a program.
                let _ = api.call_method1("set_local_events", (place, &object, events));
            }
            (*lines).judging -= 1;
            (*lines).know(&object, u32::from(verdict), places);
            verdict
        }
    }

    /// Remembers code, and that so many more ask for its lines.
    pub(super) fn know(&mut self, code: &Bound<'_, PyAny>, by: u32, places: Vec<(u32, u32)>) {
        let key = code.as_ptr() as usize;
        let first_line = code.getattr("co_firstlineno").and_then(|line| line.extract()).unwrap_or(0);
        // SAFETY: it is alive, and whoever has it holds the interpreter.
        let function = unsafe { self.functions.code(code.as_ptr()) };
        self.watched.entry(key).or_insert(WatchedCode { by: 0, function, first_line, places }).by += by;
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    unsafe fn thread(&mut self) -> (Option<&mut ThreadLines>, &HashMap<usize, WatchedCode, RandomState>) {
        let Lines { share, threads, folded, folded_events, watched, cost, .. } = self;
        let (share, cost) = (*share, *cost);
        // SAFETY: as promised.
        let thread = unsafe {
            threads.current(
                // Where each moment is one line's, a thread has to ask for it.
                || (share == Share::Total).then(|| ThreadLines::new(share, cost)),
                |idle| match idle {
                    Some(idle) if share == Share::Total && idle.is_idle() => {
                        add(folded, idle.sums());
                        *folded_events += idle.events();
                        true
                    }
                    idle => idle.is_none(),
                },
            )
        };
        (thread.as_mut(), watched)
    }

    /// A function starts, or goes on in the middle of a line.
    ///
    /// # Safety
    /// `code` is watched and alive, and the caller holds the interpreter.
    pub(super) unsafe fn enter(&mut self, code: *mut ffi::PyObject, line: Option<u32>) {
        if let Some((memory, rss)) = &mut self.memory {
            let (key, thread) = (code as usize, this_thread());
            memory.enter(thread, key, about(&self.watched, key).0);
            if let Some(line) = line.filter(|_| monitoring::is_there()) {
                memory.line(thread, key, line, live_bytes(), ticks::now, || rss.read().unwrap_or(0));
            }
            return;
        }
        let now = ticks::now();
        // SAFETY: as promised.
        let (thread, watched) = unsafe { self.thread() };
        if let Some(thread) = thread {
            let key = code as usize;
            thread.enter(key, || about(watched, key), line, now);
        }
    }

    /// A line begins.
    ///
    /// # Safety
    /// As above.
    #[inline]
    pub(super) unsafe fn line(&mut self, code: *mut ffi::PyObject, line: u32) {
        if let Some((memory, rss)) = &mut self.memory {
            let ask = || rss.read().unwrap_or(0);
            memory.line(this_thread(), code as usize, line, live_bytes(), ticks::now, ask);
            return;
        }
        let now = ticks::now();
        // SAFETY: as promised.
        let (thread, watched) = unsafe { self.thread() };
        if let Some(thread) = thread {
            let key = code as usize;
            thread.line(key, || about(watched, key), line, now);
        }
        if now >= self.due {
            // SAFETY: as promised.
            unsafe { self.write(now) };
        }
    }

    /// The lines that ran by now, in all threads.
    pub(super) fn sums(&mut self, now: u64) -> LineSums {
        let mut sums = self.folded.clone();
        for thread in self.threads.all().flatten() {
            thread.settle(now);
            add(&mut sums, thread.sums());
        }
        sums
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[cold]
    unsafe fn write(&mut self, now: u64) {
        let Some(kept) = self.kept.take() else { return };
        let sums = self.sums(now);
        // SAFETY: as promised.
        let profile = profile(unsafe { Python::assume_attached() }, &self.functions, sums);
        self.due = kept.write(|mut out| write_lprof(&profile, &mut out));
        self.kept = Some(kept);
    }

    /// A function ends or pauses.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn leave(&mut self, code: *mut ffi::PyObject) {
        if let Some((memory, rss)) = &mut self.memory {
            let ask = || rss.read().unwrap_or(0);
            memory.leave(this_thread(), code as usize, live_bytes(), ticks::now, ask);
            return;
        }
        let now = ticks::now();
        // SAFETY: as promised.
        if let (Some(thread), _) = unsafe { self.thread() } {
            thread.leave(code as usize, now);
        }
    }

    /// The line of a place in code that pauses.
    pub(super) fn line_at(&self, code: *mut ffi::PyObject, place: u32) -> Option<u32> {
        let places = &self.watched.get(&(code as usize))?.places;
        places.get(places.partition_point(|(end, _)| *end <= place)).map(|(_, line)| *line)
    }
}

fn about(watched: &HashMap<usize, WatchedCode, RandomState>, key: usize) -> (FunctionId, u32) {
    watched.get(&key).map_or((FunctionId(u32::MAX), 0), |known| (known.function, known.first_line))
}

/// Where code can pause, which line each place in it is on.
pub(super) fn places(code: &Bound<'_, PyAny>) -> PyResult<Vec<(u32, u32)>> {
    if code.getattr("co_flags")?.extract::<u32>()? & CAN_PAUSE == 0 || !code.hasattr("co_lines")? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for place in code.call_method0("co_lines")?.try_iter()? {
        let (_, end, line) = place?.extract::<(u32, u32, Option<u32>)>()?;
        found.push((end, line.unwrap_or(0)));
    }
    Ok(found)
}

impl Lines {
    pub(super) fn chosen<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyAny>> {
        if self.share == Share::Own {
            return Vec::new();
        }
        let chosen = self.watched.iter().filter(|(_, known)| known.by > 0);
        // SAFETY: code that was watched is held on to.
        chosen.map(|(&key, _)| unsafe { Bound::from_borrowed_ptr(py, key as *mut ffi::PyObject) }).collect()
    }
}
