//! Synchronization: calls in which the host is stalled until a device has caught up.
//!
//! A call waits if its name says so (`cudaStreamSynchronize`, `cudaDeviceSynchronize`, a plain `cudaMemcpy`), if it
//! is a copy that was over before the call returned although it moved pageable memory or brought data back, or if
//! it returns memory (`cudaFree` waits for the device), or if it launches work while the device's queue is full. What it
//! waited for is the work that was launched before
//! and ended last before the call returned: the file does not say, so on several streams that is a heuristic,
//! unless the profiler recorded synchronization events, which name the stream. JAX and TensorFlow wait in functions of
//! their own (`block_until_ready`, `np.asarray` of an array), for the work that ended last before they returned.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Order, SliceId, StrId, Trace};

use crate::devices::streams::{Stream, Work, streams};
use crate::devices::sync_events::SyncEvents;
use crate::names::by_name::ByName;
use crate::names::calls::{is_allocation, is_synchronization};
use crate::names::framework::{FrameworkCall, framework_call, jax_function};
use crate::scope::definition::{Definition, definitions};
use crate::steps::Steps;
use crate::threads::callers::Callers;

/// What the numbers of a wait mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "wait_ns", "Waited" =>
        "The part of the call during which the device work it waited for was not done yet: from the start of the call to \
         the end of that work. Zero if the device had already caught up.";
    "max_wait_ns", "Longest wait" => "The longest wait of a single call.";
    "longest_start_ns", "Longest at" => "When the call with the longest wait starts, counted from the trace's first event.";
    "total_ns", "Total" => "Time on the host from the start to the end of the waiting calls.";
    "calls", "Calls" =>
        "How many calls waited, or would have if the device had not caught up. Only calls that start in a step count; a \
         driver call inside a runtime call is the same wait.";
    "calls_per_step", "Calls per step" => "Calls divided by the number of steps, partial ones included.";
    "kind", "Kind" =>
        "stream, device, event: what the call's name says it waits for; blocking_copy: a copy that returned only when the \
         data had arrived (pageable memory, or data brought back); free: returning memory that waits for the device; \
         full_queue: a launch that took over 50 µs while about 1,000 pieces of work stood before it on its stream. That \
         one is harmless: the host is far ahead of the device; result: a function of JAX or TensorFlow that returns when \
         the device has made a value.";
    "op", "Operator" =>
        "The outermost operator around the call, which is what the program asked for (aten::item), or the nearest named \
         range if there is none.";
    "steps", "Steps" => "How many steps were examined, partial ones included.";
    crate::steps::WALL;
};

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Stream,
    Device,
    Event,
    BlockingCopy,
    /// Memory returned to the device.
    Free,
    /// Room in the queue of a stream.
    FullQueue,
    /// A value that the device makes.
    Result,
}

#[derive(Copy, Clone, Debug)]
pub struct Wait {
    pub call: SliceId,
    pub kind: WaitKind,
    /// The work that let it go on, if it had to wait at all.
    pub until: Option<SliceId>,
    /// How long the device was still busy with it.
    pub wait_ns: i64,
}

/// Clocks of host and device are aligned by the profiler to a few microseconds.
const CLOCK_SLACK: Ns = Ns(5_000);

/// All waits, by their call's position.
pub fn waits(trace: &Trace) -> Vec<Wait> {
    find(trace, &streams(trace))
}

pub(crate) fn find(trace: &Trace, streams: &[Stream]) -> Vec<Wait> {
    let slices = trace.slices();
    let mut kinds = ByName::new(trace, kind_by_name);
    let copies = copies_by_call(trace, streams);
    let events = SyncEvents::find(trace, streams);
    let mut calls: Vec<(SliceId, WaitKind, Option<SliceId>)> = Vec::new();
    let mut outer = (None, Ns::MIN);
    for id in slices.ids() {
        if !slices.kind(id).is_runtime() {
            continue;
        }
        // A driver call inside of a runtime call is the same wait.
        let (lane, end) = (slices.lane(id), slices.end(id));
        if outer.0 == Some(lane) && end <= outer.1 {
            continue;
        }
        outer = (Some(lane), end);
        let copy = copies.binary_search_by_key(&id, |c| c.0).ok().map(|i| copies[i].1);
        let kind = match (kinds.get(slices.name(id)), copy) {
            (Some(kind), _) => kind,
            (None, Some(copy)) if blocks(trace, copy, end) => WaitKind::BlockingCopy,
            _ => continue,
        };
        calls.push((id, kind, copy));
    }
    // The work in flight is followed from call to call, so they are asked in order of time.
    let mut in_flight = InFlight::new(streams);
    calls.sort_unstable_by_key(|c| (slices.start(c.0), c.0));
    let mut found = Vec::new();
    for (id, kind, copy) in calls {
        let (start, end) = (slices.start(id), slices.end(id));
        let until = match (kind, copy) {
            (WaitKind::BlockingCopy, Some(copy)) => Some(copy),
            // The recording may say what was waited for; else times tell.
            _ => events.awaited.get(&id).copied().or_else(|| in_flight.last_done(start, end)),
        };
        let until = until.filter(|&work| slices.end(work) > start && slices.start(work) < end);
        let wait_ns = until.map_or(0, |work| (slices.end(work).min(end) - start).0.max(0));
        if kind == WaitKind::Free && until.is_none() {
            continue;
        }
        found.push(Wait { call: id, kind, until, wait_ns });
    }
    found.extend(full_queues(trace, streams));
    found.extend(framework_waits(trace, streams));
    found.sort_unstable_by_key(|wait| wait.call);
    found.dedup_by_key(|wait| wait.call);
    found
}

