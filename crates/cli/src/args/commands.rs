//! The commands that are not questions about a trace.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand, ValueEnum};
use stepscope_analyse::findings::Severity;
use stepscope_ask::QUESTIONS;

use super::attach::{Dump, Record, Top};
use super::capture::Capture;
use super::monitor::Monitor;
use super::page::Page;
use super::production::Production;
use super::regression::{Baseline, Bisect, Check, History, Sweep};
use super::trial::Try;
use super::values::size;
use crate::format::Format;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Everything in the browser: overview, timeline, operators, kernels, flame graph, memory, diagnosis.
    #[command(
        after_help = "Examples:\n  stepscope view trace.json.gz\n  stepscope view runs/ --no-open        a folder of runs; new ones show up as they are written"
    )]
    View(View),
    /// Write the trace or its tables in another format.
    #[command(
        after_help = "Examples:\n  stepscope export --to speedscope -o cpu.speedscope.json trace.json.gz\n  stepscope export --to chrome -o repaired.json.gz broken.json\n  stepscope export --to csv --table kernels -o kernels.csv trace.json.gz\n  stepscope export --to html -o report.html trace.json.gz\n  stepscope export --to parquet -o events.parquet trace.json.gz"
    )]
    Export(Export),
    /// Write a Python script that times one operator alone, with the inputs it had in the trace.
    #[command(
        after_help = "Examples:\n  stepscope repro trace.json.gz --op aten::addmm -o addmm.py && python addmm.py\n  stepscope repro trace.json.gz --op aten::convolution --top 3"
    )]
    Repro(Repro),
    /// Profile a Python script: operators, regions, samples and system counters (needs the Python package).
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  stepscope run train.py --epochs 1\n  stepscope run --config run.yaml --profiling.active 2 train.py"
    )]
    Run {
        /// The script and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SCRIPT")]
        words: Vec<std::ffi::OsString>,
    },
    /// Sample a Python process from outside, without stopping it: a running one, or one it starts.
    #[command(
        after_help = "Examples:\n  stepscope record --pid 4711 -d 10s\n  stepscope record -o profile.svg --pid 4711\n  stepscope record --pid 4711 --view\n  stepscope record --subprocesses -- python train.py --epochs 1"
    )]
    Record(Record),
    /// What a running Python process spends its time on, live, without stopping it.
    #[command(after_help = "Examples:\n  stepscope top 4711\n  stepscope top 4711 --once -d 5s --format json")]
    Top(Top),
    /// Where every thread of a running Python process is right now, without stopping it.
    #[command(
        after_help = "Examples:\n  stepscope dump 4711\n  stepscope dump 4711 --locals\n  stepscope dump --all            every Python process here: where is each rank?"
    )]
    Dump(Dump),
    /// Record a running TensorFlow or JAX program through its profiler server, here or on other machines.
    #[command(
        after_help = "In the program: jax.profiler.start_server(9999) or tf.profiler.experimental.server.start(6009).\n\nExamples:\n  stepscope capture localhost:9999 --duration 5s\n  stepscope capture gpu-1:6009 --hosts gpu-2:6009,gpu-3:6009 -o logs\n  stepscope capture localhost:9999 --continuous      record until something happens, then\n  stepscope capture localhost:9999 --snapshot        get what was recorded"
    )]
    Capture(Capture),
    /// Save a run's numbers under a name, to compare later runs against.
    #[command(subcommand)]
    Baseline(Baseline),
    /// Did it get slower? Times a command without a profiler, compares it with a baseline, and fails if it did.
    #[command(
        after_help = "Exit codes: 0 if all conditions hold, 1 if one fails or is inconclusive, 2 for wrong usage.\n\nExamples:\n  stepscope check --baseline main -- python train.py --steps 50\n  stepscope check --baseline main --fail-on 'step_time>+3%' --repeats 20 -- python train.py\n  stepscope check --baseline-dir ../main -- python train.py     two worktrees, alternately\n  stepscope check --baseline main --fail-on 'peak_gpu_memory>+2%' trace.json.gz"
    )]
    Check(Check),
    /// One metric of a baseline over time, and the commits where it changed.
    #[command(after_help = "Example:\n  stepscope history step_time --baseline main")]
    History(History),
    /// Measure what fixes save: run a Python program with each of them put in from outside, in turns with runs without.
    #[command(
        after_help = "The program runs again and again, a few iterations each time, without a profiler and with its seeds fixed; what it writes, it writes again. Results go beside the trace, where findings and the page show them.\n\nExamples:\n  stepscope try train.py --epochs 1\n  stepscope try --budget 30m -m package.train\n  stepscope try --only tf32,compile train.py\n  stepscope try --list                      fixes that can be put in\n  stepscope try --apply train.py            code that keeps the measured plan\n  stepscope try --history                   promised and measured, over time"
    )]
    Try(Try),
    /// Run a command with different settings, and say which are worth using.
    #[command(
        after_help = "Example:\n  stepscope sweep --arg batch=32,64,128 --arg workers=0,4 -- python train.py --batch {batch} --workers {workers}"
    )]
    Sweep(Sweep),
    /// Find the commit that made it slower, in a separate worktree.
    #[command(after_help = "Example:\n  stepscope bisect --good v1.2 --bad main -- python train.py --steps 50")]
    Bisect(Bisect),
    /// A service in production: reports on its requests, and what each route is doing right now.
    #[command(subcommand)]
    Production(Production),
    /// Watch a program and its machine for hours or weeks: GPU, CPU and memory, alerts, stacks by the hour.
    #[command(
        after_help = "Examples:\n  stepscope monitor -o watched -- python train.py\n  stepscope monitor -o watched --pid 4711 --sample\n  stepscope monitor -o watched --alert 'gpu_utilization<30% for 5m' --on-alert 'echo \"$STEPSCOPE_ALERT_MESSAGE\" | mail -s alert me'\n  stepscope monitor --watch service --alert 'p95(/predict)>100ms for 5m'"
    )]
    Monitor(Monitor),
    /// What this machine can and cannot capture, and how to get the rest.
    #[command(after_help = "Examples:\n  stepscope doctor\n  stepscope doctor --format json")]
    Doctor {
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Print shell completions.
    #[command(
        after_help = "Example:\n  stepscope completions bash > ~/.local/share/bash-completion/completions/stepscope"
    )]
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Print a man page.
    #[command(after_help = "Example:\n  stepscope man > ~/.local/share/man/man1/stepscope.1")]
    Man,
}

