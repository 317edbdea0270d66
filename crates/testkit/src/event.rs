//! What the simulation plays, before it becomes text.

use std::io;

use crate::calls::{Api, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    Main,
    Backward,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OpEvent {
    pub(crate) thread: Thread,
    pub(crate) name: &'static str,
    pub(crate) sig: &'static str,
    pub(crate) shape: [u64; 3],
    pub(crate) start: u64,
    pub(crate) dur: u64,
    /// Time not spent in the operators it called.
    pub(crate) self_ns: u64,
    pub(crate) external: u64,
    pub(crate) sequence: Option<u64>,
    /// Whether a `fwdbwd` arrow starts or ends here.
    pub(crate) arrow: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryEvent {
    pub(crate) thread: Thread,
    pub(crate) at: u64,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) freed: bool,
    pub(crate) allocated: u64,
    pub(crate) reserved: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceSide {
    pub(crate) work: &'static Work,
    pub(crate) stream: u64,
    pub(crate) start: u64,
    pub(crate) dur: u64,
    /// Bytes moved or filled; nothing for a kernel.
    pub(crate) bytes: u64,
}

/// A runtime or driver call, with the work it started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEvent {
    pub(crate) thread: Thread,
    pub(crate) api: Api,
    pub(crate) start: u64,
    pub(crate) dur: u64,
    pub(crate) correlation: u64,
    pub(crate) external: u64,
    pub(crate) device: Option<DeviceSide>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameEvent {
    pub(crate) label: Frame,
    pub(crate) start: u64,
    pub(crate) dur: u64,
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Frame {
    Plain(&'static str),
    /// `nn.Module: class_number`.
    Module(&'static str, u64),
    /// `file(line): forward`.
    Forward(&'static str),
    Native(&'static str),
}

/// A named range inside a step, on the host and on the device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) external: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// First start and last end of its work on the first stream.
    pub(crate) device: Option<(u64, u64)>,
}

/// The ranges of a step; the first is the step itself.
pub(crate) const SPANS: usize = 6;

/// Their names; the step's own gets its number.
pub(crate) static SPAN_NAMES: [&str; SPANS] = [
    "ProfilerStep#",
    "to_device",
    "Optimizer.zero_grad#AdamW.zero_grad",
    "forward",
    "backward",
    "Optimizer.step#AdamW.step",
];

/// The ranges that also have a twin on the device.
pub(crate) const DEVICE_SPANS: [usize; 4] = [1, 3, 4, 5];

pub(crate) trait Sink {
    /// An operator; a parent comes before its children.
    fn op(&mut self, event: &OpEvent) -> io::Result<()>;
    fn memory(&mut self, event: &MemoryEvent) -> io::Result<()>;
    fn call(&mut self, event: &CallEvent) -> io::Result<()>;
    fn frame(&mut self, event: &FrameEvent) -> io::Result<()>;
    /// A named range of step number `step`, opened before what lies in it.
    fn span(&mut self, step: u64, which: usize, span: &Span) -> io::Result<()>;
}
