//! The host cannot launch work as fast as the device finishes it.

use stepscope_model::{Kind, SliceId};

use super::eager_operations;
use crate::causes::waits::{Wait, WaitKind};
use crate::findings::{
    Amount, Confidence, Context, Estimate, Finding, OtherFrameworks, Rule, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::calls::is_graph_launch;
use crate::names::ranges::is_backward_node;
use crate::replay::{HostPiece, Scenario};
use crate::scope::share::percent;

/// No finding shows more slices.
const MAX_SHOWN: usize = 5;

pub(super) const RULE: Rule = Rule {
    name: "launch_bound",
    about: "The host cannot launch work as fast as the device finishes it: many short kernels, an empty queue.",
    thresholds: thresholds! {
        "launch_bound.min_share" = 0.15, "share of the steps in which a device is idle because of launching";
        "launch_bound.min_dry_share" = 0.3, "share of the work that found its stream empty when it was launched";
        "launch_bound.min_launches_per_step" = 20.0, "launches per step below which launching is not the problem";
    },
    trials: &["compile-graphs", "compile", "inference-mode"],
    other_frameworks: OtherFrameworks::Words(reword),
    answers: &["host"],
    check,
    ..USUAL
};

/// As in a CUDA graph: the host's part of a step is one call, and work follows work on the device.
struct Graphed;

impl Scenario for Graphed {
    fn host(&self, piece: &HostPiece) -> i64 {
        if piece.is_launching() { 0 } else { piece.ns }
    }

    fn latency(&self, _: SliceId, _: i64) -> i64 {
        0
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    // Operations that are not compiled are another rule's.
    if context.trace().meta().framework.is_some() && eager_operations::runs_one_by_one(context) {
        return Vec::new();
    }
    let steps = context.steps().steps.len().max(1);
    let bound = |row: &&crate::causes::launches::LaunchRow| {
        row.launch_bound_share >= context.threshold("launch_bound.min_share")
            && row.dry_share >= context.threshold("launch_bound.min_dry_share")
            && row.launches as f64 >= context.threshold("launch_bound.min_launches_per_step") * steps as f64
    };
    let Some(row) = context
        .launches()
        .iter()
        .filter(bound)
        .max_by(|a, b| a.launch_bound_share.total_cmp(&b.launch_bound_share))
    else {
        return Vec::new();
    };
    // Calls that are stalled in the driver are another rule's.
    if super::blocked_launches::share(context) > row.launch_bound_share / 2.0 {
        return Vec::new();
    }
    let saves = context.saves(&Graphed);
    // If the step would not get shorter, something else holds it up.
    if (saves.recorded_ns as f64) < row.launch_bound_share * 0.5 * context.step_ns() as f64 {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, saves, Estimate::UpperBound) else {
        return Vec::new();
    };
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Launch-bound: the device waits {} of the time for the host to launch work",
        percent(row.launch_bound_share)
    );
    let per_step = row.launches / steps as u64;
    finding.evidence = evidence! {
        "idle for launching" => Amount::Share(row.launch_bound_share),
            "Share of the steps in which the device was idle while the host was in operators, Python or launch calls, or the \
             launch was on its way.";
        "launches per step" => Amount::Count(per_step), "Kernels, copies and memsets launched, per step.";
        "median kernel" => Amount::Ns(row.kernel_p50_ns), "Median time of a kernel on the device.";
        "median launch call" => Amount::Ns(row.call_p50_ns), "Median time of a launching call on the host.";
        "found the stream empty" => Amount::Share(row.dry_share),
            "Share of the work whose stream had nothing running or queued when it was launched.";
        "mean queue" => Amount::Number(row.queue_mean), "Work launched but not started, averaged over time.";
    };
    finding.why =
        "Each operator costs the host microseconds of Python, dispatch and launch. The device often finishes \
                   its work before the next launch arrives, and then waits."
            .to_owned();
    (finding.fix, finding.code) = advice(&Program::from_run(context));
    finding.verify = "Record again after warm-up: `stepscope launches` should show a longer queue and a smaller launch-bound share. The \
                      profiler itself slows launches down, so time the loop without it too."
        .to_owned();
    finding.slices = context.shown(context.idle().next_work(MAX_SHOWN));
    vec![finding]
}

/// What kind of program it is, which decides what helps.
struct Program {
    compiled: bool,
    /// Some of it is launched as whole graphs.
    graphed: bool,
    /// It trains: there is a backward pass.
    trains: bool,
    /// The host waits for values inside the steps, which a graph cannot contain.
    waits: bool,
    /// The module that does in a few launches what a loop over cells does.
    whole_sequence: Option<&'static str>,
}

/// Cells of recurrent networks, and what takes a whole sequence.
const CELLS: [(&str, &str); 4] = [
    ("aten::lstm_cell", "LSTM"),
    ("aten::gru_cell", "GRU"),
    ("aten::rnn_tanh_cell", "RNN"),
    ("aten::rnn_relu_cell", "RNN"),
];

/// Fewer calls of a cell per step are not a loop over a sequence.
const MIN_CELLS: usize = 8;

fn whole_sequence(context: &Context<'_>) -> Option<&'static str> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let calls = |cell: &str| {
        let mut is_cell = ByName::new(trace, |name| name == cell);
        let of_cell =
            slices.ids().filter(|&id| slices.kind(id) == Kind::HostOp && is_cell.get(slices.name(id)));
        of_cell.filter(|&id| context.steps().at(slices.start(id)).is_some()).count()
    };
    let least = MIN_CELLS * context.steps().steps.len().max(1);
    CELLS.into_iter().find(|(cell, _)| calls(cell) >= least).map(|(_, module)| module)
}

impl Program {
    fn from_run(context: &Context<'_>) -> Program {
        let (trace, slices) = (context.trace(), context.trace().slices());
        let any = |kind: fn(Kind) -> bool, named: fn(&str) -> bool| {
            let mut named = ByName::new(trace, named);
            slices.ids().any(|id| kind(slices.kind(id)) && named.get(slices.name(id)))
        };
        let in_step = |wait: &&Wait| context.steps().at(slices.start(wait.call)).is_some();
        let waits = context.waits().iter().filter(in_step);
        let waits = waits.filter(|wait| !matches!(wait.kind, WaitKind::FullQueue | WaitKind::Free)).count();
        Program {
            compiled: any(
                |kind| matches!(kind, Kind::HostOp | Kind::HostAnnotation),
                |name| name.starts_with("Torch-Compiled Region") || name.contains("CompiledFxGraph"),
            ),
            graphed: any(Kind::is_runtime, is_graph_launch),
            trains: !context.host().backward().is_empty() || any(|kind| kind == Kind::HostOp, is_backward_node),
            waits: waits > context.steps().steps.len(),
            whole_sequence: whole_sequence(context),
        }
    }
}

/// What to change in such a program, and how.
fn advice(program: &Program) -> (String, Option<String>) {
    if let Some(module) = program.whole_sequence.filter(|_| !program.compiled && !program.graphed) {
        let fix = format!(
            "A loop in Python calls a cell for each element of a sequence. torch.nn.{module} takes the sequence in a few \
             launches, where the input of one element does not depend on what came out for the one before."
        );
        let code = format!(
            "output, state = torch.nn.{module}(width, width)(sequence, state)  # instead of a cell per element"
        );
        return (fix, Some(code));
    }
    let mut fix = match (program.compiled, program.graphed) {
        (_, true) => "Some of the work is launched as a graph already. Bring the rest into it, or compile it: what is launched \
                      one by one between the graphs is what the device waits for.",
        (true, false) => "The model is compiled, but its kernels are still launched one by one: replay them as a CUDA graph.",
        (false, false) if program.trains => {
            "Launch fewer or larger kernels: a larger batch gives each kernel more to do, torch.compile fuses kernels, and CUDA \
             graphs replay many launches with one call."
        }
        (false, false) => {
            "Launch fewer kernels: torch.compile fuses them, and CUDA graphs replay many launches with one call. Handling more \
             requests at once gives each kernel more to do, if latency allows."
        }
    }
    .to_owned();
    if program.waits {
        fix.push_str(" A graph ends at .item() and other waits for the device: remove those first.");
    }
    let code = match (program.compiled, program.graphed) {
        (_, true) => None,
        (true, false) => {
            Some("torch.compile(model, mode=\"reduce-overhead\")  # CUDA graphs for the compiled parts")
        }
        (false, false) => {
            Some("model = torch.compile(model, mode=\"reduce-overhead\")  # fused kernels and CUDA graphs")
        }
    };
    (fix, code.map(str::to_owned))
}

/// The same in a program of JAX or TensorFlow.
fn reword(finding: &mut Finding, framework: &str) {
    finding.why = "Each call of a compiled function costs the host time in Python and in the runtime, and each kernel some more. \
                   The device often finishes its work before the next launch arrives, and then waits."
        .to_owned();
    finding.fix = "Do more per call: run several steps in one compiled function, give each step a larger batch, and compile what \
                   is still called piece by piece."
        .to_owned();
    let code = match framework {
        "TensorFlow" => {
            "model.compile(..., jit_compile=True, steps_per_execution=16)  # Keras: 16 steps per call"
        }
        _ => {
            "@functools.partial(jax.jit, donate_argnums=0)\n\
             def train_steps(state, batches):          # several steps in one call\n\
             \x20   return jax.lax.scan(train_step, state, batches)"
        }
    };
    finding.code = Some(code.to_owned());
    finding.verify = "Record again after warm-up: `stepscope launches` should show a longer queue. The profiler itself slows \
                      launches down, so time the loop without it too."
        .to_owned();
}
