//! `stepscope monitor`: what to watch, what to keep, and when to say so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{duration, rate};
use crate::args::Page;

/// What to watch, and where it is kept.
#[derive(Debug, Args)]
pub(crate) struct Monitor {
    /// Watch this process and its children, until it ends.
    #[arg(long, short, value_name = "PID", conflicts_with_all = ["command", "watch"])]
    pub(crate) pid: Option<u32>,

    /// The directory to keep counters, alerts and stacks in; a service may write to the same.
    #[arg(long, short, value_name = "DIR", required_unless_present = "watch")]
    pub(crate) output: Option<PathBuf>,

    /// Time between samples: `1s`, `500ms`.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) every: Duration,

    /// Alert when this stays true: `gpu_utilization<30% for 5m`, `rss>20GiB`, `p95(/predict)>100ms for 5m`.
    #[arg(long, value_name = "RULE")]
    pub(crate) alert: Vec<String>,

    /// A shell command for each alert, when it begins and when it is over; $STEPSCOPE_ALERT_MESSAGE says what happened.
    #[arg(long, value_name = "COMMAND", requires = "alert")]
    pub(crate) on_alert: Option<String>,

    /// Sample Python stacks too, this many times per second (19 if no rate is given).
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "19", value_parser = rate, conflicts_with = "watch")]
    pub(crate) sample: Option<f64>,

    /// Measure nothing; only check rules against a service's directory.
    #[arg(long, value_name = "DIR", requires = "alert", conflicts_with_all = ["output", "command"])]
    pub(crate) watch: Option<PathBuf>,

    /// Stop after this long (default: when the program ends or at Ctrl-C).
    #[arg(long, short, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// Print no summary when done.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Show the directory in the browser meanwhile.
    #[arg(long)]
    pub(crate) view: bool,

    #[command(flatten)]
    pub(crate) page: Page,

    /// The program to start and watch, after `--`.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// Shorter intervals would measure the monitor itself.
const MIN_EVERY: Duration = Duration::from_millis(50);
/// A minute without a sample says nothing.
const MAX_EVERY: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < MIN_EVERY || time > MAX_EVERY {
        return Err("from 50ms to 1m".to_owned());
    }
    Ok(time)
}
