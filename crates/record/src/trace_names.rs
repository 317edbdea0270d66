//! Names of lanes, and categories of slices, in the traces that are recorded here.

use stepscope_model::{ArgValue, LaneId, NewPoint, Ns, PointKind, TraceBuilder};

pub(crate) const ANNOTATION: &str = "user_annotation";
pub(crate) const PYTHON: &str = "python_function";
/// The innermost frame of a thread that waits.
pub(crate) const WAITING: &str = "(waiting)";
/// What PyTorch calls the argument: frames joined by `;`, the innermost first.
pub(crate) const CALL_STACK: &str = "Call stack";

/// The category of what threads did with the interpreter's lock.
pub(crate) const LOCK: &str = "interpreter_lock";
/// The category of the tasks that event loops run.
pub(crate) const TASK: &str = "asyncio_task";

/// A sampled function's own time by line.
pub(crate) const LINE_TIMES: &str = "line times";

/// Gives a process or a thread its name, as metadata of the trace.
pub(crate) fn name_lane(builder: &mut TraceBuilder, what: &str, text: &str, lane: LaneId) {
    let (key, text) = (builder.intern("name"), builder.intern(text));
    builder.push_arg(key, ArgValue::Str(text));
    let (name, args) = (builder.intern(what), builder.commit_args());
    builder.point(NewPoint {
        at: Ns::ZERO,
        name,
        lane,
        args,
        kind: PointKind::Metadata,
        ..NewPoint::default()
    });
}
