//! The energy of the devices, where a monitor recorded it beside the trace.

use stepscope_model::{Ns, Trace};

use crate::scope::definition::Definition;

pub const ENERGY: Definition = Definition {
    field: "energy_j_per_step",
    label: "Energy/step",
    text: "What the recorded energy counters of all GPUs rose by around the steps / the time between those readings, times the \
           mean step. Drivers update the counters every 20 to 100 ms, so readings less than 0.2 s apart say nothing: then it is \
           unknown.",
};

/// Readings closer than this say more about the driver than about the device.
const MIN_APART: Ns = Ns(200_000_000);

/// Whether a counter of this name is a device's energy since some start: `GPU 0 energy`.
fn is_energy(counter: &str) -> bool {
    let number = counter.strip_prefix("GPU ").and_then(|rest| rest.strip_suffix(" energy"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The mean power of all devices around a window, in watts: from the last readings before it to the first after it. Unknown if a
/// device was not read twice.
pub(crate) fn power_w(trace: &Trace, window: (Ns, Ns)) -> Option<f64> {
    let counters = trace.counters();
    let mut watts = None;
    for (number, series) in counters.series().iter().enumerate() {
        if !is_energy(trace.text(series.name)) {
            continue;
        }
        let mut readings: Vec<(Ns, f64)> = (counters.rows())
            .filter(|row| row.series.index() == number)
            .map(|row| (row.at, row.value.to_f64()))
            .collect();
        readings.sort_by_key(|reading| reading.0);
        let from = readings.partition_point(|reading| reading.0 <= window.0).saturating_sub(1);
        let to = readings.partition_point(|reading| reading.0 < window.1).min(readings.len().checked_sub(1)?);
        let ((start, low), (end, high)) = (readings[from], readings[to]);
        // A counter that fell was reset.
        if end - start < MIN_APART || high < low {
            return None;
        }
        watts = Some(watts.unwrap_or(0.0) + (high - low) / ((end - start).0 as f64 / 1e9));
    }
    watts
}

#[cfg(test)]
mod tests {
    use stepscope_model::{ArgValue, Series, TraceBuilder};

    use super::*;

    fn trace(readings: &[(&str, i64, i64)]) -> Trace {
        let mut b = TraceBuilder::new();
        b.lane(Default::default());
        for (name, ms, joules) in readings {
            let key = b.intern("J");
            b.push_arg(key, ArgValue::Int(*joules));
            let values = b.pushed_numbers().unwrap();
            b.commit_args();
            let series = Series { name: b.intern(name), part: key, ..Series::default() };
            let series = b.series(series).unwrap();
            b.count(Ns(ms * 1_000_000), &[(series, values[0].1)]);
        }
        b.finish()
    }

    #[test]
    fn readings_around_the_window_count() {
        let one = "GPU 0 energy";
        let readings =
            [(one, 0, 1000), (one, 500, 1100), (one, 1000, 1400), (one, 1500, 1700), (one, 2000, 1750)];
        let window = |from: i64, to: i64| (Ns(from * 1_000_000), Ns(to * 1_000_000));
        // From 500 ms to 1500 ms: 600 J in one second.
        assert_eq!(power_w(&trace(&readings), window(600, 1400)), Some(600.0));
        assert_eq!(power_w(&trace(&readings), window(0, 9000)), Some(375.0));
        let mut two = readings.to_vec();
        two.extend([
            ("GPU 1 energy", 0, 0),
            ("GPU 1 energy", 2000, 100),
            ("CPU energy", 0, 5),
            ("CPU energy", 2000, 95),
        ]);
        assert_eq!(power_w(&trace(&two), window(0, 2000)), Some(425.0));
    }

    #[test]
    fn what_was_hardly_read_is_unknown() {
        let one = "GPU 0 energy";
        let window = (Ns(0), Ns(100_000_000));
        assert_eq!(power_w(&trace(&[(one, 0, 1)]), window), None);
        assert_eq!(power_w(&trace(&[(one, 0, 1), (one, 100, 9)]), window), None);
        assert_eq!(power_w(&trace(&[(one, 0, 9), (one, 500, 1)]), window), None, "it was reset");
        assert_eq!(power_w(&trace(&[("GPU 0 power", 0, 9), ("GPU 0 power", 500, 10)]), window), None);
        assert!(!is_energy("GPU x energy") && !is_energy("GPU  energy") && is_energy("GPU 12 energy"));
    }
}
