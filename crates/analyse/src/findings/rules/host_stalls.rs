//! Python that holds a step up by itself: a long stretch in which nothing is launched.

use stepscope_model::{Ns, SliceId};

use crate::causes::cause::Cause;
use crate::causes::idle::GapPart;
use crate::findings::{Confidence, Context, Edit, Estimate, Evidence, Figure, Finding, Rule, Threshold};
use crate::names::ranges::step_number;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "host_stalls",
    about: "The device waits while Python does something long without launching work: logging, checkpoints, NumPy, sleeping.",
    thresholds: &[
        Threshold {
            name: "host_stalls.min_ms",
            default: 1.0,
            text: "milliseconds of Python without a launch, the device idle, that make a stall",
        },
        Threshold { name: "host_stalls.min_share", default: 0.05, text: "share of the steps in such stalls" },
    ],
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, host) = (context.trace(), context.host());
    let least = Ns((context.limit("host_stalls.min_ms") * 1e6) as i64);
    let idle = context.idle();
    // One device is enough: the others wait for the same host.
    let device = idle.gaps().next().map(|gap| gap.device);
    let of_device = device.into_iter().flat_map(|device| idle.of_device(device));
    let is_stall =
        |part: &GapPart| part.cause == Cause::Host(Activity::Python) && part.end - part.start >= least;
    let stalls: Vec<GapPart> = of_device.flat_map(|gap| idle.parts(&gap)).filter(is_stall).collect();
    let total: Ns = stalls.iter().map(|part| part.end - part.start).sum();
    let wall = context.steps().wall_ns().max(1);
    let share = total.0 as f64 / wall as f64;
    if share < context.limit("host_stalls.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(trace);
    for part in &stalls {
        let lanes = host.main().into_iter().chain(host.backward().iter().copied());
        let segments = lanes.flat_map(|lane| host.within(lane, (part.start, part.end)));
        segments.filter(|s| s.slice.is_some() && s.slice == part.slice).for_each(|s| edit.remove_piece(s));
    }
    let per_step = context.per_step(total.0);
    let replayed = context.saves(&edit);
    // What other ranks or threads wait for cannot be replayed from here: then the time itself is the bound.
    let (saves, estimate) = match replayed.recorded_ns >= per_step / 2 {
        true => (replayed, Estimate::Replay),
        false => (context.measured(per_step), Estimate::UpperBound),
    };
    let Some(mut finding) = context.costing(RULE.name, saves, estimate) else { return Vec::new() };
    let longest = stalls.iter().max_by_key(|part| part.end - part.start);
    let slice: Option<SliceId> = longest.and_then(|part| part.slice);
    let is_step = |name: &str| step_number(name).is_some();
    let place = slice.map(|id| trace.name(context.callers().blamed(id)));
    let place = place.filter(|name| !is_step(name)).unwrap_or("the loop itself");
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Host stalls: the device waits {:.0}% of the time for Python that launches nothing, mostly in {place}",
        share * 100.0
    );
    finding.evidence = vec![
        Evidence::new(
            "stalls per step",
            Figure::Number(stalls.len() as f64 / context.steps().steps.len().max(1) as f64),
            "Stretches of idle time of at least host_stalls.min_ms in which the host was in Python between operators, \
             per step.",
        ),
        Evidence::new("their time per step", Figure::Ns(per_step), "Idle time in these stalls, per step."),
        Evidence::new(
            "the longest",
            Figure::Ns(longest.map_or(0, |part| (part.end - part.start).0)),
            "Device idle time in the longest of them.",
        ),
    ];
    finding.why =
        "Something in the loop keeps the CPU busy for a long time without launching work: preprocessing, saving, \
                   logging, metrics, or waiting for a file or a lock."
            .to_owned();
    finding.fix =
        "Find the line (with_stack=True names it), then do that work less often, in another thread or process, or on \
                   the device."
            .to_owned();
    finding.code = Some(
        "with torch.profiler.profile(with_stack=True) as prof:  # names the line\n    ...\n\
         # work whose result the loop does not need at once goes to another thread:\n\
         pool = concurrent.futures.ThreadPoolExecutor(1)\n\
         pending = pool.submit(slow_function, data)"
            .to_owned(),
    );
    finding.source = slice.and_then(|id| context.source(id));
    finding.verify = "Record again: `stepscope gaps` should no longer list these gaps.".to_owned();
    let ranges = stalls.iter().filter_map(|part| part.slice).filter(|&id| !is_step(trace.name(id)));
    finding.slices = context.shown(ranges);
    finding.range_ns = longest.map(|part| (part.start.0, part.end.0));
    vec![finding]
}
