/* Prints where CPython keeps what `crates/record/src/spy` reads, for the version whose headers it is compiled against.
   `scripts/python-offsets.sh` runs it for every installed Python and writes the table. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include <opcode.h>
#define NEED_OPCODE_TABLES
#define NEED_OPCODE_METADATA
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_opcode_metadata.h"
#else
#include "internal/pycore_opcode.h"
#endif
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_dict.h"
#else
/* Not among the installed headers of these versions. */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt, dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable, dk_nentries;
    char dk_indices[];
};
#endif
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX < 0x030B0000
#include "internal/pycore_gil.h"
#endif

#define P(name, value) printf("        " name ": %zu,\n", (size_t)(value))
#define O(type, field) offsetof(type, field)

#if PY_VERSION_HEX >= 0x030C0000
#define OPAQUE_FROM MIN_INSTRUMENTED_OPCODE
#else
#define OPAQUE_FROM 255
#endif
#ifndef ENTER_EXECUTOR
#define ENTER_EXECUTOR 255
#endif
#if PY_VERSION_HEX >= 0x030B0000
/* Which instructions note the function they call, and how many units follow each instruction. */
static void calls(size_t frame_function, int first, int second, size_t behind) {
    printf("        calls: Some(Calls { frame_function: %zu, object_type: %zu, function_code: %zu, function_version: %zu, ",
           frame_function, O(PyObject, ob_type), O(PyFunctionObject, func_code), O(PyFunctionObject, func_version));
    printf("instructions: [%d, %d], behind: %zu, callers: &[", first, second, behind);
    for (int code = 0; code < OPAQUE_FROM; code++) {
        int base = _PyOpcode_Deopt[code];
        if (base == CALL || base == CALL_FUNCTION_EX || base == BINARY_SUBSCR || base == LOAD_ATTR || base == FOR_ITER ||
            base == SEND
#if PY_VERSION_HEX >= 0x030D0000
            || base == CALL_KW
#endif
        )
            printf("%d, ", code);
    }
    printf("], opaque_from: %d, compiled: %d, notes: &[", OPAQUE_FROM, ENTER_EXECUTOR);
    for (int units = 1; units < 16; units++) {
        int found = 0;
        for (int code = 0; code < 256; code++)
            if (_PyOpcode_Caches[_PyOpcode_Deopt[code]] == units) {
                if (!found++)
                    printf("(%d, &[", units);
                printf("%d, ", code);
            }
        if (found)
            printf("]), ");
    }
    printf("] }),\n");
}
#endif

