//! Folded stacks: what was on the stack, and for how much time, as flame graphs want it.
//!
//! Frames follow the nesting in time: thread, then Python calls, annotations, operators and runtime calls, and
//! a kernel as the leaf when device time is asked for. Every nanosecond of a host thread belongs to the
//! innermost slice open then, so values are never negative and add up to the total exactly, also where slices
//! overlap without nesting.

mod fold;
mod profile_stacks;
pub(crate) mod tree;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{LaneId, StrId, Tag, Trace};

use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;

pub use fold::Stacks;
pub use profile_stacks::{FOLDED_DEFINITIONS, FoldedRow, frame_text, profile_stacks};

/// Which time a stack is worth.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Host time during which the leaf was innermost.
    #[default]
    HostSelf,
    /// Duration of the device work that is the leaf.
    DeviceSelf,
}

/// What to put on the stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub weight: Weight,
    /// Whose time counts. Frames around it show even when they began outside.
    pub selection: Selection,
    /// Begin each stack with its thread's name.
    pub threads: bool,
    pub python: bool,
    pub annotations: bool,
    /// Show runtime and driver calls.
    pub runtime: bool,
    /// Show all numbered steps as one frame.
    pub merge_steps: bool,
    /// Most frames a stack may have; the time of deeper ones counts in the last. Folded text grows with the
    /// square of the depth, and a file may be made to be deep.
    pub max_depth: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            weight: Weight::HostSelf,
            selection: Selection::all(),
            threads: true,
            python: true,
            annotations: true,
            runtime: true,
            merge_steps: false,
            max_depth: 512,
        }
    }
}

/// One frame of a stack.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frame {
    Thread(LaneId),
    Name(StrId),
    Steps,
    /// Represents the missing host side of device work without a known launch.
    Unlinked,
}

impl Frame {
    pub fn text(self, trace: &Trace) -> Cow<'_, str> {
        match self {
            Frame::Name(name) => Cow::Borrowed(trace.text(name)),
            Frame::Steps if trace.meta().framework.is_some() => Cow::Borrowed("steps"),
            Frame::Steps => Cow::Borrowed("ProfilerStep*"),
            Frame::Unlinked => Cow::Borrowed("(no launch in this file)"),
            Frame::Thread(lane) => {
                let lane = trace.lanes().get(lane);
                match (trace.text(lane.thread_name).trim(), lane.key.thread) {
                    ("", Tag::Int(number)) => Cow::Owned(format!("thread {number}")),
                    ("", Tag::Str(text)) => Cow::Owned(format!("thread {}", trace.text(text))),
                    ("", Tag::None) => Cow::Borrowed("thread"),
                    (name, _) => Cow::Borrowed(name),
                }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Frames from the outermost to the leaf, joined by `;`.
    pub stack: String,
    pub value_ns: i64,
    /// How many slices gave time to it.
    pub count: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StacksReport {
    pub weight: Weight,
    /// Sum of all values.
    pub total_ns: i64,
    /// Device time without a known launch, part of the total.
    pub unlinked_ns: i64,
    /// The stacks, sorted by their text.
    pub rows: Vec<Row>,
}

/// Answers what was on the stack and for how much time.
pub fn analyze(trace: &Trace, options: &Options) -> StacksReport {
    Stacks::build(trace, options).report(trace)
}

/// A frame's text in a folded stack: the separator and line ends would break the format.
pub fn folded_text(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| matches!(c, ';' | '\n' | '\r' | '\t');
    if text.contains(breaks) { Cow::Owned(text.replace(breaks, "_")) } else { Cow::Borrowed(text) }
}

pub const DEFINITIONS: &[Definition] = definitions! {
    "value_ns", "Self" =>
        "Host self: time during which the leaf was the innermost slice shown on its thread, which for nested slices is its \
         duration less that of its direct children. Device self: duration of the device work that is the leaf, under the \
         stack of the call that launched it, or under a frame of its own if neither that call nor an operator is in the \
         file.";
    "count", "Count" => "How many slices contributed time to this stack.";
    "total_ns", "Total" =>
        "Sum over all stacks. Host self: the time during which at least one slice shown was open, thread by thread. Device \
         self: the durations of all kernels, copies and memsets.";
};
