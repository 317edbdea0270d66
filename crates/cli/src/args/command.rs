//! The questions.

use clap::Subcommand;

use crate::print::Format;

use super::{Common, Export, Findings, Kernels, Memory, Ops, Summary, View, WhatIf};

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Where did the time go? Steps, GPU, operators, kernels, memory and what to change on one screen.
    #[command(
        after_help = "Examples:\n  stepscope summary trace.json.gz\n  stepscope trace.json.gz --step 3-5"
    )]
    Summary(Summary),
    /// What to change: each finding with what it would save, why, the code and how to check.
    #[command(
        after_help = "Examples:\n  stepscope findings trace.json.gz\n  stepscope findings trace.json.gz --format md > findings.md\n  stepscope findings trace.json.gz --fail-on high            exit code 1 if something big is wrong\n  stepscope findings trace.json.gz --format sarif > findings.sarif\n  stepscope findings --list                                  all rules and their limits\n\nstepscope.toml:\n  [findings]\n  off = [\"low_utilization\"]\n  [findings.thresholds]\n  \"data_loading.min_share\" = 0.1"
    )]
    Findings(Findings),
    /// What would a change save? The run replayed with something faster or gone.
    #[command(
        after_help = "Examples:\n  stepscope what-if trace.json.gz                              what would help most?\n  stepscope what-if trace.json.gz --op aten::mm --speedup 2\n  stepscope what-if trace.json.gz --kernel gemm --speedup 1.5 --no-data-loading\n  stepscope what-if trace.json.gz --free-launches --format json"
    )]
    WhatIf(WhatIf),
    /// Every nanosecond of every step, by its cause: what the device did, or why it was idle.
    #[command(
        after_help = "Examples:\n  stepscope account trace.json.gz\n  stepscope account trace.json.gz --by step --sort wall\n  stepscope account trace.json.gz --filter idle --format csv"
    )]
    Account(Common),
    /// The gaps of each device: how much time, why, and who is to blame.
    #[command(
        after_help = "Examples:\n  stepscope gaps trace.json.gz\n  stepscope gaps trace.json.gz --by culprit --top 0\n  stepscope gaps trace.json.gz --by gap --filter DataLoader --format csv"
    )]
    Gaps(Common),
    /// Launches: what they cost, how full the queue is, whether the host keeps up.
    #[command(
        after_help = "Examples:\n  stepscope launches trace.json.gz\n  stepscope launches trace.json.gz --by queue --format csv > queue.csv"
    )]
    Launches(Common),
    /// Calls in which the host stands still until a device has caught up.
    #[command(
        visible_alias = "sync",
        after_help = "Examples:\n  stepscope waits trace.json.gz\n  stepscope waits trace.json.gz --filter item --sort calls"
    )]
    Waits(Common),
    /// Copies between host and devices: how much, how fast, and whether anything hid them.
    #[command(
        after_help = "Examples:\n  stepscope transfers trace.json.gz\n  stepscope transfers trace.json.gz --step 3 --sort exposed"
    )]
    Transfers(Common),
    /// Data loading: how long each step waited for its batch.
    #[command(
        after_help = "Examples:\n  stepscope loading trace.json.gz\n  stepscope loading trace.json.gz --sort exposed --top 5"
    )]
    Loading(Common),
    /// The chain of work and waiting that decided how long the run took.
    #[command(
        after_help = "Examples:\n  stepscope critical-path trace.json.gz\n  stepscope critical-path trace.json.gz --step 3 --filter aten --top 0\n  stepscope critical-path trace.json.gz --by piece --top 0 --format csv"
    )]
    CriticalPath(Common),
    /// How close operators come to what the device can do; model FLOPs utilization (MFU).
    #[command(
        after_help = "Examples:\n  stepscope roofline trace.json.gz   (record with record_shapes=True)\n  stepscope roofline trace.json.gz --by name --sort device_ns\n  stepscope roofline trace.json.gz --filter mm --step 3"
    )]
    Roofline(Common),
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
        after_help = "Examples:\n  stepscope kernels trace.json.gz --by launch\n  stepscope kernels trace.json.gz --op aten::mm\n  stepscope kernels trace.json.gz --by copies"
    )]
    Kernels(Kernels),
    /// Memory over time, what lived at the peak, and which operators allocate.
    #[command(
        after_help = "Examples:\n  stepscope memory trace.json.gz\n  stepscope memory trace.json.gz --by event --sort bytes\n  stepscope memory trace.json.gz --from 12ms --to 1.5s --by peak"
    )]
    Memory(Memory),
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
    /// Everything in the browser: overview, timeline, operators, kernels, flame graph, memory, diagnosis.
    #[command(
        after_help = "Examples:\n  stepscope view trace.json.gz\n  stepscope view runs/ --no-open        a folder of runs; new ones appear by themselves"
    )]
    View(View),
    /// Write the trace or its tables in another format.
    #[command(
        after_help = "Examples:\n  stepscope export --to speedscope -o cpu.speedscope.json trace.json.gz\n  stepscope export --to chrome -o repaired.json.gz broken.json\n  stepscope export --to csv --table kernels -o kernels.csv trace.json.gz\n  stepscope export --to html -o report.html trace.json.gz"
    )]
    Export(Export),
    /// Record a Python script: operators, regions, samples, the machine's counters (with the Python package).
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  stepscope run train.py --epochs 1\n  stepscope run --config run.yaml --profiling.active 2 train.py"
    )]
    Run {
        /// The script and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SCRIPT")]
        words: Vec<std::ffi::OsString>,
    },
    /// What this machine can and cannot capture, and how to get the rest.
    #[command(after_help = "Examples:\n  stepscope doctor\n  stepscope doctor --format json")]
    Doctor {
        /// The form of the output.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
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

impl Command {
    /// The options that mean the same for every command.
    pub(crate) fn common_mut(&mut self) -> Option<&mut Common> {
        match self {
            Command::Summary(args) => Some(&mut args.common),
            Command::Findings(args) => Some(&mut args.common),
            Command::WhatIf(args) => Some(&mut args.common),
            Command::Ops(args) => Some(&mut args.common),
            Command::Kernels(args) => Some(&mut args.common),
            Command::Memory(args) => Some(&mut args.common),
            Command::Export(args) => Some(&mut args.common),
            Command::Account(common)
            | Command::CriticalPath(common)
            | Command::Gaps(common)
            | Command::Gpu(common)
            | Command::Info(common)
            | Command::Launches(common)
            | Command::Loading(common)
            | Command::Modules(common)
            | Command::Roofline(common)
            | Command::Stacks(common)
            | Command::Steps(common)
            | Command::Transfers(common)
            | Command::Waits(common) => Some(common),
            Command::View(_)
            | Command::Run { .. }
            | Command::Doctor { .. }
            | Command::Completions { .. }
            | Command::Man => None,
        }
    }
}
