//! The commands about processes that run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use stepscope_record::spy::Mode;

use super::values::{duration, rate};
use crate::args::Page;
use crate::failure::Failure;
use crate::format::Format;
use crate::terminal::ColorWhen;

/// Which processes to look at, and what to say about them.
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The number of a Python process.
    #[arg(value_name = "PID", required_unless_present_any = ["pid_option", "all"], conflicts_with = "all")]
    pid: Option<u32>,

    /// The same as an option.
    #[arg(long = "pid", short, value_name = "PID", id = "pid_option", conflicts_with_all = ["pid", "all"], hide_short_help = true)]
    pid_option: Option<u32>,

    /// Every Python process on this machine that you may read, and where each rank of a job is.
    #[arg(long, short)]
    pub(crate) all: bool,

    /// Show local variables, without calling any of the program's code.
    #[arg(long, short)]
    pub(crate) locals: bool,

    #[command(flatten)]
    pub(crate) stops: Stops,

    /// Output format: whole stacks as a table or JSON, a line per thread as CSV or Markdown.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// The same as --format json: all data, with full paths.
    #[arg(long, short, conflicts_with = "format")]
    pub(crate) json: bool,

    /// When to use colors.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorWhen,
}

impl Dump {
    /// The process asked about.
    pub(crate) fn pid(&self) -> Result<u32, Failure> {
        let given = self.pid.or(self.pid_option);
        given.ok_or_else(|| Failure::wrong_use("no process given", "use: stepscope dump PID"))
    }
}

/// What to sample, how often, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Sample this process.
    #[arg(long, short, value_name = "PID", conflicts_with = "command")]
    pub(crate) pid: Option<u32>,

    /// Stop after this long: `10`, `10s`, `2m` (default: when the program ends or at Ctrl-C).
    #[arg(long, short, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// Samples per second.
    #[arg(long, short, value_name = "HZ", default_value = "100", value_parser = rate)]
    pub(crate) rate: f64,

    /// The file to write; the extension sets the format: .json.gz (trace), .svg, .folded, .speedscope.json, .pprof.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format to write, if the file name does not say.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RecordFormat>,

    /// Also count waiting threads; a trace always includes them.
    #[arg(long, short)]
    pub(crate) idle: bool,

    /// Count only the thread that holds the GIL; a trace includes all threads.
    #[arg(long, short)]
    pub(crate) gil: bool,

    /// Sample child processes too: data loaders, multiprocessing.
    #[arg(long, short)]
    pub(crate) subprocesses: bool,

    /// One frame per function instead of one per line.
    #[arg(long, short = 'F')]
    pub(crate) function: bool,

    /// Keep threads apart in folded stacks.
    #[arg(long, short)]
    pub(crate) threads: bool,

    /// Print no summary when done.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) stops: Stops,

    /// Watch it grow in the browser while it is recorded.
    #[arg(long)]
    pub(crate) view: bool,

    #[command(flatten)]
    pub(crate) page: Page,

    /// The program to start and sample, after `--`.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// What `record --format` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// A trace for stepscope, Perfetto and chrome://tracing.
    #[value(alias = "chrometrace")]
    Trace,
    /// A flame graph as SVG.
    #[value(alias = "svg")]
    Flamegraph,
    /// Folded stacks.
    #[value(alias = "folded")]
    Raw,
    /// For speedscope.
    Speedscope,
    /// For `go tool pprof`.
    Pprof,
}

/// Which process to watch, and how.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The number of a Python process.
    #[arg(value_name = "PID", required_unless_present = "pid_option")]
    pid: Option<u32>,

    /// The same as an option.
    #[arg(
        long = "pid",
        short,
        value_name = "PID",
        id = "pid_option",
        conflicts_with = "pid",
        hide_short_help = true
    )]
    pid_option: Option<u32>,

    /// Samples per second.
    #[arg(long, short, value_name = "HZ", default_value = "100", value_parser = rate)]
    pub(crate) rate: f64,

    /// Print one table and exit (the default without a terminal).
    #[arg(long)]
    pub(crate) once: bool,

    /// With --once: sample for this long (default: 1 s).
    #[arg(long, short, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// With --once: this many rows; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// With --once: the output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Count threads that wait too.
    #[arg(long, short)]
    pub(crate) idle: bool,

    /// Count only the thread that holds the GIL.
    #[arg(long, short)]
    pub(crate) gil: bool,

    /// Count child processes too.
    #[arg(long, short)]
    pub(crate) subprocesses: bool,

    #[command(flatten)]
    pub(crate) stops: Stops,
}

/// Whether the process is stopped for a sample, and what for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Stops {
    /// Show C and C++ functions too; threads that run Python are paused briefly for each sample.
    #[arg(long, short)]
    native: bool,

    /// Pause its Python threads briefly for each sample, so that no stack changes while it is read.
    #[arg(long)]
    blocking: bool,

    /// Stop nothing: the default. Accepted because other tools have it.
    #[arg(long, hide = true, conflicts_with_all = ["blocking", "native"])]
    nonblocking: bool,
}

impl Stops {
    /// How to look.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Stops { native: true, .. } => Mode::Native,
            Stops { blocking: true, .. } => Mode::Stopped,
            _ => Mode::Running,
        }
    }
}

impl Top {
    /// The process asked about.
    pub(crate) fn pid(&self) -> Result<u32, Failure> {
        let given = self.pid.or(self.pid_option);
        given.ok_or_else(|| Failure::wrong_use("no process given", "use: stepscope top PID"))
    }
}
