//! The calls that were counted, by thread.

use pyo3::ffi;
use stepscope_record::calls::{CallTotals, ThreadCalls};

use super::functions::Functions;
use super::threads::Threads;
use super::ticks;

/// What is counted while the recorder runs. Only holders of the interpreter touch it.
pub(super) struct Calls {
    pub(super) threads: Threads<ThreadCalls>,
    pub(super) functions: Functions,
    pub(super) totals: CallTotals,
    /// What `sys.monitoring` gives for a first argument that is not there. Borrowed from it, and never freed.
    pub(super) missing: *mut ffi::PyObject,
}

impl Calls {
    pub(super) fn new(missing: *mut ffi::PyObject) -> Calls {
        Calls {
            threads: Threads::new(),
            functions: Functions::default(),
            totals: CallTotals::default(),
            missing,
        }
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    unsafe fn thread(&mut self) -> (&mut ThreadCalls, &mut Functions) {
        let Calls { threads, functions, totals, .. } = self;
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

    /// A function of Python's starts or goes on.
    ///
    /// # Safety
    /// `code` is alive, and the caller holds the interpreter.
    #[inline]
    pub(super) unsafe fn enter(&mut self, code: *mut ffi::PyObject) {
        // SAFETY: as promised.
        unsafe {
            let (thread, functions) = self.thread();
            thread.enter(code as usize, || functions.code(code), ticks::now);
        }
    }

    /// A C function is called.
    ///
    /// # Safety
    /// As above; `key` is that of `callable`.
    #[inline]
    pub(super) unsafe fn enter_c(&mut self, key: usize, callable: *mut ffi::PyObject) {
        // SAFETY: as promised.
        unsafe {
            let (thread, functions) = self.thread();
            thread.enter(key, || functions.c_function(key, callable), ticks::now);
        }
    }

    /// A function ends or pauses.
    ///
    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    pub(super) unsafe fn leave(&mut self, key: usize) {
        let now = ticks::now();
        // SAFETY: as promised.
        unsafe { self.thread().0.leave(key, now) };
    }
}
