//! What a service did over a stretch of time: traffic, latencies, targets, what changed, and its slowest requests.

mod answer;
mod changes;
pub mod dashboard;
mod definitions;
pub(crate) mod gather;
mod targets;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ask::Answer;
use stepscope_ground::Problem;
use stepscope_ground::utc::minute_text;

use crate::counters::gpu_energy_j;
use crate::exemplar::Exemplar;
use crate::hours::Hours;
use crate::period::Period;
use crate::service_dir::ServiceDir;
use crate::sketch::Sketch;
use crate::stats::{OTHER, RouteStats};
use crate::thresholds::GROWN_SHARE;
use dashboard::ServiceDashboard;
use dashboard::verdict::Verdict;
use gather::{LatencyScope, ReportInput};

pub use answer::{change, rate};
pub use changes::LevelChange;
pub(crate) use definitions::DEFINITIONS;
pub use targets::{Burn, TargetReport};

/// Time of a request that none of its regions covers.
pub const OUTSIDE: &str = "(outside regions)";
/// Examples in a report at most.
const MAX_EXEMPLARS: usize = 100;

/// What a period is compared with.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Against {
    /// As much time right before it.
    #[default]
    Before,
    /// The same time on the day before.
    DayBefore,
    /// The same time in the week before.
    WeekBefore,
    Nothing,
}

impl Against {
    /// The period that one is compared with.
    pub fn period(self, of: Period) -> Option<Period> {
        match self {
            Against::Before => Some(of.earlier(of.minutes())),
            Against::DayBefore => Some(of.earlier(1_440)),
            Against::WeekBefore => Some(of.earlier(10_080)),
            Against::Nothing => None,
        }
    }
}

/// A service over a stretch of time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceReport {
    pub verdict: Verdict,
    /// The first minute, in UTC.
    pub from: String,
    /// The minute after the last one.
    pub until: String,
    pub minutes: i64,
    /// What rates divide by: the period without what is before the first count or after now, in seconds.
    pub counted_seconds: f64,
    /// Processes that answered requests.
    pub processes: u64,
    /// Processor time that they used, all together.
    pub process_cpu_ns: u64,
    /// The most memory that one of them held.
    pub max_rss_bytes: u64,
    /// Energy that the GPUs used, where someone recorded their power.
    pub gpu_energy_j: Option<f64>,
    /// All routes together.
    pub total: Summary,
    /// All routes together in the period it is compared with.
    pub total_before: Option<Summary>,
    /// The first minute of the period it is compared with.
    pub compared_from: Option<String>,
    /// Each route, the slowest first.
    pub routes: Vec<RouteReport>,
    /// Each target, those that are missed first.
    pub targets: Vec<TargetReport>,
    /// Where the level of a latency changed.
    pub changes: Vec<LevelChange>,
    /// All routes together over time.
    pub points: Vec<Point>,
    /// Minutes per point.
    pub point_minutes: i64,
    /// The slowest requests, then some at random.
    pub exemplars: Vec<Exemplar>,
    /// What was left out, or could not be read.
    pub notes: Vec<String>,
}

/// Numbers of some requests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    pub requests: u64,
    /// How many per second.
    pub per_second: f64,
    pub errors: u64,
    /// Their share.
    pub error_rate: f64,
    /// Mean latency.
    pub mean_ns: u64,
    /// The latency that half of them did not exceed.
    pub p50_ns: u64,
    /// 90%.
    pub p90_ns: u64,
    /// 95%.
    pub p95_ns: u64,
    /// 99%.
    pub p99_ns: u64,
    /// 99.9%.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How far quantiles may be off, as a share.
    pub quantile_error: f64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RouteReport {
    pub route: String,
    pub now: Summary,
    /// Its numbers in the period it is compared with.
    pub before: Option<Summary>,
    /// Its regions, the one with most time of its own first.
    pub regions: Vec<RegionReport>,
    /// The region whose time per request grew most.
    pub grew: Option<RegionGrowth>,
    /// Samples in its requests.
    pub samples: u64,
    /// Tokens that they read or wrote.
    pub tokens: u64,
    /// Processor time per request, from those it was measured for.
    pub cpu_ns: Option<u64>,
    /// Time per request on the GPU's clock, from those it was measured for.
    pub gpu_ns: Option<u64>,
    /// The most memory that a process held while it answered them.
    pub max_rss_bytes: u64,
    /// Its latency as a histogram, for exporters.
    pub latency: Sketch,
    /// The route over time.
    pub points: Vec<Point>,
}

