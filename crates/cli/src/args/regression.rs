//! The commands that ask whether something got slower.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::duration;
use crate::args::Page;
use crate::format::Format;

/// How a command is timed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Timing {
    /// How many times to run the command.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeats: u32,

    /// How many steps to skip at the start of each run.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) warmup: usize,

    /// Take numbers from lines of the output that match. A group named s, ms or us is a step's time, any other a value.
    #[arg(long, value_name = "REGEX")]
    pub(crate) metric_regex: Option<String>,

    /// End a run that takes longer, e.g. `5m`.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Show what the command prints.
    #[arg(long)]
    pub(crate) show_output: bool,
}

/// Where baselines are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Store {
    /// Where baselines are kept: a folder (a mounted object store too), or `git:BRANCH` (default: .stepscope/baselines).
    #[arg(long, value_name = "PLACE", env = "STEPSCOPE_BASELINES")]
    pub(crate) store: Option<String>,
}

/// What to do with baselines.
#[derive(Debug, Subcommand)]
pub(crate) enum Baseline {
    /// Measure a command, or take recorded runs, and keep the numbers under a name.
    #[command(
        after_help = "Examples:\n  stepscope baseline save main -- python train.py --steps 50\n  stepscope baseline save main run1.json.gz run2.json.gz"
    )]
    Save(Save),
    /// Update an existing baseline: the new numbers count from now on, the old ones stay in its history.
    #[command(
        after_help = "Examples:\n  stepscope baseline update main -- python train.py --steps 50\n  stepscope baseline update --create main -- python train.py    for CI: the first time too"
    )]
    Update {
        #[command(flatten)]
        save: Save,
        /// Save it if there is none of this name yet.
        #[arg(long)]
        create: bool,
    },
    /// The baselines here.
    #[command(after_help = "Example:\n  stepscope baseline list")]
    List {
        #[command(flatten)]
        place: Store,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// The numbers of one baseline.
    #[command(after_help = "Example:\n  stepscope baseline show main")]
    Show {
        /// Its name.
        name: String,
        #[command(flatten)]
        place: Store,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// What to keep, and under which name.
#[derive(Debug, Args)]
pub(crate) struct Save {
    /// The baseline's name, such as `main`.
    pub(crate) name: String,

    /// Recorded runs: traces, or files of pytest-benchmark or asv. Each is one repeat.
    #[arg(value_name = "RUN", conflicts_with = "command")]
    pub(crate) runs: Vec<PathBuf>,

    /// A trace of the same program, to explain what got slower; it never affects the verdict. Its path is saved.
    #[arg(long, value_name = "TRACE")]
    pub(crate) trace: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: Store,

    #[command(flatten)]
    pub(crate) timing: Timing,

    /// The command to time, without a profiler.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What to check, and against what.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The baseline to compare with.
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,

    /// Recorded runs: traces, or files of pytest-benchmark or asv. Each is one repeat.
    #[arg(value_name = "RUN", conflicts_with = "command")]
    pub(crate) runs: Vec<PathBuf>,

    /// When to fail: `step_time>+5%`, `peak_gpu_memory>+2%`, `op:aten::mm>+10%`, `step_time_p95>12ms` (default: step time, or
    /// the whole time, more than 5% above the baseline).
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_on: Vec<String>,

    /// Instead of a saved baseline, alternate runs of this shell command with the command.
    #[arg(long, value_name = "COMMAND", requires = "command", conflicts_with = "baseline")]
    pub(crate) baseline_command: Option<String>,

    /// Instead of a saved baseline, alternate with the same command in this folder (another worktree).
    #[arg(long, value_name = "FOLDER", requires = "command", conflicts_with_all = ["baseline", "baseline_command"])]
    pub(crate) baseline_dir: Option<PathBuf>,

    /// If it fails, find the cause in these traces of the baseline and this version. They never affect the verdict.
    #[arg(long, num_args = 2, value_names = ["BASE_TRACE", "NEW_TRACE"])]
    pub(crate) explain_with: Vec<PathBuf>,

    /// The same, compared with the traces saved with the baseline.
    #[arg(long, value_name = "NEW_TRACE", conflicts_with = "explain_with")]
    pub(crate) trace: Vec<PathBuf>,

    /// How sure a verdict must be.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = confidence)]
    pub(crate) confidence: f64,

    /// Exit with 0 if the result is inconclusive. It still does not count as a pass.
    #[arg(long)]
    pub(crate) allow_inconclusive: bool,

    /// Compare times with a baseline from another machine.
    #[arg(long)]
    pub(crate) any_machine: bool,

    /// Trust the machine: do not time a fixed task next to each run to tell a slower machine from a slower program.
    #[arg(long)]
    pub(crate) no_fixed_task: bool,

    /// Write JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write Markdown, for a comment on a pull request, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) place: Store,

    #[command(flatten)]
    pub(crate) timing: Timing,

    /// The command to time, without a profiler.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Which metric of which baseline.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The metric: `step_time`, `peak_gpu_memory`, `op:aten::mm`, … (default: step_time).
    #[arg(value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// The baseline whose history it is.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) baseline: String,

    /// Show it in the browser, with every other metric and baseline of the store.
    #[arg(long)]
    pub(crate) view: bool,

    #[command(flatten)]
    pub(crate) page: Page,

    /// The smallest change that matters, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub(crate) margin: f64,

    #[command(flatten)]
    pub(crate) place: Store,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Which settings to try.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// A setting and its values: `batch=32,64,128`. `{batch}` in the command is replaced.
    #[arg(long = "arg", value_name = "NAME=A,B,C", required = true)]
    pub(crate) settings: Vec<String>,

    /// The setting that says how many items a step works through (default: one whose name begins with batch).
    #[arg(long, value_name = "NAME")]
    pub(crate) items: Option<String>,

    #[command(flatten)]
    pub(crate) timing: Timing,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The command, with the settings in braces.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Which commits to search, and with what.
#[derive(Debug, Args)]
#[command(mut_arg("repeats", |arg| arg.default_value("20").help("Maximum runs per commit; stops once the answer is clear")))]
pub(crate) struct Bisect {
    /// A commit that is fast.
    #[arg(long, value_name = "REVISION")]
    pub(crate) good: String,

    /// A later commit that is slow.
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    pub(crate) bad: String,

    /// What got worse (default: step_time if the program has steps, else wall_time).
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// Run this shell command in each commit first, e.g. to build it. A commit where it fails is skipped.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) prepare: Option<String>,

    #[command(flatten)]
    pub(crate) timing: Timing,

    /// The command to time, without a profiler.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn confidence(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|share| (0.5..=0.9999).contains(share));
    found.ok_or_else(|| "a share from 0.5 to 0.9999, such as 0.95".to_owned())
}
