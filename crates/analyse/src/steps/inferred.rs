//! Steps where none are marked: the runs of one compiled function.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, LaneId, Ns, StrId, Trace};

use super::ranges::new_step;
use super::step::Step;
use crate::names::by_name::ByName;
use crate::names::framework::compiled_function;
use crate::scope::extent::extent;

/// Fewer runs are no loop.
const MIN_RUNS: usize = 3;

/// One thread's runs of one function, outermost calls only, in order.
#[derive(Default)]
struct Runs {
    total: Ns,
    windows: Vec<(Ns, Ns)>,
}

/// The steps from one run of the function that takes most of the host's time to the next, and the function. None where a
/// trace does not tell compiled functions apart, or none of them runs over and over.
pub(super) fn from_runs(trace: &Trace) -> (Vec<Step>, Option<String>) {
    if trace.meta().framework.is_none() {
        return (Vec::new(), None);
    }
    let slices = trace.slices();
    let mut is_run = ByName::new(trace, |name| compiled_function(name).is_some());
    let mut runs: HashMap<(LaneId, StrId), Runs, RandomState> = HashMap::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::FrameworkCall) {
        if !is_run.get(slices.name(id)) {
            continue;
        }
        let of = runs.entry((slices.lane(id), slices.name(id))).or_default();
        let (start, end) = (slices.start(id), slices.end(id));
        // A call is written down by each of two layers.
        if of.windows.last().is_none_or(|last| last.1 <= start) {
            of.windows.push((start, end));
            of.total += end - start;
        }
    }
    let repeated = runs.into_iter().filter(|(_, runs)| runs.windows.len() >= MIN_RUNS);
    let Some(((_, name), runs)) = repeated.max_by_key(|((lane, name), runs)| (runs.total, *lane, *name)) else {
        return (Vec::new(), None);
    };
    let function = compiled_function(trace.text(name)).unwrap_or_default().to_owned();
    let starts: Vec<Ns> = runs.windows.iter().map(|window| window.0).collect();
    let mut periods: Vec<Ns> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    periods.sort_unstable();
    // The last run goes on for as long as they usually do, or until the recording ends.
    let usual = periods[periods.len() / 2];
    let last_end = runs.windows.last().map_or(Ns::ZERO, |last| last.1);
    let recorded = extent(trace, |kind| kind.is_host() && kind != Kind::Overhead).map_or(last_end, |e| e.1);
    let ends = starts.iter().skip(1).copied();
    let last = starts.last().map(|&start| (start + usual).max(last_end).min(recorded));
    let windows = starts.iter().zip(ends.chain(last));
    let steps =
        windows.enumerate().map(|(number, (&start, end))| new_step(number as i64, &function, start, end));
    (steps.collect(), Some(function))
}
