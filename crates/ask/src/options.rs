//! The options of questions: each is here once, whatever asks.

use crate::refusal::Refusal;

/// The options that were given, as values.
#[derive(Clone, Debug)]
pub struct Given {
    pub(crate) rows: RowsAsked,
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
    pub(crate) lines: bool,
    pub(crate) leaks: bool,
    pub(crate) oom: bool,
    pub(crate) at: Option<AtMoment>,
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

impl Default for Given {
    fn default() -> Given {
        Given {
            rows: RowsAsked::default(),
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
            lines: false,
            leaks: false,
            oom: false,
            at: None,
        }
    }
}

/// Which rows of a table, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowsAsked {
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
    set: fn(&mut Given, &str) -> Result<(), Refusal>,
}

impl OptionSpec {
    /// The option of this name; `_` and `-` are the same.
    pub fn find(name: &str) -> Option<&'static OptionSpec> {
        let name = name.replace('_', "-");
        OPTIONS.iter().find(|option| option.name == name)
    }

    pub(crate) fn set(&self, given: &mut Given, value: &str) -> Result<(), Refusal> {
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
                text => AtMoment::After(nanoseconds(text).ok_or_else(|| {
                    Refusal::new(
                        format!("--at '{value}' is not a moment"),
                        "write peak, end, or a time since the first entry: 12ms, 1.5s, 300us",
                    )
                })?),
            });
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
        name: "no-findings",
        value: None,
        help: "Tables only: no verdict and no findings, which take a third of the time on a large trace",
        set: |ask, _| {
            ask.no_findings = true;
            Ok(())
        },
    },
];

fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, Refusal> {
    let wrong = || Refusal::new(format!("--{option} is not a number: '{value}'"), "give a whole number");
    value.trim().parse().map_err(|_| wrong())
}

/// `7`, `3,5`, `2-4` as numbers.
fn steps(text: &str) -> Result<Vec<i64>, Refusal> {
    const MOST: i64 = 1_000_000;
    let bad =
        || Refusal::new(format!("--step '{text}' is not a list of step numbers"), "write it as 7, 3,5 or 2-4");
    let mut steps = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-').filter(|(first, _)| !first.is_empty()) {
            Some((first, last)) => {
                let (first, last): (i64, i64) =
                    (first.trim().parse().map_err(|_| bad())?, last.trim().parse().map_err(|_| bad())?);
                if last < first || last.saturating_sub(first) > MOST {
                    return Err(bad());
                }
                steps.extend(first..=last);
            }
            None => steps.push(part.parse().map_err(|_| bad())?),
        }
    }
    Ok(steps)
}

fn time(option: &str, text: &str) -> Result<i64, Refusal> {
    nanoseconds(text).ok_or_else(|| {
        Refusal::new(
            format!("--{option} '{text}' is not a time"),
            "write a time since the start of the trace: 12ms, 1.5s, 300us or a number of nanoseconds",
        )
    })
}

/// A time as people write it, to the nanosecond; no float on the way.
fn nanoseconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let places = match unit.trim() {
        "" | "ns" => 0,
        "us" | "µs" | "μs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    if part.len() > places || (whole.is_empty() && number.len() < 2) {
        return None;
    }
    let digits = format!("{whole}{part}{}", "0".repeat(places - part.len()));
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_lists_and_ranges() {
        assert_eq!(steps("7").unwrap(), [7]);
        assert_eq!(steps("3, 5").unwrap(), [3, 5]);
        assert_eq!(steps("2-4,9").unwrap(), [2, 3, 4, 9]);
        for wrong in ["a", "4-2", "", "0-9223372036854775807", "-9223372036854775808-5"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("12345", 12_345),
            ("12ms", 12_000_000),
            ("1.5s", 1_500_000_000),
            (".5 ms", 500_000),
            ("0.000000001s", 1),
            ("300us", 300_000),
            ("7.25µs", 7_250),
            ("2.000", 2),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(nanoseconds(text), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in
            ["", ".", "ms", "-5ms", "1.5", "0.0000000001s", "1e3", "5 minutes", "1.2.3s", "99999999999s", "+3"]
        {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
