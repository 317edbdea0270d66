//! What is exported, by name: each metric once, whatever the format.

use stepscope_service::Exemplar;

use crate::duration_histogram::DurationHistogram;
use crate::ledger::Snapshot;
use crate::totals::target;

/// Bounds of classic histograms, in nanoseconds: 1, 2.5 and 5 of each power of ten from 100 µs to 100 s.
pub(crate) const CLASSIC_BOUNDS_NS: [u64; 19] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    50_000_000_000,
    100_000_000_000,
];
/// Bounds above this (11 days) are not latencies, and texts of numbers would need an exponent.
const MAX_BOUND_NS: u64 = 1_000_000_000_000_000;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    Gauge,
    Histogram,
    /// Always 1; its labels say something.
    Info,
}

#[derive(Debug, PartialEq, Eq)]
pub struct MetricInfo {
    /// Its name for Prometheus, without `_total`.
    pub name: &'static str,
    pub otlp: &'static str,
    /// Its unit for Prometheus, which its name ends in.
    pub unit: &'static str,
    pub otlp_unit: &'static str,
    pub kind: Kind,
    pub help: &'static str,
}

/// One metric with all its series.
#[derive(Clone, Debug)]
pub struct Family {
    pub about: &'static MetricInfo,
    /// By labels.
    pub series: Vec<Series>,
}

#[derive(Clone, Debug)]
pub struct Series {
    pub labels: Vec<(&'static str, String)>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub enum Value {
    Count(u64),
    Real(f64),
    Histogram(Box<Histogram>),
}

/// Durations, for each format what it needs.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    pub spread: DurationHistogram,
    /// How many took as long as each bound (in nanoseconds) at most.
    pub at_most: Vec<(u64, u64)>,
    /// Some of the requests, the latest first.
    pub exemplars: Vec<Exemplar>,
}

macro_rules! families {
    ($($id:ident: $kind:ident $name:literal $unit:literal, $otlp:literal $otlp_unit:literal, $help:literal;)*) => {
        $(static $id: MetricInfo = MetricInfo {
            name: $name, otlp: $otlp, unit: $unit, otlp_unit: $otlp_unit, kind: Kind::$kind, help: $help,
        };)*
        pub static FAMILIES: &[&MetricInfo] = &[$(&$id),*];
    };
}

families! {
    REQUESTS: Counter "stepscope_requests" "", "stepscope.requests" "{request}", "Requests that ended.";
    ERRORS: Counter "stepscope_request_errors" "", "stepscope.request.errors" "{request}", "Requests that failed.";
    DURATION: Histogram "stepscope_request_duration_seconds" "seconds", "stepscope.request.duration" "s",
        "How long requests took.";
    REGION: Histogram "stepscope_region_duration_seconds" "seconds", "stepscope.region.duration" "s",
        "How long regions of requests were open, regions inside them included.";
    REGION_SELF: Counter "stepscope_region_self_seconds" "seconds", "stepscope.region.self_time" "s",
        "Time in regions of requests, without regions inside them.";
    REGIONS_LEFT_OUT: Counter "stepscope_regions_left_out" "", "stepscope.regions.left_out" "{region}",
        "Regions that are not counted because their request had too many.";
    SLA_REQUESTS: Counter "stepscope_sla_requests" "", "stepscope.sla.requests" "{request}",
        "Requests that a target was held against.";
    SLA_MISSED: Counter "stepscope_sla_missed" "", "stepscope.sla.missed" "{request}",
        "Requests that missed a target, counted one by one.";
    SLA_ALLOWED: Gauge "stepscope_sla_allowed_ratio" "ratio", "stepscope.sla.allowed" "1",
        "Share of requests that may miss a target; left out where none may.";
    SAMPLES: Counter "stepscope_samples" "", "stepscope.samples" "{sample}", "Samples that requests held.";
    TOKENS: Counter "stepscope_tokens" "", "stepscope.tokens" "{token}", "Tokens that requests read or wrote.";
    CPU: Counter "stepscope_request_cpu_seconds" "seconds", "stepscope.request.cpu" "s",
        "Processor time of the requests it was measured for, one in seventeen.";
    CPU_MEASURED: Counter "stepscope_request_cpu_measured" "", "stepscope.request.cpu.measured" "{request}",
        "Requests whose processor time was measured.";
    GPU: Counter "stepscope_request_gpu_seconds" "seconds", "stepscope.request.gpu" "s",
        "Time on the GPU of the requests it was measured for.";
    GPU_MEASURED: Counter "stepscope_request_gpu_measured" "", "stepscope.request.gpu.measured" "{request}",
        "Requests whose time on the GPU was measured.";
    PROCESSES: Gauge "stepscope_processes" "", "stepscope.processes" "{process}",
        "Processes that answered requests in the last five minutes.";
    RSS: Gauge "stepscope_process_resident_memory_bytes" "bytes", "stepscope.process.memory" "By",
        "Memory that these processes hold together: the most of their last minute.";
    RSS_MAX: Gauge "stepscope_process_resident_memory_max_bytes" "bytes", "stepscope.process.memory.max" "By",
        "Memory that the largest of these processes holds.";
    PROCESS_CPU: Counter "stepscope_process_cpu_seconds" "seconds", "stepscope.process.cpu" "s",
        "Processor time of all processes, requests or not.";
    LOST: Counter "stepscope_requests_lost" "", "stepscope.requests.lost" "{request}",
        "Requests that are counted nowhere else because the disk could not be written for more than an hour.";
    CLOCK_JUMPS: Counter "stepscope_clock_jumps" "", "stepscope.clock_jumps" "{jump}", "How often a clock was set.";
    TROUBLES: Gauge "stepscope_export_troubles" "", "stepscope.export.troubles" "{trouble}",
        "Files that could not be read or written; the program says which.";
    BUILD: Info "stepscope_build" "", "stepscope.build" "1", "The version that exports this.";
}

