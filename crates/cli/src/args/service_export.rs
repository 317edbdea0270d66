//! `stepscope production export`: where numbers go, and how.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::duration;

/// What to export, and to whom.
#[derive(Debug, Args)]
pub(crate) struct ServiceExport {
    /// The directory that the service writes to.
    pub(crate) directory: PathBuf,

    /// The tool that gets the numbers.
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(crate) to: Receiver,

    /// Do it once and end: Prometheus's text and JSON lines go to standard output.
    #[arg(long)]
    pub(crate) once: bool,

    /// Where Prometheus finds /metrics, for all workers of the service.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9464")]
    pub(crate) listen: String,

    /// The collector's URL, or the StatsD server's HOST:PORT (default: http://127.0.0.1:4318, 127.0.0.1:8125).
    #[arg(long, value_name = "WHERE")]
    pub(crate) endpoint: Option<String>,

    /// A header for the collector; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,

    /// What the collector is to call the service (default: $OTEL_SERVICE_NAME, else the directory's name).
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,

    /// How often to send to a collector or StatsD server.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) interval: Duration,

    /// Send routes and regions as tags (`|#route:/predict`) and not as parts of names: for StatsD servers that know them.
    #[arg(long)]
    pub(crate) tags: bool,

    /// How far back JSON lines begin: `30m`, `24h`, `7d` (default: now, or 1h with --once).
    #[arg(long, value_name = "TIME")]
    pub(crate) last: Option<String>,

    /// The file that JSON lines are added to (default: standard output).
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Who gets the numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Receiver {
    /// Serves /metrics; with --once, prints its text.
    Prometheus,
    /// The same, and with --once prints OpenMetrics.
    Openmetrics,
    /// Sends metrics and traces to an OpenTelemetry collector.
    Otlp,
    /// Sends to a StatsD server.
    Statsd,
    /// Writes a line of JSON for each minute and route.
    Json,
}
