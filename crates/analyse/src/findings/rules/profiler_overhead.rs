//! The recording itself slows the host down.

use stepscope_model::{Kind, Ns};

use super::words::time;
use crate::causes::cause::Cause;
use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Severity, Threshold};
use crate::scope::intervals::Collector;
use crate::threads::activity::Activity;

/// The costs are fitted to one program, a small transformer on PyTorch 2.11 with CPython 3.12, recorded with and without
/// stacks, shapes and memory and run without a profiler. Other programs that wait for their host paid between 0.9 and 3.2
/// times what these costs give: they tend to be too low.
pub(super) const RULE: Rule = Rule {
    name: "profiler_overhead",
    about: "Stacks, shapes or memory were recorded, and recording takes a visible share of the step. A heuristic: a cost per \
            recorded event.",
    thresholds: &[
        Threshold {
            name: "profiler_overhead.min_share",
            default: 0.1,
            text: "share of the steps that recording is estimated to take while the device waits for the host",
        },
        Threshold {
            name: "profiler_overhead.us_per_op",
            default: 1.0,
            text: "µs to record an operator or range",
        },
        Threshold {
            name: "profiler_overhead.us_per_shape",
            default: 0.3,
            text: "µs more to record the shapes of an operator",
        },
        Threshold {
            name: "profiler_overhead.us_per_call",
            default: 2.5,
            text: "µs to record a runtime or driver call",
        },
        Threshold {
            name: "profiler_overhead.us_per_python_call",
            default: 1.0,
            text: "µs to record a Python call",
        },
        Threshold {
            name: "profiler_overhead.us_per_allocation",
            default: 0.3,
            text: "µs to record an allocation or release",
        },
    ],
    check,
};

/// Host events of the steps.
#[derive(Default)]
struct Events {
    operators: u64,
    calls: u64,
    python: u64,
    memory: u64,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let options = &context.trace().meta().options;
    let events = events(context);
    let us = |name: &str, count: u64| (context.limit(name) * 1e3 * count as f64) as i64;
    let shapes = options.record_shapes == Some(true);
    let basic =
        us("profiler_overhead.us_per_op", events.operators) + us("profiler_overhead.us_per_call", events.calls);
    let optional = us("profiler_overhead.us_per_python_call", events.python)
        + us("profiler_overhead.us_per_allocation", events.memory)
        + us("profiler_overhead.us_per_shape", if shapes { events.operators } else { 0 });
    // While the device has work, a slower host costs nothing.
    let waiting = waiting_for_the_host(context);
    let pauses = pauses(context);
    let wall = context.steps().wall_ns();
    let share = |ns: i64| ns as f64 / wall.max(1) as f64;
    let visible = optional.min(waiting).saturating_add(pauses);
    if share(visible) < context.limit("profiler_overhead.min_share") {
        return Vec::new();
    }
    let mut finding = context.remark(RULE.name);
    finding.severity =
        if share(visible) >= context.limit("severity.high") { Severity::Low } else { Severity::Info };
    finding.confidence = Confidence::Low;
    finding.title = format!(
        "Profiler overhead: recording takes about {} per step ({:.0}%), so host times are inflated",
        time(context.per_step(visible)),
        share(visible) * 100.0
    );
    finding.evidence = vec![
        Evidence::new(
            "stacks, shapes and memory per step",
            Figure::Ns(context.per_step(optional)),
            "Recorded events in the steps times a cost for each: Python calls, allocations and releases, and operators with \
             their shapes. The costs are the thresholds profiler_overhead.us_per_…, fitted to one program; others paid up \
             to three times as much.",
        ),
        Evidence::new(
            "operators and calls per step",
            Figure::Ns(context.per_step(basic)),
            "The same for operators, ranges and runtime calls, which every recording pays; not included above.",
        ),
        Evidence::new(
            "Python calls",
            Figure::Count(events.python),
            "Recorded Python calls in the steps, on all threads that launch work.",
        ),
        Evidence::new(
            "device waits for the host",
            Figure::Share(share(waiting)),
            "Share of the steps in which the busiest device was idle because the host was in operators, Python or calls: \
             only then does a slower host lengthen the step.",
        ),
    ];
    if pauses > 0 {
        finding.evidence.push(Evidence::new(
            "pauses of the profiler per step",
            Figure::Ns(context.per_step(pauses)),
            "Time the profiler itself reports for its buffers, inside the steps.",
        ));
    }
    let on: Vec<&str> =
        [("with_stack", events.python > 0), ("profile_memory", events.memory > 0), ("record_shapes", shapes)]
            .iter()
            .filter(|option| option.1)
            .map(|option| option.0)
            .collect();
    finding.why = format!(
        "Each recorded event costs the host about a microsecond. With {} on, there are so many events that the host is \
         slower than in a run without the profiler, and the device looks more idle than it is.",
        if on.is_empty() { "the profiler".to_owned() } else { on.join(", ") }
    );
    finding.fix = "To judge times, record again without with_stack, profile_memory and record_shapes. Use this profile to find \
                   lines, shapes and memory."
        .to_owned();
    finding.code = Some(
        "with torch.profiler.profile(schedule=schedule) as prof:  # no stacks, shapes, memory\n    ..."
            .to_owned(),
    );
    finding.verify =
        "Time the loop without the profiler and compare it with the steps of both profiles.".to_owned();
    vec![finding]
}

