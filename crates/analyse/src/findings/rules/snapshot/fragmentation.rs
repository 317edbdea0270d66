//! The allocator takes more from the device although it has enough in pieces.

use super::super::text::{percent, size};
use super::{bytes, device, histories};
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};
use crate::memory::history::History;
use crate::memory::out_of_memory::is_expandable;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_fragmentation",
    about: "In a memory snapshot, the allocator took more from the device, or refused a request, although enough was free in \
            pieces.",
    thresholds: thresholds! {
        "snapshot_fragmentation.share" = 0.3, "share of the memory reserved that was free then";
        "snapshot_fragmentation.gib" = 1.0, "the least of it, in GiB";
    },
    trials: &["expandable-segments"],
    check,
    ..USUAL
};

const GIB: f64 = 1_073_741_824.0;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let found = histories(context).filter_map(|(snapshot, history)| {
        let (free, reserved, refused) = worst(history)?;
        let share = free as f64 / reserved.max(1) as f64;
        let enough = free as f64 >= context.threshold("snapshot_fragmentation.gib") * GIB
            && share >= context.threshold("snapshot_fragmentation.share");
        enough.then(|| finding(context, history, (free, reserved, refused), is_expandable(snapshot)))
    });
    found.collect()
}

/// When most was free although more was needed: how much that was, what was reserved, and whether it was refused.
fn worst(history: &History) -> Option<(u64, u64, bool)> {
    let free_at = |moment: usize| {
        let level = history.levels.get(moment)?;
        Some((level.reserved.saturating_sub(level.active), level.reserved))
    };
    let grown = history.grown.iter().filter_map(|&(moment, more)| {
        let (free, reserved) = free_at((moment as usize).checked_sub(1)?)?;
        (free >= more).then_some((free, reserved, false))
    });
    let refused = history.refusals.iter().filter_map(|refusal| {
        let (free, reserved) = free_at(refusal.moment as usize)?;
        (free >= refusal.bytes).then_some((free, reserved, true))
    });
    grown.chain(refused).max_by_key(|found| (found.0, found.2))
}

fn finding(
    context: &Context<'_>,
    history: &History,
    (free, reserved, refused): (u64, u64, bool),
    expandable: bool,
) -> Finding {
    let share = free as f64 / reserved.max(1) as f64;
    let mut finding = context.remark(RULE.name);
    finding.severity = if refused { Severity::High } else { Severity::Low };
    finding.confidence = if refused { Confidence::High } else { Confidence::Medium };
    finding.title = format!(
        "{}: {} ({} of what is reserved) was free in pieces when {}",
        device(history.device),
        size(bytes(free)),
        percent(share),
        if refused { "a request was refused" } else { "the allocator took more from the device" }
    );
    finding.evidence = evidence! {
        "free in pieces" => Amount::Bytes(bytes(free)),
            "Reserved bytes that nothing used, right before the allocator needed more than its longest free piece; the most of \
             all such moments.";
        "reserved then" => Amount::Bytes(bytes(reserved)), "Bytes that the allocator held then.";
        "free share" => Amount::Share(share), "Free in pieces divided by reserved.";
    };
    finding.why = "Free memory in pieces cannot serve a larger request: tensors that stay alive lie in between. Sizes that keep \
                   changing and long-lived tensors allocated among short-lived ones cause that."
        .to_owned();
    finding.fix = match expandable {
        true => "Segments can grow already: keep shapes to a few sizes (pad or bucket lengths), and allocate what lives long first.",
        false => "Let segments grow in place, keep shapes to a few sizes (pad or bucket lengths), and allocate what lives long first.",
    }
    .to_owned();
    finding.code =
        (!expandable).then(|| "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py".to_owned());
    finding.verify = "Take another snapshot: free memory inside (`stepscope memory SNAPSHOT`) should be small when more is reserved."
        .to_owned();
    finding
}
