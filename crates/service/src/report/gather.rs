//! Minutes of a store, added up: by route, by point in time, by target and window. One hour is in memory at a time.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_ground::Problem;
use stepscope_ground::utc::{MINUTE_NS, now_ns};

use super::Point;
use crate::block::Gauges;
use crate::exemplar::{ExemplarLimits, RouteExemplars};
use crate::hours::{HourSums, Hours, PointStats, grain, merge};
use crate::period::Period;
use crate::segment::Process;
use crate::sketch::Sketch;
use crate::stats::{RouteStats, TargetCount};
use crate::thresholds::BURN_WINDOWS_MINUTES;

/// Notes of a report at most; the rest is counted.
const MAX_NOTES: usize = 20;

/// What a point in time of one route comes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointSums {
    pub requests: u64,
    pub errors: u64,
    pub latency_sum_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// Time of regions, without regions inside.
    pub self_ns: BTreeMap<String, u64>,
}

impl PointSums {
    fn from_stats(stats: &RouteStats) -> Self {
        let quantile = |share| stats.latency.quantile(share).unwrap_or(0);
        Self {
            requests: stats.requests(),
            errors: stats.errors,
            latency_sum_ns: stats.latency.sum(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns: stats.latency.max().unwrap_or(0),
            self_ns: stats.regions.iter().map(|(name, region)| (name.clone(), region.self_ns)).collect(),
        }
    }

    pub(super) fn shown(&self, minute: i64) -> Point {
        let Self { requests, errors, p50_ns, p95_ns, p99_ns, .. } = *self;
        Point { minute, requests, errors, p50_ns, p95_ns, p99_ns }
    }
}

/// All that a report or a dashboard needs.
#[derive(Debug, Default)]
pub(crate) struct ReportInput {
    pub now: BTreeMap<String, RouteStats>,
    pub before: BTreeMap<String, RouteStats>,
    /// By route and first minute.
    pub points: BTreeMap<String, BTreeMap<i64, PointSums>>,
    pub all_points: BTreeMap<i64, PointSums>,
    pub point_minutes: i64,
    /// Counts by route, target and window, the windows ending where the period ends.
    pub windows: BTreeMap<(String, String), [TargetCount; BURN_WINDOWS_MINUTES.len()]>,
    /// Counts by route and target, and by first minute.
    pub target_points: BTreeMap<(String, String), BTreeMap<i64, TargetCount>>,
    /// Latencies of the chosen route, or of all, by first minute.
    pub spread: BTreeMap<i64, Sketch>,
    /// The processes, by first minute.
    pub gauges_points: BTreeMap<i64, Gauges>,
    pub kept: BTreeMap<String, RouteExemplars>,
    pub processes: BTreeSet<Process>,
    pub gauges: Gauges,
    pub notes: Vec<String>,
    /// The first and last hour of the whole store.
    pub stored: Option<(i64, i64)>,
    /// When counting began, if the first hour of the whole store was read.
    began_ns: Option<i64>,
}

/// Whose latencies are kept over time.
#[derive(Copy, Clone, Debug)]
pub(crate) enum LatencyScope<'a> {
    /// None: a report has no use for that.
    Nothing,
    All,
    Route(&'a str),
}

impl ReportInput {
    pub(crate) fn read(
        hours: &Hours,
        period: Period,
        compared: Option<Period>,
        spread: LatencyScope<'_>,
    ) -> Result<Self, Problem> {
        let mut found = Self { point_minutes: grain(period.minutes()), ..Self::default() };
        let longest = BURN_WINDOWS_MINUTES.iter().max().copied().unwrap_or(0);
        let windows = Period { from: period.until - longest, until: period.until };
        // Points that more minutes may come to, by their first minute.
        let mut open: BTreeMap<i64, PointStats> = BTreeMap::new();
        let mut more_notes = 0;
        let listing = hours.listing()?;
        found.stored = listing.keys().next().copied().zip(listing.keys().next_back().copied());
        for (&hour, files) in &listing {
            let of = Period { from: hour * 60, until: hour * 60 + 60 };
            if windows.meets(of) && !period.meets(of) {
                let sums = hours.sums(hour, files, found.point_minutes, None)?;
                found.count_windows(period, &sums);
            }
            if let Some(compared) = compared.filter(|compared| compared.meets(of)) {
                let sums = hours.sums(hour, files, found.point_minutes, Some(compared))?;
                found.see_first(hour, &sums);
                for (route, stats) in sums.points.values().flat_map(|point| &point.routes) {
                    add(&mut found.before, route, stats);
                }
            }
            if !period.meets(of) {
                continue;
            }
            let sums = hours.sums(hour, files, found.point_minutes, Some(period))?;
            found.see_first(hour, &sums);
            found.count_windows(period, &sums);
            for note in &sums.notes {
                match found.notes.len() < MAX_NOTES {
                    true => found.notes.push(note.clone()),
                    false => more_notes += 1,
                }
            }
            for exemplar in &sums.exemplars {
                found
                    .kept
                    .entry(exemplar.route.clone())
                    .or_default()
                    .offer(exemplar.clone(), ExemplarLimits::default());
            }
            for (first, point) in &sums.points {
                for (route, stats) in &point.routes {
                    add(&mut found.now, route, stats);
                }
                found.processes.extend(point.processes.keys().cloned());
                let to = open.entry(*first).or_default();
                for (route, stats) in &point.routes {
                    add(&mut to.routes, route, stats);
                }
                for (process, gauges) in &point.processes {
                    to.processes.entry(process.clone()).or_default().merge(gauges);
                }
            }
            // Points that end before the next hour are numbers from now on.
            let next = (hour + 1) * 60;
            while open.first_key_value().is_some_and(|(first, _)| first + found.point_minutes <= next) {
                if let Some((first, point)) = open.pop_first() {
                    found.close_point(first, point, spread);
                }
            }
        }
        for (first, point) in open {
            found.close_point(first, point, spread);
        }
        if more_notes > 0 {
            found.notes.push(format!("{more_notes} more files are damaged"));
        }
        Ok(found)
    }

