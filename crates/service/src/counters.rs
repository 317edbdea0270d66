//! Counters of the machine, its GPUs and the processes that are watched, kept beside the minutes of a service.
//!
//! `20261117T01_host_4711_9f3c21aa.counters` grows by one record per minute: least, mean, largest and last value of each
//! counter. `….samples` grows by one record per sample and is cut to the last ten minutes now and then. It is both the
//! minute that is not over and the last minutes at full rate, so a process that is killed loses no sample.

mod codec;
mod energy;
mod history;
mod labels;
mod tree;
mod writer;

pub(crate) use energy::gpu_energy_j;
pub use history::{
    CounterHistory, CounterPoint, Counters, RecentCounter, counters, counters_by, recent_counters,
};
pub use labels::{counter_label, counter_text};
pub use tree::{Tree, TreeUse};
pub use writer::{CounterWriter, RECENT_MINUTES};
pub(crate) use writer::{make_ready, unwritable};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// Its name, without the number of its device: `gpu.power_w`.
    pub name: String,
    /// Its unit: `%`, `bytes`, `bytes/s`, `W`, `°C`, `MHz`, `J`.
    pub unit: String,
    pub device: Option<u32>,
}

impl Column {
    /// A counter by the name that a sampler gives it: `gpu.0.power_w` is `gpu.power_w` of device 0.
    pub fn new(name: &str, unit: &str) -> Self {
        let numbered = name.strip_prefix("gpu.").and_then(|rest| {
            let (number, name) = rest.split_once('.')?;
            Some((number.parse().ok()?, format!("gpu.{name}")))
        });
        let (device, name) =
            numbered.map_or_else(|| (None, name.to_owned()), |(device, name)| (Some(device), name));
        Self { name, unit: unit.to_owned(), device }
    }
}

/// What became of a counter over some samples.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Totals {
    pub samples: u64,
    pub first: f64,
    pub last: f64,
    pub min: f64,
    pub max: f64,
    /// All of them added up.
    pub sum: f64,
}

impl Totals {
    pub fn from_value(value: f64) -> Self {
        Self { samples: 1, first: value, last: value, min: value, max: value, sum: value }
    }

    /// Adds values that came later.
    pub fn merge(&mut self, later: &Totals) {
        self.samples = self.samples.saturating_add(later.samples);
        self.last = later.last;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.sum += later.sum;
    }

    /// Their mean, which rounding does not put outside of them.
    pub fn mean(&self) -> f64 {
        (self.sum / self.samples.max(1) as f64).clamp(self.min, self.max)
    }

    /// Adds a value to what may be nothing yet.
    pub(crate) fn add(totals: &mut Option<Totals>, value: f64) {
        match totals {
            Some(known) => known.merge(&Totals::from_value(value)),
            None => *totals = Some(Totals::from_value(value)),
        }
    }
}

#[cfg(test)]
mod tests;
