//! Copies and memsets: how many bytes moved, between which memories, and how fast.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Kind, Order, SliceId, StrId, Trace};

use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;

/// What a row is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    Memcpy,
    Memset,
}

/// One row: all copies or memsets of a name such as `Memcpy HtoD (Pinned -> Device)`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CopyRow {
    pub name: String,
    pub kind: CopyKind,
    pub calls: u64,
    /// Bytes moved; none if no call says.
    pub bytes: Option<i64>,
    /// Calls that say how many bytes they moved.
    pub calls_with_bytes: u64,
    pub total_ns: i64,
    /// Time of a call on average.
    pub mean_ns: f64,
    /// Time of the shortest call.
    pub min_ns: i64,
    /// Time of the longest call.
    pub max_ns: i64,
    /// Bytes moved for each second spent moving them.
    pub bytes_per_second: Option<f64>,
}

/// The answer. Rows are ordered by total time, then name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CopiesReport {
    pub rows: Vec<CopyRow>,
    pub memcpy_ns: i64,
    /// Time of all fills.
    pub memset_ns: i64,
}

/// How often something ran on a device.
pub const CALLS: Definition =
    Definition { field: "calls", label: "Calls", text: "How many kernels, copies or memsets of this row ran." };

pub const TOTAL: Definition = Definition {
    field: "total_ns",
    label: "Total",
    text: "Summed duration of all calls on the device. Calls that overlap on several streams each count in \
           full.",
};

pub const MEAN: Definition = Definition { field: "mean_ns", label: "Mean", text: "Total divided by calls." };

pub const MIN: Definition =
    Definition { field: "min_ns", label: "Min", text: "Duration of the shortest call." };

pub const MAX: Definition = Definition { field: "max_ns", label: "Max", text: "Duration of the longest call." };

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    CALLS;
    TOTAL;
    MEAN;
    MIN;
    MAX;
    "bytes", "Bytes" =>
        "Bytes of the calls that record how many they moved: the copy itself, or else the call that asked for it.";
    "calls_with_bytes", "Calls with bytes" => "How many of the calls record how many bytes they moved.";
    "bytes_per_second", "Rate" =>
        "Bytes divided by the summed duration of the calls that record how many they moved. Copies that run side by side \
         share the link, so rows do not add up.";
};

#[derive(Default)]
struct CopyTotals {
    calls: u64,
    total: i64,
    min: i64,
    max: i64,
    bytes: i64,
    with_bytes: u64,
    bytes_ns: i64,
}

/// Copies and memsets by name.
pub fn copies(trace: &Trace, selection: &Selection) -> CopiesReport {
    copies_of(trace, selection, None)
}

/// The same; only those of the operator or range of a name, if one is given.
pub fn copies_of(trace: &Trace, selection: &Selection, op: Option<&str>) -> CopiesReport {
    let slices = trace.slices();
    let wanted = op.map(|name| trace.strings().find(name));
    let mut rows: HashMap<(CopyKind, StrId), CopyTotals, RandomState> = HashMap::default();
    for id in slices.ids() {
        let kind = match slices.kind(id) {
            Kind::Memcpy => CopyKind::Memcpy,
            Kind::Memset => CopyKind::Memset,
            _ => continue,
        };
        let op = || trace.links().op(id).map(|op| slices.name(op));
        if wanted.is_some_and(|wanted| wanted.is_none() || wanted != op()) || !selection.contains(trace, id) {
            continue;
        }
        let ns = slices.dur(id).0;
        let new = || CopyTotals { min: i64::MAX, ..CopyTotals::default() };
        let row = rows.entry((kind, slices.name(id))).or_insert_with(new);
        row.calls += 1;
        row.total = row.total.saturating_add(ns);
        row.min = row.min.min(ns);
        row.max = row.max.max(ns);
        if let Some(bytes) = bytes_of(trace, id) {
            row.bytes = row.bytes.saturating_add(bytes);
            row.with_bytes += 1;
            row.bytes_ns = row.bytes_ns.saturating_add(ns);
        }
    }
    let mut report = CopiesReport::default();
    for ((kind, name), sums) in &rows {
        let all = match kind {
            CopyKind::Memcpy => &mut report.memcpy_ns,
            CopyKind::Memset => &mut report.memset_ns,
        };
        *all = all.saturating_add(sums.total);
        report.rows.push(CopyRow {
            name: trace.text(*name).to_owned(),
            kind: *kind,
            calls: sums.calls,
            bytes: (sums.with_bytes > 0).then_some(sums.bytes),
            calls_with_bytes: sums.with_bytes,
            total_ns: sums.total,
            mean_ns: sums.total as f64 / sums.calls.max(1) as f64,
            min_ns: sums.min.min(sums.max),
            max_ns: sums.max,
            bytes_per_second: (sums.bytes_ns > 0).then(|| sums.bytes as f64 / (sums.bytes_ns as f64 / 1e9)),
        });
    }
    report
        .rows
        .order_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| (&a.name, a.kind).cmp(&(&b.name, b.kind))));
    report
}

/// The copy's own number, else that of the call that asked for it: AMD's older files have it only there.
pub(crate) fn bytes_of(trace: &Trace, id: SliceId) -> Option<i64> {
    let of = |id| {
        let args = trace.args(id);
        args.int(Attr::Bytes).or_else(|| args.int(Attr::CallBytes)).filter(|&bytes| bytes >= 0)
    };
    of(id).or_else(|| of(trace.links().launch(id)?))
}
