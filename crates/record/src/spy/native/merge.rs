//! One stack of native and Python functions: where the interpreter executes Python code, the Python frames are shown instead of it.

use super::super::walk::Frame;
use super::{NativeFrame, NativeFunction};

/// Functions of the interpreter that only pass calls on, start it, or execute Python code. Names begin with one of these, leading
/// underscores aside.
const PASS_ON: [&str; 32] = [
    "PyEval_",
    "PyObject_Call",
    "PyObject_Vectorcall",
    "PyObject_FastCall",
    "PyObject_MakeTpCall",
    "PyVectorcall_",
    "PyFunction_",
    "PyCFunction_",
    "PyMethod_",
    "PyRun_",
    "PyImport_",
    "import_find_and_load",
    "import_name",
    "builtin___import__",
    "builtin_exec",
    "Py_RunMain",
    "Py_BytesMain",
    "Py_Main",
    "PyGen_Send",
    "gen_send_ex",
    "gen_iternext",
    "object_vacall",
    "type_call",
    "slot_tp_",
    "call_function",
    "do_call_core",
    "cfunction_call",
    "run_mod",
    "run_eval_code_obj",
    "pymain_",
    "thread_run",
    "pythread_wrapper",
];
/// The same inside of a name: `cfunction_vectorcall_FASTCALL`, `method_vectorcall_NOARGS`.
const CALL_MARK: &str = "vectorcall";
/// Where every program and thread begins, in any file.
const START_FUNCTIONS: [&str; 11] = [
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "thread_start",
];
const EVAL_FUNCTION: &str = "PyEval_EvalFrameDefault";

fn executes(function: &NativeFunction) -> bool {
    function.name.as_deref().is_some_and(|name| name.trim_start_matches('_').starts_with(EVAL_FUNCTION))
}

/// Whether a native function says something about what a program does.
fn shown(function: &NativeFunction) -> bool {
    let Some(name) = function.name.as_deref() else { return !function.of_python };
    if START_FUNCTIONS.contains(&name) {
        return false;
    }
    let plain = name.trim_start_matches('_');
    !(function.of_python && (plain.contains(CALL_MARK) || PASS_ON.iter().any(|start| plain.starts_with(start))))
}

/// Puts the frames together, the innermost first. `frame` makes one of a native function.
///
/// A call of the interpreter executes one or more Python frames. CPython keeps a mark of it on the native stack (from 3.11 on), so
/// it is the native frame in whose part of the stack that lies; before, one Python frame goes with each function that executes.
/// Python frames that find no place come after the native ones.
pub(in super::super) fn merged(
    native: &[NativeFrame],
    python: &[Frame],
    function: impl Fn(usize) -> Option<NativeFunction>,
    mut frame: impl FnMut(usize, &NativeFunction) -> Option<Frame>,
) -> Vec<Frame> {
    let mut merged = Vec::with_capacity(native.len() + python.len());
    let mut calls = python.split_inclusive(|frame| frame.called_by_c.is_some()).peekable();
    let mark = |call: &[Frame]| call.last().and_then(|frame| frame.called_by_c).filter(|mark| *mark != 0);
    let inside = |mark: u64, native: &NativeFrame| (native.stack.0..native.stack.1).contains(&mark);
    for (at, one) in native.iter().enumerate() {
        let Some(what) = function(one.function) else { continue };
        let executed = match calls.peek().copied() {
            Some(call) => match mark(call) {
                // A mark that is nowhere on what could be unwound: the name has to do.
                Some(found) if native[at..].iter().any(|other| inside(found, other)) => inside(found, one),
                _ => executes(&what),
            },
            None => false,
        };
        if executed {
            merged.extend_from_slice(calls.next().unwrap_or_default());
        } else if !executes(&what) && shown(&what) {
            merged.extend(frame(one.function, &what));
        }
    }
    merged.extend(calls.flatten());
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of native functions of 16 bytes each, from 1000 on; `!` is the interpreter's own file.
    fn natives(names: &[&str]) -> (Vec<NativeFrame>, Vec<NativeFunction>) {
        let frames = (0..names.len())
            .map(|at| NativeFrame { function: at, stack: (1000 + 16 * at as u64, 1016 + 16 * at as u64) });
        let function = |name: &&str| NativeFunction {
            name: Some(name.trim_start_matches('!')).filter(|name| *name != "?").map(str::to_owned),
            file: String::new(),
            of_python: name.starts_with('!'),
        };
        (frames.collect(), names.iter().map(function).collect())
    }

    fn python(frames: &[(u32, Option<u64>)]) -> Vec<Frame> {
        frames.iter().map(|&(code, called_by_c)| Frame { code, line: 1, at: 0, called_by_c }).collect()
    }

    /// Native functions come out as 100 and more.
    fn codes(names: &[&str], frames: &[(u32, Option<u64>)]) -> Vec<u32> {
        let (native, functions) = natives(names);
        let made = |at: usize, _: &NativeFunction| {
            Some(Frame { code: 100 + at as u32, line: 0, at: 0, called_by_c: None })
        };
        let merged = merged(&native, &python(frames), |at| functions.get(at).cloned(), made);
        merged.iter().map(|frame| frame.code).collect()
    }

    #[test]
    fn python_frames_stand_where_the_interpreter_executes_them() {
        let names = [
            "nanosleep",
            "!time_sleep",
            "!cfunction_vectorcall_O",
            "!_PyEval_EvalFrameDefault",
            "!PyEval_EvalCode",
            "sort",
            "!_PyEval_EvalFrameDefault",
            "!pymain_run_python",
            "main",
            "_start",
        ];
        // One frame per call, as before 3.11.
        assert_eq!(codes(&names, &[(1, Some(0)), (2, Some(0))]), [100, 101, 1, 105, 2]);
        // Several frames per call, marked on the stack of the fourth and the seventh function.
        let marked = [(1, None), (2, Some(1000 + 3 * 16)), (3, None), (4, Some(1000 + 6 * 16 + 8))];
        assert_eq!(codes(&names, &marked), [100, 101, 1, 2, 105, 3, 4]);
    }

    #[test]
    fn a_mark_counts_more_than_a_name() {
        // A part of the function that a compiler cut off has no name.
        let names = ["write", "!?", "!_PyEval_EvalFrameDefault"];
        assert_eq!(codes(&names, &[(1, Some(1017)), (2, Some(1033))]), [100, 1, 2]);
    }

    #[test]
    fn where_unwinding_ends_python_goes_on() {
        assert_eq!(codes(&["a", "?"], &[(1, None), (2, Some(5000)), (3, Some(6000))]), [100, 101, 1, 2, 3]);
        assert_eq!(codes(&[], &[(1, Some(0))]), [1]);
        assert_eq!(codes(&["poll", "start_thread", "clone3"], &[]), [100]);
    }
}
