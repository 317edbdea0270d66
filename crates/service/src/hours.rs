//! Hours of a service, added up to the points of a chart. Hours that are no longer written to are remembered, so that a
//! page over a week reads one hour per refresh and not 168.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use stepscope_ground::utc::now_ns;
use stepscope_ground::{Problem, lock};

use crate::block::Gauges;
use crate::exemplar::{Exemplar, ExemplarLimits, ExemplarsByHour};
use crate::period::Period;
use crate::segment::Process;
use crate::service_dir::{Hour, HourFile, ServiceDir};
use crate::stats::{RouteStats, TargetCount};

/// A period is drawn, and searched for changes, in so many points at most.
const MAX_POINTS: i64 = 240;
/// Minutes per point. Those up to 60 divide an hour and the others are whole hours, so an hour's points stay the same
/// whatever period they are in.
const POINT_MINUTES: [i64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1_440, 2_880, 10_080];
/// Memory for hours that were read before, about.
const MAX_CACHE_BYTES: usize = 192 << 20;
/// An hour is still written to for a while after it has ended.
const SETTLED_HOURS: i64 = 2;

/// Minutes per point for a period of so many minutes.
pub(crate) fn grain(minutes: i64) -> i64 {
    POINT_MINUTES.into_iter().find(|grain| minutes <= grain * MAX_POINTS).unwrap_or(10_080)
}

/// A few minutes of all processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointStats {
    pub routes: BTreeMap<String, RouteStats>,
    pub processes: BTreeMap<Process, Gauges>,
}

/// One hour, or the part of it that lies in a period.
#[derive(Clone, Debug, Default)]
pub(crate) struct HourSums {
    /// By the first minute of the point, which may lie in an earlier hour.
    pub points: BTreeMap<i64, PointStats>,
    /// By route and target, for every minute of the hour: windows of a target end at any minute.
    pub targets: BTreeMap<i64, Vec<(String, String, TargetCount)>>,
    pub exemplars: Vec<Exemplar>,
    pub notes: Vec<String>,
    /// When counting began in that hour.
    pub began_ns: Option<i64>,
}

impl HourSums {
    fn from_hour(hour: Hour, grain: i64, period: Option<Period>) -> Self {
        let mut sums = Self { notes: hour.notes, began_ns: hour.began_ns, ..Self::default() };
        let mut kept = ExemplarsByHour::default();
        for exemplar in hour.exemplars {
            let minute = exemplar.ended_ns.div_euclid(60_000_000_000);
            if period.is_none_or(|period| period.contains(minute)) {
                kept.offer(exemplar, ExemplarLimits::default());
            }
        }
        for (_, kept) in kept.each() {
            sums.exemplars.extend(kept.all().into_iter().cloned());
        }
        for (minute, of) in hour.minutes {
            let counts = of.routes.iter().flat_map(|(route, stats)| {
                stats.targets.iter().map(|(target, count)| (route.clone(), target.clone(), *count))
            });
            let counts: Vec<_> = counts.collect();
            if !counts.is_empty() {
                sums.targets.insert(minute, counts);
            }
            if period.is_none_or(|period| period.contains(minute)) {
                let point = sums.points.entry(minute - minute.rem_euclid(grain)).or_default();
                for (route, stats) in of.routes {
                    merge(&mut point.routes, route, stats);
                }
                for (process, gauges) in of.processes {
                    point.processes.entry(process).or_default().merge(&gauges);
                }
            }
        }
        sums
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        let stats = |stats: &RouteStats| {
            let buckets: usize = stats.regions.values().map(|region| region.duration.buckets().1.len()).sum();
            512 + 8 * (buckets + stats.latency.buckets().1.len()) + 256 * stats.regions.len()
        };
        let points = self.points.values().flat_map(|point| point.routes.values());
        let spans: usize = self.exemplars.iter().map(|exemplar| 256 + 64 * exemplar.spans.len()).sum();
        let targets: usize = self.targets.values().map(|counts| 96 * counts.len()).sum();
        points.map(stats).sum::<usize>() + spans + targets
    }
}

/// Adds the numbers of a route.
pub(crate) fn merge(to: &mut BTreeMap<String, RouteStats>, route: String, stats: RouteStats) {
    match to.get_mut(&route) {
        Some(known) => known.merge(&stats),
        None => drop(to.insert(route, stats)),
    }
}

/// The hours of a service's directory.
#[derive(Debug)]
pub struct Hours {
    dir: ServiceDir,
    cache: Mutex<HourCache>,
}

#[derive(Debug, Default)]
struct HourCache {
    /// By hour and grain, with the files it was read from.
    hours: HashMap<(i64, i64), (Vec<HourFile>, Arc<HourSums>)>,
    /// The one read first goes first.
    order: VecDeque<(i64, i64)>,
    bytes: usize,
}

impl Hours {
    /// None is read yet.
    pub fn new(dir: ServiceDir) -> Self {
        Self { dir, cache: Mutex::default() }
    }

    /// The directory.
    pub fn dir(&self) -> &ServiceDir {
        &self.dir
    }

    pub(crate) fn listing(&self) -> Result<BTreeMap<i64, Vec<HourFile>>, Problem> {
        self.dir.listing()
    }

    /// One hour in points of so many minutes, as far as it lies in a period.
    pub(crate) fn sums(
        &self,
        hour: i64,
        files: &[HourFile],
        grain: i64,
        period: Option<Period>,
    ) -> Result<Arc<HourSums>, Problem> {
        let whole = Period { from: hour * 60, until: hour * 60 + 60 };
        let period = period.filter(|period| !period.covers(whole));
        let settled = hour <= now_ns().div_euclid(3_600_000_000_000) - SETTLED_HOURS;
        if !settled {
            return Ok(Arc::new(HourSums::from_hour(self.dir.hour(hour)?, grain, period)));
        }
        if period.is_some() {
            return Ok(Arc::new(HourSums::from_hour(Hour::read(files), grain, period)));
        }
        let key = (hour, grain);
        let known = {
            let cache = lock(&self.cache);
            cache.hours.get(&key).filter(|(from, _)| from == files).map(|(_, sums)| sums.clone())
        };
        if let Some(sums) = known {
            return Ok(sums);
        }
        let sums = Arc::new(HourSums::from_hour(Hour::read(files), grain, None));
        lock(&self.cache).keep(key, files, &sums);
        Ok(sums)
    }
}

impl HourCache {
    fn keep(&mut self, key: (i64, i64), files: &[HourFile], sums: &Arc<HourSums>) {
        self.forget(key);
        self.bytes += sums.bytes();
        self.hours.insert(key, (files.to_vec(), sums.clone()));
        self.order.push_back(key);
        while self.bytes > MAX_CACHE_BYTES
            && let Some(oldest) = self.order.front().copied()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, key: (i64, i64)) {
        if let Some((_, sums)) = self.hours.remove(&key) {
            self.bytes -= sums.bytes();
            self.order.retain(|known| *known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_points_that_fit_an_hour() {
        let minutes = [30, 60, 360, 1_440, 10_080, 43_200, 525_600];
        assert_eq!(minutes.map(grain), [1, 1, 2, 10, 60, 240, 2_880]);
        for grain in POINT_MINUTES {
            assert!(60 % grain == 0 || grain % 60 == 0, "{grain}");
        }
    }
}
