//! `record_function`: a named region of the program. While nothing records it costs a check of two flags.
//! Here is who keeps regions and what happens when one is entered or left; the class that Python sees is in `class`.

mod class;

use std::cell::RefCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use stepscope_record::{NO_STACK, RegionToken, begin, end, enter as enter_thread, intern, leave};

use crate::tasks::task_here;

pub(crate) use class::add;

/// While PyTorch's profiler records, regions are its own: then they stand among its operators, and above kernels too.
/// An owned reference, or null; touched only by threads that hold the interpreter.
static TORCH: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());
static TORCH_RECORDS: AtomicBool = AtomicBool::new(false);
/// Regions are ours too while they are another's: JAX and TensorFlow keep theirs in a file that is only read later.
static BESIDE: AtomicBool = AtomicBool::new(false);
/// Regions of PyTorch's that ended while one was open that was entered after them.
static OVERLAPPING: AtomicU64 = AtomicU64::new(0);
/// Asked where a region is entered, as a number from [`number_of_text`]. An owned reference, or null, as above.
static STACKS: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());

const NO_REGION: i64 = i64::MIN;
/// Names are mostly literals, the same object each time: this many are found by address.
const MAX_KNOWN: usize = 256;

type Vectorcall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// A name, and its number in the log.
type NumberedName = (Py<PyString>, u32);

thread_local! {
    static NAMES: RefCell<Vec<Option<NumberedName>>> = const { RefCell::new(Vec::new()) };
}

/// Regions are PyTorch's while `make` is given: what `make(name)` returns is entered instead, or `beside` ours, unless it
/// is None.
#[pyfunction]
#[pyo3(signature = (make, beside = false))]
pub(crate) fn set_torch_regions(py: Python<'_>, make: Option<Py<PyAny>>, beside: bool) {
    BESIDE.store(beside, Ordering::Relaxed);
    TORCH_RECORDS.store(make.is_some(), Ordering::Relaxed);
    exchange(py, &TORCH, make);
}

/// How many regions of PyTorch's ended out of order since the last call: as PyTorch has them, they cut each other.
#[pyfunction]
pub(crate) fn take_overlapping() -> u64 {
    OVERLAPPING.swap(0, Ordering::Relaxed)
}

/// Regions that are recorded ask `note()` for the number of the stack they are entered from, while it is given.
#[pyfunction]
#[pyo3(signature = (note))]
pub(crate) fn set_region_stacks(py: Python<'_>, note: Option<Py<PyAny>>) {
    exchange(py, &STACKS, note);
}

/// The number of a text in the log: the same one for equal texts.
#[pyfunction]
pub(crate) fn number_of_text(text: &str) -> u32 {
    intern(text)
}

fn exchange(py: Python<'_>, place: &AtomicPtr<ffi::PyObject>, new: Option<Py<PyAny>>) {
    let old = place.swap(new.map_or(null_mut(), Py::into_ptr), Ordering::Relaxed);
    if !old.is_null() {
        // SAFETY: it was an owned reference, and no one else has it any more.
        drop(unsafe { Bound::from_owned_ptr(py, old) });
    }
}

/// Whether anyone keeps regions.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    TORCH_RECORDS.load(Ordering::Relaxed) || stepscope_record::is_recording()
}

pub(crate) fn forget_after_fork() {
    TORCH_RECORDS.store(false, Ordering::Relaxed);
    NAMES.with_borrow_mut(Vec::clear);
}

/// The object in memory. Python zeroes it; `name` is set before anyone sees it.
#[repr(C)]
struct Region {
    head: ffi::PyObject,
    vectorcall: Option<Vectorcall>,
    /// Owned; a string.
    name: *mut ffi::PyObject,
    /// Owned, or null.
    args: *mut ffi::PyObject,
    /// PyTorch's own region, while it is open. Owned, or null.
    theirs: *mut ffi::PyObject,
    start_ns: i64,
    depth: u32,
    stack: u32,
    task: u64,
    /// Whether PyTorch's own region counts among the open ones of its thread.
    counts: bool,
}

