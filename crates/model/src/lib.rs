//! What a trace is: immutable columns of slices, points and flows; interned strings; lanes; links; notes.
//!
//! Readers and recorders fill a [`TraceBuilder`]; everything after sees only the finished [`Trace`].
//! This crate refuses to parse, to do I/O, to spawn threads and to know any file format.
//!
//! ```
//! use stepscope_model::{Domain, Kind, LaneKey, NewSlice, Ns, Tag, TraceBuilder};
//!
//! let mut b = TraceBuilder::new();
//! let lane = b.lane(LaneKey { domain: Domain::Host, process: Tag::Int(1), thread: Tag::Int(1) });
//! let (name, cat) = (b.intern("aten::mm"), b.category("cpu_op"));
//! b.slice(NewSlice { start: Ns(5), dur: Ns(10), name, cat, kind: Kind::HostOp, lane, ..NewSlice::default() });
//! let trace = b.finish();
//! let slice = trace.slices().ids().next().expect("one slice");
//! assert_eq!(trace.name(slice), "aten::mm");
//! assert_eq!(trace.slices().end(slice), Ns(15));
//! ```

mod args;
mod builder;
mod document;
mod kind;
mod lanes;
mod link;
mod links;
mod meta;
mod notes;
mod points;
mod profile;
mod slices;
mod snapshot;
mod stack_table;
mod strings;
mod time;
mod trace;
mod tree;

pub use args::{ArgValue, Args, ArgsId, Decimal, OVERLOAD_KEY, Value};
pub use builder::{NewFlow, NewPoint, NewSlice, OpenSlice, TraceBuilder};
pub use document::Document;
pub use kind::{CatId, Kind};
pub use lanes::{Domain, Lane, LaneId, LaneKey, Lanes, Tag};
pub use links::Links;
pub use meta::{Device, Distributed, Meta, ProfilerOptions, Source};
pub use notes::{Note, NoteKind, Notes, Severity};
pub use points::{FlowEnd, Flows, PointId, Points};
pub use profile::{CallRow, Caller, Profile, Sample, Unit, ValueKind};
pub use slices::{SliceId, Slices};
pub use snapshot::{Action, Block, BlockState, HistoryEntry, Segment, Snapshot};
pub use stack_table::{Frame, FrameId, StackId, StackTable};
pub use strings::{StrId, Strings};
pub use time::Ns;
pub use trace::Trace;
pub use tree::CallTree;
