//! What processes say themselves that they are: `multiprocessing` gives names, data loaders number their workers.

use super::{Frame, Spy, ThreadSample};

/// A data loader's workers run this function, which has their number.
const LOADER_FUNCTION: (&str, &str) = ("_worker_loop", "torch/utils/data/_utils/worker.py");
const LOADER_NUMBER: &str = "worker_id";

/// In this function a process of `multiprocessing` has its name.
const NAMED_IN: &str = "_bootstrap";

/// Whether a process that was seen so is `multiprocessing`'s and has its name by now.
pub(super) fn is_named(spy: &Spy, seen: &[ThreadSample]) -> bool {
    let mut frames = seen.iter().flat_map(|thread| &thread.frames);
    frames.any(|frame| spy.code(frame.code).is_some_and(|code| code.name == NAMED_IN))
}

/// What a data loader's worker is called: by its number, which is a variable of the function it runs.
pub(super) fn loader_name(spy: &mut Spy, seen: &[ThreadSample]) -> Option<String> {
    let is_loader = |frame: &&Frame| {
        spy.code(frame.code)
            .is_some_and(|code| code.name == LOADER_FUNCTION.0 && code.file.ends_with(LOADER_FUNCTION.1))
    };
    let frame = *seen.iter().flat_map(|thread| &thread.frames).find(is_loader)?;
    let (_, number) = spy.locals(&frame).into_iter().find(|(name, _)| name == LOADER_NUMBER)?;
    Some(format!("DataLoader worker {number}"))
}
