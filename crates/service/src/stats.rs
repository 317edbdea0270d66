//! What is known about the requests of a route: counts, histograms, and how often a target was missed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::sketch::Sketch;

/// Requests of routes beyond the bound count as this one's.
pub const OTHER: &str = "(other)";

/// The time that regions of one name took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegionStats {
    /// How long each was open.
    pub duration: Sketch,
    /// The same without regions inside them, added up.
    pub self_ns: u64,
}

/// How often a target was missed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetCount {
    /// Requests that it was held against.
    pub requests: u64,
    pub missed: u64,
}

/// All that is known about the requests of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RouteStats {
    /// Requests that failed.
    pub errors: u64,
    /// How long requests took; its count is the number of requests.
    pub latency: Sketch,
    /// Time by region.
    pub regions: BTreeMap<String, RegionStats>,
    pub targets: BTreeMap<String, TargetCount>,
    /// Samples that the requests held.
    pub samples: u64,
    /// Tokens that were read or written.
    pub tokens: u64,
    /// Processor time of the requests it was measured for.
    pub cpu_ns: u64,
    /// How many these are: one in a few.
    pub cpu_requests: u64,
    /// Time on the GPU's clock from where its stream reached a request to where it was done with it, added up.
    pub gpu_ns: u64,
    /// How many requests that is of: one in a few.
    pub gpu_requests: u64,
    /// The most memory that a process held while it answered one.
    pub max_rss_bytes: u64,
    /// Regions that were not kept, because a request had too many.
    pub regions_left_out: u64,
}

impl RouteStats {
    pub fn requests(&self) -> u64 {
        self.latency.count()
    }

    /// Adds what another process, or another minute, knows.
    pub fn merge(&mut self, other: &RouteStats) {
        self.errors += other.errors;
        self.latency.merge(&other.latency);
        for (name, stats) in &other.regions {
            match self.regions.get_mut(name) {
                Some(known) => known.merge(stats),
                None => drop(self.regions.insert(name.clone(), stats.clone())),
            }
        }
        for (name, count) in &other.targets {
            self.targets.entry(name.clone()).or_default().merge(*count);
        }
        self.samples = self.samples.saturating_add(other.samples);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.cpu_requests += other.cpu_requests;
        self.gpu_ns = self.gpu_ns.saturating_add(other.gpu_ns);
        self.gpu_requests += other.gpu_requests;
        self.max_rss_bytes = self.max_rss_bytes.max(other.max_rss_bytes);
        self.regions_left_out += other.regions_left_out;
    }
}

impl RegionStats {
    /// Adds what another knows.
    pub fn merge(&mut self, other: &RegionStats) {
        self.duration.merge(&other.duration);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
    }
}

impl TargetCount {
    /// Adds what another counted.
    pub fn merge(&mut self, other: TargetCount) {
        self.requests += other.requests;
        self.missed += other.missed;
    }
}
