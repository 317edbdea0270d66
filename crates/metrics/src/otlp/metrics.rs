//! `ExportMetricsServiceRequest`: sums, gauges and exponential histograms, cumulative.

use stepscope_ground::protobuf::{Message, Put};

use super::traces::{root_id, trace_id};
use super::{Attribute, attribute, request};
use crate::families::{Family, Histogram, Kind, Series, Value};

/// Sums since the beginning.
const CUMULATIVE_TEMPORALITY: u64 = 2;
/// Buckets that a histogram spans at most; where latencies are wider apart, neighbors are joined. SDKs use 160 at scales
/// that reach that far; ours lie eight apart.
const MAX_BUCKETS: usize = 1_280;
/// Examples of one histogram.
const MAX_EXEMPLARS: usize = 10;

/// All metrics as one request. Times are in nanoseconds since 1970.
pub fn metrics_request(
    families: &[Family],
    attributes: &[(String, String)],
    began_ns: i64,
    taken_ns: i64,
) -> Vec<u8> {
    let times = (began_ns.max(0) as u64, taken_ns.max(0) as u64);
    request(attributes, |scope| families.iter().for_each(|family| scope.bytes(2, metric(family, times))))
}

fn metric(family: &Family, times: (u64, u64)) -> Message {
    let mut out = Message::new();
    out.bytes(1, family.about.otlp);
    out.bytes(2, family.about.help);
    out.bytes(3, family.about.otlp_unit);
    let mut data = Message::new();
    family.series.iter().for_each(|series| data.bytes(1, point(series, times)));
    let field = match family.about.kind {
        Kind::Gauge | Kind::Info => 5,
        Kind::Counter => {
            data.number(2, CUMULATIVE_TEMPORALITY);
            data.number(3, 1);
            7
        }
        Kind::Histogram => {
            data.number(2, CUMULATIVE_TEMPORALITY);
            10
        }
    };
    out.bytes(field, &data);
    out
}

/// `NumberDataPoint` or `ExponentialHistogramDataPoint`: their times have the same numbers, their attributes do not.
fn point(series: &Series, (began, taken): (u64, u64)) -> Message {
    let mut out = Message::new();
    let attributes = if matches!(series.value, Value::Histogram(_)) { 1 } else { 7 };
    for (key, value) in &series.labels {
        out.bytes(attributes, attribute(key, &Attribute::Text(value)));
    }
    out.fixed(2, began);
    out.fixed(3, taken);
    match &series.value {
        Value::Count(count) => out.fixed(6, *count),
        Value::Real(value) => out.double(4, *value),
        Value::Histogram(histogram) => self::histogram(&mut out, histogram),
    }
    out
}

fn histogram(out: &mut Message, histogram: &Histogram) {
    let spread = &histogram.spread;
    out.fixed(4, spread.count);
    out.double(5, spread.sum_seconds());
    let (scale, buckets) = spread.narrowed(MAX_BUCKETS);
    out.signed(6, i64::from(scale));
    out.fixed(7, spread.zeros);
    if let (Some((&first, _)), Some((&last, _))) = (buckets.first_key_value(), buckets.last_key_value()) {
        let mut positive = Message::new();
        positive.signed(1, i64::from(first));
        positive.packed(2, (first..=last).map(|index| buckets.get(&index).copied().unwrap_or(0)));
        out.bytes(8, &positive);
    }
    for example in histogram.exemplars.iter().take(MAX_EXEMPLARS) {
        let mut exemplar = Message::new();
        exemplar.bytes(7, attribute("request.id", &Attribute::Text(&example.id)));
        exemplar.fixed(2, example.ended_ns.max(0) as u64);
        exemplar.double(3, example.latency_ns as f64 / 1e9);
        let trace = trace_id(example);
        exemplar.bytes(4, root_id(&trace));
        exemplar.bytes(5, trace);
        out.bytes(11, &exemplar);
    }
    for (field, ns) in [(12, spread.min_ns), (13, spread.max_ns)] {
        if let Some(ns) = ns {
            out.double(field, ns as f64 / 1e9);
        }
    }
}
