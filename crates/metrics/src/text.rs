//! Prometheus's text format 0.0.4 and OpenMetrics 1.0. They differ in the names of counters, the last line, and exemplars.

use std::fmt::Write;

use stepscope_service::Exemplar;

use crate::families::{Family, Histogram, Kind, Value};

/// Labels of an exemplar have 128 characters at most, all together (OpenMetrics).
const MAX_EXEMPLAR: usize = 128;
const REQUEST_ID: &str = "request_id";

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Prometheus,
    OpenMetrics,
}

pub(crate) fn text(families: &[Family], dialect: Dialect) -> String {
    let mut out = String::with_capacity(1 << 16);
    for family in families {
        head(&mut out, family, dialect);
        for series in &family.series {
            let name = sample_name(family);
            match &series.value {
                Value::Histogram(histogram) => {
                    self::histogram(&mut out, family.about.name, &series.labels, histogram, dialect);
                }
                Value::Count(count) => sample(&mut out, &name, &series.labels, None, &count.to_string()),
                Value::Real(value) => sample(&mut out, &name, &series.labels, None, &number(*value)),
            }
        }
    }
    if dialect == Dialect::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

/// The name that a sample has: counters end in `_total`, what only informs in `_info`.
pub(crate) fn sample_name(family: &Family) -> String {
    let ending = match family.about.kind {
        Kind::Counter => "_total",
        Kind::Info => "_info",
        Kind::Gauge | Kind::Histogram => "",
    };
    format!("{}{ending}", family.about.name)
}

fn head(out: &mut String, family: &Family, dialect: Dialect) {
    let about = family.about;
    // OpenMetrics names the family, Prometheus the samples.
    let (name, kind) = match (dialect, about.kind) {
        (Dialect::OpenMetrics, Kind::Info) => (about.name.to_owned(), "info"),
        (Dialect::OpenMetrics, Kind::Counter) => (about.name.to_owned(), "counter"),
        (Dialect::Prometheus, Kind::Counter) => (sample_name(family), "counter"),
        (Dialect::Prometheus, Kind::Info) => (sample_name(family), "gauge"),
        (_, Kind::Gauge) => (about.name.to_owned(), "gauge"),
        (_, Kind::Histogram) => (about.name.to_owned(), "histogram"),
    };
    let _ = writeln!(out, "# HELP {name} {}", about.help);
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if dialect == Dialect::OpenMetrics && !about.unit.is_empty() {
        let _ = writeln!(out, "# UNIT {name} {}", about.unit);
    }
}

fn sample(out: &mut String, name: &str, labels: &[(&str, String)], le: Option<&str>, value: &str) {
    sample_without_end(out, name, labels, le, value);
    out.push('\n');
}

fn sample_without_end(out: &mut String, name: &str, labels: &[(&str, String)], le: Option<&str>, value: &str) {
    out.push_str(name);
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str())).chain(le.map(|le| ("le", le)));
    let mut before = '{';
    for (label, value) in labels {
        out.push(before);
        let _ = write!(out, "{label}=\"{}\"", escaped(value));
        before = ',';
    }
    if before == ',' {
        out.push('}');
    }
    let _ = write!(out, " {value}");
}

fn histogram(out: &mut String, name: &str, labels: &[(&str, String)], histogram: &Histogram, dialect: Dialect) {
    let bucket = format!("{name}_bucket");
    let all = histogram.spread.count;
    let mut above = 0;
    for (bound_ns, count) in histogram.at_most.iter().copied().chain([(u64::MAX, all)]) {
        let le = bound(bound_ns);
        sample_without_end(out, &bucket, labels, Some(&le), &count.to_string());
        if dialect == Dialect::OpenMetrics
            && let Some(example) = histogram.exemplar_of(above, bound_ns)
        {
            exemplar(out, example);
        }
        out.push('\n');
        above = bound_ns;
    }
    sample(out, &format!("{name}_sum"), labels, None, &number(histogram.spread.sum_seconds()));
    sample(out, &format!("{name}_count"), labels, None, &all.to_string());
}

fn exemplar(out: &mut String, exemplar: &Exemplar) {
    let seconds = exemplar.ended_ns.div_euclid(1_000_000_000);
    let millis = exemplar.ended_ns.rem_euclid(1_000_000_000) / 1_000_000;
    let _ = write!(
        out,
        " # {{{REQUEST_ID}=\"{}\"}} {} {seconds}.{millis:03}",
        escaped(&request_id(exemplar)),
        number(exemplar.latency_ns as f64 / 1e9)
    );
}

