//! One sample of everything: the machine and its GPUs, and the processes that are watched.

use std::time::{Duration, Instant};

use stepscope_record::{MachineOptions, MachineSampler};
use stepscope_service::{Column, TreeUse, thread_cpu_ns};

use super::target::Target;

/// How often new children are looked for.
struct Pace {
    every: Duration,
    /// A sample may take one part in so many of a processor.
    share: u64,
}

/// While a program starts its workers, …
const AT_FIRST: Pace = Pace { every: Duration::from_secs(1), share: 200 };
const START_PERIOD: Duration = Duration::from_secs(10);
const LATER: Pace = Pace { every: Duration::from_secs(5), share: 4_000 };
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl Pace {
    /// How long to wait after a sample that took so much processor time. The clock would count what others ran meanwhile:
    /// on a busy machine, children would be found a minute late.
    fn pause(&self, cpu_ns: u64) -> Duration {
        self.every.max(Duration::from_nanos(cpu_ns.saturating_mul(self.share))).min(MAX_PAUSE)
    }
}
pub(super) struct Machine {
    monitor: MachineSampler,
    columns: Vec<Column>,
    of_processes: Option<usize>,
    values: Vec<Option<f64>>,
    begun: Instant,
    next_children: Instant,
}

impl Machine {
    pub(super) fn new(every: Duration, has_target: bool) -> Machine {
        let monitor =
            MachineSampler::of_machine(&MachineOptions { interval: every, ..MachineOptions::default() });
        let mut columns: Vec<Column> =
            monitor.counters().iter().map(|counter| Column::new(&counter.name, counter.unit)).collect();
        let of_processes = has_target.then_some(columns.len());
        if has_target {
            let names = [
                ("process.cpu_percent", "%"),
                ("process.rss_bytes", "bytes"),
                ("process.count", "processes"),
                ("process.threads", "threads"),
            ];
            columns.extend(names.into_iter().map(|(name, unit)| Column::new(name, unit)));
        }
        let (values, now) = (vec![None; columns.len()], Instant::now());
        Machine { monitor, columns, of_processes, values, begun: now, next_children: now }
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }
    pub(super) fn last(&self) -> &[Option<f64>] {
        &self.values
    }

    /// A sample: a value for each column that has one now. `edge`: the first or the last one.
    pub(super) fn sample(&mut self, used: Option<TreeUse>, edge: bool) -> &[Option<f64>] {
        let values = &mut self.values;
        values.fill(None);
        self.monitor.sample_into(edge, &mut |place, value| {
            if let Some(place) = values.get_mut(place) {
                *place = Some(value);
            }
        });
        if let Some((first, used)) = self.of_processes.zip(used) {
            let of_processes = [
                used.cpu_percent,
                // A process that is about to end has none any more.
                Some(used.rss_bytes).filter(|bytes| *bytes > 0.0),
                Some(used.processes as f64),
                Some(used.threads as f64),
            ];
            values[first..first + of_processes.len()].copy_from_slice(&of_processes);
        }
        values
    }

    pub(super) fn is_time_for_children(&self) -> bool {
        Instant::now() >= self.next_children
    }

    /// Looks for children of what is watched.
    pub(super) fn refresh_children(&mut self, target: &mut Target) {
        let (began, cpu) = (Instant::now(), thread_cpu_ns());
        target.find_children();
        let pace = if self.begun.elapsed() < START_PERIOD { AT_FIRST } else { LATER };
        self.next_children = began + pace.pause(thread_cpu_ns().saturating_sub(cpu));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_children_stay_within_their_share() {
        let us = |n: u64| n * 1_000;
        assert_eq!(AT_FIRST.pause(us(300)), Duration::from_secs(1));
        assert_eq!(AT_FIRST.pause(us(10_000)), Duration::from_secs(2));
        assert_eq!(LATER.pause(us(300)), Duration::from_secs(5));
        assert_eq!(LATER.pause(us(2_500)), Duration::from_secs(10));
        assert_eq!(LATER.pause(us(1_000_000)), MAX_PAUSE);
    }
}
