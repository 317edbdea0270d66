//! `record_function`: a named region of the program. While nothing records it costs a look at two flags.
//! It is written against Python's C API by hand, since it is the one thing that stands inside users' innermost loops. The
//! rest of the crate is written with the bindings.
//! Most of what a `with` statement costs is two bound methods, made to be called once. So the class's `__enter__` and
//! `__exit__` are descriptors that hand out the region itself, and a region knows by the number of arguments what it is
//! called as: none to be entered, one to decorate, three to be left.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use stepscope_record::{NO_STACK, RegionToken, begin, end, enter as enter_thread, intern, leave};

use crate::tasks::task_here;

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

/// No region is open.
const CLOSED: i64 = i64::MIN;
/// Names are mostly literals, the same object each time: this many are found by address.
const MAX_KNOWN: usize = 256;
// What every Python since 3.9 has, and the limited API names only later.
/// A method that is given its arguments as an array.
const FASTCALL: c_int = 0x80;
/// A class whose objects say themselves how they are called, at `__vectorcalloffset__`.
const HAVE_VECTORCALL: std::ffi::c_ulong = 1 << 11;
/// Set in a count of arguments if the place before the first is free.
const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);
/// A member of the size of a pointer.
const SSIZE: c_int = 19;
/// A member that is not written.
const READ_ONLY: c_int = 1;

type Vectorcall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// A name, and its number in the log.
type Known = (Py<PyString>, u32);

thread_local! {
    static NAMES: RefCell<Vec<Option<Known>>> = const { RefCell::new(Vec::new()) };
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
        // SAFETY: it was an owned reference, and nobody else has it any more.
        drop(unsafe { Bound::from_owned_ptr(py, old) });
    }
}

/// Whether regions are kept by anybody.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    TORCH_RECORDS.load(Ordering::Relaxed) || stepscope_record::is_recording()
}

pub(crate) fn forget_after_fork() {
    TORCH_RECORDS.store(false, Ordering::Relaxed);
    NAMES.with_borrow_mut(Vec::clear);
}

/// The object in memory. Python zeroes it; `name` is set before anybody sees it.
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

/// Adds the class to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    const DOC: &CStr = c"record_function(name, args=None)\n--\n\nA named region: `with record_function(\"forward\"): ...`, or `@record_function(\"forward\")`.\n\nRegions nest, in threads and tasks too; a decorated coroutine or generator is a region while it runs.";
    static METHODS: Shared<[ffi::PyMethodDef; 3]> = Shared([
        ffi::PyMethodDef {
            ml_name: c"__enter__".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: enter },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: std::ptr::null(),
        },
        ffi::PyMethodDef {
            ml_name: c"__exit__".as_ptr(),
            // SAFETY: with FASTCALL Python calls it with the four arguments it has.
            ml_meth: unsafe {
                std::mem::transmute::<
                    unsafe extern "C" fn(
                        *mut ffi::PyObject,
                        *const *mut ffi::PyObject,
                        ffi::Py_ssize_t,
                    ) -> *mut ffi::PyObject,
                    ffi::PyMethodDefPointer,
                >(exit)
            },
            ml_flags: FASTCALL,
            ml_doc: std::ptr::null(),
        },
        ffi::PyMethodDef::zeroed(),
    ]);
    static FIELDS: Shared<[ffi::PyGetSetDef; 3]> = Shared([
        field(c"name", get_name),
        field(c"args", get_args),
        ffi::PyGetSetDef {
            name: std::ptr::null(),
            get: None,
            set: None,
            doc: std::ptr::null(),
            closure: null_mut(),
        },
    ]);
    static MEMBERS: Shared<[ffi::PyMemberDef; 2]> = Shared([
        ffi::PyMemberDef {
            name: c"__vectorcalloffset__".as_ptr(),
            type_code: SSIZE,
            offset: std::mem::offset_of!(Region, vectorcall) as ffi::Py_ssize_t,
            flags: READ_ONLY,
            doc: std::ptr::null(),
        },
        ffi::PyMemberDef { name: std::ptr::null(), type_code: 0, offset: 0, flags: 0, doc: std::ptr::null() },
    ]);
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_new, pfunc: new as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_dealloc, pfunc: dealloc as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_call, pfunc: call as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_repr, pfunc: repr as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_methods, pfunc: METHODS.0.as_ptr() as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_members, pfunc: MEMBERS.0.as_ptr() as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_getset, pfunc: FIELDS.0.as_ptr() as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_doc, pfunc: DOC.as_ptr() as *mut c_void },
        ffi::PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"stepscope.record_function".as_ptr(),
        basicsize: size_of::<Region>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the description is complete, and what it points to is static or read before this returns.
    let class = unsafe { Bound::from_owned_ptr_or_err(module.py(), ffi::PyType_FromSpec(&raw mut spec))? };
    let itself = itself_class(module.py())?;
    for name in ["__enter__", "__exit__"] {
        let method = class.getattr(name)?;
        // SAFETY: the class refuses to make objects, so they are made here; the reference becomes theirs.
        let descriptor = unsafe {
            let made = ffi::PyType_GenericAlloc(itself.as_ptr().cast(), 0);
            let made = Bound::from_owned_ptr_or_err(module.py(), made)?;
            (*made.as_ptr().cast::<Itself>()).method = method.into_ptr();
            made
        };
        class.setattr(name, descriptor)?;
    }
    module.add("record_function", class)
}

