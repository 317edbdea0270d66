//! Data loading: how long each step waited for its batch, and whether the device had work meanwhile.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, Order, Trace};

use crate::devices::streams::{Stream, streams};
use crate::names::by_name::ByName;
use crate::names::ranges::looks_like_data_loading;
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::{Collector, Intervals};
use crate::steps::Steps;
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

pub const DEFINITIONS: &[Definition] = definitions! {
    crate::steps::STEP;
    crate::steps::WALL;
    "loading_ns", "Loading" =>
        "Time the main thread spent in the data loader's next batch (DataLoader, DataPipe, Lightning), or in a user's \
         range whose name suggests that it loads data, which is a heuristic.";
    "exposed_ns", "Exposed" =>
        "The part of loading during which no device did any work. The rest is hidden behind work launched before.";
    "self_ns", "Self" =>
        "Time during which this was the innermost slice on the main thread while it loaded data, in the whole trace.";
    "workers", "Workers" =>
        "Whether batches come from worker processes, by the loader's name in the trace: _MultiProcessingDataLoaderIter \
         against _SingleProcessDataLoaderIter. None if neither name is there.";
};

/// One step's data loading.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadingRow {
    pub step: i64,
    pub wall_ns: i64,
    /// Time in data loading.
    pub loading_ns: i64,
    /// Time in data loading while no device worked.
    pub exposed_ns: i64,
}

/// Data loading of all steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DataLoading {
    /// One row per step.
    pub rows: Vec<LoadingRow>,
    /// Sum over the steps.
    pub loading_ns: i64,
    /// Sum over the steps.
    pub exposed_ns: i64,
    /// Sum over the steps.
    pub wall_ns: i64,
    /// Whether worker processes are used, if the trace tells.
    pub workers: Option<bool>,
    /// The name of the range in which batches are fetched, the one with most time.
    pub range: Option<String>,
    /// Host operators that ran inside of it, by time: the transforms, if the main thread runs them.
    pub operators: Vec<(String, i64)>,
}

pub fn data_loading(trace: &Trace, steps: &Steps) -> DataLoading {
    compute(trace, steps, &HostTime::new(trace), &streams(trace))
}

pub(crate) fn compute(trace: &Trace, steps: &Steps, host: &HostTime, streams: &[Stream]) -> DataLoading {
    let mut report = DataLoading::default();
    let Some(main) = host.main() else { return report };
    let slices = trace.slices();
    let mut loading = Collector::default();
    let mut by_name = hashbrown::HashMap::<_, Ns, foldhash::fast::RandomState>::default();
    // TensorFlow may fetch batches on a thread of its own, for which the main one waits.
    let other = trace.meta().framework.is_some();
    let segments = if other { host.timeline(main) } else { host.of_lane(main) };
    for segment in segments.iter().filter(|s| s.activity == Activity::DataLoading) {
        loading.add(segment.start, segment.end);
        if let Some(slice) = segment.slice {
            *by_name.entry(slices.name(slice)).or_default() += segment.end - segment.start;
        }
    }
    let loading = loading.finish();
    let mut busy = Collector::default();
    streams.iter().flat_map(|s| &s.work).for_each(|w| busy.add(w.start, w.end));
    let exposed = loading.subtract(&busy.finish());
    let windows = steps.windows();
    let of_steps = |set: &Intervals| -> Vec<Ns> { set.lengths_in(&windows) };
    for ((step, loading), exposed) in steps.steps.iter().zip(of_steps(&loading)).zip(of_steps(&exposed)) {
        let wall_ns = (step.window().1 - step.window().0).0;
        report.rows.push(LoadingRow { step: step.step, wall_ns, loading_ns: loading.0, exposed_ns: exposed.0 });
        report.loading_ns = report.loading_ns.saturating_add(loading.0);
        report.exposed_ns = report.exposed_ns.saturating_add(exposed.0);
        report.wall_ns = report.wall_ns.saturating_add(wall_ns);
    }
    // Ranges hold the operators; the loader's own name is the better answer than a user's range around it.
    let mut ranges = hashbrown::HashMap::<_, Ns, foldhash::fast::RandomState>::default();
    let mut loads = ByName::new(trace, looks_like_data_loading);
    let fetching = host.backward().iter().copied().filter(|_| other);
    for id in [main].into_iter().chain(fetching).flat_map(|lane| slices.of_lane(lane)) {
        if loads.get(slices.name(id)) {
            *ranges.entry(slices.name(id)).or_default() += slices.dur(id);
        }
    }
    let own = |name: &str| crate::names::ranges::is_data_loading(name);
    let best =
        ranges.iter().max_by_key(|(name, ns)| (own(trace.text(**name)), **ns, std::cmp::Reverse(name.index())));
    report.range = best.map(|(name, _)| trace.text(*name).to_owned());
    let named = |word: &str| ranges.keys().any(|name| trace.text(*name).contains(word));
    report.workers = if named("_MultiProcessingDataLoaderIter") {
        Some(true)
    } else {
        named("_SingleProcessDataLoaderIter").then_some(false)
    };
    let mut operators: Vec<_> = by_name.into_iter().map(|(n, ns)| (trace.text(n).to_owned(), ns.0)).collect();
    operators.retain(|(name, _)| !looks_like_data_loading(name));
    operators.order_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    report.operators = operators;
    report
}