/// A region is entered: it is PyTorch's, ours, both, or no one's.
///
/// # Safety
/// `region` is an object of the class.
#[inline]
unsafe fn enter_region(py: Python<'_>, region: *mut Region) -> PyResult<()> {
    // SAFETY: as promised. It is touched by its address: what is called meanwhile may enter or leave it too.
    unsafe {
        // Otherwise it is ours too; or PyTorch has not taken it, since it would lose it or have it cut others.
        if TORCH_RECORDS.load(Ordering::Relaxed) && enter_theirs(py, region)? && (*region).counts {
            return Ok(());
        }
        if stepscope_record::is_recording() {
            // Before the clock is read: finding the stack is not the region's time.
            (*region).stack = stack_here(py)?;
            ((*region).start_ns, (*region).depth, (*region).task) = begin(task_here(py)).parts();
        }
        Ok(())
    }
}

/// The number of the stack that a region is entered from, if anyone wants to know it.
#[inline]
fn stack_here(py: Python<'_>) -> PyResult<u32> {
    let note = STACKS.load(Ordering::Relaxed);
    if note.is_null() {
        return Ok(NO_STACK);
    }
    // SAFETY: it is borrowed from what we own and held while it is called.
    let note = unsafe { Bound::from_borrowed_ptr(py, note) };
    match note.call0().and_then(|number| number.extract()) {
        // A program that is at its limits, of memory or recursion, goes on without. Ctrl-C is the program's.
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(NO_STACK),
        found => found,
    }
}

/// Whether PyTorch has taken the region.
///
/// # Safety
/// `region` is an object of this class.
unsafe fn enter_theirs(py: Python<'_>, region: *mut Region) -> PyResult<bool> {
    // SAFETY: `make` is borrowed from what we own and held while it is called; `name` is a string that the object owns.
    unsafe {
        let make = Bound::from_borrowed_ptr_or_opt(py, TORCH.load(Ordering::Relaxed));
        let Some(make) = make else { return Ok(false) };
        let theirs = make.call1((Bound::from_borrowed_ptr(py, (*region).name),))?;
        if theirs.is_none() {
            return Ok(false);
        }
        theirs.call_method0("__enter__")?;
        let old = std::mem::replace(&mut (*region).theirs, theirs.into_ptr());
        ffi::Py_XDECREF(old);
        (*region).counts = !BESIDE.load(Ordering::Relaxed);
        if (*region).counts {
            (*region).depth = enter_thread();
        }
        Ok(true)
    }
}

/// A region is left, by whomever it was entered.
///
/// # Safety
/// `region` is an object of the class.
#[inline]
unsafe fn leave_region(py: Python<'_>, region: *mut Region) -> PyResult<()> {
    // SAFETY: as above; `theirs` was owned by the object, and is owned here once taken out of it.
    unsafe {
        if (*region).start_ns != NO_REGION {
            let token = RegionToken::from_parts((*region).start_ns, (*region).depth, (*region).task);
            (*region).start_ns = NO_REGION;
            let name = (*region).name;
            end(token, (*region).stack, || number_of(py, name));
        }
        if !(*region).theirs.is_null() {
            // What was entered while PyTorch recorded is left, whatever records now.
            let theirs = std::mem::replace(&mut (*region).theirs, null_mut());
            if (*region).counts && !leave((*region).depth) {
                OVERLAPPING.fetch_add(1, Ordering::Relaxed);
            }
            let theirs = Bound::from_owned_ptr(py, theirs);
            theirs.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        }
        Ok(())
    }
}

/// The number of a name in the log.
///
/// # Safety
/// `name` is a string.
unsafe fn number_of(py: Python<'_>, name: *mut ffi::PyObject) -> u32 {
    let place = (name as usize >> 4) % MAX_KNOWN;
    NAMES.with_borrow_mut(|names| {
        if names.is_empty() {
            names.resize_with(MAX_KNOWN, || None);
        }
        match &names[place] {
            Some((known, number)) if known.as_ptr() == name => *number,
            _ => {
                // SAFETY: as promised.
                let name = unsafe { Bound::from_borrowed_ptr(py, name).cast_into_unchecked::<PyString>() };
                let number = intern(&name.to_string_lossy());
                names[place] = Some((name.unbind(), number));
                number
            }
        }
    })
}
