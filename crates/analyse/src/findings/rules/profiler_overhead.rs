//! The recording itself slows the host down.

use stepscope_model::{Kind, Ns};

use super::text::time;
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Rule, Severity, USUAL, evidence, thresholds,
};
use crate::replay::recording::{
    MEASURED_CALL_COST, PER_ALLOCATION_NS, PER_CALL_NS, PER_OPERATOR_NS, PER_PYTHON_CALL_NS, PER_SHAPE_NS,
};
use crate::scope::intervals::Collector;
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "profiler_overhead",
    about: "Recording takes a large share of the step, so the device looks idler than it is. A heuristic: a cost for each \
            recorded event.",
    thresholds: thresholds! {
        "profiler_overhead.min_share" = 0.1,
            "share of the step that recording stacks, shapes and memory is estimated to take";
        "profiler_overhead.max_cost_ratio" = 5.0,
            "what recorded steps take longer, divided by what their events cost, above which larger inputs or a busy machine \
             made the difference";
    },
    check,
    ..USUAL
};

impl Events {
    /// What stacks, shapes and memory cost on a usual host.
    fn optional_ns(&self, shapes: bool) -> f64 {
        let with_shapes = if shapes { self.operators } else { 0 };
        self.python as f64 * PER_PYTHON_CALL_NS
            + self.memory as f64 * PER_ALLOCATION_NS
            + with_shapes as f64 * PER_SHAPE_NS
    }

    /// What all events cost on a usual host.
    fn all_ns(&self, shapes: bool) -> f64 {
        self.optional_ns(shapes) + self.operators as f64 * PER_OPERATOR_NS + self.calls as f64 * PER_CALL_NS
    }
}

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
    // What recording every call on purpose costs is said beside the step's time: there is nothing to switch off.
    if context.trace().meta().extra(MEASURED_CALL_COST).is_some() {
        return Vec::new();
    }
    let events = events(context);
    let shapes = options.record_shapes == Some(true);
    let pauses = context.per_step(pauses(context));
    let visible = (context.step_ns() - context.unprofiled().step_ns).max(0).saturating_add(pauses);
    let share = visible as f64 / context.step_ns().max(1) as f64;
    let cost_ns = context.recording().slowness * events.all_ns(shapes);
    let recorded_ns = (visible - pauses) as f64 * context.steps().steps.len() as f64;
    if recorded_ns > context.threshold("profiler_overhead.max_cost_ratio") * cost_ns {
        return Vec::new();
    }
    // What every recording pays is said beside the step's time; a finding is about what can be switched off.
    if share * events.optional_ns(shapes) / events.all_ns(shapes).max(1.0)
        < context.threshold("profiler_overhead.min_share")
    {
        return Vec::new();
    }
    let mut finding = context.remark(RULE.name);
    finding.severity = if share >= 0.5 { Severity::Low } else { Severity::Info };
    finding.confidence = Confidence::Low;
    finding.title = format!(
        "Profiler overhead: recording takes about {} per step ({}), so host times are inflated",
        time(visible),
        percent(share)
    );
    let per_step = |count: u64| Amount::Count(count / context.steps().steps.len().max(1) as u64);
    finding.evidence = evidence! {
        "operators and calls per step" => per_step(events.operators.saturating_add(events.calls)),
            "Recorded operators, ranges and runtime calls per step, on all threads that launch work: every recording pays for \
             them.";
        "Python calls per step" => per_step(events.python), "Recorded Python calls per step, on all threads that launch work.";
        "changes of memory per step" => per_step(events.memory),
            "Recorded allocations and frees per step, on all threads that launch work.";
        "this host's cost per event" => Amount::Number(context.recording().slowness),
            "How many times as long this host takes to record an event as the hosts that the costs were fitted to, judged by \
             operators that do nothing (aten::view and the like).";
    };
    if pauses > 0 {
        finding.evidence.push(Evidence::new(
            "pauses of the profiler per step",
            Amount::Ns(pauses),
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
    finding.fix = match on.is_empty() {
        true => {
            "Nothing more can be switched off: trust the step time without the profiler, and time the loop without it.".to_owned()
        }
        false => format!(
            "To judge times, record again without {}. Use this profile to find lines, shapes and memory.",
            on.join(", ")
        ),
    };
    finding.code = (!on.is_empty()).then(|| context.recorder().lightly());
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
