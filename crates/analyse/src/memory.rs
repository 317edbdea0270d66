//! Where memory goes: levels and peaks per device, what lived at the peak, and which operators took it.
//!
//! Works on the allocator's `[memory]` marks. Lifetimes are found by address over the whole trace; a
//! [`Selection`] only narrows which marks are shown and counted, so what lived at a step's peak stays right.
//! Memory taken before the recording has no mark: it is shown as its own part, never guessed. A window narrows further,
//! and starts from the level at its beginning.

pub mod across_snapshots;
pub(crate) mod by_operator;
pub mod capacity;
pub mod categories;
pub mod columns;
mod definitions;
pub(crate) mod device;
pub mod fit;
pub mod heap_profile;
pub mod history;
mod innermost;
pub mod iterations;
pub mod leaks;
mod level;
mod lifetime;
mod live;
pub mod live_at;
mod live_set;
mod operators;
pub mod out_of_memory;
pub mod peak_without;
pub mod places;
pub mod process;
mod record;
pub mod replay;
pub mod retries;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Trace};

use crate::scope::selection::Selection;
use innermost::EnclosingSlices;
use lifetime::Lifetime;
use record::Records;

pub use definitions::{DEFINITIONS, EVENT_DEFINITIONS, OPERATOR_DEFINITIONS};
pub use device::device_label;
pub use level::CurvePoint;
pub use live::{LiveOperator, LiveStack};
pub use operators::OperatorMemory;

/// Used where no operator was running.
pub const NO_OPERATOR: &str = "(no operator)";
/// The part of a peak that no mark of this file explains.
pub const UNKNOWN_ORIGIN: &str = "(allocated before recording or unknown)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which marks are shown and counted.
    pub selection: Selection,
    /// Only marks of `[from, to)`, since the trace's first event. Levels start from the one at `from`, which can be the peak.
    pub window: Option<(Ns, Ns)>,
    /// How many Python frames to give with each allocation alive at the peak.
    pub frames: usize,
    /// About how many points a curve may have; 0 keeps every mark.
    pub curve_points: usize,
    /// Whether to list every allocation: one row each, so only where asked for.
    pub events: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { selection: Selection::all(), window: None, frames: 8, curve_points: 2_000, events: false }
    }
}

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// Memory marks in the trace.
    pub records: u64,
    /// Marks without a byte count, which could not be used.
    pub unreadable_records: u64,
    /// Marks of the devices past the first 64 different ones, shown together as one device.
    pub merged_device_records: u64,
    /// One part per device, the host first.
    pub devices: Vec<DeviceMemory>,
    /// Which operators took and gave back memory: by device, the largest allocation sum first.
    pub operators: Vec<OperatorMemory>,
    /// Every allocation and every release of something allocated earlier, in order of time; empty unless asked
    /// for.
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DeviceMemory {
    /// `CPU`, `CUDA 0`, …
    pub device: String,
    /// PyTorch's number for the kind of device (0 CPU, 1 CUDA, 6 HIP, …), if given.
    pub device_type: Option<i64>,
    pub device_id: Option<i64>,
    pub records: u64,
    /// Whether every level is the allocator's own total. If not, levels are running sums from 0.
    pub totals_from_file: bool,
    /// Whether every mark carries an address, so that lifetimes are known.
    pub lifetimes_from_file: bool,
    /// Level before the first mark; of a window, at its beginning.
    pub opening_allocated_bytes: i64,
    /// Level after the last mark that counts.
    pub closing_allocated_bytes: i64,
    pub peak_allocated_bytes: i64,
    /// When it was first reached.
    pub peak_at_ns: i64,
    /// Most memory the allocator held from the device, if the file says.
    pub peak_reserved_bytes: Option<i64>,
    /// When that was first reached.
    pub peak_reserved_at_ns: Option<i64>,
    pub allocation_count: u64,
    pub allocated_bytes: i64,
    pub free_count: u64,
    pub freed_bytes: i64,
    /// Releases of memory whose allocation is not in the file.
    pub unmatched_frees: u64,
    pub unmatched_free_bytes: i64,
    /// Allocations not released by the end of the file.
    pub still_live: u64,
    pub still_live_bytes: i64,
    /// Allocations whose address was given out again without a release in the file.
    pub unseen_releases: u64,
    /// Marks whose level differs from the one before by something other than their bytes.
    pub level_gaps: u64,
    /// Bytes alive at the peak whose allocation is in the file.
    pub peak_known_bytes: i64,
    /// The rest of the peak.
    pub peak_unknown_bytes: i64,
    /// What lived at the peak by operator; closes to the peak.
    pub peak_by_operator: Vec<LiveOperator>,
    /// What lived at the peak by operator and Python stack; closes to the peak.
    pub peak_by_stack: Vec<LiveStack>,
    pub curve: Vec<CurvePoint>,
    /// Whether the curve leaves marks out.
    pub curve_sampled: bool,
}

/// One stretch of memory in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    pub device: String,
    /// Innermost operator at the allocation; `None` outside any, or when the allocation is not in the file.
    pub operator: Option<String>,
    pub bytes: i64,
    /// Its address, if given.
    pub address: Option<i64>,
    /// When it was allocated; `None` before the recording.
    pub allocated_at_ns: Option<i64>,
    /// When it was released; `None` if not in the file.
    pub released_at_ns: Option<i64>,
    /// How long it lived, if both are known.
    pub duration_ns: Option<i64>,
}

