//! The calls of all threads together, as a profile.

use std::collections::BTreeMap;

use stepscope_model::{CallRow, Caller, Frame, FrameId, Ns, Profile};

use super::{FunctionId, NO_CALLER, ThreadCalls};

/// Calls, primitive calls, own ticks, total ticks.
#[derive(Copy, Clone, Default)]
struct CallSums {
    calls: u64,
    primitive: u64,
    own: u64,
    total: u64,
}

impl CallSums {
    fn add(&mut self, more: CallSums) {
        self.calls += more.calls;
        self.primitive += more.primitive;
        self.own += more.own;
        self.total += more.total;
    }
}

/// Calls that have ended, of any number of threads.
#[derive(Clone, Default)]
pub struct CallTotals {
    functions: BTreeMap<FunctionId, CallSums>,
    edges: BTreeMap<(FunctionId, FunctionId), CallSums>,
}

impl CallTotals {
    /// Adds a thread's calls; no call of it is open.
    pub fn add(&mut self, thread: &ThreadCalls) {
        for function in &thread.functions {
            let sums = self.functions.entry(function.id).or_default();
            sums.add(CallSums { primitive: function.primitive, total: function.total, ..CallSums::default() });
        }
        for edge in &thread.edges {
            let called = thread.functions[edge.called as usize].id;
            let sums =
                CallSums { calls: edge.calls, primitive: edge.primitive, own: edge.own, total: edge.total };
            let own = CallSums { calls: edge.calls, own: edge.own, ..CallSums::default() };
            self.functions.entry(called).or_default().add(own);
            if edge.caller != NO_CALLER {
                let caller = thread.functions[edge.caller as usize].id;
                self.edges.entry((called, caller)).or_default().add(sums);
            }
        }
    }

    /// How many calls have ended.
    pub fn calls(&self) -> u64 {
        self.functions.values().map(|sums| sums.calls).sum()
    }

    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, u64)> {
        self.functions.iter().map(|(&id, sums)| (id, sums.calls))
    }

    /// A row per function. `name` gives the file, line and name of each; those with the same three are one row, and those
    /// without are left out.
    pub fn profile(
        &self,
        ns: impl Fn(u64) -> Ns,
        mut name: impl FnMut(FunctionId) -> Option<(String, u32, String)>,
    ) -> Profile {
        let mut profile = Profile::default();
        let mut frames: BTreeMap<FunctionId, FrameId> = BTreeMap::new();
        let mut rows: BTreeMap<FrameId, (CallSums, BTreeMap<FrameId, CallSums>)> = BTreeMap::new();
        for (&id, &sums) in self.functions.iter().filter(|(_, sums)| sums.calls > 0) {
            let Some((file, line, name)) = name(id) else { continue };
            let frame = Frame { name: profile.stacks.intern(&name), file: profile.stacks.intern(&file), line };
            let frame = profile.stacks.frame(frame);
            frames.insert(id, frame);
            rows.entry(frame).or_default().0.add(sums);
        }
        for ((called, caller), &sums) in self.edges.iter().filter(|(_, sums)| sums.calls > 0) {
            let (Some(called), Some(&caller)) = (frames.get(called), frames.get(caller)) else { continue };
            if let Some((_, callers)) = rows.get_mut(called) {
                callers.entry(caller).or_default().add(sums);
            }
        }
        profile.calls = rows
            .into_iter()
            .map(|(frame, (sums, callers))| CallRow {
                frame,
                calls: sums.calls,
                primitive_calls: sums.primitive,
                self_ns: ns(sums.own),
                total_ns: ns(sums.total),
                callers: callers
                    .into_iter()
                    .map(|(frame, sums)| Caller {
                        frame,
                        calls: sums.calls,
                        primitive_calls: sums.primitive,
                        self_ns: ns(sums.own),
                        total_ns: ns(sums.total),
                    })
                    .collect(),
            })
            .collect();
        profile
    }
}
