//! The class `record_function`, by its entry points for Python.
//! It is written against Python's C API by hand, since it is the one thing that is inside users' innermost loops. The
//! rest of the crate is written with the bindings.
//! Most of what a `with` statement costs is two bound methods, made to be called once. So the class's `__enter__` and
//! `__exit__` are descriptors that hand out the region itself, and a region knows by the number of arguments what it is
//! called as: none to be entered, one to decorate, three to be left.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::{NO_REGION, Region, enter_region, leave_region};

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
            (*made.as_ptr().cast::<SelfDescriptor>()).method = method.into_ptr();
            made
        };
        class.setattr(name, descriptor)?;
    }
    module.add("record_function", class)
}

/// Tables that Python reads and no one writes.
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

/// A descriptor that hands out the object itself; of the class, the method.
#[repr(C)]
struct SelfDescriptor {
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
        name: c"stepscope._native.SelfDescriptor".as_ptr(),
        basicsize: size_of::<SelfDescriptor>() as c_int,
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
            return shared((*descriptor.cast::<SelfDescriptor>()).method);
        }
        shared(object)
    }
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
        (*object).start_ns = NO_REGION;
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
    // SAFETY: no one refers to the object any more; its references are owned.
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

fn wrong_call() -> PyErr {
    PyTypeError::new_err("record_function(name) decorates one function: @record_function(\"forward\")")
}

unsafe extern "C" fn enter(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        guarded(|py| {
            enter_region(py, object.cast())?;
            Ok(shared(object))
        })
    }
}

unsafe extern "C" fn exit(
    object: *mut ffi::PyObject,
    _arguments: *const *mut ffi::PyObject,
    _count: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with an object of this class.
    unsafe {
        guarded(|py| {
            leave_region(py, object.cast())?;
            Ok(shared(ffi::Py_None()))
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

/// Runs what may fail; a failure becomes Python's exception and a null.
///
/// # Safety
/// The caller holds the interpreter.
#[inline]
unsafe fn guarded(work: impl FnOnce(Python<'_>) -> PyResult<*mut ffi::PyObject>) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    let py = unsafe { Python::assume_attached() };
    work(py).unwrap_or_else(|error| {
        error.restore(py);
        null_mut()
    })
}

/// One more reference.
///
/// # Safety
/// `object` is alive.
#[inline]
unsafe fn shared(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as promised.
    unsafe { ffi::Py_INCREF(object) };
    object
}
