//! What a program does only once: compiling code and loading it onto the device. Shared by the rules that must not
//! blame it on something else.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns, SliceId};

use crate::activity::Activity;
use crate::by_name::ByName;
use crate::findings::Context;
use crate::intervals::{Collector, Intervals};
use crate::replay::{HostPiece, Scenario};

/// Clocks of host and profiler events differ by a few microseconds.
const SLACK: Ns = Ns(10_000);

/// Time in compilation and loading, by step. As a scenario: the run without it.
#[derive(Default)]
pub(super) struct WarmUp {
    /// Compilation on the host, a figure a step.
    pub(super) compiling: Vec<i64>,
    /// Loading of code that is not part of a compilation, a figure a step.
    pub(super) loading: Vec<i64>,
    /// Slices that show it, compilation first.
    pub(super) slices: Vec<SliceId>,
    /// Host slices with time of loading in them.
    shorter: HashMap<SliceId, i64, RandomState>,
}

impl WarmUp {
    /// Both, for a step by its position.
    pub(super) fn of_step(&self, step: usize) -> i64 {
        let at = |all: &[i64]| all.get(step).copied().unwrap_or(0);
        at(&self.compiling) + at(&self.loading)
    }
}

impl Scenario for WarmUp {
    fn host(&self, piece: &HostPiece) -> i64 {
        let ns = piece.ns;
        if piece.activity == Activity::Compilation {
            return 0;
        }
        match piece.slice.and_then(|slice| self.shorter.get(&slice)) {
            // A slice has several pieces; the loading is in one that is long enough for it.
            Some(&loading) if ns >= loading => ns - loading,
            _ => ns,
        }
    }
}

/// Looks for it in all steps.
pub(super) fn find(context: &Context<'_>) -> WarmUp {
    let mut found = WarmUp::default();
    let (host, slices) = (context.host(), context.trace.slices());
    let Some(main) = host.main() else { return found };
    let windows: Vec<(Ns, Ns)> =
        context.steps.steps.iter().map(|s| (Ns(s.host_start_ns), Ns(s.host_end_ns))).collect();
    let (mut compiling, mut loading) = (Collector::default(), Collector::default());
    for &window in &windows {
        host.doing(main, window, |piece| {
            if piece.activity == Activity::Compilation {
                compiling.add(piece.start, piece.end);
                found.slices.extend(piece.slice);
            }
        });
    }
    let mut loads = ByName::new(context.trace, loads_code);
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
        let threads = [main].into_iter().chain(host.backward().iter().copied());
        let in_call = threads.flat_map(|lane| host.within(lane, (start, end))).find(|s| {
            s.slice.is_some_and(|call| slices.kind(call).is_runtime())
                && s.start <= start + SLACK
                && end <= s.end + SLACK
        });
        let mut within = |slice: Option<SliceId>, ns: i64| {
            if let Some(slice) = slice {
                let all = found.shorter.entry(slice).or_default();
                *all = (*all + ns).min(slices.dur(slice).0);
            }
        };
        match in_call {
            Some(call) => within(call.slice, (end - start).0),
            None => host.doing(main, (start, end), |piece| within(piece.slice, (piece.end - piece.start).0)),
        }
    }
    let in_steps = |set: &Intervals| -> Vec<i64> { set.lengths_in(&windows).iter().map(|ns| ns.0).collect() };
    let compiling = compiling.finish();
    let loading = loading.finish().subtract(&compiling);
    (found.compiling, found.loading) = (in_steps(&compiling), in_steps(&loading));
    found
}

/// Whether a call, or a pause the profiler saw, loads or builds device code.
fn loads_code(name: &str) -> bool {
    const CALLS: [&str; 8] = [
        "cuModuleLoad",
        "cuLibraryLoad",
        "cudaLibraryLoad",
        "cuLink",
        "hipModuleLoad",
        "hipLibraryLoad",
        "nvrtc",
        "hiprtc",
    ];
    CALLS.iter().any(|call| name.starts_with(call))
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
