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
    Kernel(String),
    /// How many times faster what was named before gets, as written.
    Speedup(String),
}

pub struct OptionSpec {
    pub name: &'static str,
    /// What its value is called; `None` for a flag.
    pub value: Option<&'static str>,
    pub help: &'static str,
    setter: Setter,
}

enum Setter {
    Flag(fn(&mut OptionValues) -> &mut bool),
    Text(fn(&mut OptionValues) -> &mut Option<String>),
    Word(fn(String) -> ChangeWord),
    Value(fn(&mut OptionValues, &str) -> Result<(), Problem>),
}

impl OptionSpec {
    /// The option of this name; `_` and `-` are the same.
    pub fn find(name: &str) -> Option<&'static OptionSpec> {
        let name = name.replace('_', "-");
        OPTIONS.iter().find(|option| option.name == name)
    }

    pub(crate) fn set(&self, given: &mut OptionValues, value: &str) -> Result<(), Problem> {
        match self.setter {
            Setter::Flag(field) => *field(given) = true,
            Setter::Text(field) => *field(given) = Some(value.to_owned()),
            Setter::Word(word) => given.words.push(word(value.to_owned())),
            Setter::Value(set) => set(given, value)?,
        }
        Ok(())
    }
}

const fn flag(name: &'static str, help: &'static str, field: fn(&mut OptionValues) -> &mut bool) -> OptionSpec {
    OptionSpec { name, value: None, help, setter: Setter::Flag(field) }
}

const fn text(
    name: &'static str,
    value: &'static str,
    help: &'static str,
    field: fn(&mut OptionValues) -> &mut Option<String>,
) -> OptionSpec {
    OptionSpec { name, value: Some(value), help, setter: Setter::Text(field) }
}

const fn word(
    name: &'static str,
    value: &'static str,
    help: &'static str,
    word: fn(String) -> ChangeWord,
) -> OptionSpec {
    OptionSpec { name, value: Some(value), help, setter: Setter::Word(word) }
}

const fn value(
    name: &'static str,
    value: &'static str,
    help: &'static str,
    set: fn(&mut OptionValues, &str) -> Result<(), Problem>,
) -> OptionSpec {
    OptionSpec { name, value: Some(value), help, setter: Setter::Value(set) }
}

