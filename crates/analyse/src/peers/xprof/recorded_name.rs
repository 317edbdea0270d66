//! Names as the profiler wrote them: rules of XProf go by those, and readers change a few.

use std::borrow::Cow;

use stepscope_model::{Attr, Kind, SliceId, Trace};

/// The name of a slice in the profile.
pub(super) fn recorded_name(trace: &Trace, id: SliceId) -> Cow<'_, str> {
    let name = trace.name(id);
    match trace.slices().kind(id) {
        // Python calls are marked with a dollar, which tells `train.py` from a step named `train`.
        Kind::PythonFunction => Cow::Owned(format!("${name}")),
        Kind::HostAnnotation => {
            Cow::Borrowed(name.rsplit_once(" (step ").map_or(name, |(recorded, _)| recorded))
        }
        Kind::Runtime | Kind::Memcpy => Cow::Borrowed(trace.args(id).text(Attr::RecordedName).unwrap_or(name)),
        _ => Cow::Borrowed(name),
    }
}
