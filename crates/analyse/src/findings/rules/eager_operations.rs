//! Operations that a JAX or TensorFlow program runs one by one, although a compiler could make one program of them.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns, Order, SliceId, StrId, Trace};

use crate::findings::{
    Amount, Confidence, Context, Estimate, Finding, OtherFrameworks, Rule, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::framework::{compiled_function, eager_operation};
use crate::replay::{HostPiece, Scenario};
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "eager_operations",
    about: "JAX and TensorFlow: a step hands its operations over one by one instead of as one compiled function.",
    thresholds: thresholds! {
        "eager_operations.min_per_step" = 10.0,
            "functions or operations per step at which it no longer counts as one compiled function";
        "eager_operations.min_share" = 0.1, "share of the step that compiling it would save";
    },
    other_frameworks: OtherFrameworks::Same,
    answers: &["host"],
    check,
    ..USUAL
};

/// As one compiled function: the host's work between operations is gone. On a CPU the operations themselves stay.
struct Compiled<'a> {
    trace: &'a Trace,
    on_device: bool,
}

impl Compiled<'_> {
    /// Whether the host computes in this slice: TensorFlow writes no operator of its own for what it runs at once.
    fn computes(&self, piece: &HostPiece) -> bool {
        !self.on_device && piece.slice.is_some_and(|slice| self.trace.name(slice) == "KernelAndDeviceFunc::Run")
    }
}

/// Nothing that goes on for longer than this between two launches belongs to an operation.
const MAX_STRETCH_NS: i64 = 5_000_000;

impl Scenario for Compiled<'_> {
    fn host(&self, piece: &HostPiece) -> i64 {
        use Activity::{Compilation, Launch, Operator, Python, Runtime};
        let gone = match piece.activity {
            Operator => self.on_device,
            Python | Launch | Runtime | Compilation => {
                (!self.on_device || piece.stretch_ns < MAX_STRETCH_NS) && !self.computes(piece)
            }
            _ => false,
        };
        if gone { 0 } else { piece.ns }
    }

    fn latency(&self, _: SliceId, _: i64) -> i64 {
        0
    }
}

/// What the main thread hands over: every call of its own, of operations and of compiled functions.
struct MainThreadCalls {
    names: HashMap<StrId, (u64, SliceId), RandomState>,
    count: u64,
}

fn main_thread_calls(context: &Context<'_>) -> MainThreadCalls {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut handed = MainThreadCalls { names: HashMap::default(), count: 0 };
    let Some(main) = context.host().main() else { return handed };
    let mut is_call =
        ByName::new(trace, |name| compiled_function(name).is_some() || eager_operation(name).is_some());
    let mut reach = Ns::MIN;
    for id in slices.of_lane(main).filter(|&id| slices.kind(id) == Kind::FrameworkCall) {
        // What a call calls is part of it.
        if slices.start(id) < reach || !is_call.get(slices.name(id)) {
            continue;
        }
        reach = slices.end(id);
        if context.steps().at(slices.start(id)).is_some() {
            handed.count += 1;
            handed.names.entry(slices.name(id)).or_insert((0, id)).0 += 1;
        }
    }
    handed
}

/// Whether a step consists of many operations.
pub(super) fn runs_one_by_one(context: &Context<'_>) -> bool {
    let steps = context.steps().steps.len().max(1) as f64;
    main_thread_calls(context).count as f64 >= context.threshold("eager_operations.min_per_step") * steps
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(framework) = &context.trace().meta().framework else { return Vec::new() };
    let handed = main_thread_calls(context);
    let steps = context.steps().steps.len().max(1);
    let per_step = handed.count as f64 / steps as f64;
    if per_step < context.threshold("eager_operations.min_per_step") {
        return Vec::new();
    }
    let on_device = context.device_work().next().is_some();
    let saves = context.saves(&Compiled { trace: context.trace(), on_device });
    if (saves.recorded_ns as f64) < context.threshold("eager_operations.min_share") * context.step_ns() as f64 {
        return Vec::new();
    }
    // The compiled function has to be called too.
    let Some(mut finding) = context.costing(RULE.name, saves, Estimate::UpperBound) else { return Vec::new() };
    let trace = context.trace();
    let mut names: Vec<(StrId, (u64, SliceId))> = handed.names.into_iter().collect();
    names.order_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), *name));
    let short = |name: StrId| {
        let name = trace.text(name);
        compiled_function(name).or_else(|| eager_operation(name)).unwrap_or(name)
    };
    let most: Vec<&str> = names.iter().take(4).map(|n| short(n.0)).collect();
    finding.confidence = Confidence::Medium;
    let is_loop = names.len() <= 2;
    finding.title = match is_loop {
        true => format!(
            "{} is called {per_step:.0} times per step: each call costs the host more than the device",
            most.join(" or ")
        ),
        false => format!(
            "Operations run one by one: {per_step:.0} per step, mostly {}; the step is not compiled as a whole",
            most.join(", ")
        ),
    };
    finding.evidence = evidence! {
        "handed over per step" => Amount::Number(per_step),
            "Operations and compiled functions that the main thread calls, per step; what they call is part of them.";
        "different ones" => Amount::Count(names.len() as u64), "How many different names these calls have.";
    };
    finding.why = "Each operation is looked up, checked and handed to the device on its own, which costs the host far more than a \
                   small operation costs the device. The compiler cannot fuse what it sees one at a time."
        .to_owned();
    (finding.fix, finding.code) = match framework.name.as_str() {
        "TensorFlow" if is_loop => (
            "Put the loop into the compiled function, or give each call more to do.".to_owned(),
            Some(
                "@tf.function\ndef many(batches):\n\x20   for batch in batches:   # a tf.data.Dataset: the loop is part of the graph\n\
                 \x20       train_step(batch)"
                    .to_owned(),
            ),
        ),
        _ if is_loop => (
            "Put the loop into the compiled function, or give each call more to do.".to_owned(),
            Some(
                "@functools.partial(jax.jit, donate_argnums=0)\n\
                 def many(state, batches):\n\
                 \x20   return jax.lax.scan(step, state, batches)   # one call for all of them"
                    .to_owned(),
            ),
        ),
        "TensorFlow" => (
            "Make the whole training step one function: forward pass, gradients and update.".to_owned(),
            Some(
                "@tf.function(jit_compile=True)   # or model.compile(..., run_eagerly=False, jit_compile=True)\n\
                 def train_step(batch): ..."
                    .to_owned(),
            ),
        ),
        _ => (
            "Compile the whole training step: loss, gradients and update in one function.".to_owned(),
            Some(
                "@functools.partial(jax.jit, donate_argnums=0)\n\
                 def train_step(state, batch):\n\
                 \x20   loss, grads = jax.value_and_grad(loss_of)(state.params, batch)\n\
                 \x20   return state.apply_gradients(grads=grads), loss"
                    .to_owned(),
            ),
        ),
    };
    finding.verify =
        "Record again: a step should hand over one function. Time the loop without the profiler too, which makes \
                      each call slower."
            .to_owned();
    finding.slices = context.shown(names.iter().take(5).map(|n| n.1.1));
    finding.source = finding.slices.first().and_then(|shown| context.source(shown.slice));
    vec![finding]
}
