//! The commands about a service in production.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::flame::Flame;
use super::service_export::ServiceExport;
use crate::format::Format;

/// What to do with the directory of a service.
#[derive(Debug, Subcommand)]
pub(crate) enum Production {
    /// Traffic, latencies, targets, what got slower and inside which region, over any stretch of time.
    #[command(
        after_help = "Examples:\n  stepscope production report service --last 24h\n  stepscope production report service --at 2026-11-17T01 --against day      one hour, compared with the day before\n  stepscope production report service --last 24h --format html -o report.html"
    )]
    Report(Report),
    /// What each route does right now, live.
    #[command(
        after_help = "Examples:\n  stepscope production top service\n  stepscope production top service --once --format json"
    )]
    Top(ServiceTop),
    /// Where Python's time went in an hour, as a flame graph; and what another hour spent more of it on.
    #[command(
        after_help = "Examples:\n  stepscope production flame service --last 1h -o flame.html\n  stepscope production flame service --hour 2026-11-17T02 --against 2026-11-17T01 -o changed.svg"
    )]
    Flame(Flame),
    /// The numbers of all workers for Prometheus, OpenTelemetry, StatsD, or as JSON lines.
    #[command(
        after_help = "Examples:\n  stepscope production export service --to prometheus                 serves /metrics at 127.0.0.1:9464\n  stepscope production export service --to prometheus --once          prints it\n  stepscope production export service --to otlp --endpoint http://127.0.0.1:4318\n  stepscope production export service --to statsd --endpoint 127.0.0.1:8125 --tags\n  stepscope production export service --to json --last 24h --once"
    )]
    Export(ServiceExport),
}

/// Which time to report on, and how.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The directory that the service writes to.
    pub(crate) directory: PathBuf,

    /// The time up to now: `30m`, `24h`, `7d`.
    #[arg(long, value_name = "TIME", default_value = "1h", conflicts_with = "at")]
    pub(crate) last: String,

    /// An hour (`2026-11-17T01`) or a day (`2026-11-17`), in UTC.
    #[arg(long, value_name = "WHEN")]
    pub(crate) at: Option<String>,

    /// What to compare it with.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(crate) against: Against,

    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: ReportFormat,

    /// Output file (default: standard output).
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Explain how each number is defined, after the report.
    #[arg(long)]
    pub(crate) explain: bool,
}

/// What a report is compared with.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// As much time right before it.
    #[default]
    Before,
    /// The same time a day earlier.
    Day,
    /// The same time a week earlier.
    Week,
    /// Nothing.
    Nothing,
}

/// Formats of a report.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for the terminal.
    #[default]
    Table,
    /// Markdown, for a ticket or a chat.
    Md,
    /// JSON: all data, unrounded.
    Json,
    /// Comma-separated values: a row per route, unrounded.
    Csv,
    /// The dashboard with its data in one file; opens without a server.
    Html,
}

/// Which service to watch.
#[derive(Debug, Args)]
pub(crate) struct ServiceTop {
    /// The directory that the service writes to.
    pub(crate) directory: PathBuf,

    /// How far to look back.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) last: String,

    /// Print one table and end.
    #[arg(long)]
    pub(crate) once: bool,

    /// Output format, with --once.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}
