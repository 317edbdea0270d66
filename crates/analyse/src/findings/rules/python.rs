//! Rules about programs of plain Python: what their functions, lines, threads and memory say.

pub(super) mod deep_copy;
pub(super) mod file_io;
pub(super) mod garbage;
pub(super) mod gil_contention;
pub(super) mod growing_memory;
pub(super) mod hot_function;
pub(super) mod imports;
pub(super) mod json;
mod library;
pub(super) mod logging;
mod machine;
pub(super) mod one_core;
pub(super) mod pandas_rows;
pub(super) mod pickling;
pub(super) mod python_loop;
pub(super) mod regex_compile;
pub(super) mod repeated_calls;
pub(super) mod text_formatting;
pub(super) mod waiting;
