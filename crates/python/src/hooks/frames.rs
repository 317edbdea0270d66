//! The Python frames of a thread, read from where CPython keeps them.
//!
//! CPython's own functions make objects for what they are asked about, which an allocator must not. So frames are read as
//! they lie in memory, which is the same in every release of a minor version; before that is done, what is found so is
//! compared with what Python says.

use std::ffi::c_void;
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use stepscope_record::heap::CodePosition;

use crate::errors;

/// What Python 3.11 and later call the place of an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum At {
    Address,
    /// A number of bytes, before 3.10.
    Bytes,
    /// A number of instructions of two bytes, in 3.10.
    Words,
}

#[derive(Copy, Clone, Debug)]
struct Layout {
    /// From a thread to its frame; in between there may be another structure, and where in that it is.
    frame: usize,
    between: Option<usize>,
    code: usize,
    back: usize,
    instruction: usize,
    at: At,
    /// Who owns the frame, where that is said.
    owner: Option<usize>,
    /// From code to its first instruction. Found out.
    first: usize,
}

/// An owner that is not a frame of Python's.
const OWNED_BY_C: u8 = 3;

const LAYOUTS: [(u8, Layout); 5] = [
    (
        9,
        Layout {
            frame: 24,
            between: None,
            code: 32,
            back: 24,
            instruction: 104,
            at: At::Bytes,
            owner: None,
            first: 0,
        },
    ),
    (
        10,
        Layout {
            frame: 24,
            between: None,
            code: 32,
            back: 24,
            instruction: 96,
            at: At::Words,
            owner: None,
            first: 0,
        },
    ),
    (
        11,
        Layout {
            frame: 56,
            between: Some(8),
            code: 32,
            back: 48,
            instruction: 56,
            at: At::Address,
            owner: None,
            first: 0,
        },
    ),
    (
        12,
        Layout {
            frame: 56,
            between: Some(0),
            code: 0,
            back: 8,
            instruction: 56,
            at: At::Address,
            owner: Some(70),
            first: 0,
        },
    ),
    (
        13,
        Layout {
            frame: 72,
            between: None,
            code: 0,
            back: 8,
            instruction: 56,
            at: At::Address,
            owner: Some(70),
            first: 0,
        },
    ),
];

static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// # Safety
/// There is a `T` so far behind `start`.
#[inline]
unsafe fn read<T: Copy>(start: *const c_void, offset: usize) -> T {
    // SAFETY: as promised.
    unsafe { start.byte_add(offset).cast::<T>().read_unaligned() }
}

/// The frames of this thread, innermost first; none where it runs no Python.
pub(super) struct Frames {
    next: *const c_void,
    layout: Layout,
}

impl Frames {
    /// # Safety
    /// [`check`] was content with this Python, which has not ended.
    #[inline]
    pub(super) unsafe fn of_this_thread() -> Option<Frames> {
        let layout = *LAYOUT.get()?;
        // SAFETY: a thread's own state is there for as long as the thread is known to Python, and only itself moves its
        // frames, whoever holds the interpreter.
        unsafe {
            let thread = ffi::PyGILState_GetThisThreadState();
            if thread.is_null() {
                return None;
            }
            let mut next: *const c_void = read(thread.cast(), layout.frame);
            if let Some(offset) = layout.between {
                if next.is_null() {
                    return None;
                }
                next = read(next, offset);
            }
            Some(Frames { next, layout })
        }
    }
}

impl Iterator for Frames {
    type Item = CodePosition;

    #[inline]
    fn next(&mut self) -> Option<CodePosition> {
        let layout = &self.layout;
        while !self.next.is_null() {
            let frame = self.next;
            // SAFETY: a frame that is linked is whole.
            unsafe {
                self.next = read(frame, layout.back);
                if layout.owner.is_some_and(|owner| read::<u8>(frame, owner) == OWNED_BY_C) {
                    continue;
                }
                let code: usize = read(frame, layout.code);
                let at = match layout.at {
                    At::Address => read::<usize>(frame, layout.instruction)
                        .wrapping_sub(code.wrapping_add(layout.first))
                        as i32,
                    At::Bytes => read::<i32>(frame, layout.instruction),
                    At::Words => read::<i32>(frame, layout.instruction).wrapping_mul(2),
                };
                return Some(CodePosition { code, at });
            }
        }
        None
    }
}

/// Whether the frames of this Python can be read.
pub(super) fn check(py: Python<'_>) -> PyResult<()> {
    if LAYOUT.get().is_some() {
        return Ok(());
    }
    let unknown = || {
        errors::stepscope(
            "memory cannot be tracked: frames of this Python have an unknown layout".to_owned(),
            Some("use a release build of CPython 3.9 to 3.13".to_owned()),
        )
    };
    let version = py.version_info();
    let known = LAYOUTS.iter().find(|(minor, _)| version.major == 3 && version.minor == *minor);
    let sys = py.import("sys")?;
    let cpython: bool = sys.getattr("implementation")?.getattr("name")?.extract::<String>()? == "cpython";
    // With every object in a list, objects are longer.
    let traces_references = sys.hasattr("getobjects")?;
    let Some((_, mut layout)) =
        known.copied().filter(|_| cpython && !traces_references && cfg!(target_pointer_width = "64"))
    else {
        return Err(unknown());
    };
    let mut frame = sys.call_method1("_getframe", (0,))?;
    let mut told = Vec::new();
    while !frame.is_none() {
        let code = frame.getattr("f_code")?.as_ptr() as usize;
        told.push((code, frame.getattr("f_lasti")?.extract::<i32>()?));
        frame = frame.getattr("f_back")?;
    }
    if layout.at == At::Address {
        // SAFETY: the layout is that of this version; with 0 for the first instruction, places are that much too far.
        let places: Vec<CodePosition> = unsafe { walk(layout) };
        let (Some(place), Some((code, lasti))) = (places.first(), told.first()) else { return Err(unknown()) };
        let first = place.at.wrapping_sub(*lasti);
        if place.code != *code || !(64..1024).contains(&first) {
            return Err(unknown());
        }
        layout.first = first as usize;
    }
    // SAFETY: as above.
    let seen: Vec<(usize, i32)> =
        unsafe { walk(layout) }.into_iter().map(|place| (place.code, place.at)).collect();
    // The innermost moves on while this looks.
    let alike = seen.len() == told.len()
        && seen.first().map(|place| place.0) == told.first().map(|place| place.0)
        && seen.get(1..) == told.get(1..);
    if !alike {
        return Err(unknown());
    }
    LAYOUT.get_or_init(|| layout);
    Ok(())
}

/// # Safety
/// The layout is that of this Python.
unsafe fn walk(layout: Layout) -> Vec<CodePosition> {
    // SAFETY: as promised; the caller holds the interpreter.
    unsafe {
        let thread = ffi::PyGILState_GetThisThreadState();
        let mut next: *const c_void = read(thread.cast(), layout.frame);
        if let Some(offset) = layout.between {
            next = read(next, offset);
        }
        Frames { next, layout }.collect()
    }
}
