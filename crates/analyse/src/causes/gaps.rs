//! The gaps of each device: how much time, why, and who is to blame.

mod culprits;
mod longest;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, Order, SliceId, Trace};

use crate::causes::cause::Cause;
use crate::causes::idle::{GapKind, GapPart, Idle, idle};
use crate::devices::streams::{MAX_QUEUED_GAP, Stream, streams};
use crate::scope::definition::{Definition, definitions};
use crate::scope::windows::signed;
use crate::steps::Steps;
use crate::threads::callers::Callers;
use crate::threads::host_time::HostTime;
use culprits::culprits;
use longest::{Longest, longest_gaps};

pub const DEFINITIONS: &[Definition] = definitions! {
    "idle_ns", "Idle" =>
        "Time inside the steps during which the device ran no kernel, copy or memset on any stream. In a total, summed \
         over devices.";
    "gaps", "Gaps" =>
        "How many stretches of idle time: each lasts from the moment the device runs dry, or the step begins, to the \
         moment it works again, or the step ends.";
    "max_ns", "Longest" => "The longest of these gaps.";
    "share_of_steps", "Of the steps" => "Idle time / the summed wall time of the steps, as a fraction.";
    "kind", "Kind" =>
        "host_late: the next work was launched after the device had run dry; launch_latency: it was on its way; \
         queued_gap: it was queued right behind what had just ended (at most 30 µs); dependency: it waited for another \
         stream or an event; end_of_step: it belongs to a later step; unlinked: its launching call was not recorded. A gap \
         is named after its longer part.";
    "cause", "Cause" => "The largest of the causes among which the gap's time is divided, as in `stepscope account`.";
    "culprit", "Culprit" =>
        "What the host was in for the longest part of the gap: the outermost operator, or else the nearest named range or \
         Python call. It is what ran instead of launching work, not always what is wrong.";
    "pieces", "Pieces" =>
        "How many pieces of gaps: a gap is cut wherever its cause, or the innermost slice of the host, changes.";
    "share", "Of idle" => "Idle time of the row / all idle time in the steps, as a fraction.";
    "start_ns", "Start" => "When the gap begins, counted from the trace's first event.";
    "wall_ns", "Wall" => "The summed wall time of the steps, counted once per device.";
    crate::steps::STEP;
    "slices", "Work" => "Kernels, copies and memsets on the stream, in the whole trace.";
    "busy_ns", "Busy" =>
        "Time during which the stream ran a kernel, copy or memset, in the whole trace. Overlaps count once.";
    "host_wait_ns", "Host wait" =>
        "Gaps between the work of one stream, whatever other streams did meanwhile, in the whole trace: those whose next \
         work was launched after the work before it had ended. HTA's class of this name.";
    "kernel_wait_ns", "Kernel wait" =>
        "Gaps of the stream under 30 µs whose next work was launched before the work before it ended. HTA's class of this \
         name.";
    "other_ns", "Other" =>
        "All other gaps of the stream: longer ones whose next work was already launched, and those whose launch was not \
         recorded. HTA's class of this name.";
};

/// Idle time of one kind on one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GapKindRow {
    pub device: Option<i64>,
    pub kind: GapKind,
    pub gaps: u64,
    pub idle_ns: i64,
    pub max_ns: i64,
    /// Part of the steps' time.
    pub share_of_steps: f64,
}

/// Idle time that one operator, range or call is to blame for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CulpritRow {
    pub cause: Cause,
    /// The operator, range or call; what the cause says, where there is none.
    pub culprit: String,
    /// How many pieces of gaps.
    pub pieces: u64,
    pub idle_ns: i64,
    /// Part of all idle time.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GapRow {
    pub device: Option<i64>,
    /// The step it lies in.
    pub step: i64,
    /// Where the device ran dry.
    pub start_ns: i64,
    pub idle_ns: i64,
    pub kind: GapKind,
    pub cause: Cause,
    /// What the host was in.
    pub culprit: Option<String>,
    pub next: Option<String>,
    /// Python frames from the innermost; empty unless stacks were recorded.
    pub stack: Vec<String>,
}

/// One stream's gaps by HTA's classes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamGapsRow {
    pub device: Option<i64>,
    pub stream: Option<i64>,
    /// Kernels, copies and memsets.
    pub slices: u64,
    /// Their time, overlaps counted once.
    pub busy_ns: i64,
    /// Launched after the work before had ended.
    pub host_wait_ns: i64,
    /// Launched before, and a gap under 30 µs.
    pub kernel_wait_ns: i64,
    /// Launched before, and a longer gap; or no launch recorded.
    pub other_ns: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GapsReport {
    /// By device and kind, largest first.
    pub kinds: Vec<GapKindRow>,
    /// By culprit, largest first.
    pub culprits: Vec<CulpritRow>,
    pub gaps: Vec<GapRow>,
    pub streams: Vec<StreamGapsRow>,
    pub count: u64,
    /// Their time, summed over devices.
    pub idle_ns: i64,
    /// The steps' time, once per device.
    pub wall_ns: i64,
}

/// Finds the gaps of some steps, on all devices or one of them, and keeps the longest `top`.
pub fn gaps(trace: &Trace, steps: &Steps, device: Option<i64>, top: usize) -> GapsReport {
    let host = HostTime::new(trace);
    let mut streams = streams(trace);
    streams.retain(|s| device.is_none() || s.device.as_int() == device);
    let found = idle(trace, &host, &streams, &steps.windows());
    report(trace, steps, &streams, &found, &Callers::new(trace), top)
}