/// What `--fail-on` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Only findings that could save 20% of a step (by default; see `findings --list`).
    High,
    /// Also findings that could save 5%.
    Medium,
    /// Also findings that could save 1%.
    Low,
}

impl FailOn {
    /// Whether the worst severity of an answer is at least this.
    pub(crate) fn is_reached_by(self, worst: &serde_json::Value) -> bool {
        let least = match self {
            FailOn::High => Severity::High,
            FailOn::Medium => Severity::Medium,
            FailOn::Low => Severity::Low,
        };
        let all = [Severity::High, Severity::Medium, Severity::Low, Severity::Info];
        all.iter().any(|severity| *severity >= least && serde_json::json!(severity) == *worst)
    }
}

/// What to show in the browser, and where to listen.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// Trace files and folders; folders are watched for new traces.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) page: Page,

    /// Do not watch folders for new traces.
    #[arg(long)]
    pub(crate) no_watch: bool,

    /// Stop reading a trace after this much text and show what came before.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The format to write.
    #[arg(long, value_enum)]
    pub(crate) to: Target,

    /// Which table to write as csv (default: ops), parquet or arrow (default: events, one row per event).
    #[arg(long, value_name = "TABLE", value_parser = PossibleValuesParser::new(tables()))]
    pub(crate) table: Option<String>,

    /// Maximum size of the HTML report, e.g. `20MB` or `20MiB`. What does not fit is left out, and the report says so.
    #[arg(long, value_name = "SIZE", default_value = "20MB", value_parser = size)]
    pub(crate) max_size: usize,

    /// Leave folder names and arguments out of the HTML report, so it can be shared.
    #[arg(long)]
    pub(crate) redact: bool,

    /// Output file (default: standard output). A name ending in .gz is compressed.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What to weigh stacks by (folded, speedscope, svg, pprof, firefox): `host` or `device`; what to group a table by (parquet, arrow).
    #[arg(long, value_name = "GROUP")]
    pub(crate) by: Option<String>,

    /// Sort by this column.
    #[arg(long, value_name = "KEY")]
    pub(crate) sort: Option<String>,

    /// Only this many rows.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) top: Option<String>,

    /// Only rows whose name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub(crate) filter: Option<String>,

    /// Only these steps: `7`, `3,5` or `2-4`.
    #[arg(long, value_name = "STEPS")]
    pub(crate) step: Option<String>,

    /// Only this device.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<String>,

    /// Which of a profile's values to write, where it has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) value: Option<String>,

    /// A trace or profile, a folder of traces, or `-` for standard input.
    #[arg(required = true)]
    pub(crate) path: Option<PathBuf>,

    /// Only this rank, in a folder with several.
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<i64>,

    /// Stop reading after this much text; what came before is written.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,
}