fn seconds(ns: u128) -> Value {
    Value::Real(ns as f64 / 1e9)
}

/// Everything in a snapshot.
pub fn families(snapshot: &Snapshot) -> Vec<Family> {
    let mut found: Vec<Family> = FAMILIES.iter().map(|about| Family { about, series: Vec::new() }).collect();
    let mut add = |about: &'static MetricInfo, labels: Vec<(&'static str, String)>, value: Value| {
        if let Some(family) = found.iter_mut().find(|family| std::ptr::eq(family.about, about)) {
            family.series.push(Series { labels, value });
        }
    };
    for (name, route) in &snapshot.totals.routes {
        let of_route = || vec![("route", name.clone())];
        add(&REQUESTS, of_route(), Value::Count(route.latency.count));
        add(&ERRORS, of_route(), Value::Count(route.errors));
        let exemplars = snapshot.exemplars.iter().filter(|exemplar| exemplar.route == *name);
        let histogram = Histogram {
            spread: route.latency.clone(),
            at_most: shown(route.at_most(&CLASSIC_BOUNDS_NS)),
            exemplars: exemplars.cloned().collect(),
        };
        add(&DURATION, of_route(), Value::Histogram(Box::new(histogram)));
        for (region, totals) in &route.regions {
            let of_region = || vec![("route", name.clone()), ("region", region.clone())];
            let (spread, at_most) = (totals.duration.clone(), totals.at_most(&CLASSIC_BOUNDS_NS));
            let histogram = Histogram { spread, at_most, exemplars: Vec::new() };
            add(&REGION, of_region(), Value::Histogram(Box::new(histogram)));
            add(&REGION_SELF, of_region(), seconds(totals.self_ns));
        }
        add(&REGIONS_LEFT_OUT, of_route(), Value::Count(route.regions_left_out));
        for (text, totals) in &route.targets {
            let of_target = || vec![("route", name.clone()), ("target", text.clone())];
            add(&SLA_REQUESTS, of_target(), Value::Count(totals.requests));
            add(&SLA_MISSED, of_target(), Value::Count(totals.missed));
            if let Some(allowed) = target(text).map(|target| target.allowed).filter(|allowed| *allowed > 0.0) {
                add(&SLA_ALLOWED, of_target(), Value::Real(allowed));
            }
        }
        add(&SAMPLES, of_route(), Value::Count(route.samples));
        add(&TOKENS, of_route(), Value::Count(route.tokens));
        add(&CPU, of_route(), seconds(route.cpu_ns));
        add(&CPU_MEASURED, of_route(), Value::Count(route.cpu_requests));
        if route.gpu_requests > 0 {
            add(&GPU, of_route(), seconds(route.gpu_ns));
            add(&GPU_MEASURED, of_route(), Value::Count(route.gpu_requests));
        }
    }
    // What was not measured is left out, not 0.
    if let Some(workers) = &snapshot.workers {
        add(&PROCESSES, Vec::new(), Value::Count(workers.processes));
        if workers.rss_bytes > 0 {
            add(&RSS, Vec::new(), Value::Count(workers.rss_bytes));
            add(&RSS_MAX, Vec::new(), Value::Count(workers.max_rss_bytes));
        }
    }
    add(&PROCESS_CPU, Vec::new(), seconds(snapshot.totals.cpu_ns));
    add(&LOST, Vec::new(), Value::Count(snapshot.totals.lost_requests));
    add(&CLOCK_JUMPS, Vec::new(), Value::Count(snapshot.totals.clock_jumps));
    add(&TROUBLES, Vec::new(), Value::Count(snapshot.notes.len() as u64));
    add(&BUILD, vec![("version", env!("CARGO_PKG_VERSION").to_owned())], Value::Count(1));
    found.retain(|family| !family.series.is_empty());
    found
}

fn shown(mut bounds: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    bounds.retain(|(bound, _)| *bound < MAX_BOUND_NS);
    bounds
}

impl Histogram {
    /// The latest request of each bucket between two bounds, beginning below the first and ending above the last one.
    pub(crate) fn exemplar_of(&self, above_ns: u64, up_to_ns: u64) -> Option<&Exemplar> {
        self.exemplars.iter().find(|e| e.latency_ns <= up_to_ns && (e.latency_ns > above_ns || above_ns == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        for about in FAMILIES {
            assert!(about.name.starts_with("stepscope_") && about.otlp.starts_with("stepscope."), "{about:?}");
            assert!(about.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{about:?}");
            assert!(about.name.ends_with(about.unit) && !about.name.ends_with("_total"), "{about:?}");
            assert!(about.help.ends_with('.') && !about.help.contains('\n'), "{about:?}");
        }
        let mut names: Vec<_> = FAMILIES.iter().flat_map(|about| [about.name, about.otlp]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * FAMILIES.len());
        assert!(CLASSIC_BOUNDS_NS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let found = families(&Snapshot::default());
        let names: Vec<_> = found.iter().map(|family| family.about.name).collect();
        assert!(!names.contains(&"stepscope_processes"), "{names:?}");
        assert!(names.contains(&"stepscope_build"), "{names:?}");
    }
}
