//! One kind of memory makes the peak, and there is something to do about it.

use stepscope_model::Snapshot;

use super::super::text::{percent, size};
use super::{bytes, device, histories};
use crate::findings::{Amount, Confidence, Context, Evidence, Finding, Rule, USUAL, thresholds};
use crate::memory::capacity::usable;
use crate::memory::categories::{Categories, Category};
use crate::memory::history::History;
use crate::memory::peak_without::{MemorySaving, peak_without};

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_peak",
    about: "In a memory snapshot with a large peak, recomputing activations would lower it, by a replay of the history, or \
            gradients or the optimizer's state make up most of it. Guesses from stacks.",
    thresholds: thresholds! {
        "snapshot_peak.saved_share" = 0.2, "how much lower the peak would be with activations recomputed, as a share of it";
        "snapshot_peak.share" = 0.5, "share of the peak that is gradients or the optimizer's state";
        "snapshot_peak.gib" = 1.0, "the least peak, in GiB";
        "snapshot_peak.device_share" = 0.5,
            "the least share of the device's memory that is reserved at the peak, where that is known";
    },
    check,
    ..USUAL
};

const GIB: f64 = 1_073_741_824.0;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let least = context.threshold("snapshot_peak.gib") * GIB;
    // Where half of the device is left, nothing needs to be smaller.
    let needed = |snapshot: &Snapshot, history: &History| {
        let all = usable(snapshot, history);
        let share = context.threshold("snapshot_peak.device_share");
        all.is_none_or(|all| history.peak.reserved as f64 >= share * all as f64)
    };
    let found = histories(context)
        .filter(|(snapshot, history)| history.peak.allocated as f64 >= least && needed(snapshot, history));
    found
        .filter_map(|(snapshot, history)| finding(context, history, &Categories::new(snapshot, history)))
        .collect()
}

fn finding(context: &Context<'_>, history: &History, categories: &Categories<'_>) -> Option<Finding> {
    let sums = categories.at(history.peak_moment);
    let all: u64 = sums.iter().fold(0, |all: u64, sum| all.saturating_add(sum.1));
    let of_peak = |bytes: u64| bytes as f64 / all.max(1) as f64;
    let recomputed = peak_without(history, categories, MemorySaving::Recompute)
        .map(|then| (then, of_peak(history.peak.allocated.saturating_sub(then.peak))))
        .filter(|(_, saved)| *saved >= context.threshold("snapshot_peak.saved_share"));
    let category = match recomputed {
        Some(_) => Category::Activation,
        None => {
            let &(most, sum) = sums.iter().max_by_key(|sum| sum.1)?;
            let dominates = of_peak(sum) >= context.threshold("snapshot_peak.share");
            Some(most).filter(|most| dominates && *most != Category::Activation)?
        }
    };
    let share = of_peak(sums.iter().find(|sum| sum.0 == category).map_or(0, |sum| sum.1));
    let (why, fix, code) = advice(category)?;
    let mut finding = context.remark(RULE.name);
    finding.confidence = Confidence::Low;
    let less = recomputed.map_or_else(String::new, |(then, _)| {
        format!("; recomputed, the peak would be about {}", size(bytes(then.peak)))
    });
    finding.title = format!(
        "{}: {} of the peak of {} looks like {}{less}",
        device(history.device),
        percent(share),
        size(bytes(history.peak.allocated)),
        plural(category)
    );
    if let Some((then, saved)) = recomputed {
        finding.evidence.push(Evidence::new(
            "peak with activations recomputed (an estimate)",
            Amount::Bytes(bytes(then.peak)),
            "The history replayed with activations of blocks that are alike kept for one block at a time, and of each other block \
             a piece of the middle size as its input.",
        ));
        finding.evidence.push(Evidence::new(
            "saved (an estimate)",
            Amount::Share(saved),
            "How much lower that is, divided by the peak.",
        ));
        finding.evidence.push(Evidence::new(
            "blocks that are alike (a guess)",
            Amount::Count(then.blocks),
            "How often the same lines hold activations when most of them are in use.",
        ));
    }
    for (category, sum) in sums.into_iter().filter(|sum| sum.1 > 0) {
        finding.evidence.push(Evidence::new(
            format!("{} (a guess)", category.label()),
            Amount::Bytes(bytes(sum)),
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
