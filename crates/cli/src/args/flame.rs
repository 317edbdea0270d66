//! `stepscope production flame`: which hours, and what to write.

use std::path::PathBuf;

use clap::Args;

/// Which stacks to show, and how.
#[derive(Debug, Args)]
pub(crate) struct Flame {
    /// The directory that `stepscope monitor --sample` writes to.
    pub(crate) directory: PathBuf,

    /// One hour, in UTC: `2026-11-17T01`; or a day.
    #[arg(long, value_name = "HOUR", conflicts_with = "last")]
    pub(crate) hour: Option<String>,

    /// Every hour that the time up to now touches: `1h`, `24h`.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub(crate) last: String,

    /// Compare with this hour, or day.
    #[arg(long, value_name = "HOUR")]
    pub(crate) against: Option<String>,

    /// The file to write; its ending says what: .html, .svg, .folded, .pprof, .speedscope.json (default: a table).
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Show this many functions; 0 means all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}
