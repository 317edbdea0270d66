//! A service as its page shows it: everything over time on one axis, for all routes or one.

mod counters;
mod events;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::scope::definition::Definition;
use stepscope_ground::Problem;
use stepscope_ground::utc::now_ns;

use super::gather::{LatencyScope, PointSums, ReportInput};
use super::{
    Against, DEFINITIONS, LevelChange, OUTSIDE, RegionGrowth, ServiceReport, Summary, TargetReport, exemplars,
};
use crate::exemplar::Exemplar;
use crate::hours::Hours;
use crate::period::Period;
use crate::sketch::Sketch;
use crate::sla;
use crate::thresholds::CHANGED_SHARE;
use verdict::Verdict;

use counters::unit_sign;
pub use events::{ServiceEvent, ServiceEventKind};

/// Buckets of the heat map per doubling, as a power of two: some 13 per decade.
const HEAT_SCALE: i8 = 2;
/// Regions that are drawn over time; the rest is one.
const MAX_REGIONS: usize = 12;
/// What more regions than that count as.
const MORE_REGIONS: &str = "(more regions)";

/// A service over a stretch of time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceDashboard {
    /// What the service's directory is called.
    pub name: String,
    pub verdict: Verdict,
    /// The first minute, in minutes since 1970.
    pub from: i64,
    /// The minute after the last one.
    pub until: i64,
    /// The first minute that the directory may have anything of.
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// When the newest request was written, in nanoseconds since 1970.
    pub newest_ns: Option<i64>,
    /// Minutes per point.
    pub point_minutes: i64,
    /// The first minute of each point, those without requests included.
    pub minutes: Vec<i64>,
    /// The route that all of this is about; none: all.
    pub route: Option<String>,
    /// Processes that answered.
    pub processes: u64,
    /// What rates divide by: the period without what is before the first count or after now, in seconds.
    pub counted_seconds: f64,
    /// A latency that differs by less than this share from the one before is the same.
    pub changed_share: f64,
    /// Numbers of the whole period.
    pub total: Summary,
    /// The same in the period before.
    pub total_before: Option<Summary>,
    /// The first minute of the period before.
    pub compared_from: Option<i64>,
    /// Each route, whatever is chosen.
    pub routes: Vec<RouteRow>,
    /// Requests over time.
    pub series: ServiceSeries,
    /// Latencies over time.
    pub heat: HeatMap,
    pub regions: Vec<RegionSeries>,
    pub targets: Vec<TargetSeries>,
    /// Machine, GPUs and processes.
    pub counters: Vec<CounterSeries>,
    pub changes: Vec<LevelChange>,
    /// Some requests, the slowest first.
    pub exemplars: Vec<Exemplar>,
    /// Levels that changed and rules that fired, the oldest first.
    pub happened: Vec<ServiceEvent>,
    /// What was left out, or could not be read.
    pub notes: Vec<String>,
    pub definitions: Vec<Definition>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RouteRow {
    pub route: String,
    pub now: Summary,
    /// Its numbers in the period before.
    pub before: Option<Summary>,
    /// Its p95 over time.
    pub p95_ns: Vec<Option<u64>>,
    /// Its share of the time of all requests.
    pub time_share: f64,
    /// The region whose time per request grew most.
    pub grew: Option<RegionGrowth>,
}

/// Requests over time.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ServiceSeries {
    pub requests: Vec<u64>,
    pub errors: Vec<u64>,
    /// Half of them took no longer.
    pub p50_ns: Vec<Option<u64>>,
    /// 90%.
    pub p90_ns: Vec<Option<u64>>,
    /// 95%.
    pub p95_ns: Vec<Option<u64>>,
    /// 99%.
    pub p99_ns: Vec<Option<u64>>,
    /// The slowest.
    pub max_ns: Vec<Option<u64>>,
}

/// How latencies are spread, over time.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HeatMap {
    /// Where buckets begin and end: one more than there are buckets.
    pub bounds_ns: Vec<f64>,
    /// Requests by point and bucket.
    pub counts: Vec<Vec<u64>>,
}

/// A region over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RegionSeries {
    pub name: String,
    /// Time in it without regions inside, all requests of the point together.
    pub time_ns: Vec<u64>,
    /// Its share of the time of all requests.
    pub share: f64,
    /// Half of them took no longer.
    pub p50_ns: Option<u64>,
    /// 95%.
    pub p95_ns: Option<u64>,
}

/// A target over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TargetSeries {
    /// The target over the whole period.
    #[serde(flatten)]
    pub target: TargetReport,
    /// How fast its budget was used up at each point.
    pub burn_over_time: Vec<Option<f64>>,
}

/// A counter over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CounterSeries {
    pub name: String,
    /// `percent`, `bytes`, `bytes_per_second`, `watts`, `celsius`, `megahertz`, `joules` or `count`.
    #[schemars(extend("enum" = ["percent", "bytes", "bytes_per_second", "watts", "celsius", "megahertz", "joules", "count"]))]
    pub unit: String,
    /// The device, if it is one of several.
    pub device: Option<String>,
    /// Its mean at each point.
    pub values: Vec<Option<f64>>,
}

