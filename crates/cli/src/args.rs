//! What can be asked on the command line. Doc comments here are the help texts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::print::{ColourWhen, Format};

const EXAMPLES: &str = "\
Examples:
  stepscope trace.json.gz                              where did the time go?
  stepscope ops trace.json.gz --by shape --top 20      operators by input shape
  stepscope kernels trace.json.gz --filter gemm        GPU kernels whose name has 'gemm'
  stepscope steps runs/exp1 --rank 3 --format json     a TensorBoard log folder, one rank
  zstdcat trace.json.zst | stepscope memory -          from a pipe";

/// Why is my ML code slow? Reads PyTorch profiler traces and says where the time went.
#[derive(Debug, Parser)]
#[command(name = "stepscope", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct Cli {
    /// What to show; `summary` if left out.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) summary: Common,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Where did the time go? Steps, GPU, top operators, kernels and memory on one screen.
    #[command(after_help = "Example:\n  stepscope summary trace.json.gz")]
    Summary(Common),
    /// What is in the file: framework, devices, ranks, options, events, what was repaired or set aside.
    #[command(after_help = "Example:\n  stepscope info trace.json.gz --format json")]
    Info(Common),
    /// Time of each step, split so that the parts add up to the wall time exactly.
    #[command(
        after_help = "Examples:\n  stepscope steps trace.json.gz\n  stepscope steps trace.json.gz --by device"
    )]
    Steps(Common),
    /// GPU utilization, SM efficiency, occupancy and tensor cores, per device and stream.
    #[command(after_help = "Example:\n  stepscope gpu trace.json.gz --explain")]
    Gpu(Common),
    /// Operators: PyTorch's key_averages, with annotations kept apart.
    #[command(
        after_help = "Examples:\n  stepscope ops trace.json.gz --sort self_cuda_time_total --top 20\n  stepscope ops trace.json.gz --by shape --filter '^aten::(mm|addmm)$'\n  stepscope ops trace.json.gz --by stack --frames 5"
    )]
    Ops(Ops),
    /// GPU kernels, copies and fills.
    #[command(
        after_help = "Examples:\n  stepscope kernels trace.json.gz --by launch\n  stepscope kernels trace.json.gz --by copies"
    )]
    Kernels(Common),
    /// Memory over time, what lived at the peak, and which operators allocate.
    #[command(
        after_help = "Examples:\n  stepscope memory trace.json.gz\n  stepscope memory trace.json.gz --by event --sort bytes"
    )]
    Memory(Common),
    /// The nn.Module tree with host and device time.
    #[command(
        after_help = "Example:\n  stepscope modules trace.json.gz   (record with with_stack=True or with_modules=True)"
    )]
    Modules(Common),
    /// Folded stacks by host or device self time.
    #[command(
        after_help = "Examples:\n  stepscope stacks trace.json.gz --by device --top 20\n  stepscope export --to folded trace.json.gz | flamegraph.pl > flame.svg"
    )]
    Stacks(Common),
    /// Write the trace or its tables in another format.
    #[command(
        after_help = "Examples:\n  stepscope export --to speedscope -o cpu.speedscope.json trace.json.gz\n  stepscope export --to chrome -o repaired.json.gz broken.json\n  stepscope export --to csv --table kernels -o kernels.csv trace.json.gz"
    )]
    Export(Export),
    /// Completions for your shell, on stdout.
    #[command(
        after_help = "Example:\n  stepscope completions bash > ~/.local/share/bash-completion/completions/stepscope"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// The manual page, on stdout.
    #[command(after_help = "Example:\n  stepscope man > ~/.local/share/man/man1/stepscope.1")]
    Man,
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
    /// breakdown|device, memory by op|event|peak|stack, modules by tree|class, stacks by host|device.
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
