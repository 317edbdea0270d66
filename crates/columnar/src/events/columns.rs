//! The columns of slices, and what they mean.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use stepscope_analyse::run::Run;
use stepscope_analyse::tables::flops::{Flops, formula};
use stepscope_analyse::tables::run_info::kind_code;
use stepscope_model::{CatId, Domain, Kind, Lane, SliceId, Slices, StrId, Tag, Trace};

use super::attributes::attributes;
use super::dictionary::dictionary;
use super::times::times;

/// The last column, made for each batch.
pub(super) const ARGS: &str = "args";

/// A column of [`events`](crate::events()).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EventColumn {
    pub name: &'static str,
    pub text: &'static str,
    /// Whether a row may lack it.
    pub nullable: bool,
}

const fn always(name: &'static str, text: &'static str) -> EventColumn {
    EventColumn { name, text, nullable: false }
}

const fn maybe(name: &'static str, text: &'static str) -> EventColumn {
    EventColumn { name, text, nullable: true }
}

/// The columns of [`events`](crate::events()), in order.
pub const EVENT_COLUMNS: &[EventColumn] = &[
    always("id", "Number of the event in this file: the row, and what parent, launch and op refer to."),
    always("name", "Name as the file has it."),
    always("category", "Category as the file has it."),
    always(
        "kind",
        "What it is, whatever the producer calls it: host_op, host_annotation, python_function, runtime, driver, \
         overhead, kernel, memcpy, memset, device_annotation, device_sync, collective, span or other.",
    ),
    always("start_ns", "When it starts, in nanoseconds since the first event of the trace."),
    always("dur_ns", "How long it takes, in nanoseconds."),
    maybe("process", "Process of a host event, as text: files name processes by number or by text."),
    maybe("thread", "Thread of a host event, as text: files name threads by number or by text."),
    maybe("device", "Number of the device that ran it; null on the host."),
    maybe("stream", "Number of the stream that ran it; null on the host."),
    maybe("process_name", "Name of its process, where the file gives one."),
    maybe("lane_name", "Name of its thread or stream, where the file gives one."),
    maybe("parent", "Id of the innermost host event of its thread that contains it, Python calls included."),
    maybe("launch", "Id of the runtime or driver call that launched this device work."),
    maybe("op", "Id of the operator or annotation that this device work or runtime call belongs to."),
    maybe(
        "flops",
        "Floating-point operations by PyTorch's with_flops formulas; null where they do not count it.",
    ),
    maybe("input_shapes", "Sizes of an operator's inputs, as JSON text."),
    maybe("input_types", "Types of an operator's inputs, as JSON text."),
    maybe("collective", "Name of the collective."),
    maybe("correlation", "Number that ties device work to the call that launched it, as the file has it."),
    maybe("external_id", "Number that ties calls and device work to their operator, as the file has it."),
    maybe("sequence_number", "Number that ties a forward operator to its backward one, as the file has it."),
    maybe("bytes", "Bytes that a copy or a memset moved."),
    maybe("registers_per_thread", "Registers of a kernel's thread."),
    maybe("shared_memory_bytes", "Shared memory of a kernel's block, in bytes."),
    maybe("occupancy_percent", "Achieved occupancy that the producer estimates, in percent."),
    maybe("bandwidth_gbps", "Bandwidth of a copy that the producer gives, in gigabytes per second."),
    maybe("grid", "Blocks of a kernel in x, y and z."),
    maybe("block", "Threads of a kernel's block in x, y and z."),
    maybe(ARGS, "All arguments under the producer's own keys, as JSON text."),
];