impl ServiceDashboard {
    /// The page over a period, for one route or all.
    pub fn make(hours: &Hours, period: Period, route: Option<&str>) -> Result<Self, Problem> {
        let compared = Against::Before.period(period);
        let spread = route.map_or(LatencyScope::All, LatencyScope::Route);
        let input = ReportInput::read(hours, period, compared, spread)?;
        let report = ServiceReport::from_input(&input, period, compared);
        Ok(Self::from_input(hours, &input, &report, period, compared, route))
    }

    /// The same for a file that is read later: nothing in it is about now.
    pub fn for_later(mut self) -> Self {
        self.newest_ns = None;
        self.verdict = Verdict::for_dashboard(&self, None);
        self
    }

    pub(crate) fn from_input(
        hours: &Hours,
        input: &ReportInput,
        report: &ServiceReport,
        period: Period,
        compared: Option<Period>,
        route: Option<&str>,
    ) -> Self {
        let dir = hours.dir();
        let grain = input.point_minutes;
        let minutes: Vec<i64> =
            (period.from.div_euclid(grain) * grain..period.until).step_by(grain.max(1) as usize).collect();
        let none = BTreeMap::new();
        let points = match route {
            Some(route) => input.points.get(route).unwrap_or(&none),
            None => &input.all_points,
        };
        let at = |minute: &i64| points.get(minute).filter(|point| point.requests > 0);
        let over_time =
            |of: fn(&PointSums) -> u64| minutes.iter().map(|minute| at(minute).map(of)).collect::<Vec<_>>();
        let counted = |of: fn(&PointSums) -> u64| {
            minutes.iter().map(|minute| at(minute).map_or(0, of)).collect::<Vec<_>>()
        };
        let series = ServiceSeries {
            requests: counted(|point| point.requests),
            errors: counted(|point| point.errors),
            p50_ns: over_time(|point| point.p50_ns),
            p90_ns: over_time(|point| point.p90_ns),
            p95_ns: over_time(|point| point.p95_ns),
            p99_ns: over_time(|point| point.p99_ns),
            max_ns: over_time(|point| point.max_ns),
        };
        let chosen = route.and_then(|route| report.routes.iter().find(|row| row.route == route));
        let (total, total_before) = match (route, chosen) {
            (Some(_), Some(row)) => (row.now.clone(), row.before.clone()),
            (Some(_), None) => (Summary::from_stats(&crate::stats::RouteStats::default(), 1.0), None),
            _ => (report.total.clone(), report.total_before.clone()),
        };
        let all_time: u128 =
            input.now.values().map(|stats| u128::from(stats.latency.sum())).sum::<u128>().max(1);
        let rows = report.routes.iter().map(|row| {
            let own = input.points.get(&row.route);
            let p95 = |minute| own.and_then(|points| points.get(minute)).map(|point| point.p95_ns);
            let time = input.now.get(&row.route).map_or(0, |stats| stats.latency.sum());
            RouteRow {
                route: row.route.clone(),
                now: row.now.clone(),
                before: row.before.clone(),
                p95_ns: minutes.iter().map(p95).collect(),
                time_share: time as f64 / all_time as f64,
                grew: row.grew.clone(),
            }
        });
        let routes = rows.collect();
        let about = |name: &str| route.is_none_or(|route| route == name);
        let targets = report.targets.iter().filter(|target| about(&target.route)).map(|target| TargetSeries {
            target: target.clone(),
            burn_over_time: burn(input, target, &minutes),
        });
        let changes: Vec<LevelChange> =
            report.changes.iter().filter(|change| about(&change.route)).cloned().collect();
        let (counters, unread) = counters::counter_series(dir.folder(), period, grain, &minutes);
        let mut made = Self {
            name: dir.name(),
            verdict: Verdict::default(),
            from: period.from,
            until: period.until,
            first: input.stored.map(|(first, _)| first * 60),
            last: input.stored.map(|(_, last)| last * 60 + 59),
            newest_ns: dir.changed_ns().filter(|_| input.stored.is_some()),
            point_minutes: grain,
            route: route.map(str::to_owned),
            processes: report.processes,
            counted_seconds: report.counted_seconds,
            changed_share: CHANGED_SHARE,
            total,
            total_before,
            compared_from: compared.map(|compared| compared.from),
            routes,
            series,
            heat: heat(input, &minutes),
            regions: regions(input, points, &minutes, route),
            targets: targets.collect(),
            counters: own_counters(input, &minutes).into_iter().chain(counters).collect(),
            happened: events::events_within(&changes, dir.folder(), period),
            changes,
            exemplars: exemplars(input, route),
            notes: report.notes.iter().cloned().chain(unread).collect(),
            definitions: DEFINITIONS.to_vec(),
            minutes,
        };
        made.verdict = Verdict::for_dashboard(&made, Some(now_ns()));
        made
    }
}