/// The label of an exemplar, no longer than may be.
pub(crate) fn request_id(exemplar: &Exemplar) -> String {
    exemplar.id.chars().take(MAX_EXEMPLAR - REQUEST_ID.len()).collect()
}

/// Backslash, quotes and line ends are the only characters that mean something inside a value.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
    out
}

/// The bound of a bucket in seconds as both formats want it: `0.1`, `1.0`, `5e-05`, `+Inf`.
fn bound(ns: u64) -> String {
    if ns == u64::MAX {
        return "+Inf".to_owned();
    }
    number(ns as f64 / 1e9)
}

/// A number as Prometheus writes it: with a point, or with an exponent of two digits where it is very small.
pub(crate) fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once("e-").unwrap_or((&text, "0"));
        return format!("{digits}e-{exponent:0>2}");
    }
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::families;
    use crate::testing::exemplar as kept;
    use crate::{Snapshot, Totals};

    #[test]
    fn numbers_are_those_of_go() {
        // strconv.FormatFloat(x, 'g', -1, 64) of Go, with a point where it has none.
        let expected =
            ["0.0", "1.0", "0.1", "0.0001", "5e-05", "1.5e-07", "100.0", "0.123456789", "2.5", "-3e-10"];
        let values = [0.0, 1.0, 0.1, 0.0001, 0.00005, 1.5e-7, 100.0, 0.123456789, 2.5, -3e-10];
        assert_eq!(values.map(number), expected);
    }

    #[test]
    fn values_of_labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd é"), "a\\\"b\\\\c\\nd é");
    }

    #[test]
    fn a_route_is_shown_in_both_dialects() {
        let mut totals = Totals::default();
        let stats = crate::testing::stats(&[5_000_000, 50_000_000, 150_000_000]);
        totals.routes.insert("/pre\"dict".to_owned(), crate::RouteTotals::from_stats(&stats));
        let exemplars = vec![kept("/pre\"dict", "id \"7\"", 1_786_000_000_250_000_000, 150_000_000)];
        let snapshot = Snapshot { totals, exemplars, ..Snapshot::default() };
        let plain = text(&families(&snapshot), Dialect::Prometheus);
        let open = text(&families(&snapshot), Dialect::OpenMetrics);
        for line in [
            "# TYPE stepscope_requests_total counter",
            "stepscope_requests_total{route=\"/pre\\\"dict\"} 3",
            "# TYPE stepscope_build_info gauge",
            "stepscope_request_duration_seconds_bucket{route=\"/pre\\\"dict\",le=\"0.1\"} 2",
            "stepscope_request_duration_seconds_bucket{route=\"/pre\\\"dict\",le=\"2.0\"} 3",
            "stepscope_request_duration_seconds_bucket{route=\"/pre\\\"dict\",le=\"+Inf\"} 3",
            "stepscope_request_duration_seconds_sum{route=\"/pre\\\"dict\"} 0.205",
            "stepscope_sla_missed_total{route=\"/pre\\\"dict\",target=\"p95<100ms\"} 1",
            "stepscope_sla_allowed_ratio{route=\"/pre\\\"dict\",target=\"p95<100ms\"} 0.05",
            "stepscope_region_self_seconds_total{route=\"/pre\\\"dict\",region=\"inference\"} 0.1025",
        ] {
            assert!(plain.lines().any(|found| found == line), "no {line} in\n{plain}");
        }
        // Where no request may miss a target, no share of them is allowed.
        assert!(!plain.contains("stepscope_sla_allowed_ratio{route=\"/pre\\\"dict\",target=\"each<=2s\"}"));
        assert!(!plain.contains("# EOF") && !plain.contains("request_id"));
        for line in [
            "# TYPE stepscope_requests counter",
            "# UNIT stepscope_request_duration_seconds seconds",
            "# TYPE stepscope_build info",
            "stepscope_request_duration_seconds_bucket{route=\"/pre\\\"dict\",le=\"0.25\"} 3 # {request_id=\"id \\\"7\\\"\"} 0.15 1786000000.250",
        ] {
            assert!(open.lines().any(|found| found == line), "no {line} in\n{open}");
        }
        assert!(open.ends_with("# EOF\n"));
    }
}
