//! What a service has done since its directory began, by route: sums that only grow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_service::{Goal, Hour, OTHER, RouteStats, Target, parse_targets};

use crate::duration_histogram::DurationHistogram;

/// Bounds on how many series there are, whatever lies in the directory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Routes; others count as "(other)". One process has 200 at most.
    pub routes: usize,
    /// Regions of all routes together; others count as "(other)" of their route.
    pub regions: usize,
    /// Targets of one route; others are left out.
    pub targets: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { routes: 250, regions: 2_000, targets: 16 }
    }
}

/// All that is exported as a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub routes: BTreeMap<String, RouteTotals>,
    /// Processor time of all processes.
    pub cpu_ns: u128,
    /// Requests that could not be written.
    pub lost_requests: u64,
    /// How often a clock was set.
    pub clock_jumps: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteTotals {
    pub errors: u64,
    /// Samples that requests held.
    pub samples: u64,
    /// Tokens that they read or wrote.
    pub tokens: u64,
    /// Processor time of the requests it was measured for.
    pub cpu_ns: u128,
    pub cpu_requests: u64,
    /// Time on the GPU of the requests it was measured for.
    #[serde(default)]
    pub gpu_ns: u128,
    #[serde(default)]
    pub gpu_requests: u64,
    /// Regions that were too many to count.
    pub regions_left_out: u64,
    /// How long requests took; its count is the number of requests.
    pub latency: DurationHistogram,
    pub regions: BTreeMap<String, RegionTotals>,
    pub targets: BTreeMap<String, TargetTotals>,
    /// By the time that a target names, in nanoseconds: what to add to `latency.at_most` so that it is exact. Misses are
    /// counted one by one as requests end, the histogram rounds.
    pub corrections: BTreeMap<u64, i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegionTotals {
    /// How long each was open.
    pub duration: DurationHistogram,
    /// The same without regions inside them.
    pub self_ns: u128,
}

/// One target of a route.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetTotals {
    /// Requests that it was held against.
    pub requests: u64,
    pub missed: u64,
}

/// The target that a text in a file names.
pub(crate) fn target(text: &str) -> Option<Target> {
    parse_targets(text).ok()?.into_iter().next()
}

/// The time that a target names: 100 ms for `p95<100ms`, where the longest latency that is fine is a nanosecond less.
fn bound_ns(target: &Target) -> Option<u64> {
    match target.goal {
        Goal::Latency { limit_ns } if target.text.contains("<=") => Some(limit_ns),
        Goal::Latency { limit_ns } => limit_ns.checked_add(1),
        Goal::Errors => None,
    }
}

impl Totals {
    pub fn from_hour(hour: &Hour, limits: Limits) -> Self {
        let mut totals = Self::default();
        for minute in hour.minutes.values() {
            for (route, stats) in &minute.routes {
                totals.add_route(route, &RouteTotals::from_stats(stats), limits);
            }
            for gauges in minute.processes.values() {
                totals.cpu_ns += u128::from(gauges.cpu_ns);
                totals.lost_requests = totals.lost_requests.saturating_add(gauges.lost_requests);
                totals.clock_jumps = totals.clock_jumps.saturating_add(gauges.clock_jumps);
            }
        }
        totals
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Totals, limits: Limits) {
        for (route, totals) in &other.routes {
            self.add_route(route, totals, limits);
        }
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.lost_requests = self.lost_requests.saturating_add(other.lost_requests);
        self.clock_jumps = self.clock_jumps.saturating_add(other.clock_jumps);
    }

    fn add_route(&mut self, name: &str, totals: &RouteTotals, limits: Limits) {
        let name = match self.routes.contains_key(name) || self.routes.len() < limits.routes {
            true => name,
            false => OTHER,
        };
        let mut room =
            limits.regions.saturating_sub(self.routes.values().map(|route| route.regions.len()).sum());
        let route = self.routes.entry(name.to_owned()).or_default();
        route.errors = route.errors.saturating_add(totals.errors);
        route.samples = route.samples.saturating_add(totals.samples);
        route.tokens = route.tokens.saturating_add(totals.tokens);
        route.cpu_ns = route.cpu_ns.saturating_add(totals.cpu_ns);
        route.cpu_requests = route.cpu_requests.saturating_add(totals.cpu_requests);
        route.gpu_ns = route.gpu_ns.saturating_add(totals.gpu_ns);
        route.gpu_requests = route.gpu_requests.saturating_add(totals.gpu_requests);
        route.regions_left_out = route.regions_left_out.saturating_add(totals.regions_left_out);
        route.latency.add(&totals.latency);
        for (region, totals) in &totals.regions {
            let known = route.regions.contains_key(region);
            let region = if known || room > 0 { region } else { OTHER };
            room -= usize::from(!known && room > 0);
            let region = route.regions.entry(region.to_owned()).or_default();
            region.duration.add(&totals.duration);
            region.self_ns = region.self_ns.saturating_add(totals.self_ns);
        }
        for (target, totals) in &totals.targets {
            if route.targets.contains_key(target) || route.targets.len() < limits.targets {
                let target = route.targets.entry(target.clone()).or_default();
                target.requests = target.requests.saturating_add(totals.requests);
                target.missed = target.missed.saturating_add(totals.missed);
            }
        }
        for (bound_ns, correction) in &totals.corrections {
            if route.corrections.contains_key(bound_ns) || route.corrections.len() < limits.targets {
                let known = route.corrections.entry(*bound_ns).or_default();
                *known = known.saturating_add(*correction);
            }
        }
    }