fn burn(input: &ReportInput, target: &TargetReport, minutes: &[i64]) -> Vec<Option<f64>> {
    let parsed = sla::parse(&target.target).ok().and_then(|mut targets| targets.pop());
    let points = input.target_points.get(&(target.route.clone(), target.target.clone()));
    let (Some(parsed), Some(points)) = (parsed, points) else { return vec![None; minutes.len()] };
    let rate = |minute| points.get(minute).and_then(|count| parsed.burn_rate(count.requests, count.missed));
    minutes.iter().map(rate).collect()
}

fn heat(input: &ReportInput, minutes: &[i64]) -> HeatMap {
    let spread: BTreeMap<i64, BTreeMap<i32, u64>> =
        input.spread.iter().map(|(minute, latency)| (*minute, latency.rescaled(HEAT_SCALE))).collect();
    let used: BTreeSet<i32> = spread.values().flat_map(|counts| counts.keys().copied()).collect();
    let (Some(&first), Some(&last)) = (used.first(), used.last()) else { return HeatMap::default() };
    let counts = minutes.iter().map(|minute| {
        let of = spread.get(minute);
        let count = |index| of.and_then(|counts| counts.get(&index)).copied().unwrap_or(0);
        (first..=last).map(count).collect()
    });
    HeatMap {
        bounds_ns: (first..=last + 1).map(|index| Sketch::bucket_start(index, HEAT_SCALE)).collect(),
        counts: counts.collect(),
    }
}

fn regions(
    input: &ReportInput,
    points: &BTreeMap<i64, PointSums>,
    minutes: &[i64],
    route: Option<&str>,
) -> Vec<RegionSeries> {
    let mut total: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, ns) in points.values().flat_map(|point| &point.self_ns) {
        *total.entry(name).or_default() += ns;
    }
    if total.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<(&str, u64)> = total.into_iter().collect();
    names.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    let drawn: Vec<&str> = names.iter().take(MAX_REGIONS).map(|(name, _)| *name).collect();
    let all: u64 = points.values().map(|point| point.latency_sum_ns).sum::<u64>().max(1);
    let share = |time: &[u64]| time.iter().sum::<u64>() as f64 / all as f64;
    let over_time =
        |of: &dyn Fn(&PointSums) -> u64| minutes.iter().map(|m| points.get(m).map_or(0, of)).collect();
    let mut found = Vec::new();
    for name in &drawn {
        let time_ns: Vec<u64> = over_time(&|point| point.self_ns.get(*name).copied().unwrap_or(0));
        let mut spread = Sketch::default();
        for (of, stats) in &input.now {
            if route.is_none_or(|route| route == of)
                && let Some(region) = stats.regions.get(*name)
            {
                spread.merge(&region.duration);
            }
        }
        let (p50_ns, p95_ns) = (spread.quantile(0.5), spread.quantile(0.95));
        found.push(RegionSeries { name: (*name).to_owned(), share: share(&time_ns), time_ns, p50_ns, p95_ns });
    }
    let mut add = |name: &str, time_ns: Vec<u64>| {
        let share = share(&time_ns);
        found.push(RegionSeries { name: name.to_owned(), time_ns, share, p50_ns: None, p95_ns: None });
    };
    if names.len() > drawn.len() {
        let others = |point: &PointSums| {
            point.self_ns.iter().filter(|(name, _)| !drawn.contains(&name.as_str())).map(|(_, ns)| ns).sum()
        };
        add(MORE_REGIONS, over_time(&others));
    }
    add(OUTSIDE, over_time(&|point| point.latency_sum_ns.saturating_sub(point.self_ns.values().sum::<u64>())));
    found
}

/// What the processes of the service know about themselves.
fn own_counters(input: &ReportInput, minutes: &[i64]) -> Vec<CounterSeries> {
    let points = &input.gauges_points;
    if points.is_empty() {
        return Vec::new();
    }
    let over_time = |of: &dyn Fn(&crate::block::Gauges) -> Option<f64>| {
        minutes.iter().map(|minute| points.get(minute).and_then(of)).collect::<Vec<_>>()
    };
    let series = |name: &str, unit: &str, values| CounterSeries {
        name: name.to_owned(),
        unit: unit.to_owned(),
        device: None,
        values,
    };
    // Processes were watched for as long as all of them together, each on one core at most times its threads.
    let spanned_ns = input.point_minutes as f64 * 60e9;
    vec![
        series(
            "CPU of the service",
            "percent",
            over_time(&|gauges| (gauges.watched_ns > 0).then(|| gauges.cpu_ns as f64 / spanned_ns * 100.0)),
        ),
        series(
            "memory of the service",
            "bytes",
            over_time(&|gauges| (gauges.max_rss_bytes > 0).then_some(gauges.max_rss_bytes as f64)),
        ),
    ]
}

#[cfg(test)]
mod tests;
