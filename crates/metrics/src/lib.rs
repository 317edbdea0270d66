//! Requests of a running service for other tools: counters that never fall, made of what is in a service's directory, as
//! Prometheus, OpenTelemetry, StatsD and JSON lines.

#[cfg(feature = "otlp")]
mod client;
mod duration_histogram;
mod endpoint;
mod exposition;
mod families;
mod generated;
mod json_lines;
mod ledger;
#[cfg(feature = "otlp")]
mod otlp;
mod repeat;
mod saved_totals;
mod snapshot_reader;
mod statsd;
#[cfg(test)]
mod testing;
mod text;
mod totals;

#[cfg(feature = "otlp")]
pub use client::{Destination, Retry, SendOutcome};
pub use duration_histogram::{DurationHistogram, SCALE};
pub use endpoint::{Endpoint, Options as EndpointOptions};
pub use exposition::{Format, negotiate, render};
pub use families::{FAMILIES, Family, Histogram, Kind, MetricInfo, Series, Value, families};
pub use generated::{alerts, dashboard};
pub use json_lines::{JsonLines, LinesError, lines};
pub use ledger::{Snapshot, Workers};
#[cfg(feature = "otlp")]
pub use otlp::{Otlp, Settings as OtlpSettings, metrics_request, traces_request};
pub use repeat::repeat_every;
pub use snapshot_reader::SnapshotReader;
pub use statsd::{MAX_DATAGRAM, StatsD};
pub use totals::{Limits, RegionTotals, RouteTotals, TargetTotals, Totals};
