//! What a profile of a program's memory says beside its stacks.

use crate::stack_table::FrameId;
use crate::time::Ns;

/// How much memory there was at one time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeapPoint {
    /// When, since the start.
    pub at: Ns,
    /// The most bytes allocated and not freed since the point before; none where only the system was asked.
    pub live_bytes: Option<u64>,
    /// How much of the process was in memory.
    pub rss_bytes: Option<u64>,
}

/// What a line did to the memory of the process.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeapLine {
    /// The function; its line is where it starts.
    pub function: FrameId,
    /// The line, counted from 1.
    pub line: u32,
    pub hits: u64,
    /// The most of the process that was in memory after it.
    pub rss_bytes: u64,
    /// How much more was in memory after it than before, over all its runs.
    pub increment_bytes: i64,
}

/// The memory of a program: the peak, and what led there. Who held it is in the profile's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapFacts {
    /// One sample in so many bytes, on average; 0 if every allocation counts.
    pub sample_bytes: u64,
    /// Whether it is the memory of a device, not of the process.
    pub on_device: bool,
    /// How long it was looked at.
    pub duration: Ns,
    /// The most bytes that were allocated at once.
    pub peak_bytes: u64,
    pub peak_at: Ns,
    /// Bytes allocated at the end.
    pub end_bytes: u64,
    /// When the value `earlier` was taken; none in a run too short for it.
    pub earlier_at: Option<Ns>,
    /// Whether the program was still running, so that the end is not its end.
    pub unfinished: bool,
    pub curve: Vec<HeapPoint>,
    /// What lines did, of functions that were chosen; those of a function stand together.
    pub lines: Vec<HeapLine>,
}
