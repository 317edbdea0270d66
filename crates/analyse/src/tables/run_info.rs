//! What a trace is: where it came from, what was recorded, what is in it, and what was repaired or left out.

mod definitions;
mod lanes;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use stepscope_model::{Kind, Order, Severity, Trace};

use crate::names::by_name::ByName;
use crate::names::ranges::step_number;

pub use definitions::DEFINITIONS;
pub use lanes::LaneInfo;
pub use report::{CategoryInfo, DeviceInfo, EventsLedger, NoteInfo, RecordingInfo, RunInfo};

/// Answers what this trace is.
pub fn analyze(trace: &Trace) -> RunInfo {
    let meta = trace.meta();
    let slices = trace.slices();
    let of_kind = |wanted: Kind| slices.ids().filter(move |&id| slices.kind(id) == wanted);
    let mut recordings: Vec<RecordingInfo> = of_kind(Kind::Span)
        .map(|id| RecordingInfo {
            name: trace.name(id).to_owned(),
            start_ns: slices.start(id).0,
            dur_ns: slices.dur(id).0,
        })
        .collect();
    recordings.order_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    let extent = trace.extent();
    let lanes = lanes::list(trace);
    let held = trace.events();
    let heap_bytes = trace.heap_bytes() as u64;
    RunInfo {
        path: meta.source.path.clone(),
        format: meta.source.format.clone(),
        stored_bytes: meta.source.stored_bytes,
        text_bytes: meta.source.text_bytes,
        worker: meta.source.worker.clone(),
        span: meta.source.span.clone(),
        framework: framework(trace, &recordings),
        framework_version: framework_version(trace),
        versions: versions(trace),
        devices: meta.devices.iter().map(device).collect(),
        distributed: meta.distributed.clone(),
        options: meta.options.clone(),
        base_ns: meta.base_ns,
        origin_ns: trace.origin().0,
        first_ns: extent.map(|e| e.0.0),
        last_ns: extent.map(|e| e.1.0),
        extent_ns: extent.map_or(0, |(first, last)| (last - first).0),
        recordings,
        steps: steps(trace),
        categories: categories(trace),
        processes: lanes::processes(&lanes),
        threads: lanes.iter().filter(|l| !l.device && l.slices > 0).count() as u64,
        streams: lanes.iter().filter(|l| l.device && l.slices > 0).count() as u64,
        lanes,
        notes: notes(trace),
        ledger: ledger(trace),
        heap_bytes,
        bytes_per_event: (held > 0).then(|| heap_bytes as f64 / held as f64),
    }
}

/// A stable name for what a slice means.
pub fn kind_code(kind: Kind) -> &'static str {
    match kind {
        Kind::HostOp => "host-op",
        Kind::HostAnnotation => "host-annotation",
        Kind::FrameworkCall => "framework-call",
        Kind::PythonFunction => "python-function",
        Kind::Runtime => "runtime",
        Kind::Driver => "driver",
        Kind::Overhead => "overhead",
        Kind::Kernel => "kernel",
        Kind::Memcpy => "memcpy",
        Kind::Memset => "memset",
        Kind::DeviceAnnotation => "device-annotation",
        Kind::DeviceSync => "device-sync",
        Kind::Collective => "collective",
        Kind::Span => "span",
        Kind::Other => "other",
    }
}

fn framework_version(trace: &Trace) -> Option<String> {
    match &trace.meta().framework {
        Some(framework) => framework.version.clone(),
        None => ["pytorch_version", "torch_version"].iter().find_map(|key| entry_text(trace, key)),
    }
}

/// Only what the file itself says or shows: PyTorch's profiler names its window and its operators unmistakably.
fn framework(trace: &Trace, recordings: &[RecordingInfo]) -> Option<String> {
    if let Some(framework) = &trace.meta().framework {
        return Some(framework.name.clone());
    }
    let window = recordings.iter().any(|r| r.name.starts_with("PyTorch Profiler"));
    let operators = || {
        let slices = trace.slices();
        slices.ids().any(|id| slices.kind(id) == Kind::HostOp && trace.name(id).starts_with("aten::"))
    };
    (window || operators()).then(|| "PyTorch".to_owned())
}

