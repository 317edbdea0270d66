//! Who hears of every call: the same for what counts calls and what writes them.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr};

use pyo3::ffi;

/// Hears of calls. Only holders of the interpreter reach it.
pub(super) trait CallListener: Sized + 'static {
    /// What does not happen if another tool has the place, before CPython 3.12.
    const REFUSED: &'static str;

    /// Where it is found before CPython 3.12.
    fn listening() -> &'static ActiveListener<Self>;

    /// What `sys.monitoring` gives for a first argument that is not there. Borrowed from it, and never freed.
    fn missing(&self) -> *mut ffi::PyObject;

    fn is_over(&self) -> bool {
        false
    }

    /// It listens at this place of `sys.monitoring`.
    fn takes_place(&mut self, _place: u8) {}

    /// A function of Python's starts or goes on.
    ///
    /// # Safety
    /// `code` is alive, and the caller holds the interpreter.
    unsafe fn enter(&mut self, code: *mut ffi::PyObject);

    /// A C function is called.
    ///
    /// # Safety
    /// As above; `key` is that of `callable`.
    unsafe fn enter_c(&mut self, key: usize, callable: *mut ffi::PyObject);

    /// A function ends or pauses.
    ///
    /// # Safety
    /// The caller holds the interpreter.
    unsafe fn leave(&mut self, key: usize);
}

/// Who listens now. There is one of each kind.
pub(super) struct ActiveListener<L> {
    /// It, or null.
    pub(super) listener: AtomicPtr<L>,
    pub(super) c_calls: AtomicBool,
    /// The recorder of it, borrowed: what `sys.getprofile` gives.
    pub(super) recorder: AtomicPtr<ffi::PyObject>,
}

impl<L> ActiveListener<L> {
    pub(super) const fn idle() -> ActiveListener<L> {
        ActiveListener {
            listener: AtomicPtr::new(null_mut()),
            c_calls: AtomicBool::new(true),
            recorder: AtomicPtr::new(null_mut()),
        }
    }
}
