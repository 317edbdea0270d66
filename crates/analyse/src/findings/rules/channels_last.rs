//! Convolutions in NCHW on a device whose kernels want NHWC.

use stepscope_model::{Kind, Ns, SliceId};

use super::matrix::scale;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Needs, Rule, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::roofline::{Family, OpCost};
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "channels_last",
    about: "Convolutions get NCHW tensors, so kernels that transpose surround each of them.",
    thresholds: thresholds! {
        "channels_last.min_share" = 0.02, "share of the device time spent transposing";
    },
    trials: &["channels-last"],
    needs: &[Needs::MoreShapes],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// Kernels of cuDNN and MIOpen that change between the two layouts.
fn is_transposition(kernel: &str) -> bool {
    ["nchwToNhwc", "nhwcToNchw", "nchw2nhwc", "nhwc2nchw", "batched_transpose"]
        .iter()
        .any(|mark| kernel.contains(mark))
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut named = ByName::new(trace, is_transposition);
    let transpositions: Vec<SliceId> = context
        .device_work()
        // Work from before the recording belongs to no step.
        .filter(|&id| trace.links().launch(id).is_some())
        .filter(|&id| slices.kind(id) == Kind::Kernel && named.get(slices.name(id)))
        .collect();
    let ns = transpositions.iter().map(|&id| slices.dur(id)).sum::<Ns>().0;
    let share = ns as f64 / context.attributed_ns().max(1) as f64;
    if share < context.threshold("channels_last.min_share") {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    for &kernel in &transpositions {
        edit.device_length(kernel, 0);
    }
    let norms = slow_norms(context, &mut edit);
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    let steps = context.steps().steps.len().max(1);
    finding.confidence = Confidence::High;
    finding.title = format!(
        "Memory format: {} of the device time goes into transposing tensors for convolutions",
        percent(share)
    );
    finding.evidence = evidence! {
        "transposing" => Amount::Share(share),
            "Device time of kernels that change between NCHW and NHWC, divided by all device time.";
        "such kernels per step" => Amount::Count((transpositions.len() / steps) as u64),
            "Kernels that change between NCHW and NHWC, per step.";
    };
    if norms > 0 {
        finding.evidence.push(Evidence::new(
            "batch normalization in NCHW per step",
            Amount::Ns(norms / steps as i64),
            "Device time of batch normalization whose kernels reach less than half of the memory bandwidth.",
        ));
    }
    finding.why = "Tensor-core convolutions work on channels-last tensors. Given NCHW, cuDNN or MIOpen transposes the inputs and \
                   outputs of each layer; batch normalization in NCHW is slow as well."
        .to_owned();
    finding.fix =
        "Convert the model once, and each input batch, to channels_last. Shapes stay the same.".to_owned();
    finding.code = Some(
        "model = model.to(memory_format=torch.channels_last)\n\
         x = x.to(device, memory_format=torch.channels_last, non_blocking=True)"
            .to_owned(),
    );
    finding.verify = "Record again: the nchwToNhwc kernels should be gone from `stepscope kernels`.".to_owned();
    finding.slices = context.shown(transpositions);
    vec![finding]
}

/// Batch normalizations far from the memory's rate, which channels-last kernels come near: statistics and result
/// read the input once each, so they move half as much again as the least.
fn slow_norms(context: &Context<'_>, edit: &mut Edit<'_>) -> i64 {
    let efficiency = context.threshold("assume.memory_efficiency");
    let mut found = Ns::ZERO;
    let is_batch_norm = |op: &&OpCost| {
        op.cost.family == Family::Normalization && context.trace().name(op.slice).contains("batch_norm")
    };
    for op in context.costs().ops.iter().filter(is_batch_norm) {
        let Some(ideal) = op.ideal else { continue };
        let good = ideal.ns() * 1.5 / efficiency;
        if ideal.ns() < op.device_ns as f64 * 0.5 && good < op.device_ns as f64 {
            scale(context, edit, op, good);
            found += Ns(op.device_ns);
        }
    }
    found.0
}
