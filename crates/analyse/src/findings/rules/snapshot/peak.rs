//! One kind of memory makes up most of the peak.

use super::super::words::{percent, size};
use super::{bytes, device, histories};
use crate::findings::{Confidence, Context, Evidence, Figure, Finding, Rule, Threshold};
use crate::memory::categories::{Categories, Category};
use crate::memory::history::History;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_peak",
    about: "In a memory snapshot, one kind of memory makes up most of a large peak: activations, gradients or the optimizer's \
            state. A guess from stacks.",
    thresholds: &[
        Threshold { name: "snapshot_peak.share", default: 0.5, text: "share of the peak that is of this kind" },
        Threshold { name: "snapshot_peak.gib", default: 1.0, text: "the least peak, in GiB" },
    ],
    check,
};

const GIB: f64 = 1_073_741_824.0;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let least = context.limit("snapshot_peak.gib") * GIB;
    let found = histories(context).filter(|(_, history)| history.peak.allocated as f64 >= least);
    found
        .filter_map(|(snapshot, history)| look(context, history, &Categories::new(snapshot, history)))
        .collect()
}

fn look(context: &Context<'_>, history: &History, categories: &Categories<'_>) -> Option<Finding> {
    let sums = categories.at(history.peak_moment);
    let all: u64 = sums.iter().map(|sum| sum.1).sum();
    let &(category, most) = sums.iter().max_by_key(|sum| sum.1)?;
    let share = most as f64 / all.max(1) as f64;
    if share < context.limit("snapshot_peak.share") {
        return None;
    }
    let (why, fix, code) = advice(category)?;
    let mut finding = context.remark(RULE.name);
    finding.confidence = Confidence::Low;
    finding.title = format!(
        "{}: {} of the peak of {} looks like {}",
        device(history.device),
        percent(share),
        size(bytes(history.peak.allocated)),
        plural(category)
    );
    for (category, sum) in sums.into_iter().filter(|sum| sum.1 > 0) {
        finding.evidence.push(Evidence::new(
            format!("{} (a guess)", category.label()),
            Figure::Bytes(bytes(sum)),
            "Bytes in use at the peak, by what they were for, guessed from who allocated and who freed them.",
        ));
    }
    finding.why = why.to_owned();
    finding.fix = fix.to_owned();
    finding.code = Some(code.to_owned());
    finding.verify =
        "Take another snapshot: the peak of `stepscope memory SNAPSHOT --at peak --by category` should be lower.".to_owned();
    Some(finding)
}

fn plural(category: Category) -> &'static str {
    match category {
        Category::Gradient => "gradients",
        Category::OptimizerState => "the optimizer's state",
        _ => "activations",
    }
}

fn advice(category: Category) -> Option<(&'static str, &'static str, &'static str)> {
    match category {
        Category::Activation => Some((
            "The forward pass keeps what the backward pass needs. That grows with the batch, the sequence and the number of layers, and \
             in float32 it takes twice what bfloat16 would.",
            "If memory is short: recompute activations (which costs another forward pass), train in bfloat16, split the batch and accumulate \
             gradients, or compute the loss over large outputs in pieces, since logits in float32 are often the largest tensor.",
            "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # in forward",
        )),
        Category::Gradient => Some((
            "Gradients take as much as the parameters they belong to, and stay until they are set to none.",
            "If memory is short: free them right after the step, or shard them over ranks (FSDP).",
            "optimizer.zero_grad(set_to_none=True)  # right after optimizer.step()",
        )),
        Category::OptimizerState => Some((
            "Adam keeps two values per parameter, in float32 as a rule.",
            "If memory is short: use an optimizer with smaller state (8-bit Adam, Adafactor), or shard it over ranks.",
            "optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())",
        )),
        _ => None,
    }
}
