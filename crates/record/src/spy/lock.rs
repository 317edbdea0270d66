//! What a thread did with the interpreter's lock in one sample.

use super::{Spy, TaskState, ThreadSample};
use crate::lock::Lock;

/// What was last known about a thread.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ThreadActivity {
    doing: Option<TaskState>,
    awaits_lock: bool,
}

impl ThreadActivity {
    pub(crate) fn new() -> ThreadActivity {
        ThreadActivity { doing: None, awaits_lock: false }
    }

    /// After another sample: whether the thread waits for anything, and what it does with the lock where that can be said.
    pub(crate) fn now(
        &mut self,
        spy: &mut Spy,
        thread: &ThreadSample,
        number: Option<u32>,
    ) -> (bool, Option<Lock>) {
        // Asking the system about a hundred idle threads in every sample would cost more than reading their stacks.
        let slept = self.doing == Some(TaskState::Waiting) && number.is_some_and(|number| spy.slept(number));
        if !slept {
            self.doing = number.and_then(|number| spy.doing(number));
            self.awaits_lock = self.doing == Some(TaskState::Waiting)
                && !thread.holds_gil
                && number.is_some_and(|number| spy.awaits(number, thread.lock_at));
        }
        let lock = match (thread.holds_gil, self.doing) {
            (true, _) => Some(Lock::Holds),
            (false, Some(TaskState::Running)) => Some(Lock::Without),
            (false, Some(TaskState::Waiting)) if self.awaits_lock => Some(Lock::Waits),
            (false, Some(TaskState::Waiting)) => Some(Lock::Idle),
            (false, None) => None,
        };
        (self.doing == Some(TaskState::Waiting), lock)
    }
}
