//! The options of questions: each is here once, whatever asks.

mod values;

use stepscope_ground::{Problem, units};
use values::{batches, bytes, number, steps, time};

/// The options that were given, as values.
#[derive(Clone, Debug)]
pub struct OptionValues {
    pub(crate) rows: RowOptions,
    pub(crate) steps: Option<Vec<i64>>,
    pub(crate) device: Option<i64>,
    pub(crate) frames: usize,
    pub(crate) full: bool,
    pub(crate) own_threads: bool,
    pub(crate) by_launch: bool,
    /// `op`, `kernel` and `speedup` in the order in which they were given.
    pub(crate) words: Vec<ChangeWord>,
    pub(crate) no_data_loading: bool,
    pub(crate) no_sync: bool,
    pub(crate) overlap_transfers: bool,
    pub(crate) free_launches: bool,
    pub(crate) tensor_cores: bool,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) no_findings: bool,
    pub(crate) all: bool,
    pub(crate) callers: Option<String>,
    pub(crate) callees: Option<String>,
    pub(crate) function: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) around: Option<String>,
    pub(crate) lines: bool,
    pub(crate) leaks: bool,
    pub(crate) oom: bool,
    pub(crate) at: Option<AtMoment>,
    pub(crate) fit: bool,
    /// Samples per step of each file, and the file's name where it was given.
    pub(crate) batch: Option<Vec<(Option<String>, u64)>>,
    /// Bytes.
    pub(crate) capacity: Option<u64>,
}

/// The moment that a question is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AtMoment {
    /// When most was in use.
    Peak,
    /// When the recording ended.
    End,
    /// So many nanoseconds after its start.
    After(i64),
}

impl Default for OptionValues {
    fn default() -> OptionValues {
        OptionValues {
            rows: RowOptions::default(),
            steps: None,
            device: None,
            frames: 5,
            full: false,
            own_threads: false,
            by_launch: false,
            words: Vec::new(),
            no_data_loading: false,
            no_sync: false,
            overlap_transfers: false,
            free_launches: false,
            tensor_cores: false,
            from: None,
            to: None,
            no_findings: false,
            all: false,
            callers: None,
            callees: None,
            function: None,
            value: None,
            program: None,
            around: None,
            lines: false,
            leaks: false,
            oom: false,
            at: None,
            fit: false,
            batch: None,
            capacity: None,
        }
    }
}

/// Which rows of a table, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowOptions {
    pub(crate) sort: Option<String>,
    pub(crate) top: Option<usize>,
    pub(crate) filter: Option<String>,
}

/// One word of a change: which operator or kernels, and how much faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeWord {
    /// An operator or range by name.
    Op(String),
    /// Kernels by a text in their names.
    Kernel(String),
    /// How many times faster what was named before gets, as written.
    Speedup(String),
}

/// One option.
pub struct OptionSpec {
    /// Its name, without dashes.
    pub name: &'static str,
    /// What its value is called; `None` for a flag.
    pub value: Option<&'static str>,
    /// What it does.
    pub help: &'static str,
    set: fn(&mut OptionValues, &str) -> Result<(), Problem>,
}

impl OptionSpec {
    /// The option of this name; `_` and `-` are the same.
    pub fn find(name: &str) -> Option<&'static OptionSpec> {
        let name = name.replace('_', "-");
        OPTIONS.iter().find(|option| option.name == name)
    }

    pub(crate) fn set(&self, given: &mut OptionValues, value: &str) -> Result<(), Problem> {
        (self.set)(given, value)
    }
}