/// A descriptor that hands out the object itself; of the class, the method.
#[repr(C)]
struct Itself {
    head: ffi::PyObject,
    /// Owned, and never given back: there are two, and they live as long as the process.
    method: *mut ffi::PyObject,
}

fn itself_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_new, pfunc: no_new as *mut c_void },
        ffi::PyType_Slot { slot: ffi::Py_tp_descr_get, pfunc: get_itself as *mut c_void },
        ffi::PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"stepscope._native.Itself".as_ptr(),
        basicsize: size_of::<Itself>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: as above.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)) }
}

/// Only the two that are made with the module have a method to hand out.
unsafe extern "C" fn no_new(
    _class: *mut ffi::PyTypeObject,
    _args: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this.
    unsafe { guarded(|_| Err(PyTypeError::new_err("cannot create instances of this class"))) }
}

unsafe extern "C" fn get_itself(
    descriptor: *mut ffi::PyObject,
    object: *mut ffi::PyObject,
    _class: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with a descriptor of this class, and a region or nothing.
    unsafe {
        if object.is_null() || object == ffi::Py_None() {
            return shared((*descriptor.cast::<Itself>()).method);
        }
        shared(object)
    }
}

/// A region is called: entered, left, or put around a function.
unsafe extern "C" fn vectorcall(
    object: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: usize,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class and that many arguments.
    unsafe {
        match count & !ARGUMENTS_OFFSET {
            _ if !keywords.is_null() && ffi::PyTuple_Size(keywords) > 0 => guarded(|_| Err(wrong_call())),
            0 => enter(object, null_mut()),
            1 => guarded(|py| decorate(py, object, *arguments)),
            3 => exit(object, arguments, 3),
            _ => guarded(|_| Err(wrong_call())),
        }
    }
}

fn wrong_call() -> PyErr {
    PyTypeError::new_err("record_function(name) decorates one function: @record_function(\"forward\")")
}

/// Tables that Python reads and nobody writes.
struct Shared<T>(T);
// SAFETY: they are never written.
unsafe impl<T> Sync for Shared<T> {}

const fn field(name: &'static CStr, get: ffi::getter) -> ffi::PyGetSetDef {
    ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(get),
        set: None,
        doc: std::ptr::null(),
        closure: null_mut(),
    }
}

