//! Where the main thread is while it runs Python between operators or loads data: by the program's own functions.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns, Order, SliceId, StrId, Trace};

use crate::names::library_file::is_library_file;
use crate::names::python_frame::{PythonFrame, python_frame};
use crate::scope::windows::Windows;
use crate::threads::activity::Activity;
use crate::threads::callers::Callers;
use crate::threads::host_time::HostTime;
use crate::threads::sampled::SampleLanes;

/// Samples are looked up so often, but not more than so many times per stretch.
const LOOKUP_EVERY_NS: i64 = 500_000;
const MAX_LOOKUPS: i64 = 64;
/// Frames that are walked up to find the program's own.
const MAX_DEPTH: usize = 512;

/// The main thread's time in an activity, and in which functions of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonPlaces {
    pub ns: i64,
    /// The largest first.
    pub places: Vec<PythonPlace>,
}

/// One function of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonPlace {
    /// As traces write it: `train.py(12): step`.
    pub frame: String,
    /// Time while it was the innermost function of the program.
    pub ns: i64,
    /// The part of it while it was the innermost function of all: its own code, and the C code that it calls.
    pub own_ns: i64,
}

impl PythonPlaces {
    /// The first, if it has such a share of the time.
    pub(crate) fn leading(&self, min_share: f64) -> Option<&PythonPlace> {
        self.places.first().filter(|most| most.ns as f64 >= min_share * self.ns as f64)
    }
}

impl PythonPlace {
    /// As a sentence names it: `step (train.py:12)`.
    pub fn describe(&self) -> String {
        let PythonFrame { name, file, line } = python_frame(&self.frame);
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        if file.is_empty() { name.to_owned() } else { format!("{name} ({file}:{line})") }
    }
}

/// Looks at the main thread's time in an activity, in the windows: at the functions that were recorded, else at those that a sampler saw.
pub(crate) fn python_places(
    trace: &Trace,
    host: &HostTime,
    callers: &Callers,
    sampled: &SampleLanes,
    windows: &[(Ns, Ns)],
    activity: Activity,
) -> PythonPlaces {
    let mut found = PythonPlaces::default();
    let Some(lane) = host.main() else { return found };
    let (slices, tree) = (trace.slices(), callers.tree());
    let is_function = |id: &SliceId| slices.kind(*id) == Kind::PythonFunction;
    let mut own_names: HashMap<StrId, bool, RandomState> = HashMap::default();
    let mut sums: HashMap<StrId, (i64, i64), RandomState> = HashMap::default();
    let mut add = |innermost: Option<SliceId>, ns: i64| {
        let around =
            std::iter::successors(innermost, |&id| tree.parent(id)).take(MAX_DEPTH).filter(is_function);
        let mut is_own = |id: &SliceId| {
            *own_names.entry(slices.name(*id)).or_insert_with(|| {
                let file = python_frame(trace.name(*id)).file;
                !file.is_empty() && !is_library_file(file)
            })
        };
        let Some((depth, frame)) = around.enumerate().find(|(_, id)| is_own(id)) else { return };
        let sum = sums.entry(slices.name(frame)).or_default();
        sum.0 = sum.0.saturating_add(ns);
        if depth == 0 {
            sum.1 = sum.1.saturating_add(ns);
        }
    };
    let windows = Windows::new(windows, |_| true);
    for &(from, to) in windows.spans() {
        for segment in host.within(lane, (from, to)).iter().filter(|s| s.activity == activity) {
            let (start, end) = (segment.start.max(from), segment.end.min(to));
            let ns = end.0.saturating_sub(start.0);
            if ns <= 0 {
                continue;
            }
            found.ns = found.ns.saturating_add(ns);
            let recorded = segment.slice.filter(|&slice| {
                std::iter::successors(Some(slice), |&id| tree.parent(id))
                    .take(MAX_DEPTH)
                    .any(|id| is_function(&id))
            });
            if recorded.is_some() {
                add(recorded, ns);
                continue;
            }
            let looks = (ns / LOOKUP_EVERY_NS).clamp(1, MAX_LOOKUPS);
            let part = ns / looks;
            for look in 0..looks {
                let at = Ns(start.0.saturating_add(part.saturating_mul(look)).saturating_add(part / 2));
                add(sampled.at(trace, tree, lane, at), part);
            }
        }
    }
    let named = sums.into_iter().map(|(name, (ns, own_ns))| PythonPlace {
        frame: trace.text(name).to_owned(),
        ns,
        own_ns,
    });
    found.places = named.collect();
    found.places.order_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.frame.cmp(&b.frame)));
    found
}
