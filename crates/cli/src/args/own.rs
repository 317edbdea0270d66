//! Options that only one command has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stepscope_analyse::findings::Severity;

use super::{Common, Faster};

/// The summary ends in findings, whose limits can be set.
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// Rules that are off and limits of the findings, as TOML; `stepscope.toml` of the current folder if left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Only the tables: no verdict and no findings, which take a third of the time on a large trace.
    #[arg(long)]
    pub(crate) no_findings: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What to report, and what to fail on.
#[derive(Debug, Args)]
#[command(mut_arg("path", |path| path.required_unless_present("list")))]
#[command(mut_arg("format", |format| format.help("How to print: table, json, csv, md, or sarif for code scanning")))]
pub(crate) struct Findings {
    /// Exit with 1 if there is a finding of at least this severity (of those that match --filter).
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) fail_on: Option<FailOn>,

    /// List the rules with their limits instead; needs no trace.
    #[arg(long, visible_alias = "rules")]
    pub(crate) list: bool,

    /// Rules that are off and limits, as TOML; `stepscope.toml` of the current folder if left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What `--fail-on` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Only what could save a fifth of a step (unless configured otherwise).
    High,
    /// Also what could save a twentieth.
    Medium,
    /// Also what could save a hundredth.
    Low,
}

impl FailOn {
    /// The severity it names.
    pub(crate) fn severity(self) -> Severity {
        match self {
            FailOn::High => Severity::High,
            FailOn::Medium => Severity::Medium,
            FailOn::Low => Severity::Low,
        }
    }
}

/// What is different.
#[derive(Debug, Args)]
pub(crate) struct WhatIf {
    #[command(flatten)]
    pub(crate) faster: Faster,

    /// The next batch is always there.
    #[arg(long)]
    pub(crate) no_data_loading: bool,

    /// No call waits for a device.
    #[arg(long)]
    pub(crate) no_sync: bool,

    /// Copies between host and device run beside everything else.
    #[arg(long)]
    pub(crate) overlap_transfers: bool,

    /// Host work between launches takes no time, as in a CUDA graph.
    #[arg(long)]
    pub(crate) free_launches: bool,

    /// Matrix work in 32 bits runs in bf16 on tensor cores, as fast as well-made kernels do there. Needs recorded
    /// shapes and a device whose peaks are known.
    #[arg(long)]
    pub(crate) tensor_cores: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Operators, and whose calls they are charged with.
#[derive(Debug, Args)]
pub(crate) struct Ops {
    /// Leave runtime calls that name no operator on their own thread. PyTorch's tables charge them to the main
    /// thread, where they can push self times below zero.
    #[arg(long)]
    pub(crate) own_threads: bool,

    /// Give device work that names no operator (CUDA graphs, old files) to the operator around its launch.
    /// PyTorch's tables give it to nobody.
    #[arg(long)]
    pub(crate) by_launch: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Kernels, of all operators or of one.
#[derive(Debug, Args)]
pub(crate) struct Kernels {
    /// Only kernels, copies and fills of the operator or range of exactly this name, not of what it calls.
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Memory, at all times or in a window.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Only from this time on, since the start of the trace: `12ms`, `1.5s` or a number of nanoseconds; `@` and a
    /// number is a time of the JSON output.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// Only before this time, written in the same way.
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What to show in the browser, and where to listen.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// Trace files and folders of them; folders are watched for new ones.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Print the address and leave the browser alone.
    #[arg(long)]
    pub(crate) no_open: bool,

    /// The port to listen on; the first free one from 7007 upward if left out.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,

    /// The address to listen on. Anything but this machine's own lets others on the network in who know the key.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,

    /// Do not look for new traces.
    #[arg(long)]
    pub(crate) no_watch: bool,

    /// Stop reading a trace after this much text; what came before is shown.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,

    /// Serve the page from this folder instead of the one inside the program.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) ui_dir: Option<PathBuf>,
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The format to write.
    #[arg(long, value_enum)]
    pub(crate) to: Target,

    /// The table for csv.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) table: TableName,

    /// For html: at most this large, as `20MB`. What does not fit is left out, and the report says what.
    #[arg(long, value_name = "SIZE", default_value = "20MB", value_parser = size)]
    pub(crate) max_size: usize,

    /// For html: without folders in paths and without arguments, to be shown to others.
    #[arg(long)]
    pub(crate) redact: bool,

    /// Where to write; standard output if left out or `-`. A name ending in .gz is compressed.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Formats to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Chrome trace JSON, repaired where the input was broken.
    Chrome,
    /// Folded stacks, for flamegraph.pl and friends (`--by host|device`).
    Folded,
    /// Stacks for speedscope (`--by host|device`).
    Speedscope,
    /// One table (`--table`).
    Csv,
    /// Every report.
    Json,
    /// The browser's pages with their data in one file, to keep or to send; opens without a server.
    Html,
}

/// `20MB`, `500k` or a number of bytes.
fn size(text: &str) -> Result<usize, String> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = match text[digits.len()..].trim().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return Err("a size is a number with k, M or G, as 20MB".to_owned()),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number * unit < 1e12 => Ok((number * unit) as usize),
        _ => Err("a size is a number with k, M or G, as 20MB".to_owned()),
    }
}

/// Tables of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableName {
    /// Operators.
    #[default]
    Ops,
    /// Kernels.
    Kernels,
    /// Steps.
    Steps,
    /// Memory by operator.
    Memory,
    /// Modules.
    Modules,
}