pub(crate) fn report(
    trace: &Trace,
    steps: &Steps,
    streams: &[Stream],
    idle: &Idle,
    callers: &Callers,
    top: usize,
) -> GapsReport {
    let devices = streams.chunk_by(|a, b| a.device == b.device).count() as i64;
    let step_ns = steps.wall_ns();
    let mut report = GapsReport { wall_ns: step_ns.saturating_mul(devices), ..GapsReport::default() };
    let longest = Longest::new(idle.windows().spans());
    for (device, dry) in idle.devices() {
        let mut kinds: BTreeMap<GapKind, GapKindRow> = BTreeMap::new();
        for at in dry.clone() {
            for (kind, gaps, idle_ns, max_ns) in kinds_of(idle, &longest, at) {
                report.count += gaps;
                report.idle_ns = report.idle_ns.saturating_add(idle_ns);
                let row = kinds.entry(kind).or_insert(GapKindRow {
                    device: device.as_int(),
                    kind,
                    gaps: 0,
                    idle_ns: 0,
                    max_ns: 0,
                    share_of_steps: 0.0,
                });
                row.gaps += gaps;
                row.idle_ns = row.idle_ns.saturating_add(idle_ns);
                row.max_ns = row.max_ns.max(max_ns);
            }
        }
        report.kinds.extend(kinds.into_values());
    }
    for row in &mut report.kinds {
        row.share_of_steps = row.idle_ns as f64 / step_ns.max(1) as f64;
    }
    report.kinds.order_by_key(|r| (r.device, std::cmp::Reverse(r.idle_ns), r.kind));
    for ((cause, name), (pieces, idle_ns)) in culprits(trace, idle, callers) {
        let culprit = name.map_or_else(|| cause.label().to_owned(), |n| trace.text(n).to_owned());
        let share = idle_ns as f64 / report.idle_ns.max(1) as f64;
        report.culprits.push(CulpritRow { cause, culprit, pieces, idle_ns, share });
    }
    report.culprits.order_by(|a, b| {
        b.idle_ns.cmp(&a.idle_ns).then_with(|| (a.cause, &a.culprit).cmp(&(b.cause, &b.culprit)))
    });
    for gap in longest_gaps(idle, &longest, top) {
        let (cause, slice) = main_part(&idle.parts(&gap));
        report.gaps.push(GapRow {
            device: gap.device.as_int(),
            step: steps.steps.get(gap.window).map_or(-1, |s| s.step),
            start_ns: gap.start.0,
            idle_ns: (gap.end - gap.start).0,
            kind: gap.kind,
            cause,
            culprit: slice.map(|s| trace.text(trace.slices().name(callers.blamed(s))).to_owned()),
            next: gap.next.map(|n| trace.name(n).to_owned()),
            stack: slice.map(|s| callers.python_stack(trace, s)).unwrap_or_default(),
        });
    }
    report.streams = streams.iter().map(|s| stream_row(trace, s)).collect();
    report
}

/// The gaps of a dry stretch by kind: how many, their time, and the longest. All but the last end with their step.
fn kinds_of(idle: &Idle, longest: &Longest, at: usize) -> impl Iterator<Item = (GapKind, u64, i64, i64)> {
    let mut windows = idle.windows_of(at);
    let last = windows.clone().next_back().map(|last| idle.gap(at, last));
    let own = last.filter(|gap| gap.kind != GapKind::EndOfStep);
    if own.is_some() {
        windows.end -= 1;
    }
    let bulk = (!windows.is_empty()).then(|| {
        let ends = [windows.start, windows.end - 1].map(|window| idle.gap(at, window));
        let ns = signed(idle.windows().length((ends[0].start, ends[1].end)));
        let max = ends.iter().map(|gap| (gap.end - gap.start).0).max().unwrap_or(0);
        let inner = longest.among(windows.start + 1..windows.end - 1).map_or(0, |w| longest.length(w));
        (GapKind::EndOfStep, windows.len() as u64, ns, max.max(inner))
    });
    let own = own.map(|gap| (gap.kind, 1, (gap.end - gap.start).0, (gap.end - gap.start).0));
    bulk.into_iter().chain(own)
}

/// The cause with most of a gap's time, and the slice with most of that.
fn main_part(parts: &[GapPart]) -> (Cause, Option<SliceId>) {
    let mut sums: Vec<(Cause, Ns)> = Vec::new();
    for part in parts {
        match sums.iter_mut().find(|s| s.0 == part.cause) {
            Some(sum) => sum.1 += part.end - part.start,
            None => sums.push((part.cause, part.end - part.start)),
        }
    }
    let cause = sums.iter().max_by_key(|s| s.1).map_or(Cause::Unlinked, |s| s.0);
    let of_cause = parts.iter().filter(|p| p.cause == cause);
    (cause, of_cause.max_by_key(|p| p.end - p.start).and_then(|p| p.slice))
}

fn stream_row(trace: &Trace, stream: &Stream) -> StreamGapsRow {
    let mut row = StreamGapsRow {
        device: stream.device.as_int(),
        stream: None,
        slices: stream.work.len() as u64,
        busy_ns: 0,
        host_wait_ns: 0,
        kernel_wait_ns: 0,
        other_ns: 0,
    };
    let mut done: Option<Ns> = None;
    for work in &stream.work {
        row.stream = row.stream.or_else(|| crate::scope::selection::stream_of(trace, work.slice));
        let from = done.unwrap_or(work.start);
        let gap = (work.start - from).0;
        if gap > 0 {
            let class = match work.launch {
                Some(_) if work.launched > from => &mut row.host_wait_ns,
                Some(_) if gap < MAX_QUEUED_GAP.0 => &mut row.kernel_wait_ns,
                _ => &mut row.other_ns,
            };
            *class = class.saturating_add(gap);
        }
        row.busy_ns = row.busy_ns.saturating_add((work.end - work.start.max(from)).0.max(0));
        done = Some(from.max(work.end));
    }
    row
}