/// The levels of one device over time, every mark of them.
pub(crate) struct DeviceCurve {
    /// `CPU`, `CUDA 0`, …
    pub(crate) label: String,
    /// The device's number; `None` for the host.
    pub(crate) device: Option<i64>,
    pub(crate) points: Vec<CurvePoint>,
}

/// The levels of every device over time, and nothing else.
pub(crate) fn curves(trace: &Trace) -> Vec<DeviceCurve> {
    let records = record::read(trace);
    let selected = records.selected(&Selection::all());
    let of_device = |(key, selected): (&device::DeviceKey, &Vec<u32>)| DeviceCurve {
        label: key.label(),
        device: key.id.filter(|_| !device::is_host(key.kind)),
        points: level::curve(&records, selected, 0).0,
    };
    records.devices.iter().zip(&selected).map(of_device).collect()
}

/// Answers where memory went.
pub fn analyze(trace: &Trace, options: &Options) -> MemoryReport {
    let records = record::read(trace);
    if records.all.is_empty() {
        return MemoryReport {
            records: records.unreadable,
            unreadable_records: records.unreadable,
            ..MemoryReport::default()
        };
    }
    let by_lane = innermost::by_lane(trace, &records.all);
    let around = |kind: Kind| EnclosingSlices::find(trace, kind, &by_lane, &records.all);
    let (operators, (python, lifetimes)) =
        rayon::join(|| around(Kind::HostOp), || (around(Kind::PythonFunction), lifetime::find(&records)));
    let selection = &options.window.map_or(options.selection.clone(), |w| options.selection.within(w));
    // A window shows what was there already, so also devices of which nothing changed in it.
    let begin = options.window.and_then(|_| selection.ranges.as_ref()?.first()).map(|range| range.0);
    let shown = |d: usize| begin.is_some() && records.devices[d].counts(selection);
    let selected = records.selected(selection);
    let question = Question { trace, records: &records, selection, begin, options };
    let device = |d: usize| device_part(&question, d, &selected[d], &lifetimes, (&operators, &python));
    let (table, (devices, events)) = rayon::join(
        || operators::table(trace, &records, &selected, &operators, selection),
        || {
            let devices = (0..selected.len()).filter(|&d| !selected[d].is_empty() || shown(d));
            let devices = devices.map(device).collect();
            let events = options.events.then(|| events(trace, &records, &lifetimes, &operators, selection));
            (devices, events.unwrap_or_default())
        },
    );
    MemoryReport {
        records: records.all.len() as u64 + records.unreadable,
        unreadable_records: records.unreadable,
        merged_device_records: records.merged,
        devices,
        operators: table,
        events,
    }
}

/// What every device's part needs to know.
struct Question<'a> {
    trace: &'a Trace,
    records: &'a Records,
    selection: &'a Selection,
    begin: Option<Ns>,
    options: &'a Options,
}

fn device_part(
    question: &Question<'_>,
    device: usize,
    selected: &[u32],
    lifetimes: &[Lifetime],
    around: (&EnclosingSlices, &EnclosingSlices),
) -> DeviceMemory {
    let &Question { trace, records, selection, begin, options } = question;
    let key = records.devices[device];
    let mut part = DeviceMemory {
        device: key.label(),
        device_type: key.kind,
        device_id: key.id,
        records: selected.len() as u64,
        ..DeviceMemory::default()
    };
    let Some(opening) = level::opening(records, device, selected, begin) else { return part };
    level::fill(&mut part, records, selected, &opening);
    (part.curve, part.curve_sampled) = level::curve(records, selected, options.curve_points);
    part.curve.splice(0..0, opening.point());
    let mine = || lifetimes.iter().filter(|l| usize::from(l.device) == device);
    lifetime::fill(&mut part, records, mine(), selection);
    let peak = level::peak(records, selected, &opening);
    part.peak_allocated_bytes = peak.bytes;
    part.peak_at_ns = peak.at.0;
    live::fill(&mut part, trace, records, mine(), &peak, around, options.frames);
    part
}

fn events(
    trace: &Trace,
    records: &Records,
    lifetimes: &[Lifetime],
    operators: &EnclosingSlices,
    selection: &Selection,
) -> Vec<Event> {
    let at = |i: Option<u32>| i.map(|i| records.all[i as usize].at);
    let counts = |i: Option<u32>| i.is_some_and(|i| records.counts(&records.all[i as usize], selection));
    let labels: Vec<String> = records.devices.iter().map(|d| d.label()).collect();
    lifetimes
        .iter()
        .filter(|l| counts(l.allocated) || counts(l.released))
        .map(|l| {
            let (start, end) = (at(l.allocated), at(l.released));
            let shown = l.allocated.or(l.released).map(|i| &records.all[i as usize]);
            let origin = l.allocated.and_then(|i| operators.at(i));
            Event {
                device: labels[usize::from(l.device)].clone(),
                operator: origin.map(|op| trace.name(op).to_owned()),
                bytes: shown.map_or(0, |r| r.bytes.saturating_abs()),
                address: shown.and_then(|r| r.address),
                allocated_at_ns: start.map(|t| t.0),
                released_at_ns: end.map(|t| t.0),
                duration_ns: start.zip(end).map(|(Ns(a), Ns(b))| b.saturating_sub(a)),
            }
        })
        .collect()
}
