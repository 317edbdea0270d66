//! The Python frames around a slice, as [`crate::tables::ops`] finds them: from the recorded stack of older files and of our own,
//! else from the Python calls recorded around it; a backward operator takes those of its forward operator.

use stepscope_model::{Kind, SliceId, Trace};

use super::Timeline;

/// Frames given; a stack may hold any number.
const MAX_FRAMES: usize = 512;

impl Timeline {
    /// The frames around a slice, the innermost first.
    pub(super) fn python_stack(&self, trace: &Trace, id: SliceId) -> Vec<String> {
        let slices = trace.slices();
        let links = trace.links();
        // Device work is where it was launched.
        let here = if slices.kind(id).is_host() { Some(id) } else { links.launch(id).or(links.op(id)) };
        let Some(here) = here else { return Vec::new() };
        let mut around = self.ancestors(trace, here);
        if around.is_empty()
            && let Some(op) = links.op(here)
        {
            // A call on a lane of its own is in the operator it names.
            around = self.ancestors(trace, op);
            around.insert(0, op);
        }
        let callers = || [here].into_iter().chain(around.iter().copied());
        let forward = callers().find_map(|slice| links.forward_of(slice).next());
        let named = |&slice: &SliceId| matches!(slices.kind(slice), Kind::HostOp | Kind::HostAnnotation);
        let told = forward.or_else(|| callers().find(named));
        if let Some(frames) = told.and_then(|op| recorded(trace, op)) {
            return frames;
        }
        let frames = python(trace, &around);
        match forward {
            Some(forward) if frames.is_empty() => python(trace, &self.ancestors(trace, forward)),
            _ => frames,
        }
    }
}

fn recorded(trace: &Trace, op: SliceId) -> Option<Vec<String>> {
    let frames = trace.stacks().frames(trace.stack(op)?);
    Some(frames.take(MAX_FRAMES).map(|frame| trace.text(frame).to_owned()).collect())
}

pub(super) fn python(trace: &Trace, slices: &[SliceId]) -> Vec<String> {
    let calls = slices.iter().filter(|&&slice| trace.slices().kind(slice) == Kind::PythonFunction);
    calls.map(|&slice| trace.name(slice).to_owned()).collect()
}
