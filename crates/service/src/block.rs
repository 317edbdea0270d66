//! What one process knows about one minute, and the numbers that its fields have in files.

use std::collections::BTreeMap;

use crate::exemplar::{Exemplar, KeptSpan};
use crate::stats::{RegionStats, RouteStats, TargetCount};
use crate::wire::{Wire, decode, decode_in_order, encode, message};

/// What the process itself did in that minute.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    pub watched_ns: u64,
    /// Processor time that it used.
    pub cpu_ns: u64,
    /// The most memory that it held.
    pub max_rss_bytes: u64,
    /// Requests of earlier minutes that could not be written.
    pub lost_requests: u64,
    /// How often the clock was set.
    pub clock_jumps: u64,
}

impl Gauges {
    /// Adds another stretch of time.
    pub fn merge(&mut self, other: &Gauges) {
        self.watched_ns = self.watched_ns.saturating_add(other.watched_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.max_rss_bytes = self.max_rss_bytes.max(other.max_rss_bytes);
        self.lost_requests = self.lost_requests.saturating_add(other.lost_requests);
        self.clock_jumps = self.clock_jumps.saturating_add(other.clock_jumps);
    }
}

/// One minute of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Minutes since 1970.
    pub minute: i64,
    /// The number of a block of the process; it tells an open block from a closed one.
    pub sequence: u64,
    pub gauges: Gauges,
    pub routes: BTreeMap<String, RouteStats>,
    pub exemplars: Vec<Exemplar>,
}

impl Block {
    /// How many requests it counts.
    pub fn requests(&self) -> u64 {
        self.routes.values().map(RouteStats::requests).sum()
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// From bytes of a file of this schema; `None` where they are not a block.
    pub fn decode(bytes: &[u8], schema: u16) -> Option<Self> {
        let mut found: Self = if schema == 1 { decode_in_order(bytes)? } else { decode(bytes)? };
        for exemplar in &mut found.exemplars {
            // Each region comes after the one it lies in: no circle, whatever the bytes say.
            let mut spans = exemplar.spans.iter().enumerate();
            if spans.any(|(at, span)| span.parent.is_some_and(|parent| parent as usize >= at)) {
                return None;
            }
            exemplar.block = found.sequence;
        }
        Some(found)
    }
}

message!(Block { 1: minute, 2: sequence, 3: gauges, 4: routes, 5: exemplars });

message!(Gauges { 1: watched_ns, 2: cpu_ns, 3: max_rss_bytes, 4: lost_requests, 5: clock_jumps });

message!(RouteStats {
    1: errors,
    2: samples,
    3: tokens,
    4: cpu_ns,
    5: cpu_requests,
    6: gpu_ns,
    7: gpu_requests,
    8: max_rss_bytes,
    9: regions_left_out,
    10: latency,
    11: regions,
    12: targets,
});

message!(RegionStats { 1: self_ns, 2: duration });

message!(TargetCount { 1: requests, 2: missed });

message!(Exemplar {
    1: route, 2: id, 3: ended_ns, 4: latency_ns, 5: failed, 6: slow, 7: samples, 8: process, 9: key, 10: spans,
    11: stack, 12: profile
} |from: &mut &[u8]| {
    let mut found = Exemplar {
        route: Wire::in_order(from)?,
        id: Wire::in_order(from)?,
        ended_ns: Wire::in_order(from)?,
        latency_ns: Wire::in_order(from)?,
        ..Exemplar::default()
    };
    let flags = u64::in_order(from)?;
    (found.failed, found.slow) = (flags & 1 == 1, flags & 2 == 2);
    (found.samples, found.process, found.key) = (Wire::in_order(from)?, Wire::in_order(from)?, Wire::in_order(from)?);
    (found.spans, found.stack, found.profile) = (Wire::in_order(from)?, Wire::in_order(from)?, Wire::in_order(from)?);
    Some(found)
});

message!(KeptSpan { 1: name, 2: parent, 3: start_ns, 4: duration_ns });

#[cfg(test)]
pub(crate) mod tests;