fn entry_text(trace: &Trace, key: &str) -> Option<String> {
    trace.meta().extra(key).map(|json| json.trim().trim_matches('"').to_owned())
}

fn versions(trace: &Trace) -> Vec<(String, String)> {
    let keys = trace.meta().extra.iter().map(|(key, _)| key);
    keys.filter(|key| key.ends_with("_version"))
        .filter_map(|key| entry_text(trace, key).map(|text| (key.clone(), text)))
        .collect()
}

/// The name shown for a device that the producer described without one.
const UNNAMED_DEVICE: &str = "unnamed device";

fn device(device: &stepscope_model::Device) -> DeviceInfo {
    let capability = device.compute_major.zip(device.compute_minor);
    DeviceInfo {
        index: device.index,
        name: match device.name.trim() {
            "" => UNNAMED_DEVICE.to_owned(),
            name => name.to_owned(),
        },
        total_memory_bytes: device.total_memory_bytes,
        compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
        sms: device.sms,
        warp_size: device.warp_size,
    }
}

fn steps(trace: &Trace) -> Vec<String> {
    let slices = trace.slices();
    let mut is_step = ByName::new(trace, |name| step_number(name).is_some());
    let mut found: Vec<_> = slices
        .ids()
        .filter(|&id| matches!(slices.kind(id), Kind::HostAnnotation | Kind::HostOp))
        .filter(|&id| is_step.get(slices.name(id)))
        .map(|id| (slices.start(id), slices.name(id)))
        .collect();
    found.sort_unstable();
    let mut seen = BTreeSet::new();
    found.retain(|step| seen.insert(step.1));
    found.into_iter().map(|(_, name)| trace.text(name).to_owned()).collect()
}

fn categories(trace: &Trace) -> Vec<CategoryInfo> {
    let slices = trace.slices();
    let points = trace.points();
    let mut counts = BTreeMap::new();
    for id in slices.ids() {
        *counts.entry((slices.cat(id), kind_code(slices.kind(id)))).or_insert(0u64) += 1;
    }
    let counters = trace.counters();
    let counted =
        counters.rows().filter(|row| !row.joined).map(|row| counters.series()[row.series.index()].cat);
    let allocated = trace.allocations().ids().map(|id| trace.allocations().cat(id));
    for cat in points.ids().map(|id| points.cat(id)).chain(counted).chain(allocated) {
        *counts.entry((cat, "point")).or_insert(0u64) += 1;
    }
    let mut rows: Vec<CategoryInfo> = counts
        .into_iter()
        .map(|((cat, kind), count)| CategoryInfo { category: trace.category(cat).to_owned(), kind, count })
        .collect();
    rows.sort();
    rows
}

fn notes(trace: &Trace) -> Vec<NoteInfo> {
    let info = |note: &stepscope_model::Note| NoteInfo {
        code: note.kind.code(),
        severity: match note.kind.severity() {
            Severity::Info => "info",
            Severity::Repaired => "repaired",
            Severity::Lost => "lost",
        },
        count: note.count,
        sentence: note.kind.sentence(),
        offsets: note.offsets.clone(),
        detail: note.detail.clone(),
    };
    trace.notes().iter().map(info).collect()
}

fn ledger(trace: &Trace) -> EventsLedger {
    let meta = trace.meta();
    let (slices, points, flows) = (trace.slices().len(), trace.events_without_length(), trace.flows().len());
    let kept = trace.events() as u64;
    let parts = kept.saturating_add(meta.joined_pairs).saturating_add(meta.events_set_aside);
    EventsLedger {
        events_in_file: meta.events_in_file,
        slices: slices as u64,
        joined_pairs: meta.joined_pairs,
        points: points as u64,
        flows: flows as u64,
        set_aside: meta.events_set_aside,
        skipped_bytes: meta.skipped_bytes,
        closes: parts == meta.events_in_file,
    }
}
