//! The program's own work that holds a step up: a long stretch in which nothing is launched.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Ns, SliceId};

use super::eager_operations;
use super::xla::{JAX_PREFETCH, TF_PIPELINE};
use crate::causes::cause::Cause;
use crate::causes::idle::{Gap, GapPart};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, OtherFrameworks, Rule, USUAL, evidence, is_users,
    thresholds,
};
use crate::names::ranges::step_number;
use crate::scope::share::percent;
use crate::threads::activity::Activity;
use crate::threads::host_time::Segment;

pub(super) const RULE: Rule = Rule {
    name: "host_stalls",
    about: "The device waits while the program does something long of its own: preparing data, logging, checkpoints, \
            NumPy, sleeping.",
    thresholds: thresholds! {
        "host_stalls.min_ms" = 1.0,
            "milliseconds of Python and operators without a launch, in one gap of the device, that make a stall";
        "host_stalls.min_share" = 0.05, "share of the steps in such stalls";
    },
    other_frameworks: OtherFrameworks::Words(reword),
    answers: &["host"],
    check,
    ..USUAL
};

/// A gap of a device for which Python, or operators that launch nothing, are to blame.
struct Stall {
    /// The host's segments in it, with their recorded time.
    pieces: Vec<Segment>,
    ns: i64,
    /// How much of that passed in operators of the framework.
    in_operators_ns: i64,
}

fn stalls(context: &Context<'_>) -> Vec<Stall> {
    let least = (context.threshold("host_stalls.min_ms") * 1e6) as i64;
    let idle = context.idle();
    let launching = launching_operators(context);
    // One device is enough: the others wait for the same host.
    let device = idle.gaps().next().map(|gap| gap.device);
    let of_device = device.into_iter().flat_map(|device| idle.of_device(device));
    let of_gap = |gap: Gap| -> Stall {
        let mut stall = Stall { pieces: Vec::new(), ns: 0, in_operators_ns: 0 };
        for part in idle.parts(&gap).iter().filter(|part| is_own_work(context, part, &launching)) {
            let ns = add_pieces(context, part, &mut stall.pieces);
            stall.ns = stall.ns.saturating_add(ns);
            if part.cause == Cause::Host(Activity::Operator) {
                stall.in_operators_ns = stall.in_operators_ns.saturating_add(ns);
            }
        }
        stall
    };
    let long = of_device.filter(|gap| (gap.end - gap.start).0 >= least);
    long.map(of_gap).filter(|stall| stall.ns >= least.max(1)).collect()
}

/// Adds the host's segments of a part of a gap; gives back their time without the profiler.
fn add_pieces(context: &Context<'_>, part: &GapPart, pieces: &mut Vec<Segment>) -> i64 {
    let host = context.host();
    let lanes = host.main().into_iter().chain(host.backward().iter().copied());
    let within = lanes.flat_map(|lane| host.within_numbered(lane, (part.start, part.end)));
    let mut all = Ns::ZERO;
    for (number, segment) in within.filter(|(_, s)| s.slice.is_some() && s.slice == part.slice) {
        let ns = (segment.end.min(part.end) - segment.start.max(part.start)).0;
        let whole = (segment.end - segment.start).0;
        all += Ns(ns - context.recording().of_piece(number, ns, whole));
        pieces.push(*segment);
    }
    all.0
}

/// Whether the program itself did something then: Python, or an operator that launches nothing.
fn is_own_work(context: &Context<'_>, part: &GapPart, launching: &HashSet<SliceId, RandomState>) -> bool {
    match part.cause {
        Cause::Host(Activity::Python) => true,
        Cause::Host(Activity::Operator) => {
            // The backward pass belongs to the framework: what takes long there is not the program's own.
            part.slice.is_some_and(|slice| {
                Some(context.trace().slices().lane(slice)) == context.host().main()
                    && !launching.contains(&context.callers().blamed(slice))
            })
        }
        _ => false,
    }
}

/// The outermost operators that launch device work.
fn launching_operators(context: &Context<'_>) -> HashSet<SliceId, RandomState> {
    let launches = context.device_work().filter_map(|work| context.trace().links().launch(work));
    launches.map(|call| context.callers().blamed(call)).collect()
}

/// The function of the program in which a sampler saw most of the stalls, where one looked.
fn sampled<'a>(context: &'a Context<'_>, stalls: &[Stall]) -> Option<&'a str> {
    let lane = context.host().main()?;
    let mut sums: HashMap<&str, i64, RandomState> = HashMap::default();
    for piece in stalls.iter().flat_map(|stall| &stall.pieces) {
        let part = (piece.end - piece.start).0 / SAMPLES_PER_STALL;
        for look in 0..SAMPLES_PER_STALL {
            let at = Ns(piece.start.0.saturating_add(part.saturating_mul(look)).saturating_add(part / 2));
            let frames = context.sampled_stack(lane, at);
            if let Some(frame) = frames.into_iter().find(|frame| is_users(frame)) {
                let sum = sums.entry(frame).or_default();
                *sum = sum.saturating_add(part);
            }
        }
    }
    sums.into_iter().max_by_key(|&(name, ns)| (ns, std::cmp::Reverse(name))).map(|sum| sum.0)
}

/// Moments of a stall at which the samples are looked up.
const SAMPLES_PER_STALL: i64 = 8;

