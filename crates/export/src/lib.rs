//! Requests of a running service for other tools: counters that never fall, made of what is in a service's directory, as
//! Prometheus, OpenTelemetry, StatsD and JSON lines.

#[cfg(feature = "otlp")]
mod client;
mod endpoint;
mod exporter;
mod exposition;
mod families;
mod generated;
mod kept;
mod ledger;
mod lines;
#[cfg(feature = "otlp")]
mod otlp;
mod spread;
mod statsd;
#[cfg(test)]
mod testing;
mod text;
mod totals;

#[cfg(feature = "otlp")]
pub use client::{Destination, Retry, Sent};
pub use endpoint::{Endpoint, Options as EndpointOptions};
pub use exporter::{Exporter, Pace, every};
pub use exposition::{Format, negotiate, render};
pub use families::{About, FAMILIES, Family, Histogram, Kind, Series, Value, families};
pub use generated::{alerts, dashboard};
pub use ledger::{Snapshot, Workers};
pub use lines::{JsonLines, LinesError, lines};
#[cfg(feature = "otlp")]
pub use otlp::{Otlp, Settings as OtlpSettings, metrics_request, traces_request};
pub use spread::{SCALE, Spread};
pub use statsd::{MAX_DATAGRAM, StatsD};
pub use totals::{Limits, RegionTotals, RouteTotals, TargetTotals, Totals};