int main(void) {
    printf("    Layout {\n        version: (3, %d),\n", PY_MINOR_VERSION);
    P("runtime_interpreters_head", O(_PyRuntimeState, interpreters.head));
    P("interp_next", O(PyInterpreterState, next));
#if PY_VERSION_HEX >= 0x030B0000
    P("interp_threads_head", O(PyInterpreterState, threads.head));
#else
    P("interp_threads_head", O(PyInterpreterState, tstate_head));
#endif
#if PY_VERSION_HEX >= 0x030C0000
    P("interp_modules", O(PyInterpreterState, imports.modules));
    printf("        gil: Gil::OfInterpreter { pointer: %zu },\n", O(PyInterpreterState, ceval.gil));
#else
    P("interp_modules", O(PyInterpreterState, modules));
    printf("        gil: Gil::OfRuntime { at: %zu },\n", O(_PyRuntimeState, ceval) + O(struct _ceval_runtime_state, gil));
#endif
    P("gil_last_holder", O(struct _gil_runtime_state, last_holder));
    P("gil_locked", O(struct _gil_runtime_state, locked));
    P("thread_next", O(PyThreadState, next));
    P("thread_interp", O(PyThreadState, interp));
    P("thread_id", O(PyThreadState, thread_id));
#if PY_VERSION_HEX >= 0x030B0000
    printf("        thread_native_id: Some(%zu),\n", O(PyThreadState, native_thread_id));
#else
    printf("        thread_native_id: None,\n");
#endif
#if PY_VERSION_HEX >= 0x030D0000
    printf("        top_frame: TopFrame::Direct(%zu),\n", O(PyThreadState, current_frame));
#elif PY_VERSION_HEX >= 0x030B0000
    printf("        top_frame: TopFrame::ThroughCFrame { cframe: %zu, current: %zu },\n", O(PyThreadState, cframe),
           O(_PyCFrame, current_frame));
#else
    printf("        top_frame: TopFrame::Direct(%zu),\n", O(PyThreadState, frame));
#endif
#if PY_VERSION_HEX >= 0x030B0000
    P("frame_previous", O(_PyInterpreterFrame, previous));
#if PY_VERSION_HEX >= 0x030D0000
    P("frame_code", O(_PyInterpreterFrame, f_executable));
    printf("        frame_position: Position::Instruction(%zu),\n", O(_PyInterpreterFrame, instr_ptr));
#else
    P("frame_code", O(_PyInterpreterFrame, f_code));
    printf("        frame_position: Position::Instruction(%zu),\n", O(_PyInterpreterFrame, prev_instr));
#endif
    P("frame_locals", O(_PyInterpreterFrame, localsplus));
    printf("        frame_stack_top: Some(%zu),\n", O(_PyInterpreterFrame, stacktop));
#if PY_VERSION_HEX >= 0x030C0000
    printf("        frame_is_entry: None,\n");
#else
    printf("        frame_is_entry: Some(%zu),\n", O(_PyInterpreterFrame, is_entry));
#endif
#if PY_VERSION_HEX >= 0x030C0000
    printf("        frame_owner: Some(%zu),\n", O(_PyInterpreterFrame, owner));
#else
    printf("        frame_owner: None,\n");
#endif
#else
    P("frame_previous", O(PyFrameObject, f_back));
    P("frame_code", O(PyFrameObject, f_code));
#if PY_VERSION_HEX >= 0x030A0000
    printf("        frame_position: Position::Index(%zu),\n", O(PyFrameObject, f_lasti));
#else
    printf("        frame_position: Position::Offset(%zu),\n", O(PyFrameObject, f_lasti));
#endif
    P("frame_locals", O(PyFrameObject, f_localsplus));
    printf("        frame_stack_top: None,\n        frame_is_entry: None,\n");
    printf("        frame_owner: None,\n");
#endif
#if PY_VERSION_HEX >= 0x030D0000
    /* A frame's position is the instruction itself while it calls. */
    calls(O(_PyInterpreterFrame, f_funcobj), CALL_PY_EXACT_ARGS, CALL_PY_GENERAL, 0);
#elif PY_VERSION_HEX >= 0x030C0000
    /* It is the last unit of what is noted behind the instruction. */
    calls(O(_PyInterpreterFrame, f_funcobj), CALL_PY_EXACT_ARGS, CALL_PY_WITH_DEFAULTS, sizeof(_PyCallCache));
#elif PY_VERSION_HEX >= 0x030B0000
    calls(O(_PyInterpreterFrame, f_func), CALL_PY_EXACT_ARGS, CALL_PY_WITH_DEFAULTS, sizeof(_PyCallCache));
#else
    printf("        calls: None,\n");
#endif
    P("code_filename", O(PyCodeObject, co_filename));
    P("code_name", O(PyCodeObject, co_name));
#if PY_VERSION_HEX >= 0x030B0000
    printf("        code_qualname: Some(%zu),\n", O(PyCodeObject, co_qualname));
    printf("        lines: Lines::Locations,\n");
    P("code_linetable", O(PyCodeObject, co_linetable));
    printf("        locals: Locals::Together { names: %zu },\n", O(PyCodeObject, co_localsplusnames));
    printf("        code_start: Some(%zu),\n", O(PyCodeObject, co_code_adaptive));
#else
    printf("        code_qualname: None,\n");
#if PY_VERSION_HEX >= 0x030A0000
    printf("        lines: Lines::Ranges,\n");
    P("code_linetable", O(PyCodeObject, co_linetable));
#else
    printf("        lines: Lines::Pairs,\n");
    P("code_linetable", O(PyCodeObject, co_lnotab));
#endif
    printf("        locals: Locals::Tuples { locals: %zu, cells: %zu, frees: %zu },\n", O(PyCodeObject, co_varnames),
           O(PyCodeObject, co_cellvars), O(PyCodeObject, co_freevars));
    printf("        code_start: None,\n");
#endif
    P("code_firstlineno", O(PyCodeObject, co_firstlineno));
    P("code_argcount", O(PyCodeObject, co_argcount));
    P("code_size", sizeof(PyCodeObject));
    P("object_type", O(PyObject, ob_type));
    P("var_size", O(PyVarObject, ob_size));
    P("type_name", O(PyTypeObject, tp_name));
    P("type_flags", O(PyTypeObject, tp_flags));
    P("type_basicsize", O(PyTypeObject, tp_basicsize));
    P("type_dictoffset", O(PyTypeObject, tp_dictoffset));
    P("type_cached_keys", O(PyHeapTypeObject, ht_cached_keys));
    P("tuple_items", O(PyTupleObject, ob_item));
    P("list_items", O(PyListObject, ob_item));
    P("bytes_data", O(PyBytesObject, ob_sval));
    P("float_value", O(PyFloatObject, ob_fval));
#if PY_VERSION_HEX >= 0x030C0000
    printf("        int: Int::Tag { tag: %zu, digits: %zu },\n", O(PyLongObject, long_value.lv_tag),
           O(PyLongObject, long_value.ob_digit));
#else
    printf("        int: Int::Size { digits: %zu },\n", O(PyLongObject, ob_digit));
#endif
    P("str_length", O(PyASCIIObject, length));
    P("str_state", O(PyASCIIObject, state));
    P("str_ascii_data", sizeof(PyASCIIObject));
    P("str_compact_data", sizeof(PyCompactUnicodeObject));
    P("dict_keys", O(PyDictObject, ma_keys));
    P("dict_values", O(PyDictObject, ma_values));
    P("dict_used", O(PyDictObject, ma_used));
#if PY_VERSION_HEX >= 0x030B0000
    printf("        keys: Keys::Logarithms { size: %zu, kind: %zu, entries: %zu, header: %zu },\n",
           O(struct _dictkeysobject, dk_log2_index_bytes), O(struct _dictkeysobject, dk_kind),
           O(struct _dictkeysobject, dk_nentries), sizeof(struct _dictkeysobject));
#else
    printf("        keys: Keys::Sizes { size: %zu, entries: %zu, header: %zu },\n", O(struct _dictkeysobject, dk_size),
           O(struct _dictkeysobject, dk_nentries), O(struct _dictkeysobject, dk_indices));
#endif
#if PY_VERSION_HEX >= 0x030D0000
    printf("        attributes: Attributes::Inline { values: %zu },\n", O(PyDictValues, values));
#elif PY_VERSION_HEX >= 0x030C0000
    printf("        attributes: Attributes::Managed,\n");
#elif PY_VERSION_HEX >= 0x030B0000
    printf("        attributes: Attributes::BeforeObject,\n");
#else
    printf("        attributes: Attributes::Offset,\n");
#endif
    printf("    },\n");
    return 0;
}
