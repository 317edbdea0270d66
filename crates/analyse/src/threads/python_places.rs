//! Where the main thread is while it runs Python between operators, and where it loads data: by the program's own functions.

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

/// The main thread's time in Python, and in which functions of the program.
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

impl PythonPlace {
    /// As a sentence names it: `step (train.py:12)`.
    pub fn describe(&self) -> String {
        let PythonFrame { name, file, line } = python_frame(&self.frame);
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        if file.is_empty() { name.to_owned() } else { format!("{name} ({file}:{line})") }
    }
}

/// Looks at the main thread's time in the windows: at the functions that were recorded, else at those that a sampler saw.
pub(crate) fn python_places(
    trace: &Trace,
    host: &HostTime,
    callers: &Callers,
    sampled: &SampleLanes,
    windows: &[(Ns, Ns)],
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
        for segment in host.within(lane, (from, to)).iter().filter(|s| s.activity == Activity::Python) {
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

/// The function of the program that a data loader of PyTorch's mostly runs on the main thread, as samples saw it.
///
/// Only what a sample saw at its own moment counts: at others the thread may have been in the loader or out of it since.
pub(crate) fn loading_place(
    trace: &Trace,
    host: &HostTime,
    callers: &Callers,
    sampled: &SampleLanes,
    windows: &[(Ns, Ns)],
) -> Option<String> {
    let (lane, tree) = (host.main()?, callers.tree());
    let windows = Windows::new(windows, |_| true);
    let mut seen: HashMap<&str, u64, RandomState> = HashMap::default();
    let mut all = 0;
    for at in sampled.moments(trace, lane) {
        let spans = windows.spans();
        let is_inside = spans.get(spans.partition_point(|span| span.1 <= at)).is_some_and(|span| span.0 <= at);
        let is_loading = host.at(lane, at).is_some_and(|segment| segment.activity == Activity::DataLoading);
        if !is_inside || !is_loading {
            continue;
        }
        all += 1;
        let innermost = sampled.at(trace, tree, lane, at);
        let stack = std::iter::successors(innermost, |&id| tree.parent(id)).take(MAX_DEPTH);
        let mut frames = stack.map(|id| trace.name(id)).skip_while(|frame| {
            let file = python_frame(frame).file;
            file.is_empty() || is_library_file(file)
        });
        // What is around the loader only asks for the batch.
        if let Some(own) = frames.next().filter(|_| frames.any(|frame| frame.contains(LOADER))) {
            *seen.entry(own).or_default() += 1;
        }
    }
    let (own, count) = seen.into_iter().max_by_key(|&(own, count)| (count, std::cmp::Reverse(own)))?;
    let is_most = count >= MIN_LOADING_SAMPLES && count as f64 >= MIN_LOADING_SHARE * all as f64;
    is_most.then(|| PythonPlace { frame: own.to_owned(), ..PythonPlace::default() }.describe())
}

/// Where PyTorch's loader is.
const LOADER: &str = "torch/utils/data/";
/// Fewer samples may be chance.
const MIN_LOADING_SAMPLES: u64 = 3;
/// A function that was seen less often is not most of it.
const MIN_LOADING_SHARE: f64 = 0.4;
