//! The calls that were counted, by thread.

use pyo3::ffi;
use pyo3::prelude::*;
use stepscope_formats::write_pstats;
use stepscope_model::Profile;
use stepscope_record::calls::{CallTotals, FunctionId, ThreadCalls};

use super::call_listener::{ActiveListener, CallListener};
use super::functions::Functions;
use super::periodic_file::PeriodicFile;
use super::threads::Threads;
use super::ticks;

/// What is counted while the recorder runs. Only holders of the interpreter touch it.
pub(super) struct CallCounter {
    pub(super) threads: Threads<ThreadCalls>,
    pub(super) functions: Functions,
    pub(super) totals: CallTotals,
    missing: *mut ffi::PyObject,
    /// Where it is written meanwhile, without functions of these files, and when that is due.
    kept: Option<(PeriodicFile, Vec<String>)>,
    due: u64,
}

impl CallCounter {
    pub(super) fn new(missing: *mut ffi::PyObject) -> CallCounter {
        CallCounter {
            threads: Threads::new(),
            functions: Functions::default(),
            totals: CallTotals::default(),
            missing,
            kept: None,
            due: u64::MAX,
        }
    }

    /// Writes what was counted into a file now and then.
    pub(super) fn keep(&mut self, kept: PeriodicFile, due: u64, hidden: Vec<String>) {
        (self.kept, self.due) = (Some((kept, hidden)), due);
    }

    /// The end of the run writes it all.
    pub(super) fn keep_no_more(&mut self) {
        (self.kept, self.due) = (None, u64::MAX);
    }

    /// All calls as a profile, without functions of files whose names begin with one of `hidden`, and of this module.
    pub(super) fn profile(
        &self,
        totals: &CallTotals,
        hidden: &[String],
        describe: impl Fn(&Functions, FunctionId) -> (String, u32, String),
        is_ours: impl Fn(&Functions, FunctionId) -> bool,
    ) -> Profile {
        totals.profile(ticks::scale(), |id| {
            let name = describe(&self.functions, id);
            let ours = is_ours(&self.functions, id) || hidden.iter().any(|start| name.0.starts_with(start));
            (!ours).then_some(name)
        })
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[cold]
    unsafe fn write(&mut self, now: u64) {
        let Some((kept, hidden)) = self.kept.take() else { return };
        // SAFETY: as promised.
        let py = unsafe { Python::assume_attached() };
        let mut totals = self.totals.clone();
        for thread in self.threads.all() {
            let mut open = thread.clone();
            open.end_all(now);
            totals.add(&open);
        }
        let describe = |functions: &Functions, id: FunctionId| functions.describe_quietly(py, id);
        let profile = self.profile(&totals, &hidden, describe, |functions, id| functions.is_ours(py, id));
        self.due = kept.write(|mut out| write_pstats(&profile, &profile.calls, &mut out));
        self.kept = Some((kept, hidden));
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    unsafe fn thread(&mut self) -> (&mut ThreadCalls, &mut Functions) {
        let CallCounter { threads, functions, totals, .. } = self;
        // SAFETY: as promised.
        let thread = unsafe {
            threads.current(ThreadCalls::default, |idle| {
                if idle.is_idle() {
                    totals.add(idle);
                }
                idle.is_idle()
            })
        };
        (thread, functions)
    }
}

impl CallListener for CallCounter {
    const REFUSED: &'static str = "calls are not counted";

    fn listening() -> &'static ActiveListener<CallCounter> {
        static LISTENING: ActiveListener<CallCounter> = ActiveListener::idle();
        &LISTENING
    }

    fn missing(&self) -> *mut ffi::PyObject {
        self.missing
    }

    #[inline]
    unsafe fn enter(&mut self, code: *mut ffi::PyObject) {
        // SAFETY: as promised.
        unsafe {
            let (thread, functions) = self.thread();
            thread.enter(code as usize, || functions.code(code), ticks::now);
        }
    }

    #[inline]
    unsafe fn enter_c(&mut self, key: usize, callable: *mut ffi::PyObject) {
        // SAFETY: as promised.
        unsafe {
            let (thread, functions) = self.thread();
            thread.enter(key, || functions.c_function(key, callable), ticks::now);
        }
    }

    #[inline]
    unsafe fn leave(&mut self, key: usize) {
        let now = ticks::now();
        // SAFETY: as promised.
        unsafe {
            self.thread().0.leave(key, now);
            if now >= self.due {
                self.write(now);
            }
        }
    }
}
