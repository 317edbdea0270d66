//! How much of the bandwidth of a device's memory was in use, where a counter was recorded beside the trace.
//!
//! A program that is recorded with a monitor has NVML's GPM counter of it. Without one nothing is measured; what the
//! operators must have moved at the least is the roofline's to say.

use std::collections::BTreeMap;

use stepscope_model::{Ns, SeriesId, Trace, Unit};

/// What the recorder calls the counter: `GPU 0 memory bandwidth`.
const COUNTER_NAME: (&str, &str) = ("GPU ", " memory bandwidth");

/// The recorded counters of a trace's devices.
pub(crate) struct MemoryBandwidth {
    /// By device: values in percent over the time since the value before.
    samples: BTreeMap<i64, Vec<(Ns, f64)>>,
}

impl MemoryBandwidth {
    pub(crate) fn new(trace: &Trace) -> MemoryBandwidth {
        let counters = trace.counters();
        let device =
            |name: &str| name.strip_prefix(COUNTER_NAME.0)?.strip_suffix(COUNTER_NAME.1)?.parse::<i64>().ok();
        let of_series = counters.series().iter().map(|series| match series.unit {
            Some(Unit::Percent) => device(trace.text(series.name)),
            _ => None,
        });
        let of_series: Vec<Option<i64>> = of_series.collect();
        let mut samples: BTreeMap<i64, Vec<(Ns, f64)>> = BTreeMap::new();
        if of_series.iter().any(Option::is_some) {
            for row in counters.rows() {
                let of = |series: SeriesId| of_series.get(series.index()).copied().flatten();
                let value = row.value.to_f64();
                if let Some(device) = of(row.series).filter(|_| value.is_finite()) {
                    samples.entry(device).or_default().push((row.at, value));
                }
            }
        }
        samples.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.0));
        MemoryBandwidth { samples }
    }

    /// The mean over a window, as a fraction. A value is that of the time since the one before; what reaches into the
    /// window counts by how far. `None` if no value covers any of it.
    pub(crate) fn share(&self, device: Option<i64>, window: (Ns, Ns)) -> Option<f64> {
        // A job that sees one device of many counts it from 0; the recorder counts as the host does.
        let alone = || self.samples.values().next().filter(|_| self.samples.len() == 1);
        let samples = device.and_then(|device| self.samples.get(&device)).or_else(alone)?;
        let (mut sum, mut covered) = (0.0, 0.0);
        for pair in samples.windows(2) {
            let (start, end) = (pair[0].0.max(window.0), pair[1].0.min(window.1));
            if start < end {
                let ns = (end - start).0 as f64;
                sum += pair[1].1.clamp(0.0, 100.0) / 100.0 * ns;
                covered += ns;
            }
        }
        (covered > 0.0).then(|| sum / covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_model::{Decimal, Series, TraceBuilder};

    fn recorded(names: &[&str]) -> MemoryBandwidth {
        let mut builder = TraceBuilder::new();
        for name in names {
            let name = builder.intern(name);
            let series =
                builder.series(Series { name, unit: Some(Unit::Percent), ..Series::default() }).unwrap();
            for (at, percent) in [(0, 99), (100, 20), (200, 60), (300, 10)] {
                builder.count(Ns(at), &[(series, Decimal { mantissa: percent, scale: 0 })]);
            }
        }
        MemoryBandwidth::new(&builder.finish())
    }

    #[test]
    fn a_value_counts_for_the_time_before_it() {
        let one = recorded(&["GPU 0 memory bandwidth", "GPU 0 SMs active"]);
        // 20% for 50 ns, 60% for 100.
        let share = one.share(Some(0), (Ns(50), Ns(200))).unwrap();
        assert!((share - (0.2 * 50.0 + 0.6 * 100.0) / 150.0).abs() < 1e-12, "{share}");
        assert_eq!(one.share(Some(0), (Ns(300), Ns(400))), None);
        // The only one recorded is the one that ran, whatever the job calls it.
        assert!(one.share(Some(5), (Ns(0), Ns(300))).is_some());
        let two = recorded(&["GPU 0 memory bandwidth", "GPU 1 memory bandwidth"]);
        assert_eq!(two.share(Some(5), (Ns(0), Ns(300))), None);
        assert_eq!(recorded(&["GPU x memory bandwidth"]).share(Some(0), (Ns(0), Ns(300))), None);
    }
}