/// Recorded events of the threads that run the program, inside the steps.
fn events(context: &Context<'_>) -> Events {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut events = Events::default();
    let ranges: Vec<_> = context.steps().steps.iter().map(|s| (s.host_start_ns, s.host_end_ns)).collect();
    let in_step = |at: i64| {
        let after = ranges.partition_point(|r| r.0 <= at);
        after > 0 && at < ranges[after - 1].1
    };
    let host = context.host();
    let lanes = host.main().into_iter().chain(host.backward().iter().copied());
    for id in lanes.flat_map(|lane| slices.of_lane(lane)).filter(|&id| in_step(slices.start(id).0)) {
        match slices.kind(id) {
            Kind::HostOp | Kind::HostAnnotation => events.operators += 1,
            Kind::Runtime | Kind::Driver => events.calls += 1,
            Kind::PythonFunction => events.python += 1,
            _ => {}
        }
    }
    let allocations = trace.allocations();
    let marks = allocations.ids().filter(|&id| host.runs_the_program(allocations.lane(id)));
    events.memory = marks.filter(|&id| in_step(allocations.at(id).0)).count() as u64;
    events
}

/// Idle time of the busiest device in all steps that a faster host would shorten.
fn waiting_for_the_host(context: &Context<'_>) -> i64 {
    let account = context.account();
    let Some(busiest) = account.devices.iter().max_by_key(|row| row.causes.get(Cause::Kernel)) else {
        return 0;
    };
    use Activity::{Launch, Operator, Profiler, Python, Runtime, Unrecorded};
    let causes = [Operator, Python, Launch, Runtime, Profiler, Unrecorded].map(Cause::Host);
    let rows = account.rows_of(busiest.device);
    rows.flat_map(|row| causes.map(|cause| Ns(row.causes.get(cause)))).sum::<Ns>().0
}

/// Pauses that the profiler reports of itself. Loading of code and a full launch queue are not its own.
fn pauses(context: &Context<'_>) -> i64 {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut pauses = Collector::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::Overhead) {
        let name = trace.name(id);
        if ["Buffer Request", "Buffer Flush", "Instrumentation", "CUPTI"].iter().any(|own| name.contains(own)) {
            pauses.add(slices.start(id), slices.end(id));
        }
    }
    pauses.finish().lengths_in(&context.steps().windows()).into_iter().sum::<Ns>().0
}
