//! How fast the devices' multiprocessors were clocked, where a monitor recorded it beside the trace.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, Trace};

/// The clock of one device.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Clock {
    /// The slowest sample, in MHz.
    pub(crate) min_mhz: f64,
    /// The mean of the samples, in MHz.
    pub(crate) mean_mhz: f64,
}

/// The device whose clock a counter of this name is: `GPU 0 SM clock`, on AMD's devices `GPU 0 clock`.
fn device(counter: &str) -> Option<i64> {
    let (number, what) = counter.strip_prefix("GPU ")?.split_once(' ')?;
    matches!(what, "SM clock" | "clock").then(|| number.parse().ok())?
}

/// The clocks of all devices from the first moment of a window to the last.
pub(crate) fn clocks(trace: &Trace, window: (Ns, Ns)) -> HashMap<i64, Clock, RandomState> {
    let counters = trace.counters();
    let of_series: Vec<Option<i64>> =
        counters.series().iter().map(|series| device(trace.text(series.name))).collect();
    let mut sums: HashMap<i64, (f64, f64, u64), RandomState> = HashMap::default();
    if of_series.iter().any(Option::is_some) {
        for row in counters.rows().filter(|row| window.0 <= row.at && row.at <= window.1) {
            let Some(device) = of_series[row.series.index()] else { continue };
            let value = row.value.to_f64();
            let (min, sum, count) = sums.entry(device).or_insert((f64::MAX, 0.0, 0));
            (*min, *sum, *count) = (min.min(value), *sum + value, *count + 1);
        }
    }
    let clock = |(min_mhz, sum, count): (f64, f64, u64)| Clock { min_mhz, mean_mhz: sum / count as f64 };
    sums.into_iter().map(|(device, sums)| (device, clock(sums))).collect()
}

#[cfg(test)]
mod tests {
    use stepscope_model::{ArgValue, Series, TraceBuilder};

    use super::*;

    #[test]
    fn samples_in_the_window_count() {
        let mut b = TraceBuilder::new();
        b.lane(Default::default());
        // The trace's first event is time zero.
        for (name, at, mhz) in [
            ("GPU 0 SM clock", 0, 345),
            ("GPU 0 SM clock", 100, 1980),
            ("GPU 0 memory clock", 100, 2619),
            ("GPU 0 SM clock", 200, 1500),
            ("GPU 1 clock", 200, 900),
            ("GPU 0 SM clock", 300, 345),
        ] {
            let key = b.intern("MHz");
            b.push_arg(key, ArgValue::Int(mhz));
            let values = b.pushed_numbers().unwrap();
            b.commit_args();
            let series = Series { name: b.intern(name), part: key, ..Series::default() };
            let series = b.series(series).unwrap();
            b.count(Ns(at), &[(series, values[0].1)]);
        }
        let found = clocks(&b.finish(), (Ns(50), Ns(250)));
        assert_eq!(found.get(&0), Some(&Clock { min_mhz: 1500.0, mean_mhz: 1740.0 }));
        assert_eq!(found.get(&1), Some(&Clock { min_mhz: 900.0, mean_mhz: 900.0 }));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn clocks_are_told_by_their_names() {
        assert_eq!(device("GPU 0 SM clock"), Some(0));
        assert_eq!(device("GPU 12 clock"), Some(12));
        for other in ["GPU 0 memory clock", "GPU 0 power", "GPU x SM clock", "CPU clock", "GPU 0"] {
            assert_eq!(device(other), None, "{other}");
        }
    }
}