/// Runs what may fail; a failure becomes Python's exception and a null.
///
/// # Safety
/// The caller holds the interpreter.
unsafe fn guarded(work: impl FnOnce(Python<'_>) -> PyResult<*mut ffi::PyObject>) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    let py = unsafe { Python::assume_attached() };
    work(py).unwrap_or_else(|error| {
        error.restore(py);
        null_mut()
    })
}

unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with a class, a tuple, and a dict or null; new objects are zeroed.
    unsafe {
        let mut name = null_mut();
        let mut more = null_mut();
        if keywords.is_null() && ffi::PyTuple_Size(args) == 1 {
            name = ffi::PyTuple_GetItem(args, 0);
        }
        if name.is_null() || ffi::PyUnicode_Check(name) == 0 {
            let parsed = guarded(|py| {
                let tuple = Bound::from_borrowed_ptr(py, args).cast_into_unchecked::<PyTuple>();
                let dict =
                    Bound::from_borrowed_ptr_or_opt(py, keywords).map(|d| d.cast_into_unchecked::<PyDict>());
                (name, more) = parse(&tuple, dict.as_ref())?;
                Ok(class.cast())
            });
            if parsed.is_null() {
                return null_mut();
            }
        }
        let object = ffi::PyType_GenericAlloc(class, 0).cast::<Region>();
        if object.is_null() {
            return null_mut();
        }
        ffi::Py_INCREF(name);
        ffi::Py_XINCREF(more);
        (*object).vectorcall = Some(vectorcall);
        (*object).name = name;
        (*object).args = more;
        (*object).start_ns = CLOSED;
        object.cast()
    }
}

/// The arguments, borrowed from where they came.
fn parse(
    args: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<(*mut ffi::PyObject, *mut ffi::PyObject)> {
    let wrong = |words: &str| Err(PyTypeError::new_err(format!("record_function(name, args=None): {words}")));
    let mut found = [None, None];
    if args.len() > 2 {
        return wrong("takes at most two arguments");
    }
    for (place, value) in found.iter_mut().zip(args.iter()) {
        *place = Some(value);
    }
    for (key, value) in keywords.into_iter().flatten() {
        let at = match key.extract::<String>()?.as_str() {
            "name" => 0,
            "args" => 1,
            other => return wrong(&format!("there is no argument {other:?}")),
        };
        if found[at].replace(value).is_some() {
            return wrong("an argument is given twice");
        }
    }
    let [name, more] = found;
    match name {
        Some(name) if name.is_instance_of::<PyString>() => {
            let more = more.filter(|value| !value.is_none());
            // As PyTorch has it. And what is only ever a string cannot lead back here, so that regions need not be
            // seen by the garbage collector, nor be freed in chains.
            if more.as_ref().is_some_and(|value| !value.is_instance_of::<PyString>()) {
                return wrong("args is a string or None");
            }
            Ok((name.as_ptr(), more.map_or(null_mut(), |value| value.as_ptr())))
        }
        Some(_) => wrong("the name is a string"),
        None => wrong("a name is missing"),
    }
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: nobody refers to the object any more; its references are owned.
    unsafe {
        let region = object.cast::<Region>();
        ffi::Py_XDECREF((*region).name);
        ffi::Py_XDECREF((*region).args);
        ffi::Py_XDECREF((*region).theirs);
        let class = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(class.cast());
    }
}

unsafe extern "C" fn enter(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        let region = object.cast::<Region>();
        if TORCH_RECORDS.load(Ordering::Relaxed) {
            match enter_theirs(Python::assume_attached(), region) {
                Ok(true) if (*region).counts => return shared(object),
                // Ours too; or not of this region: PyTorch would lose it, or have it cut others.
                Ok(_) => {}
                Err(error) => return guarded(|_| Err(error)),
            }
        }
        if stepscope_record::is_recording() {
            // Before the clock is read: finding the stack is not the region's time.
            match stack_here() {
                Ok(stack) => (*region).stack = stack,
                Err(error) => return guarded(|_| Err(error)),
            }
            let task = task_here(Python::assume_attached());
            ((*region).start_ns, (*region).depth, (*region).task) = begin(task).parts();
        }
        shared(object)
    }
}