/// Which operator to time, and where its script goes.
#[derive(Debug, Args)]
pub(crate) struct Repro {
    /// The operator, as the trace calls it: `aten::addmm`.
    #[arg(long, value_name = "NAME")]
    pub(crate) op: String,

    /// How many of its inputs to time, the most expensive first; 0 means all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,

    /// Only calls in these steps: `7`, `3,5` or `2-4`.
    #[arg(long, value_name = "STEPS")]
    pub(crate) step: Option<String>,

    /// Output file (default: standard output).
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// A trace file, a folder of them, or `-` for standard input.
    #[arg(required = true)]
    pub(crate) path: Option<PathBuf>,

    /// Only this rank, in a folder with several.
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<i64>,

    /// Stop reading after this much text and use what came before.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,
}

/// Formats to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Chrome trace JSON, repaired where the input was broken.
    Chrome,
    /// Folded stacks for flamegraph.pl and the like (`--by host|device`).
    Folded,
    /// Stacks for speedscope (`--by host|device`).
    Speedscope,
    /// A flame graph for the browser in one file: hover, zoom, search (`--by host|device`).
    Svg,
    /// What `pstats`, SnakeViz and gprof2dot read: functions with their callers.
    Pstats,
    /// What `go tool pprof` reads (`--by host|device`); end the name in .gz to compress it.
    Pprof,
    /// What profiler.firefox.com opens (`--by host|device`).
    Firefox,
    /// One table (`--table`).
    Csv,
    /// One table (`--table`) for DuckDB, polars, pandas, Spark and the like, compressed.
    Parquet,
    /// One table (`--table`) as an Arrow IPC file (Feather), to be mapped into memory.
    Arrow,
    /// Every report.
    Json,
    /// The browser view with its data in one file, to keep or send; opens without a server.
    Html,
}

impl Target {
    /// Whether it is of no use on a terminal.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Target::Parquet | Target::Arrow | Target::Pstats | Target::Pprof)
    }
}

/// The name of the table with all events.
pub(crate) const EVENTS: &str = "events";

/// Tables of a trace: its events, and the main table of every question.
fn tables() -> impl Iterator<Item = PossibleValue> {
    let events = PossibleValue::new(EVENTS).help("Every event of the trace (parquet, arrow)");
    let questions = QUESTIONS.iter().filter(|question| !question.compares());
    std::iter::once(events).chain(questions.map(|q| PossibleValue::new(q.name).help(q.about)))
}
