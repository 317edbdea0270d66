//! The command that measures fixes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::duration;
use crate::format::Format;

/// Which program, and what to try on it.
#[derive(Debug, Args)]
pub(crate) struct Try {
    /// Try these fixes, whatever the findings say; `all` is every one.
    #[arg(long, value_name = "FIX,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Try fixes of your own too: a Python file with subclasses of `stepscope.Fix`. May be repeated.
    #[arg(long = "with", value_name = "FILE")]
    pub(crate) own: Vec<PathBuf>,

    /// How long all runs together may take. Fixes with the smallest promises are left out where it is not enough.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) budget: Duration,

    /// Rounds in which each fix runs once and the program without any runs twice.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) rounds: u32,

    /// Time this many iterations in each run (default: about 2 s of them).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) iterations: Option<u64>,

    /// Skip this many iterations in each run (default: until they are steady).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) warmup: Option<u64>,

    /// A trace of the program; its findings name the fixes (default: the newest in the folder, or a new one).
    #[arg(long, value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,

    /// Where traces and results are.
    #[arg(short, long, value_name = "FOLDER", default_value = "profiler_traces")]
    pub(crate) output: PathBuf,

    /// Run nothing: print code that keeps the plan that was measured last.
    #[arg(long, conflicts_with_all = ["history", "list", "only"])]
    pub(crate) apply: bool,

    /// Run nothing: compare what was promised with what was measured, of all results in the folder.
    #[arg(long, conflicts_with = "list")]
    pub(crate) history: bool,

    /// Run nothing: list the fixes.
    #[arg(long)]
    pub(crate) list: bool,

    /// End a run that takes longer (default: several times as long as the first).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Show what the program prints.
    #[arg(long)]
    pub(crate) show_output: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The program is a module, as after `python -m`.
    #[arg(short = 'm')]
    pub(crate) module: bool,

    /// The script or module, and its own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}