/// A stream takes about this many launches ahead (1,024 on NVIDIA's devices); then the next one waits.
const FULL_QUEUE_LENGTH: usize = 1_000;
/// A launch that waits takes longer than this.
const MIN_QUEUE_WAIT: Ns = Ns(50_000);

/// Launches that waited until there was room for them.
fn full_queues(trace: &Trace, streams: &[Stream]) -> Vec<Wait> {
    let slices = trace.slices();
    let mut found = Vec::new();
    for stream in streams.iter().filter(|s| s.work.len() > FULL_QUEUE_LENGTH) {
        for (i, work) in stream.work.iter().enumerate().skip(FULL_QUEUE_LENGTH) {
            let Some(call) = work.launch.filter(|&call| slices.dur(call) > MIN_QUEUE_WAIT) else { continue };
            let (start, end) = (slices.start(call), slices.end(call));
            // Work is in order of starts, and on a stream ends follow in nearly the same order.
            let done = stream.work[..i].partition_point(|w| w.end <= end);
            let queued = i - stream.work[..i].partition_point(|w| w.end <= start);
            if let Some(before) = done.checked_sub(1).map(|last| &stream.work[last])
                && queued >= FULL_QUEUE_LENGTH
                && before.end > start
            {
                let (until, wait_ns) = (Some(before.slice), (before.end - start).0);
                found.push(Wait { call, kind: WaitKind::FullQueue, until, wait_ns });
            }
        }
    }
    found
}

/// Where JAX or TensorFlow waits for a value: the outermost of such functions. Other threads may launch what it waits
/// for, so whatever ended last is taken for it.
fn framework_waits(trace: &Trace, streams: &[Stream]) -> Vec<Wait> {
    let slices = trace.slices();
    let mut ends: Vec<(Ns, SliceId)> = streams.iter().flat_map(|s| &s.work).map(|w| (w.end, w.slice)).collect();
    if trace.meta().framework.is_none() || ends.is_empty() {
        return Vec::new();
    }
    ends.sort_unstable();
    let mut ranges = ByName::new(trace, |name| framework_call(name) == FrameworkCall::Waits);
    let mut functions = ByName::new(trace, |name| jax_function(name) == Some(FrameworkCall::Waits));
    let mut outer = (None, Ns::MIN);
    let mut found = Vec::new();
    for id in slices.ids() {
        let waits = match slices.kind(id) {
            Kind::FrameworkCall => ranges.get(slices.name(id)),
            Kind::PythonFunction => functions.get(slices.name(id)),
            _ => false,
        };
        let (start, end) = (slices.start(id), slices.end(id));
        if !waits || outer.0 == Some(slices.lane(id)) && end <= outer.1 {
            continue;
        }
        outer = (Some(slices.lane(id)), end);
        let done = ends.partition_point(|e| e.0 <= end + CLOCK_SLACK);
        let until = done.checked_sub(1).map(|last| ends[last].1).filter(|&work| slices.end(work) > start);
        let wait_ns = until.map_or(0, |work| (slices.end(work).min(end) - start).0.max(0));
        found.push(Wait { call: id, kind: WaitKind::Result, until, wait_ns });
    }
    found
}

fn kind_by_name(name: &str) -> Option<WaitKind> {
    if is_synchronization(name) {
        Some(if name.contains("Event") {
            WaitKind::Event
        } else if name.contains("Stream") {
            WaitKind::Stream
        } else if name.contains("Mem") {
            WaitKind::BlockingCopy
        } else {
            WaitKind::Device
        })
    } else if is_allocation(name) && name.contains("Free") && !name.contains("Async") {
        Some(WaitKind::Free)
    } else {
        None
    }
}

/// Copies with the call that asked for them, by call.
fn copies_by_call(trace: &Trace, streams: &[Stream]) -> Vec<(SliceId, SliceId)> {
    let work = streams.iter().flat_map(|s| &s.work);
    let copies = work.filter(|w| trace.slices().kind(w.slice) == Kind::Memcpy);
    let mut copies: Vec<_> = copies.filter_map(|w| Some((w.launch?, w.slice))).collect();
    copies.sort_unstable();
    copies
}

/// Whether the call of a copy came back only after the copy: pageable memory is staged by the call itself, and the
/// copy's end within the call says so. A pinned copy that happened to be quick is not a wait.
fn blocks(trace: &Trace, copy: SliceId, call_end: Ns) -> bool {
    trace.name(copy).contains("Pageable") && trace.slices().end(copy) <= call_end
}