/// Regions of one name in the requests of a route.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionReport {
    pub region: String,
    /// How often it was entered.
    pub count: u64,
    /// Time per request, without regions inside.
    pub self_ns: u64,
    /// Its share of the time of all requests.
    pub share: f64,
    /// Half of them took no longer; not known for time outside regions.
    pub p50_ns: Option<u64>,
    /// 95%.
    pub p95_ns: Option<u64>,
    /// 99%.
    pub p99_ns: Option<u64>,
    /// Time per request, without regions inside, in the period it is compared with.
    pub before_ns: Option<u64>,
}

/// A region that takes more time than before.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RegionGrowth {
    pub region: String,
    /// Time per request before.
    pub before_ns: u64,
    /// Time per request now.
    pub after_ns: u64,
}

/// A few minutes of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// The first of them, in minutes since 1970.
    pub minute: i64,
    pub requests: u64,
    pub errors: u64,
    /// Half of them took no longer.
    pub p50_ns: u64,
    /// 95%.
    pub p95_ns: u64,
    /// 99%.
    pub p99_ns: u64,
}

impl ServiceReport {
    /// Reports over a period.
    pub fn make(dir: &ServiceDir, period: Period, against: Against) -> Result<Self, Problem> {
        let compared = against.period(period);
        let hours = Hours::new(dir.clone());
        let input = ReportInput::read(&hours, period, compared, LatencyScope::Nothing)?;
        let mut made = Self::from_input(&input, period, compared);
        made.verdict = ServiceDashboard::from_input(&hours, &input, &made, period, compared, None).verdict;
        made.gpu_energy_j = gpu_energy_j(dir.folder(), period);
        Ok(made)
    }

    /// The report as an answer: tables, JSON, CSV and Markdown, like that to any question.
    pub fn answer(self) -> Answer {
        answer::answer(self)
    }

    pub(crate) fn from_input(input: &ReportInput, period: Period, compared: Option<Period>) -> Self {
        let minutes = period.minutes();
        let seconds = input.counted_seconds(period);
        let seconds_before = compared.map_or(1.0, |compared| input.counted_seconds(compared));
        let mut routes: Vec<RouteReport> = input
            .now
            .iter()
            // What a GPU was done with a moment later may be all that a period has of a route.
            .filter(|(_, stats)| stats.requests() > 0)
            .map(|(name, stats)| {
                let before = input.before.get(name).filter(|stats| stats.requests() > 0);
                let points = input.points.get(name).map_or_else(Vec::new, |points| {
                    points.iter().map(|(minute, point)| point.shown(*minute)).collect()
                });
                route_report(name, stats, before, points, (seconds, seconds_before))
            })
            .collect();
        routes.sort_by(|a, b| (b.now.p95_ns, &a.route).cmp(&(a.now.p95_ns, &b.route)));
        let all = |routes: &std::collections::BTreeMap<String, RouteStats>| {
            let mut total = RouteStats::default();
            routes.values().for_each(|stats| total.merge(stats));
            total
        };
        let before = all(&input.before);
        Self {
            verdict: Verdict::default(),
            from: minute_text(period.from),
            until: minute_text(period.until),
            minutes,
            counted_seconds: seconds,
            processes: input.processes.len() as u64,
            process_cpu_ns: input.gauges.cpu_ns,
            max_rss_bytes: input.gauges.max_rss_bytes,
            gpu_energy_j: None,
            total: Summary::from_stats(&all(&input.now), seconds),
            total_before: (before.requests() > 0).then(|| Summary::from_stats(&before, seconds_before)),
            compared_from: compared.map(|compared| minute_text(compared.from)),
            routes,
            targets: targets::reports(input),
            changes: changes::find(input),
            points: input.all_points.iter().map(|(minute, point)| point.shown(*minute)).collect(),
            point_minutes: input.point_minutes,
            exemplars: exemplars(input, None),
            notes: notes(input),
        }
    }
}

impl Summary {
    pub(crate) fn from_stats(stats: &RouteStats, seconds: f64) -> Self {
        let requests = stats.requests();
        let quantile = |share| stats.latency.quantile(share).unwrap_or(0);
        Self {
            requests,
            per_second: requests as f64 / seconds,
            errors: stats.errors,
            error_rate: stats.errors as f64 / requests.max(1) as f64,
            mean_ns: stats.latency.mean().unwrap_or(0),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: stats.latency.max().unwrap_or(0),
            quantile_error: stats.latency.error(),
        }
    }
}