/// All columns but the arguments, in order.
pub(super) fn arrays(run: &Run) -> Result<Vec<(&'static str, ArrayRef)>, ArrowError> {
    let trace = run.trace();
    let slices = trace.slices();
    let lanes = Lanes::new(trace);
    let tree = run.tree();
    let ids = |of: &dyn Fn(SliceId) -> Option<SliceId>| -> ArrayRef {
        let rows = slices.ids().map(|id| of(id).map(|other| other.index() as u32));
        Arc::new(rows.collect::<UInt32Array>())
    };
    let texts: Vec<StrId> = trace.categories().map(|(id, _)| id).map(|id| category_text(trace, id)).collect();
    let categories = slices.ids().map(|id| texts.get(slices.cat(id).index()).copied().unwrap_or_default());
    let text = |at: usize| trace.text(StrId::from_index(at));
    let strings = trace.strings().len();
    let mut columns: Vec<(&'static str, ArrayRef)> = vec![
        ("id", Arc::new(UInt32Array::from_iter_values(0..slices.len() as u32))),
        ("name", dictionary(slices.ids().map(|id| Some(slices.name(id).index())), strings, text)?),
        ("category", dictionary(categories.map(|id| Some(id.index())), strings, text)?),
        ("kind", kinds(slices.kinds())?),
        ("start_ns", times(run.shared_trace(), Slices::starts)),
        ("dur_ns", times(run.shared_trace(), Slices::durs)),
        ("process", lanes.texts(|lane| on_host(lane).and_then(|lane| tag_text(trace, lane.key.process)))?),
        ("thread", lanes.texts(|lane| on_host(lane).and_then(|lane| tag_text(trace, lane.key.thread)))?),
        ("device", lanes.numbers(|lane| on_device(lane)?.key.process.as_int())),
        ("stream", lanes.numbers(|lane| on_device(lane)?.key.thread.as_int())),
        ("process_name", lanes.texts(|lane| given(trace, lane.process_name))?),
        ("lane_name", lanes.texts(|lane| given(trace, lane.thread_name))?),
        ("parent", ids(&|id| tree.parent(id))),
        ("launch", ids(&|id| trace.links().launch(id))),
        ("op", ids(&|id| trace.links().op(id))),
        ("flops", flops(trace)),
    ];
    columns.extend(attributes(trace)?);
    Ok(columns)
}

fn on_host(lane: &Lane) -> Option<&Lane> {
    (lane.key.domain == Domain::Host).then_some(lane)
}

fn on_device(lane: &Lane) -> Option<&Lane> {
    (lane.key.domain == Domain::Device).then_some(lane)
}

fn tag_text(trace: &Trace, tag: Tag) -> Option<String> {
    match tag {
        Tag::Int(number) => Some(number.to_string()),
        Tag::Str(text) => Some(trace.text(text).to_owned()),
        Tag::None => None,
    }
}

fn given(trace: &Trace, text: StrId) -> Option<String> {
    Some(trace.text(text)).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn category_text(trace: &Trace, id: CatId) -> StrId {
    trace.strings().find(trace.category(id)).unwrap_or_default()
}

fn kinds(kinds: &[Kind]) -> Result<ArrayRef, ArrowError> {
    let mut words: Vec<String> = Vec::new();
    let mut of_kind: HashMap<Kind, usize> = HashMap::new();
    for &kind in kinds {
        of_kind.entry(kind).or_insert_with(|| {
            words.push(kind_code(kind).replace('-', "_"));
            words.len() - 1
        });
    }
    dictionary(kinds.iter().map(|kind| of_kind.get(kind).copied()), words.len(), |at| words[at].as_str())
}

fn flops(trace: &Trace) -> ArrayRef {
    let slices = trace.slices();
    let mut counts = Flops::new(trace);
    let rows = slices.ids().map(|id| {
        let formula = formula(trace.name(id)).filter(|_| slices.kind(id) == Kind::HostOp)?;
        Some(counts.count_call(id, formula)).filter(|&count| count > 0)
    });
    Arc::new(rows.collect::<UInt64Array>())
}

/// What a lane says is the same for all its slices.
struct Lanes<'a> {
    trace: &'a Trace,
}

impl<'a> Lanes<'a> {
    fn new(trace: &'a Trace) -> Lanes<'a> {
        Lanes { trace }
    }

    fn numbers(&self, of: impl Fn(&Lane) -> Option<i64>) -> ArrayRef {
        let by_lane: Vec<Option<i64>> = self.trace.lanes().iter().map(|(_, lane)| of(lane)).collect();
        Arc::new(self.rows().map(|lane| by_lane[lane]).collect::<Int64Array>())
    }

    fn texts(&self, of: impl Fn(&Lane) -> Option<String>) -> Result<ArrayRef, ArrowError> {
        let mut distinct: Vec<String> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut place = |text: String| match known.get(&text) {
            Some(&at) => at,
            None => {
                distinct.push(text.clone());
                known.insert(text, distinct.len() - 1);
                distinct.len() - 1
            }
        };
        let by_lane: Vec<Option<usize>> =
            self.trace.lanes().iter().map(|(_, lane)| of(lane).map(&mut place)).collect();
        dictionary(self.rows().map(|lane| by_lane[lane]), distinct.len(), |at| &distinct[at])
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        let slices = self.trace.slices();
        slices.ids().map(|id| slices.lane(id).index())
    }
}
