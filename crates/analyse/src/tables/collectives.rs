//! Collectives: how much each moves between ranks, how fast, and how much of it nothing hides.
//!
//! A call is a kernel that communicates, or a host range of a library that communicates from the host (Gloo, MPI). What
//! it moves is beside it, or beside the operator that launched it (`record_param_comms`); where neither says, a
//! Gloo range's own input does.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Args, Attr, Domain, Kind, Ns, Order, SliceId, Trace};

use crate::devices::busy::{Work, WorkOptions};
use crate::names::by_name::ByName;
use crate::names::collective::{Operation, element_bytes};
use crate::names::comm::{Comm, CommRule, is_comm_range};
use crate::names::shapes::texts;
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::{CumulativeSpans, Intervals};
use crate::scope::selection::{Selection, device_of};

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Device,
    /// On a thread of the host.
    Host,
}

/// Calls of one operation with one message size in one group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectiveRow {
    pub operation: Operation,
    pub side: Side,
    /// The type of the elements, as recorded.
    pub dtype: Option<String>,
    /// The group's name, as recorded.
    pub group: Option<String>,
    /// How many ranks take part.
    pub ranks: Option<i64>,
    /// Bytes of one call's message.
    pub bytes: Option<i64>,
    pub calls: u64,
    pub total_ns: i64,
    /// Time of a call on average.
    pub mean_ns: f64,
    /// Time of the call in the middle.
    pub p50_ns: i64,
    /// Message bytes / mean time.
    pub algorithm_bytes_per_second: Option<f64>,
    /// What nccl-tests multiplies that with.
    pub bus_factor: Option<f64>,
    /// The product: what each link carried.
    pub bus_bytes_per_second: Option<f64>,
    /// The part of the time during which nothing else ran on the device.
    pub exposed_ns: i64,
}

/// The answer. Rows are ordered by total time, then by what makes a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CollectivesReport {
    pub rows: Vec<CollectiveRow>,
    /// Calls of all rows.
    pub calls: u64,
    /// Time of all rows.
    pub total_ns: i64,
    /// Exposed time of all rows.
    pub exposed_ns: i64,
    /// Bytes of all calls that say.
    pub moved_bytes: i64,
}

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "calls", "Calls" =>
        "How many kernels that communicate, or host ranges of a library that communicates from the host (Gloo, MPI, UCC), \
         the row has.";
    "total_ns", "Total" =>
        "Summed duration of the calls. It includes waiting for ranks that arrive late; calls that overlap each count in \
         full.";
    "mean_ns", "Mean" => "Total divided by calls.";
    "p50_ns", "Median" => "Duration of the call in the middle: half of the calls take no longer.";
    "bytes", "Message" =>
        "Bytes of one call's message as nccl-tests counts them: elements x bytes of an element, of all ranks' parts \
         together for all_gather (what comes out), reduce_scatter and all_to_all (what goes in).";
    "ranks", "Ranks" => "How many ranks the group has; for host ranges that do not say, those of the job.";
    "algorithm_bytes_per_second", "Algorithm rate" =>
        "Message bytes / mean duration (nccl-tests' algbw). A call also waits for the last rank, so this is a lower bound \
         of what the links did.";
    "bus_factor", "Bus factor" =>
        "What each link carries for each byte of the message among n ranks, by nccl-tests: all_reduce 2(n-1)/n; \
         all_gather, reduce_scatter, all_to_all, gather and scatter (n-1)/n; broadcast, reduce and send_receive 1.";
    "bus_bytes_per_second", "Bus rate" =>
        "Algorithm rate x bus factor (nccl-tests' busbw): comparable with the bandwidth of the links, whatever the \
         operation and the number of ranks.";
    "exposed_ns", "Exposed" =>
        "The part of the calls' time during which no kernel that computes ran on the device (for host ranges: on any \
         device).";
    "moved_bytes", "Message bytes" => "Message bytes of all calls that record them.";
};

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<'a> {
    operation: Operation,
    side: Side,
    dtype: Option<&'a str>,
    group: Option<&'a str>,
    ranks: Option<i64>,
    bytes: Option<i64>,
}

