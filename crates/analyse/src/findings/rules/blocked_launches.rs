//! Launches that are stalled in the driver because another thread holds it.

use stepscope_model::{LaneId, Ns, SliceId};

use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::calls::is_allocation;
use crate::scope::intervals::Collector;
use crate::scope::quantile::quantile;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "blocked_launches",
    about: "Launch calls are blocked in the driver while another thread allocates memory, such as a data loader's pinning \
            thread.",
    thresholds: thresholds! {
        "blocked_launches.min_ms" = 0.5, "milliseconds a launch call must take to count as blocked";
        "blocked_launches.min_overlap" = 0.5, "share of such a call during which another thread is in an allocating call";
    },
    answers: &["host", "memory_allocation"],
    check,
    ..USUAL
};

/// Launch calls that stood still, and the median of all.
struct BlockedLaunches {
    calls: Vec<SliceId>,
    ns: i64,
    median: i64,
    /// Allocating calls of other threads meanwhile.
    allocations: Vec<SliceId>,
}

fn find(context: &Context<'_>) -> BlockedLaunches {
    let (trace, slices, host) = (context.trace(), context.trace().slices(), context.host());
    let mut found = BlockedLaunches { calls: Vec::new(), ns: 0, median: 0, allocations: Vec::new() };
    let least = Ns((context.threshold("blocked_launches.min_ms") * 1e6) as i64);
    let threads: Vec<LaneId> = host.main().into_iter().chain(host.backward().iter().copied()).collect();
    let in_steps = |at: Ns| context.steps().at(at).is_some();
    let launches = threads.iter().flat_map(|&lane| host.of_lane(lane));
    let launches = launches.filter(|s| s.activity == Activity::Launch && in_steps(s.start));
    let mut lengths: Vec<i64> = Vec::new();
    let mut long: Vec<(Ns, Ns, SliceId)> = Vec::new();
    for segment in launches {
        lengths.push((segment.end - segment.start).0);
        if segment.end - segment.start >= least {
            long.extend(segment.slice.map(|call| (segment.start, segment.end, call)));
        }
    }
    found.median = quantile(&mut lengths, 0.5);
    if long.is_empty() {
        return found;
    }
    let mut allocates = ByName::new(trace, is_allocation);
    let mut others = Collector::default();
    for (lane, _) in trace.lanes().iter().filter(|(lane, _)| !host.runs_the_program(*lane)) {
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id).is_runtime()) {
            if allocates.get(slices.name(id)) {
                others.add(slices.start(id), slices.end(id));
                found.allocations.push(id);
            }
        }
    }
    let others = others.finish().measured();
    for (start, end, call) in long {
        let overlap = others.length_in((start, end)).0 as f64 / (end - start).0.max(1) as f64;
        if overlap >= context.threshold("blocked_launches.min_overlap") {
            found.calls.push(call);
            found.ns = found.ns.saturating_add((end - start).0);
        }
    }
    found
}

/// Part of the steps that such calls take.
pub(super) fn share(context: &Context<'_>) -> f64 {
    let wall = context.steps().wall_ns();
    find(context).ns as f64 / wall.max(1) as f64
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let blocked = find(context);
    if blocked.calls.is_empty() {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    blocked.calls.iter().for_each(|&call| edit.host_length(call, blocked.median));
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let (trace, slices) = (context.trace(), context.trace().slices());
    let steps = context.steps().steps.len().max(1) as i64;
    let longest = blocked.calls.iter().map(|&call| slices.dur(call).0).max().unwrap_or(0);
    let what = blocked
        .allocations
        .iter()
        .max_by_key(|&&id| slices.dur(id))
        .map_or("", |&id| trace.name(id))
        .to_owned();
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Blocked launches: launch calls take up to {:.0} ms while another thread is in {what}",
        longest as f64 / 1e6
    );
    finding.evidence = evidence! {
        "blocked calls per step" => Amount::Number(blocked.calls.len() as f64 / steps as f64),
            "Launch calls longer than blocked_launches.min_ms, with another thread in an allocating call for at least half of \
             that time, per step.";
        "their time per step" => Amount::Ns(blocked.ns / steps), "Time the launching threads spent in these calls.";
        "median launch call" => Amount::Ns(blocked.median), "The median time of all launch calls.";
    };
    finding.why = "The driver has one lock for much of its work. Allocating pinned memory holds it for milliseconds, and launches from \
                   other threads wait. A data loader's pinning thread allocates until its cache of pinned buffers is large enough."
        .to_owned();
    finding.fix = "Skip more steps before recording: once the buffers exist they are reused. If launches stay blocked, keep batch sizes \
                   constant (drop_last=True), keep the loader alive between epochs, or let PyTorch reserve pinned memory up front."
        .to_owned();
    finding.code = Some(
        "loader = DataLoader(dataset, ..., persistent_workers=True, drop_last=True)\n\
         # before importing torch: one large pinned segment instead of many small ones\n\
         os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"pinned_reserve_segment_size_mb:1024\""
            .to_owned(),
    );
    finding.verify =
        "Record again after more warm-up: launch calls should no longer lead `stepscope critical-path`."
            .to_owned();
    finding.slices = context.shown(blocked.calls.iter().copied());
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}