    /// Takes a later reading of the same time. It holds more, unless files were removed in between: those it still counts.
    pub fn grow(&mut self, later: Totals) {
        for (name, totals) in later.routes {
            match self.routes.get(&name) {
                Some(known) if known.latency.count > totals.latency.count => {}
                _ => drop(self.routes.insert(name, totals)),
            }
        }
        self.cpu_ns = self.cpu_ns.max(later.cpu_ns);
        self.lost_requests = self.lost_requests.max(later.lost_requests);
        self.clock_jumps = self.clock_jumps.max(later.clock_jumps);
    }

    /// Requests of all routes.
    pub fn requests(&self) -> u64 {
        self.routes.values().fold(0, |sum, route| sum.saturating_add(route.latency.count))
    }

    /// Whether its parts fit together: for what comes from a file.
    pub fn is_sane(&self) -> bool {
        self.routes.values().all(|route| {
            route.latency.is_sane() && route.regions.values().all(|region| region.duration.is_sane())
        })
    }
}

impl RouteTotals {
    /// What a minute of a route adds.
    pub fn from_stats(stats: &RouteStats) -> Self {
        let mut totals = Self {
            errors: stats.errors,
            samples: stats.samples,
            tokens: stats.tokens,
            cpu_ns: u128::from(stats.cpu_ns),
            cpu_requests: stats.cpu_requests,
            gpu_ns: u128::from(stats.gpu_ns),
            gpu_requests: stats.gpu_requests,
            regions_left_out: stats.regions_left_out,
            latency: DurationHistogram::from_sketch(&stats.latency),
            ..Self::default()
        };
        for (name, region) in &stats.regions {
            let duration = DurationHistogram::from_sketch(&region.duration);
            totals.regions.insert(name.clone(), RegionTotals { duration, self_ns: u128::from(region.self_ns) });
        }
        // Where `<` and `<=` name the same time, `<=` comes last: that is what a bucket's bound means.
        let mut targets: Vec<_> = stats.targets.iter().collect();
        targets.sort_by_key(|(name, _)| name.contains("<="));
        for (name, count) in targets {
            let counted = TargetTotals { requests: count.requests, missed: count.missed };
            totals.targets.insert(name.clone(), counted);
            let Some(bound_ns) = target(name).as_ref().and_then(bound_ns) else { continue };
            // Workers may have other targets: then only the histogram knows about their requests.
            let exact = (count.requests == totals.latency.count && count.missed <= count.requests)
                .then(|| (count.requests - count.missed) as i64 - totals.latency.at_most(bound_ns) as i64);
            let known = totals.corrections.entry(bound_ns).or_default();
            *known = exact.unwrap_or(*known);
        }
        totals
    }

    /// How many requests took as long as each bound at most; bounds are in nanoseconds, and rise.
    pub fn at_most(&self, ladder: &[u64]) -> Vec<(u64, u64)> {
        let mut bounds: Vec<u64> = ladder.iter().chain(self.corrections.keys()).copied().collect();
        bounds.sort_unstable();
        bounds.dedup();
        cumulative(&self.latency, &bounds, &self.corrections)
    }
}

impl RegionTotals {
    pub fn at_most(&self, ladder: &[u64]) -> Vec<(u64, u64)> {
        cumulative(&self.duration, ladder, &BTreeMap::new())
    }
}

/// An exact count beside a rounded one could be the larger of the two though its bound is lower; counts up to a bound must
/// rise, so each is at least what the bounds below it have. None falls in time by that, because none of those does.
fn cumulative(spread: &DurationHistogram, bounds: &[u64], corrections: &BTreeMap<u64, i64>) -> Vec<(u64, u64)> {
    let mut least = 0;
    let each = bounds.iter().map(|bound| {
        let correction = corrections.get(bound).copied().unwrap_or(0);
        least = spread.at_most(*bound).saturating_add_signed(correction).min(spread.count).max(least);
        (*bound, least)
    });
    each.collect()
}

#[cfg(test)]
mod tests;