#[derive(Default)]
struct CollectiveTotals {
    durations: Vec<i64>,
    total: i64,
    exposed: i64,
}

/// The collectives of a part of a trace.
pub fn collectives(trace: &Trace, selection: &Selection) -> CollectivesReport {
    let slices = trace.slices();
    let mut comm = Comm::new(trace, CommRule::ByName);
    let mut on_host = ByName::new(trace, communicates_from_the_host);
    let computing = ComputeBusy::new(trace);
    let mut sums: HashMap<Key<'_>, CollectiveTotals, RandomState> = HashMap::default();
    for (lane, info) in trace.lanes().iter() {
        let is_device = info.key.domain == Domain::Device;
        for id in slices.of_lane(lane) {
            let counts = match slices.kind(id) {
                Kind::Kernel if is_device => comm.kernel(id),
                Kind::HostAnnotation | Kind::HostOp if !is_device => on_host.get(slices.name(id)),
                _ => false,
            };
            if !counts || !selection.contains(trace, id) {
                continue;
            }
            let key = if is_device { of_kernel(trace, id) } else { of_range(trace, id) };
            let busy = computing.on_device(is_device.then(|| device_of(trace, id)));
            let (start, end) = (slices.start(id), slices.end(id));
            let hidden = busy.map_or(Ns::ZERO, |busy| busy.length_in((start, end)));
            let ns = slices.dur(id).0;
            let row = sums.entry(key).or_default();
            row.durations.push(ns);
            row.total = row.total.saturating_add(ns);
            row.exposed = row.exposed.saturating_add(ns.saturating_sub(hidden.0).max(0));
        }
    }
    let rows = sums.into_iter().map(|(key, sums)| row(&key, sums)).collect();
    let mut report = CollectivesReport { rows, ..CollectivesReport::default() };
    report.rows.order_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| order(a).cmp(&order(b))));
    for row in &report.rows {
        report.calls += row.calls;
        report.total_ns = report.total_ns.saturating_add(row.total_ns);
        report.exposed_ns = report.exposed_ns.saturating_add(row.exposed_ns);
        let calls = i64::try_from(row.calls).unwrap_or(i64::MAX);
        report.moved_bytes = report.moved_bytes.saturating_add(row.bytes.unwrap_or(0).saturating_mul(calls));
    }
    report
}

/// Whether a host range of this name is itself the communication. NCCL's only ask the device for it.
fn communicates_from_the_host(name: &str) -> bool {
    let library = name.split_once(':').map_or("", |(library, _)| library);
    is_comm_range(name) && !matches!(library, "nccl" | "rccl" | "xccl" | "hccl")
}

fn order(row: &CollectiveRow) -> impl Ord + '_ {
    (row.operation, row.side, &row.dtype, &row.group, row.ranks, row.bytes)
}

/// When kernels that compute ran.
struct ComputeBusy {
    by_device: HashMap<Option<i64>, CumulativeSpans, RandomState>,
    anywhere: CumulativeSpans,
}

impl ComputeBusy {
    fn new(trace: &Trace) -> ComputeBusy {
        let works = Work::of_devices(trace, &WorkOptions::default());
        let all = works.iter().flat_map(|work| work.kernels.as_slice().iter().copied()).collect();
        let anywhere = Intervals::union(all).measured();
        let by_device = works.into_iter().map(|work| (work.device, work.kernels.measured())).collect();
        ComputeBusy { by_device, anywhere }
    }

    /// On this device; on any for what runs on the host.
    fn on_device(&self, device: Option<Option<i64>>) -> Option<&CumulativeSpans> {
        match device {
            None => Some(&self.anywhere),
            Some(device) => self.by_device.get(&device),
        }
    }
}

