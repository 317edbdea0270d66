//! Transfers between host and devices: how much, how fast, from which memory, and whether anything hid them.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, Order, SliceId, Trace};

use crate::devices::copies::bytes_of;
use crate::devices::streams::{Stream, streams};
use crate::names::by_name::ByName;
use crate::names::copies::{Direction, HostMemory, copy_name};
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::{Collector, Intervals};
use crate::scope::selection::Selection;

pub const DEFINITIONS: &[Definition] = definitions! {
    "direction", "Direction" =>
        "host_to_device, device_to_host, device_to_device, peer or other, from the name of the copy.";
    "memory", "Memory" =>
        "Pageable or pinned host memory, from the name of the copy. Copies of pageable memory go through a staging buffer, \
         are slower and keep the host waiting.";
    "calls", "Copies" => "How many copies ran on the device in this direction, from or to this kind of memory.";
    "bytes", "Bytes" =>
        "Bytes moved by the copies that record how many they moved: the copy itself, or else the call that asked for it.";
    "total_ns", "Total" => "Summed duration of the copies on the device. Copies that overlap each count in full.";
    "exposed_ns", "Exposed" =>
        "Time during which at least one of the copies ran and no kernel ran on the same device. The rest is hidden.";
    "host_ns", "Host" => "Summed duration of the calls on the host that asked for the copies.";
    "bytes_per_second", "Rate" => "Bytes divided by the summed duration of the copies that record how many they moved.";
    "large_bytes_per_second", "Large rate" =>
        "The same over copies of at least 1 MiB: small ones are bound by latency and say nothing about the bus.";
};

/// All copies of one direction and memory on one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TransferRow {
    pub device: Option<i64>,
    pub direction: Direction,
    pub memory: HostMemory,
    pub calls: u64,
    /// Bytes moved; none if no copy says.
    pub bytes: Option<i64>,
    /// Time of all copies.
    pub total_ns: i64,
    /// Time during which one of them ran and no kernel.
    pub exposed_ns: i64,
    /// Time in the calls that asked for them, on the host.
    pub host_ns: i64,
    pub bytes_per_second: Option<f64>,
    /// Bytes a second of copies of at least 1 MiB.
    pub large_bytes_per_second: Option<f64>,
}

/// The answer: rows by time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TransfersReport {
    pub rows: Vec<TransferRow>,
}

#[derive(Default)]
struct TransferTotals {
    calls: u64,
    total: Ns,
    host: Ns,
    bytes: i64,
    bytes_ns: Ns,
    large: i64,
    large_ns: Ns,
    time: Collector,
}

/// A copy this large is bound by the bus, not by latency.
const LARGE_BYTES: i64 = 1 << 20;

/// Copies by direction and memory.
pub fn transfers(trace: &Trace, selection: &Selection) -> TransfersReport {
    compute(trace, selection, &streams(trace))
}

pub(crate) fn compute(trace: &Trace, selection: &Selection, streams: &[Stream]) -> TransfersReport {
    let slices = trace.slices();
    let mut names = ByName::new(trace, copy_name);
    let mut report = TransfersReport::default();
    for of_device in streams.chunk_by(|a, b| a.device == b.device) {
        let mut kernels = Collector::default();
        let mut sums: HashMap<(Direction, HostMemory), TransferTotals, RandomState> = HashMap::default();
        for work in of_device.iter().flat_map(|s| &s.work) {
            match slices.kind(work.slice) {
                Kind::Kernel => kernels.add(work.start, work.end),
                Kind::Memcpy if selection.contains(trace, work.slice) => {
                    let row = sums.entry(names.get(slices.name(work.slice))).or_default();
                    let ns = work.end - work.start;
                    row.calls += 1;
                    row.total += ns;
                    row.host += work.launch.map_or(Ns::ZERO, |l| slices.dur(l));
                    row.time.add(work.start, work.end);
                    if let Some(bytes) = bytes(trace, work.slice) {
                        row.bytes = row.bytes.saturating_add(bytes);
                        row.bytes_ns += ns;
                        if bytes >= LARGE_BYTES {
                            row.large = row.large.saturating_add(bytes);
                            row.large_ns += ns;
                        }
                    }
                }
                _ => {}
            }
        }
        let kernels: Intervals = kernels.finish();
        for ((direction, memory), sum) in sums {
            let rate = |bytes: i64, ns: Ns| (ns.0 > 0 && bytes > 0).then(|| bytes as f64 / (ns.0 as f64 / 1e9));
            let exposed: Ns = sum.time.finish().subtract(&kernels).length();
            report.rows.push(TransferRow {
                device: of_device[0].device.as_int(),
                direction,
                memory,
                calls: sum.calls,
                bytes: (sum.bytes_ns.0 > 0).then_some(sum.bytes),
                total_ns: sum.total.0,
                exposed_ns: exposed.0,
                host_ns: sum.host.0,
                bytes_per_second: rate(sum.bytes, sum.bytes_ns),
                large_bytes_per_second: rate(sum.large, sum.large_ns),
            });
        }
    }
    report.rows.order_by_key(|r| (std::cmp::Reverse(r.total_ns), r.device, r.direction, r.memory));
    report
}

/// How many bytes a copy moved, if the file says.
pub fn bytes(trace: &Trace, copy: SliceId) -> Option<i64> {
    bytes_of(trace, copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies() {
        for (name, direction, memory) in [
            ("Memcpy HtoD (Pageable -> Device)", Direction::HostToDevice, HostMemory::Pageable),
            ("Memcpy HtoD (Pinned -> Device)", Direction::HostToDevice, HostMemory::Pinned),
            ("Memcpy DtoH (Device -> Pinned)", Direction::DeviceToHost, HostMemory::Pinned),
            ("Memcpy DtoD (Device -> Device)", Direction::DeviceToDevice, HostMemory::Unknown),
            ("Memcpy PtoP (Device -> Device)", Direction::Peer, HostMemory::Unknown),
            ("CopyHostToDevice", Direction::HostToDevice, HostMemory::Unknown),
        ] {
            assert_eq!(copy_name(name), (direction, memory), "{name}");
        }
    }
}
