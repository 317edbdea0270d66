//! How often each function was seen: lately, and since the start.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use stepscope_ask::print::units;
use stepscope_record::machine::{DeviceUse, ProcessUse};
use stepscope_record::spy::Sampling;

use super::super::source_paths::Shortener;

/// What rows are sorted by.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SortBy {
    #[default]
    Own,
    Total,
    OwnTime,
    TotalTime,
}

impl SortBy {
    pub(super) fn next(self) -> SortBy {
        match self {
            SortBy::Own => SortBy::Total,
            SortBy::Total => SortBy::OwnTime,
            SortBy::OwnTime => SortBy::TotalTime,
            SortBy::TotalTime => SortBy::Own,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            SortBy::Own => "own share, last second",
            SortBy::Total => "total share, last second",
            SortBy::OwnTime => "own time",
            SortBy::TotalTime => "total time",
        }
    }
}

/// A function, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) function: String,
    pub(super) place: String,
    /// Its share of one processor's time lately.
    pub(super) own: f64,
    pub(super) total: f64,
    /// Since the start.
    pub(super) own_ns: i64,
    pub(super) total_ns: i64,
}

#[derive(Copy, Clone, Debug, Default)]
struct Sums {
    own_ns: i64,
    total_ns: i64,
    recent_own_ns: i64,
    recent_total_ns: i64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    functions: HashMap<u32, Sums>,
    threads: HashMap<u32, bool>,
    samples: u64,
    all_ns: i64,
    recent_ns: i64,
    gil_ns: i64,
    recent_gil_ns: i64,
    last_ns: i64,
}

impl Counts {
    /// Nothing, from now on.
    pub(super) fn anew(&self) -> Counts {
        Counts { last_ns: self.last_ns, ..Counts::default() }
    }

    /// Takes what was seen since the last call.
    pub(super) fn add(&mut self, sampling: &mut Sampling, gil_only: bool, idle: bool) {
        let runs = sampling.take_runs();
        let began = if self.last_ns == 0 { sampling.began_ns } else { self.last_ns };
        let passed = sampling.ended_ns - began;
        self.last_ns = sampling.ended_ns;
        self.all_ns += passed;
        self.recent_ns += passed;
        let mut on_stack = HashSet::new();
        for run in runs {
            self.samples += u64::from(run.samples);
            let each = (run.end_ns - run.start_ns) / i64::from(run.samples.max(1));
            let gil_ns = each * i64::from(run.gil_samples);
            self.gil_ns += gil_ns;
            self.recent_gil_ns += gil_ns;
            self.threads.insert(run.thread, !run.waits);
            let ns = match (gil_only, run.waits && !idle) {
                (true, _) => gil_ns,
                (false, true) => 0,
                (false, false) => run.end_ns - run.start_ns,
            };
            if ns == 0 {
                continue;
            }
            on_stack.clear();
            for (depth, place) in sampling.places(run.stack).enumerate() {
                let sums = self.functions.entry(place.function).or_default();
                if depth == 0 {
                    sums.own_ns += ns;
                    sums.recent_own_ns += ns;
                }
                // A function that calls itself is on the stack once.
                if on_stack.insert(place.function) {
                    sums.total_ns += ns;
                    sums.recent_total_ns += ns;
                }
            }
        }
    }

    /// What was seen lately begins anew.
    pub(super) fn next_window(&mut self) {
        self.recent_ns = 0;
        self.recent_gil_ns = 0;
        for sums in self.functions.values_mut() {
            (sums.recent_own_ns, sums.recent_total_ns) = (0, 0);
        }
        self.threads.clear();
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn rows(&self, sampling: &Sampling, paths: &Shortener, sort: SortBy, filter: &str) -> Vec<Row> {
        let share = |ns: i64| ns as f64 / self.recent_ns.max(1) as f64;
        let filter = filter.to_lowercase();
        let mut rows: Vec<Row> = self
            .functions
            .iter()
            .filter_map(|(function, sums)| {
                let function = sampling.functions.get(*function as usize)?;
                let place = match function.first_line {
                    // Native code has no lines.
                    0 => function.file.rsplit('/').next().unwrap_or_default().to_owned(),
                    line => format!("{}:{line}", paths.short(&function.file)),
                };
                let fits = filter.is_empty()
                    || function.name.to_lowercase().contains(&filter)
                    || place.to_lowercase().contains(&filter);
                fits.then(|| Row {
                    function: function.name.clone(),
                    place,
                    own: share(sums.recent_own_ns),
                    total: share(sums.recent_total_ns),
                    own_ns: sums.own_ns,
                    total_ns: sums.total_ns,
                })
            })
            .collect();
        rows.sort_by(|a, b| {
            let by = match sort {
                SortBy::Own => b.own.total_cmp(&a.own).then(b.total.total_cmp(&a.total)),
                SortBy::Total => b.total.total_cmp(&a.total),
                SortBy::OwnTime => b.own_ns.cmp(&a.own_ns),
                SortBy::TotalTime => b.total_ns.cmp(&a.total_ns),
            };
            by.then_with(|| b.own_ns.cmp(&a.own_ns))
                .then_with(|| (&a.function, &a.place).cmp(&(&b.function, &b.place)))
        });
        rows
    }

    /// The process in pieces: its Python, what it uses, its threads, and how busy the interpreter's lock is.
    pub(super) fn headline(&self, version: &str, usage: &ProcessUse) -> Vec<String> {
        let running = self.threads.values().filter(|runs| **runs).count();
        let gil = self.recent_gil_ns as f64 / self.recent_ns.max(1) as f64;
        let mut parts = vec![
            format!("Python {version}"),
            format!("GIL held {}", units::percent(gil.min(1.0))),
            format!("threads {running} of {} running", self.threads.len()),
        ];
        parts.extend(usage.cpu.map(|cpu| format!("CPU {}", units::percent(cpu))));
        parts.extend(usage.rss_bytes.map(|rss| format!("memory {}", units::bytes(rss))));
        parts
    }
}

/// What a process uses of a GPU, in a line.
pub(super) fn gpu_line(used: &DeviceUse) -> String {
    let bytes = |bytes: u64| units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let mut parts = Vec::new();
    parts.extend(used.busy.map(|share| format!("busy {}", units::percent(share))));
    parts.push(match (used.process_bytes, used.used_bytes) {
        (Some(own), _) => format!("memory of this process {}", bytes(own)),
        (None, Some(all)) => format!("memory {} (all processes)", bytes(all)),
        (None, None) => "memory unknown".to_owned(),
    });
    parts.extend(used.power_w.map(|watts| format!("{watts:.0} W")));
    format!("GPU {} {}", used.index, parts.join(" · "))
}