    fn see_first(&mut self, hour: i64, sums: &HourSums) {
        if self.stored.is_some_and(|(first, _)| first == hour) {
            self.began_ns = sums.began_ns;
        }
    }

    /// How many seconds of a period there can be requests of: from where counting began to now at most. This is
    /// what every rate divides by.
    pub(crate) fn counted_seconds(&self, period: Period) -> f64 {
        let from_ns = (period.from * MINUTE_NS).max(self.began_ns.unwrap_or(i64::MIN));
        let until_ns = (period.until * MINUTE_NS).min(now_ns());
        ((until_ns - from_ns) as f64 / 1e9).max(1.0)
    }

    fn close_point(&mut self, first: i64, point: PointStats, spread: LatencyScope<'_>) {
        let mut gauges = Gauges::default();
        let mut rss_bytes = 0;
        for of in point.processes.values() {
            gauges.merge(of);
            rss_bytes += of.max_rss_bytes;
        }
        self.gauges.merge(&gauges);
        // Over time, all processes together are what the machine has to hold.
        self.gauges_points.insert(first, Gauges { max_rss_bytes: rss_bytes, ..gauges });
        let mut all = RouteStats::default();
        for (route, stats) in point.routes {
            all.merge(&stats);
            for (target, count) in &stats.targets {
                let key = (route.clone(), target.clone());
                self.target_points.entry(key).or_default().entry(first).or_default().merge(*count);
            }
            if matches!(spread, LatencyScope::Route(chosen) if chosen == route) {
                self.spread.insert(first, stats.latency.clone());
            }
            self.points.entry(route).or_default().insert(first, PointSums::from_stats(&stats));
        }
        self.all_points.insert(first, PointSums::from_stats(&all));
        if matches!(spread, LatencyScope::All) {
            self.spread.insert(first, all.latency);
        }
    }

    fn count_windows(&mut self, period: Period, sums: &HourSums) {
        for (minute, counts) in &sums.targets {
            for (at, length) in BURN_WINDOWS_MINUTES.iter().enumerate() {
                if !(period.until - length..period.until).contains(minute) {
                    continue;
                }
                for (route, target, count) in counts {
                    let key = (route.clone(), target.clone());
                    self.windows.entry(key).or_default()[at].merge(*count);
                }
            }
        }
    }
}

fn add(to: &mut BTreeMap<String, RouteStats>, route: &str, stats: &RouteStats) {
    match to.get_mut(route) {
        Some(known) => known.merge(stats),
        None => merge(to, route.to_owned(), stats.clone()),
    }
}