/// Each stream's last work launched before a moment that only moves on, by where it ends.
struct InFlight<'a> {
    /// All launched work with its stream's position, in order of launches.
    launched: std::iter::Peekable<std::vec::IntoIter<(Ns, usize, &'a Work)>>,
    /// By stream.
    last: Vec<Option<&'a Work>>,
    /// The same by end; of equal ends the first slice comes last.
    by_end: BTreeSet<(Ns, Reverse<SliceId>)>,
}

impl<'a> InFlight<'a> {
    fn new(streams: &'a [Stream]) -> Self {
        let all = streams.iter().enumerate().flat_map(|(i, s)| s.work.iter().map(move |w| (w.launched, i, w)));
        let mut launched: Vec<_> = all.filter(|l| l.2.launch.is_some()).collect();
        // Stable: of one stream's launches at the same moment the later work counts.
        launched.sort_by_key(|l| (l.0, l.1));
        InFlight {
            launched: launched.into_iter().peekable(),
            last: vec![None; streams.len()],
            by_end: BTreeSet::new(),
        }
    }

    /// Of each stream's last work launched before the call, the one that ended last and not after the call.
    fn last_done(&mut self, call_start: Ns, call_end: Ns) -> Option<SliceId> {
        while let Some((_, stream, work)) = self.launched.next_if(|l| l.0 < call_start) {
            if let Some(before) = self.last[stream].replace(work) {
                self.by_end.remove(&(before.end, Reverse(before.slice)));
            }
            self.by_end.insert((work.end, Reverse(work.slice)));
        }
        let latest = (call_end + CLOCK_SLACK, Reverse(SliceId::from_index(0)));
        self.by_end.range(..=latest).next_back().map(|done| done.1.0)
    }
}

/// Waits that come from the same place.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitRow {
    /// What the program asked for: the outermost operator, or the nearest named range.
    pub op: Option<String>,
    pub call: String,
    pub kind: WaitKind,
    pub calls: u64,
    /// How often in a step, on average over all steps.
    pub calls_per_step: f64,
    /// Time the device made it wait.
    pub wait_ns: i64,
    pub total_ns: i64,
    pub max_wait_ns: i64,
    /// Python frames from the innermost, of the longest wait; empty unless stacks were recorded.
    pub stack: Vec<String>,
    /// The longest wait's call: where it starts.
    pub longest_start_ns: i64,
}

/// The waits of some steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaitsReport {
    /// One row per place, by waiting time.
    pub rows: Vec<WaitRow>,
    pub wait_ns: i64,
    pub calls: u64,
    /// How many steps were looked at.
    pub steps: usize,
    /// Time of these steps.
    pub wall_ns: i64,
}

/// Who waits, for how long.
pub fn report(trace: &Trace, steps: &Steps, waits: &[Wait]) -> WaitsReport {
    report_with(trace, steps, waits, &Callers::new(trace))
}

pub(crate) fn report_with(trace: &Trace, steps: &Steps, waits: &[Wait], callers: &Callers) -> WaitsReport {
    let slices = trace.slices();
    let mut rows: Vec<(Option<SliceId>, WaitRow)> = Vec::new();
    let mut index = hashbrown::HashMap::<_, usize, foldhash::fast::RandomState>::default();
    let mut report =
        WaitsReport { steps: steps.steps.len(), wall_ns: steps.wall_ns(), ..WaitsReport::default() };
    for wait in waits {
        let start = slices.start(wait.call);
        if steps.at(start).is_none() {
            continue;
        }
        let op = callers.asked_for(trace, wait.call);
        let key: (Option<StrId>, StrId, WaitKind) =
            (op.map(|o| slices.name(o)), slices.name(wait.call), wait.kind);
        let at = *index.entry(key).or_insert_with(|| {
            let row = WaitRow {
                op: op.map(|o| trace.name(o).to_owned()),
                call: trace.name(wait.call).to_owned(),
                kind: wait.kind,
                calls: 0,
                calls_per_step: 0.0,
                wait_ns: 0,
                total_ns: 0,
                max_wait_ns: -1,
                stack: Vec::new(),
                longest_start_ns: 0,
            };
            rows.push((None, row));
            rows.len() - 1
        });
        let (longest, row) = &mut rows[at];
        row.calls += 1;
        row.wait_ns = row.wait_ns.saturating_add(wait.wait_ns);
        row.total_ns = row.total_ns.saturating_add(slices.dur(wait.call).0);
        if wait.wait_ns > row.max_wait_ns {
            row.max_wait_ns = wait.wait_ns;
            row.longest_start_ns = start.0;
            *longest = Some(wait.call);
        }
        report.wait_ns = report.wait_ns.saturating_add(wait.wait_ns);
        report.calls += 1;
    }
    for (longest, mut row) in rows {
        row.calls_per_step = row.calls as f64 / report.steps.max(1) as f64;
        row.stack = longest.map(|call| callers.python_stack(trace, call)).unwrap_or_default();
        report.rows.push(row);
    }
    report.rows.order_by(|a, b| {
        (b.wait_ns, b.total_ns)
            .cmp(&(a.wait_ns, a.total_ns))
            .then_with(|| (&a.op, &a.call, a.kind).cmp(&(&b.op, &b.call, b.kind)))
    });
    report
}
