//! The functions that were seen: code of Python's, and methods of C's, by their addresses.
//!
//! What is needed to name a function is held on to when it is first seen; names are made when all is over, because making
//! them runs Python. A code object that is held cannot make room for another one at its address.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString, PyType};
use stepscope_record::calls::FunctionId;

use super::symbols::{BuiltIn, Descriptor};

/// Functions that are distinguished; the rest are one row.
const MAX_FUNCTIONS: usize = 1 << 20;
/// The class of Python's functions, which the limited API does not name.
static FUNCTION: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());
const OTHER_FUNCTIONS: &str = "<all further functions>";

enum Function {
    Code(Py<PyAny>),
    /// A function of a module, or a static method.
    Module {
        name: CString,
        this: Option<Py<PyAny>>,
        module: Option<Py<PyAny>>,
    },
    /// A method of objects of this class.
    Method {
        name: CString,
        class: Py<PyAny>,
        module: Option<Py<PyAny>>,
        method: usize,
    },
    Rest,
}

#[derive(Default)]
pub(super) struct Functions {
    known: Vec<Function>,
    numbers: HashMap<usize, FunctionId, RandomState>,
}

impl Functions {
    /// The number of a code object.
    ///
    /// # Safety
    /// `code` is alive, and the caller holds the interpreter.
    pub(super) unsafe fn code(&mut self, code: *mut ffi::PyObject) -> FunctionId {
        // SAFETY: as promised.
        self.number(code as usize, || unsafe { Function::Code(owned(code)) })
    }

    /// The number of a built-in function or of a method that is not bound to an object.
    ///
    /// # Safety
    /// `callable` is one of the two and alive, `key` is its [`c_key`], and the caller holds the interpreter.
    pub(super) unsafe fn c_function(&mut self, key: usize, callable: *mut ffi::PyObject) -> FunctionId {
        // SAFETY: as promised, and the layouts were compared with this Python.
        self.number(key, || unsafe {
            let class = ffi::Py_TYPE(callable);
            let named = |method: *mut ffi::PyMethodDef| CStr::from_ptr((*method).ml_name).to_owned();
            if class == &raw mut ffi::PyMethodDescr_Type {
                let descriptor = callable.cast::<Descriptor>();
                let name = named((*descriptor).method);
                return Function::Method {
                    name,
                    class: owned((*descriptor).class.cast()),
                    module: None,
                    method: key,
                };
            }
            let built_in = callable.cast::<BuiltIn>();
            let (name, this) = (named((*built_in).method), (*built_in).this);
            let module = (!(*built_in).module.is_null()).then(|| owned((*built_in).module));
            if this.is_null() || ffi::PyModule_Check(this) != 0 {
                let this = (!this.is_null()).then(|| owned(this));
                return Function::Module { name, this, module };
            }
            Function::Method { name, class: owned(ffi::Py_TYPE(this).cast()), module, method: key }
        })
    }

    fn number(&mut self, key: usize, make: impl FnOnce() -> Function) -> FunctionId {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = FunctionId(self.known.len().min(MAX_FUNCTIONS) as u32);
        if self.known.len() < MAX_FUNCTIONS {
            self.known.push(make());
            self.numbers.insert(key, number);
        } else if self.known.len() == MAX_FUNCTIONS {
            self.known.push(Function::Rest);
        }
        number
    }

    pub(super) fn is_code(&self, id: FunctionId) -> bool {
        matches!(self.known.get(id.0 as usize), Some(Function::Code(_)))
    }

