//! What can be asked on the command line. Doc comments here are the help texts.

mod command;
mod faster;
mod help;
mod own;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Parser};
use stepscope_model::Trace;

pub(crate) use command::Command;
pub(crate) use faster::{Faster, Word};
pub(crate) use help::command;
pub(crate) use own::{Export, Findings, Kernels, Memory, Ops, Summary, TableName, Target, View, WhatIf};

use crate::print::{ColourWhen, Format};

const EXAMPLES: &str = "\
Examples:
  stepscope trace.json.gz                              why slow, what to change?
  stepscope findings trace.json.gz                     what to change, with the code
  stepscope what-if trace.json.gz                      what would help most?
  stepscope ops trace.json.gz --by shape --top 20      operators by input shape
  stepscope steps runs/exp1 --rank 3 --format json     a TensorBoard log folder, one rank
  zstdcat trace.json.zst | stepscope memory -          from a pipe";

/// Why is my ML code slow? Reads PyTorch profiler traces, says where the time went and what to change.
#[derive(Debug, Parser)]
#[command(name = "stepscope", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct Cli {
    /// What to show; `summary` if left out.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) summary: Summary,
}

/// Options that mean the same for every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// A trace file (JSON, gzip or zstd), a folder of them, or `-` for standard input.
    #[arg(required_unless_present = "explain")]
    pub(crate) path: Option<PathBuf>,

    /// Sort by this column, largest first; torch's keys (self_cuda_time_total, cpu_time_total, …) work too.
    #[arg(long, value_name = "KEY")]
    pub(crate) sort: Option<String>,

    /// Show this many rows; 0 shows all.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Group rows: ops by name|shape|shape-lists|stack|overload, kernels by name|op|launch|stream|copies, steps by
    /// breakdown|device, account by cause|step, gaps by kind|culprit|gap|stream, launches by device|queue, critical-path by
    /// name|piece, roofline by shape|name, memory by op|event|peak|stack, modules by tree|class, stacks by host|device.
    #[arg(long, value_name = "GROUP")]
    pub(crate) by: Option<String>,

    /// Only this rank of a folder with several.
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<i64>,

    /// Only these steps: `7`, `3,5` or `2-4`.
    #[arg(long, value_name = "STEPS")]
    pub(crate) step: Option<String>,

    /// Only this device.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<i64>,

    /// Only rows whose name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub(crate) filter: Option<String>,

    /// How to print: a table for people, the rest for programs.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Say how each figure is defined (needs no trace).
    #[arg(long)]
    pub(crate) explain: bool,

    /// Whole names instead of shortened ones.
    #[arg(long)]
    pub(crate) full: bool,

    /// All columns, however wide the table gets.
    #[arg(long)]
    pub(crate) wide: bool,

    /// Python frames kept with `--by stack`.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) frames: usize,

    /// When to use colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColourWhen,

    /// Stop reading after this much text; what came before is shown.
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_text_bytes: Option<u64>,

    /// The trace itself, where it is in memory already (the browser asks many questions about one).
    #[arg(skip)]
    pub(crate) loaded: Option<Arc<Trace>>,
}
