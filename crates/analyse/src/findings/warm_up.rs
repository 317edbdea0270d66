//! What a program does only once: compiling code and loading it onto the device. Shared by the rules that must not
//! blame it on something else.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Kind, LaneId, Ns, SliceId};

use crate::names::by_name::ByName;
use crate::names::calls::is_first_use;
use crate::replay::{HostPiece, Scenario};
use crate::run::Run;
use crate::scope::intervals::{Collector, Intervals};
use crate::threads::activity::Activity;

/// Clocks of host and profiler events differ by a few microseconds.
const CLOCK_SLACK: Ns = Ns(10_000);

/// PyTorch has a thread of the backward pass for each device.
const MAX_THREADS: usize = 64;

/// Time in compilation and loading, by step. As a scenario: the run without it.
#[derive(Default)]
pub(super) struct WarmUp {
    /// Compilation on the host, one number per step.
    pub(super) compiling: Vec<i64>,
    /// Loading of code that is not part of a compilation, one number per step.
    pub(super) loading: Vec<i64>,
    /// Slices that show it, compilation first.
    pub(super) slices: Vec<SliceId>,
    /// When the main thread compiles.
    when: Intervals,
    /// Work that other threads launch meanwhile: compilers try what they made.
    trials: HashSet<SliceId, RandomState>,
    /// Host slices with time of loading in them.
    shorter: HashMap<SliceId, i64, RandomState>,
}

impl WarmUp {
    /// Both, for a step by its position.
    pub(super) fn of_step(&self, step: usize) -> i64 {
        let at = |all: &[i64]| all.get(step).copied().unwrap_or(0);
        at(&self.compiling).saturating_add(at(&self.loading))
    }
}

impl Scenario for WarmUp {
    fn host(&self, piece: &HostPiece) -> i64 {
        let ns = piece.ns;
        let compiled = matches!(piece.activity, Activity::Compilation | Activity::FirstUse);
        // Compilers have threads of their own.
        if compiled || self.when.contains(piece.start) {
            return 0;
        }
        match piece.slice.and_then(|slice| self.shorter.get(&slice)) {
            // A slice has several pieces; the loading is in one that is long enough for it.
            Some(&loading) if ns >= loading => ns - loading,
            _ => ns,
        }
    }

    fn device(&self, work: SliceId, ns: i64) -> i64 {
        if self.trials.contains(&work) { 0 } else { ns }
    }
}

/// Looks for it in all steps.
pub(super) fn find(run: &Run) -> WarmUp {
    let mut found = WarmUp::default();
    let (host, slices) = (run.host(), run.trace().slices());
    let Some(main) = host.main() else { return found };
    let windows: Vec<(Ns, Ns)> =
        run.steps().steps.iter().map(|s| (Ns(s.host_start_ns), Ns(s.host_end_ns))).collect();
    let (mut compiling, mut loading) = (Collector::default(), Collector::default());
    // Ranges of steps may overlap; each moment is looked at once.
    let mut reach = Ns::MIN;
    for &(start, end) in &windows {
        let window = (start.max(reach), end);
        reach = reach.max(end);
        if window.0 >= window.1 {
            continue;
        }
        host.doing(main, window, |piece| {
            match piece.activity {
                Activity::Compilation => compiling.add(piece.start, piece.end),
                Activity::FirstUse => loading.add(piece.start, piece.end),
                _ => return,
            }
            found.slices.extend(piece.slice);
        });
    }
    let within = |shorter: &mut HashMap<SliceId, i64, RandomState>, slice: SliceId, ns: Ns| {
        let all = shorter.entry(slice).or_default();
        *all = all.saturating_add(ns.0).min(slices.dur(slice).0);
    };
    let mut strays = Collector::default();
    let mut loads = ByName::new(run.trace(), loads_code);
    for id in
        slices.ids().filter(|&id| matches!(slices.kind(id), Kind::Overhead | Kind::Runtime | Kind::Driver))
    {
        if !loads.get(slices.name(id)) {
            continue;
        }
        let (start, end) = (slices.start(id), slices.end(id));
        loading.add(start, end);
        found.slices.push(id);
        if slices.kind(id) != Kind::Overhead {
            found.shorter.insert(id, slices.dur(id).0);
            continue;
        }
        // The profiler does not say which thread loaded: the one in a call around it, else the main one.
        match call_around(run, main, (start, end)) {
            Some(call) => within(&mut found.shorter, call, end - start),
            None => strays.add(start, end),
        }
    }
    // Pauses that overlap are one, so that each moment is looked at once.
    for &window in strays.finish().as_slice() {
        host.doing(main, window, |piece| {
            if let Some(slice) = piece.slice {
                within(&mut found.shorter, slice, piece.end - piece.start);
            }
        });
    }
    let in_steps = |set: Intervals| -> Vec<i64> {
        let set = set.measured();
        windows.iter().map(|&window| set.length_in(window).0).collect()
    };
    let compiling = compiling.finish();
    let loading = loading.finish().subtract(&compiling);
    if run.trace().meta().framework.is_some() {
        found.when = compiling.clone();
    }
    for work in run.device_work().filter(|_| !found.when.is_empty()) {
        let call = run.trace().links().launch(work);
        if call.is_some_and(|call| found.when.contains(slices.start(call))) {
            found.trials.insert(work);
        }
    }
    (found.compiling, found.loading) = (in_steps(compiling), in_steps(loading));
    found
}

/// The call that a pause lies in, on the main thread or one of the first of the backward pass.
fn call_around(run: &Run, main: LaneId, (start, end): (Ns, Ns)) -> Option<SliceId> {
    let (host, slices) = (run.host(), run.trace().slices());
    let threads = [main].into_iter().chain(host.backward().iter().copied().take(MAX_THREADS));
    // A call around it is open in its middle; a short pause may lie just beside.
    let middle = Ns((start.0 / 2).saturating_add(end.0 / 2));
    let moments = [middle, start, end];
    let at = threads.flat_map(|lane| moments.into_iter().filter_map(move |at| host.at(lane, at)));
    let mut calls = at.filter_map(|s| Some((s, s.slice.filter(|&call| slices.kind(call).is_runtime())?)));
    calls.find(|(s, _)| s.start <= start + CLOCK_SLACK && end <= s.end + CLOCK_SLACK).map(|found| found.1)
}

/// Whether a call, or a pause the profiler saw, loads or builds device code, or sets a device up.
fn loads_code(name: &str) -> bool {
    is_first_use(name)
        || ["Lazy Function Loading", "Module Loading", "Driver Compiler"]
            .iter()
            .any(|pause| name.contains(pause))
}

#[cfg(test)]
mod tests {
    use super::loads_code;

    #[test]
    fn loading_by_name() {
        for name in [
            "Lazy Function Loading",
            "Runtime Triggered Module Loading",
            "cuModuleLoadData",
            "cuLibraryLoadData",
        ] {
            assert!(loads_code(name), "{name}");
        }
        for name in
            ["Activity Buffer Request", "Command Buffer Full", "cudaLaunchKernel", "cuModuleGetFunction"]
        {
            assert!(!loads_code(name), "{name}");
        }
    }
}
