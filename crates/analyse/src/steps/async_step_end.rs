//! Where the work of steps ends that run on threads of the compiler's runtime: JAX hands a compiled function over and goes
//! on, on CPUs too.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Domain, Kind, LaneId, Ns, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::framework::compiled_function;

/// One run of a compiled program on the host's own processors.
struct CompiledRun {
    first: Ns,
    /// The instruction that ended last.
    last: SliceId,
}

/// A run that a call handed over: where the call is, and where the run ended.
pub(super) struct AsyncRun {
    /// When it was handed over.
    pub(super) call: (Ns, Ns),
    /// On which thread its last instruction ended, and when.
    pub(super) end: (LaneId, Ns),
}

/// All runs of compiled programs with the calls that handed them over: of each function, the first run belongs to the first
/// call, and so on. Runs that began before the recording belong to none. Empty where devices do the work.
pub(super) fn runs(trace: &Trace) -> Vec<AsyncRun> {
    let on_host = trace.lanes().iter().all(|(_, lane)| lane.key.domain == Domain::Host);
    if trace.meta().framework.is_none() || !on_host {
        return Vec::new();
    }
    let slices = trace.slices();
    let mut functions = ByName::new(trace, |name| compiled_function(name).is_some());
    let mut calls: Vec<(Ns, Ns, StrId)> = Vec::new();
    let mut outer = (None, Ns::MIN);
    let mut runs: HashMap<(StrId, i64), CompiledRun, RandomState> = HashMap::default();
    for id in slices.ids() {
        let (start, end, lane) = (slices.start(id), slices.end(id), slices.lane(id));
        match slices.kind(id) {
            // A call is written down by each of two layers.
            Kind::FrameworkCall
                if functions.get(slices.name(id)) && (outer.0 != Some(lane) || outer.1 <= start) =>
            {
                calls.push((start, end, slices.name(id)));
                outer = (Some(lane), end);
            }
            Kind::HostOp => {
                let args = trace.args(id);
                let (Some(program), Some(run)) = (args.text_id(Attr::ProgramName), args.int(Attr::Run)) else {
                    continue;
                };
                let run = runs.entry((program, run)).or_insert(CompiledRun { first: start, last: id });
                run.first = run.first.min(start);
                if slices.end(run.last) < end {
                    run.last = id;
                }
            }
            _ => {}
        }
    }
    calls.sort_unstable();
    let mut waiting: HashMap<String, VecDeque<(Ns, Ns)>, RandomState> = HashMap::default();
    for (start, end, name) in calls {
        if let Some(program) = compiled_function(trace.text(name)).map(program_of) {
            waiting.entry(program).or_default().push_back((start, end));
        }
    }
    let mut runs: Vec<((StrId, i64), CompiledRun)> = runs.into_iter().collect();
    runs.sort_unstable_by_key(|(of, run)| (run.first, *of));
    let mut found = Vec::new();
    for ((program, _), run) in runs {
        let Some(calls) = waiting.get_mut(trace.text(program)) else { continue };
        if calls.front().is_some_and(|call| call.0 <= run.first)
            && let Some(call) = calls.pop_front()
        {
            found.push(AsyncRun { call, end: (slices.lane(run.last), slices.end(run.last)) });
        }
    }
    found
}

/// The program that is made of a function: `jit__lambda_` of `<lambda>`.
fn program_of(function: &str) -> String {
    let plain: String = function.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("jit_{plain}")
}
