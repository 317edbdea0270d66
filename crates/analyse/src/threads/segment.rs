//! A piece of a thread's time.

use stepscope_model::{Ns, SliceId};

use crate::threads::activity::Activity;

/// A piece of a thread's time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub start: Ns,
    pub end: Ns,
    /// The innermost slice, if any was open.
    pub slice: Option<SliceId>,
    /// What the thread was doing.
    pub activity: Activity,
}
