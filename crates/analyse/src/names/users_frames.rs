//! Which line of a stack is the user's: that `numpy/core/numeric.py` allocates says little, and who called it much.

use stepscope_model::{FrameId, StackTable};

use super::library_file::is_library_file;

/// The frame that each stack is charged to, and whether it is the user's.
pub(crate) fn users_frames(stacks: &StackTable) -> (Vec<Option<FrameId>>, Vec<bool>) {
    let users: Vec<bool> =
        stacks.frames().map(|(_, frame)| !is_library_file(stacks.text(frame.file))).collect();
    let mut places: Vec<Option<FrameId>> = vec![None; stacks.len()];
    let mut is_users = vec![false; stacks.len()];
    // A stack comes after those it begins with.
    for (stack, below, frame) in stacks.nodes() {
        let own = users[frame.index()];
        let (stack, below) = (stack.index(), below.index());
        // A library's line counts as itself only where no line of the user's is below it.
        (places[stack], is_users[stack]) = match (own, is_users[below]) {
            (false, true) => (places[below], true),
            (own, _) => (Some(frame), own),
        };
    }
    (places, is_users)
}
