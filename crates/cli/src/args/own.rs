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

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The format to write.
    #[arg(long, value_enum)]
    pub(crate) to: Target,

    /// The table for csv.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) table: TableName,

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
