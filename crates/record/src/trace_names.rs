//! Names of lanes, and categories of slices, in the traces that are recorded here.

pub(crate) const ANNOTATION: &str = "user_annotation";
pub(crate) const PYTHON: &str = "python_function";
/// The innermost frame of a thread that waits.
pub(crate) const WAITING: &str = "(waiting)";
/// What PyTorch calls the argument: frames joined by `;`, the innermost first.
pub(crate) const CALL_STACK: &str = "Call stack";

/// The category of what threads did with the interpreter's lock.
pub(crate) const LOCK: &str = "interpreter_lock";
/// What stands before the thread in the names of lanes.
pub(crate) const SAMPLES_OF: &str = "samples of ";
pub(crate) const LOCK_OF: &str = "lock of ";
/// The category of the tasks that event loops run, and what stands before the thread of such a lane.
pub(crate) const TASK: &str = "asyncio_task";
pub(crate) const RUNNING_OF: &str = "asyncio tasks of ";

/// A sampled function's own time by line.
pub(crate) const LINE_TIMES: &str = "line times";