    /// File, line and name as `cProfile` gives them. Built-in functions have the file `~`.
    pub(super) fn describe(&self, py: Python<'_>, id: FunctionId) -> (String, u32, String) {
        let built_in = |name: String| ("~".to_owned(), 0, name);
        match self.known.get(id.0 as usize) {
            Some(Function::Code(code)) => {
                let code = code.bind(py);
                let text = |name: &str| code.getattr(name).map(|text| lossy(&text)).unwrap_or_default();
                let line = code.getattr("co_firstlineno").and_then(|line| line.extract()).unwrap_or(0);
                (text("co_filename"), line, text("co_name"))
            }
            Some(Function::Module { name, this, module }) => {
                let name = name.to_string_lossy();
                built_in(match this {
                    Some(this) => found_in(&this.bind(py).get_type(), &name, None)
                        .unwrap_or_else(|| method_of(py, module.as_ref(), &name)),
                    None => match module.as_ref().and_then(|module| module_name(module.bind(py))) {
                        Some(module) if module != "builtins" => format!("<{module}.{name}>"),
                        _ => format!("<{name}>"),
                    },
                })
            }
            Some(Function::Method { name, class, module, method }) => {
                let name = name.to_string_lossy();
                let class = class.bind(py).cast::<PyType>().ok();
                let known = class.and_then(|class| found_in(class, &name, Some(*method)));
                built_in(known.unwrap_or_else(|| method_of(py, module.as_ref(), &name)))
            }
            Some(Function::Rest) | None => built_in(OTHER_FUNCTIONS.to_owned()),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// As [`Functions::describe`], with the name of its class from Python 3.11 on, and without anything that could run
    /// Python: this may be asked in the middle of the program.
    pub(super) fn describe_plainly(&self, py: Python<'_>, number: u32) -> (String, u32, String) {
        let id = FunctionId(number);
        match self.known.get(number as usize) {
            Some(Function::Code(_)) => {
                let (file, line, name) = self.describe(py, id);
                (file, line, self.qualified_name(py, id).unwrap_or(name))
            }
            Some(Function::Module { name, this: Some(this), .. }) => {
                let name = name.to_string_lossy();
                let shown = match module_name(this.bind(py)) {
                    Some(module) => format!("<built-in method {module}.{name}>"),
                    None => format!("<built-in method {name}>"),
                };
                ("~".to_owned(), 0, shown)
            }
            Some(Function::Method { name, class, module, method }) => {
                let name = name.to_string_lossy();
                let class = class.bind(py).cast::<PyType>().ok();
                let known = class.and_then(|class| method_in(class, &name, *method));
                ("~".to_owned(), 0, known.unwrap_or_else(|| method_of(py, module.as_ref(), &name)))
            }
            _ => self.describe(py, id),
        }
    }

    /// As [`Functions::describe`], without anything that could run Python.
    pub(super) fn describe_quietly(&self, py: Python<'_>, id: FunctionId) -> (String, u32, String) {
        if self.is_code(id) { self.describe(py, id) } else { self.describe_plainly(py, id.0) }
    }

    /// The name with that of its class, from Python 3.11 on.
    pub(super) fn qualified_name(&self, py: Python<'_>, id: FunctionId) -> Option<String> {
        match self.known.get(id.0 as usize) {
            Some(Function::Code(code)) => code.bind(py).getattr("co_qualname").ok().map(|name| lossy(&name)),
            _ => None,
        }
    }

    /// Whether it is a function of this module.
    pub(super) fn is_ours(&self, py: Python<'_>, id: FunctionId) -> bool {
        let of = |object: &Py<PyAny>| {
            let name = object.bind(py).getattr("__module__").or_else(|_| object.bind(py).getattr("__name__"));
            name.is_ok_and(|name| lossy(&name).starts_with("stepscope."))
        };
        match self.known.get(id.0 as usize) {
            Some(Function::Module { this: Some(this), .. }) => {
                module_name(this.bind(py)).is_some_and(|name| name.starts_with("stepscope."))
            }
            Some(Function::Method { class, .. }) => of(class),
            _ => false,
        }
    }
}

/// Looks up what [`c_key`] needs.
pub(super) fn prepare(py: Python<'_>) -> PyResult<()> {
    // It lives as long as the interpreter.
    let class = py.import("types")?.getattr("FunctionType")?;
    FUNCTION.store(class.as_ptr().cast(), Ordering::Relaxed);
    Ok(())
}

/// What tells one C function from all others: its description, which all objects it is bound to share. `None` for whatever
/// `cProfile` does not count: Python functions, classes, and so on. `first` is the first argument of the call.
///
/// # Safety
/// Both are alive, and the caller holds the interpreter.
#[inline]
pub(super) unsafe fn c_key(
    callable: *mut ffi::PyObject,
    first: *mut ffi::PyObject,
    missing: *mut ffi::PyObject,
) -> Option<usize> {
    // SAFETY: as promised, and the layouts were compared with this Python.
    unsafe {
        let class = ffi::Py_TYPE(callable);
        if class == &raw mut ffi::PyCFunction_Type {
            return Some((*callable.cast::<BuiltIn>()).method as usize);
        }
        if class == &raw mut ffi::PyMethodDescr_Type {
            let descriptor = callable.cast::<Descriptor>();
            let fits = first != missing && {
                let (wanted, given) = ((*descriptor).class, ffi::Py_TYPE(first));
                wanted == given || ffi::PyType_IsSubtype(given, wanted) != 0
            };
            return fits.then_some((*descriptor).method as usize);
        }
        // Most of the rest are functions of Python's and classes.
        if class == FUNCTION.load(Ordering::Relaxed) || class == &raw mut ffi::PyType_Type {
            return None;
        }
        built_in_key(callable)
    }
}

/// The same for what is a built-in function of any class, or none.
///
/// # Safety
/// As above.
pub(super) unsafe fn built_in_key(callable: *mut ffi::PyObject) -> Option<usize> {
    // SAFETY: as promised.
    unsafe {
        let is = ffi::PyType_IsSubtype(ffi::Py_TYPE(callable), &raw mut ffi::PyCFunction_Type) != 0;
        is.then(|| (*callable.cast::<BuiltIn>()).method as usize)
    }
}

/// # Safety
/// The object is alive, and the caller holds the interpreter.
unsafe fn owned(object: *mut ffi::PyObject) -> Py<PyAny> {
    // SAFETY: as promised.
    unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), object).unbind() }
}