fn check(context: &Context<'_>) -> Vec<Finding> {
    // What operations that are not compiled cost is another rule's.
    if context.trace().meta().framework.is_some() && eager_operations::runs_one_by_one(context) {
        return Vec::new();
    }
    let trace = context.trace();
    let stalls = stalls(context);
    let sum = |of: fn(&Stall) -> i64| stalls.iter().map(|stall| Ns(of(stall))).sum::<Ns>().0;
    let total = sum(|stall| stall.ns);
    let share = context.per_step(total) as f64 / context.unprofiled().step_ns.max(1) as f64;
    if share < context.threshold("host_stalls.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(trace);
    stalls.iter().flat_map(|stall| &stall.pieces).for_each(|piece| edit.remove_piece(piece));
    let per_step = context.per_step(total);
    let replayed = context.saves(&edit);
    // What other ranks or threads wait for cannot be replayed from here: then the time itself is the bound.
    let (saves, estimate) = match replayed.recorded_ns >= per_step / 2 {
        true => (replayed, Estimate::Replay),
        false => (context.measured(per_step), Estimate::UpperBound),
    };
    let Some(mut finding) = context.costing(RULE.name, saves, estimate) else { return Vec::new() };
    let longest = stalls.iter().max_by_key(|stall| stall.ns);
    let longest_piece =
        longest.and_then(|stall| stall.pieces.iter().max_by_key(|piece| piece.end - piece.start));
    let slice: Option<SliceId> = longest_piece.and_then(|piece| piece.slice);
    let prepares = sum(|stall| stall.in_operators_ns).saturating_mul(2) >= total;
    let is_step = |name: &str| step_number(name).is_some();
    let place = slice.map(|id| trace.name(context.callers().blamed(id)));
    let sampled = sampled(context, &stalls);
    let place = place.filter(|name| !is_step(name)).or(sampled).unwrap_or("the loop itself");
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Host stalls: the device waits {} of the time for code that launches nothing, mostly in {place}",
        percent(share)
    );
    finding.evidence = evidence! {
        "stalls per step" => Amount::Number(stalls.len() as f64 / context.steps().steps.len().max(1) as f64),
            "Device gaps in which the host spent at least host_stalls.min_ms in Python or in operators that launched nothing, \
             per step.";
        "their time per step" => Amount::Ns(per_step), "Their time without the profiler, per step.";
        "the longest" => Amount::Ns(longest.map_or(0, |stall| stall.ns)), "The host's own time in the longest of them.";
    };
    finding.source = slice.and_then(|id| context.source(id)).or_else(|| sampled.map(str::to_owned));
    (finding.why, finding.fix, finding.code) = if prepares {
        (
            "The main thread prepares data with operators on the CPU, and the device waits until it is done.".to_owned(),
            "Move the preparation into the dataset, so that the data loader's workers do it ahead of time, or do it \
             on the device after the copy."
                .to_owned(),
            Some(
                "class Prepared(torch.utils.data.Dataset):\n\
                 \x20   def __getitem__(self, i):\n\
                 \x20       return prepare(self.items[i])      # runs in a worker\n\
                 loader = DataLoader(Prepared(items), num_workers=4, pin_memory=True)"
                    .to_owned(),
            ),
        )
    } else if let Some(line) = &finding.source {
        (
            "The program spends a long time on its own CPU work, without giving the device anything to do."
                .to_owned(),
            format!(
                "Look at {line}. Do this less often, on the device, or in the background: in a data loader worker \
                 if the next step needs it, in a thread if nothing waits for it."
            ),
            None,
        )
    } else {
        (
            "The program spends a long time on its own CPU work, without giving the device anything to do: NumPy, \
             logging, metrics, saving, waiting for a file or a lock."
                .to_owned(),
            "Find the line in a recording with stacks. Then do it less often, on the device, or in the background: \
             in a data loader worker if the next step needs it, in a thread if nothing waits for it."
                .to_owned(),
            Some(context.recorder().naming_lines()),
        )
    };
    finding.verify = "Record again: `stepscope gaps` should no longer list these gaps.".to_owned();
    let pieces = stalls.iter().flat_map(|stall| &stall.pieces);
    let ranges: HashSet<SliceId, RandomState> = pieces.filter_map(|piece| piece.slice).collect();
    finding.slices = context.shown(ranges.into_iter().filter(|&id| !is_step(trace.name(id))));
    let ends = |stall: &Stall| Some((stall.pieces.first()?.start.0, stall.pieces.last()?.end.0));
    finding.range_ns = longest.and_then(ends);
    vec![finding]
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Between two steps the program does something long of its own in Python, and the device has nothing to do \
                   until it is done."
        .to_owned();
    let fix = "If it prepares the next batch, do that on another thread or in other processes while the device computes. \
               Otherwise do it less often, or where nothing waits for it.";
    finding.fix = match &finding.source {
        Some(line) => format!("Look at {line}. {fix}"),
        None => {
            format!("Record with the Python tracer on (python_tracer_level=1) to find the line. {fix}")
        }
    };
    let code = match framework {
        "TensorFlow" => TF_PIPELINE,
        _ => JAX_PREFETCH,
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again: `stepscope gaps` should no longer list these gaps.".to_owned();
}