fn route_report(
    name: &str,
    stats: &RouteStats,
    before: Option<&RouteStats>,
    points: Vec<Point>,
    (seconds, seconds_before): (f64, f64),
) -> RouteReport {
    let mut regions: Vec<RegionReport> = per_request(stats)
        .into_iter()
        .map(|(region, self_ns)| {
            let known = stats.regions.get(&region).map(|region| &region.duration);
            let quantile = |share| known.and_then(|duration| duration.quantile(share));
            let before_ns = before.map(|before| {
                per_request(before).into_iter().find(|(name, _)| *name == region).map_or(0, |(_, ns)| ns)
            });
            RegionReport {
                count: known.map_or(stats.requests(), Sketch::count),
                self_ns,
                share: self_ns as f64 / stats.latency.mean().unwrap_or(1).max(1) as f64,
                p50_ns: quantile(0.5),
                p95_ns: quantile(0.95),
                p99_ns: quantile(0.99),
                before_ns,
                region,
            }
        })
        .collect();
    regions.sort_by(|a, b| (b.self_ns, &a.region).cmp(&(a.self_ns, &b.region)));
    RouteReport {
        route: name.to_owned(),
        now: Summary::from_stats(stats, seconds),
        before: before.map(|stats| Summary::from_stats(stats, seconds_before)),
        grew: before.and_then(|before| grown(&per_request(before), &per_request(stats))),
        regions,
        samples: stats.samples,
        tokens: stats.tokens,
        cpu_ns: stats.cpu_ns.checked_div(stats.cpu_requests),
        gpu_ns: stats.gpu_ns.checked_div(stats.gpu_requests),
        max_rss_bytes: stats.max_rss_bytes,
        latency: stats.latency.clone(),
        points,
    }
}

/// Time per request by region, without regions inside; what no region covers comes last.
fn per_request(stats: &RouteStats) -> Vec<(String, u64)> {
    let requests = stats.requests().max(1);
    let own = stats.regions.iter().map(|(name, region)| (name.clone(), region.self_ns / requests));
    let mut all: Vec<(String, u64)> = own.collect();
    if !all.is_empty() {
        let inside: u64 = stats.regions.values().map(|region| region.self_ns).sum();
        // Regions of tasks that run at once may take longer than their request.
        all.push((OUTSIDE.to_owned(), stats.latency.sum().saturating_sub(inside) / requests));
    }
    all
}

/// The region whose time per request grew most, if that matters.
fn grown(before: &[(String, u64)], after: &[(String, u64)]) -> Option<RegionGrowth> {
    let total: u64 = before.iter().map(|(_, ns)| ns).sum();
    let then = |name: &str| before.iter().find(|(known, _)| known == name).map_or(0, |(_, ns)| *ns);
    let each = after.iter().map(|(name, ns)| RegionGrowth {
        region: name.clone(),
        before_ns: then(name),
        after_ns: *ns,
    });
    let most = each.max_by_key(|grown| grown.after_ns.saturating_sub(grown.before_ns))?;
    let more = most.after_ns.saturating_sub(most.before_ns);
    (more as f64 > GROWN_SHARE * total as f64 && more > 0).then_some(most)
}

/// Examples of one route or all: the slowest, then some at random.
pub(crate) fn exemplars(input: &ReportInput, route: Option<&str>) -> Vec<Exemplar> {
    let kept = || input.kept.iter().filter(|(name, _)| route.is_none_or(|route| route == *name));
    let all = || kept().flat_map(|(_, kept)| kept.all().into_iter().cloned());
    let told = |exemplar: &Exemplar| exemplar.slow || exemplar.was_looked_into();
    let mut slow: Vec<Exemplar> = all().filter(told).collect();
    slow.sort_by(|a, b| (b.latency_ns, a.key).cmp(&(a.latency_ns, b.key)));
    let mut random: Vec<Exemplar> = all().filter(|exemplar| !told(exemplar)).collect();
    random.sort_by_key(|exemplar| exemplar.key);
    slow.into_iter().chain(random).take(MAX_EXEMPLARS).collect()
}

fn notes(input: &ReportInput) -> Vec<String> {
    let mut notes = input.notes.clone();
    let count = |n: u64| stepscope_ask::print::units::count(n);
    if let Some(other) = input.now.get(OTHER) {
        notes.push(format!(
            "{} requests of routes beyond the limit count as {OTHER}; give routes without ids in them",
            count(other.requests())
        ));
    }
    if input.now.values().any(|stats| stats.regions.contains_key(OTHER)) {
        notes.push(format!("regions beyond the limit of names count as {OTHER}"));
    }
    let left_out: u64 = input.now.values().map(|stats| stats.regions_left_out).sum();
    if left_out > 0 {
        notes.push(format!("{} regions are not counted: their requests had too many", count(left_out)));
    }
    if input.gauges.lost_requests > 0 {
        notes.push(format!(
            "{} requests are lost: they could not be written for more than an hour",
            count(input.gauges.lost_requests)
        ));
    }
    if input.gauges.clock_jumps > 0 {
        notes.push(format!("a clock was set {} times", count(input.gauges.clock_jumps)));
    }
    notes
}

#[cfg(test)]
mod tests;
