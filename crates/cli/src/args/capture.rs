//! What `stepscope capture` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{duration, size};

/// Which programs to record, how long and how much, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// Where a profiler server listens; a port alone means this machine. Several hosts start at the same moment.
    #[arg(value_name = "HOST:PORT", required_unless_present = "hosts")]
    pub(crate) targets: Vec<String>,

    /// More hosts, separated by commas.
    #[arg(long, value_name = "HOST:PORT,...")]
    pub(crate) hosts: Vec<String>,

    /// Record for this long: `500ms`, `2s`, `1m`. Ctrl-C ends it early and keeps what was recorded.
    #[arg(long, short, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub(crate) duration: Duration,

    /// The folder to write to, as plugins/profile/TIME/HOST_PORT.xplane.pb.
    #[arg(long, short, value_name = "FOLDER", default_value = "profiler_traces")]
    pub(crate) output: PathBuf,

    /// Wait this long, then start at the same moment everywhere (default: no wait for one host, 2 s for several).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) delay: Option<Duration>,

    /// How much to record on the host: 0 nothing, 1 the program's own annotations, 2 operators too, 3 everything.
    #[arg(long, value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=3))]
    pub(crate) host_tracer: u32,

    /// How much of GPUs and TPUs: 0 nothing, 1 all work.
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=2))]
    pub(crate) device_tracer: u32,

    /// How much of Python: 0 nothing, 1 every call, which slows the program down.
    #[arg(long, value_name = "LEVEL", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1))]
    pub(crate) python_tracer: u32,

    /// Let the program record from now on until --snapshot or --stop, and return.
    #[arg(long, conflicts_with_all = ["snapshot", "stop", "duration", "delay"])]
    pub(crate) continuous: bool,

    /// Get what was recorded since --continuous or the last snapshot; recording goes on.
    #[arg(long, conflicts_with_all = ["stop", "duration", "delay"])]
    pub(crate) snapshot: bool,

    /// End continuous recording.
    #[arg(long, conflicts_with_all = ["duration", "delay"])]
    pub(crate) stop: bool,

    /// Largest profile to accept per host, e.g. `500MB` or `2GiB`; it goes to disk as it arrives.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", hide_short_help = true, value_parser = size)]
    pub(crate) max_size: usize,

    /// How long a server may take to put its profile together.
    #[arg(long, value_name = "TIME", default_value = "5m", hide_short_help = true, value_parser = duration)]
    pub(crate) timeout: Duration,

    /// The folder, on its own machine, of a server too old to send a profile (default: the same path as here).
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    pub(crate) remote_folder: Option<String>,

    /// Print only the paths of the files.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
