//! What a scrape gets: the format that it likes best, with native histograms if it reads protocol buffers.

use std::collections::BTreeMap;

use stepscope_ground::protobuf::{Message, Put};
use stepscope_service::Exemplar;

use crate::duration_histogram::SCALE;
use crate::families::{Family, Histogram, Kind, Value};
use crate::text::{Dialect, request_id, sample_name, text};

/// Below this, Prometheus's own clients take a value for 0: 2^-128.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// A format that a scrape can have.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's text, version 0.0.4.
    #[default]
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Messages of protocol buffers, with native histograms beside the classic ones.
    Protobuf,
}

impl Format {
    /// What it is called in HTTP.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// The format that an entry of an Accept header names.
    fn named(entry: &str) -> Option<Self> {
        let mut parts = entry.split(';').map(|part| part.trim().to_ascii_lowercase());
        let kind = parts.next()?;
        let parameters: BTreeMap<String, String> = parts
            .filter_map(|part| {
                let (name, value) = part.split_once('=')?;
                Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
            })
            .collect();
        let is = |name: &str, wanted: &[&str]| {
            parameters.get(name).is_none_or(|value| wanted.contains(&value.as_str()))
        };
        match kind.as_str() {
            "application/vnd.google.protobuf"
                if is("proto", &["io.prometheus.client.metricfamily"]) && is("encoding", &["delimited"]) =>
            {
                Some(Self::Protobuf)
            }
            "application/openmetrics-text" if is("version", &["0.0.1", "1.0.0"]) => Some(Self::OpenMetrics),
            "text/plain" if is("version", &["0.0.4"]) => Some(Self::Text),
            "text/*" | "*/*" => Some(Self::Text),
            _ => None,
        }
    }
}

/// The format that an Accept header likes best; of those it likes equally, the first. Text if it knows none of ours.
pub fn negotiate(accept: &str) -> Format {
    let mut best: Option<(f64, Format)> = None;
    for entry in accept.split(',').take(32) {
        let Some(format) = Format::named(entry) else { continue };
        let quality = entry.split(';').find_map(|part| part.trim().strip_prefix("q="));
        let quality = quality.map_or(1.0, |text| text.trim().parse().unwrap_or(0.0));
        if quality > 0.0 && best.is_none_or(|(most, _)| quality > most) {
            best = Some((quality, format));
        }
    }
    best.map_or(Format::default(), |(_, format)| format)
}

/// All metrics in a format.
pub fn render(families: &[Family], format: Format) -> Vec<u8> {
    match format {
        Format::Text => text(families, Dialect::Prometheus).into_bytes(),
        Format::OpenMetrics => text(families, Dialect::OpenMetrics).into_bytes(),
        Format::Protobuf => {
            let mut out = Vec::with_capacity(1 << 16);
            for message in families.iter().map(message) {
                out.varint(message.len() as u64);
                out.extend(message);
            }
            out
        }
    }
}

/// `io.prometheus.client.MetricFamily`.
fn message(family: &Family) -> Message {
    let mut out = Message::new();
    out.bytes(1, sample_name(family));
    out.bytes(2, family.about.help);
    let (kind, field) = match family.about.kind {
        Kind::Counter => (0, 3),
        Kind::Gauge | Kind::Info => (1, 2),
        Kind::Histogram => (4, 7),
    };
    out.number(3, kind);
    for series in &family.series {
        let mut metric = Message::new();
        for (name, value) in &series.labels {
            metric.bytes(1, label(name, value));
        }
        let value = match &series.value {
            Value::Count(count) => plain(*count as f64),
            Value::Real(value) => plain(*value),
            Value::Histogram(histogram) => self::histogram(histogram),
        };
        metric.bytes(field, &value);
        out.bytes(4, &metric);
    }
    if !family.about.unit.is_empty() {
        out.bytes(5, family.about.unit);
    }
    out
}

fn label(name: &str, value: &str) -> Message {
    let mut out = Message::new();
    out.bytes(1, name);
    out.bytes(2, value);
    out
}

fn plain(value: f64) -> Message {
    let mut out = Message::new();
    out.double(1, value);
    out
}

fn histogram(histogram: &Histogram) -> Message {
    let spread = &histogram.spread;
    let mut out = Message::new();
    out.number(1, spread.count);
    out.double(2, spread.sum_seconds());
    let mut above = 0;
    for (bound_ns, count) in histogram.at_most.iter().copied().chain([(u64::MAX, spread.count)]) {
        let mut bucket = Message::new();
        bucket.number(1, count);
        bucket.double(2, if bound_ns == u64::MAX { f64::INFINITY } else { bound_ns as f64 / 1e9 });
        if let Some(example) = histogram.exemplar_of(above, bound_ns) {
            bucket.bytes(3, exemplar(example));
        }
        out.bytes(3, &bucket);
        above = bound_ns;
    }
    out.signed(5, i64::from(SCALE));
    out.double(6, ZERO_THRESHOLD);
    out.number(7, spread.zeros);
    // Prometheus numbers a bucket by its upper bound, OpenTelemetry and we by its lower one.
    let buckets: Vec<(i64, u64)> =
        spread.buckets.iter().map(|(index, count)| (i64::from(*index) + 1, *count)).collect();
    for (offset, length) in spans(&buckets) {
        let mut span = Message::new();
        span.signed(1, offset);
        span.number(2, length);
        out.bytes(12, &span);
    }
    let mut before = 0;
    for (_, count) in &buckets {
        out.signed(13, *count as i64 - before);
        before = *count as i64;
    }
    out
}

/// Buckets without a gap between them: how far behind the last ones, and how many.
fn spans(buckets: &[(i64, u64)]) -> Vec<(i64, u64)> {
    let mut found: Vec<(i64, u64)> = Vec::new();
    let mut next = 0;
    for (index, _) in buckets {
        match found.last_mut() {
            Some((_, length)) if *index == next => *length += 1,
            _ => found.push((index - next, 1)),
        }
        next = index + 1;
    }
    found
}

fn exemplar(exemplar: &Exemplar) -> Message {
    let mut out = Message::new();
    out.bytes(1, label("request_id", &request_id(exemplar)));
    out.double(2, exemplar.latency_ns as f64 / 1e9);
    let mut moment = Message::new();
    moment.number(1, exemplar.ended_ns.div_euclid(1_000_000_000).max(0) as u64);
    moment.number(2, exemplar.ended_ns.rem_euclid(1_000_000_000) as u64);
    out.bytes(3, &moment);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_gets_what_it_likes_best() {
        // What Prometheus 2.42 sends, with and without native histograms, and what browsers and curl send.
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let plain = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let v3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(negotiate(native), Format::Protobuf);
        assert_eq!(negotiate(plain), Format::OpenMetrics);
        assert_eq!(negotiate(v3), Format::OpenMetrics);
        for other in [browser, "*/*", "", "application/json", "application/openmetrics-text;q=0", ";;,,=;q=x"] {
            assert_eq!(negotiate(other), Format::Text, "{other}");
        }
        assert_eq!(negotiate("text/plain;q=0.9, application/openmetrics-text"), Format::OpenMetrics);
        assert_eq!(
            negotiate("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text"),
            Format::Text
        );
    }

    #[test]
    fn spans_skip_what_is_empty() {
        let buckets = [(-3, 1), (-2, 4), (2, 1), (9, 2), (10, 2)];
        assert_eq!(spans(&buckets), [(-3, 2), (3, 1), (6, 2)]);
        assert_eq!(spans(&[]), []);
    }
}