/// How Python shows what the class has under this name: `<method 'append' of 'list' objects>`. A subclass may have
/// something else of that name, so the method itself is preferred.
fn found_in(class: &Bound<'_, PyType>, name: &str, method: Option<usize>) -> Option<String> {
    let mut first = None;
    for base in class.mro() {
        let Ok(found) = base.getattr("__dict__").and_then(|names| names.get_item(name)) else { continue };
        // SAFETY: an object of exactly this class has this layout.
        let is_method = method.is_some_and(|method| unsafe {
            ffi::Py_TYPE(found.as_ptr()) == &raw mut ffi::PyMethodDescr_Type
                && (*found.as_ptr().cast::<Descriptor>()).method as usize == method
        });
        if is_method {
            return found.repr().ok().map(|text| text.to_string_lossy().into_owned());
        }
        first = first.or(Some(found));
    }
    first?.repr().ok().map(|text| text.to_string_lossy().into_owned())
}

/// The same, if the class has this very method: Python shows it without running anything.
fn method_in(class: &Bound<'_, PyType>, name: &str, method: usize) -> Option<String> {
    class.mro().iter().find_map(|base| {
        // SAFETY: the class of a class is asked before its names are.
        let plain = unsafe { ffi::Py_TYPE(base.as_ptr()) == &raw mut ffi::PyType_Type };
        let found = plain.then(|| base.getattr("__dict__").and_then(|names| names.get_item(name)).ok())??;
        // SAFETY: an object of exactly this class has this layout.
        let is_method = unsafe {
            ffi::Py_TYPE(found.as_ptr()) == &raw mut ffi::PyMethodDescr_Type
                && (*found.as_ptr().cast::<Descriptor>()).method as usize == method
        };
        is_method.then(|| found.repr().ok().map(|text| text.to_string_lossy().into_owned()))?
    })
}

fn method_of(py: Python<'_>, module: Option<&Py<PyAny>>, name: &str) -> String {
    match module.map(|module| module.bind(py)).filter(|module| module.is_instance_of::<PyString>()) {
        Some(module) => format!("<built-in method {}.{name}>", lossy(module)),
        None => format!("<built-in method {name}>"),
    }
}

fn module_name(module: &Bound<'_, PyAny>) -> Option<String> {
    if module.is_instance_of::<PyString>() {
        return Some(lossy(module));
    }
    module.cast::<PyModule>().ok()?.name().ok().map(|name| name.to_string_lossy().into_owned())
}

pub(super) fn lossy(text: &Bound<'_, PyAny>) -> String {
    text.cast::<PyString>().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
