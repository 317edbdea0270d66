//! The ground truth: what a reader of a synthetic trace must find in it.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpTotals {
    pub count: u64,
    /// Its time on the host, with everything it called.
    pub host_ns: u64,
    /// Its time on the host without the operators it called (runtime calls stay in).
    pub self_ns: u64,
}

/// Totals of one kernel name, or of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NameTotals {
    pub count: u64,
    pub ns: u64,
}

/// One `ProfilerStep#N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTruth {
    pub number: u64,
    /// When it began, in nanoseconds on the trace's own clock.
    pub start_ns: u64,
    pub dur_ns: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects in `traceEvents`.
    pub events: u64,
    pub bytes: u64,
    /// Events by phase (`X`, `i`, `s`, `f`, `M`) and category (empty where there is none).
    pub by_kind: BTreeMap<(char, &'static str), u64>,
    pub kernels: u64,
    pub kernel_ns: u64,
    pub kernels_by_name: BTreeMap<&'static str, NameTotals>,
    /// Kernels, copies and memsets by stream; on one stream they never overlap.
    pub streams: BTreeMap<u64, NameTotals>,
    pub copied_bytes: u64,
    /// Operators (`cpu_op`) by name.
    pub ops: BTreeMap<&'static str, OpTotals>,
    pub steps: Vec<StepTruth>,
    /// The largest `Total Allocated` of any memory event.
    pub peak_allocated: u64,
    /// The earliest start of an operator, call or device activity (0 if there are none).
    pub first_ns: u64,
    /// The latest end of an operator, call or device activity.
    pub last_ns: u64,
}

impl Summary {
    #[must_use]
    pub fn phase(&self, phase: char) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| kind.0 == phase).map(|(_, count)| count).sum()
    }

    /// Complete events (`ph` is `X`) of one category.
    #[must_use]
    pub fn category(&self, category: &str) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| **kind == ('X', category)).map(|(_, n)| n).sum()
    }

    pub(crate) fn tally(&mut self, phase: char, category: &'static str) {
        self.events += 1;
        *self.by_kind.entry((phase, category)).or_default() += 1;
    }

    pub(crate) fn extend(&mut self, start: u64, dur: u64) {
        if self.last_ns == 0 || start < self.first_ns {
            self.first_ns = start;
        }
        self.last_ns = self.last_ns.max(start + dur);
    }
}