/// Every option. None of them names a file.
pub const OPTIONS: &[OptionSpec] = &[
    value("by", "GROUP", "Group rows", |_, _| Ok(())),
    text(
        "sort",
        "KEY",
        "Sort by this column, largest first; torch's keys (self_cuda_time_total, cpu_time_total, …) work too",
        |ask| &mut ask.rows.sort,
    ),
    value("top", "N", "Show this many rows; 0 shows all", |ask, value| {
        ask.rows.top = Some(number("top", value)?);
        Ok(())
    }),
    text("filter", "REGEX", "Only rows whose name matches this regular expression", |ask| &mut ask.rows.filter),
    value("step", "STEPS", "Only these steps: `7`, `3,5` or `2-4`", |ask, value| {
        ask.steps = Some(steps(value)?);
        Ok(())
    }),
    value("device", "N", "Only this device", |ask, value| {
        ask.device = Some(number("device", value)?);
        Ok(())
    }),
    value("frames", "N", "Python frames to keep with `--by stack` (default: 5)", |ask, value| {
        ask.frames = number("frames", value)?;
        Ok(())
    }),
    flag("lines", "Line by line: memory of the process after each, and what it added", |ask| &mut ask.lines),
    flag(
        "leaks",
        "What was not freed when the recording ended, by line; of a memory snapshot, what grows per iteration",
        |ask| &mut ask.leaks,
    ),
    flag("oom", "Why a request for GPU memory was refused, and what held the rest", |ask| &mut ask.oom),
    value(
        "at",
        "MOMENT",
        "What a memory snapshot shows as in use at this moment: `peak`, `end`, or a time such as `1.5s`",
        |ask, value| {
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
    ),
    flag("fit", "The largest batch that fits, from two or more recordings with different batches", |ask| {
        &mut ask.fit
    }),
    value(
        "batch",
        "N,…",
        "With `--fit`, samples per step of each file, in their order or by name: `16,64` or `small=16,large=64`",
        |ask, value| {
            ask.batch = Some(batches(value)?);
            Ok(())
        },
    ),
    value(
        "capacity",
        "SIZE",
        "With `--fit`, memory that the process can have: `24GiB`, `80GB` or a number of bytes",
        |ask, value| {
            let wrong = || {
                Problem::new(
                    format!("--capacity '{value}' is not a size"),
                    "write 24GiB, 80GB or a number of bytes",
                )
            };
            ask.capacity = Some(bytes(value).ok_or_else(wrong)?);
            Ok(())
        },
    ),
    flag("full", "Full names instead of shortened ones", |ask| &mut ask.full),
    flag(
        "own-threads",
        "Leave runtime calls that name no operator on their own thread. PyTorch's tables charge them to the main \
               thread, which can push self times below zero",
        |ask| &mut ask.own_threads,
    ),
    flag(
        "by-launch",
        "Charge device work that names no operator (CUDA graphs, old files) to the operator around its launch. \
               PyTorch's tables charge it to no operator",
        |ask| &mut ask.by_launch,
    ),
    word("op", "NAME", "An operator or named range", ChangeWord::Op),
    word(
        "kernel",
        "TEXT",
        "Kernels with this text in their name; follow it with `--speedup`",
        ChangeWord::Kernel,
    ),
    word(
        "speedup",
        "X",
        "How many times faster to make the operator or kernels named before it",
        ChangeWord::Speedup,
    ),
    flag("no-data-loading", "Assume the next batch is always ready", |ask| &mut ask.no_data_loading),
    flag("no-sync", "Assume no call waits for a device", |ask| &mut ask.no_sync),
    flag("overlap-transfers", "Assume copies between host and device overlap with everything else", |ask| {
        &mut ask.overlap_transfers
    }),
    flag("free-launches", "Assume host work between launches takes no time, as in a CUDA graph", |ask| {
        &mut ask.free_launches
    }),
    flag(
        "tensor-cores",
        "Assume 32-bit matrix work runs in bf16 on tensor cores, as fast as well-tuned kernels do. Needs recorded shapes \
               and a device whose peak rates are known",
        |ask| &mut ask.tensor_cores,
    ),
    value(
        "from",
        "TIME",
        "Only from this time on, counted from the start of the trace: `12ms`, `1.5s` or a number of nanoseconds",
        |ask, value| {
            ask.from = Some(time("from", value)?);
            Ok(())
        },
    ),
    value("to", "TIME", "Only before this time, in the same notation", |ask, value| {
        ask.to = Some(time("to", value)?);
        Ok(())
    }),
    flag("all", "All tables below the first screen: GPUs, operators, kernels, copies and memory", |ask| {
        &mut ask.all
    }),
    text(
        "callers",
        "REGEX",
        "Who called the functions whose `file:line(name)` matches, and what that took",
        |ask| &mut ask.callers,
    ),
    text(
        "callees",
        "REGEX",
        "What the functions whose `file:line(name)` matches called, and what that took",
        |ask| &mut ask.callees,
    ),
    text("function", "REGEX", "Only lines of functions whose name matches this regular expression", |ask| {
        &mut ask.function
    }),
    text(
        "value",
        "NAME",
        "Which of the profile's values to show, where it has several (as pprof files do)",
        |ask| &mut ask.value,
    ),
    text("program", "NAME", "Only this compiled program, by its name or number", |ask| &mut ask.program),
    text(
        "around",
        "NAME",
        "One instruction in its program: its operands, who uses its result, and what is fused into it",
        |ask| &mut ask.around,
    ),
    flag(
        "no-findings",
        "Tables only: no verdict and no findings, which take a third of the time on a large trace",
        |ask| &mut ask.no_findings,
    ),
];
