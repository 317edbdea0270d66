//! The host cannot launch work as fast as the device finishes it.

use stepscope_model::SliceId;

use crate::findings::{Confidence, Context, Estimate, Evidence, Figure, Finding, Rule, Threshold};
use crate::replay::{HostPiece, Scenario};

/// No finding shows more slices.
const MAX_SHOWN: usize = 5;

pub(super) const RULE: Rule = Rule {
    name: "launch_bound",
    about: "The host cannot launch work as fast as the device finishes it: many short kernels, an empty queue.",
    thresholds: &[
        Threshold {
            name: "launch_bound.min_share",
            default: 0.15,
            text: "share of the steps in which a device is idle because of launching",
        },
        Threshold {
            name: "launch_bound.min_dry_share",
            default: 0.3,
            text: "share of the work that found its stream empty when it was launched",
        },
        Threshold {
            name: "launch_bound.min_launches_per_step",
            default: 20.0,
            text: "launches per step below which launching is not the problem",
        },
    ],
    check,
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
    let steps = context.steps().steps.len().max(1);
    let bound = |row: &&crate::causes::launches::LaunchRow| {
        row.launch_bound_share >= context.limit("launch_bound.min_share")
            && row.dry_share >= context.limit("launch_bound.min_dry_share")
            && row.launches as f64 >= context.limit("launch_bound.min_launches_per_step") * steps as f64
    };
    let Some(row) = context
        .launches()
        .iter()
        .filter(bound)
        .max_by(|a, b| a.launch_bound_share.total_cmp(&b.launch_bound_share))
    else {
        return Vec::new();
    };
    // Calls that stand still in the driver are another rule's.
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
        "Launch-bound: the device waits {:.0}% of the time for the host to launch work",
        row.launch_bound_share * 100.0
    );
    let per_step = row.launches / steps as u64;
    finding.evidence = vec![
        Evidence::new(
            "idle for launching",
            Figure::Share(row.launch_bound_share),
            "Share of the steps in which the device was idle while the host was in operators, Python or launch calls, or the launch was on its way.",
        ),
        Evidence::new(
            "launches per step",
            Figure::Count(per_step),
            "Kernels, copies and memsets launched, per step.",
        ),
        Evidence::new("median kernel", Figure::Ns(row.kernel_p50_ns), "Median time of a kernel on the device."),
        Evidence::new(
            "median launch call",
            Figure::Ns(row.call_p50_ns),
            "Median time of a launching call on the host.",
        ),
        Evidence::new(
            "found the stream empty",
            Figure::Share(row.dry_share),
            "Share of the work whose stream had nothing running or queued when it was launched.",
        ),
        Evidence::new(
            "mean queue",
            Figure::Number(row.queue_mean),
            "Work launched but not started, averaged over time.",
        ),
    ];
    finding.why =
        "Each operator costs the host microseconds of Python, dispatch and launch. The device often finishes \
                   its work before the next launch arrives, and then waits."
            .to_owned();
    finding.fix =
        "Launch fewer or larger kernels: a larger batch gives each kernel more to do, torch.compile fuses kernels, and \
                   CUDA graphs (mode=\"reduce-overhead\") replay many launches with one call. A graph ends at .item() and \
                   other waits: remove those first."
            .to_owned();
    finding.code = Some(
        "model = torch.compile(model, mode=\"reduce-overhead\")  # fused kernels and CUDA graphs\n\
         # or a larger batch, until `stepscope launches` shows that the queue is rarely empty"
            .to_owned(),
    );
    finding.verify = "Record again after warm-up: `stepscope launches` should show a longer queue and a smaller launch-bound share. The \
                      profiler itself slows launches down, so time the loop without it too."
        .to_owned();
    finding.slices = context.shown(context.idle().next_work(MAX_SHOWN));
    vec![finding]
}
