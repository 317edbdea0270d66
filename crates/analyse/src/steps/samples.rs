//! How many samples steps worked through, where the program said so: `step(samples=64)` leaves a counter in the trace.

use stepscope_model::{Ns, Trace};

use super::Steps;
use crate::scope::definition::{Definition, definitions};

/// The counter that the Python package writes, once per step and inside of it.
pub const SAMPLES_COUNTER: &str = "samples per step";

pub const DEFINITIONS: &[Definition] = definitions! {
    "samples_per_step", "Samples/step" =>
        "The mean of what the program gave to `step(samples=…)`, over the steps for which it did and that are not partial. \
         Unknown if it never did.";
    "samples_per_s", "Samples/s" =>
        "The samples of those steps / their summed wall time. Unknown if the program did not say how many there are.";
};

/// The samples of the steps that say.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Of each such step: how long it took, and its samples.
    pub steps: Vec<(i64, f64)>,
}

impl Samples {
    /// The mean step's samples.
    pub fn per_step(&self) -> f64 {
        self.total() / self.steps.len().max(1) as f64
    }

    /// Samples per second; unknown where the steps take no time.
    pub fn per_s(&self) -> Option<f64> {
        let ns: f64 = self.steps.iter().map(|(ns, _)| *ns as f64).sum();
        (ns > 0.0).then(|| self.total() / (ns / 1e9))
    }

    fn total(&self) -> f64 {
        self.steps.iter().map(|(_, samples)| samples).sum()
    }
}

/// The samples of the steps that count; none if no step says.
pub fn samples(trace: &Trace, steps: &Steps) -> Option<Samples> {
    let counters = trace.counters();
    let ours: Vec<bool> = counters.series().iter().map(|one| trace.text(one.name) == SAMPLES_COUNTER).collect();
    if steps.synthetic || !ours.contains(&true) {
        return None;
    }
    // The last value inside of a step counts: a program may correct itself.
    let mut of_step: Vec<Option<f64>> = vec![None; steps.steps.len()];
    for row in counters.rows().filter(|row| ours[row.series.index()]) {
        let value = row.value.to_f64();
        if let Some(at) = host_step(steps, row.at).filter(|_| value.is_finite() && value >= 0.0) {
            of_step[at] = Some(value);
        }
    }
    let all_partial = steps.steps.iter().all(|step| step.partial);
    let found: Vec<(i64, f64)> = (steps.steps.iter().zip(of_step))
        .filter(|(step, _)| all_partial || !step.partial)
        .filter_map(|(step, samples)| Some((step.end_ns.saturating_sub(step.start_ns), samples?)))
        .collect();
    (!found.is_empty()).then_some(Samples { steps: found })
}

/// The step whose host range holds a moment.
fn host_step(steps: &Steps, at: Ns) -> Option<usize> {
    let found = steps.steps.partition_point(|step| Ns(step.host_start_ns) <= at).checked_sub(1)?;
    (at <= Ns(steps.steps[found].host_end_ns)).then_some(found)
}

#[cfg(test)]
mod tests {
    use stepscope_model::{ArgValue, Series, TraceBuilder};

    use super::super::Step;
    use super::*;

    fn told(values: &[(i64, i64)]) -> Trace {
        let mut b = TraceBuilder::new();
        b.lane(Default::default());
        for (name, at, value) in [("another counter", 0, 7)]
            .into_iter()
            .chain(values.iter().map(|(at, value)| (SAMPLES_COUNTER, *at, *value)))
        {
            let key = b.intern("value");
            b.push_arg(key, ArgValue::Int(value));
            let values = b.pushed_numbers().unwrap();
            b.commit_args();
            let series = Series { name: b.intern(name), part: key, ..Series::default() };
            let series = b.series(series).unwrap();
            b.count(Ns(at), &[(series, values[0].1)]);
        }
        b.finish()
    }

    /// Three steps of 100, 200 and 100 ns on the host; the device is late by 50.
    fn steps() -> Steps {
        let step = |number: i64, start: i64, end: i64, partial: bool| Step {
            step: number,
            name: format!("ProfilerStep#{number}"),
            start_ns: start + 50,
            end_ns: end + 50,
            host_start_ns: start,
            host_end_ns: end,
            device_slices: 1,
            partial,
            partial_reason: None,
        };
        let steps = vec![step(0, 1000, 1100, false), step(1, 1100, 1300, false), step(2, 1300, 1400, true)];
        Steps { steps, ..Steps::default() }
    }

    #[test]
    fn samples_belong_to_the_step_they_are_told_in() {
        let found = samples(&told(&[(1050, 32), (1200, 64), (1350, 64)]), &steps()).unwrap();
        // The last step is partial.
        assert_eq!(found.steps, [(100, 32.0), (200, 64.0)]);
        assert_eq!(found.per_step(), 48.0);
        assert_eq!(found.per_s(), Some(96.0 / 300e-9));
        let some = samples(&told(&[(1200, 64)]), &steps()).unwrap();
        assert_eq!(some.steps, [(200, 64.0)], "a step that does not say is left out");
    }

    #[test]
    fn what_nobody_told_is_unknown() {
        assert_eq!(samples(&told(&[]), &steps()), None);
        assert_eq!(samples(&told(&[(500, 64), (9000, 64)]), &steps()), None, "outside of the steps");
        assert_eq!(samples(&told(&[(1050, -3)]), &steps()), None);
        assert_eq!(samples(&told(&[(1050, 64)]), &Steps { synthetic: true, ..steps() }), None);
    }
}
