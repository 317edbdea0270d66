//! What a trace is: immutable columns of slices, points, counters, allocations and flows; stacks; interned strings; lanes; links; notes.
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
//! assert_eq!(trace.slices().end(slice), Ns(10));
//! assert_eq!(trace.origin(), Ns(5));
//! ```

mod allocations;
mod args;
mod attr;
mod builder;
mod counters;
mod document;
mod heap;
mod history_entry;
mod history_table;
mod interned;
mod kind;
mod lanes;
mod link;
mod links;
mod meta;
mod notes;
mod order;
mod origin;
mod packed;
mod points;
mod profile;
mod program_buffers;
mod program_graph;
mod program_phases;
mod program_shape;
mod programs;
mod samples;
mod shapes;
mod slices;
mod snapshot;
mod stack_table;
mod stack_tree;
mod stacks;
mod strings;
mod time;
mod trace;
mod tree;
mod unit;

pub use allocations::{Allocation, AllocationId, Allocations};
pub use args::{ArgValue, Args, ArgsId, Decimal, Value};
pub use attr::Attr;
pub use builder::{NewAllocation, NewFlow, NewPoint, NewSlice, OpenSlice, TraceBuilder};
pub use counters::{CounterRow, Counters, Series, SeriesId};
pub use document::{Document, DocumentKind};
pub use heap::{HeapFacts, HeapLine, HeapPoint};
pub use history_entry::{Action, HistoryEntry};
pub use history_table::{HistoryBlock, HistoryEntries, HistoryTable};
pub use kind::{CatId, Kind};
pub use lanes::{ASYNCIO_TASKS_OF, Domain, LOCK_OF, Lane, LaneId, LaneKey, Lanes, SAMPLES_OF, Tag};
pub use links::Links;
pub use meta::{BareSteps, Device, Distributed, Framework, Meta, ProfilerOptions, Source, TriedFix};
pub use notes::{Note, NoteKind, Notes, Severity};
pub use order::Order;
pub use packed::{Packed, PackedNumbers};
pub use points::{FlowEnd, FlowKind, FlowSide, Flows, PointId, PointKind, Points};
pub use profile::{CallRow, Caller, HEAP_VALUES, LineIs, LineRow, Profile, ValueKind, ValueUnit, heap_values};
pub use program_buffers::{
    BufferAllocation, BufferAssignment, HeapAction, HeapEvent, HeapSimulation, ProgramBuffer,
};
pub use program_graph::{GraphBuilder, GraphNode, InstructionDetails, NewNode, ProgramGraph, SourceLine};
pub use program_phases::{PackageImport, ProgramPhases, StartUpParts, SteadyIterations};
pub use program_shape::{ElementType, ResultShape};
pub use programs::{Program, Programs, kernel_name};
pub use samples::{Sample, Samples};
pub use shapes::{Input, parse_shapes, shapes_text};
pub use slices::{SliceId, Slices};
pub use snapshot::{Block, BlockState, Mark, Segment, Snapshot};
pub use stack_table::{Frame, FrameId, StackTable};
pub use stack_tree::StackId;
pub use stacks::Stacks;
pub use strings::{StrId, Strings};
pub use time::Ns;
pub use trace::Trace;
pub use tree::CallTree;
pub use unit::Unit;