/// Every option. None of them names a file.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec { name: "by", value: Some("GROUP"), help: "Group rows", set: |_, _| Ok(()) },
    OptionSpec {
        name: "sort",
        value: Some("KEY"),
        help: "Sort by this column, largest first; torch's keys (self_cuda_time_total, cpu_time_total, …) work too",
        set: |ask, value| {
            ask.rows.sort = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "top",
        value: Some("N"),
        help: "Show this many rows; 0 shows all",
        set: |ask, value| {
            ask.rows.top = Some(number("top", value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "filter",
        value: Some("REGEX"),
        help: "Only rows whose name matches this regular expression",
        set: |ask, value| {
            ask.rows.filter = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "step",
        value: Some("STEPS"),
        help: "Only these steps: `7`, `3,5` or `2-4`",
        set: |ask, value| {
            ask.steps = Some(steps(value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "device",
        value: Some("N"),
        help: "Only this device",
        set: |ask, value| {
            ask.device = Some(number("device", value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "frames",
        value: Some("N"),
        help: "Python frames to keep with `--by stack` (default: 5)",
        set: |ask, value| {
            ask.frames = number("frames", value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "lines",
        value: None,
        help: "Line by line: memory of the process after each, and what it added",
        set: |ask, _| {
            ask.lines = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "leaks",
        value: None,
        help: "What was not freed when the recording ended, by line; of a memory snapshot, what grows per iteration",
        set: |ask, _| {
            ask.leaks = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oom",
        value: None,
        help: "Why a request for GPU memory was refused, and what held the rest",
        set: |ask, _| {
            ask.oom = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "at",
        value: Some("MOMENT"),
        help: "What a memory snapshot shows as in use at this moment: `peak`, `end`, or a time such as `1.5s`",
        set: |ask, value| {
            ask.at = Some(match value.trim() {
                "peak" => AtMoment::Peak,
                "end" => AtMoment::End,
                text => AtMoment::After(units::nanoseconds(text, "ns").ok_or_else(|| {
                    Problem::new(
                        format!("--at '{value}' is not a moment"),
                        "write peak, end, or a time since the first entry: 12ms, 1.5s, 300us",
                    )
                })?),
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "fit",
        value: None,
        help: "The largest batch that fits, from two or more recordings with different batches",
        set: |ask, _| {
            ask.fit = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "batch",
        value: Some("N,…"),
        help: "With `--fit`, samples per step of each file, in their order or by name: `16,64` or `small=16,large=64`",
        set: |ask, value| {
            ask.batch = Some(batches(value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "capacity",
        value: Some("SIZE"),
        help: "With `--fit`, memory that the process can have: `24GiB`, `80GB` or a number of bytes",
        set: |ask, value| {
            let wrong = || {
                Problem::new(
                    format!("--capacity '{value}' is not a size"),
                    "write 24GiB, 80GB or a number of bytes",
                )
            };
            ask.capacity = Some(bytes(value).ok_or_else(wrong)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "full",
        value: None,
        help: "Full names instead of shortened ones",
        set: |ask, _| {
            ask.full = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "own-threads",
        value: None,
        help: "Leave runtime calls that name no operator on their own thread. PyTorch's tables charge them to the main \
               thread, which can push self times below zero",
        set: |ask, _| {
            ask.own_threads = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "by-launch",
        value: None,
        help: "Charge device work that names no operator (CUDA graphs, old files) to the operator around its launch. \
               PyTorch's tables charge it to no operator",
        set: |ask, _| {
            ask.by_launch = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "op",
        value: Some("NAME"),
        help: "An operator or named range",
        set: |ask, value| {
            ask.words.push(ChangeWord::Op(value.to_owned()));
            Ok(())
        },
    },
    OptionSpec {
        name: "kernel",
        value: Some("TEXT"),
        help: "Kernels with this text in their name; follow it with `--speedup`",
        set: |ask, value| {
            ask.words.push(ChangeWord::Kernel(value.to_owned()));
            Ok(())
        },
    },
    OptionSpec {
        name: "speedup",
        value: Some("X"),
        help: "How many times faster to make the operator or kernels named before it",
        set: |ask, value| {
            ask.words.push(ChangeWord::Speedup(value.to_owned()));
            Ok(())
        },
    },
    OptionSpec {
        name: "no-data-loading",
        value: None,
        help: "Assume the next batch is always ready",
        set: |ask, _| {
            ask.no_data_loading = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "no-sync",
        value: None,
        help: "Assume no call waits for a device",
        set: |ask, _| {
            ask.no_sync = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "overlap-transfers",
        value: None,
        help: "Assume copies between host and device overlap with everything else",
        set: |ask, _| {
            ask.overlap_transfers = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "free-launches",
        value: None,
        help: "Assume host work between launches takes no time, as in a CUDA graph",
        set: |ask, _| {
            ask.free_launches = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "tensor-cores",
        value: None,
        help: "Assume 32-bit matrix work runs in bf16 on tensor cores, as fast as well-tuned kernels do. Needs recorded shapes \
               and a device whose peak rates are known",
        set: |ask, _| {
            ask.tensor_cores = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "from",
        value: Some("TIME"),
        help: "Only from this time on, counted from the start of the trace: `12ms`, `1.5s` or a number of nanoseconds",
        set: |ask, value| {
            ask.from = Some(time("from", value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "to",
        value: Some("TIME"),
        help: "Only before this time, in the same notation",
        set: |ask, value| {
            ask.to = Some(time("to", value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "all",
        value: None,
        help: "All tables below the first screen: GPUs, operators, kernels, copies and memory",
        set: |ask, _| {
            ask.all = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "callers",
        value: Some("REGEX"),
        help: "Who called the functions whose `file:line(name)` matches, and what that took",
        set: |ask, value| {
            ask.callers = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "callees",
        value: Some("REGEX"),
        help: "What the functions whose `file:line(name)` matches called, and what that took",
        set: |ask, value| {
            ask.callees = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "function",
        value: Some("REGEX"),
        help: "Only lines of functions whose name matches this regular expression",
        set: |ask, value| {
            ask.function = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "value",
        value: Some("NAME"),
        help: "Which of the profile's values to show, where it has several (as pprof files do)",
        set: |ask, value| {
            ask.value = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "program",
        value: Some("NAME"),
        help: "Only this compiled program, by its name or number",
        set: |ask, value| {
            ask.program = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "around",
        value: Some("NAME"),
        help: "One instruction in its program: its operands, who uses its result, and what is fused into it",
        set: |ask, value| {
            ask.around = Some(value.to_owned());
            Ok(())
        },
    },
    OptionSpec {
        name: "no-findings",
        value: None,
        help: "Tables only: no verdict and no findings, which take a third of the time on a large trace",
        set: |ask, _| {
            ask.no_findings = true;
            Ok(())
        },
    },
];