/// The number of the stack that a region is entered from, if anybody wants to know it.
///
/// # Safety
/// The caller holds the interpreter.
#[inline]
unsafe fn stack_here() -> PyResult<u32> {
    let note = STACKS.load(Ordering::Relaxed);
    if note.is_null() {
        return Ok(NO_STACK);
    }
    // SAFETY: as promised; it is borrowed from what we own and held while it is called.
    let (py, found) = unsafe {
        let py = Python::assume_attached();
        (py, Bound::from_borrowed_ptr(py, note).call0().and_then(|number| number.extract()))
    };
    match found {
        // A program that is at its limits, of memory or recursion, goes on without. Ctrl-C is the program's.
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(NO_STACK),
        found => found,
    }
}

/// One more reference.
///
/// # Safety
/// `object` is alive.
unsafe fn shared(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    unsafe { ffi::Py_INCREF(object) };
    object
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

unsafe extern "C" fn exit(
    object: *mut ffi::PyObject,
    _arguments: *const *mut ffi::PyObject,
    _count: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        let region = object.cast::<Region>();
        if (*region).start_ns != CLOSED {
            let token = RegionToken::from_parts((*region).start_ns, (*region).depth, (*region).task);
            (*region).start_ns = CLOSED;
            let py = Python::assume_attached();
            let name = (*region).name;
            end(token, (*region).stack, || number_of(py, name));
        }
        if !(*region).theirs.is_null() {
            // What was entered while PyTorch recorded is left, whatever records now.
            let theirs = std::mem::replace(&mut (*region).theirs, null_mut());
            if (*region).counts && !leave((*region).depth) {
                OVERLAPPING.fetch_add(1, Ordering::Relaxed);
            }
            let left = guarded(|py| {
                let theirs = Bound::from_owned_ptr(py, theirs);
                theirs.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
                Ok(object)
            });
            if left.is_null() {
                return null_mut();
            }
        }
        shared(ffi::Py_None())
    }
}

/// The way to be called for those who have a tuple.
unsafe extern "C" fn call(
    object: *mut ffi::PyObject,
    args: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class, a tuple, and a dict or null.
    unsafe {
        guarded(|py| {
            if !keywords.is_null() && ffi::PyDict_Size(keywords) > 0 {
                return Err(wrong_call());
            }
            let given = Bound::from_borrowed_ptr(py, args).cast_into_unchecked::<PyTuple>();
            let given: Vec<_> = given.iter().map(|value| value.as_ptr()).collect();
            Ok(vectorcall(object, given.as_ptr(), given.len(), null_mut()))
        })
    }
}

/// Each call of the function is a region; of coroutines and generators too.
///
/// # Safety
/// `object` is of this class and `function` is alive.
unsafe fn decorate(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    function: *mut ffi::PyObject,
) -> PyResult<*mut ffi::PyObject> {
    let record_calls = py.import("stepscope._decorate")?.getattr("record_calls")?;
    // SAFETY: as promised; the name is a string that the object owns.
    let (name, function) = unsafe {
        let name = (*object.cast::<Region>()).name;
        (Bound::from_borrowed_ptr(py, name), Bound::from_borrowed_ptr(py, function))
    };
    Ok(record_calls.call1((name, function))?.into_ptr())
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        guarded(|py| {
            let name = Bound::from_borrowed_ptr(py, (*object.cast::<Region>()).name);
            Ok(PyString::new(py, &format!("record_function({})", name.repr()?)).into_any().into_ptr())
        })
    }
}

unsafe extern "C" fn get_name(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe { shared((*object.cast::<Region>()).name) }
}

unsafe extern "C" fn get_args(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        let args = (*object.cast::<Region>()).args;
        shared(if args.is_null() { ffi::Py_None() } else { args })
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
