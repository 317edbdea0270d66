//! What samples are made of: functions, threads, and runs of equal stacks.

use crate::lock::Lock;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its name, with its class where Python says that.
    pub name: String,
    pub file: String,
    /// The line it starts at.
    pub first_line: u32,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameLine {
    /// Its number in [`Sampling::functions`](super::Sampling::functions).
    pub function: u32,
    pub line: u32,
}

/// A thread that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledThread {
    /// Which process it is of, by its number in [`Sampling::processes`](super::Sampling::processes).
    pub process: usize,
    /// The system's number of it; Python's, cut, where that is not known.
    pub number: u32,
    /// What the program calls it.
    pub name: String,
}

/// The same stack, sample after sample.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StackRun {
    /// Which thread, by its number in [`Sampling::threads`](super::Sampling::threads).
    pub thread: u32,
    /// Which stack; see [`Sampling::places`](super::Sampling::places).
    pub stack: u32,
    pub waits: bool,
    /// Since when: the sample before the first.
    pub start_ns: i64,
    /// When it was last seen.
    pub end_ns: i64,
    pub samples: u32,
    /// In how many of them the thread held the interpreter's lock.
    pub gil_samples: u32,
}

/// The same with the interpreter's lock, sample after sample.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LockRun {
    /// Which thread, by its number in [`Sampling::threads`](super::Sampling::threads).
    pub thread: u32,
    pub lock: Lock,
    /// Since when: the sample before the first.
    pub start_ns: i64,
    /// When it was last seen.
    pub end_ns: i64,
}