/// What a collective's own record says, the kernel's or the operator's.
fn recorded<'a>(args: Args<'a>, name: Option<&str>, side: Side) -> Option<Key<'a>> {
    let said = args.text(Attr::Collective);
    let (input, output) = (args.int(Attr::CollectiveInElements), args.int(Attr::CollectiveOutElements));
    if said.is_none() && input.is_none() && output.is_none() {
        return None;
    }
    let operation = Operation::from_name(said.or(name).unwrap_or_default());
    let dtype = args.text(Attr::CollectiveType);
    let elements = operation.message_elements(input, output);
    let bytes = elements.zip(dtype.and_then(element_bytes)).and_then(|(n, each)| n.checked_mul(each));
    let group = args.text(Attr::GroupName).or_else(|| args.text(Attr::GroupRanks));
    let ranks = args.int(Attr::GroupSize).filter(|&n| n > 0);
    Some(Key { operation, side, dtype, group: group.filter(|name| !name.is_empty()), ranks, bytes })
}

fn of_kernel(trace: &Trace, id: SliceId) -> Key<'_> {
    let name = trace.name(id);
    let said = recorded(trace.args(id), Some(name), Side::Device);
    let of_op = || recorded(trace.args(trace.links().op(id)?), Some(name), Side::Device);
    said.or_else(of_op).unwrap_or_else(|| nothing_said(name, Side::Device))
}

fn of_range(trace: &Trace, id: SliceId) -> Key<'_> {
    let name = trace.name(id);
    let args = trace.args(id);
    recorded(args, Some(name), Side::Host).unwrap_or_else(|| {
        let mut key = nothing_said(name, Side::Host);
        key.ranks = trace.meta().distributed.as_ref().and_then(|d| d.world_size).filter(|&n| n > 0);
        // The first input is the tensor that is reduced, sent or gathered.
        let shapes = args.input_shapes().unwrap_or_default();
        let sizes = shapes.first().and_then(|input| input.tensor());
        let types = args.text(Attr::InputTypes);
        let each = types.and_then(|types| element_bytes(texts(types).first()?));
        key.bytes = sizes.zip(each).and_then(|(sizes, each)| {
            let elements = sizes.iter().try_fold(1i64, |all, &n| all.checked_mul(n))?;
            elements.checked_mul(each).filter(|&bytes| bytes >= 0)
        });
        key.dtype = each.and(types).map(first_text);
        key
    })
}

/// The first text of a JSON list of them, where it has no quotes inside.
fn first_text(list: &str) -> &str {
    list.split('"').nth(1).unwrap_or(list)
}

fn nothing_said(name: &str, side: Side) -> Key<'static> {
    Key { operation: Operation::from_name(name), side, dtype: None, group: None, ranks: None, bytes: None }
}

fn row(key: &Key<'_>, mut sums: CollectiveTotals) -> CollectiveRow {
    sums.durations.sort_unstable();
    let calls = sums.durations.len();
    let mean_ns = sums.total as f64 / calls.max(1) as f64;
    let bandwidth = key.bytes.filter(|_| mean_ns > 0.0).map(|bytes| bytes as f64 / mean_ns * 1e9);
    let bus_factor = key.ranks.and_then(|ranks| key.operation.bus_factor(ranks));
    CollectiveRow {
        operation: key.operation,
        side: key.side,
        dtype: key.dtype.map(str::to_owned),
        group: key.group.map(str::to_owned),
        ranks: key.ranks,
        bytes: key.bytes,
        calls: calls as u64,
        total_ns: sums.total,
        mean_ns,
        p50_ns: sums.durations.get(calls.saturating_sub(1) / 2).copied().unwrap_or(0),
        algorithm_bytes_per_second: bandwidth,
        bus_factor,
        bus_bytes_per_second: bandwidth.zip(bus_factor).map(|(bandwidth, factor)| bandwidth * factor),
        exposed_ns: sums.exposed,
    }
}
